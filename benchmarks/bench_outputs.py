"""Teachers with several outputs, biases and intercepts: how many are recovered from ten rows a weight.

python benchmarks/bench_outputs.py [teachers] [activation …]
"""

import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from planted import Network, PlantedRegressor, match

D, K, M = 20, 10, 3


def teacher(activation, seed):
    """Unit rows, outputs of both signs between 1 and 2, biases of spread 1/2, intercepts of spread 1."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((K, D))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    output = rng.uniform(1, 2, (M, K)) * rng.choice([-1, 1], (M, K))
    return Network(weights, output, activation, rng.normal(0, 0.5, K), rng.standard_normal(M))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for activation in sys.argv[2:] or ("relu", "tanh", "sigmoid"):
        errors, seconds, statuses = [], [], []
        for seed in range(count):
            made = teacher(activation, seed)
            X = np.random.default_rng(1000 + seed).standard_normal((10 * K * D, D))
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                est = PlantedRegressor(K, activation, fit_bias=True, fit_intercept=True, random_state=seed)
                est.fit(X, made.predict(X))
            seconds.append(time.perf_counter() - began)
            errors.append(match(est.network_, made).weight_error)
            statuses.append(est.result_.status)
        hits = sum(error < 1e-6 for error in errors)
        print(
            f"{activation}, d={D} k={K} m={M} n={10 * K * D}: {hits}/{count} to 1e-6, "
            f"{statuses.count('recovered')} called recovered, median {np.median(seconds):.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
