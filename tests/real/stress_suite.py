"""stress-ng's classes for threads, locks, I/O, processes, signals and scheduling: the same verdict of
its own checks and the same work done."""

import re

from harness.process import Outcome

from suite import Comparison, Context, both_sides, missing, same_status

# Class: operations to do and seconds to do them in. All but sem, yield and schedpolicy end long
# before their time is up; those may use all of it whatever they have done.
CLASSES = {
    "pthread": (4000, 10),
    "mutex": (400_000, 10),
    "sem": (100_000, 3),
    "futex": (40_000, 10),
    "poll": (60_000, 10),
    "epoll": (10_000, 10),
    "pipe": (300_000, 10),
    "sock": (200, 10),
    "fork": (800, 10),
    "vfork": (5000, 10),
    "signal": (100_000, 10),
    "signest": (1000, 10),
    "sigchld": (1000, 10),
    "sigfd": (20_000, 10),
    "sigpending": (10_000, 10),
    "sigq": (20_000, 10),
    "sigrt": (20_000, 10),
    "sigsuspend": (10_000, 10),
    "seccomp": (100, 10),
    "usersyscall": (10_000, 10),
    "yield": (20_000, 2),
    "schedpolicy": (5000, 2),
}
WORKERS = 2
OUT_OF_RESOURCES = "exit 3"  # stress-ng(1), exit status
TRIES = 4


def suites(context: Context):
    for name, (operations, seconds) in CLASSES.items():
        if reason := missing("stress-ng"):
            yield Comparison(f"stress-ng/{name}", skipped=reason)
            continue
        argv = ["stress-ng", f"--{name}", str(WORKERS), f"--{name}-ops", str(operations),
                "--timeout", str(seconds), "--verify", "--metrics-brief"]
        # A worker whose threads come too late, since the other has done all operations by then, says
        # that it could not create them (mutex class: 1 run in 12, without Roost as well).
        for _ in range(TRIES):
            comparison = both_sides(context, f"stress-ng/{name}", argv, timeout=seconds + 30,
                                    compare=comparer(name))
            if OUT_OF_RESOURCES not in (comparison.plain, comparison.roost):
                break
        yield comparison


def comparer(name: str):
    def compare(plain: Outcome, roost: Outcome) -> list[str]:
        problems = same_status(plain, roost)
        if not problems and verdicts(plain) != verdicts(roost):
            problems.append(f"plain says {verdicts(plain)}, under roost {verdicts(roost)}")
        # A class whose threads hang is ended by its timeout and still calls that success. Release 0.19's
        # epoll ends after four fifths of its operations at times, without Roost as well.
        done, expected = operations_done(name, roost), operations_done(name, plain)
        if not problems and done < 0.7 * expected:
            problems.append(f"{expected} operations done plain, {done} under roost")
        return problems
    return compare


def output(outcome: Outcome) -> str:
    return (outcome.stdout + outcome.stderr).decode(errors="replace")


def verdicts(outcome: Outcome) -> list[str]:
    """The lines that say how the run went, without process ids and times."""
    lines = re.findall(r"^stress-ng: \w+:\s+\[\d+\] (.*(?:fail|passed:|successful).*)$",
                       output(outcome), re.MULTILINE)
    return [re.sub(r" in [\d.]+.*", "", line) for line in lines]


def operations_done(name: str, outcome: Outcome) -> int:
    """From the table of --metrics-brief; 0 if the class is not in it."""
    found = re.search(rf"metrc: \[\d+\] {name} +(\d+) +[\d.]+ +[\d.]+ ", output(outcome))
    return int(found[1]) if found else 0
