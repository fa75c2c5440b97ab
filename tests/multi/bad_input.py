"""Bad input from the command line: each mistake gives one clear sentence and the right exit status,
the command does not run, and nothing stays in /dev/shm."""

import os
import subprocess
from pathlib import Path

from harness.process import Outcome

from world import Skip, World, cases, require, require_success

WRONG_USAGE = 2
CANNOT_RUN = 125  # roost itself cannot, as in env, nice and timeout
NOT_EXECUTABLE = 126  # this and the next as in shells
NOT_FOUND = 127


def require_one_sentence(outcome: Outcome, *words: str) -> None:
    """Standard error is one line that holds all the words."""
    lines = outcome.stderr.decode().splitlines()
    require(len(lines) == 1, f"{len(lines)} lines on standard error, not one: {lines}")
    for word in words:
        require(word.lower() in lines[0].lower(), f"no word of {word!r} in: {lines[0]}")


def require_refused(world: World, instance: str, options, *words: str, status: int = WRONG_USAGE):
    """A run that must not take place."""
    marker = world.directory / "it-ran"
    outcome = world.run(["touch", str(marker)], instance, *options)
    require(outcome.status == status, f"{outcome.verdict()}, expected {status}: {outcome.stderr!r}")
    require(not marker.exists(), "the command ran all the same")
    require(not outcome.stdout, f"standard output: {outcome.stdout!r}")
    require_one_sentence(outcome, *words)


# What is wrong, the options, words the sentence must hold.
BAD_OPTIONS = {
    "unknown policy": (["--policy", "nosuch"], ["nosuch", "polic"]),
    "unknown parameter": (["--set", "nosuch=1"], ["nosuch"]),
    "parameter without a value": (["--set", "quantum"], ["quantum"]),
    "parameter that is no number": (["--set", "quantum=soon"], ["soon"]),
    "quantum that is no time": (["--quantum", "soon"], ["soon"]),
    "trap that is none": (["--trap", "yes"], ["--trap", "auto"]),
    "no cores": (["--cores", "0"], ["cores"]),
    "cores that are no number": (["--cores", "many"], ["many"]),
    "core outside the mask": (["--cpus", "1000"], ["1000"]),
    "core list that is none": (["--cpus", "0-x"], ["0-x"]),
    "cores given twice": (["--cpus", "0", "--cores", "1"], ["cores", "cpus"]),
    "an option given twice": (["--cores", "1", "--cores", "1"], ["--cores", "twice"]),
    "time without a unit": (["--set", "quantum=5"], ["unit"]),
    "a trace to standard output": (["--trace", "-"], ["./-"]),
    "unknown option": (["--nosuch"], ["nosuch"]),
}


@cases(*BAD_OPTIONS)
def test_bad_option(world: World, mistake: str):
    options, words = BAD_OPTIONS[mistake]
    instance = world.roost.new_instance("option")
    require_refused(world, instance, options, *words)
    world.require_gone(instance)


BAD_NAMES = {"empty": "", "slash": "a/b", "dots": "..", "long": "x" * 64, "space": "a b",
             "umlaut": "ä"}


@cases(*BAD_NAMES)
def test_bad_instance_name(world: World, mistake: str):
    before = set(os.listdir("/dev/shm"))
    require_refused(world, BAD_NAMES[mistake], [], "name")
    # Others may run tests beside this one: theirs have a proper name.
    made = {entry for entry in set(os.listdir("/dev/shm")) - before
            if entry.endswith(BAD_NAMES[mistake]) and "test-" not in entry}
    require(not made, f"left behind: {made}")


def test_run_without_a_command(world: World):
    outcome = world.run_plain([world.roost.binary, "run"])
    require(outcome.status == WRONG_USAGE, f"{outcome.verdict()}: {outcome.stderr!r}")
    require_one_sentence(outcome, "command")


# The words behind `roost`, words the sentence must hold.
BAD_VERB_OPTIONS = {
    "spin without a word": ("spin", ["restore or rewrite"]),
    "spin with a wrong name": ("spin restore --instance ../x", ["../x"]),
    "spin with no name": ("spin restore --instance=", ["--instance"]),
    "sim list with an option": ("sim list --quick", ["--quick"]),
    "sim show with an option": ("sim show vm-2 --policy coop", ["--policy"]),
    "sim calibrate with an option": ("sim calibrate --machine vm-2", ["--machine"]),
    "a simulation with one of calibrate's": ("sim convoy --quick", ["--quick", "calibrate"]),
    "a negative seed": ("sim convoy --seed -1", ["--seed"]),
    "a seed too large": ("sim convoy --seed 99999999999999999999999", ["--seed"]),
    "a machine without a name": ("sim convoy --machine=", ["--machine"]),
    "a simulated trace to standard output": ("sim convoy --trace -", ["./-"]),
}


@cases(*BAD_VERB_OPTIONS)
def test_bad_options_of_other_verbs(world: World, mistake: str):
    line, words = BAD_VERB_OPTIONS[mistake]
    outcome = world.run_plain([world.roost.binary, *line.split()])
    require(outcome.status == WRONG_USAGE, f"{outcome.verdict()}: {outcome.stderr!r}")
    require(not outcome.stdout, f"standard output: {outcome.stdout!r}")
    require_one_sentence(outcome, *words)


def test_a_variable_is_named_as_such(world: World):
    wrong = ["env", "ROOST_INSTANCE=default", "ROOST_TRAP=x", world.roost.binary, "run", "true"]
    outcome = world.run_plain(wrong)
    require(outcome.status == WRONG_USAGE, f"{outcome.verdict()}: {outcome.stderr!r}")
    require_one_sentence(outcome, "ROOST_TRAP")


@cases("sim convoy --trace", "sim convoy --json", "sim calibrate --quick --out", "run --trace")
def test_a_file_of_somebody_elses_is_not_overwritten(world: World, line: str):
    path = world.directory / "mine.txt"
    path.write_text("mine")
    command = ["true"] if line.startswith("run") else []
    outcome = world.run_plain([world.roost.binary, *line.split(), str(path), *command])
    require(outcome.status != 0, outcome.verdict())
    require_one_sentence(outcome, "mine.txt", "remove it")
    require(path.read_text() == "mine", "it was overwritten")


@cases("--trace", "--json")
def test_what_a_simulation_wrote_may_be_replaced(world: World, option: str):
    path = world.directory / "figures"
    for _ in range(2):
        command = [world.roost.binary, "sim", "convoy", "--policy", "coop", option, str(path)]
        require_success(world.run_plain(command), "roost sim")
    require(path.stat().st_size > 0, "nothing was written")


@cases("ps", "ps --json", "doctor", "policies", "--version", "version",
       "help", "help run", "sim list", "sim show vm-2", "clean")
def test_output_that_gets_nowhere_is_no_success(world: World, line: str):
    command = f'"{world.roost.binary}" {line} > /dev/full'
    outcome = world.run_plain(["sh", "-c", command])
    require(outcome.status == 1, outcome.verdict())
    require_one_sentence(outcome, "written")


def test_unknown_verb(world: World):
    outcome = world.run_plain([world.roost.binary, "nosuch"])
    require(outcome.status == WRONG_USAGE, outcome.verdict())
    require_one_sentence(outcome, "nosuch")


def not_runnable(world: World) -> dict[str, tuple[list[str], int]]:
    """Commands that cannot be run, and the exit status a shell would have."""
    plain_file, folder = world.directory / "plain-file", world.directory / "folder"
    plain_file.write_text("#!/bin/sh\n")
    folder.mkdir()
    return {
        "missing in PATH": (["roost-no-such-command"], NOT_FOUND),
        "missing file": (["/no/such/command"], NOT_FOUND),
        "empty name": ([""], NOT_FOUND),
        "not executable": ([str(plain_file)], NOT_EXECUTABLE),
        "directory": ([str(folder)], NOT_EXECUTABLE),
    }


@cases("missing in PATH", "missing file", "empty name", "not executable", "directory")
def test_command_that_cannot_run(world: World, mistake: str):
    argv, status = not_runnable(world)[mistake]
    instance = world.roost.new_instance("exec")
    outcome = world.run(argv, instance)
    require(outcome.status == status, f"{outcome.verdict()}, expected {status}: {outcome.stderr!r}")
    require_one_sentence(outcome, argv[0])
    world.require_gone(instance)


def test_static_program_runs_unmanaged(world: World):
    instance = world.roost.new_instance("static")
    source = world.directory / "static.c"
    source.write_text("int main(void) { return 5; }\n")
    program = world.directory / "static"
    built = subprocess.run(["cc", "-static", "-o", program, source], capture_output=True)
    if built.returncode != 0:
        raise Skip("no static program can be linked here")
    outcome = world.run([str(program)], instance)
    require(outcome.status == 5, f"{outcome.verdict()}: {outcome.stderr!r}")
    require_one_sentence(outcome, "static", "unmanaged")
    world.require_gone(instance)


def test_set_user_id_program_runs_unmanaged(world: World):
    if os.geteuid() != 0:
        raise Skip("needs root, to make a program of another user")
    if os.statvfs(world.directory).f_flag & os.ST_NOSUID:
        raise Skip(f"{world.directory} is mounted nosuid")
    instance = world.roost.new_instance("setuid")
    program = world.directory / "id"
    program.write_bytes(Path("/usr/bin/id").read_bytes())
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    world.directory.chmod(0o755)
    outcome = world.run([str(program), "-u"], instance)
    require_success(outcome, "id")
    require(outcome.stdout == b"65534\n", f"id says {outcome.stdout!r}")
    require_one_sentence(outcome, "set-user-ID", "unmanaged")
    world.require_gone(instance)


def test_instance_out_of_records(world: World):
    """The program loses nothing: its threads beyond the limit run, unmanaged."""
    instance = world.roost.new_instance("full")
    outcome = world.run(world.program("many_threads", 50), instance, "--set", "max_threads=8")
    require_success(outcome, "many_threads")
    require(outcome.stdout == b"50 threads\n", f"many_threads printed {outcome.stdout!r}")
    require_one_sentence(outcome, "thread record")
    world.require_gone(instance)


@cases("barrier", "cancel_cleanup", "cond", "exec", "fork", "jumps", "kernel_waits", "thread_exit")
def test_threads_without_records_behave_as_others(world: World, program: str):
    instance = world.roost.new_instance("full")
    outcome = world.run(world.program(program, folder="posix"), instance, "--set", "max_threads=2")
    require_success(outcome, program)
    world.require_gone(instance)
