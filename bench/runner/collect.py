"""Runs all cases, round after round, the variants of a case next to each other in time.

Speed of a shared machine drifts over minutes; neighbours in time see the same machine, so the
ratios hold even where the absolute figures move.
"""

from __future__ import annotations

import time

from . import process
from .model import Case, Result
from .progress import Progress


def collect(cases: list[Case], rounds: int, limit_seconds: float, budget_seconds: float | None,
            progress: Progress) -> tuple[list[Result], int]:
    """Returns one result a case, and how many rounds were run in full.

    With a budget, a round is not started when it would not fit by the time the last one took,
    and one that runs over is cut: cases it did not reach have no samples of it.
    """
    results = [Result(case) for case in cases]
    start = time.monotonic()
    for number in range(rounds):
        round_start = time.monotonic()
        for result in results:
            if budget_seconds is not None and time.monotonic() - start > budget_seconds:
                return results, number
            for variant in result.case.variants:
                if variant.rounds is not None and number >= variant.rounds:
                    continue
                if result.timed_out(variant.name):
                    progress.skip()  # once too slow is an answer; do not pay for it again
                    continue
                progress.step(number + 1, result.case.name, variant.name)
                sample = process.run(variant, limit_seconds)
                result.samples.setdefault(variant.name, []).append(sample)
        now = time.monotonic()
        last_round = now - round_start
        if budget_seconds is not None and now - start + last_round > budget_seconds:
            return results, number + 1
    return results, rounds
