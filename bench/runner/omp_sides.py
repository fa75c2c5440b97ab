"""The sides of bench/omp_programs: the same program over the OpenMP runtime it is linked with and over
Roost's, and the tables that put them beside each other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from . import render
from .cases import Place
from .model import ADAPT, LINUX, LOSS, ROOST, Result, Variant

HOST, PRELOAD = "roost run --omp host", "LD_PRELOAD"
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
RIVALS = {"passive": PASSIVE, "active": {"OMP_WAIT_POLICY": "active"}}
OURS = (HOST, ROOST, PRELOAD, ADAPT)


def sides(place: Place, library: Path, command: Callable[..., tuple[str, ...]],
          env: dict[str, str], rivals: dict[str, dict[str, str]]) -> tuple[Variant, ...]:
    """`command` takes what shall stand before the measured program. Linux with the defaults and in
    the rivals' settings, Roost beneath the program's own runtime and beneath ours, and ours alone."""
    return (
        Variant(LINUX, command(), env),
        *(Variant(name, command(), env | setting) for name, setting in rivals.items()),
        Variant(HOST, command(*place.under_roost("--omp", "host")), env),
        Variant(ROOST, command(*place.under_roost("--omp", "roost")), env),
        Variant(PRELOAD, command("env", f"LD_PRELOAD={library}"), env),
    )


def llvm_runtime() -> dict[str, dict[str, str]]:
    """The newest libomp that is installed, as a rival: it serves gcc's programs, too."""
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so.5"),
                   key=lambda path: int(path.parts[3].removeprefix("llvm-")))
    return {"libomp": {"LD_PRELOAD": os.fspath(found[-1])}} if found else {}


def best_rival(result: Result) -> str | None:
    """The side without Roost that has the highest median; all figures here are rates."""
    known = [(result.median(v.name), v.name) for v in result.case.variants if v.name not in OURS]
    return max(((value, name) for value, name in known if value is not None), default=(0, None))[1]


def _names(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(v.name for result in results for v in result.case.variants))


def title(name: str) -> str:
    return "roost run --omp roost" if name == ROOST else render.SHORT_NAMES.get(name, name)


def _with_spread(result: Result, name: str, limit: float) -> str:
    """The median, and how far below and above it the runs lie, in per cent."""
    shown, median = render.cell(result, name, limit), result.median(name)
    values = result.values(name)
    if not median or len(values) < 2:
        return shown
    return f"{shown} -{100 * (1 - min(values) / median):.0f}+{100 * (max(values) / median - 1):.0f}%"


def table(results: list[Result], limit: float) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows: each side's median and spread, and what ours makes of Linux and the best rival."""
    names = _names(results)
    head = ("case", "unit", *map(title, names), "roost/Linux", "preload/Linux", "best rival",
            "roost/best")
    rows = []
    for result in results:
        best = best_rival(result)
        rows.append((
            result.case.name, result.case.unit, *(_with_spread(result, n, limit) for n in names),
            render.ratio(result.ratio(ROOST, LINUX)), render.ratio(result.ratio(PRELOAD, LINUX)),
            best or "-", render.ratio(result.ratio(ROOST, best) if best else None)))
    return head, rows


def wrong_results(results: list[Result]) -> list[str]:
    """A sentence for each side of a case whose checksum is not its group's."""
    references: dict[str, float] = {}
    sentences = []
    for result in results:
        if result.case.agreement:
            known = _checksums(result, LINUX)
            if known:
                references.setdefault(result.case.agreement.group, known[0])
    for result in results:
        agreement = result.case.agreement
        reference = references.get(agreement.group) if agreement else None
        for name in result.samples if reference is not None else ():
            off = max((abs(x - reference) / abs(reference) for x in _checksums(result, name)),
                      default=0)
            if not off <= agreement.tolerance:
                sentences.append(f"{result.case.name} ({title(name)}) computed something else: "
                                 f"{off:.2g} off, tolerance {agreement.tolerance:g}.")
    return sentences


def _checksums(result: Result, name: str) -> list[float]:
    return [s.others["checksum"] for s in result.samples.get(name, []) if "checksum" in s.others]


def slower(results: list[Result]) -> list[str]:
    """Cases in which ours beneath Roost loses to the best side without."""
    lost = []
    for result in results:
        best = best_rival(result)
        ratio = result.ratio(ROOST, best) if best else None
        if ratio is not None and ratio < LOSS:
            lost.append(f"{result.case.name} ({ratio:.2f} of {best})")
    return lost
