"""Programs that wait by spinning, on fewer cores than they have threads, in every --spin mode."""

import os
import platform
import re

from world import BOUND, Skip, World, cases, require, require_soon, require_success


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


def test_a_library_that_is_loaded_again_and_again_has_its_loop_rewritten_each_time(world: World):
    """Nothing of the loads before is left: there is room for some 200 stubs, and sites for 256 loops."""
    if platform.machine() != "x86_64":
        raise Skip("loops are rewritten on x86-64 alone")
    teams = 300
    instance = world.roost.new_instance("spinning")
    library = world.program("libspin_barrier.so", folder="posix/lib")[0]
    outcome = world.start(world.program("spin_reloaded", library, teams), instance, "--cores", "1",
                          "--stats").wait(60)
    require_success(outcome, "spin_reloaded")
    require(outcome.stdout == b"%d teams\n" % teams, f"it printed {outcome.stdout!r}")
    rewritten = loops_rewritten(outcome.stderr)
    require(rewritten > teams * 9 // 10, f"{rewritten} loops rewritten of {teams}")
    world.require_gone(instance)
    return f"{rewritten} times"


def test_teams_that_poll_under_a_lock_do_not_keep_their_turns(world: World):
    """Each message would take a turn of every process else, 20 ms."""
    instance = world.roost.new_instance("spinning")
    outcome = world.run(world.program("team_ring", 4, 4, 12000), instance, "--cores", "2")
    require_success(outcome, "team_ring")
    require(outcome.stdout == b"12000 messages\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)


def test_a_pool_that_looks_for_work_leaves_the_core_to_a_sibling_that_computes(world: World):
    """Its threads yield to each other, and the sibling has lost its core; it would have a share only."""
    duration = 400
    instance = world.roost.new_instance("spinning")
    outcome = world.run(world.program("look_for_work", duration, 4), instance, "--cores", "1")
    require_success(outcome, "look_for_work")
    world.require_gone(instance)
    used = int(outcome.stdout.split()[0])
    require(used < duration // 2, f"the pool used {used} ms of CPU time beside {duration}")
    return f"{used} ms of CPU time beside {duration}"


def test_who_yields_on_its_way_does_so_now_and_then(world: World):
    """Each yield would be two switches, for nothing."""
    if platform.machine() != "x86_64":
        raise Skip("code is looked at on x86-64 alone")
    times = 20000
    instance = world.roost.new_instance("spinning")
    outcome = world.start(world.program("yields_in_passing", times), instance, "--cores", "1",
                          "--stats").wait(60)
    require_success(outcome, "yields_in_passing")
    require(outcome.stdout == b"%d times\n" % times, f"it printed {outcome.stdout!r}")
    yields = int(re.search(rb"yields (\d+)", outcome.stderr)[1])
    require(times // 40 < yields < times // 2, f"{yields} yields in {times} times")
    world.require_gone(instance)
    return f"{yields} yields"


@cases("preempt", "rewrite")
def test_spinners_of_two_programs_share_one_core(world: World, mode: str):
    instance = world.roost.new_instance("spinning")
    command = world.program("busy_wait", folder="posix")
    both = [world.start(command, instance, "--cores", "1", "--spin", mode) for _ in range(2)]
    for program in both:
        require_success(program.wait(90), "busy_wait")
    world.require_gone(instance)


@cases(("ucp_worker_progress", "local"), ("ucp_worker_progress", "global"), ("MPI_Test", "local"),
       ("PMPI_Request_get_status", "local"), ("PMPI_Testany", "global"), ("MPI_Testall", "global"),
       ("MPI_Testsome", "local"), ("MPI_Iprobe", "global"), ("MPI_Improbe", "local"))
def test_who_polls_for_messages_in_vain_gives_the_core_to_the_next(world: World, poll):
    """Without yields a turn would end with a time slice of the watchdog's shares."""
    function, scope = poll
    turns = 400
    instance = world.roost.new_instance("progress")
    library = world.program("libprogress.so", folder="posix/lib")[0]
    command = world.program("progress_turns", library, scope, function, turns)
    outcome = world.start(command, instance, "--cores", "1", "--spin", "off", "--stats").wait(60)
    require_success(outcome, "progress_turns")
    require(outcome.stdout == b"%d turns\n" % turns, f"it printed {outcome.stdout!r}")
    yields = sum(int(n) for n in re.findall(rb"yields (\d+)", outcome.stderr))
    require(yields >= turns // 2, f"{yields} yields in {turns} turns")
    world.require_gone(instance)


@cases((8, "2"), (3, "1"))
def test_threads_that_share_cores_are_asked_when_they_come_to_spin(world: World, shape):
    """All compute past the watchdog's patience, so that nobody is READY when they begin to wait."""
    if platform.machine() != "x86_64":
        raise Skip("loops are proved on x86-64 only")
    threads, cores = shape
    instance = world.roost.new_instance("spinning")
    command = world.program("meet_after_work", threads, 60, 300)
    outcome = world.start(command, instance, "--cores", cores, "--stats").wait(60)
    require_success(outcome, "meet_after_work")
    world.require_gone(instance)
    require(loops_rewritten(outcome.stderr) == 1, f"--stats printed {outcome.stderr!r}")
    shares = int(re.search(rb"shares (\d+)", outcome.stderr)[1])
    require(shares >= threads - int(cores), f"{shares} threads shared cores")


def test_a_core_whose_thread_spins_for_its_turn_takes_members_of_regions(world: World):
    instance = world.roost.new_instance("turns")
    command = world.openmp_program("regions_in_turns", "threads")
    outcome = world.start(command, instance, "--cores", "2").wait(60)
    require_success(outcome, "regions_in_turns")
    world.require_gone(instance)
    spread = int(outcome.stdout.split()[0])
    # A handful would be even if no member ever left its opener: as the program begins and ends.
    require(spread > 60, f"{spread} of 600 regions had members on two cores")
    return f"{spread} of 600 regions on two cores"


def test_a_member_that_yields_has_turns_between_the_tasks_of_another(world: World):
    instance = world.roost.new_instance("tasks")
    outcome = world.start(world.openmp_program("regions_beside_tasks"), instance, "--cores", "1").wait(60)
    require_success(outcome, "regions_beside_tasks")
    world.require_gone(instance)
    most = int(outcome.stdout)
    require(0 < most < 40, f"{most} of 400 tasks were begun between two yields")
    return f"{most} of 400 tasks between two yields"


def test_spins_that_end_in_a_yield_are_short_where_threads_share_a_core(world: World):
    if platform.machine() != "x86_64":
        raise Skip("loops are proved on x86-64 only")
    instance = world.roost.new_instance("spinning")
    command = world.program("counted_barrier", 4, 1000)
    outcome = world.start(command, instance, "--cores", "1", "--stats").wait(60)
    require_success(outcome, "counted_barrier")
    world.require_gone(instance)
    require(loops_rewritten(outcome.stderr) == 2, f"--stats printed {outcome.stderr!r}")


class Phases:
    """spin_phases: a program that spins or rests as it is told, and tells about its own code."""

    def __init__(self, world: World, instance: str, *options: str):
        if platform.machine() != "x86_64":
            raise Skip("loops are rewritten on x86-64 only")
        read, self._write = os.pipe()
        command = world.program("spin_phases", 4)
        self.running = world.start(command, instance, "--cores", "1", "--stats", *options, stdin=read)
        os.close(read)

    def say(self, command: str) -> None:
        os.write(self._write, command.encode())

    UNCHANGED = (0, 0, 0, 0)

    def code(self) -> tuple[int, int, int, int]:
        """Bytes that differ from the file: of a loop with a far branch, of one with a near, of one
        with a near and no padding in reach, of the rest of the text."""
        answers = self.running.output().count(b"code ")
        self.say("c")
        require_soon(lambda: self.running.output().count(b"code ") > answers
                     and self.running.output().endswith(b"\n"), "spin_phases answers")
        far, near, head, rest = self.running.output().splitlines()[-1].split()[1:]
        return int(far), int(near), int(head), int(rest)

    def await_rewritten(self) -> None:
        require_soon(lambda: all(self.code()[:3]), "the loops are rewritten")

    def await_restored(self) -> None:
        require_soon(lambda: self.code() == self.UNCHANGED, "the code is as in the file again")

    def end(self, world: World, instance: str) -> bytes:
        self.say("e")
        os.close(self._write)
        outcome = self.running.wait(60)
        require_success(outcome, "spin_phases")
        world.require_gone(instance)
        return outcome.stderr


def test_loops_are_restored_while_nobody_waits_for_a_core_and_rewritten_after(world: World):
    instance = world.roost.new_instance("spinning")
    phases = Phases(world, instance)
    phases.await_restored()  # they meet as they begin, and may have waited long for the last
    for _ in range(3):
        phases.say("s")
        phases.await_rewritten()
        require(phases.code()[3] == 0, "code beside the loops was changed")
        phases.say("r")
        phases.await_restored()
    stats = phases.end(world, instance)
    require(loops_rewritten(stats) >= 3, f"--stats printed {stats!r}")
    restored = int(re.search(rb"restored (\d+)", stats)[1])
    require(restored >= 9, f"three loops were restored thrice, and --stats says {restored}")


def tell_spin(world: World, what: str, instance: str) -> None:
    outcome = world.run_plain([str(world.roost.binary), "spin", what, "--instance", instance])
    require_success(outcome, f"roost spin {what}")


def test_loops_are_restored_on_request_while_threads_spin(world: World):
    instance = world.roost.new_instance("spinning")
    phases = Phases(world, instance)
    phases.say("s")
    phases.await_rewritten()
    tell_spin(world, "restore", instance)
    for _ in range(20):
        require(phases.code() == phases.UNCHANGED, "code was changed although that was not to be")
    tell_spin(world, "rewrite", instance)
    phases.await_rewritten()
    phases.end(world, instance)


def test_loops_may_be_restored_and_rewritten_all_the_time(world: World):
    """Whatever a thread is about to execute meanwhile leads it on."""
    instance = world.roost.new_instance("spinning")
    both = [Phases(world, instance) for _ in range(2)]
    for phases in both:
        phases.say("s")
        phases.await_rewritten()
    for _ in range(60):
        tell_spin(world, "restore", instance)
        tell_spin(world, "rewrite", instance)
    both[0].say("e")
    both[1].await_rewritten()
    both[1].say("e")
    for phases in both:
        require_success(phases.running.wait(60), "spin_phases")
    world.require_gone(instance)


@cases("2", "4")
def test_regions_end_whose_first_member_polls_unseen(world: World, threads: str):
    """Two programs at once: their regions are begun by who waits in them, since cores are scarce."""
    instance = world.roost.new_instance("polling")
    command = world.openmp_program("regions_that_poll", 40, threads)
    running = [world.start(command, instance) for _ in range(2)]
    for process in running:
        outcome = process.wait(BOUND)
        require_success(outcome, "regions_that_poll")
        require(outcome.stdout == b"40 regions\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)


@cases("1", "2", "1 tpause", "2 tpause")
def test_pools_that_look_for_work_by_chance_pause_by_pause(world: World, how: str):
    """No proof follows them: their pause becomes a jump to the stub."""
    cores, *pause = how.split()
    instance = world.roost.new_instance("searching")
    outcome = world.run(world.program("search_work", 6, 1000, *pause), instance, "--cores", cores,
                        "--stats")
    require_success(outcome, "search_work")
    require(outcome.stdout == b"16000 pieces\n", f"it printed {outcome.stdout!r}")
    if platform.machine() == "x86_64":
        require(loops_rewritten(outcome.stderr) > 0, "no loop was rewritten")
    world.require_gone(instance)


@cases("3 3", "1 3", "0 3")
def test_members_go_on_who_search_beside_a_pool_that_does(world: World, others: str):
    """The pool's pause is changed, and members come by it."""
    instance = world.roost.new_instance("searching")
    outcome = world.run(world.openmp_program("regions_that_search", *others.split(), 40, 4), instance)
    require_success(outcome, "regions_that_search")
    require(outcome.stdout == b"40 regions\n", f"it printed {outcome.stdout!r}")
    world.require_gone(instance)
