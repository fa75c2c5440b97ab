"""Calls of one of OpenBLAS's builds, by several threads at once and of several threads each: what they
compute, to the last bit, depends on the numbers of threads they ask for alone.

blas_bits.py LIBRARY: prints a digest for each routine, size and width. Under Roost each call is
made so often that it tries whether fewer pieces give the same result, and then makes fewer where they do."""

import ctypes
import hashlib
import os
import sys
import threading

import numpy

ROW, COLUMN, PLAIN, TRANSPOSED, UPPER, LOWER, LEFT, NON_UNIT = 101, 102, 111, 112, 121, 122, 141, 131
SIZES = (65, 260)
WIDTHS = (2, 5)
CALLERS = 2
ROUNDS = 12 if "libroost" in os.environ.get("LD_PRELOAD", "") else 1

blas = ctypes.CDLL(sys.argv[1])
blas.cblas_ddot.restype = ctypes.c_double
blas.cblas_dnrm2.restype = ctypes.c_double
TYPES = {"s": numpy.float32, "d": numpy.float64, "c": numpy.complex64, "z": numpy.complex128}


def scalar(kind: str, value: float):
    """As CBLAS takes it: real ones by value, complex ones by address."""
    if kind == "s":
        return ctypes.c_float(value)
    if kind == "d":
        return ctypes.c_double(value)
    return numpy.array([value], TYPES[kind]).ctypes


def matrix(kind: str, n: int, seed: int):
    random = numpy.random.RandomState(seed)
    values = random.rand(n, n) - 0.5
    if kind in "cz":
        values = values + 1j * (random.rand(n, n) - 0.5)
    return numpy.asfortranarray(values.astype(TYPES[kind]))


def at(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def results(n: int):
    """Name and result of each call."""
    for kind in TYPES:
        a, b, c = (matrix(kind, n, seed) for seed in (1, 2, 3))
        one, half = scalar(kind, 1.0), scalar(kind, 0.5)
        call = lambda name: getattr(blas, f"cblas_{kind}{name}")
        for left in (PLAIN, TRANSPOSED):
            for right in (PLAIN, TRANSPOSED):
                out = c.copy(order="F")
                call("gemm")(COLUMN, left, right, n, n, n, one, at(a), n, at(b), n, half, at(out), n)
                yield f"{kind}gemm-{left}-{right}", out
        for half_of in (UPPER, LOWER):
            out = c.copy(order="F")
            call("syrk")(COLUMN, half_of, PLAIN, n, n, one, at(a), n, half, at(out), n)
            yield f"{kind}syrk-{half_of}", out
            out = c.copy(order="F")
            call("symm")(COLUMN, LEFT, half_of, n, n, one, at(a), n, at(b), n, half, at(out), n)
            yield f"{kind}symm-{half_of}", out
            out = b.copy(order="F")
            dominant = a + n * numpy.eye(n, dtype=a.dtype)
            dominant = numpy.asfortranarray(dominant)
            call("trsm")(COLUMN, LEFT, half_of, PLAIN, NON_UNIT, n, n, one, at(dominant), n, at(out), n)
            yield f"{kind}trsm-{half_of}", out
        out = c[:, 0].copy()
        call("gemv")(COLUMN, PLAIN, n, n, one, at(a), n, at(b), 1, half, at(out), 1)
        yield f"{kind}gemv", out
        out = c.copy(order="F")
        call("ger" if kind in "sd" else "geru")(COLUMN, n, n, one, at(a), 1, at(b), 1, at(out), n)
        yield f"{kind}ger", out
        size = ctypes.c_int(n)
        info = ctypes.c_int(0)
        spd = numpy.asfortranarray(a @ a.conj().T + n * numpy.eye(n, dtype=a.dtype))
        for half_of in (b"U", b"L"):
            out = spd.copy(order="F")
            getattr(blas, f"{kind}potrf_")(half_of, ctypes.byref(size), at(out), ctypes.byref(size),
                                           ctypes.byref(info), 1)
            yield f"{kind}potrf-{half_of.decode()}", out
        out = a.copy(order="F")
        pivots = numpy.zeros(n, numpy.int32)
        getattr(blas, f"{kind}getrf_")(ctypes.byref(size), ctypes.byref(size), at(out),
                                       ctypes.byref(size), at(pivots), ctypes.byref(info))
        yield f"{kind}getrf", numpy.concatenate([out.ravel("F"), pivots.astype(out.dtype)])
    x, y = (numpy.random.RandomState(seed).rand(400 * n) for seed in (4, 5))
    yield "ddot", numpy.array([blas.cblas_ddot(x.size, at(x), 1, at(y), 1)])
    yield "dnrm2", numpy.array([blas.cblas_dnrm2(x.size, at(x), 1)])
    blas.cblas_daxpy(x.size, ctypes.c_double(0.3), at(x), 1, at(y), 1)
    yield "daxpy", y


def digests(width: int, n: int, into: list):
    blas.openblas_set_num_threads(width)
    rounds = [[(name, hashlib.sha256(result.tobytes("A")).hexdigest()[:16])
               for name, result in results(n)] for _ in range(ROUNDS)]
    for later in rounds[1:]:
        assert later == rounds[0], [pair for pair in zip(rounds[0], later) if pair[0] != pair[1]]
    into.extend(rounds[0])


for width in WIDTHS:
    for n in SIZES:
        found = [[] for _ in range(CALLERS)]
        callers = [threading.Thread(target=digests, args=(width, n, into)) for into in found]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert all(other == found[0] for other in found), "callers differ"
        for name, digest in found[0]:
            print(width, n, name, digest)
