"""Where the threads of a process are, as gdb sees them: a line each, for the log of a test that hangs."""

import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

DEEPEST = 16  # frames that are named
GDB_SECONDS = 30
THREAD = re.compile(r'^Thread \d+ .*?(?:LWP (\d+).*?)?(?: "(.*)")?\):')
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \(")


def stacks_of(pid: int) -> list[str]:
    """For each thread: its name, and functions from the innermost on."""
    if shutil.which("gdb"):
        with suppress(subprocess.TimeoutExpired):
            shown = subprocess.run(
                ["gdb", "-p", str(pid), "-batch", "-ex", "set print frame-arguments none",
                 "-ex", "thread apply all bt"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=GDB_SECONDS)
            if lines := threads_in(shown.stdout.decode(errors="replace")):
                return lines
    return [f"{name_of(task)} {waits_in(task)}" for task in tasks_of(pid)]


def threads_in(text: str) -> list[str]:
    """What gdb printed, a line for each thread."""
    threads: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if thread := THREAD.match(line):
            threads.append((f"{thread[2] or ''} {thread[1] or ''}".strip(), []))
        elif (frame := FRAME.match(line)) and threads:
            threads[-1][1].append(re.sub(r"\(anonymous namespace\)::", "", frame[1]))
    return [f"{name}: {' < '.join(frames[:DEEPEST])}" for name, frames in threads]


def tasks_of(pid: int) -> list[Path]:
    with suppress(OSError):
        return sorted(Path(f"/proc/{pid}/task").iterdir())
    return []


def name_of(task: Path) -> str:
    with suppress(OSError):
        return (task / "comm").read_text().strip() + " " + task.name
    return task.name


def waits_in(task: Path) -> str:
    """The kernel's function that it sleeps in, and its system call."""
    with suppress(OSError):
        return f"{(task / 'wchan').read_text().strip()}: {(task / 'syscall').read_text().strip()}"
    return "has ended"
