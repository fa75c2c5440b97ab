"""Whole applications: PyTorch, MPI programs, LAMMPS and Redis compute under roost what they compute.

Their packages are those of `scripts/setup applications`; nothing else needs them, so they may be missing.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from suite import Comparison, Context, both_sides, missing, same_status
from tools_suite import INPUTS, PYTHON, TIMEOUT, environment

BENCH = Path(__file__).resolve().parents[2] / "bench" / "programs"
RANKS = "mpiexec.{0} {1} -n 4"
STEPS = ("mpicc.{0} -O2 -w -o steps mpi_steps.c && for loop in allreduce halo; do "
         + RANKS + " ./steps $loop 100 1 | cut -d, -f1,2; done")
TORCH = "/usr/lib/python3/dist-packages/torch"


@dataclass(frozen=True)
class Application:
    name: str
    script: str  # for bash, in a directory with the inputs and the bench's programs
    needs: tuple[str, ...]


APPLICATIONS = (
    Application("torch", f"OMP_NUM_THREADS=4 {PYTHON} torch_forward.py", (PYTHON, TORCH)),
    Application("mpich", STEPS.format("mpich", ""), ("mpicc.mpich", "mpiexec.mpich")),
    Application("openmpi", STEPS.format("openmpi", "--oversubscribe"),
                ("mpicc.openmpi", "mpiexec.openmpi")),
    Application("lammps", RANKS.format("openmpi", "--oversubscribe") + " lmp -in lammps.in -log none "
                "-var steps 200 -var seed 1 | grep '^ *[0-9]* *[0-9.]* *-'",
                ("lmp", "mpiexec.openmpi")),
    Application("redis", "bash redis_check.sh", ("redis-server", "redis-cli", "redis-benchmark")),
)


def suites(context: Context):
    for application in APPLICATIONS:
        name = f"applications/{application.name}"
        if reason := missing(*application.needs):
            yield Comparison(name, skipped=f"{reason} (scripts/setup applications)")
        else:
            yield both_sides(context, name, ["bash", "-o", "pipefail", "-c", application.script],
                             timeout=TIMEOUT, prepare=lay_out, env=as_root(), compare=compare)


def as_root() -> dict[str, str]:
    """Open MPI refuses to be run by root unless told twice; in a container there may be nobody else."""
    return {**environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def lay_out(directory: Path) -> None:
    shutil.copytree(INPUTS, directory, dirs_exist_ok=True)
    for name in ("mpi_steps.c", "lammps.in"):
        shutil.copy(BENCH / name, directory)


def compare(plain, roost) -> list[str]:
    """The results; what libraries say of the machine on standard error may differ."""
    problems = same_status(plain, roost)
    if not problems and (plain.stdout != roost.stdout or not plain.stdout):
        problems.append(f"stdout differs: {plain.stdout[-400:]!r} plain, {roost.stdout[-400:]!r} "
                        "under roost")
    return problems
