"""The cases `shapes/LIBRARY/ROUTINE/PxQ` of bench/omp_programs: an outer OpenMP loop of P members that
call a BLAS with Q threads. Every shape does the same work, so an ideal runtime makes all equally fast.

OpenBLAS 0.3.21 does not start threads inside a parallel region: with it, Q counts for P = 1 alone.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import omp_sides, render
from .cases import Place
from .model import ADAPT, Agreement, Case, Result, Variant

SOURCE = Path(__file__).resolve().parents[1] / "programs/blas_shapes.c"
LIBRARIES = ("openblas-openmp", "blis-openmp")
ROUTINES = ("symm", "hemm", "trsm")
WIDTHS = (2, 4, 8, 16)
AT_LEAST = 0.97  # of the best shape of the same P*Q, routine, library and side
TOLERANCE = 1e-10  # of sums of a million elements, whose parts another width may add up otherwise


def build(folder: Path) -> Path:
    """The program, linked as Debian's packages are: with whatever libblas.so.3 is found."""
    program = folder / "blas_shapes"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-g", "-fopenmp", "-o", program, SOURCE, "-l:libblas.so.3",
                        "-lm"], check=True)
    return program


def library_folder(name: str) -> Path | None:
    """Where the distribution keeps a libblas.so.3 of this name."""
    return next((path.parent for path in Path("/usr/lib").glob(f"*-linux-gnu/{name}/libblas.so.3")),
                None)


def cases(place: Place, library: Path) -> list[Case]:
    rivals = omp_sides.RIVALS | omp_sides.llvm_runtime()
    return [_case(place, library, rivals, blas, routine, width // inner, inner)
            for blas in LIBRARIES if library_folder(blas)
            for routine in ROUTINES for width in WIDTHS
            for inner in (2 ** i for i in range(width.bit_length()))]


def _case(place: Place, library: Path, rivals: dict, blas: str, routine: str, outer: int,
          inner: int) -> Case:
    def command(*prefix: str) -> tuple[str, ...]:
        return (*prefix, str(place.programs / "omp/blas_shapes"), routine, str(outer), str(inner),
                place.seconds)

    environment = {"LD_LIBRARY_PATH": str(library_folder(blas)), "BLIS_NUM_THREADS": str(inner)}
    adapt = Variant(ADAPT, command(*place.under_roost("--omp", "roost", "--blas", "adapt")),
                    environment)
    return Case(f"shapes/{blas.removesuffix('-openmp')}/{routine}/{outer}x{inner}", "GFLOP/s",
                (*omp_sides.sides(place, library, command, environment, rivals), adapt),
                agreement=Agreement(f"shapes/{routine}", TOLERANCE))


def _row_of(result: Result) -> tuple[str, int]:
    """Shapes of the same row do the same work with as many threads in all."""
    head, shape = result.case.name.rsplit("/", 1)
    outer, inner = shape.split("x")
    return head, int(outer) * int(inner)


def fractions(results: list[Result]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows: each shape's rate over that of the best shape of the same side and P*Q."""
    shapes = [result for result in results if result.case.name.startswith("shapes/")]
    names = list(dict.fromkeys(v.name for result in shapes for v in result.case.variants))
    rows = [(result.case.name, *(render.ratio(_fraction(result, name, shapes)) for name in names))
            for result in shapes]
    return ("of the best shape", *map(omp_sides.title, names)), rows


def _fraction(result: Result, name: str, shapes: list[Result]) -> float | None:
    medians = [other.median(name) for other in shapes if _row_of(other) == _row_of(result)]
    own, best = result.median(name), max((m for m in medians if m is not None), default=None)
    return own / best if own is not None and best else None


def uneven(results: list[Result], name: str) -> list[str]:
    """The shapes in which this side falls short of the target, or has no figure."""
    shapes = [result for result in results if result.case.name.startswith("shapes/")]
    short = []
    for result in shapes:
        fraction = _fraction(result, name, shapes)
        if fraction is None or fraction < AT_LEAST:
            short.append(f"{result.case.name} ({render.ratio(fraction)})")
    return short
