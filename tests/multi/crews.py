"""Threads that a library makes for one of its calls, run as light threads: by a library that passes
for BLIS. And members of OpenMP regions that call Python."""

import re

from world import World, cases, cores_here, require, require_success


def call(world: World, *arguments, options=(), name="libblis_crews.so") -> int:
    """How many OS threads took part."""
    library, = world.program(name, folder="posix/lib")
    instance = world.roost.new_instance("crews")
    outcome = world.run(world.program("crew_calls", library, *arguments), instance, "--stats", *options)
    require_success(outcome, "crew_calls")
    require(outcome.stdout == b"as expected\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
    return max(int(n) for n in re.findall(rb"threads (\d+)", outcome.stderr))


@cases("1 2", "1 7", "2 2", "8 8", "3 64")
def test_each_call_does_all_its_work(world: World, shape: str):
    callers, threads = map(int, shape.split())
    seen = call(world, callers, threads, 20)
    # Callers, main, and no more workers than there are cores, instead of callers x threads.
    require(seen <= callers + 1 + cores_here(), f"{seen} threads")


def test_a_call_of_very_many_threads_has_os_threads_too(world: World):
    require(call(world, 1, 300, 2) > 40, "all of 300 threads were light")


def test_a_child_of_fork_calls_as_well(world: World):
    call(world, 2, 4, 20, "fork")


@cases("off", "preempt", "rewrite")
def test_with_each_way_to_see_that_one_spins(world: World, mode: str):
    call(world, 2, 4, 5, options=("--spin", mode))


def test_other_libraries_threads_are_threads(world: World):
    require(call(world, 2, 4, 20, name="libcrews.so") > 2 + 1 + 2, "they were light")


def test_with_the_programs_own_openmp_they_are_threads(world: World):
    require(call(world, 2, 4, 20, options=("--omp", "host")) > 2 + 1 + 2, "they were light")


@cases("1", "2")
def test_members_that_call_python_share_none_of_what_it_knows_of_a_thread(world: World, cores: str):
    """PyGILState_Ensure() finds a thread's state in thread-specific data, which members have in common
    that run on one OS thread."""
    instance = world.roost.new_instance("crews")
    outcome = world.run(world.openmp_program("regions_with_gil", 100), instance, "--cores", cores)
    require_success(outcome, "regions_with_gil")
    require(outcome.stdout == b"1600 calls, 0 mixed\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
