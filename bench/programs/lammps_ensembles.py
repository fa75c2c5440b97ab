#!/usr/bin/env python3
"""Runs LAMMPS ensembles, so many at a time, and prints their common rate as one JSON line.

lammps_ensembles.py N K STEPS -- MPIEXEC...   N ensembles, K at a time, each behind MPIEXEC; the rate
counts the atoms' steps of all, from the start of the first to the end of the last.
"""

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INPUT = Path(__file__).resolve().parent / "lammps.in"


def main():
    if len(sys.argv) < 6 or sys.argv[4] != "--":
        sys.exit("lammps_ensembles.py: usage: lammps_ensembles.py N K STEPS -- MPIEXEC...")
    ensembles, at_once, steps = (int(word) for word in sys.argv[1:4])

    def run(number):
        command = [*sys.argv[5:], "lmp", "-in", INPUT, "-log", "none", "-var", "steps", str(steps),
                   "-var", "seed", str(87287 + number)]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)

    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        results = list(pool.map(run, range(ensembles)))
    seconds = time.monotonic() - start

    work = 0
    for result in results:
        done = re.search(r"^Loop time of .* for (\d+) steps with (\d+) atoms", result.stdout, re.M)
        if result.returncode != 0 or not done:
            sys.exit(f"lammps_ensembles.py: exit code {result.returncode}: {result.stderr[-500:]}")
        work += int(done[1]) * int(done[2])
    print(json.dumps({
        "program": "lammps_ensembles", "ensembles": ensembles, "at_once": at_once,
        "seconds": round(seconds, 4), "value": round(work / seconds / 1000, 3),
        "unit": "katom-steps/s",
    }))


if __name__ == "__main__":
    main()
