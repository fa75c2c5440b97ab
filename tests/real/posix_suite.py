"""The Open POSIX Test Suite (Debian's source package posixtestsuite), area by area: whatever passes
plain must pass under Roost.

Only with --long: many of its 1,700 programs sleep for seconds. Most are run four at a time. Some have
races of their own, so one is wrong only if it fails three times in a row under Roost and not plain.
"""

import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from suite import Comparison, Context, missing

PACKAGE = "posixtestsuite"
# Interfaces whose names begin so, and the folder of tests that are about no single interface. (Its
# folder `stress` is of programs that never end.)
AREAS = {
    "threads": ("pthread_",),
    "signals": ("sig", "raise", "kill", "killpg"),
    "semaphores": ("sem_",),
    "scheduling": ("sched_",),
    "clocks": ("clock", "nanosleep", "timer_", "time"),
    "messages": ("mq_",),
    "files": ("aio_", "lio_", "fsync"),
    "memory": ("mlock", "mmap", "munlock", "munmap", "shm_"),
    "processes": ("fork", "getpid"),
    "functional": ("functional",),
}
LIMIT_SECONDS = 60
AT_A_TIME = 4
TRIES = 3

# Not run, or not required, with the reason.
EXCEPTIONS = {
    "pthread_cond_broadcast/1-2": "thousands of threads and forks: takes its whole minute plain, too",
    "mq_open/speculative/26-1": "counts message queues that earlier tests have left",
}
CHANGES_THE_CLOCK = "clock_settime"


@dataclass
class Test:
    name: str  # as in pthread_create/1-1
    program: str


def long_suites(context: Context):
    try:
        source = fetch(context.directory("posix-source"))
    except (OSError, subprocess.CalledProcessError) as error:
        yield Comparison("posix", skipped=f"no source of {PACKAGE}: {error}")
        return
    for area, prefixes in AREAS.items():
        if reason := missing("gcc"):
            yield Comparison(f"posix/{area}", skipped=reason)
            continue
        yield compare(context, area, build(source, prefixes, context.directory(f"posix-{area}")))


def fetch(folder: Path) -> Path:
    """The unpacked source, from lists of our own: the machine's may be of binary packages alone."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.M))
    ubuntu = release.get("ID") == "ubuntu"
    place = "http://archive.ubuntu.com/ubuntu" if ubuntu else "http://deb.debian.org/debian"
    lists, parts = folder / "lists", folder / "parts"
    for each in (lists, parts, folder / "cache/archives/partial"):
        each.mkdir(parents=True)
    (parts / "source.list").write_text(
        f"deb-src {place} {release['VERSION_CODENAME']} {'universe' if ubuntu else 'main'}\n")
    options = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
               "-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={folder / 'cache'}"]
    for command in (["update"], ["source", "--download-only", PACKAGE]):
        subprocess.run(["apt-get", *options, *command], cwd=folder, check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    archive = next(folder.glob(f"{PACKAGE}_*.orig.tar.gz"))
    subprocess.run(["tar", "xf", archive], cwd=folder, check=True)
    return folder / PACKAGE


def build(source: Path, prefixes: tuple[str, ...], into: Path) -> list[Test]:
    """The programs of an area. What today's compiler does not take is left out."""
    def compile_one(file: Path) -> Test | None:
        name = str(file.relative_to(source).with_suffix("")).removeprefix("conformance/interfaces/")
        program = into / name.replace("/", "__")
        done = subprocess.run(["gcc", "-w", "-O1", "-D_GNU_SOURCE", "-I", source / "include",
                               file, "-o", program, "-lpthread", "-lrt", "-lm"], capture_output=True)
        return Test(name, str(program)) if done.returncode == 0 else None

    files = [file for file in sorted(source.rglob("*.c")) if belongs(file.relative_to(source), prefixes)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [test for test in pool.map(compile_one, files) if test]


def belongs(path: Path, prefixes: tuple[str, ...]) -> bool:
    if path.parts[0] == "conformance":
        return (path.parts[1] == "interfaces" and path.name[0].isdigit()
                and path.parts[2].startswith(prefixes) and path.parts[2] != CHANGES_THE_CLOCK)
    return path.parts[0] in prefixes


def compare(context: Context, area: str, tests: list[Test]) -> Comparison:
    def plain(test: Test) -> int:
        return context.plain([test.program], timeout=LIMIT_SECONDS, cwd=context.scratch).status

    def under_roost(test: Test) -> str:
        """What was wrong in the last try, if in all. A segment may stay: some programs become another
        user, or leave children that they have just killed."""
        label = re.sub(r"\W", "-", test.name)[-40:]
        for _ in range(TRIES):
            outcome, _ = context.under_roost([test.program], label, timeout=LIMIT_SECONDS,
                                             cwd=context.scratch)
            if outcome.status == 0 and not outcome.timed_out:
                return ""
        said = (outcome.stdout + outcome.stderr).decode(errors="replace").strip().splitlines()
        return f"{test.name}: {outcome.verdict()} under roost; {' | '.join(said[-3:])}"

    begin = time.monotonic()
    tests = [test for test in tests if test.name not in EXCEPTIONS]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        passing = [test for test, status in zip(tests, pool.map(plain, tests)) if status == 0]
        middle = time.monotonic()
        found = list(pool.map(under_roost, passing))
    worse = [problem for test, problem in zip(passing, found)
             if problem and all(plain(test) == 0 for _ in range(TRIES))]
    return Comparison(f"posix/{area}", "ok", "worse" if worse else "ok", middle - begin,
                      time.monotonic() - middle,
                      f"{len(passing)} of {len(tests)} pass plain, {len(worse)} of them not under roost",
                      worse)
