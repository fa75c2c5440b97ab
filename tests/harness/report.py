"""Prints a line per test as it ends, and the closing count."""

import sys
from dataclasses import dataclass, field


@dataclass
class Result:
    """What one test or suite came to."""

    name: str
    columns: str = ""  # what to show beside the name
    problems: list[str] = field(default_factory=list)
    skipped: str = ""  # why it was not run


class Report:
    def __init__(self, name_width: int):
        self._name_width = name_width
        self._counts = {"ok": 0, "FAIL": 0, "SKIP": 0}

    def add(self, result: Result) -> None:
        word = "SKIP" if result.skipped else "FAIL" if result.problems else "ok"
        self._counts[word] += 1
        line = f"{word:<5}{result.name:<{self._name_width}} {result.skipped or result.columns}"
        print(line.rstrip(), flush=True)
        for problem in result.problems:
            for number, text in enumerate(problem.splitlines()):
                print(f"       {'  ' if number else '- '}{text}", flush=True)

    def close(self) -> int:
        """Prints the count; the exit status of the runner."""
        passed, failed, skipped = self._counts.values()
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        if passed + failed == 0:
            print("no test ran", file=sys.stderr)
            return 1
        return 1 if failed else 0
