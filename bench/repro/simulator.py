"""Runs `roost sim` on scenarios given as text, and lays out tables: what the scripts here share."""
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

# Where the part of docs/repro.md begins that bench/repro/truth writes.
TRUTH = "\n## The model's truth: this project's 2-core machine\n"

class Simulator:
    """Runs `roost sim` on scenarios given as text."""

    def __init__(self, build, repeat):
        self.roost = Path(build) / "bin" / "roost"
        self.repeat = repeat

    def show(self, name):
        return subprocess.run([self.roost, "sim", "show", name], check=True, capture_output=True,
                              text=True).stdout

    def time(self, text, policy, machine=None, settings=(), governor=None):
        """The median time in ns; None if a run does not finish in the time that it may take."""
        if governor:
            text = re.sub(r"(?m)^governor = .*\n", "", text)
            text = text.replace("\n\n[[program]]", f'\ngovernor = "{governor}"\n\n[[program]]', 1)
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            command = [self.roost, "sim", file.name, "--policy", policy, "--json", "-",
                       "--repeat", str(self.repeat)]
            command += ["--machine", machine] if machine else []
            for name, value in settings:
                command += ["--set", f"{name}={value}"]
            output = subprocess.run(command, capture_output=True, text=True)
        if not output.stdout:
            raise SystemExit(output.stderr)
        runs = json.loads(output.stdout)["runs"]
        if not all(run["finished"] for run in runs):
            return None
        return statistics.median(run["time_ns"] for run in runs)


def faster(base, other):
    """By how many percent `other` is faster than `base` (the papers' speed-up)."""
    return 100 * (base / other - 1)


def percent(value):
    return f"{value:+.0f} %"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"
