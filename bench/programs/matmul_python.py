#!/usr/bin/env python3
"""Blocked matrix product with NumPy in the threads of a ThreadPoolExecutor, one JSON line: the tasks
of matmul.cc, one for each tile of C. The width of each call is what the BLAS's variables say."""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outer", type=int, default=2, help="threads of the executor (default 2)")
    parser.add_argument("--size", type=int, default=2048, help="rows of the matrices (default 2048)")
    parser.add_argument("--tile", type=int, default=256, help="rows of a tile (default 256)")
    parser.add_argument("--seconds", type=float, default=1, help="measure for at least so long")
    options = parser.parse_args()
    try:
        import numpy as np
    except ImportError:
        sys.exit("matmul_python.py: NumPy is missing: install python3-numpy")
    if options.size % options.tile:
        parser.error("--size must be a multiple of --tile")

    n, tile = options.size // options.tile, options.tile
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((n, n, tile, tile)) for _ in range(2))
    c = np.empty_like(a)

    def one_tile(i: int, j: int) -> None:
        c[i, j] = a[i, 0] @ b[0, j]
        for k in range(1, n):
            c[i, j] += a[i, k] @ b[k, j]

    with ThreadPoolExecutor(options.outer) as executor:
        runs, start = 0, time.monotonic()
        while runs == 0 or time.monotonic() - start < options.seconds:
            list(executor.map(one_tile, *zip(*np.ndindex(n, n))))
            runs += 1
        seconds = time.monotonic() - start
    print(json.dumps({
        "program": "matmul_python", "outer": options.outer, "size": options.size, "tile": tile,
        "runs": runs, "seconds": round(seconds, 4), "unit": "GFLOP/s", "checksum": float(c.sum()),
        "value": round(2e-9 * options.size ** 3 * runs / seconds, 3),
    }))


if __name__ == "__main__":
    main()
