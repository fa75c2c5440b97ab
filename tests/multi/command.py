"""`roost run CMD` is CMD: same process, same arguments, same ending, and nothing of roost in it."""

import os
import signal

from harness.process import Outcome

from world import Failure, Skip, World, cases, cores_here, require


def both(world: World, argv, **how) -> tuple[Outcome, Outcome]:
    """The command plain and under roost."""
    instance = world.roost.new_instance("command")
    sides = world.run_plain(argv, **how), world.run(argv, instance, **how)
    world.require_gone(instance)
    return sides


def require_same(world: World, argv, **how) -> None:
    plain, roost = both(world, argv, **how)
    for what in ("status", "stdout", "stderr"):
        expected, got = getattr(plain, what), getattr(roost, what)
        require(got == expected, f"{what} plain:\n{expected!r}\nunder roost:\n{got!r}")


def test_the_command_has_the_process_id_of_roost(world: World):
    instance = world.roost.new_instance("pid")
    running = world.start(["sh", "-c", "echo $$"], instance)
    outcome = running.wait(30)
    require(outcome.stdout == f"{running.pid}\n".encode(),
            f"started as {running.pid}, it says {outcome.stdout!r}")


@cases(0, 1, 42, 125, 126, 127, 255)
def test_the_exit_status_is_the_commands(world: World, status: int):
    require_same(world, ["sh", "-c", f"exit {status}"])


@cases("TERM", "INT", "SEGV", "KILL")
def test_a_signal_that_ends_the_command_ends_roost(world: World, name: str):
    instance = world.roost.new_instance("signal")
    outcome = world.run(["sh", "-c", f"kill -{name} $$"], instance)
    expected = -getattr(signal, f"SIG{name}")
    require(outcome.status == expected, f"{outcome.verdict()}\n{outcome.stderr!r}")


def test_arguments_arrive_as_they_are(world: World):
    require_same(world, ["printf", "[%s]", "", " ", "--", "--stats", "-x", "a\nb", "ä", "*"])


def test_what_threads_did_is_said_where_standard_error_was(world: World):
    """Of programs that close it before they end, too (GNU's ls), or have put a file there."""
    path = world.directory / "errors"
    command = ["sh", "-c", f"exec 2>{path}; echo error >&2"]
    instance = world.roost.new_instance("stats")
    outcome = world.run(command, instance, "--stats")
    said = outcome.stderr.decode()
    require("(sh): threads 1," in said and path.read_text() == "error\n", f"said {said!r}")
    outcome = world.run(["ls", "/"], instance, "--stats")
    require(b"(ls): threads 1," in outcome.stderr, f"said {outcome.stderr!r}")


def test_standard_input_and_other_descriptors_are_passed_on(world: World):
    path = world.directory / "input"
    path.write_text("one\ntwo\n")
    instance = world.roost.new_instance("descriptors")
    outputs = []
    for under_roost in (False, True):
        with path.open() as stdin, path.open() as other:
            command = ["sh", "-c", f"head -n 1; cat <&{other.fileno()}; ls /proc/self/fd"]
            if under_roost:
                command = world.roost.command(command, instance)
            outputs.append(world.run_plain(command, stdin=stdin, pass_fds=[other.fileno()]).stdout)
    require(outputs[0] == outputs[1], f"plain:\n{outputs[0]!r}\nunder roost:\n{outputs[1]!r}")


def test_the_process_is_as_the_caller_made_it(world: World):
    """Ignored signals, file mode mask, limits, priority, directory."""
    facts = ("grep -E '^(SigBlk|SigIgn|Umask|NoNewPrivs|Seccomp):' /proc/self/status; "
             "cat /proc/self/limits; nice; pwd")
    made = 'trap "" USR1 PIPE; umask 027; ulimit -n 100; exec nice -n 3 "$@"'
    command = ["sh", "-c", facts]
    instance = world.roost.new_instance("state")
    plain = world.run_plain(["sh", "-c", made, "sh", *command], cwd=world.directory)
    roost = world.run_plain(["sh", "-c", made, "sh", *world.roost.command(command, instance)],
                            cwd=world.directory)
    require(roost.stdout == plain.stdout,
            f"plain:\n{plain.stdout!r}\nunder roost:\n{roost.stdout!r}")


def test_a_script_without_an_interpreter_runs_as_in_a_shell(world: World):
    script = world.directory / "script"
    script.write_text("echo script $1\nexit 3\n")
    script.chmod(0o755)
    instance = world.roost.new_instance("script")
    outcome = world.run([str(script), "argument"], instance)
    require((outcome.status, outcome.stdout) == (3, b"script argument\n"),
            f"{outcome.verdict()}, {outcome.stdout!r} {outcome.stderr!r}")


def test_the_command_is_looked_up_in_path(world: World):
    tool = world.directory / "roost-test-tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{world.directory}:{os.environ['PATH']}"}
    require_same(world, [tool.name], env=environment)


def test_no_env_leaves_the_environment_alone(world: World):
    """All but what makes the program managed."""
    instance = world.roost.new_instance("env")
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "3"}
    outcome = world.run(["env", "-0"], instance, "--no-env", env=environment)
    names = {entry.split("=")[0] for entry in outcome.stdout.decode().split("\0") if entry}
    added = {name for name in names - environment.keys()
             if name != "LD_PRELOAD" and not name.startswith("ROOST_")}
    require(not added, f"added: {', '.join(sorted(added))}")
    require(b"OMP_NUM_THREADS=3\0" in outcome.stdout, "OMP_NUM_THREADS was changed")


def test_affinity_goes_to_what_is_executed(world: World):
    """The kernel's masks do; programs size themselves by them."""
    cpu = min(os.sched_getaffinity(0))
    script = "nproc; nproc & wait; env nproc; env | grep -c ROOST_AFFINITY"
    instance = world.roost.new_instance("affinity")
    outcome = world.run(["taskset", "-c", str(cpu), "sh", "-c", script], instance)
    require(outcome.stdout == b"1\n1\n1\n0\n", f"{outcome.stdout!r} {outcome.stderr!r}")


RANK_VARIABLES = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK")


@cases(*RANK_VARIABLES, None)
def test_a_rank_that_its_launcher_binds_shares_the_cores_of_its_job(world: World, variable):
    """This process is the launcher. Who is bound by others has the cores he was bound to."""
    if cores_here() < 2:
        raise Skip("there is one core")
    instance = world.roost.new_instance("rank")
    script = "nproc; getconf _NPROCESSORS_ONLN; env | grep -c ROOST_AFFINITY"
    command = world.roost.command(["sh", "-c", script], instance)
    rank = ["env", f"{variable}=0"] if variable else []
    cpu = min(os.sched_getaffinity(0))
    # In a shell of its own, as the scripts that people give to launchers.
    outcome = world.run_plain([*rank, "taskset", "-c", str(cpu), "sh", "-c", '"$@"; exit $?', "sh",
                               *command])
    online = cores_here() if variable else 1
    require(outcome.stdout == f"1\n{online}\n0\n".encode(), f"{outcome.stdout!r} {outcome.stderr!r}")


def test_who_is_bound_to_other_cores_than_the_instance_is_told(world: World):
    if cores_here() < 2:
        raise Skip("there is one core")
    instance = world.roost.new_instance("bound")
    world.start_idle(instance)
    cpu = max(os.sched_getaffinity(0))
    outcome = world.run_plain(["taskset", "-c", str(cpu), *world.roost.command(["true"], instance)])
    require(b"keeps its own CPU list (" in outcome.stderr, f"{outcome.stderr!r}")
    outcome = world.run(["true"], instance)
    require(outcome.stderr == b"", f"{outcome.stderr!r}")


def test_a_small_stack_is_enough_to_start(world: World):
    instance = world.roost.new_instance("stack")
    command = ["sh", "-c", "ulimit -s 24; exec true"]  # KiB; up to 8 of them the kernel leaves out
    for _ in range(10):
        outcome = world.run(command, instance, env={"PATH": os.environ["PATH"]})
        require(outcome.status == 0, f"{outcome.verdict()}\n{outcome.stderr!r}")


SANITIZED = """
#include <pthread.h>
#include <stdlib.h>
static int sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* add(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&lock);
    ++sum;
    pthread_mutex_unlock(&lock);
  }
  free(malloc(10));
  return unused;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return sum == 4000 ? 5 : 6;
}
"""


@cases("address", "thread")
def test_programs_built_for_sanitizers(world: World, sanitizer: str):
    """AddressSanitizer's are managed; ThreadSanitizer's are not, and say so."""
    source, program = world.directory / "sanitized.c", world.directory / "sanitized"
    source.write_text(SANITIZED)
    built = world.run_plain(["gcc", f"-fsanitize={sanitizer}", "-o", str(program), str(source)])
    if built.status != 0 or world.run_plain([str(program)]).status != 5:
        raise Skip("such a program cannot be built or run here")
    instance = world.roost.new_instance("sanitized")
    outcome = world.run([str(program)], instance)
    require(outcome.status == 5, f"{outcome.verdict()}\n{outcome.stderr!r}")
    said = outcome.stderr.decode()
    expected = "ThreadSanitizer runs unmanaged" if sanitizer == "thread" else ""
    require(expected in said and said.count("\n") == bool(expected), f"it says {said!r}")


# Only the thread that still runs knows of its argument; those of joined ones nobody.
LEAKS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}
static void* end(void* unused) { return unused ? NULL : unused; }
static __attribute__((noinline)) void leak(void) {
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, end, malloc(10));
    pthread_join(thread, NULL);
  }
}
int main(int argc, char** argv) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_ever, malloc(100));
  if (argc > 1) leak();
  usleep(10000);
  return 5;
}
"""


@cases("nothing", "three blocks")
def test_leak_checkers_find_what_the_program_leaks(world: World, leaks: str):
    try:
        program = world.compile("leaks", LEAKS, "-fsanitize=address", "-pthread")
    except Failure as failure:
        raise Skip("no such program can be built here") from failure
    command = [program] if leaks == "nothing" else [program, "leak"]
    plain = world.run_plain(command)
    found = b"30 byte(s) leaked in 3 alloc" in plain.stderr
    if found != (leaks != "nothing") or found == (plain.status == 5):
        raise Skip(f"without roost it ends with {plain.status}: {plain.stderr!r}")
    outcome = world.run(command, world.roost.new_instance("leaks"))
    require(outcome.status == plain.status, f"{outcome.verdict()}\n{outcome.stderr!r}")
    if found:
        require(b"30 byte(s) leaked in 3 alloc" in outcome.stderr, f"it says {outcome.stderr!r}")
