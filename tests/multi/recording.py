"""`roost run --trace`: what programs did on the cores is in the file, however they ended."""

import json
import os
import signal
import sys
from collections import defaultdict
from pathlib import Path

from bad_input import require_refused
from harness.roost import SHARED_MEMORY
from world import BOUND, World, cases, require, require_soon, require_success


def ring_folders() -> set[Path]:
    return set(SHARED_MEMORY.glob(f"roost.trace-{os.geteuid()}-*"))


class Trace:
    """A file that `roost run --trace` wrote, with times in ns."""

    def __init__(self, path: Path):
        events = json.loads(path.read_text())["traceEvents"]
        self.tracks = {}
        self.slices = []
        for event in events:
            key = event["pid"], event["tid"]
            if event["ph"] == "M":
                names = self.tracks.setdefault(key, {})
                names.setdefault(event["name"], event["args"].get("name"))
            elif event["ph"] == "X":
                begin = round(event["ts"] * 1000)
                self.slices.append({**event, "track": key, "begin": begin,
                                    "end": begin + round(event["dur"] * 1000),
                                    "args": event.get("args", {})})

    def named(self, category: str, text: str = "") -> list[dict]:
        return [one for one in self.slices if one["cat"] == category and text in one["name"]]


def record(world: World, argv, *options: str, status: int = 0) -> Trace:
    before = ring_folders()
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    outcome = world.run(argv, instance, "--trace", str(path), *options)
    require(outcome.status == status, f"{outcome.verdict()}, expected {status}: {outcome.stderr!r}")
    require(ring_folders() <= before, f"left behind: {ring_folders() - before}")
    world.require_gone(instance)
    return Trace(path)


def require_apart(trace: Trace) -> int:
    """At most one thread has a core at any time."""
    by_core = defaultdict(list)
    for one in trace.named("thread"):
        by_core[one["track"]].append((one["begin"], one["end"]))
    require(by_core, "no thread had a core")
    for core, times in by_core.items():
        times.sort()
        for (_, end), (begin, _) in zip(times, times[1:]):
            require(end <= begin, f"two threads have {trace.tracks[core]} at {begin} ns")
    return sum(map(len, by_core.values()))


def require_nested(trace: Trace) -> None:
    """Slices of one track nest, or lie apart."""
    by_track = defaultdict(list)
    for one in trace.slices:
        by_track[one["track"]].append(one)
    for track, slices in by_track.items():
        slices.sort(key=lambda one: (one["begin"], -one["end"]))
        open_until = []
        for one in slices:
            while open_until and open_until[-1] <= one["begin"]:
                open_until.pop()
            require(not open_until or one["end"] <= open_until[-1],
                    f"on {trace.tracks[track]}, {one['name']} at {one['begin']} ns lies across another")
            open_until.append(one["end"])


def require_whole(slices) -> None:
    cut = [one["name"] for one in slices if "cut" in one["args"]]
    require(not cut, f"without a begin or an end: {cut[:5]}")


def test_threads_of_all_processes_share_the_cores_one_at_a_time(world: World):
    trace = record(world, world.program("trace_mix"))
    slices = require_apart(trace)
    require_nested(trace)
    require_whole(trace.named("thread"))
    processes = {one["args"]["pid"] for one in trace.named("thread")}
    require(len(processes) == 2, f"threads of {len(processes)} processes, not of 2")
    threads = {one["args"]["tid"] for one in trace.named("thread")}
    require(len(threads) >= 10, f"{len(threads)} threads, not 10")
    for why in ("blocked in condition", "in the kernel: nanosleep", "ready"):
        require(trace.named("schedule", why), f"nobody is {why}")
    return f"{slices} slices"


@cases(1, 2)
def test_each_member_of_a_region_begins_and_ends(world: World, cores: int):
    trace = record(world, world.openmp_program("trace_regions"), "--cores", str(cores))
    require_apart(trace)
    require_nested(trace)
    members = [one for one in trace.named("openmp", "region ") if "member" in one["args"]]
    require_whole(members)
    by_region = defaultdict(list)
    for one in members:
        by_region[one["args"]["region"]].append(one)
    sizes = sorted(len(group) for group in by_region.values())
    require(sizes == [2] * 12 + [4] * 5, f"regions with so many members: {sizes}")
    for region, group in by_region.items():
        require({one["args"]["size"] for one in group} == {len(group)},
                f"region {region} has {len(group)} members, and says otherwise")
        require(sorted(one["args"]["member"] for one in group) == list(range(len(group))),
                f"members of region {region}: {[one['args']['member'] for one in group]}")
        # The region itself lies around its members, on its opener's track.
        opened = [one for one in trace.named("openmp") if one["name"] == f"region {region}"]
        require(len(opened) == 1, f"region {region} was opened {len(opened)} times")
        require(opened[0]["begin"] <= min(one["begin"] for one in group),
                f"region {region} begins after a member of it")
    tasks = {one["args"]["task"] for one in trace.named("openmp", "task ")
             if one["name"].startswith("task ")}
    require(len(tasks) == 24, f"{len(tasks)} explicit tasks, not 24")
    for what in ("loop", "sections", "taskloop", "has critical", "barrier at the end of the region",
                 "single"):
        require(trace.named("openmp", what), f"no {what}")
    require(trace.named("member"), "no member is shown on a core")


@cases(1, 2)
def test_members_that_spin_within_tasks_are_recorded(world: World, cores: int):
    """A member's helper may be on the carrier of the opener who waits for it."""
    trace = record(world, world.openmp_program("regions_in_turns", "tasks"), "--cores", str(cores))
    inner = {one["args"]["region"] for one in trace.named("openmp", "region ")
             if "member" in one["args"]}
    require(len(inner) == 1 + 64, f"{len(inner)} regions, not 65")


def test_a_killed_program_leaves_its_trace(world: World):
    before = ring_folders()
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    running = world.start(world.program("trace_mix", "on"), instance, "--trace", str(path))
    require_soon(lambda: running.wrote(b"working\n"), "the program works")
    command = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0])
    os.kill(command, signal.SIGKILL)
    outcome = running.wait(BOUND)
    require(outcome.status == -signal.SIGKILL, f"{outcome.verdict()}, expected SIGKILL")
    require(ring_folders() <= before, f"left behind: {ring_folders() - before}")
    trace = Trace(path)
    require_nested(trace)
    return f"{require_apart(trace)} slices"


def test_events_that_were_overwritten_are_counted(world: World):
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    outcome = world.run(world.program("trace_mix"), instance, "--trace", str(path),
                        "--trace-events", "64")
    require_success(outcome, "trace_mix")
    require(b"earlier ones are not in it" in outcome.stderr, f"it says {outcome.stderr!r}")
    lost = json.loads(path.read_text())["otherData"]["events overwritten"]
    require(lost > 0, "none is counted")
    trace = Trace(path)
    require_apart(trace)
    require_nested(trace)


# Says how many bytes of /dev/shm the rings of this recording have, after 100 threads of its own.
# Threads that set a priority are not used again (Python's were not, either, until 3.13 joined them).
MANY_SHORT_THREADS = """
import os, re, threading
def set_priority():
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
for _ in range(100):
    thread = threading.Thread(target=set_priority)
    thread.start()
    thread.join()
folder = re.search(r"/dev/shm/roost[.]trace[^/]*", open("/proc/self/maps").read())[0]
print(sum(ring.stat().st_blocks * 512 for ring in os.scandir(folder)))
"""


def test_threads_that_have_ended_keep_only_what_they_wrote(world: World):
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    outcome = world.run([sys.executable, "-c", MANY_SHORT_THREADS], instance, "--trace", str(path))
    require_success(outcome, "python")
    occupied = int(outcome.stdout)
    require(0 < occupied < 10 << 20, f"{occupied} bytes for 100 threads that have ended")
    threads = {one["args"]["tid"] for one in Trace(path).named("thread")}
    require(len(threads) > 100, f"{len(threads)} threads are in the trace")
    return f"{occupied >> 10} KiB"


def test_a_recorded_command_ends_as_it_would(world: World):
    for command, status in (("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM)):
        record(world, ["sh", "-c", command], status=status)


def test_a_signal_is_passed_on(world: World):
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    script = "trap 'echo got; exit 3' TERM; echo on; while :; do sleep 0.01; done"
    running = world.start(["sh", "-c", script], instance, "--trace", str(path))
    require_soon(lambda: running.wrote(b"on\n"), "the command runs")
    running.send(signal.SIGTERM)
    outcome = running.wait(BOUND)
    require((outcome.status, outcome.stdout) == (3, b"on\ngot\n"), f"{outcome.verdict()}, {outcome.stdout!r}")


def test_clean_removes_what_a_killed_recording_left(world: World):
    before = ring_folders()
    instance = world.roost.new_instance("trace")
    path = world.directory / "trace.json"
    running = world.start(world.program("trace_mix", "on"), instance, "--trace", str(path))
    require_soon(lambda: running.wrote(b"working\n"), "the program works")
    folder = (ring_folders() - before).pop()
    world.run_plain([world.roost.binary, "clean"])
    require(folder.exists(), "roost clean removed the rings of a recording that runs")
    running.send(signal.SIGKILL)
    require_soon(running.finished, "roost run ends")
    world.run_plain([world.roost.binary, "clean"])
    require(not folder.exists(), f"{folder} is still there")


def test_an_earlier_trace_is_replaced_and_nothing_else(world: World):
    record(world, ["true"])
    record(world, ["true"])  # the same name
    other = world.directory / "letter"
    other.write_text("{}")
    instance = world.roost.new_instance("trace")
    require_refused(world, instance, ["--trace", str(other)], "letter", "no trace", status=125)
    require(other.read_text() == "{}", "the file was changed")


def test_a_trace_that_cannot_be_written_is_said(world: World):
    """With no file larger than nothing allowed: neither rings nor the trace."""
    before = ring_folders()
    instance = world.roost.new_instance("trace")
    world.start_idle(instance)  # who makes the instance needs room for it
    path = world.directory / "trace.json"
    command = world.roost.command(["true"], instance, "--trace", str(path))
    # The limit holds for the file that standard error is, too: hence the pipe.
    limited = '(ulimit -f 0; "$@" 2>&1; echo status $?) | cat'
    said = world.run_plain(["sh", "-c", limited, "sh", *command]).stdout
    for words in (b"could not be written", b"no room", b"status 125\n"):
        require(words in said, f"it says {said!r}")
    require(not path.exists(), "a broken trace was left")
    require(ring_folders() <= before, "it left rings behind")


# What is wrong, the options, words the sentence must hold, the status.
BAD_TRACES = {
    "no such folder": (["--trace", "/nonexistent/trace"], ["cannot be written"], 125),
    "a folder": (["--trace", "/tmp"], ["cannot be written"], 125),
    "a device": (["--trace", "/dev/null"], ["regular"], 125),
    "no name": (["--trace", ""], ["name"], 2),
    "no number": (["--trace", "x", "--trace-events", "many"], ["many"], 2),
    "too few": (["--trace", "x", "--trace-events", "3"], ["64"], 2),
    "events without a trace": (["--trace-events", "100"], ["--trace"], 2),
}


@cases(*BAD_TRACES)
def test_bad_trace(world: World, mistake: str):
    options, words, status = BAD_TRACES[mistake]
    before = ring_folders()
    instance = world.roost.new_instance("trace")
    require_refused(world, instance, options, *words, status=status)
    require(ring_folders() <= before, "it left rings behind")
    world.require_gone(instance)
