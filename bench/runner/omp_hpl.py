"""The cases `hpl/PxT` of bench/omp_programs: HPL in P processes whose OpenBLAS for OpenMP has T threads
each. HPL alone, out of the sources of Debian's hpcc, over Open MPI, whose ranks yield while they wait."""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import apps, fetch, machine, omp_sides
from .cases import Place
from .model import LINUX, Case, Target
from .omp_shapes import library_folder

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
GRIDS = {(1, 1): (1, 1), (1, 2): (1, 1), (2, 1): (1, 2), (2, 2): (1, 2), (4, 2): (2, 2),
         (2, 4): (1, 2)}  # processes and threads: rows and columns of processes
ORDER, QUICK_ORDER = 6000, 1500  # some 2 s and 0.1 s on two cores
BLAS = "openblas-openmp"


def build(folder: Path) -> str | None:
    """Builds `xhpl`; a sentence if that is not possible."""
    program, source = folder / "xhpl", PROGRAMS / "hpl_main.c"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return None
    hpcc = fetch.debian_source(folder / "hpcc", "hpcc")
    if not hpcc:
        return "Without HPL: apt-get could not download the sources of hpcc."
    subprocess.run(["mpicc.openmpi", "-O2", "-w", "-DHPL_CALL_CBLAS", "-DHPL_NO_MPI_DATATYPE",
                    f"-I{hpcc}/include", f"-I{hpcc}/hpl/include", "-o", program, source,
                    *hpcc.glob("hpl/src/*/*.c"), *hpcc.glob("hpl/testing/*/*.c"),
                    "-l:libblas.so.3", "-lm"], check=True)
    return None


def cases(place: Place, library: Path) -> list[Case]:
    if not library_folder(BLAS):
        return []
    return [_case(place, library, processes, threads) for processes, threads in GRIDS]


def _case(place: Place, library: Path, processes: int, threads: int) -> Case:
    """HPL checks its residual itself, so there is no checksum to compare."""
    def command(*prefix: str) -> tuple[str, ...]:
        rows, columns = GRIDS[processes, threads]
        return (*apps.script("hpl.py"), str(QUICK_ORDER if place.quick else ORDER), str(rows),
                str(columns), "--", *prefix, *apps.mpiexec("openmpi", processes), "--bind-to",
                "none", str(place.programs / "omp/xhpl"))

    oversubscribed = processes * threads > machine.cores()
    rivals = dict(omp_sides.RIVALS)
    if oversubscribed:
        rivals["OMP_NUM_THREADS=1"] = {"OMP_NUM_THREADS": "1"}
    environment = apps.AS_ROOT | {"LD_LIBRARY_PATH": str(library_folder(BLAS)),
                                  "OMP_NUM_THREADS": str(threads)}
    return Case(f"hpl/{processes}x{threads}", "GFLOP/s",
                omp_sides.sides(place, library, command, environment, rivals),
                target=Target(over=LINUX, at_least=1 if oversubscribed else 0.98))
