"""Networks behind labels, as people train them: log-odds of two classes, softmax of more.

For m classes: right basin (a descent from the teacher ends at the same likelihood), weight error over the Cramér–Rao
bound, coverage of 95 % intervals. Teachers have k tanh neurons with biases and intercepts on d Gaussian inputs.

Run as `python benchmarks/bench_log_odds.py [--runs 20] [--classes 2,3,5,10] [--seed 100]`, or with pytest-benchmark.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from planted import Network, PlantedClassifier, match, objectives
from planted.certificates import uncertainty
from planted.solvers import lbfgs

D, K = 5, 3
ROWS = {2: 60_000, 3: 40_000, 5: 30_000, 10: 30_000}


def drawn_teacher(classes, rng):
    """Orthogonal rows of length 2, biases, outputs of length 3 a neuron that sum to zero over the classes."""
    weights = 2 * np.linalg.qr(rng.standard_normal((D, K)))[0].T
    bias = 0.5 * rng.standard_normal(K)
    if classes == 2:
        return Network(weights, 3 * rng.choice([-1.0, 1.0], K), "tanh", bias=bias, intercept=0.3)
    output = rng.standard_normal((classes, K))
    output -= output.mean(axis=0)
    output *= 3 / np.linalg.norm(output, axis=0)
    intercept = 0.3 * rng.standard_normal(classes)
    return Network(weights, output, "tanh", bias=bias, intercept=intercept - intercept.mean())


def drawn_labels(teacher, n, rng):
    X = rng.standard_normal((n, D))
    scores = teacher.predict(X)
    if scores.ndim == 1:
        return X, (rng.random(n) < expit(scores)).astype(float)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(float)


class Fit(NamedTuple):
    """One fit beside the descent that begins at the teacher."""

    same: bool
    error: float
    bound: float
    covered: float
    seconds: float


def covered_share(errors, teacher):
    """Share of the teacher's weights inside their 95 % intervals, neurons matched up to order and sign."""
    rows, spread = errors.estimate["weights"], errors.weights
    inside = []
    for row in teacher.weights:
        gaps = [(np.linalg.norm(row - s * other), s, j) for j, other in enumerate(rows) for s in (1.0, -1.0)]
        _, sign, j = min(gaps)
        inside.append(np.abs(row - sign * rows[j]) <= 1.959964 * spread[j])
    return float(np.mean(inside))


def fit(classes, seed):
    rng = np.random.default_rng([classes, seed])
    teacher = drawn_teacher(classes, rng)
    X, y = drawn_labels(teacher, ROWS[classes], rng)
    began = time.perf_counter()
    est = PlantedClassifier(K, "tanh", True, link="logit", random_state=seed).fit(X, y)
    seconds = time.perf_counter() - began
    loss = (objectives.LogisticLikelihood if classes == 2 else objectives.SoftmaxLikelihood)(
        X, y if classes == 2 else np.eye(classes)[y.astype(int)], "tanh", bias=True, intercept=True
    )
    at_teacher = loss.model.params(teacher)
    best = lbfgs(loss, at_teacher, steps=500, tolerance=1e-9)
    mine = float(loss.value(loss.model.params(est.network_)))
    return Fit(
        bool(mine <= best.value + 1e-7),
        match(est.network_, teacher).weight_error,
        uncertainty(loss, at_teacher).expected_error,
        covered_share(est.standard_errors_, teacher),
        seconds,
    )


def report(classes, runs, seed):
    fits = [fit(classes, seed + run) for run in range(runs)]
    right = [one for one in fits if one.same]
    error, bound = (np.sqrt(np.mean([getattr(one, name) ** 2 for one in right or fits])) for name in ("error", "bound"))
    print(
        f"{classes} classes, {ROWS[classes]:,} rows, d = {D}, k = {K}: right basin in {len(right)} of {runs}; rms "
        f"weight error {error:.4f}, Cramér–Rao {bound:.4f}, ratio {error / bound:.3f}; 95 % intervals cover "
        f"{100 * np.mean([one.covered for one in right or fits]):.1f} %; "
        f"{np.median([one.seconds for one in fits]):.1f} s a fit",
        flush=True,
    )


def test_log_odds(benchmark):
    benchmark.pedantic(fit, args=(3, 0), rounds=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--classes", default="2,3,5,10")
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    for classes in map(int, options.classes.split(",")):
        report(classes, options.runs, options.seed)


if __name__ == "__main__":
    main()
