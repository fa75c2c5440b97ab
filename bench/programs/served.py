"""The loop of a server that is its own load: what closed_loop.py asks of the copies it starts."""

import argparse
import json
import sys
import time


def parser(description):
    of_server = argparse.ArgumentParser(description=description.splitlines()[0])
    of_server.add_argument("--seconds", type=float, default=1, help="serve for so long (default 1)")
    return of_server


def serve(name, request, seconds, *, warm_up, clients=1, checksum=float, **more):
    """Calls request(n) for so many n, says `ready`, reads the time to begin (time.monotonic, in s), and
    calls request(n) for n = 0, 1, ... for so many seconds. Clients have a request under way each: one
    that is answered asks again, and waits for those of the others. Prints one JSON line with `more`,
    the checksum of the answer to request(0), and the latencies in s."""
    for number in range(warm_up):
        request(number)
    print("ready", flush=True)
    begin = float(sys.stdin.readline())
    time.sleep(max(0.0, begin - time.monotonic()))
    issued = [begin] * clients
    latencies = []
    while True:
        request(len(latencies))
        now = time.monotonic()
        if now - begin > seconds:
            break
        latencies.append(now - issued[len(latencies) % clients])
        issued[(len(latencies) - 1) % clients] = now
    print(json.dumps({"program": name, **more, "checksum": f"{float(checksum(request(0))):.4g}",
                      "latencies": latencies}))
