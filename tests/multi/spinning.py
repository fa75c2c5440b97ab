"""Programs that wait by spinning, on fewer cores than they have threads, in every --spin mode."""

import platform
import re

from world import World, cases, require, require_success


def loops_rewritten(stderr: bytes) -> int:
    found = re.search(rb"loops rewritten (\d+)", stderr)
    require(found, f"--stats printed {stderr!r}")
    return int(found[1])


@cases("off", "preempt", "rewrite")
def test_pure_spinners_end_on_one_core(world: World, mode: str):
    instance = world.roost.new_instance("spinning")
    command = world.program("busy_wait", folder="posix")
    program = world.start(command, instance, "--cores", "1", "--spin", mode, "--stats")
    outcome = program.wait(60)
    require_success(outcome, "busy_wait")
    world.require_gone(instance)
    if mode == "rewrite" and platform.machine() == "x86_64":
        require(loops_rewritten(outcome.stderr) > 0, "no loop was rewritten")
    else:
        require(loops_rewritten(outcome.stderr) == 0, f"a loop was rewritten in mode {mode}")


@cases("preempt", "rewrite")
def test_spinners_of_two_programs_share_one_core(world: World, mode: str):
    instance = world.roost.new_instance("spinning")
    command = world.program("busy_wait", folder="posix")
    both = [world.start(command, instance, "--cores", "1", "--spin", mode) for _ in range(2)]
    for program in both:
        require_success(program.wait(90), "busy_wait")
    world.require_gone(instance)


@cases("local", "global")
def test_who_polls_ucx_in_vain_gives_the_core_to_the_next(world: World, scope: str):
    """Without yields a turn would end with a time slice of the watchdog's shares."""
    turns = 400
    instance = world.roost.new_instance("progress")
    library = world.program("libprogress.so", folder="posix/lib")[0]
    command = world.program("progress_turns", library, scope, turns)
    outcome = world.start(command, instance, "--cores", "1", "--spin", "off", "--stats").wait(60)
    require_success(outcome, "progress_turns")
    require(outcome.stdout == b"%d turns\n" % turns, f"it printed {outcome.stdout!r}")
    yields = sum(int(n) for n in re.findall(rb"yields (\d+)", outcome.stderr))
    require(yields >= turns // 2, f"{yields} yields in {turns} turns")
    world.require_gone(instance)
