#!/usr/bin/env python3
"""Fits a model of machine learning whose library is threaded by OpenMP: one JSON line.

learning.py histgb|kmeans|xgboost|lightgbm ROWS    on ROWS rows of 20 random columns

`value` is fits a second, after a small one that starts all threads; `checksum` is the mean magnitude
of the predictions, or for k-means the inertia.
"""

import json
import sys
import time

import numpy as np

COLUMNS = 20


def magnitude(predictions):
    return np.abs(predictions).mean(dtype=float)


def histgb(x, y):
    from sklearn.ensemble import HistGradientBoostingRegressor
    model = HistGradientBoostingRegressor(max_iter=30, random_state=1)
    return magnitude(model.fit(x, y).predict(x))


def kmeans(x, _):
    from sklearn.cluster import KMeans
    return KMeans(n_clusters=32, n_init=1, max_iter=30, tol=0, random_state=1).fit(x).inertia_


def xgboost(x, y):
    from xgboost import XGBRegressor
    return magnitude(XGBRegressor(n_estimators=30, tree_method="hist").fit(x, y).predict(x))


def lightgbm(x, y):
    from lightgbm import Dataset, train
    parameters = {"objective": "regression", "verbose": -1, "deterministic": True,
                  "force_row_wise": True}
    return magnitude(train(parameters, Dataset(x, y), num_boost_round=60).predict(x))


def main():
    fits = {fit.__name__: fit for fit in (histgb, kmeans, xgboost, lightgbm)}
    if len(sys.argv) != 3 or sys.argv[1] not in fits:
        sys.exit(f"learning.py: usage: learning.py {'|'.join(fits)} ROWS")
    fit, rows = fits[sys.argv[1]], int(sys.argv[2])
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, COLUMNS))
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + 0.1 * random.standard_normal(rows)
    fit(x[:1000], y[:1000])
    start = time.monotonic()
    checksum = fit(x, y)
    seconds = time.monotonic() - start
    print(json.dumps({"program": "learning", "model": sys.argv[1], "rows": rows,
                      "seconds": round(seconds, 4), "value": 1 / seconds, "unit": "fits/s",
                      "checksum": float(checksum)}))


if __name__ == "__main__":
    main()
