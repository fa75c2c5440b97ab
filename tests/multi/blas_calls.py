"""The pieces of OpenBLAS's calls, run as light threads: by a library that passes for OpenBLAS."""

import ctypes
import os
import platform
import re
import subprocess
from pathlib import Path

from world import Skip, World, cases, require, require_success

LIBRARIES = ("pieces", "bound")


def elsewhere(world: World, library: str, *arguments, options=()) -> int:
    """How many pieces were done by other threads than their callers."""
    path, = world.program(f"libopenblas_{library}.so", folder="posix/lib")
    instance = world.roost.new_instance("pieces")
    outcome = world.run(world.program("blas_pieces", path, *arguments), instance, *options)
    require_success(outcome, "blas_pieces")
    world.require_gone(instance)
    return int(outcome.stdout)


@cases(*LIBRARIES)
def test_on_one_core_callers_do_all_pieces(world: World, library: str):
    require(elsewhere(world, library, 3, 5, 40, options=("--cores", "1")) == 0, "not all")


@cases(*(f"{library} {shape}" for library in LIBRARIES for shape in ("1 2", "2 2", "8 8", "3 64")))
def test_each_call_does_all_its_work(world: World, shape: str):
    library, *numbers = shape.split()
    elsewhere(world, library, *numbers, 20)


@cases(*LIBRARIES)
def test_pieces_that_take_one_argument(world: World, library: str):
    require(elsewhere(world, library, 3, 5, 20, "plain", options=("--cores", "1")) == 0, "not all")


@cases(*LIBRARIES)
def test_a_child_of_fork_calls_as_well(world: World, library: str):
    require(elsewhere(world, library, 2, 4, 20, "fork", options=("--cores", "1")) == 0, "not all")


@cases("off", "preempt")
def test_loops_of_no_ops_are_left_to_threads_unless_they_can_be_rewritten(world: World, mode: str):
    require(elsewhere(world, "bound", 1, 3, 5, options=("--cores", "1", "--spin", mode)) == 10,
            "pieces were light")


@cases("pieces 300 full", "pieces 4 apart", "later 4 full")
def test_what_is_not_understood_is_the_librarys(world: World, case: str):
    library, pieces, how = case.split()
    found = elsewhere(world, library, 1, pieces, 3, how, options=("--cores", "1"))
    require(found == 3 * (int(pieces) - 1), f"{found} pieces were done by threads")


@cases(*LIBRARIES)
def test_with_the_programs_own_openmp_they_have_threads(world: World, library: str):
    require(elsewhere(world, library, 1, 3, 5, options=("--omp", "host")) == 10, "they were light")


BUILDS = ("pthread", "openmp")
ROUTINES = ("dgemm", "sgemm-tt", "zgemm", "dsymm-left", "dsymm-right", "dsyrk", "dtrsm-left", "dtrsm-right",
            "dtrmm")


def in_fewer_pieces(world: World, build: str, program: str, *arguments, options=(), calls: int,
                    file: str = "openblas-{}/libopenblas.so.0", **how) -> tuple[bytes, int]:
    """What a caller of Debian's OpenBLAS (or other BLAS) prints, and how many of its calls were made of fewer
    pieces."""
    library = Path(f"/usr/lib/{platform.machine()}-linux-gnu") / file.format(build)
    if not library.exists():
        raise Skip(f"{library} is not installed")
    instance = world.roost.new_instance("pieces")
    # Also calls that are too short for fewer pieces to be faster. Newer builds for OpenMP never take more
    # threads than OpenMP has when they are loaded.
    variables = {**os.environ, "ROOST_BLAS_TRIALS": "all", "OMP_NUM_THREADS": "8", **how.pop("env", {})}
    outcome = world.run(world.program(program, library, *arguments), instance, "--stats", "--cores",
                        "1", *options, env=variables, **how)
    require_success(outcome, program)
    world.require_gone(instance)
    fewer = re.search(rb"BLAS calls (\d+), in fewer pieces (\d+)", outcome.stderr)
    require(fewer, f"--stats printed {outcome.stderr!r}")
    require(int(fewer[1]) >= calls, f"only {int(fewer[1])} calls were Roost's")
    return outcome.stdout, int(fewer[2])


@cases(*(f"{build} {routine}" for build in BUILDS for routine in ROUTINES))
def test_calls_are_made_of_fewer_pieces_with_the_same_results(world: World, case: str):
    build, routine = case.split()
    callers, width, calls = 2, 8, 40

    def products(*options: str, **env: str) -> tuple[bytes, int]:
        return in_fewer_pieces(world, build, "blas_products", routine, callers, width, calls,
                               options=options, calls=callers * calls, env=env)

    def in_both_ways(**env: str) -> int:
        kept, none = products("--blas", "keep", **env)
        require(none == 0, f"{none} calls were made of fewer pieces in spite of --blas keep")
        results, fewer = products(**env)
        require(results == kept, "the results differ")
        return fewer

    if fewer := in_both_ways():
        return f"{fewer} of 80 calls"
    # With the kernels of Haswell and Zen some of these products have other last bits then.
    fewer = in_both_ways(OPENBLAS_CORETYPE="NEHALEM")
    require(fewer > 0, "no call was made of fewer pieces")
    return f"{fewer} of 80 calls, with older kernels"


PROCESSORS = ("host", "HASWELL", "NEHALEM")  # of OpenBLAS: kernels with other edges


@cases(*(f"{build} {processor} {width}" for build in BUILDS for processor in PROCESSORS for width in (5, 8)))
def test_random_kinds_of_calls_have_the_same_results(world: World, case: str):
    build, processor, width = case.split()
    kinds = 120 if processor == "NEHALEM" else 50  # whose edges differ where others' do not
    return compare_kinds(world, build, kinds, 1 + sum(map(ord, case)), width,
                         {} if processor == "host" else {"OPENBLAS_CORETYPE": processor})


def test_with_adapt_also_calls_whose_last_bits_change(world: World):
    """In builds for OpenMP; in others calls have no pieces then."""

    def fewer(*options: str) -> int:
        return in_fewer_pieces(world, "openmp", "blas_kinds", 7, 50, 7, options=options, calls=50)[1]

    same, adapted = fewer(), fewer("--blas", "adapt")
    require(adapted > same > 0, f"{adapted} calls with adapt, {same} with same")
    return f"{adapted} calls, {same} with the same results"


def require_blis_that_asks(build: str) -> None:
    """For how many threads a call is cut, by a function that can be taken from it."""
    path = Path(f"/usr/lib/{platform.machine()}-linux-gnu/blis-{build}/libblis.so.4")
    if not path.exists():
        raise Skip(f"{path} is not installed")
    version_of = ctypes.CDLL(str(path)).bli_info_get_version_str
    version_of.restype = ctypes.c_char_p
    version = version_of().decode()
    if not re.match(r"0\.[7-9]", version):  # src/preload/blis_width.cc
        raise Skip(f"Roost leaves BLIS {version} its threads")
    called = subprocess.run(["readelf", "-rW", path], check=True, capture_output=True, text=True).stdout
    if "bli_rntm_set_ways_for_op" not in called:
        raise Skip("this BLIS does not call its functions by name (-Bsymbolic-functions, as in Ubuntu)")


# Of BLIS 0.9 (its arch_t): kernels with other tiles.
BLIS_PROCESSORS = {"host": "", "haswell": "3", "sandybridge": "4", "penryn": "5", "generic": "25"}


@cases(*(f"{build} {processor}" for processor in BLIS_PROCESSORS for build in BUILDS))
def test_blis_with_fewer_threads_has_the_same_results(world: World, case: str):
    build, processor = case.split()
    require_blis_that_asks(build)
    width = 7  # with which blocks' edges lie elsewhere than with one thread
    variables = {"BLIS_NUM_THREADS": str(width)}
    if BLIS_PROCESSORS[processor]:
        variables["BLIS_ARCH_TYPE"] = BLIS_PROCESSORS[processor]
    return compare_kinds(world, build, 120, 1 + sum(map(ord, case)), width, variables,
                         file="blis-{}/libblis.so.4")


def compare_kinds(world: World, build: str, kinds: int, seed: int, width: int,
                  variables: dict[str, str], **which) -> str:
    how = {"env": variables, **which}

    def results(*options: str) -> tuple[bytes, int]:
        return in_fewer_pieces(world, build, "blas_kinds", seed, kinds, width, options=options,
                               calls=kinds, **how)

    kept, _ = results("--blas", "keep")
    found, fewer = results()
    differ = [kind for kind, other in zip(kept.splitlines(), found.splitlines()) if kind != other]
    require(not differ, f"{len(differ)} kinds differ, first {differ[:1]}")
    require(kept == found and len(kept.splitlines()) == kinds, "kinds are missing")
    require(fewer > 0, "no call was made of fewer pieces")
    return f"{fewer} calls in fewer pieces"
