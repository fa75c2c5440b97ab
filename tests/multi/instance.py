"""Who belongs to an instance: by name, by nesting, across exec, from first in to last out."""

import os
import shutil
import signal
import stat

from world import BOUND, World, cases, cores_here, require, require_soon, require_success


def online_cores(world: World, instance: str, *options: str) -> int:
    """How many cores a program of the instance is told it has."""
    outcome = world.run(["getconf", "_NPROCESSORS_ONLN"], instance, *options)
    require_success(outcome, "getconf")
    return int(outcome.stdout)


def end(idle) -> None:
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")


def test_the_segment_is_private_and_goes_with_the_last_process(world: World):
    instance = world.roost.new_instance("life")
    segment = world.roost.segment(instance)
    first, second = world.start_idle(instance), world.start_idle(instance)
    require(segment.exists(), f"there is no {segment}")
    mode = stat.S_IMODE(segment.stat().st_mode)
    require(mode == 0o600, f"{segment} has mode {mode:o}")
    end(first)
    require(segment.exists(), "the segment went before the last process")
    end(second)
    world.require_gone(instance)


def test_instances_of_different_names_do_not_share(world: World):
    if cores_here() < 2:
        return "not run: too few cores"
    one, two = world.roost.new_instance("one"), world.roost.new_instance("two")
    # It has all of its instance's cores for good; the other instance must not notice.
    spinning = world.start(world.program("victim", 1, 0), one, "--cores", "1")
    require_soon(lambda: spinning.wrote(b"spinning\n"), "the spinning program starts")
    idle = world.start_idle(two, "--cores", "2")
    require_success(world.run(world.program("sync_mix", 4, 20), two), "sync_mix beside")
    require(world.roost.pids(one) == [spinning.pid], f"in one: {world.roost.pids(one)}")
    require(world.roost.pids(two) == [idle.pid], f"in two: {world.roost.pids(two)}")
    end(idle)
    world.require_gone(two)


def test_programs_of_an_instance_are_told_its_cores(world: World):
    alone = world.roost.new_instance("alone")
    require(online_cores(world, alone, "--cores", "1") == 1, "--cores 1 is not what programs see")
    instance = world.roost.new_instance("cores")
    idle = world.start_idle(instance, "--cores", "1")
    seen = online_cores(world, instance)
    require(seen == 1, f"the second program sees {seen} cores, the instance has 1")
    end(idle)


@cases("core", "node", "none")
def test_threads_may_run_where_the_pinning_mode_says(world: World, mode: str):
    if cores_here() < 2:
        return "not run: too few cores"
    instance = world.roost.new_instance("pin")
    spinning = world.start(world.program("victim", 1, 0), instance, "--cores", "2", "--pin", mode)
    require_soon(lambda: spinning.wrote(b"spinning\n"), "the spinning program starts")
    # Its first thread got a core when it joined.
    cpus = len(os.sched_getaffinity(spinning.pid))
    require(cpus == 1 if mode == "core" else 1 <= cpus <= 2, f"it may run on {cpus} CPUs")
    require(cpus == 2 or mode != "none", f"it may run on {cpus} CPUs")
    require_success(world.run(world.program("sync_mix", 4, 20), instance), "sync_mix beside")


def test_a_nested_run_joins_the_same_instance(world: World):
    instance = world.roost.new_instance("nested")
    before = set(os.listdir("/dev/shm"))
    inner = [world.roost.binary, "run", "--", *world.program("idle")]
    # The shell forks: two processes of the instance, one of them through a second roost run.
    outer = world.start(["sh", "-c", '"$@" & trap "kill $!" TERM; wait; wait', "sh", *inner],
                        instance, "--cores", "1")
    require_soon(lambda: outer.wrote(b"idle\n"), "the nested program starts")
    pids = world.roost.pids(instance)
    require(outer.pid in pids and len(pids) == 2, f"{outer.pid} and its child, but in ps: {pids}")
    created = {name for name in set(os.listdir("/dev/shm")) - before if name.endswith("-default")}
    require(not created, f"the nested run made {created}")
    outer.send(signal.SIGTERM)
    require(not outer.wait(BOUND).timed_out, "the nested program did not end")
    world.require_gone(instance)


def test_exec_keeps_the_process_in_the_instance_once(world: World):
    instance = world.roost.new_instance("exec")
    idle = world.start_idle(instance)
    outcome = world.run(world.program("exec_chain", 20), instance)
    require((outcome.status, outcome.stdout) == (7, b"end\n"),
            f"exec_chain: {outcome.verdict()}, {outcome.stdout!r}\n{outcome.stderr!r}")
    # Its threads were running and waiting at each exec: none of their records may stay.
    require_soon(lambda: world.roost.pids(instance) == [idle.pid], "the chain leaves the instance")
    chain = world.start(["sh", "-c", 'exec sh -c \'exec "$@"\' sh "$@"', "sh",
                         *world.program("idle")], instance)
    require_soon(lambda: chain.wrote(b"idle\n"), "the end of a chain of shells starts")
    pids = sorted(world.roost.pids(instance))
    require(pids == sorted([idle.pid, chain.pid]), f"{idle.pid} and {chain.pid}, but in ps: {pids}")
    end(chain)
    end(idle)
    world.require_gone(instance)


def test_exec_of_an_unmanaged_program_gives_the_cores_back(world: World):
    """The new image has an empty environment, so it is not managed; it keeps running."""
    instance = world.roost.new_instance("leave")
    idle = world.start_idle(instance, "--cores", "1")
    left = world.start(["env", "-i", shutil.which("sleep"), "1000"], instance)
    require_soon(lambda: os.path.basename(os.readlink(f"/proc/{left.pid}/exe")) == "sleep",
                 "env execs sleep")
    require_success(world.run(world.program("sync_mix", 4, 20), instance), "sync_mix")
    require_soon(lambda: world.roost.pids(instance) == [idle.pid], "sleep leaves the instance")
    end(idle)
    world.require_gone(instance)
