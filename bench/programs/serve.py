#!/usr/bin/env python3
"""Starts a server, puts a load on it, ends it: prints the load's figures as one JSON line.

serve.py echo SERVER... -- LOAD...       the server prints its port, which the load gets last
serve.py redis TEST SERVER... -- LOAD... both get --port; the load is redis-benchmark, which does TEST
"""

import csv
import json
import socket
import subprocess
import sys
import time

START_SECONDS = 20


def main():
    if len(sys.argv) < 5 or "--" not in sys.argv:
        sys.exit("serve.py: usage: serve.py echo|redis [TEST] SERVER... -- LOAD...")
    # The last one: `roost run` has one of its own.
    split = len(sys.argv) - 1 - sys.argv[::-1].index("--")
    words, load = sys.argv[2:split], sys.argv[split + 1:]
    if sys.argv[1] == "echo":
        print(echo(words, load))
    else:
        print(json.dumps(redis(words[0], words[1:], load)))


def echo(command, load):
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip()
        return subprocess.run([*load, port], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    finally:
        server.stdin.close()
        server.wait()


def redis(test, command, load):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [*command, "--port", str(port), "--save", "", "--appendonly", "no"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        await_port(port)
        output = subprocess.run([*load, "-p", str(port), "-t", test, "--csv"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
    finally:
        server.terminate()
        server.wait()
    (row,) = csv.DictReader(output.splitlines())
    return {"program": "redis", "test": test, "value": float(row["rps"]), "unit": "requests/s",
            "p50_us": 1000 * float(row["p50_latency_ms"]),
            "p99_us": 1000 * float(row["p99_latency_ms"])}


def await_port(port):
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > give_up:
                sys.exit("serve.py: the server did not start")
            time.sleep(0.02)


if __name__ == "__main__":
    main()
