"""The roost command under test: its command lines, its segments, and what it says of itself."""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
FIRST_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO in Linux


class Roost:
    """One build of roost. ROOST_BIN in the environment replaces the built command."""

    def __init__(self, build_dir: str):
        built = Path(build_dir).resolve() / "bin" / "roost"
        self.binary = os.environ.get("ROOST_BIN") or str(built)
        self._numbers = itertools.count(1)
        self._instances: list[str] = []

    def usable(self) -> bool:
        return os.access(self.binary, os.X_OK)

    def new_instance(self, label: str) -> str:
        """A name that no other run of the tests uses."""
        name = f"test-{os.getpid()}-{label}-{next(self._numbers)}"
        self._instances.append(name)
        return name

    def command(self, argv, instance: str, *options: str) -> list[str]:
        """The command line that runs `argv` in `instance`."""
        return [self.binary, "run", "--instance", instance, *options, "--", *argv]

    def segment(self, instance: str) -> Path:
        """Its file: in a container, PID namespace, the name has a suffix."""
        namespace = os.stat("/proc/self/ns/pid").st_ino
        suffix = "" if namespace == FIRST_PID_NAMESPACE else f"@{namespace}"
        return SHARED_MEMORY / f"roost-{os.geteuid()}-{instance}{suffix}"

    def ps(self) -> dict:
        """What `roost ps --json` prints."""
        output = subprocess.run([self.binary, "ps", "--json"], check=True, capture_output=True)
        return json.loads(output.stdout)

    def pids(self, name: str) -> list[int]:
        """The processes of an instance, by `roost ps`; empty if there is no such instance."""
        for instance in self.ps()["instances"]:
            if instance["name"] == name:
                return [process["pid"] for process in instance["processes"]]
        return []

    def remove_leftovers(self) -> list[str]:
        """Removes the segments of this run's instances; names those that were still there."""
        left = [name for name in self._instances if os.path.lexists(self.segment(name))]
        for name in left:
            self.segment(name).unlink()
        return left


def rescues(stderr: bytes) -> list[int]:
    """How often the watchdog took a core, for each process that ended under `run --stats`."""
    line = rb"^roost: process \d+(?: \(.*\))?: threads .*\brescues (\d+)"
    return [int(count) for count in re.findall(line, stderr, re.MULTILINE)]
