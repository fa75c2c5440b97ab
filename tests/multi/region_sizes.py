"""OpenMP regions whose size the program leaves to the runtime (OMP_DYNAMIC)."""

import os

from world import Skip, World, cases, cores_here, require, require_soon, require_success


@cases("0", "1", "3")
def test_they_take_the_cores_that_others_leave(world: World, others: str):
    """With two cores, beside so many threads of another program that compute."""
    if cores_here() < 2:
        raise Skip("needs two cores")
    instance = world.roost.new_instance("region_sizes")
    regions = world.openmp_program("regions_to_fit")
    if others == "0":
        outcome = world.run(regions, instance, "--cores", "2")
        require_success(outcome, "regions_to_fit")
        require(outcome.stdout.endswith(b" to 2 members\n"), f"it printed {outcome.stdout!r}")
        world.require_gone(instance)
        return
    busy = world.start(world.program("compute", others, 1000000), instance, "--cores", "2")
    require_soon(lambda: len(os.listdir(f"/proc/{busy.pid}/task")) > int(others),
                 "the other program's threads start")
    outcome = world.run(regions, instance, "--cores", "2")
    busy.end()
    require_success(outcome, "regions_to_fit")
    require(outcome.stdout == b"1 to 1 members\n", f"it printed {outcome.stdout!r}")
