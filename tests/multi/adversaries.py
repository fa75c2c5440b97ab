"""Programs that do their worst: whatever they do with a core, the others of the instance go on.

Every test has a neighbour that synchronises a lot (sync_mix) on the adversary's only core; it has to
reach its end. How long that takes is bounded in src/sched/PROTOCOL.md and not asserted here.
"""

import fcntl
import json
import os
import shlex
import shutil
import signal

from harness.process import wait_until

from world import Skip, World, cases, cores_here, require, require_soon, require_success

ONE_CORE = ("--cores", "1")


def start_neighbours(world: World, instance: str, count: int = 2):
    return [world.start(world.program("sync_mix", 4, 20), instance) for _ in range(count)]


def require_neighbours_end(world: World, instance: str) -> None:
    for neighbour in start_neighbours(world, instance):
        require_success(neighbour.wait(60), "sync_mix beside an adversary")


def start_adversary(world: World, instance: str, how: str, threads: int, wrap=()):
    command = world.roost.command(world.program("adversary", how, threads), instance, *ONE_CORE)
    adversary = world.start_plain([*wrap, *command])
    require_soon(lambda: adversary.wrote(b"begun\n"), f"the adversary ({how}) begins")
    return adversary


@cases("spin", "blocked", "clone", "stdio")
def test_the_others_go_on_beside_threads_that(world: World, how: str):
    instance = world.roost.new_instance("adversary")
    adversary = start_adversary(world, instance, how, 4)
    require_neighbours_end(world, instance)
    require(not adversary.finished(), "the adversary ended by itself")


@cases("nice -n 19", "chrt --idle 0")
def test_the_others_go_on_beside_an_owner_of_low_priority(world: World, wrap: str):
    """The kernel hardly runs the core's owner: an unmanaged program has the CPU."""
    if not shutil.which(wrap.split()[0]):
        return f"not run: there is no {wrap.split()[0]}"
    cpu = str(min(os.sched_getaffinity(0)))
    world.start_plain(["taskset", "-c", cpu, *world.program("victim", 1, 0)])
    instance = world.roost.new_instance("adversary")
    start_adversary(world, instance, "spin", 2, wrap=wrap.split())
    require_neighbours_end(world, instance)


def test_the_watch_is_kept_when_the_leader_ends(world: World):
    """The keeper that leads is of a process whose other threads are over: it ends with the leader's
    lock in its hands."""
    instance = world.roost.new_instance("adversary")
    leader = world.start(world.program("threads_over"), instance, *ONE_CORE)
    require_soon(lambda: leader.wrote(b"alone\n"), "the leader ends")
    start_adversary(world, instance, "spin", 4)
    require_neighbours_end(world, instance)


def test_programs_end_beside_unmanaged_load_on_each_core(world: World):
    for cpu in os.sched_getaffinity(0):
        world.start_plain(["taskset", "-c", str(cpu), *world.program("victim", 1, 0)])
    instance = world.roost.new_instance("adversary")
    require_neighbours_end(world, instance)
    world.require_gone(instance)


def contended_cpus(world: World, instance: str) -> str:
    listed = json.loads(world.run_plain([str(world.roost.binary), "ps", "--json"]).stdout)
    found = [i["contended_cpus"] for i in listed["instances"] if i["name"] == instance]
    return found[0] if found else ""


def test_a_core_on_which_others_run_is_left_to_them_and_taken_back(world: World):
    """In one session: the kernel weighs threads of different ones otherwise."""
    if cores_here() != 2:
        raise Skip("the cores must be two: with more, two of them may be found late")
    cpu = str(min(os.sched_getaffinity(0)))
    instance = world.roost.new_instance("adversary")
    spinner = shlex.join(["taskset", "-c", cpu, *world.program("victim", 1, 0)])
    program = shlex.join(world.roost.command(world.program("sync_mix", 8, 1_000_000), instance))
    both = world.start_plain(["sh", "-c", f"{spinner} & echo $!; exec {program}"])
    require_soon(lambda: both.wrote(b"\n"), "the spinner starts")
    if not wait_until(lambda: contended_cpus(world, instance) == cpu, 30):
        if os.getloadavg()[0] > 5:
            raise Skip(f"the machine has other load ({os.getloadavg()[0]:.0f}) on all cores")
        require(False, f"CPU {cpu} was not left to the program that runs there")
    os.kill(int(both.output().split()[0]), signal.SIGKILL)
    require_soon(lambda: contended_cpus(world, instance) == "", f"CPU {cpu} is taken back")


def test_the_others_go_on_while_one_is_stopped(world: World):
    instance = world.roost.new_instance("adversary")
    stopped = world.start(world.program("sync_mix", 4, 4000), instance, *ONE_CORE)
    for stops in range(5):
        require_soon(lambda: stopped.pid in world.roost.pids(instance) or
                     (stops > 0 and stopped.finished()), "it joins the instance")
        if stopped.finished():
            break
        stopped.send(signal.SIGSTOP)
        require_neighbours_end(world, instance)
        stopped.send(signal.SIGCONT)
    require_success(stopped.wait(60), "sync_mix, stopped now and then")
    world.require_gone(instance)


def test_the_others_come_and_go_while_one_is_stopped_at_the_file(world: World):
    """One that makes or removes an instance holds the lock of its file; here the test does."""
    instance = world.roost.new_instance("adversary")
    idle = world.start_idle(instance)
    with world.roost.segment(instance).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        require_neighbours_end(world, instance)
        idle.send(signal.SIGTERM)
        require_success(idle.wait(60), "idle")
    world.run_plain([str(world.roost.binary), "clean"])
    world.require_gone(instance)


def test_the_others_go_on_while_one_is_debugged(world: World):
    if not shutil.which("gdb"):
        return "not run: there is no gdb"
    instance = world.roost.new_instance("adversary")
    debugged = world.start(world.program("sync_mix", 4, 4000), instance, *ONE_CORE)
    require_soon(lambda: debugged.pid in world.roost.pids(instance), "it joins the instance")
    debugger = world.start_plain(["gdb", "-batch", "-p", str(debugged.pid), "-ex", "shell echo attached",
                                  "-ex", "shell sleep 3", "-ex", "detach"])
    require_soon(lambda: debugger.wrote(b"attached"), "gdb attaches")
    neighbours = start_neighbours(world, instance)
    for neighbour in neighbours:
        require_success(neighbour.wait(60), "sync_mix beside a debugged program")
    debugger.wait(60)
    require_success(debugged.wait(60), "sync_mix, debugged for a while")
    world.require_gone(instance)


def test_a_tracer_does_not_wait_for_the_cores_of_those_it_traces(world: World):
    if not shutil.which("strace"):
        return "not run: there is no strace"
    instance = world.roost.new_instance("adversary")
    traced = ["strace", "-f", "-o", "/dev/null", *world.program("sync_mix", 4, 20)]
    require_success(world.start(traced, instance, *ONE_CORE).wait(60), "sync_mix, traced")
    world.require_gone(instance)


def test_valgrind_runs_openmp_programs(world: World):
    if not shutil.which("valgrind"):
        return "not run: there is no valgrind"
    instance = world.roost.new_instance("adversary")
    program = ["valgrind", "-q", *world.openmp_program("trace_regions")]
    require_success(world.start(program, instance).wait(120), "trace_regions, under valgrind")
    world.require_gone(instance)


def test_who_computes_keeps_its_core_once_nobody_waits_for_one(world: World):
    if cores_here() < 2:
        raise Skip("it takes two cores")
    instance = world.roost.new_instance("last")
    for _ in range(5):
        command = world.program("last_in_queue")
        outcome = world.start(command, instance, "--cores", "2", "--stats").wait(60)
        require_success(outcome, "last_in_queue")
        require(b" shares 0," in outcome.stderr, f"cores were taken: {outcome.stderr!r}")
    world.require_gone(instance)
