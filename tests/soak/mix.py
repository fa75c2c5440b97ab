"""What a soak runs, and how: random programs with random sizes, and random options of instances."""

import os
import random
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Of tests/posix; the others say something about time or CPUs that a crowded machine may belie, or
# want the machine's records or signals for themselves.
POSIX = (
    "barrier", "busy_wait", "c11", "cancel_async", "cancel_cleanup", "cancel_elsewhere",
    "cancel_points", "cond", "constructors", "cxx20", "exec", "fork", "futex", "futex_requeue",
    "inline_calls", "inline_parked_futex", "inline_waits", "io_exact", "kernel_waits",
    "kernel_waits_cancelled", "kernel_waits_interrupted", "keys", "main_exit", "mutex_robust",
    "mutex_types", "process_end", "pshared", "semaphore", "signals", "signals_in_waits", "spawn",
    "spin_signals", "stress_locks", "stress_threads", "thread_detach", "thread_exit",
    "thread_join", "tls_cxx", "tls_fresh",
)
PYTHON = """
import concurrent.futures, multiprocessing, sys, threading
def square(x): return x * x
if __name__ == "__main__":
    method, workers = sys.argv[1], int(sys.argv[2])
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        assert sum(pool.map(square, range(200))) == 2646700
    with multiprocessing.get_context(method).Pool(workers) as pool:
        assert sum(pool.map(square, range(200))) == 2646700
"""
OUTER = ("libgomp", "libomp", "tbb", "threads")
INNER = ("", "-blis-pthread", "-blis-openmp")


@dataclass(frozen=True)
class Job:
    """A program and what its end has to be."""

    argv: list[str]
    status: int | None = 0  # None: it never ends by itself
    environment: dict[str, str] = field(default_factory=dict)
    to_kill: float = 0  # after so many seconds; 0: not
    may_stop: bool = True  # it has no alarms or limits of its own


class Mix:
    def __init__(self, build_dir: Path):
        self._tests = build_dir.resolve() / "tests"
        self._bench = build_dir.resolve() / "bench"
        self._script = self._tests / "soak_pools.py"
        self._script.write_text(PYTHON)
        self._kinds = [self._posix, self._sync, self._children, self._nested, self._waits,
                       self._python, self._victim]
        if shutil.which("stress-ng"):
            self._kinds.append(self._stress)

    def instance_options(self, chance: random.Random) -> list[str]:
        cores = len(os.sched_getaffinity(0))
        options = ["--cores", str(chance.randint(1, cores))]
        options += ["--pin", chance.choice(("core", "core", "node", "none"))]
        options += ["--spin", chance.choice(("off", "preempt", "rewrite", "rewrite"))]
        options += ["--trap", chance.choice(("auto", "auto", "on"))]
        options += ["--set", chance.choice(("beside=500us", "beside=500us", "beside=0ns", "beside=10ms"))]
        return options + ["--quantum", chance.choice(("1ms", "20ms", "20ms", "100ms"))]

    def job(self, chance: random.Random) -> Job:
        return chance.choice(self._kinds)(chance)

    def _program(self, folder: str, name: str, *arguments) -> list[str]:
        return [str(self._tests / folder / name), *map(str, arguments)]

    def _posix(self, chance: random.Random) -> Job:
        # They watch their own time and stop their own children.
        return Job(self._program("posix", chance.choice(POSIX)), may_stop=False,
                   environment={"POSIX_SEED": str(chance.randrange(10**9))})

    def _sync(self, chance: random.Random) -> Job:
        return Job(self._program("multi", "sync_mix", chance.randint(2, 24), chance.randint(5, 400)))

    def _children(self, chance: random.Random) -> Job:
        return chance.choice((
            Job(self._program("multi", "fork_storm", chance.randint(1, 5), chance.randint(1, 12))),
            Job(self._program("multi", "exec_chain", chance.randint(1, 8)), status=7),
            Job(self._program("multi", "many_threads", chance.randint(1, 200))),
        ))

    def _waits(self, chance: random.Random) -> Job:
        return chance.choice((
            Job(self._program("multi", "inline_turns", chance.randint(2, 12), chance.randint(10, 500))),
            Job(self._program("multi", "pipe_turns", chance.randint(10, 300), chance.randint(1, 8))),
            Job([str(self._bench / "barrier_loop"), "--threads", str(chance.randint(2, 40)),
                 "--seconds", "0.3"]),
            Job([str(self._bench / "convoy"), "--threads", str(chance.randint(2, 40)),
                 "--seconds", "0.3"]),
        ))

    def _nested(self, chance: random.Random) -> Job:
        name = f"matmul-{chance.choice(OUTER)}{chance.choice(INNER)}"
        if not (self._bench / name).exists():
            return self._sync(chance)
        return Job([str(self._bench / name), "--outer", str(chance.randint(1, 8)), "--inner",
                    str(chance.randint(1, 6)), "--size", "512", "--tile", "128", "--seconds", "0.2",
                    "--verify"])

    def _python(self, chance: random.Random) -> Job:
        method = chance.choice(("fork", "spawn", "forkserver"))
        return Job([sys.executable, str(self._script), method, str(chance.randint(1, 6))])

    def _stress(self, chance: random.Random) -> Job:
        kind = chance.choice(("pthread", "mutex", "sem", "futex", "poll", "epoll", "pipe", "sock",
                              "fork", "vfork", "sigsuspend"))
        # Else two at a time would want the same ports. Below those that the kernel gives out.
        port = str(chance.randrange(10000, 32000, 64))
        ports = [f"--{kind}-port", port] if kind in ("sock", "epoll") else []
        return Job(["stress-ng", f"--{kind}", str(chance.randint(1, 3)), *ports, "--timeout", "2",
                    "--verify", "--quiet"], may_stop=False)

    def _victim(self, chance: random.Random) -> Job:
        argv = chance.choice((
            self._program("multi", "victim", chance.randint(1, 4), chance.randint(0, 4)),
            self._program("multi", "adversary", chance.choice(("spin", "blocked", "clone", "stdio")),
                          chance.randint(1, 5)),
            self._program("multi", "sync_mix", 8, 1_000_000),
            self._program("multi", "fork_storm", 1_000_000, 4),
        ))
        return Job(argv, status=None, to_kill=chance.uniform(0.01, 3))
