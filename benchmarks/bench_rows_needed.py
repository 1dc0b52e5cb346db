"""How many rows G, F and L need for a direction error of 0.1, against the number of inputs d = k.

Run with `python benchmarks/bench_rows_needed.py [--losses G F L] [--sizes 2 4 8] [--seeds 5] [--most 262144]`, in
parts if need be. For every loss, treatment of y and d the number of rows is doubled until the median over teachers of
the worst row's error is at most 0.1: the distance of unit rows of the minimum next to the teacher, up to sign. So the
sampling error alone is measured, not what descent from a random start adds to it. The last column is the slope of log
rows against log d; Theorem 2.7 of Ge et al. (2017) says that rows polynomial in d suffice, and names no exponent.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from planted import Network, datasets
from planted.inputs import Logistic
from planted.methods import Problem
from planted.methods.regression.landscape import control_variate
from planted.objectives import AssumptionError, FullRankLandscape, Landscape, Objective, ScoreLandscape, read_off
from planted.solvers import lbfgs

ERROR = 0.1
FIRST_SEED = 4000
LEAST = 256


def _orthonormal(n: int, d: int, seed: int, inputs: Any = "gaussian") -> Any:
    return datasets.make_planted(n, d, d, inputs=inputs, random_state=seed)


def _correlated(n: int, d: int, seed: int) -> Any:
    return datasets.make_planted(n, d, d, weights="correlated", output="positive", random_state=seed)


def _g(reduction: bool) -> Callable[..., tuple[Objective, Network]]:
    def make(n: int, d: int, seed: int) -> tuple[Objective, Network]:
        data = _orthonormal(n, d, seed)
        return Landscape(data.X, data.y, variance_reduction=reduction), data.teacher

    return make


def _f(reduction: bool, baseline: bool = False) -> Callable[..., tuple[Objective, Network]]:
    def make(n: int, d: int, seed: int) -> tuple[Objective, Network]:
        data, guess, cut = _correlated(n, d, seed), None, 0
        if baseline:
            # A third of the rows for the control variate, the others for F.
            cut = n // 3
            problem = Problem.of(data.X[:cut], data.y[:cut], d)
            guess = control_variate(problem, problem.sample, 2 * d, np.array([0, seed]))[0]
        X, y = data.X[cut:], data.y[cut:]
        return FullRankLandscape(X, y, variance_reduction=reduction, baseline=guess), data.teacher

    return make


def _l(degree: int) -> Callable[..., tuple[Objective, Network]]:
    def make(n: int, d: int, seed: int) -> tuple[Objective, Network]:
        data = _orthonormal(n, d, seed, Logistic(d))
        return ScoreLandscape(data.X, data.y, Logistic(d), variance_reduction=degree, form="orthogonal"), data.teacher

    return make


ARMS: dict[str, dict[str, Callable[..., tuple[Objective, Network]]]] = {
    "G": {"y as it is": _g(False), "variance reduction": _g(True)},
    "F": {"y as it is": _f(False), "variance reduction": _f(True), "and control variate": _f(True, True)},
    "L": {"y as it is": _l(0), "quadratic taken out": _l(2), "quartic taken out": _l(4)},
}


def row_error(loss: str, objective: Objective, teacher: Network) -> float:
    """Largest distance of a unit row of the minimum next to the teacher from the teacher's, up to sign."""
    rows = teacher.weights / np.linalg.norm(teacher.weights, axis=1, keepdims=True)
    begin = np.linalg.inv(np.sqrt(teacher.output)[:, None] * rows).T if loss == "F" else rows
    end = lbfgs(objective, begin, steps=300, tolerance=1e-6, target=-np.inf).params
    if not np.all(np.isfinite(end)):
        return np.inf
    unit = read_off(end)[0] if loss == "F" else end / np.linalg.norm(end, axis=1, keepdims=True)
    cosine = np.abs(np.sum(unit * rows, axis=1))
    return float(np.sqrt(np.maximum(2 - 2 * cosine, 0)).max())


def needed(loss: str, make: Callable[..., Any], d: int, seeds: int, least: int, most: int) -> int | None:
    """The least number of rows, doubled from `least`, with a median error of at most 0.1; None above `most`."""
    n = least
    while n <= most:
        errors = []
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            try:
                errors.append(row_error(loss, *make(n, d, seed)))
            except (AssumptionError, ValueError):
                # So few rows that no constants follow from them.
                errors.append(np.inf)
        if np.median(errors) <= ERROR:
            return n
        n *= 2
    return None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", nargs="+", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--treatments", nargs="+", help="of y, by their names in the table; all if omitted")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 4, 8], help="inputs d; the teacher has d neurons")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=262_144)
    asked = parser.parse_args()
    print(f"{'loss':<5} {'treatment of y':<22} " + " ".join(f"{f'd = {d}':>10}" for d in asked.sizes) + "   slope")
    for loss in asked.losses:
        for name, make in ARMS[loss].items():
            if asked.treatments and name not in asked.treatments:
                continue
            rows: list[int | None] = []
            for d in asked.sizes:
                # More inputs never need fewer rows: go on from what the last number of inputs needed.
                last = next((n for n in reversed(rows) if n is not None), LEAST)
                rows.append(None if None in rows else needed(loss, make, d, asked.seeds, last, asked.most))
            known = [(d, n) for d, n in zip(asked.sizes, rows, strict=True) if n is not None]
            logs = np.log(np.array(known, float)).T if len(known) > 1 else None
            slope = "" if logs is None else f"{np.polyfit(*logs, 1)[0]:.1f}"
            shown = " ".join(f"{f'> {asked.most:,}' if n is None else f'{n:,}':>10}" for n in rows)
            print(f"{loss:<5} {name:<22} {shown}   {slope}", flush=True)


if __name__ == "__main__":
    main()
