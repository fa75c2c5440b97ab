"""The cases of bench/omp: what OpenMP constructs cost in each runtime, and the runtimes themselves.

A case is a construct, a variant a runtime in one setting. The program is built by gcc for libgomp and
by clang for the others; ours runs both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .model import Case, Result, Variant
from . import fetch, render

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "bench/programs/omp_overheads.c"
OWN = "own-"  # constructs of the program's second build
OURS, OURS_ROOST, OURS_CLANG = "ours", "ours, roost run", "ours, clang"
OUR_NAMES = (OURS, OURS_ROOST, OURS_CLANG)

GOMP_SETTINGS = {"": {}, "active": {"OMP_WAIT_POLICY": "active"},
                 "passive": {"OMP_WAIT_POLICY": "passive"}}
KMP_SETTINGS = {"": {}, "blocktime 0": {"KMP_BLOCKTIME": "0"},
                "blocktime infinite": {"KMP_BLOCKTIME": "infinite"}}


@dataclass(frozen=True)
class Runtime:
    """A rival's library, to be preloaded into the program of clang."""

    name: str
    library: Path


def build(folder: Path) -> dict[str, Path]:
    """The program as each compiler builds it, by `gcc` and `clang`, and by `own-gcc` and `own-clang`
    with OWN_THREADS: the newest of each that calls only what the installed runtime has."""
    sys.path.insert(0, str(ROOT / "tests/omp"))
    sys.dont_write_bytecode = True
    import toolchain  # the tests know where compilers and LLVM's runtime are
    programs: dict[str, Path] = {}
    for compiler in toolchain.find_compilers(folder):
        if compiler.family in programs:
            continue
        try:
            for prefix, more in (("", ()), (OWN, ("-DOWN_THREADS",))):
                programs[prefix + compiler.family] = toolchain.compile_cached(
                    [*compiler.command(SOURCE), *more, str(SOURCE)], [SOURCE],
                    folder / f"omp_overheads-{prefix}{compiler.family}")
        except toolchain.BuildError as error:
            if not toolchain.is_too_old(error):
                raise
    return programs


def constructs(program: Path) -> list[str]:
    return subprocess.run([program, "--list"], check=True, capture_output=True,
                          text=True).stdout.split()


def rivals(folder: Path) -> tuple[list[Runtime], list[str]]:
    """Further runtimes that can be had, and a sentence for each that cannot."""
    found, sentences = [], []
    for libomp in sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so.5")):
        version = libomp.parts[3].removeprefix("llvm-")
        found.append(Runtime(f"libomp {version}", libomp))
    intel = fetch.from_pypi(folder / "intel", "intel-openmp", "libiomp5.so")
    if intel:
        found.append(Runtime("libiomp5", intel))
    else:
        sentences.append("Without Intel's libiomp5: pip could not download intel-openmp.")
    if not any(runtime.name == "libomp 19" for runtime in found):
        newer = fetch.from_debian(folder / "llvm-19", "libomp5-19", "libomp.so.5")
        if newer:
            found.append(Runtime("libomp 19", newer))
        else:
            sentences.append("Without clang 19's libomp: apt-get could not download libomp5-19.")
    return found, sentences


def cases(programs: dict[str, Path], library: Path, under_roost: tuple[str, ...],
          runtimes: list[Runtime], threads: int | None, seconds: str) -> list[Case]:
    """All constructs with all runtimes. `under_roost`: `roost run` with its options, or nothing."""
    team = {"OMP_NUM_THREADS": str(threads)} if threads else {}

    def variants(construct: str) -> list[Variant]:
        prefix = OWN if construct.startswith(OWN) else ""

        def command(family: str) -> tuple[str, ...]:
            return (str(programs[prefix + family]), "--seconds", seconds, construct)

        chosen = []
        ours = team | {"LD_PRELOAD": str(library)}
        if "gcc" in programs:
            chosen.append(Variant(OURS, command("gcc"), ours))
            if under_roost:
                chosen.append(Variant(OURS_ROOST, under_roost + command("gcc"), ours))
            chosen += [Variant(f"libgomp {name}".strip(), command("gcc"), team | setting)
                       for name, setting in GOMP_SETTINGS.items()]
        if "clang" in programs:
            chosen.append(Variant(OURS_CLANG, command("clang"), ours))
            chosen += [Variant(f"{runtime.name} {name}".strip(), command("clang"),
                               team | setting | {"LD_PRELOAD": str(runtime.library)})
                       for runtime in runtimes for name, setting in KMP_SETTINGS.items()]
        return chosen

    family = next(family for family in programs if not family.startswith(OWN))
    return [Case(name, "ns", tuple(variants(name)), higher_is_better=False)
            for prefix in ("", OWN) for name in constructs(programs[prefix + family])]


# ---- Tables -------------------------------------------------------------------------------------

# What is below is noise of the clock and of the subtraction: ratios to it say nothing.
LEAST_NS = 2.0


def best_rival(result: Result) -> tuple[str, float] | None:
    """The rival that is fastest in this construct, in whichever setting, and its median."""
    medians = [(result.median(variant.name), variant.name) for variant in result.case.variants
               if variant.name not in OUR_NAMES]
    known = [(max(value, LEAST_NS), name) for value, name in medians if value is not None]
    return (min(known)[1], min(known)[0]) if known else None


def table(results: list[Result], limit: float) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows: ours, how many times as fast as the best rival, and the spread."""
    head = ("construct", "unit", *OUR_NAMES, "best rival", "its name", "best/ours",
            "best/roost run", "best/clang", "ours min..max", "rival min..max")
    rows = []
    for result in results:
        best = best_rival(result)
        ratios = [_ratio(result, name, best) for name in OUR_NAMES]
        rows.append((result.case.name, result.case.unit,
                     *(render.cell(result, name, limit) for name in OUR_NAMES),
                     render.number(best[1]) if best else "-", best[0] if best else "-", *ratios,
                     _spread(result, OURS), _spread(result, best[0]) if best else "-"))
    return head, rows


def rival_table(results: list[Result], limit: float) -> tuple[tuple[str, ...], list]:
    """A column for each runtime and setting."""
    names = list(dict.fromkeys(variant.name for result in results
                               for variant in result.case.variants))
    body = [(result.case.name, *(render.cell(result, name, limit) for name in names))
            for result in results]
    return ("construct", *names), body


def _ratio(result: Result, name: str, best: tuple[str, float] | None) -> str:
    own = result.median(name)
    return "-" if own is None or not best else f"{best[1] / max(own, LEAST_NS):.2f}"


def _spread(result: Result, name: str) -> str:
    values = result.values(name)
    return f"{render.number(min(values))}..{render.number(max(values))}" if values else "-"


def slower(results: list[Result]) -> list[str]:
    """Constructs in which ours loses to the best rival, however it runs."""
    lost = []
    for result in results:
        best, own = best_rival(result), result.median(OURS)
        if best and own is not None and max(own, LEAST_NS) > 1.02 * best[1]:
            lost.append(f"{result.case.name} ({best[1] / own:.2f} of {best[0]})")
    return lost


def library_of(build: Path) -> Path:
    return Path(os.environ.get("ROOST_OMP_LIBRARY") or build / "lib/libroost_omp.so").resolve()
