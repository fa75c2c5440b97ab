"""Calls of OpenBLAS by several threads each, beside what NumPy's own loops compute: with other numbers of
pieces last bits may differ, and nothing else.

blas_right.py LIBRARY: prints how many results of each routine were right."""

import ctypes
import sys

import numpy

COLUMN, PLAIN, UPPER, LOWER, LEFT, RIGHT, NON_UNIT = 102, 111, 121, 122, 141, 142, 131
SHAPES = ((300, 257, 123), (513, 400, 64), (256, 256, 256), (777, 111, 500), (64, 900, 300))
WIDTHS = (3, 5, 8, 16)
TOLERANCE = 1e-10  # of numbers of the size of 1 in sums of 1000
ALPHA, BETA = 0.7, 0.3

blas = ctypes.CDLL(sys.argv[1])
random = numpy.random.RandomState(1)


def matrix(rows: int, columns: int):
    return numpy.asfortranarray(random.standard_normal((rows, columns)))


def triangle(n: int, of):
    """Well conditioned."""
    return numpy.asfortranarray(of(matrix(n, n)) / n + numpy.eye(n))


def at(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def product(left, right):
    return numpy.einsum("ik,kj->ij", left, right)


def results(m: int, n: int, k: int):
    """Name, result and what it should be, of each call."""
    alpha, beta, one = ctypes.c_double(ALPHA), ctypes.c_double(BETA), ctypes.c_double(1)
    a, b, c = matrix(m, k), matrix(k, n), matrix(m, n)
    out = c.copy(order="F")
    blas.cblas_dgemm(COLUMN, PLAIN, PLAIN, m, n, k, alpha, at(a), m, at(b), k, beta, at(out), m)
    yield "gemm", out, ALPHA * product(a, b) + BETA * c
    for side, order, half in ((LEFT, m, UPPER), (RIGHT, n, LOWER)):
        part = numpy.triu if half == UPPER else numpy.tril
        on_side = lambda x, y: product(x, y) if side == LEFT else product(y, x)
        s, other = matrix(order, order), matrix(m, n)
        whole = part(s) + part(s).T - numpy.diag(numpy.diag(s))
        out = c.copy(order="F")
        blas.cblas_dsymm(COLUMN, side, half, m, n, alpha, at(s), order, at(other), m, beta, at(out), m)
        yield "symm", out, ALPHA * on_side(whole, other) + BETA * c
        t = triangle(order, part)
        out = c.copy(order="F")
        blas.cblas_dtrsm(COLUMN, side, half, PLAIN, NON_UNIT, m, n, one, at(t), order, at(out), m)
        yield "trsm", on_side(t, out), c
        out = c.copy(order="F")
        blas.cblas_dtrmm(COLUMN, side, half, PLAIN, NON_UNIT, m, n, one, at(t), order, at(out), m)
        yield "trmm", out, on_side(t, c)
    s, out = matrix(m, m), matrix(m, m)
    before = out.copy(order="F")
    blas.cblas_dsyrk(COLUMN, UPPER, PLAIN, m, k, alpha, at(a), m, beta, at(out), m)
    yield "syrk", numpy.triu(out), numpy.triu(ALPHA * product(a, a.T) + BETA * before)


right = {}
for width in WIDTHS:
    blas.openblas_set_num_threads(width)
    for shape in SHAPES:
        for name, found, wanted in results(*shape):
            right[name] = right.get(name, 0) + bool(abs(found - wanted).max() < TOLERANCE)
for name, count in right.items():
    print(name, count)
