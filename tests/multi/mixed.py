"""Programs of different kinds, many at once in one instance: all end, and with right results."""

import time

from harness.roost import rescues

from world import World, cases, require, require_success

# Program, arguments, and which output means right; compute's is what it prints without roost.
KINDS = (
    ("sync_mix", (8, 60), b"taken 7080, written 120\n"),
    ("compute", (4, 100), None),
    ("fork_storm", (6, 12), b"72 children\n"),
)


def run_together(world: World, commands, *options: str) -> str:
    """Runs the programs at once in a new instance and checks each; a note of time and rescues."""
    instance = world.roost.new_instance("mixed")
    start = time.monotonic()
    running = [(command, expected, world.start(command, instance, "--stats", *options))
               for command, expected in commands]
    outcomes = [(command, expected, program.wait(60)) for command, expected, program in running]
    seconds = time.monotonic() - start
    counted = []
    for command, expected, outcome in outcomes:
        name = command[0].rpartition("/")[2]
        require_success(outcome, name)
        require(outcome.stdout == expected, f"{name} printed {outcome.stdout!r}, not {expected!r}")
        counts = rescues(outcome.stderr)
        require(counts, f"{name}: --stats printed no rescues")
        counted += counts
    world.require_gone(instance)
    return f"{seconds:.2f} s, {sum(counted)} rescues in {len(counted)} processes"


def mixture(world: World, processes: int):
    computed = world.run_plain(world.program("compute", 4, 100)).stdout
    kinds = [(world.program(name, *arguments), expected or computed)
             for name, arguments, expected in KINDS]
    return [kinds[number % len(kinds)] for number in range(processes)]


@cases(2, 4, 8, 16)
def test_programs_of_all_kinds_end_right_together(world: World, processes: int):
    return run_together(world, mixture(world, processes))


def test_programs_of_all_kinds_end_right_on_one_core(world: World):
    return run_together(world, mixture(world, 6), "--cores", "1")


@cases(1, 2, 8)
def test_programs_that_only_use_interposed_calls_need_no_rescue(world: World, processes: int):
    command = world.program("sync_mix", 8, 200)
    note = run_together(world, [(command, b"taken 79600, written 400\n")] * processes)
    require(" 0 rescues " in note, note)
    return note


def test_child_processes_do_not_use_the_instance_up(world: World):
    """More children in all than an instance has room for at once."""
    instance = world.roost.new_instance("storm")
    outcome = world.run(world.program("fork_storm", 40, 18), instance)
    require_success(outcome, "fork_storm")
    require(outcome.stdout == b"720 children\n", f"fork_storm printed {outcome.stdout!r}")
    world.require_gone(instance)
    return f"{outcome.seconds:.2f} s"
