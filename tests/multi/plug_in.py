"""Policies of users' own: found by name and path, the same in all processes of an instance, refused
before anything runs if they are faulty, and harmless if they err later."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from bad_input import CANNOT_RUN, require_one_sentence, require_refused
from world import BOUND, Skip, World, cases, require, require_soon, require_success, text

ROOT = Path(__file__).resolve().parents[2]


def example(world: World) -> str:
    return str(world.build / "examples" / "policies" / "shortest_queue.so")


def faulty(world: World, name: str) -> str:
    return str(world.build / "tests" / "policies" / f"{name}.so")


def policy_in_ps(world: World, instance: str) -> str:
    return next(i["policy"] for i in world.roost.ps()["instances"] if i["name"] == instance)


@cases("path", "name")
def test_several_processes_share_an_instance_under_a_plug_in(world: World, how: str):
    instance = world.roost.new_instance("plug-in")
    folder = str(Path(example(world)).parent)
    given, env = (example(world), None) if how == "path" else (
        "shortest_queue", {**os.environ, "ROOST_POLICY_PATH": f"/nonexistent:{folder}"})
    idle = world.start(world.program("idle"), instance, "--policy", given, env=env)
    require_soon(lambda: idle.wrote(b"idle\n"), "an idle program starts")
    require(policy_in_ps(world, instance) == "shortest_queue", "roost ps shows another policy")
    # The second names no policy: it has that of the instance.
    programs = [world.start(world.program("sync_mix", 4, 50), instance, *options, env=env)
                for options in (("--policy", given), (), ())]
    for program in programs:
        outcome = program.wait(BOUND)
        require_success(outcome, "sync_mix")
        require(not outcome.stderr, text(outcome.stderr))
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")
    world.require_gone(instance)


@cases("fork_storm", "exec_chain", "many_threads")
def test_children_have_the_policy_of_their_parents(world: World, program: str):
    arguments, status = {"fork_storm": ((4, 20), 0), "exec_chain": ((5,), 7),
                         "many_threads": ((50,), 0)}[program]
    instance = world.roost.new_instance("plug-in")
    outcome = world.run(world.program(program, *arguments), instance, "--policy", example(world))
    require(outcome.status == status, f"{program}: {outcome.verdict()}")
    require(not outcome.stderr, text(outcome.stderr))
    world.require_gone(instance)


def test_a_nested_run_keeps_the_plug_in_and_its_parameters(world: World):
    instance = world.roost.new_instance("plug-in")
    ps = f"{world.roost.binary} run -- {world.roost.binary} ps"
    outcome = world.run(["sh", "-c", ps], instance, "--policy", example(world), "--set", "gain=7",
                        cwd="/")
    require_success(outcome, "roost ps inside")
    require(b"policy shortest_queue gain=7" in outcome.stdout, text(outcome.stdout))


# What is wrong with it, and a word of the sentence.
REFUSED = {"no_symbol": "roost_policy", "wrong_version": "version 2", "wrong_size": "bytes",
           "no_core_free": "core_free", "bad_parameter": "number", "bad_name": "name",
           "calls_libc": "malloc", "needs_library": "libm", "exports_more": "helper",
           "taken_name": "coop"}


@cases(*REFUSED)
def test_a_faulty_plug_in_is_refused_before_anything_runs(world: World, mistake: str):
    instance = world.roost.new_instance("plug-in")
    require_refused(world, instance, ["--policy", faulty(world, mistake)], REFUSED[mistake])
    world.require_gone(instance)


def test_what_is_no_plug_in_is_refused(world: World):
    instance = world.roost.new_instance("plug-in")
    require_refused(world, instance, ["--policy", "./nosuch.so"], "nosuch.so", "no such file")
    require_refused(world, instance, ["--policy", str(ROOT / "README.md")], "no elf file")
    require_refused(world, instance, ["--policy", str(ROOT)], "is no file")
    require_refused(world, instance, ["--policy", example(world), "--set", "gain=0"], "gain", "1000")
    require_refused(world, instance, ["--policy", example(world), "--set", "gian=1"], "gian", "gain")
    world.require_gone(instance)


CAUGHT = {"none": "", "ready_nowhere": "thread_ready chose core", "free_nobody": "core_free chose no",
          "free_wrong": "core_free chose process", "place_unclaimed": "place returned core",
          "place_keeps": "place returned no core", "idle_claims": "core_idle claimed"}


@cases(*CAUGHT)
def test_a_plug_in_that_errs_harms_nobody_and_is_told_of_once(world: World, mistake: str):
    instance = world.roost.new_instance("plug-in")
    options = ("--policy", faulty(world, mistake))
    programs = [world.start(world.program("sync_mix", 6, 60), instance, *options) for _ in range(2)]
    said = b""
    for program in programs:
        outcome = program.wait(BOUND)
        require_success(outcome, "sync_mix")
        said += outcome.stderr
    lines = said.decode().splitlines()
    # Once an instance; but the two may not have met in one.
    require(len(lines) <= (2 if CAUGHT[mistake] else 0), f"said: {lines}")
    for line in lines:
        require(CAUGHT[mistake] in line, f"not what is wrong: {line}")
    require(lines or not CAUGHT[mistake] or "core_free" in CAUGHT[mistake], "nothing was said")
    world.require_gone(instance)


def test_a_file_that_changes_while_the_instance_runs_is_refused(world: World):
    instance = world.roost.new_instance("plug-in")
    mine = world.directory / "mine.so"
    shutil.copy(example(world), mine)
    idle = world.start_idle(instance, "--policy", str(mine))
    mine.unlink()
    shutil.copy(faulty(world, "none"), mine)
    outcome = world.run(["true"], instance)
    require(outcome.status == CANNOT_RUN, f"{outcome.verdict()}: {text(outcome.stderr)}")
    require_one_sentence(outcome, "has changed", instance)
    idle.send(signal.SIGTERM)
    require_success(idle.wait(BOUND), "idle")


def test_a_program_that_cannot_read_the_file_runs_unmanaged(world: World):
    instance = world.roost.new_instance("plug-in")
    mine = world.directory / "mine.so"
    shutil.copy(example(world), mine)
    # A shell that is in the instance, and starts a program once the file is gone.
    outcome = world.run(["sh", "-c", f"rm {mine}; sh -c 'echo $((6 * 7))'"], instance,
                        "--policy", str(mine))
    require_success(outcome, "the program")
    require(outcome.stdout == b"42\n", text(outcome.stdout))
    for line in outcome.stderr.decode().splitlines():  # rm's process, and the inner shell's
        require("mine.so cannot be opened" in line and "runs unmanaged" in line, line)
    require(outcome.stderr, "nothing was said")
    world.require_gone(instance)


def test_the_listing_shows_what_is_found(world: World):
    env = {**os.environ, "ROOST_POLICY_PATH": str(Path(example(world)).parent)}
    outcome = world.run_plain([world.roost.binary, "policies"], env=env)
    require_success(outcome, "roost policies")
    require(f"shortest_queue (plug-in {example(world)})".encode() in outcome.stdout, "not listed")
    bad = world.directory / "bad.so"
    bad.write_text("no ELF")
    env["ROOST_POLICY_PATH"] = str(world.directory)
    outcome = world.run_plain([world.roost.binary, "policies"], env=env)
    require_success(outcome, "roost policies")
    require_one_sentence(outcome, "bad.so", "no elf file")


def test_the_simulator_runs_it_and_ends_with_a_bad_answer(world: World):
    outcome = world.run_plain([world.roost.binary, "sim", "first-steps", "--check", "--policy",
                               example(world), "--policy", "coop", "--set", "gain=1"])
    require_success(outcome, "roost sim")
    require(b"shortest_queue" in outcome.stdout, text(outcome.stdout))
    outcome = world.run_plain([world.roost.binary, "sim", "first-steps", "--policy",
                               faulty(world, "place_keeps")])
    require(outcome.status == 1, outcome.verdict())
    require_one_sentence(outcome, "seed 1", "policy tested", "place returned no core")


def test_it_is_built_and_installed_as_a_user_does(world: World):
    if not shutil.which("pkg-config") or not shutil.which("cmake"):
        raise Skip("no pkg-config or cmake here")
    prefix = world.directory / "prefix"
    subprocess.run(["cmake", "--install", str(world.build), "--prefix", str(prefix)], check=True,
                   stdout=subprocess.DEVNULL)
    package = next(prefix.glob("**/roost.pc"))
    policies = package.parents[1] / "roost" / "policies"
    policies.mkdir(parents=True, exist_ok=True)
    flags = subprocess.run(["pkg-config", "--cflags", "roost"], check=True, capture_output=True,
                           text=True, env={**os.environ, "PKG_CONFIG_PATH": str(package.parent)})
    source = ROOT / "examples" / "policies" / "shortest_queue.c"
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared",
                    "-fPIC", *flags.stdout.split(), "-o", str(policies / "shortest_queue.so"),
                    str(source)], check=True)
    roost = str(prefix / "bin" / "roost")
    instance = world.roost.new_instance("plug-in")
    outcome = world.run_plain([roost, "run", "--instance", instance, "--policy", "shortest_queue",
                               "--", roost, "ps"])
    require_success(outcome, "the installed roost")
    require(b"policy shortest_queue gain=2" in outcome.stdout, text(outcome.stdout))
    require(not outcome.stderr, text(outcome.stderr))
