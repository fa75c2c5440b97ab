#!/usr/bin/env python3
"""Runs N copies of a server that is its own load, all from the same moment on, and sums them up.

closed_loop.py N SECONDS [--turns MS] -- CMD...   prints requests a second and latencies as one
JSON line. With turns each copy keeps to one core, and has it for so long at a time while the others
of that core are stopped: what taking turns costs, whoever schedules.

A copy prints `ready`, reads the time to begin (time.monotonic, in s), serves for SECONDS, and prints
JSON with the `latencies` of all requests that ended in time, in s, and a `checksum`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

HEAD_START = 0.2  # seconds from the last `ready` to the common begin


def main():
    parser = argparse.ArgumentParser(prog="closed_loop.py", description=__doc__.splitlines()[0],
                                     usage="closed_loop.py N SECONDS [--turns MS] -- CMD...")
    parser.add_argument("copies", type=int, metavar="N")
    parser.add_argument("seconds", type=float, metavar="SECONDS")
    parser.add_argument("--turns", type=float, metavar="MS",
                        help="how long a copy has its core while the others there are stopped")
    own, command = split_at_dashes(sys.argv[1:])
    options = parser.parse_args(own)
    if not command:
        parser.error("no server is named")
    given = [options.copies, options.seconds, 1 if options.turns is None else options.turns]
    if min(given) <= 0:
        parser.error("N, SECONDS and MS are more than 0")
    copies, seconds = options.copies, options.seconds
    command = [*command, "--seconds", str(seconds)]
    servers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(copies)]
    for server in servers:
        if server.stdout.readline().strip() != "ready":
            sys.exit("closed_loop.py: a copy did not get ready")
    begin = time.monotonic() + HEAD_START
    for server in servers:
        server.stdin.write(f"{begin}\n")
        server.stdin.flush()
    if options.turns:
        take_turns(servers, options.turns / 1000, begin, begin + seconds)
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


def split_at_dashes(words):
    """Those before the first `--`, and those after it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def take_turns(servers, turn, begin, end):
    """Of `turn` s each, from `begin` to `end`; all may run then."""
    cores = sorted(os.sched_getaffinity(0))
    for number, server in enumerate(servers):
        for thread in os.listdir(f"/proc/{server.pid}/task"):
            os.sched_setaffinity(int(thread), {cores[number % len(cores)]})
    time.sleep(max(0.0, begin - time.monotonic()))
    groups = [servers[first:first + len(cores)] for first in range(0, len(servers), len(cores))]
    send(signal.SIGSTOP, servers)
    number = 0
    while time.monotonic() < end:
        group = groups[number % len(groups)]
        send(signal.SIGCONT, group)
        time.sleep(turn)
        send(signal.SIGSTOP, group)
        number += 1
    send(signal.SIGCONT, servers)


def send(number, servers):
    for server in servers:
        server.send_signal(number)


def percentile(ordered, percent):
    """The smallest value that at least `percent` of them do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, rank - 1)]


if __name__ == "__main__":
    main()
