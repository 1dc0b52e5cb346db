"""Does `method="landscape"` recover teachers it has never seen?

Twenty random ReLU teachers with d ≤ 20 inputs, orthogonal and correlated (condition number up to 3) rows, as many
neurons as inputs or fewer, outputs uniform on [1, 2], no noise, 200,000 rows. Beside it scikit-learn's MLPRegressor of
the same width. Run as `python benchmarks/bench_teachers.py [teachers] [first seed]`, or with `make bench` for four.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from planted import Network, PlantedRegressor, datasets, match

ROWS = 200_000


def draw(seed: int):
    """A random problem: d, k, kind of weights, condition number, data."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(4, 21))
    k = d if seed % 3 == 0 else int(rng.integers(2, d + 1))
    kind = "orthogonal" if seed % 4 == 3 else "correlated"
    condition = 1.0 if kind == "orthogonal" else float(rng.uniform(1.5, 3.0))
    data = datasets.make_planted(
        ROWS, d, k, weights=kind, output="positive", condition_number=condition, random_state=seed
    )
    return d, k, kind, condition, data


def peer(data, k: int, seed: int) -> float:
    """Weight error of scikit-learn's MLPRegressor (L-BFGS) with the right width, on 20,000 of the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mlp = MLPRegressor(hidden_layer_sizes=(k,), solver="lbfgs", max_iter=300, random_state=seed)
        mlp.fit(data.X[:20_000], data.y[:20_000])
    network = Network(mlp.coefs_[0].T, mlp.coefs_[1][:, 0], "relu", mlp.intercepts_[0])
    return match(network, data.teacher).weight_error


def study(teachers: int, first: int = 0) -> tuple[int, int]:
    """Print a line a teacher; how many were recovered by ours and by the peer (weight error below 1e-3)."""
    ours = theirs = 0
    print(f"{'seed':>4} {'d':>3} {'k':>3} {'weights':>10} {'cond':>5} {'ours':>9} {'seconds':>8} {'MLPRegressor':>13}")
    for seed in range(first, first + teachers):
        d, k, kind, condition, data = draw(seed)
        begin = time.perf_counter()
        est = PlantedRegressor(
            k, method="landscape", activation="relu", fit_bias=False, fit_intercept=False, random_state=seed
        ).fit(data.X, data.y)
        seconds = time.perf_counter() - begin
        error, other = match(est.network_, data.teacher).weight_error, peer(data, k, seed)
        ours, theirs = ours + (error < 1e-3), theirs + (other < 1e-3)
        line = f"{seed:>4} {d:>3} {k:>3} {kind:>10} {condition:>5.2f} {error:>9.1e} {seconds:>8.1f} {other:>13.1e}"
        print(line, flush=True)
    print(f"recovered: landscape {ours} of {teachers}, MLPRegressor {theirs} of {teachers}")
    return ours, theirs


def test_landscape_recovers_unseen_teachers():
    ours, theirs = study(4)
    assert ours == 4 >= theirs


if __name__ == "__main__":
    arguments = [int(value) for value in sys.argv[1:]]
    counts = study(*(arguments or [20]))
    sys.exit(counts[0] < (arguments or [20])[0])
