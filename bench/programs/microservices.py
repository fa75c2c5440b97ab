#!/usr/bin/env python3
"""A gateway and three model servers of different sizes, with clients that arrive at random.

microservices.py --rate R --requests N [--partition] [-- PREFIX...]

As in USF (section 5.5), scaled down: each request goes to the gateway, which asks the three servers at
once and answers when all have. Each process starts a thread a request, and each model computes with
the OpenMP and BLAS threads that OMP_NUM_THREADS says. The four processes are started behind PREFIX;
the clients are not. Arrivals are a Poisson process, the same in every run. Prints answers a second and
the latency's mean and 99th percentile as one JSON line.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# Width and layers: about 8, 3 and 1 parts of work.
MODELS = {"large": (512, 4), "medium": (384, 3), "small": (256, 2)}
WARM_UP_REQUESTS = 2
START_SECONDS = 60
END_SECONDS = 10
END = b"\n"


def main():
    words, prefix = sys.argv[1:], []
    if "--" in words:
        at = words.index("--")
        words, prefix = words[:at], words[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=5, help="requests a second (default 5)")
    parser.add_argument("--requests", type=int, default=40, help="requests in all (default 40)")
    parser.add_argument("--partition", action="store_true",
                        help="the cores are divided among the model servers")
    parser.add_argument("--role", choices=("gateway", *MODELS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.role == "gateway":
        serve(options.folder / "gateway", Gateway(options.folder).answer)
    elif options.role:
        serve(options.folder / options.role, Model(options.role).answer)
    else:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(drive(options, prefix, Path(folder))))


# The processes.

class Model:
    def __init__(self, size):
        try:
            import torch
        except ImportError:
            sys.exit("microservices.py: PyTorch is missing: install python3-torch")
        width, layers = MODELS[size]
        torch.manual_seed(1)
        self._torch = torch
        layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
        self._model = torch.nn.TransformerEncoder(layer, layers).eval()
        self._batch = torch.randn(8, 64, width)

    def answer(self, _):
        with self._torch.inference_mode():
            return f"{float(self._model(self._batch).abs().sum()):.4g}"


class Gateway:
    def __init__(self, folder):
        self._folder = folder

    def answer(self, request):
        sum(i * i for i in range(10_000))  # some planning
        connections = [connect(self._folder / size) for size in MODELS]
        for connection in connections:
            connection.sendall(request.encode() + END)
        answers = [receive(connection) for connection in connections]
        for connection in connections:
            connection.close()
        return " ".join(answers)


def serve(path, answer):
    """A thread a request, until SIGTERM."""
    def handle(connection):
        with connection:
            connection.sendall(answer(receive(connection)).encode() + END)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1024)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=handle, args=(connection,), daemon=True).start()


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return connection


def receive(connection):
    data = b""
    while not data.endswith(END):
        more = connection.recv(4096)
        if not more:
            raise ConnectionError("the connection ended within a message")
        data += more
    return data[:-1].decode()


# The clients.

def drive(options, prefix, folder):
    cores = sorted(os.sched_getaffinity(0))
    processes = []
    try:
        for number, role in enumerate((*MODELS, "gateway")):
            place = []
            if options.partition and role != "gateway":
                # As equal as it can be: the first server has the first part to itself.
                place = ["taskset", "-c", ",".join(map(str, part_of(cores, number)))]
            processes.append(subprocess.Popen(
                [*place, *prefix, sys.executable, __file__, "--role", role, "--folder", folder],
                stdin=subprocess.DEVNULL))
        await_sockets(folder, processes)
        for _ in range(WARM_UP_REQUESTS):
            expected = ask(folder)
        return measure(options, folder, expected)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def part_of(cores, number):
    parts = len(MODELS)
    if len(cores) < parts:
        return [cores[min(number, len(cores) - 1)]]
    return cores[number * len(cores) // parts:(number + 1) * len(cores) // parts]


def await_sockets(folder, processes):
    give_up = time.monotonic() + START_SECONDS
    while not all((folder / name).is_socket() for name in (*MODELS, "gateway")):
        if time.monotonic() > give_up or any(p.poll() is not None for p in processes):
            sys.exit("microservices.py: a server did not start")
        time.sleep(0.05)


def ask(folder):
    while True:
        try:
            connection = connect(folder / "gateway")
            break
        except ConnectionRefusedError:  # bound, and about to listen
            time.sleep(0.01)
    with connection:
        connection.sendall(b"question" + END)
        return receive(connection)


def measure(options, folder, expected):
    arrivals, latencies, wrong = random.Random(1), [], []
    begin = time.monotonic()

    def client(due):
        answer = ask(folder)
        now = time.monotonic()
        latencies.append(now - due)
        if answer != expected:
            wrong.append(answer)

    due, clients = begin, []
    for _ in range(options.requests):
        due += arrivals.expovariate(options.rate)
        time.sleep(max(0.0, due - time.monotonic()))
        clients.append(threading.Thread(target=client, args=(due,)))
        clients[-1].start()
    for thread in clients:
        thread.join()
    seconds = time.monotonic() - begin
    if wrong or len(latencies) != options.requests:
        sys.exit(f"microservices.py: wrong answers: {wrong[:3]}, expected {expected}; "
                 f"{len(latencies)} of {options.requests} answered")
    latencies.sort()
    rank = -(-len(latencies) * 99 // 100)
    return {
        "program": "microservices", "rate": options.rate, "requests": options.requests,
        "value": round(options.requests / seconds, 3), "unit": "requests/s",
        "mean_ms": round(1000 * sum(latencies) / len(latencies), 2),
        "p99_ms": round(1000 * latencies[rank - 1], 2),
    }


if __name__ == "__main__":
    main()
