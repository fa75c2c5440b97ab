#!/usr/bin/env python3
"""What ML and data teams run besides PyTorch, as one of several servers: a small job again and again.

frameworks.py NAME --threads N    N is the width of the framework's own pool of threads

Started by closed_loop.py. A framework that makes its pool when it is loaded is told by environment.
"""

import os
import sys

import numpy as np
from served import parser, serve


def random():
    return np.random.default_rng(1)


def table(rows=20000, columns=20):
    """Numbers, and whether a product in them is large."""
    x = random().random((rows, columns))
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0.8).astype(int)


def onnxruntime(threads):
    """Six dense layers; the threads look for work by spinning before they sleep, as by default."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    width, shape, chance = 512, [64, 512], random()
    nodes, weights, name = [], [], "x"
    for i in range(6):
        weight = 0.05 * chance.standard_normal((width, width))
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"product{i}"]),
                  helper.make_node("Relu", [f"product{i}"], [f"y{i}"])]
        name = f"y{i}"
    graph = helper.make_graph(nodes, "layers",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
                              weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings,
                                           providers=["CPUExecutionProvider"])
    rows = chance.standard_normal(shape).astype(np.float32)
    return lambda: abs(session.run(None, {"x": rows})[0]).sum()


def xgboost(threads):
    """Training of ten trees, by OpenMP."""
    import xgboost
    x, y = table()
    rows = xgboost.DMatrix(x, y)
    asked = {"nthread": threads, "objective": "binary:logistic", "max_depth": 4}
    return lambda: xgboost.train(asked, rows, 10).num_boosted_rounds()


def lightgbm(threads):
    """Training of ten trees, by OpenMP."""
    import lightgbm
    x, y = table()
    asked = {"num_threads": threads, "verbose": -1, "objective": "binary"}
    return lambda: lightgbm.train(asked, lightgbm.Dataset(x, y), 10).num_trees()


def faiss(threads):
    """The ten nearest of 20,000 vectors to each of 200, by OpenMP and OpenBLAS."""
    import faiss
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(64)
    index.add(random().random((20000, 64), dtype=np.float32))
    asked = random().random((200, 64), dtype=np.float32)[::-1].copy()
    return lambda: index.search(asked, 10)[1][:, 0].sum()


def jax(threads):
    """Two dense layers, compiled; XLA's pool."""
    os.environ["NPROC"] = os.environ["PJRT_NPROC"] = str(threads)
    import jax
    chance = random()
    x, first, second = (jax.numpy.asarray(chance.standard_normal(shape), jax.numpy.float32)
                        for shape in ((256, 512), (512, 1024), (1024, 512)))

    @jax.jit
    def layers(x):
        return jax.numpy.tanh(jax.numpy.tanh(x @ first * 0.05) @ second * 0.05)
    return lambda: abs(np.asarray(layers(x))).sum()


def duckdb(threads):
    """An aggregate of two million rows by a thousand groups."""
    import duckdb
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("create table t as select i % 1000 g, i % 77777 x "
                       "from range(2000000) rows(i)")
    query = "select g, sum(x) s, count(*), max(x) from t group by g order by s desc, g limit 5"
    return lambda: connection.execute(query).fetchall()[0][1]


def polars(threads):
    """An aggregate of a million rows by a thousand groups."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars
    chance = random()
    frame = polars.DataFrame({"g": chance.integers(0, 1000, 1000000), "x": chance.random(1000000)})
    x = polars.col("x")
    return lambda: frame.group_by("g").agg(x.sum(), x.max().alias("m")).sort("x")["m"].sum()


def opencv(threads):
    """Blurs, shrinks and recolours an image of 1920 x 1080."""
    import cv2
    cv2.setNumThreads(threads)
    image = random().integers(0, 256, (1080, 1920, 3), np.uint8)

    def request():
        cv2.GaussianBlur(image, (7, 7), 1.5)
        cv2.resize(image, (960, 540))
        return int(cv2.cvtColor(image, cv2.COLOR_BGR2HSV)[::64, ::64].sum())
    return request


def numba(threads):
    """A compiled loop over the rows of a matrix; Numba's pool."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    import numba
    matrix, row = random().random((2000, 500)), random().random(500)

    @numba.njit(parallel=True, fastmath=True)
    def sums(matrix, row):
        result = np.zeros(len(matrix))
        for i in numba.prange(len(matrix)):
            for j in range(len(row)):
                result[i] += np.sqrt(matrix[i, j] * row[j] + 1.0)
        return result
    return lambda: sums(matrix, row).sum()


FRAMEWORKS = (onnxruntime, xgboost, lightgbm, faiss, jax, duckdb, polars, opencv, numba)


def main():
    known = {make.__name__: make for make in FRAMEWORKS}
    options = parser(__doc__)
    options.add_argument("name", choices=known)
    options.add_argument("--threads", type=int, default=1, help="of its pool (default 1)")
    options = options.parse_args()
    try:
        job = known[options.name](options.threads)
    except ImportError as missing:
        sys.exit(f"frameworks.py: {missing.name} is missing: "
                 "name a Python that has it in ROOST_ML_PYTHON")
    serve(options.name, lambda _: job(), options.seconds, warm_up=5, threads=options.threads)


if __name__ == "__main__":
    main()
