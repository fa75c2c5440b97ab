#!/usr/bin/env python3
"""PyTorch inference of a small transformer with random weights, as one of several servers.

Started by closed_loop.py: says `ready`, begins at the time it is told, serves for some seconds, and
prints one JSON line with the latencies. OMP_NUM_THREADS sets the width of PyTorch's pool, and of BLAS's up to the number of cores.
"""

import argparse
import json
import sys
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1, help="serve for so long (default 1)")
    parser.add_argument("--clients", type=int, default=1, metavar="N",
                        help="clients with a request under way each, first come, first served")
    parser.add_argument("--models", type=int, default=1, metavar="N",
                        help="models with weights of their own, for the clients in turn")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=256, help="of the model (default 256)")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_inference.py: PyTorch is missing: install python3-torch")

    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(options.width, 4, 4 * options.width, batch_first=True)
    models = [torch.nn.TransformerEncoder(layer, options.layers).eval()
              for _ in range(options.models)]
    batches = [torch.randn(8, 64, options.width) for _ in models]
    with torch.inference_mode():
        for _ in range(3):
            for model, batch in zip(models, batches):
                model(batch)
        print("ready", flush=True)
        begin = float(sys.stdin.readline())
        time.sleep(max(0.0, begin - time.monotonic()))

        # A client asks again once it is answered: its request waits for those of the others.
        issued = [begin] * options.clients
        latencies = []
        while True:
            turn = len(latencies) % options.models
            models[turn](batches[turn])
            now = time.monotonic()
            if now - begin > options.seconds:
                break
            latencies.append(now - issued[len(latencies) % options.clients])
            issued[(len(latencies) - 1) % options.clients] = now
        answer = models[0](batches[0])
    print(json.dumps({
        "program": "torch_inference", "threads": torch.get_num_threads(),
        "checksum": f"{float(answer.abs().sum()):.4g}", "latencies": latencies,
    }))


if __name__ == "__main__":
    main()
