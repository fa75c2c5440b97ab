#!/usr/bin/env python3
"""Blocked matrix product or Cholesky factorisation in the threads of a ThreadPoolExecutor, one JSON
line: the tasks of matmul.cc (NumPy's product) and cholesky.cc (the BLAS that NumPy has loaded, by
ctypes, as NumPy has no triangular solve). The width of each call is what the BLAS's variables say."""

import argparse
import ctypes
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

try:
    import numpy as np
except ImportError:
    sys.exit("nested_python.py: NumPy is missing: install python3-numpy")


class Matmul:
    """C = A B, a task for each tile of C."""
    size = 2048
    work = 2.0  # floating-point operations, of the cube of the size

    def __init__(self, blocks: int, tile: int):
        random = np.random.default_rng(1)
        self.a, self.b = (random.standard_normal((blocks, blocks, tile, tile)) for _ in range(2))
        self.result = np.empty_like(self.a)

    def run(self, executor: ThreadPoolExecutor) -> None:
        blocks = len(self.a)
        list(executor.map(self._one_tile, *zip(*np.ndindex(blocks, blocks))))

    def _one_tile(self, i: int, j: int) -> None:
        a, b, c = self.a, self.b, self.result
        c[i, j] = a[i, 0] @ b[0, j]
        for k in range(1, len(a)):
            c[i, j] += a[i, k] @ b[k, j]


class Cholesky:
    """A = L L^T, right-looking, a task for each tile operation, begun when those it needs have ended."""
    size = 3072
    work = 1 / 3

    ROW_MAJOR, RIGHT, LOWER, NO_TRANS, TRANS, NON_UNIT = 101, 142, 122, 111, 112, 131  # cblas.h's

    def __init__(self, blocks: int, tile: int):
        random = np.random.default_rng(1)
        self.blocks, self.tile = blocks, tile
        self.a = random.standard_normal((blocks, blocks, tile, tile))
        for k in range(blocks):
            # Strong diagonal: positive definite, and small rounding errors stay small.
            self.a[k, k][np.diag_indices(tile)] = blocks * tile
        self.result = np.empty_like(self.a)
        self.blas = ctypes.CDLL("libblas.so.3")
        self.lapack = ctypes.CDLL("liblapack.so.3")
        # The tasks as (i, j, k): tile (i, j) by column k. What each needs is what it reads and writes.
        self.needs, self.next = {}, {}
        for k in range(blocks):
            for j in range(k, blocks):
                for i in range(j, blocks):
                    needed = {(i, j, k - 1)} if k > 0 else set()
                    if j > k:
                        needed |= {(i, k, k), (j, k, k)}
                    elif i > k:
                        needed.add((k, k, k))
                    self.needs[i, j, k] = len(needed)
                    for task in needed:
                        self.next.setdefault(task, []).append((i, j, k))

    def run(self, executor: ThreadPoolExecutor) -> None:
        self.result[:] = self.a
        needs, lock, ended = dict(self.needs), threading.Lock(), threading.Event()
        left = len(needs)
        failures = []

        def begin(task: tuple[int, int, int]) -> None:
            nonlocal left
            try:
                self._operate(*task)
            except Exception as failure:  # would otherwise be kept in a future that nobody asks
                failures.append(failure)
                ended.set()
                return
            ready = []
            with lock:
                left -= 1
                for after in self.next.get(task, ()):
                    needs[after] -= 1
                    if needs[after] == 0:
                        ready.append(after)
            for after in ready:
                executor.submit(begin, after)
            if left == 0:
                ended.set()

        executor.submit(begin, (0, 0, 0))
        ended.wait()
        if failures:
            raise failures[0]

    def _operate(self, i: int, j: int, k: int) -> None:
        def at(row: int, column: int) -> ctypes.c_void_p:
            return ctypes.c_void_p(self.result[row, column].ctypes.data)

        t, one, minus_one = self.tile, ctypes.c_double(1), ctypes.c_double(-1)
        if i == j == k:
            size, info = ctypes.c_int(t), ctypes.c_int()
            # LAPACK counts by columns, where a lower triangle by rows is an upper one.
            self.lapack.dpotrf_(b"U", ctypes.byref(size), at(k, k), ctypes.byref(size),
                                ctypes.byref(info), ctypes.c_size_t(1))
            if info.value:
                raise ValueError(f"dpotrf: {info.value}")
        elif j == k:
            self.blas.cblas_dtrsm(self.ROW_MAJOR, self.RIGHT, self.LOWER, self.TRANS, self.NON_UNIT,
                                  t, t, one, at(k, k), t, at(i, k), t)
        elif i == j:
            self.blas.cblas_dsyrk(self.ROW_MAJOR, self.LOWER, self.NO_TRANS, t, t, minus_one,
                                  at(i, k), t, one, at(i, i), t)
        else:
            self.blas.cblas_dgemm(self.ROW_MAJOR, self.NO_TRANS, self.TRANS, t, t, t, minus_one,
                                  at(i, k), t, at(j, k), t, one, at(i, j), t)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", choices=("matmul", "cholesky"))
    parser.add_argument("--outer", type=int, default=2, help="threads of the executor (default 2)")
    parser.add_argument("--size", type=int, help="rows of the matrices (default 2048 and 3072)")
    parser.add_argument("--tile", type=int, default=256, help="rows of a tile (default 256)")
    parser.add_argument("--seconds", type=float, default=1, help="measure for at least so long")
    options = parser.parse_args()
    kind = Matmul if options.problem == "matmul" else Cholesky
    size, tile = options.size or kind.size, options.tile
    if size % tile:
        parser.error("--size must be a multiple of --tile")

    problem = kind(size // tile, tile)
    with ThreadPoolExecutor(options.outer) as executor:
        runs, start = 0, time.monotonic()
        while runs == 0 or time.monotonic() - start < options.seconds:
            problem.run(executor)
            runs += 1
        seconds = time.monotonic() - start
    print(json.dumps({
        "program": options.problem + "_python", "outer": options.outer, "size": size, "tile": tile,
        "runs": runs, "seconds": round(seconds, 4), "unit": "GFLOP/s",
        "checksum": float(problem.result.sum()),
        "value": round(1e-9 * kind.work * size ** 3 * runs / seconds, 3),
    }))


if __name__ == "__main__":
    main()
