"""The cases of whole applications: PyTorch servers, what ML and data teams run besides, MPI programs,
LAMMPS, servers of small messages, microservices, and programs beside foreign load.

Beside ideal, Linux and Roost each has its rivals: what people set today. What needs packages that
the other cases do not is installed by `scripts/setup applications`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import fetch, machine, session
from .cases import Place, nested_command, numpy_python
from .model import BOUND, IDEAL, LINUX, ROOST, Aspect, Case, Target, Variant

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"

TORCH_PROCESSES = (2, 4, 8)
TORCH_THREADS = (2, 4, 8, 28)
QUANTUM_MS = "20"  # of `roost run` by default
# On all sides: by chance, process by process, glibc else gives the top of the heap back after each
# request, and a server takes a thousand page faults for the next, or none.
SETTLED_HEAP = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000"}
# Of PyPI, which Debian has not or older; programs/frameworks.py has a job for each.
FRAMEWORKS = ("onnxruntime", "xgboost", "lightgbm", "faiss", "jax", "duckdb", "polars", "opencv",
              "numba")
FRAMEWORK_PACKAGES = ("numpy==2.4.*", "onnxruntime==1.32.*", "onnx==1.23.*", "xgboost==3.2.*",
                      "lightgbm==4.7.*", "faiss-cpu==1.15.*",
                      "jax[cpu]==0.10.*", "duckdb==2.0.*", "polars==2.1.*",
                      "opencv-python-headless==5.0.*", "numba==0.68.*")
FRAMEWORK_SHAPES = ((1, 4), (4, 4), (8, 8))  # processes, threads of each

# What makes the libraries yield while they wait; `roost run` sets it by itself.
MPI_YIELDS = {
    "mpich": {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"},
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
}
MPI_RANKS = (2, 4, 8)
LAMMPS_ENSEMBLES = 2
LAMMPS_RANKS = (2, 4)
ECHO_CONNECTIONS = (1, 16)
REDIS_CLIENTS = 20
SERVICE_RATES = (2, 4, 6, 8, 12)  # requests a second; two cores serve some 8
# Open MPI asks twice; in a container the user is often root.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def all_cases(place: Place) -> list[Case]:
    return [*_torch(place), *_frameworks(place), *_mpi(place), *_lammps(place), *_io(place),
            *_microservices(place), *_foreign(place)]


def build(place: Place, chosen: list[Case]) -> None:
    """Compiles what needs the compilers of the applications' packages: mpi_steps-LIBRARY; and fetches
    the frameworks, where a case has one."""
    if any(case.name.split("/")[0] in FRAMEWORKS for case in chosen):
        _fetch_frameworks(place)
    source = PROGRAMS / "mpi_steps.c"
    for library in MPI_YIELDS:
        program = place.programs / f"mpi_steps-{library}"
        if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
            continue
        compiler = f"mpicc.{library}"
        if shutil.which(compiler):
            subprocess.run([compiler, "-O2", "-w", "-o", program, source], check=True)


def script(name: str, *arguments: str, python: str | None = None) -> tuple[str, ...]:
    return (python or numpy_python(), str(PROGRAMS / name), *arguments)


def torch_python() -> str:
    """ROOST_TORCH_PYTHON names another Python than the distribution's, as one with PyPI's PyTorch."""
    return os.environ.get("ROOST_TORCH_PYTHON") or numpy_python()


def ml_python(place: Place) -> str:
    """ROOST_ML_PYTHON names a Python that has the frameworks already."""
    return os.environ.get("ROOST_ML_PYTHON") or str(place.programs / "frameworks/bin/python3")


def _fetch_frameworks(place: Place) -> None:
    """Into an environment of the build's own, once; a gigabyte and a half."""
    if os.environ.get("ROOST_ML_PYTHON"):
        return
    if not fetch.environment(place.programs / "frameworks", FRAMEWORK_PACKAGES):
        session.fail("cannot fetch the frameworks from PyPI: "
                     "name a Python that has them in ROOST_ML_PYTHON")


def _seconds(place: Place) -> str:
    return "2" if place.quick else "5"


def _torch(place: Place) -> list[Case]:
    return [_torch_case(place, processes, threads)
            for processes in TORCH_PROCESSES for threads in TORCH_THREADS]


def _torch_case(place: Place, processes: int, threads: int) -> Case:
    """Servers with one client each. The ideal has the same clients, and a server a core.

    The bound has as many servers of one thread, which are stopped and continued in turns as long
    as Roost's quantum: what they cost in caches, whoever schedules.
    """
    def servers(copies: int, *prefix: str, clients: int = 1,
                turns: tuple[str, ...] = ()) -> tuple[str, ...]:
        return script("closed_loop.py", str(copies), _seconds(place), *turns, "--", *prefix,
                       *script("torch_inference.py", "--clients", str(clients),
                               python=torch_python()))

    cores = min(machine.cores(), processes)
    width = SETTLED_HEAP | {"OMP_NUM_THREADS": str(threads)}
    one = SETTLED_HEAP | {"OMP_NUM_THREADS": "1"}
    same = servers(processes)
    each = processes // cores
    in_turns = servers(processes, turns=("--turns", QUANTUM_MS))
    bound = [Variant(BOUND, in_turns, one)] if each > 1 else []
    return Case(f"torch/{processes}x{threads}", "requests/s", (
        Variant(IDEAL, servers(cores, clients=each), one),
        *bound,
        Variant(LINUX, same, width),
        Variant("OMP_WAIT_POLICY=passive", same, width | {"OMP_WAIT_POLICY": "passive"}),
        Variant("OMP_NUM_THREADS=1", same, one),
        Variant(ROOST, servers(processes, *place.under_roost()), width),
        Variant("roost, OMP_DYNAMIC=true", servers(processes, *place.under_roost()),
                width | {"OMP_DYNAMIC": "true"}),
    ), target=Target(over=IDEAL, at_least=0.93),
        aspects=(Aspect("p99_ms", "ms", target=Target(over=IDEAL, at_least=1 / 1.25)),
                 Aspect("least_of_most", "requests", higher_is_better=True)))


def _frameworks(place: Place) -> list[Case]:
    return [_framework_case(place, name, processes, threads)
            for name in FRAMEWORKS for processes, threads in FRAMEWORK_SHAPES]


def _framework_case(place: Place, name: str, processes: int, threads: int) -> Case:
    """Copies with pools of their own. The ideal has a copy of one thread a core."""
    def copies(count: int, width: int, *prefix: str) -> tuple[str, ...]:
        return script("closed_loop.py", str(count), _seconds(place), "--", *prefix,
                      *script("frameworks.py", name, "--threads", str(width),
                              python=ml_python(place)))

    # One that is alone has all cores.
    cores = machine.cores()
    best = copies(1, cores) if processes == 1 else copies(min(cores, processes), 1)
    one = [Variant("one thread each", copies(processes, 1))] if processes > 1 else []
    return Case(f"{name}/{processes}x{threads}", "requests/s", (
        Variant(IDEAL, best),
        Variant(LINUX, copies(processes, threads)),
        *one,
        Variant(ROOST, copies(processes, threads, *place.under_roost())),
    ), target=Target(over=LINUX, at_least=1.0),
        aspects=(Aspect("p99_ms", "ms"), Aspect("least_of_most", "requests", higher_is_better=True)))


def mpiexec(library: str, ranks: int) -> tuple[str, ...]:
    more = ("--oversubscribe",) if library == "openmpi" else ()
    return (f"mpiexec.{library}", *more, "-n", str(ranks))


def _mpi(place: Place) -> list[Case]:
    return [_mpi_case(place, library, loop, ranks) for library in MPI_YIELDS
            for loop in ("allreduce", "halo") for ranks in MPI_RANKS]


def _mpi_case(place: Place, library: str, loop: str, ranks: int) -> Case:
    """Two rounds of work, 200 us, a step and rank. The ideal has a rank a core, which does the work
    of all those that it stands for."""
    def steps(ranks: int, rounds: int, prefix: tuple[str, ...] = ()) -> tuple[str, ...]:
        count = 300 if place.quick else 2000
        return (*prefix, *mpiexec(library, ranks), str(place.programs / f"mpi_steps-{library}"),
                loop, str(count), str(rounds))

    cores = min(machine.cores(), ranks)
    return Case(f"{library}/{loop}/{ranks}", "steps/s", (
        Variant(IDEAL, steps(cores, 2 * ranks // cores), AS_ROOT),
        Variant(LINUX, steps(ranks, 2), AS_ROOT),
        Variant("yields", steps(ranks, 2), AS_ROOT | MPI_YIELDS[library]),
        Variant(ROOST, steps(ranks, 2, place.under_roost()), AS_ROOT),
    ), target=Target(over=IDEAL, at_least=0.9))


def _lammps(place: Place) -> list[Case]:
    return [_lammps_case(place, ranks) for ranks in LAMMPS_RANKS]


def _lammps_case(place: Place, ranks: int) -> Case:
    """Two ensembles side by side. The ideal runs one after the other, with a rank a core."""
    def ensembles(at_once: int, ranks: int, *prefix: str) -> tuple[str, ...]:
        return script("lammps_ensembles.py", str(LAMMPS_ENSEMBLES), str(at_once),
                       "200" if place.quick else "1000", "--", *prefix,
                       *mpiexec("openmpi", ranks))

    same = ensembles(LAMMPS_ENSEMBLES, ranks)
    return Case(f"lammps/{LAMMPS_ENSEMBLES}x{ranks}", "katom-steps/s", (
        Variant(IDEAL, ensembles(1, machine.cores()), AS_ROOT),
        Variant(LINUX, same, AS_ROOT),
        Variant("yields", same, AS_ROOT | MPI_YIELDS["openmpi"]),
        Variant(ROOST, ensembles(LAMMPS_ENSEMBLES, ranks, *place.under_roost()), AS_ROOT),
    ), target=Target(over=IDEAL, at_least=0.9))


def _io(place: Place) -> list[Case]:
    """A server under Roost, its clients beside it: as many threads with work as cores."""
    cases = []
    for connections in ECHO_CONNECTIONS:
        load = (str(place.programs / "echo_load"), str(connections), "1" if place.quick else "3")
        cases.append(_io_case(place, f"echo/{connections}", ("echo",),
                              (str(place.programs / "echo_server"),), load))
    for test in ("set", "get"):
        load = ("redis-benchmark", "-c", str(REDIS_CLIENTS), "-n",
                "30000" if place.quick else "150000")
        cases.append(_io_case(place, f"redis/{test}", ("redis", test), ("redis-server",), load))
    return cases


def _io_case(place: Place, name: str, mode: tuple[str, ...], server: tuple[str, ...],
             load: tuple[str, ...]) -> Case:
    def served(*prefix: str) -> tuple[str, ...]:
        return script("serve.py", *mode, *prefix, *server, "--", *load)

    return Case(name, "requests/s", (
        Variant(LINUX, served()), Variant(ROOST, served(*place.under_roost())),
    ), target=Target(over=LINUX, at_least=0.97),
        aspects=(Aspect("p99_us", "us", target=Target(over=LINUX, at_least=0.95)),))


def _microservices(place: Place) -> list[Case]:
    def service(rate: int, *more: str) -> tuple[str, ...]:
        return script("microservices.py", "--rate", str(rate), "--requests",
                       "10" if place.quick else "40", *more)

    parallel = {"OMP_NUM_THREADS": str(machine.cores())}
    return [Case(f"microservices/{rate}", "requests/s", (
        Variant(LINUX, service(rate), parallel),
        Variant("partition", service(rate, "--partition"), parallel),
        Variant("OMP_NUM_THREADS=1", service(rate), {"OMP_NUM_THREADS": "1"}),
        Variant(ROOST, service(rate, "--", *place.under_roost()), parallel),
    ), target=Target(over=LINUX, at_least=0.98), aspects=(
        Aspect("mean_ms", "ms", target=Target(over=LINUX, at_least=1)),
        Aspect("p99_ms", "ms", target=Target(over=LINUX, at_least=1)),
    )) for rate in SERVICE_RATES]


def _foreign(place: Place) -> list[Case]:
    """Beside a thread that spins on one of the cores and is none of Roost's."""
    spinner = script("beside_spinner.py")
    threads = ("--seconds", place.seconds, "--threads", "8")
    commands = {
        "matmul-threads-2x1": ("GFLOP/s", nested_command(place, "matmul", "threads", 2, 1)),
        "matmul-tbb-8x8": ("GFLOP/s", nested_command(place, "matmul", "tbb", 8, 8)),
        "barrier-8": ("arrivals/s", (str(place.programs / "barrier_loop"), *threads)),
        "convoy-8": ("sections/s", (str(place.programs / "convoy"), *threads)),
    }
    return [Case(f"foreign/{name}", unit, (
        Variant(LINUX, spinner + command), Variant(ROOST, spinner + place.under_roost() + command),
    ), target=Target(over=LINUX, at_least=0.98)) for name, (unit, command) in commands.items()]
