"""What every suite of tests/real works with: the two sides of a comparison, and how they differ."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from harness.process import Outcome, run
from harness.report import Result
from harness.roost import Roost


@dataclass
class Context:
    """Given to every suite: the roost under test, the build directory and a scratch directory."""

    roost: Roost
    build_dir: Path
    scratch: Path

    def directory(self, label: str) -> Path:
        """A new empty directory."""
        return Path(tempfile.mkdtemp(prefix=label.replace("/", "-") + "-", dir=self.scratch))

    def plain(self, argv, **how) -> Outcome:
        return run(argv, **how)

    def under_roost(self, argv, label: str, **how) -> tuple[Outcome, list[str]]:
        """Runs `argv` under roost in an instance of its own. Also returns what is wrong by itself:
        a segment left behind."""
        instance = self.roost.new_instance(label.replace("/", "-"))
        outcome = run(self.roost.command(argv, instance), **how)
        segment = self.roost.segment(instance)
        problems = []
        # Who is killed cannot clean up; the next user of the instance, or `roost clean`, does.
        if segment.exists() and outcome.status >= 0 and not outcome.stragglers:
            problems.append(f"{segment} was left behind")
        return outcome, problems


@dataclass
class Comparison:
    """The two sides of one suite, as the report shows them."""

    name: str
    plain: str = ""  # verdict
    roost: str = ""
    plain_seconds: float = 0
    roost_seconds: float = 0
    note: str = ""
    problems: list[str] = field(default_factory=list)
    skipped: str = ""

    def result(self) -> Result:
        columns = (f"plain {self.plain:<10}{self.plain_seconds:7.2f} s   "
                   f"roost {self.roost:<10}{self.roost_seconds:7.2f} s   {self.note}")
        return Result(self.name, columns.rstrip(), self.problems, self.skipped)


def both_sides(context: Context, name: str, argv, *, timeout: float, status=0, prepare=None,
               env=None, compare=None) -> Comparison:
    """Runs `argv` on both sides, each in a fresh directory that `prepare` fills, and compares exit
    status, standard output and standard error, or what `compare(plain, roost)` finds. The plain
    side must end with `status`: two equal failures prove nothing."""
    directories = [context.directory(name), context.directory(name)]
    if prepare:
        for directory in directories:
            prepare(directory)
    plain = context.plain(argv, timeout=timeout, cwd=directories[0], env=env)
    roost, problems = context.under_roost(argv, name, timeout=timeout, cwd=directories[1], env=env)
    for directory in directories:
        shutil.rmtree(directory)
    if plain.status != status:
        problems.append(f"plain: {plain.verdict()}, expected {status}\n" + tail(plain.stderr))
    problems += (compare or same_output)(plain, roost)
    return Comparison(name, plain.verdict(), roost.verdict(), plain.seconds, roost.seconds,
                      problems=problems)


def same_status(plain: Outcome, roost: Outcome) -> list[str]:
    if plain.timed_out:
        return ["plain did not end in time: the suite asks too much of this machine"]
    if roost.timed_out:
        return ["did not end in time under roost\n" + tail(roost.stderr)]
    if roost.status != plain.status:
        return [f"plain {plain.verdict()}, under roost {roost.verdict()}\n" + tail(roost.stderr)]
    if roost.stragglers and not plain.stragglers:
        return [f"left processes behind under roost: {', '.join(roost.stragglers)}"]
    return []


def same_output(plain: Outcome, roost: Outcome) -> list[str]:
    problems = same_status(plain, roost)
    for stream in ("stdout", "stderr"):
        expected, got = getattr(plain, stream), getattr(roost, stream)
        if not problems and expected != got:
            at = len(os.path.commonprefix([expected, got]))
            problems.append(f"{stream} differs from byte {at} on ({len(expected)} bytes plain, "
                            f"{len(got)} under roost): {expected[at:at + 60]!r} plain, "
                            f"{got[at:at + 60]!r} under roost")
    return problems


def tail(text: bytes, lines: int = 8) -> str:
    return "\n".join(text.decode(errors="replace").splitlines()[-lines:])


def missing(*programs: str) -> str:
    """Why a suite cannot run, if a program, or a folder by its path, that it needs is not installed."""
    absent = [program for program in programs
              if not shutil.which(program, path=search_path()) and not os.path.isdir(program)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def search_path() -> str:
    return os.environ.get("PATH", os.defpath)
