"""The width of BLAS calls under `--blas adapt`, by a library that passes for OpenBLAS."""

from world import World, cases, cores_here, require, require_success, text


def widths(world: World, *arguments, options=("--blas", "adapt")) -> list[int]:
    library, = world.program("libblas.so", folder="posix/lib")
    instance = world.roost.new_instance("blas")
    outcome = world.run(world.program("blas_callers", library, *arguments), instance, *options)
    require_success(outcome, "blas_callers")
    world.require_gone(instance)
    return [int(line) for line in outcome.stdout.split()]


@cases("stay", "fork")
def test_many_callers_get_a_thread_each(world: World, how: str):
    require(widths(world, how, 8, 1) == [1], "another width was printed")


def test_one_caller_gets_all_cores(world: World):
    wanted = min(8, cores_here())
    require(widths(world, "stay", 1, wanted) == [wanted], "another width was printed")


def test_what_the_program_sets_is_the_most_it_gets(world: World):
    require(widths(world, "stay", 1, min(8, cores_here()), "1/1") ==
            [min(8, cores_here()), 1], "other widths were printed")


def test_a_width_that_the_program_sets_is_adapted_again(world: World):
    require(widths(world, "stay", 8, 1, "6/1", "8/1") == [1, 1, 1], "other widths were printed")


def test_nothing_is_adapted_unless_asked_for(world: World):
    require(widths(world, "stay", 8, 8, options=()) == [8], "another width was printed")
