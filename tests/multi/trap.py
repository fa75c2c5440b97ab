"""Inline system calls under roost: seen where they are trapped, left to the watchdog where not."""

import platform
import re

from harness.roost import rescues

from world import Skip, World, require, require_success, text

OUTPUT = b"800 turns\n"


def run_turns(world: World, *options: str) -> tuple[int, int]:
    """Threads that wait by inline calls, on one core: how many were rescued, and calls trapped."""
    if platform.machine() != "x86_64":
        raise Skip("the kernel dispatches system calls on x86-64 only")
    instance = world.roost.new_instance("trap")
    outcome = world.run(world.program("inline_turns", 4, 200), instance, "--stats", "--cores", "1",
                        *options)
    require_success(outcome, "inline_turns")
    require(outcome.stdout == OUTPUT, f"it printed {outcome.stdout!r}, not {OUTPUT!r}")
    world.require_gone(instance)
    trapped = re.search(rb"traps (\d+)", outcome.stderr)
    require(trapped, f"--stats printed no traps: {text(outcome.stderr)}")
    return sum(rescues(outcome.stderr)), int(trapped.group(1))


def require_seen(world: World, *options: str) -> str:
    rescued, trapped = run_turns(world, *options)
    if not kernel_dispatches(world):
        raise Skip("this kernel does not dispatch system calls")
    require(trapped > 0, "no call was trapped")
    require(rescued == 0, f"{rescued} rescues, with {trapped} calls trapped")
    return f"{trapped} traps"


def kernel_dispatches(world: World) -> bool:
    doctor = world.run_plain([str(world.roost.binary), "doctor"])
    return any(line.startswith(b"ok") for line in doctor.stdout.splitlines()
               if b"syscall trap" in line)


def test_inline_waits_need_no_rescue(world: World):
    return require_seen(world)


def test_inline_waits_need_no_rescue_with_the_trap_asked_for(world: World):
    return require_seen(world, "--trap", "on")


def test_without_the_trap_the_watchdog_helps(world: World):
    rescued, trapped = run_turns(world, "--trap", "off")
    require(trapped == 0, f"{trapped} calls were trapped")
    require(rescued > 0, "there was no rescue, so the other tests show nothing")
    return f"{rescued} rescues"


def test_a_program_without_inline_calls_traps_nothing(world: World):
    instance = world.roost.new_instance("trap")
    outcome = world.run(world.program("sync_mix", 4, 40), instance, "--stats")
    require_success(outcome, "sync_mix")
    require(b"traps 0" in outcome.stderr, text(outcome.stderr))
