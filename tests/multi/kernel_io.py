"""Waiting in the kernel with a single core for all: the core is given away by the call itself, not
taken by the watchdog."""

from harness.roost import rescues

from world import World, cases, require, require_success

ONE_CORE = ("--cores", "1", "--stats")


def require_no_rescue(outcome, name: str) -> str:
    require_success(outcome, name)
    counts = rescues(outcome.stderr)
    require(counts, f"{name}: --stats printed no rescues")
    require(sum(counts) == 0, f"{name}: {sum(counts)} rescues in {len(counts)} processes")
    return f"{outcome.seconds:.2f} s, {len(counts)} processes"


@cases("kernel_waits", "kernel_waits_interrupted", "kernel_waits_cancelled")
def test_every_wait_in_the_kernel_gives_its_core_away(world: World, program: str):
    instance = world.roost.new_instance("waits")
    outcome = world.run(world.program(program, folder="posix"), instance, *ONE_CORE)
    return require_no_rescue(outcome, program)


def test_streams_of_several_threads_give_their_core_away(world: World):
    """But for the first who come to a stream that is held across sleeps (of 200 who do)."""
    instance = world.roost.new_instance("streams")
    outcome = world.run(world.program("stdio_streams", folder="posix"), instance, *ONE_CORE)
    require_success(outcome, "stdio_streams")
    found = sum(rescues(outcome.stderr))
    require(found <= 20, f"{found} rescues")
    return f"{outcome.seconds:.2f} s, {found} rescues"


@cases(1, 2, 4)
def test_a_pipeline_of_processes_passes_its_bytes_on(world: World, pipelines: int):
    """dd, cat and wc use read and write; each waits for its neighbours all the time."""
    pipeline = "dd if=/dev/zero bs=256k count=80 2>/dev/null | cat | cat | wc -c"
    script = " & ".join([pipeline] * pipelines) + "; wait"
    instance = world.roost.new_instance("pipeline")
    outcome = world.run(["sh", "-c", script], instance, *ONE_CORE)
    expected = f"{80 * 256 * 1024}\n".encode() * pipelines
    require(outcome.stdout == expected, f"the pipelines printed {outcome.stdout!r}")
    require_success(outcome, "the pipeline")
    world.require_gone(instance)


def test_polls_for_what_another_thread_takes_let_that_come(world: World):
    """Who finds the same there again yields; else it would poll thousands of times."""
    instance = world.roost.new_instance("polls")
    command = world.program("poll_for_another", "200")
    outcome = world.run(command, instance, *ONE_CORE)
    require_no_rescue(outcome, "poll_for_another")
    polls = int(outcome.stdout.split()[0])
    require(polls <= 5_000, f"{polls} polls for 200 bytes")
    return f"{polls} polls for 200 bytes"
