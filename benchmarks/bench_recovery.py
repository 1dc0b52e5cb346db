"""What expand and merge must show: how often random teachers are recovered, how fast, at what cost.

Run as `python benchmarks/bench_recovery.py [seeds] [cell …]`, or with pytest-benchmark.
"""

import sys
import time
from dataclasses import dataclass

import numpy as np

from planted import PlantedRegressor, match
from planted.datasets import make_planted
from planted.methods import METHODS, Free, Problem
from planted.numerics.precision import float64, to_jax
from planted.objectives import Squared, evaluate_with_gradient


@dataclass(frozen=True)
class Cell:
    """One kind of problem: n = ratio·k·d rows, teachers with Gaussian rows and outputs of mixed sign."""

    d: int
    k: int
    ratio: float
    activation: str = "relu"
    bias: bool = False
    noise: float = 0.0

    def problem(self, X, y, seed):
        """What is asked of a method."""
        return Problem.of(X, y, self.k, self.activation, free=Free(self.bias), random_state=seed)

    def data(self, seed):
        """Rows and teacher for a seed."""
        n = int(self.ratio * self.k * self.d)
        return make_planted(
            n,
            self.d,
            self.k,
            activation=self.activation,
            weights="gaussian",
            output="mixed",
            bias=self.bias,
            noise=self.noise,
            random_state=seed,
        )


SMOOTH = ("leaky_relu", "abs", "softplus", "sigmoid", "tanh", "erf", "squared_relu")
CELLS = {
    **{f"relu-{d}-{k}": Cell(d, k, 10) for d, k in ((10, 5), (20, 10), (20, 20), (50, 20), (50, 50), (100, 100))},
    **{f"scarce-{d}-{k}": Cell(d, k, 3) for d, k in ((20, 10), (20, 20))},
    **{name: Cell(20, 10, 20, name) for name in SMOOTH},
    **{f"{name}-bias": Cell(20, 10, 20, name, bias=True) for name in ("relu", "tanh")},
}


@float64
def unit_gradient(data):
    """Seconds of one float64 value-and-gradient of the squared loss at the teacher's width over all rows."""
    net = data.teacher
    loss = Squared(data.X, data.y, net.activation, bias=net.bias is not None)
    params = {"weights": net.weights, "output": net.output} | ({} if net.bias is None else {"bias": net.bias})
    point = to_jax(params)
    seconds = []
    for _ in range(9):
        began = time.perf_counter()
        np.asarray(evaluate_with_gradient(loss, point)[0])
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds[1:]))


def recover(cell, seeds, method="auto"):
    """Weight errors, seconds, ratios to the unit gradient and statuses for these seeds; the first compiles."""
    rows = []
    for seed in seeds:
        data = cell.data(seed)
        began = time.perf_counter()
        found = METHODS[method](cell.problem(data.X, data.y, 1000 + seed))
        seconds = time.perf_counter() - began
        rows.append(
            (match(found.network, data.teacher).weight_error, seconds, seconds / unit_gradient(data), found.status)
        )
    return rows


def table(names, seeds, method="auto"):
    print(f"method {method}, seeds {seeds[0]}–{seeds[-1]}, success: weight error < 1e-6", flush=True)
    print(f"{'cell':>14} {'n':>6} {'success':>8} {'said so':>8} {'median s':>9} {'unit gradients':>15}  failed seeds")
    for name in names:
        cell = CELLS[name]
        errors, seconds, ratios, statuses = zip(*recover(cell, seeds, method), strict=True)
        hit = np.array(errors) < 1e-6
        failed = [seed for seed, good in zip(seeds, hit, strict=True) if not good]
        said = statuses.count("recovered")
        print(
            f"{name:>14} {int(cell.ratio * cell.k * cell.d):>6} {hit.sum():>4}/{len(hit):<3} {said:>4}/{len(hit):<3} "
            f"{np.median(seconds):>9.2f} {np.median(ratios):>15.0f}  {failed}",
            flush=True,
        )


def test_recovery_20_10(benchmark):
    data = CELLS["relu-20-10"].data(0)
    benchmark.pedantic(
        PlantedRegressor(10, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit,
        args=(data.X, data.y),
        rounds=1,
    )


if __name__ == "__main__":
    first, last = (int(end) for end in sys.argv[1].split("-")) if len(sys.argv) > 1 else (100, 119)
    table(sys.argv[2:] or CELLS, range(first, last + 1))
