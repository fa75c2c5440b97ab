"""Programs that wait by spinning, on fewer cores than they have threads, in every --spin mode."""

from world import World, cases, require_success


@cases("off", "preempt", "rewrite")
def test_pure_spinners_end_on_one_core(world: World, mode: str):
    instance = world.roost.new_instance("spinning")
    program = world.start(world.posix_program("busy_wait"), instance, "--cores", "1", "--spin", mode)
    require_success(program.wait(60), "busy_wait")
    world.require_gone(instance)


@cases("preempt", "rewrite")
def test_spinners_of_two_programs_share_one_core(world: World, mode: str):
    instance = world.roost.new_instance("spinning")
    command = world.posix_program("busy_wait")
    both = [world.start(command, instance, "--cores", "1", "--spin", mode) for _ in range(2)]
    for program in both:
        require_success(program.wait(90), "busy_wait")
    world.require_gone(instance)
