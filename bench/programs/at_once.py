#!/usr/bin/env python3
"""Runs N copies of a command, at most K at a time, and prints their common rate as one JSON line.

at_once.py N K UNITS -- CMD...   each copy does UNITS of work; the rate counts them all, from the
start of the first copy to the end of the last.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def main():
    if len(sys.argv) < 6 or sys.argv[4] != "--":
        sys.exit("at_once.py: usage: at_once.py N K UNITS -- CMD...")
    copies, at_once, units = (int(word) for word in sys.argv[1:4])
    command = sys.argv[5:]

    def run(_):
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)

    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        results = list(pool.map(run, range(copies)))
    seconds = time.monotonic() - start

    for result in results:
        if result.returncode != 0:
            sys.exit(f"at_once.py: a copy ended with exit code {result.returncode}")
    checksums = {json.loads(result.stdout)["checksum"] for result in results}
    print(json.dumps({
        "program": "at_once", "copies": copies, "at_once": at_once, "seconds": round(seconds, 4),
        "value": round(copies * units / seconds, 3), "unit": "work/s",
        "checksums": sorted(checksums),
    }))


if __name__ == "__main__":
    main()
