#!/usr/bin/env python3
"""NumPy linear algebra as one of several processes: a fixed number of work units, one JSON line.

A unit is a matrix product, a linear solve and a small symmetric eigenproblem. The pool is what
the BLAS library makes by default, or what its environment variables say.
"""

import argparse
import json
import os
import sys
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10, help="units of work (default 10)")
    parser.add_argument("--size", type=int, default=512, help="rows of the matrices (default 512)")
    parser.add_argument("--one-core", action="store_true",
                        help="stay on one core, with as many threads as there are cores")
    options = parser.parse_args()
    try:
        import numpy as np
    except ImportError:
        sys.exit("numpy_work.py: NumPy is missing: install python3-numpy")

    if options.one_core:  # the pool has started, and has its width
        core = min(os.sched_getaffinity(0))
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), {core})

    random = np.random.default_rng(1)
    a = random.standard_normal((options.size, options.size))
    b = random.standard_normal((options.size, options.size))
    small = a[: options.size // 4, : options.size // 4]
    small = small + small.T
    shifted = a + options.size * np.eye(options.size)

    start = time.monotonic()
    checksum = 0.0
    for _ in range(options.units):
        checksum += float((a @ b).sum())
        checksum += float(np.linalg.solve(shifted, b).sum())
        checksum += float(np.linalg.eigvalsh(small).max())
    seconds = time.monotonic() - start
    print(json.dumps({
        "program": "numpy_work", "units": options.units, "seconds": round(seconds, 4),
        "value": round(options.units / seconds, 3), "unit": "work/s", "checksum": checksum,
    }))


if __name__ == "__main__":
    main()
