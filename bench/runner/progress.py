"""The progress line on standard error."""

from __future__ import annotations

import sys
import time


class Progress:
    """Rewrites one line on a terminal; elsewhere prints a line for each case of a round."""

    def __init__(self, runs: int, rounds: int):
        self._runs = runs
        self._rounds = rounds
        self._done = 0
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._last = (0, "")

    def step(self, number: int, case: str, variant: str) -> None:
        self._done += 1
        head = f"[{self._done}/{self._runs}] round {number} of {self._rounds}  {case}"
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{head}  {variant}{self._left()}")
            sys.stderr.flush()
        elif (number, case) != self._last:
            print(head, file=sys.stderr, flush=True)
        self._last = (number, case)

    def skip(self) -> None:
        self._done += 1

    def end(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _left(self) -> str:
        if self._done < 10:
            return ""
        each = (time.monotonic() - self._start) / (self._done - 1)
        return f"  about {each * (self._runs - self._done + 1) / 60:.0f} min left"
