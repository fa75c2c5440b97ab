#!/usr/bin/env python3
"""Runs a command with a thread that spins on the last core all the while: beside_spinner.py CMD..."""

import os
import subprocess
import sys


def main():
    if len(sys.argv) < 2:
        sys.exit("beside_spinner.py: usage: beside_spinner.py CMD...")
    core = str(max(os.sched_getaffinity(0)))
    spinner = subprocess.Popen(["taskset", "-c", core, sys.executable, "-c", "while True: pass"])
    try:
        return subprocess.run(sys.argv[1:], check=False).returncode
    finally:
        spinner.kill()
        spinner.wait()


if __name__ == "__main__":
    sys.exit(main())
