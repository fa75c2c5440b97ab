"""What demo.py and run share: options, the checks before the first run, and the runs."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from . import cases, machine, render
from .collect import collect
from .model import Case, Result
from .progress import Progress

ROOT = Path(__file__).resolve().parents[2]
# Two minutes with the last run that may still be under way and the tail of a round.
QUICK_BUDGET_SECONDS = 105
QUICK_LIMIT_SECONDS = 8
FULL_LIMIT_SECONDS = 60


class OneSentenceParser(argparse.ArgumentParser):
    """Says what is wrong with an option in one line, without the usage text."""

    def error(self, message: str):
        fail(message, code=2)


def fail(message: str, code: int = 1):
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    raise SystemExit(code)


def parser(description: str) -> argparse.ArgumentParser:
    p = OneSentenceParser(description=description, allow_abbrev=False)
    p.add_argument("--rounds", type=_positive, metavar="N", help="rounds of each case (default 5)")
    p.add_argument("--only", metavar="PATTERN", action="append",
                   help="only cases that match, as in 'matmul/*/8x8' or 'convoy'; may be repeated")
    p.add_argument("--without", metavar="SIDE", action="append", default=[],
                   help="leave out a side, such as 'adapt' or 'linux'; may be repeated")
    p.add_argument("--limit", type=_positive, metavar="S", default=FULL_LIMIT_SECONDS,
                   help="end a run after so many seconds, and do not repeat it "
                        "(default %(default)s)")
    p.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    p.add_argument("--json", metavar="FILE", help="write all samples there")
    # Whole: programs are run in folders of their own.
    p.add_argument("--build", metavar="DIR", type=lambda name: Path(name).resolve(),
                   default=ROOT / "build/release",
                   help="build folder (default build/release)")
    return p


def _positive(word: str) -> int:
    value = int(word) if word.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number of at least 1")
    return value


def place(options: argparse.Namespace, quick: bool) -> cases.Place:
    """Where things are; ROOST_BIN names another `roost` than the one that was built."""
    roost = os.environ.get("ROOST_BIN") or str(options.build / "bin/roost")
    return cases.Place(roost, options.build / "bench", f"bench-{os.getpid()}", quick)


def check_built(where: cases.Place) -> None:
    if not os.access(where.roost, os.X_OK):
        fail(f"there is no program {where.roost}; build first (./demo does it all), "
             "or name one in ROOST_BIN")
    if not (where.programs / "convoy").exists():
        fail(f"there are no bench programs in {where.programs}; build first (./demo does it all)")


def check_json(path: str | None) -> None:
    """Before the runs: half an hour's figures should not be lost to a mistyped name."""
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}", code=2)


def select(all_cases: list[Case], options: argparse.Namespace) -> list[Case]:
    """The cases that match any of the patterns of --only, but for the sides of --without; each of
    these must match some."""
    return _without(_only(all_cases, options.only), options.without)


def _without(chosen: list[Case], sides: list[str]) -> list[Case]:
    known = {v.name for case in chosen for v in case.variants}
    for side in sides:
        if side not in known:
            fail(f"no side is called '{side}' here; there are: {', '.join(sorted(known))}", code=2)
    return [replace(case, variants=tuple(v for v in case.variants if v.name not in sides))
            for case in chosen]


def _only(all_cases: list[Case], patterns: list[str] | None) -> list[Case]:
    if patterns is None:
        return all_cases
    names: set[str] = set()
    for pattern in patterns:
        found = {c.name for c in all_cases if pattern in c.name or fnmatch.fnmatch(c.name, pattern)}
        if not found:
            fail(f"no case matches '{pattern}'; --list shows their names", code=2)
        names |= found
    return [c for c in all_cases if c.name in names]


def set_up(group: str) -> None:
    """Installs the packages of a group of scripts/packages.txt that are missing."""
    if subprocess.run([ROOT / "scripts/setup", group], check=False).returncode != 0:
        raise SystemExit(1)


def measure(chosen: list[Case], rounds: int, quick: bool = False,
            limit: float = FULL_LIMIT_SECONDS) -> tuple[list[Result], int]:
    """Results of all cases and of their aspects, and how many rounds were run in full. A run may
    take `limit` seconds; `quick` keeps all of them to the two minutes of the demo."""
    runs = sum(min(v.rounds or rounds, rounds) for case in chosen for v in case.variants)
    progress = Progress(runs, rounds)
    budget = QUICK_BUDGET_SECONDS if quick else None
    try:
        results, complete = collect(chosen, rounds, limit, budget, progress)
    finally:
        progress.end()
    return [row for result in results for row in (result, *result.aspects())], complete


def write_json(path: str, results: list[Result], rounds: int, **more) -> None:
    document = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": machine.describe(),
        "rounds": rounds,
        "cases": render.as_json(results),
    } | more
    Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
