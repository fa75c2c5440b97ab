"""Containers (PID namespaces) that share /dev/shm, as with `docker run --ipc=host`: each has its own
instances, whatever their names, and one that was killed is in nobody's way."""

import os
import signal

from bad_input import CANNOT_RUN, require_one_sentence
from world import BOUND, Skip, World, require, require_soon, require_success


def container(world: World, *options: str) -> list[str]:
    """A command that runs another one as the first process of a container."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", *options]
    if os.geteuid() != 0:
        unshare.append("--map-root-user")
    if world.run_plain([*unshare, "true"]).status != 0:
        raise Skip("no PID namespace can be made here")
    return unshare


def start_idle_in_container(world: World, instance: str):
    """A container with a process that stays in an instance of that name; returns once it runs."""
    command = world.roost.command(world.program("idle"), instance)
    idle = world.start_plain([*container(world, "--mount-proc"), *command])
    require_soon(lambda: idle.wrote(b"idle\n"), "an idle program in a container starts")
    return idle


def files_of(world: World, instance: str) -> list[str]:
    """The segments with that name, of all containers."""
    own = world.roost.segment(instance)
    return sorted(path.name for path in own.parent.glob(f"roost-*-{instance}*"))


def require_managed(outcome, what: str) -> None:
    require_success(outcome, what)
    require(b"threads" in outcome.stderr and b"unmanaged" not in outcome.stderr,
            f"{what} says {outcome.stderr!r}")


def clean(world: World) -> str:
    outcome = world.run_plain([world.roost.binary, "clean"])
    return outcome.stdout.decode()


def test_two_run_at_once_and_each_manages_its_own(world: World):
    instance = world.roost.new_instance("shared")
    idle = start_idle_in_container(world, instance)
    mix = world.roost.command(world.program("sync_mix", 4, 50), instance, "--stats")
    require_managed(world.run_plain(mix), "sync_mix beside the container")
    require_managed(world.run_plain([*container(world, "--mount-proc"), *mix]),
                    "sync_mix in another container")
    world.require_gone(instance)
    [left] = files_of(world, instance)
    name = left.split("-", 2)[2]
    require(f"kept instance {name}: it is in use\n" in clean(world), "clean does not keep it")
    require(any(entry["name"] == name for entry in world.roost.ps()["unreadable"]),
            "ps does not name it")
    idle.end()
    require_soon(lambda: f"removed instance {name}\n" in clean(world), "clean removes it")


def test_one_that_was_killed_is_in_nobodys_way(world: World):
    instance = world.roost.new_instance("killed")
    idle = start_idle_in_container(world, instance)
    idle.end()
    require(len(files_of(world, instance)) == 1, f"it leaves {files_of(world, instance)}")
    mix = world.roost.command(world.program("sync_mix", 4, 50), instance, "--stats")
    require_managed(world.run_plain([*container(world, "--mount-proc"), *mix]), "the next container")
    require_soon(lambda: clean(world) and not files_of(world, instance), "clean removes the file")


def test_a_container_below_a_managed_program_has_an_instance_of_its_own(world: World):
    instance = world.roost.new_instance("below")
    mix = world.program("sync_mix", 4, 50)
    idle = world.start_idle(instance)
    outcome = world.run([*container(world, "--mount-proc"), *mix], instance, "--stats")
    require_managed(outcome, "a container below a managed program")
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    require(not files_of(world, instance), f"it leaves {files_of(world, instance)}")


def test_one_that_sees_the_processes_of_another_is_refused(world: World):
    """There, a process's id in /proc is not the one it has."""
    instance = world.roost.new_instance("proc")
    command = world.roost.command(["/bin/true"], instance)
    outcome = world.run_plain([*container(world), *command])
    require(outcome.status == CANNOT_RUN, f"{outcome.verdict()}: {outcome.stderr!r}")
    require_one_sentence(outcome, "--mount-proc")
    require(not files_of(world, instance), f"it leaves {files_of(world, instance)}")
