#!/usr/bin/env python3
"""Runs a program in a folder of its own and prints, as one JSON line, what its output says.

figures.py [--value REGEX] --check REGEX [--file NAME] [--copy FILE]... -- COMMAND...

The groups of the last matches are numbers: `value` in the program's own unit (without --value: runs a
second, by the clock) and `checksum`, for comparisons. --file: a file that the program writes there,
read beside its output. --copy: a file that it needs there.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--value")
    parser.add_argument("--check", required=True)
    parser.add_argument("--file")
    parser.add_argument("--copy", action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        for name in options.copy:
            shutil.copy(name, folder)
        start = time.monotonic()
        run = subprocess.run(options.command, cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        seconds = time.monotonic() - start
        written = Path(folder, options.file or "nothing")
        text = run.stdout + (written.read_text() if written.is_file() else "")
    if run.returncode != 0:
        last = "; ".join(text.strip().splitlines()[-3:])
        sys.exit(f"figures.py: {options.command[0]}: exit code {run.returncode}: {last}")

    def last(pattern):
        found = re.findall(pattern, text, re.M)
        if not found:
            sys.exit(f"figures.py: {options.command[0]} printed nothing like {pattern}")
        return float(found[-1])

    value = last(options.value) if options.value else 1 / seconds
    print(json.dumps({"value": value, "checksum": last(options.check),
                      "seconds": round(seconds, 4)}))


if __name__ == "__main__":
    main()
