#!/usr/bin/env python3
"""Runs N copies of a server that is its own load, all from the same moment on, and sums them up.

closed_loop.py N SECONDS -- CMD...   prints requests a second and latencies as one JSON line.

A copy prints `ready`, reads the time to begin (time.monotonic, in s), serves for SECONDS, and prints
JSON with the `latencies` of all requests that ended in time, in s, and a `checksum`.
"""

import json
import subprocess
import sys
import time

HEAD_START = 0.2  # seconds from the last `ready` to the common begin


def main():
    if len(sys.argv) < 5 or sys.argv[3] != "--":
        sys.exit("closed_loop.py: usage: closed_loop.py N SECONDS -- CMD...")
    copies, seconds = int(sys.argv[1]), float(sys.argv[2])
    command = [*sys.argv[4:], "--seconds", str(seconds)]
    servers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(copies)]
    for server in servers:
        if server.stdout.readline().strip() != "ready":
            sys.exit("closed_loop.py: a copy did not get ready")
    begin = time.monotonic() + HEAD_START
    for server in servers:
        server.stdin.write(f"{begin}\n")
        server.stdin.flush()
    reports = []
    for server in servers:
        output = server.communicate()[0]
        if server.returncode != 0:
            sys.exit(f"closed_loop.py: a copy ended with exit code {server.returncode}")
        reports.append(json.loads(output))
    checksums = sorted({report["checksum"] for report in reports})
    if len(checksums) != 1:
        sys.exit(f"closed_loop.py: the copies computed different results: {checksums}")

    latencies = sorted(1000 * latency for report in reports for latency in report["latencies"])
    served = [len(report["latencies"]) for report in reports]
    if not latencies:
        sys.exit("closed_loop.py: no request ended in time")
    print(json.dumps({
        "program": "closed_loop", "copies": copies, "checksum": checksums[0],
        "value": round(len(latencies) / seconds, 3), "unit": "requests/s",
        "mean_ms": round(sum(latencies) / len(latencies), 3),
        "p50_ms": round(percentile(latencies, 50), 3),
        "p99_ms": round(percentile(latencies, 99), 3),
        # Requests of the copy served least, of those of the copy served most.
        "least_of_most": round(min(served) / max(served), 3),
    }))


def percentile(ordered, percent):
    """The smallest value that at least `percent` of them do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, rank - 1)]


if __name__ == "__main__":
    main()
