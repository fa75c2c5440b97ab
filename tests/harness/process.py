"""Runs commands, watches what they write, and leaves none of their processes behind."""

import os
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.stacks import stacks_of

# Every process of a run inherits this variable, so that stragglers are found even in sessions and
# process groups of their own. Its value starts with the runner's pid.
TAG = "ROOST_TEST_RUN"

# How long helpers that a program leaves at its end (Python's resource tracker, say) may take to go.
STRAGGLER_SECONDS = 5


@dataclass
class Outcome:
    """What a finished command did."""

    status: int  # exit code, or minus the signal that ended it
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False
    stragglers: list[str] = field(default_factory=list)

    def verdict(self) -> str:
        """One or two words for the report."""
        if self.timed_out:
            return "timeout"
        if self.status < 0:
            return signal.Signals(-self.status).name
        return "ok" if self.status == 0 else f"exit {self.status}"


class Running:
    """A command on its way, in a session of its own. Leaving the `with` block ends all of it."""

    def __init__(self, argv, *, env=None, cwd=None, stdin=subprocess.DEVNULL, pass_fds=()):
        self._tag = f"{os.getpid()}-{uuid.uuid4().hex}"
        # Files, not pipes: a straggler that holds a pipe open would keep us from seeing its end.
        self._out = tempfile.TemporaryFile()
        self._err = tempfile.TemporaryFile()
        self._start = time.monotonic()
        self._child = subprocess.Popen(
            argv, stdin=stdin, stdout=self._out, stderr=self._err, cwd=cwd, pass_fds=pass_fds,
            env={**(os.environ if env is None else env), TAG: self._tag}, start_new_session=True,
        )
        self.pid = self._child.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self._child.wait()
        self._out.close()
        self._err.close()

    def finished(self) -> bool:
        return self._child.poll() is not None

    def send(self, number: int) -> None:
        """Sends a signal to the command itself, not to what it started."""
        self._child.send_signal(number)

    def end(self) -> None:
        """Kills whatever is left of it."""
        with suppress(ProcessLookupError):
            if self._child.poll() is None:  # it may have cleared its environment
                os.killpg(self.pid, signal.SIGKILL)
        end_tagged(self._tag)

    def output(self) -> bytes:
        """Its standard output so far."""
        return contents(self._out)

    def wrote(self, text: bytes) -> bool:
        return text in self.output()

    def wait(self, timeout: float) -> Outcome:
        """Waits for its end, at most `timeout` seconds; then whatever is left of it is killed, and
        where its threads were stands at the end of its standard error."""
        timed_out = False
        where = []
        try:
            self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        seconds = time.monotonic() - self._start
        stragglers = []
        if timed_out:
            where = self.stacks()
            self.end()
        else:
            stragglers = end_tagged(self._tag, grace=STRAGGLER_SECONDS)
        status = self._child.wait()
        said = contents(self._err) + "".join(f"{line}\n" for line in where).encode()
        return Outcome(status, contents(self._out), said, seconds, timed_out, stragglers)

    def stacks(self) -> list[str]:
        """Where the threads of all that runs of it are, a line each."""
        return [f"{name} {pid}, {line}" for pid, name in sorted(tagged(self._tag).items())
                for line in stacks_of(pid)]


def run(argv, *, timeout, **how) -> Outcome:
    """Runs a command to its end, for at most `timeout` seconds."""
    with Running(argv, **how) as running:
        return running.wait(timeout)


def contents(file) -> bytes:
    """All of a file, without moving the offset that the command writes at."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def tagged(tag: str) -> dict[int, str]:
    """The living processes whose tag starts so: pid to command name."""
    wanted = f"{TAG}={tag}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # it ended meanwhile, or is not ours to read
            environment = (entry / "environ").read_bytes().split(b"\0")
            if any(variable.startswith(wanted) for variable in environment):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found


def end_tagged(tag: str, grace: float = 0) -> list[str]:
    """Waits `grace` seconds for the processes of a run to go, then kills them; names the killed."""
    wait_until(lambda: not tagged(tag), grace)
    killed = []
    while left := tagged(tag):
        for pid, name in left.items():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(name)
        time.sleep(0.01)
    return killed


def wait_until(condition, seconds: float) -> bool:
    """Polls until `condition()` holds; False if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def end_all_when_stopped(clean_up) -> None:
    """On SIGTERM and SIGINT: ends every process this runner started, cleans up, and is gone."""
    def stop(number, _):
        end_tagged(f"{os.getpid()}-")
        clean_up()
        os._exit(128 + number)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
