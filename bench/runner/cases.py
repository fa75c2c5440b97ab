"""The cases: which programs run, at which widths, against what.

Linux is what a user gets who changes nothing; Roost is the same command behind `roost run`,
which sets the passive wait policies by itself. The ideal is the same work without
oversubscription, under Linux.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .model import ADAPT, BOUND, IDEAL, LINUX, ROOST, Case, Target, Variant

PROBLEMS = ("matmul", "cholesky")
OUTER_RUNTIMES = ("libgomp", "libomp", "tbb", "threads")
# Beside the pthread build of OpenBLAS. BLIS has no LAPACK, so no Cholesky.
INNER_LIBRARIES = {"matmul": ("openblas-openmp", "blis-pthread", "blis-openmp"),
                   "cholesky": ("openblas-openmp",)}
INNER_SHAPES = ((2, 2), (4, 4), (8, 8), (14, 14), (28, 28))
SHAPES = ((1, 1), (2, 1), (1, 2), *INNER_SHAPES)
THREAD_COUNTS = (2, 4, 8, 16, 32, 64)
RIVAL_SHAPES = ((8, 8), (28, 28))
PROCESSES = 4

# libgomp waits with inline system calls, which symbol interposition does not see.
WAITS_VISIBLE = ("libomp", "tbb", "threads")

# What `roost run` sets by itself; one of the rivals gets the same without Roost.
PASSIVE_WAITS = {
    "OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}

QUICK = {
    "matmul/libgomp/8x8", "matmul/libomp/8x8", "matmul/tbb/2x1", "matmul/tbb/8x8",
    "matmul/tbb/28x28", "matmul/threads/8x8", "matmul/threads/28x28",
    "cholesky/libomp/8x8", "cholesky/tbb/14x14", "numpy/4-processes",
    "convoy/16", "barrier/16", "create-join/1", "switch/semaphore", "switch/yield",
    "uncontended/mutex",
}


@dataclass(frozen=True)
class Place:
    """Where the programs and Roost are, and how long each run measures."""

    roost: str
    programs: Path
    instance: str
    quick: bool

    @property
    def seconds(self) -> str:
        return "0.3" if self.quick else "1"

    def under_roost(self, *options: str) -> tuple[str, ...]:
        # An instance of its own: the bench neither joins nor disturbs the user's.
        name = "-".join([self.instance, *options]).replace("--", "")
        return (self.roost, "run", "--instance", name, *options, "--")


def all_cases(place: Place) -> list[Case]:
    cases = [*_nested(place), *_inner(place), *_python(place), _numpy(place), *_threads(place),
             *_micro(place)]
    if place.quick:
        cases = [case for case in cases if case.quick]
    return cases


def _case(name: str, unit: str, variants: tuple[Variant, ...], **more) -> Case:
    return Case(name, unit, variants, quick=name in QUICK, **more)


def _nested(place: Place) -> list[Case]:
    return [
        _nested_case(place, problem, runtime, outer, inner)
        for problem in PROBLEMS for runtime in OUTER_RUNTIMES for outer, inner in SHAPES
        if (place.programs / f"{problem}-{runtime}").exists()
    ]


def _inner(place: Place) -> list[Case]:
    """The nested shapes around other libraries."""
    return [
        _nested_case(place, problem, f"{runtime}-{library}", outer, inner)
        for problem in PROBLEMS for library in INNER_LIBRARIES[problem] for runtime in OUTER_RUNTIMES
        for outer, inner in INNER_SHAPES
        if (place.programs / f"{problem}-{runtime}-{library}").exists()
    ]


def _python(place: Place) -> list[Case]:
    """The tasks in the threads of an executor, around each library that can stand in for libblas."""
    script = Path(__file__).resolve().parent.parent / "programs/nested_python.py"
    size = ("--size", "1024") if place.quick else ()
    cases = []
    for folder in sorted(Path("/usr/lib").glob("*-linux-gnu/*-*/libblas.so.3")):
        library = folder.parent.name
        if not library.startswith(("openblas-", "blis-")) or library.endswith("-serial"):
            continue

        def command(problem: str, outer: int) -> tuple[str, ...]:
            return (numpy_python(), str(script), problem, "--outer", str(outer), *size,
                    "--seconds", place.seconds)

        def environment(inner: int) -> dict[str, str]:
            return {"LD_LIBRARY_PATH": str(folder.parent), "OPENBLAS_NUM_THREADS": str(inner),
                    "BLIS_NUM_THREADS": str(inner), "OMP_NUM_THREADS": str(inner)}

        for problem in PROBLEMS:
            if not library.startswith("openblas-") and problem == "cholesky":
                continue  # no LAPACK
            for outer, inner in INNER_SHAPES:
                same = command(problem, outer)
                cases.append(_case(f"{problem}/python-{library}/{outer}x{inner}", "GFLOP/s", (
                    Variant(IDEAL, command(problem, machine.cores()), environment(1)),
                    Variant(LINUX, same, environment(inner)),
                    Variant(ROOST, place.under_roost() + same, environment(inner)),
                    Variant(ADAPT, place.under_roost("--blas", "adapt") + same, environment(inner)),
                )))
    return cases


def nested_command(place: Place, problem: str, runtime: str, outer: int,
                   inner: int | None) -> tuple[str, ...]:
    """`inner` None: the BLAS decides, from its environment or the number of cores."""
    command = [str(place.programs / f"{problem}-{runtime}"), "--outer", str(outer)]
    if inner is not None:
        command += ["--inner", str(inner)]
    if place.quick:
        command += ["--size", "1024"]
    return (*command, "--seconds", place.seconds)


def width_of(runtime: str, inner: int) -> dict[str, str]:
    """What else has to say how wide an inner call is: OpenBLAS for OpenMP asks OpenMP, whose setting
    is each thread's own, so the program's main thread cannot say it for the others."""
    outer, _, library = runtime.partition("-")
    if library == "openblas-openmp" and outer in ("tbb", "threads"):
        return {"OMP_NUM_THREADS": str(inner)}
    return {}


def _nested_case(place: Place, problem: str, runtime: str, outer: int, inner: int) -> Case:
    cores = machine.cores()
    command = nested_command(place, problem, runtime, outer, inner)
    width = width_of(runtime, inner)
    variants = [
        Variant(IDEAL, nested_command(place, problem, runtime, cores, 1), width_of(runtime, 1)),
        Variant(LINUX, command, width),
        Variant(ROOST, place.under_roost() + command, width),
    ]
    target = None
    if outer * inner <= cores:
        target = Target(over=LINUX, at_least=0.98)
    elif runtime in WAITS_VISIBLE:
        target = Target(over=IDEAL, at_least=0.95, of=ADAPT if inner > 1 else ROOST)
    if inner > 1:
        variants.append(Variant(ADAPT, place.under_roost("--blas", "adapt") + command, width))
        alone = nested_command(place, problem, runtime, 1, inner)
        variants.append(Variant(BOUND, _one_core() + alone, width, scale=cores, rounds=1))
    return _case(f"{problem}/{runtime}/{outer}x{inner}", "GFLOP/s", tuple(variants),
                 target=target)


def _numpy(place: Place) -> Case:
    units = 15 if place.quick else 60
    scripts = Path(__file__).resolve().parent.parent / "programs"
    python = numpy_python()

    def jobs(copies: int, at_once: int, prefix: tuple[str, ...] = (),
             options: tuple[str, ...] = ()) -> tuple[str, ...]:
        return (sys.executable, str(scripts / "at_once.py"), str(copies), str(at_once),
                str(units), "--", *prefix, python, str(scripts / "numpy_work.py"),
                "--units", str(units), *options)

    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return _case(f"numpy/{PROCESSES}-processes", "work/s", (
        Variant(IDEAL, jobs(PROCESSES, min(PROCESSES, machine.cores())), one_thread),
        Variant(LINUX, jobs(PROCESSES, PROCESSES)),
        Variant(ROOST, jobs(PROCESSES, PROCESSES, place.under_roost())),
        Variant(BOUND, jobs(1, 1, options=("--one-core",)), scale=machine.cores(), rounds=1),
    ))


def numpy_python() -> str:
    """The distribution's Python, which has the distribution's NumPy; else this one."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable


def _one_core() -> tuple[str, ...]:
    return ("taskset", "-c", str(machine.first_core()))


def _threads(place: Place) -> list[Case]:
    cores = machine.cores()
    # Ideal: of the convoy a thread a core; of the barrier as many threads that never wait.
    ideals = {"convoy": (str(cores), 1), "barrier_loop": ("1", cores)}
    cases = []
    for name, program, unit in (("convoy", "convoy", "sections/s"),
                                ("barrier", "barrier_loop", "arrivals/s")):
        for count in THREAD_COUNTS:
            command = (str(place.programs / program), "--seconds", place.seconds, "--threads")
            threads, scale = ideals[program]
            cases.append(_case(f"{name}/{count}", unit, (
                Variant(IDEAL, command + (threads,), scale=scale),
                Variant(LINUX, command + (str(count),)),
                Variant(ROOST, place.under_roost() + command + (str(count),)),
            )))
    for count in (2, 3, 8, 32):
        command = (str(place.programs / "token_ring"), "--seconds", place.seconds,
                   "--threads", str(count))
        cases.append(_case(f"token-ring/{count}", "hand-offs/s", (
            Variant(IDEAL, _one_core() + command), Variant(LINUX, command),
            Variant(ROOST, place.under_roost() + command),
        )))
    for at_once in (1, 16):
        command = (str(place.programs / "create_join"), "--at-once", str(at_once),
                   "--seconds", place.seconds)
        cases.append(_case(f"create-join/{at_once}", "threads/s", (
            Variant(LINUX, command), Variant(ROOST, place.under_roost() + command),
        ), target=Target(over=LINUX, at_least=4) if at_once == 1 else None))
    return cases


def _micro(place: Place) -> list[Case]:
    """Costs in ns on one core. A switch is compared with a raw futex ping-pong under Linux."""
    def operation(name: str) -> tuple[str, ...]:
        return (str(place.programs / "micro"), "--op", name, "--seconds", place.seconds)

    def pair(case: str, linux: str, roost: str, target: Target | None) -> Case:
        return _case(case, "ns", (
            Variant(LINUX, _one_core() + operation(linux)),
            Variant(ROOST, place.under_roost("--cores", "1") + operation(roost)),
        ), higher_is_better=False, target=target)

    switch = Target(over=LINUX, at_least=1 / 1.3)
    added = Target(over=LINUX, added_ns_at_most=10)
    return [
        pair("switch/semaphore", "futex-pingpong", "sem-pingpong", switch),
        pair("switch/condition", "futex-pingpong", "cond-pingpong", switch),
        pair("switch/futex", "futex-pingpong", "futex-pingpong", switch),
        pair("switch/yield", "futex-pingpong", "yield-pingpong", switch),
        pair("uncontended/mutex", "mutex", "mutex", added),
        pair("uncontended/condition-signal", "cond-signal", "cond-signal", added),
        pair("uncontended/semaphore", "sem", "sem", added),
    ]


def rivals(place: Place) -> list[Case]:
    """The nested shapes again with what users do today instead: fewer or more patient threads."""
    cases = []
    for problem in PROBLEMS:
        for runtime in OUTER_RUNTIMES:
            if not (place.programs / f"{problem}-{runtime}").exists():
                continue
            for outer, inner in RIVAL_SHAPES:
                same = nested_command(place, problem, runtime, outer, inner)
                default = nested_command(place, problem, runtime, outer, None)
                limited = nested_command(place, problem, runtime, outer, machine.cores())
                cases.append(Case(f"{problem}/{runtime}/{outer}x{inner}", "GFLOP/s", (
                    Variant(LINUX, same),
                    Variant("passive waits", same, PASSIVE_WAITS),
                    Variant("OMP_NUM_THREADS=1", default, {"OMP_NUM_THREADS": "1"}),
                    Variant("inner = cores", limited),
                    Variant(ROOST, place.under_roost() + same),
                    Variant(ADAPT, place.under_roost("--blas", "adapt") + same),
                )))
    return cases
