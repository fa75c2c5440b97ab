#!/usr/bin/env python3
"""Writes random OpenMP programs that check themselves: regions nested up to three deep, worksharing,
tasks, locks and reductions, whose sums are known whatever the order in which things happen.

    tests/omp/random_program.py SEED     prints the C source

Every statement that adds to a sum is counted as often as it will be executed; the program compares.
"""

import random
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

SUMS = 12
TEAM_SIZES = (1, 2, 2, 3, 4, 5, 7, 8, 9, 16)
SCHEDULES = ("static", "static, 1", "static, 3", "dynamic", "dynamic, 4", "guided", "guided, 2",
             "auto", "runtime", "nonmonotonic: dynamic", "monotonic: dynamic, 2")
MOST_EXECUTIONS = 20_000  # of one statement
MOST_REGIONS = 1_500
MOST_STATEMENTS = 60
DEEPEST = 3

PROLOGUE = """\
// Written by tests/omp/random_program.py {seed}: sums that must come out whatever the order.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long sum[{sums}];
static omp_lock_t lock;
static int problems;

static void fail(int line, const char* what, long seen, long wanted) {{
  int count = __atomic_add_fetch(&problems, 1, __ATOMIC_RELAXED);
  if (count <= 5) printf("line %d: %s is %ld, not %ld\\n", line, what, seen, wanted);
}}
#define SAME(seen, wanted)                                  \\
  do {{                                                     \\
    long seen_ = (seen), wanted_ = (wanted);                \\
    if (seen_ != wanted_) fail(__LINE__, #seen, seen_, wanted_); \\
  }} while (0)

static void all(void) {{
  omp_set_dynamic(0);
  omp_set_max_active_levels({deepest});
  omp_set_num_threads({default});
  omp_set_schedule({schedule}, {chunk});
"""

EPILOGUE = """\
}}

static void* thread(void* unused) {{
  all();
  return unused;
}}

int main(void) {{
  enum {{ THREADS = {threads}, ROUNDS = {rounds} }};
  static const long wanted[{sums}] = {{{wanted}}};
  pthread_t others[THREADS];
  omp_init_lock(&lock);
  for (int i = 1; i < THREADS; ++i) pthread_create(&others[i], NULL, thread, NULL);
  for (int round = 0; round < ROUNDS; ++round) all();
  for (int i = 1; i < THREADS; ++i) pthread_join(others[i], NULL);
  omp_destroy_lock(&lock);
  for (int i = 0; i < {sums}; ++i)
    if (sum[i] != wanted[i] * (ROUNDS + THREADS - 1)) {{
      printf("sum %d is %ld, not %ld\\n", i, sum[i], wanted[i] * (ROUNDS + THREADS - 1));
      problems++;
    }}
  return problems != 0;
}}
"""


@dataclass(frozen=True)
class Place:
    """Where a statement stands."""

    times: int  # how often it is executed, by all
    members: int = 1  # of the innermost region
    team: bool = False  # all members come here, and no construct but the region is around
    tasks: bool = True  # tasks may be created
    level: int = 0
    depth: int = 0
    declarations: list = field(default_factory=list)  # what stands before the region


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.default = self.random.choice((2, 3, 4))
        self.wanted = [0] * SUMS
        self.lines: list[str] = []
        self.indent = 1
        self.names = 0
        self.regions = 0
        self.statements = 0

    # ---- text ----

    def put(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def pragma(self, text: str) -> None:
        self.lines.append(f"#pragma omp {text}")

    @contextmanager
    def braces(self):
        self.put("{")
        self.indent += 1
        yield
        self.indent -= 1
        self.put("}")

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # ---- statements anywhere ----

    def add(self, place: Place, value: str | None = None, worth: int | None = None) -> None:
        """Adds to one of the sums: each has its own protection. `worth`: of all executions."""
        k = self.random.randrange(SUMS)
        if value is None:
            constant = self.random.randint(1, 9)
            value, worth = str(constant), constant * place.times
        self.wanted[k] += worth
        way = k % 4
        if way == 0:
            self.pragma("atomic")
            self.put(f"sum[{k}] += {value};")
        elif way == 1:
            self.pragma(f"critical(sum_{k})")
            self.put(f"sum[{k}] += {value};")
        elif way == 2:
            self.pragma("critical")
            self.put(f"sum[{k}] += {value};")
        else:
            self.put(f"omp_set_lock(&lock); sum[{k}] += {value}; omp_unset_lock(&lock);")

    def look(self, place: Place) -> None:
        self.put(f"SAME(omp_get_level(), {place.level});")
        self.put(f"SAME(omp_get_num_threads(), {place.members});")

    def repeat(self, place: Place) -> None:
        times = self.random.randint(2, 4)
        i = self.name("i")
        self.put(f"for (int {i} = 0; {i} < {times}; ++{i})")
        self.block(replace(place, times=place.times * times))

    def region(self, place: Place) -> None:
        serial = self.chance(0.1)
        asked = self.random.choice(TEAM_SIZES) if self.chance(0.8) else 0
        members = 1 if serial else asked or self.default
        if place.times * members > MOST_EXECUTIONS or self.regions + place.times > MOST_REGIONS:
            return self.add(place)
        self.regions += place.times
        clauses = (f" num_threads({asked})" if asked else "") + (" if(0)" if serial else "")
        inner = Place(place.times * members, members, True, True, place.level + 1, place.depth + 1)
        private = self.name("p")
        before, self.lines = self.lines, []
        self.indent += 1
        with self.braces():
            self.look(inner)
            self.put(f"long {private}_own = {private} + omp_get_thread_num();")
            self.statements_of(inner)
            self.put(f"SAME({private}_own, 40 + omp_get_thread_num());")
            if self.chance(0.3):
                self.put(f"{private} = 0;")
        self.indent -= 1
        body, self.lines = self.lines, before
        with self.braces():
            self.put(f"long {private} = 40;")
            for declaration in inner.declarations:
                self.put(declaration)
            self.pragma(f"parallel firstprivate({private}){clauses}")
            self.lines += body
            self.put(f"SAME({private}, 40);")
            self.look(place)

    def task(self, place: Place) -> None:
        value = self.name("v")
        final = self.random.choice(("", "", "", " if(0)", " final(1)", " untied", " priority(1)"))
        inner = replace(place, team=False, depth=place.depth + 1)
        with self.braces():
            constant = self.random.randint(1, 9)
            self.put(f"long {value} = {constant};")
            self.pragma(f"task firstprivate({value}){final}")
            with self.braces():
                self.add(inner, value, constant * place.times)
                if self.chance(0.4):
                    self.statements_of(inner, 2)
            self.put(f"{value} = 0;")
            if self.chance(0.3):
                self.pragma("taskwait")

    def children(self, place: Place) -> None:
        """Tasks that a taskwait or a taskgroup waits for."""
        done, i = self.name("done"), self.name("i")
        count = self.random.randint(1, 12)
        group = self.chance(0.5)
        deep = group and self.chance(0.5)
        with self.braces():
            self.put(f"int {done} = 0;")
            if group:
                self.pragma("taskgroup")
            with self.braces():
                self.put(f"for (int {i} = 0; {i} < {count}; ++{i})")
                with self.braces():
                    self.pragma(f"task shared({done})")
                    with self.braces():
                        if deep:  # a grandchild, which only the group waits for
                            self.pragma(f"task shared({done})")
                        self.put(f"__atomic_add_fetch(&{done}, 1, __ATOMIC_RELAXED);")
                if not group:
                    self.pragma("taskwait")
            self.put(f"SAME({done}, {count});")

    def chain(self, place: Place) -> None:
        """Tasks in an order that their dependences give, with readers between the writers."""
        x, seen, i = self.name("x"), self.name("seen"), self.name("i")
        count = self.random.randint(2, 9)
        with self.braces():
            self.put(f"long {x} = 0, {seen} = 0;")
            self.put(f"for (int {i} = 0; {i} < {count}; ++{i})")
            with self.braces():
                self.pragma(f"task depend(inout: {x}) shared({x}) firstprivate({i})")
                with self.braces():
                    self.put(f"SAME({x}, {i});")
                    self.put(f"{x} = {i} + 1;")
                for _ in range(self.random.randint(0, 2)):
                    self.pragma(f"task depend(in: {x}) shared({x}, {seen}) firstprivate({i})")
                    with self.braces():
                        self.put(f"SAME({x}, {i} + 1);")
                        self.put(f"__atomic_add_fetch(&{seen}, {x}, __ATOMIC_RELAXED);")
            self.pragma("taskwait")
            self.put(f"SAME({x}, {count});")

    def taskloop(self, place: Place) -> None:
        count = self.random.randint(1, 40)
        if place.times * count > MOST_EXECUTIONS:
            return self.add(place)
        how = self.random.choice(("", " grainsize(3)", " num_tasks(5)", " if(0)"))
        i = self.name("i")
        self.pragma(f"taskloop{how}")
        self.put(f"for (int {i} = 0; {i} < {count}; ++{i})")
        with self.braces():
            self.add(place, i, place.times * count * (count - 1) // 2)

    def one_member(self, place: Place) -> None:
        """What one member of the team does alone."""
        chosen = self.random.randrange(place.members)
        self.put(f"if (omp_get_thread_num() == {chosen})")
        self.block(replace(place, times=place.times // place.members, team=False))

    # ---- statements that all members of a team come to ----

    def barrier(self, place: Place) -> None:
        arrived = self.name("arrived")
        place.declarations.append(f"int {arrived} = 0;")
        self.put(f"__atomic_add_fetch(&{arrived}, 1, __ATOMIC_RELAXED);")
        self.pragma("barrier")
        self.put(f"SAME(__atomic_load_n(&{arrived}, __ATOMIC_RELAXED) % {place.members}, 0);")
        self.pragma("barrier")

    def single(self, place: Place) -> None:
        once = replace(place, times=place.times // place.members, team=False)
        kind = self.random.choice(("single", "single", "single nowait", "master"))
        self.pragma(kind)
        self.block(once)

    def copyprivate(self, place: Place) -> None:
        c = self.name("c")
        value = self.random.randint(1, 99)
        with self.braces():
            self.put(f"long {c} = -1;")
            self.pragma(f"single copyprivate({c})")
            self.put(f"{c} = {value};")
            self.put(f"SAME({c}, {value});")

    def loop(self, place: Place) -> None:
        count = self.random.choice((0, 1, 2, 5, 17, 64, 100))
        teams = place.times // place.members
        if teams * count > MOST_EXECUTIONS:
            return self.barrier(place)
        i = self.name("i")
        nowait = " nowait" if self.chance(0.4) else ""
        step = self.random.choice((1, 1, 1, 3, -2))
        self.pragma(f"for schedule({self.random.choice(SCHEDULES)}){nowait}")
        inner = replace(place, times=teams * count, team=False)
        if step > 0:
            self.put(f"for (long {i} = -7; {i} < {count * step - 7}; {i} += {step})")
        else:
            self.put(f"for (long {i} = 7; {i} > {7 + count * step}; {i} += {step})")
        if count and self.chance(0.4) and place.depth < DEEPEST:
            self.block(inner)
        else:
            values = [-7 + n * step if step > 0 else 7 + n * step for n in range(count)]
            with self.braces():
                self.add(inner, i, teams * sum(values))

    def reduction(self, place: Place) -> None:
        r, last, i = self.name("r"), self.name("last"), self.name("i")
        count = self.random.randint(1, 150)
        place.declarations.append(f"long {r} = 0, {last} = -1;")
        operator, start, wanted = self.random.choice((
            ("+", 5, 5 + count * (count - 1) // 2), ("max", -3, count - 1), ("^", 0, None)))
        self.pragma("single")
        self.put(f"{{ {r} = {start}; {last} = -1; }}")
        self.pragma(f"for reduction({operator}: {r}) lastprivate({last}) "
                    f"schedule({self.random.choice(SCHEDULES)})")
        self.put(f"for (int {i} = 0; {i} < {count}; ++{i})")
        with self.braces():
            self.put(f"{last} = 3 * {i};")
            if operator == "+":
                self.put(f"{r} += {i};")
            elif operator == "max":
                self.put(f"if ({i} > {r}) {r} = {i};")
            else:
                self.put(f"{r} ^= {i};")
                wanted = 0
                for n in range(count):
                    wanted ^= n
        self.put(f"SAME({r}, {wanted});")
        self.put(f"SAME({last}, {3 * (count - 1)});")
        self.pragma("barrier")

    def ordered(self, place: Place) -> None:
        last, i = self.name("last"), self.name("i")
        count = self.random.randint(1, 40)
        place.declarations.append(f"long {last} = -1;")
        self.pragma("single")
        self.put(f"{last} = -1;")
        schedule = self.random.choice(("static", "static, 1", "dynamic", "guided", "runtime"))
        self.pragma(f"for ordered schedule({schedule})")
        self.put(f"for (int {i} = 0; {i} < {count}; ++{i})")
        with self.braces():
            self.pragma("ordered")
            with self.braces():
                self.put(f"SAME({last}, {i} - 1);")
                self.put(f"{last} = {i};")

    def sections(self, place: Place) -> None:
        once = replace(place, times=place.times // place.members, team=False)
        self.pragma("sections" + self.random.choice(("", " nowait")))
        with self.braces():
            for _ in range(self.random.randint(1, 5)):
                self.pragma("section")
                self.block(once)

    # ---- composition ----

    def block(self, place: Place) -> None:
        with self.braces():
            self.statements_of(replace(place, depth=place.depth + 1), 2)

    def statements_of(self, place: Place, most: int = 5) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(place)

    def statement(self, place: Place) -> None:
        self.statements += 1
        if self.statements > MOST_STATEMENTS or place.depth > 2 * DEEPEST:
            return self.add(place)
        kinds = [(self.add, 4), (self.task, 3), (self.children, 2), (self.chain, 1),
                 (self.taskloop, 1), (self.repeat, 1)]
        if place.level < DEEPEST:
            kinds.append((self.region, 3))
        if place.team:
            kinds += [(self.barrier, 3), (self.single, 3), (self.copyprivate, 1), (self.loop, 4),
                      (self.reduction, 2), (self.ordered, 1), (self.sections, 2),
                      (self.one_member, 1)]
        chosen, = self.random.choices([k for k, _ in kinds], [weight for _, weight in kinds])
        chosen(place)

    def program(self, seed: int) -> str:
        outermost = Place(times=1)
        for _ in range(self.random.randint(2, 4)):
            self.region(outermost)
        kind = self.random.choice(("omp_sched_static", "omp_sched_dynamic", "omp_sched_guided"))
        head = PROLOGUE.format(seed=seed, sums=SUMS, deepest=DEEPEST, default=self.default,
                               schedule=kind, chunk=self.random.randint(0, 3))
        tail = EPILOGUE.format(threads=self.random.randint(1, 3), rounds=self.random.randint(1, 3),
                               sums=SUMS, wanted=", ".join(map(str, self.wanted)))
        return head + "\n".join(self.lines) + "\n" + tail


def generate(seed: int) -> str:
    return Writer(seed).program(seed)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("usage: random_program.py SEED")
    sys.stdout.write(generate(int(sys.argv[1])))
