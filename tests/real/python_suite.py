"""Python's own tests of threads, processes and I/O, from the distribution's test package: every single
test must end under roost as it ends without."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.process import Outcome

from suite import Comparison, Context, tail

PYTHON = "/usr/bin/python3"  # the distribution's, to which the test package belongs
HERE = Path(__file__).resolve().parent

# Modules and into how many shards each is cut. They mostly sleep, so four at a time load two cores
# by about half; in one piece test_concurrent_futures alone would take as long as all shards do.
MODULES = {
    "test_concurrent_futures": 3,
    "test_multiprocessing_fork": 2,
    "test_subprocess": 1,
    "test_threading": 1,
    "test_signal": 2,
    "test_socket": 1,
    "test_selectors": 1,
    "test_asyncio.test_events": 1,
    "test_asyncio.test_sock_lowlevel": 1,
    "test_eintr": 1,
    "test_epoll": 1,
    "test_select": 1,
    "test_queue": 1,
    "test_thread": 1,
}
LONG_MODULES = {
    "test_multiprocessing_forkserver": 4,
    "test_multiprocessing_spawn": 4,
    "test_multiprocessing_main_handling": 2,
    "test_asyncio": 4,
    "test_logging": 1,
    "test_httpservers": 1,
    "test_ssl": 2,
    "test_faulthandler": 1,
    "test_fork1": 1,
    "test_wait3": 1,
    "test_wait4": 1,
    "test_threadsignals": 1,
    "test_threading_local": 1,
    "test_sched": 1,
    "test_pty": 1,
    "test_posix": 1,
    "test_os": 1,
}
LANES = 4
TIMEOUT = 600  # seconds a shard; the longest needs about 60 without roost

PASSED = ("ok", "expected failure")


@dataclass
class Side:
    """A module's outcomes on one side, its shards put together."""

    outcomes: dict[str, str] = field(default_factory=dict)  # test id: outcome
    details: dict[str, str] = field(default_factory=dict)   # test id: reason or traceback
    seconds: float = 0
    problems: list[str] = field(default_factory=list)

    def verdict(self) -> str:
        bad = sum(outcome not in (*PASSED, "skipped") for outcome in self.outcomes.values())
        return f"{bad} failed" if bad or self.problems else "ok"

    def add(self, records: str, outcome: Outcome) -> None:
        self.seconds += outcome.seconds
        running = None
        for line in records.splitlines():
            record = json.loads(line)
            test = record["id"]
            if record["outcome"] == "start":
                running = test
                self.outcomes[test] = "unfinished"
            elif self.outcomes.get(test, "unfinished") in ("unfinished", *PASSED):
                # A test may report several failures (subtests, clean-up): the first one stands.
                self.outcomes[test] = record["outcome"]
                self.details[test] = record["detail"]
        if running and self.outcomes[running] == "unfinished":
            self.details[running] = f"the process ended here: {outcome.verdict()}\n" + tail(
                outcome.stderr, 30)
        elif outcome.timed_out or outcome.status not in (0, 2):  # 2: the recorder saw failures
            self.problems.append(f"ended with {outcome.verdict()} after its tests\n"
                                 + tail(outcome.stderr))


def suites(context: Context):
    return compared(context, MODULES)


def long_suites(context: Context):
    return compared(context, LONG_MODULES)


def compared(context: Context, modules: dict[str, int]):
    if not installed(context):
        reason = f"not installed: the test package of {PYTHON}"
        for module in modules:
            yield Comparison(f"python/{module}", skipped=reason)
        return
    plain = run_side(context, modules, under_roost=False)
    roost = run_side(context, modules, under_roost=True)
    exceptions = read_exceptions(HERE / "python_exceptions.txt")
    for module in modules:
        yield compare(module, plain[module], roost[module], exceptions)


def installed(context: Context) -> bool:
    # test.support alone is often there without the tests.
    probe = [PYTHON, "-c", "import test.support, test.test_threading"]
    return context.plain(probe, timeout=60).status == 0


def run_side(context: Context, modules: dict[str, int], under_roost: bool) -> dict[str, Side]:
    """Runs all shards, LANES at a time, each under roost in an instance of its own."""
    def run_shard(job):
        module, shard, shards = job
        records = context.directory(module) / "outcomes"
        argv = [PYTHON, str(HERE / "python_record.py"), str(records), module, str(shard),
                str(shards)]
        if under_roost:
            outcome, problems = context.under_roost(argv, module, timeout=TIMEOUT)
        else:
            outcome, problems = context.plain(argv, timeout=TIMEOUT), []
        return module, outcome, problems, records.read_text() if records.exists() else ""

    jobs = [(module, shard, shards) for module, shards in modules.items()
            for shard in range(shards)]
    sides = {module: Side() for module in modules}
    with ThreadPoolExecutor(LANES) as lanes:
        for module, outcome, problems, records in lanes.map(run_shard, jobs):
            sides[module].add(records, outcome)
            sides[module].problems += problems
    return sides


def compare(module: str, plain: Side, roost: Side, exceptions: dict[str, str]) -> Comparison:
    problems = [f"plain: {problem}" for problem in plain.problems]
    problems += [f"under roost: {problem}" for problem in roost.problems]
    excepted = 0
    for test in sorted(plain.outcomes.keys() | roost.outcomes.keys()):
        expected, got = plain.outcomes.get(test, "not run"), roost.outcomes.get(test, "not run")
        if expected == got:
            continue
        if test in exceptions:
            excepted += 1
        elif expected not in ("failed", "error", "unfinished"):  # else it is not roost's doing
            problems.append(f"{test}: plain {expected}, under roost {got}\n"
                            + tail(roost.details.get(test, "").encode(), 30))
    if not plain.outcomes:
        problems.append("no test ran")
    counted = {outcome: 0 for outcome in sorted(roost.outcomes.values())}
    for outcome in roost.outcomes.values():
        counted[outcome] += 1
    note = ", ".join(f"{number} {outcome}" for outcome, number in counted.items())
    if excepted:
        note += f", {excepted} excepted"
    return Comparison(f"python/{module}", plain.verdict(), roost.verdict(), plain.seconds,
                      roost.seconds, note, problems)


def read_exceptions(path: Path) -> dict[str, str]:
    """Test ids that may end differently, each with its reason: lines `ID: reason`."""
    exceptions = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            test, separator, reason = line.partition(": ")
            if not separator or not reason.strip():
                raise SystemExit(f"{path}: no reason given for {test}")
            exceptions[test] = reason.strip()
    return exceptions
