"""Linear algebra on four OpenBLAS threads, checked by its own identities. Prints what held."""

import numpy as np

random = np.random.default_rng(1)
matrix = random.standard_normal((400, 400))


def check(name, left, right):
    error = np.abs(left - right).max() / np.abs(right).max()
    print(name, "ok" if error < 1e-9 else f"wrong by {error:.3g}")


expected = np.zeros((400, 40))
for row in range(400):  # a product without BLAS
    expected[row] = (matrix[row][:, None] * matrix[:, :40]).sum(axis=0)
check("product", matrix @ matrix[:, :40], expected)
check("solve", matrix @ np.linalg.solve(matrix, matrix[0]), matrix[0])
symmetric = matrix @ matrix.T + np.eye(400)
factor = np.linalg.cholesky(symmetric)
check("cholesky", factor @ factor.T, symmetric)
left, values, right = np.linalg.svd(matrix)
check("svd", (left * values) @ right, matrix)
values, vectors = np.linalg.eigh(symmetric)
check("eigh", symmetric @ vectors, vectors * values)
