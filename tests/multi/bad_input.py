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
