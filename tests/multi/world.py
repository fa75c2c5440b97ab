"""What every multi-process test works with: programs, instances, and how to say what failed."""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from harness.process import Outcome, Running, wait_until
from harness.roost import Roost

# Seconds within which what must happen has to happen. A bound on hangs, not a claim of speed.
BOUND = 20


class Failure(Exception):
    """What must hold does not."""


class Skip(Exception):
    """The test cannot run here, for the reason given."""


def require(holds, message: str) -> None:
    if not holds:
        raise Failure(message)


def require_soon(condition, message: str, seconds: float = BOUND) -> None:
    require(wait_until(condition, seconds), f"{message}, not within {seconds} s")


def cases(*values):
    """Runs a test once for each value, given as its second argument."""
    def mark(test):
        test.cases = values
        return test
    return mark


class World:
    """The surroundings of one test. Leaving its `with` block ends all processes of the test and
    removes its files and segments."""

    def __init__(self, build_dir: Path):
        self.roost = Roost(build_dir)
        self.build = build_dir
        self._tests = build_dir / "tests"
        self._exits = ExitStack()
        self.directory = Path(tempfile.mkdtemp(prefix="roost-multi-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._exits.close()
        self.clean_up()

    def clean_up(self) -> None:
        self.roost.remove_leftovers()
        shutil.rmtree(self.directory, ignore_errors=True)

    def program(self, name: str, *arguments, folder: str = "multi") -> list[str]:
        """The command line of one of programs/, or of another folder of tests."""
        path = self._tests / folder / name
        require(path.exists(), f"{path} is not built")
        return [str(path), *map(str, arguments)]

    def openmp_program(self, name: str, *arguments) -> list[str]:
        """One of those with regions in their names, built only where the compiler has OpenMP."""
        if not (self.build / "tests" / "multi" / name).exists():
            raise Skip("there is no OpenMP compiler")
        return self.program(name, *arguments)

    def compile(self, name: str, source: str, *options: str) -> str:
        """The path of a program or library made of C source by the installed compiler."""
        path, file = self.directory / name, self.directory / f"{name}.c"
        file.write_text(source)
        require_success(self.run_plain(["gcc", "-O2", str(file), *options, "-o", str(path)]), "gcc")
        return str(path)

    def start(self, argv, instance: str, *options: str, **how) -> Running:
        """Starts a program under roost."""
        return self.start_plain(self.roost.command(argv, instance, *options), **how)

    def start_plain(self, argv, **how) -> Running:
        return self._exits.enter_context(Running(argv, **how))

    def run(self, argv, instance: str, *options: str, **how) -> Outcome:
        """Runs a program under roost to its end."""
        return self.start(argv, instance, *options, **how).wait(BOUND)

    def run_plain(self, argv, **how) -> Outcome:
        return self.start_plain(argv, **how).wait(BOUND)

    def start_idle(self, instance: str, *options: str) -> Running:
        """A process that stays in the instance; returns once it runs."""
        idle = self.start(self.program("idle"), instance, *options)
        require_soon(lambda: idle.wrote(b"idle\n"), "an idle program under roost starts")
        return idle

    def require_gone(self, instance: str) -> None:
        """The last process out removes the segment."""
        segment = self.roost.segment(instance)
        require(not segment.exists(), f"{segment} was left behind")


def require_success(outcome: Outcome, what: str) -> None:
    require(not outcome.timed_out, f"{what} did not end in {outcome.seconds:.0f} s\n{text(outcome.stderr)}")
    require(outcome.status == 0, f"{what}: {outcome.verdict()}\n{text(outcome.stderr)}")


def text(data: bytes, lines: int = 8) -> str:
    return "\n".join(data.decode(errors="replace").splitlines()[-lines:])


def cores_here() -> int:
    return len(os.sched_getaffinity(0))
