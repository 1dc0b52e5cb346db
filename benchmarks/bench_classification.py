"""What the recovery of labelled neurons must show: basins and errors from data alone, the regression twin, coverage.

Run as `python benchmarks/bench_classification.py [--full] [--only PART]`, or with pytest-benchmark. The part "tensors"
needs TensorLy (`pip install planted[bench]`).
"""

import argparse
import itertools
import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from planted import Network, activations, datasets, match
from planted.certificates import cramer_rao
from planted.methods import LABELS, METHODS, LabelProblem, Problem
from planted.numerics.precision import float64
from planted.objectives import (
    BernoulliMean,
    Likelihood,
    MeanOfProbabilities,
    Squared,
    curvature_matrix,
    label_loss,
    score_matrix,
)
from planted.rows import ArrayRows
from planted.rows.moments import without_lower_parts
from planted.solvers import lbfgs
from planted.starts import decompose, neuron_moment
from planted.starts._tensor_moments import projected_tensor

SIGMOID = activations.get("sigmoid")


def teacher_rows(k, d, length, seed):
    """Rows of this length with condition number 2."""
    made = datasets.make_planted(1, d, k, weights="correlated", condition_number=2.0, random_state=seed)
    return length * made.teacher.weights


def labels(n, k, d, length, seed):
    weights = teacher_rows(k, d, length, seed)
    return datasets.make_planted(
        n, d, k, activation="sigmoid", weights=weights, task="classification", random_state=seed
    )


class Fit(NamedTuple):
    """One fit from data alone beside the descent that begins at the teacher."""

    quadratic: float
    likelihood: float
    bound: float
    distance: float
    loss_gap: float
    same: bool
    seconds: float


def fit_labels(n, k, d, length, seed):
    """Fit labels from the tensor start alone and compare with the minimiser that the teacher's own basin holds.

    The same basin means: both descents, carried on until no gradient is above 1e-11, have the same likelihood to 1e-9
    and the same weights to 1e-6. `distance` and `loss_gap` are those of the fit as it was handed out.
    """
    data = labels(n, k, d, length, seed)
    began = time.perf_counter()
    found = LABELS["likelihood"](replace(LabelProblem.of(data.X, data.y, k, SIGMOID, random_state=seed), restarts=0))
    seconds = time.perf_counter() - began
    network = lambda weights: Network(weights, np.full(k, 1 / k), "sigmoid")  # noqa: E731
    loss = Likelihood(data.X, data.y)
    best = lbfgs(loss, data.teacher.weights, steps=500, tolerance=1e-11)
    carried = lbfgs(loss, found.network.weights, steps=500, tolerance=1e-11)
    same = match(network(carried.params), network(best.params)).weight_error < 1e-6
    return Fit(
        match(network(found.descents["quadratic"].params["weights"]), data.teacher).weight_error,
        match(found.network, data.teacher).weight_error,
        cramer_rao(data.X, data.teacher.weights).expected_error,
        match(found.network, network(best.params)).weight_error,
        abs(found.details["cross_entropy"] / best.value - 1),
        bool(same and abs(carried.value / best.value - 1) < 1e-9),
        seconds,
    )


def end_to_end(runs, n=200_000, k=3, d=20, length=4.0, seed=100):
    return [fit_labels(n, k, d, length, seed + run) for run in range(runs)]


def report_end_to_end(runs, **sizes):
    fits = end_to_end(runs, **sizes)
    inside = [fit for fit in fits if fit.same]
    rms = lambda name: np.sqrt(np.mean([getattr(fit, name) ** 2 for fit in inside]))  # noqa: E731
    print(f"right basin in {len(inside)} of {runs}; {np.median([fit.seconds for fit in fits]):.1f} s a fit", flush=True)
    if not inside:
        return
    print(
        f"  rms weight error {rms('likelihood'):.5f}, Cramér–Rao {rms('bound'):.5f}, ratio "
        f"{rms('likelihood') / rms('bound'):.3f}; from the basin's minimiser at most "
        f"{max(fit.distance for fit in inside):.1e}, loss to {max(fit.loss_gap for fit in inside):.1e}"
    )
    print(
        f"  quadratic loss: rms weight error {rms('quadratic'):.5f}, variance "
        f"{(rms('quadratic') / rms('likelihood')) ** 2:.2f} times the likelihood's",
        flush=True,
    )


def report_growth(runs, lengths=(4.0, 3.0, 2.0, 1.5, 1.0), sizes=tuple(3125 * 2**i for i in range(9))):
    """Fewest rows at which every run ends in the right basin, by the length of the neurons, beside 1/m₃(length)²."""
    for length in lengths:
        signal = neuron_moment(SIGMOID, 3, length)
        for n in sizes:
            counted = sum(fit.same for fit in end_to_end(runs, n=n, length=length))
            print(f"length {length:g}, m₃ = {signal:.3f}: right basin in {counted} of {runs} at n = {n:,}", flush=True)
            if counted == runs:
                break


@float64
def variance_ratio(length, n=400_000, k=3, d=20):
    """How much larger the quadratic loss's asymptotic variance is: tr H⁻¹SH⁻¹ over tr I⁻¹, at the teacher."""
    data = labels(n, k, d, length, 100)
    weights = data.teacher.weights
    # With the probabilities for targets the Hessian at the teacher is E∇p∇pᵀ, free of the labels' noise.
    bread = np.linalg.inv(label_loss(data.X, data.teacher.predict(data.X), k).hessian(weights))
    middle = np.asarray(score_matrix(label_loss(data.X, data.y, k), jnp.asarray(weights)))
    sandwich = np.trace(bread @ middle @ bread) / n
    return sandwich / np.sum(cramer_rao(data.X, weights).weights ** 2)


def report_efficiency(lengths=(1.5, 2.0, 3.0, 4.0, 6.0)):
    for length in lengths:
        print(f"length {length:g}: quadratic loss has {variance_ratio(length):.2f} times the likelihood's variance")


def decomposition_errors(R3, U, seed):
    """Largest angle (degrees) from the columns of U and seconds of each decomposition of one tensor (k, k, k)."""
    from tensorly.decomposition import parafac, symmetric_parafac_power_iteration

    k = len(R3)
    R3 = np.mean([R3.transpose(order) for order in itertools.permutations(range(3))], axis=0)
    methods = {
        "simultaneous diagonalisation": lambda: decompose(R3[None], np.random.default_rng(seed)).factors,
        "TensorLy power iteration": lambda: symmetric_parafac_power_iteration(R3, k, n_repeat=10, n_iteration=30)[1],
        "TensorLy parafac (ALS)": lambda: parafac(R3, k, n_iter_max=300, init="random", random_state=seed).factors[0],
    }
    out = {}
    for name, run in methods.items():
        began = time.perf_counter()
        factors = np.asarray(run())
        seconds = time.perf_counter() - began
        cosines = np.abs((factors / np.linalg.norm(factors, axis=0)).T @ U).max(axis=0)
        out[name] = float(np.degrees(np.arccos(np.minimum(cosines, 1))).max()), seconds
    return out


@float64
@jax.jit
def _projected(X, y, V):
    rows = without_lower_parts(ArrayRows(X, y))[0]
    return projected_tensor(rows, 3, V, jnp.ones((1, V.shape[1])))


def moment_tensor(n, k, d, seed):
    """R₃ of tanh neurons with condition number 2 from n rows, in the teacher's span, and what it should give."""
    rows = teacher_rows(k, d, 2.0, seed)
    data = datasets.make_planted(n, d, k, activation="tanh", weights=rows, random_state=seed)
    V = np.linalg.qr(rows.T)[0]
    found = np.asarray(_projected(data.X, data.y, V))
    return found[0], V.T @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T


def report_tensors(runs, n=50_000, d=20):
    for k in (3, 5, 8):
        found = [decomposition_errors(*moment_tensor(n, k, d, seed), seed) for seed in range(100, 100 + runs)]
        base = np.median([run["simultaneous diagonalisation"][1] for run in found])
        for name in found[0]:
            angles, seconds = zip(*(run[name] for run in found), strict=True)
            print(
                f"k = {k}, {name}: largest angle {np.median(angles):.2g}° (worst run {max(angles):.2g}°), "
                f"{np.median(seconds) / base:.2g} of the time of simultaneous diagonalisation",
                flush=True,
            )


def report_twin(runs, n=50_000, k=5, d=20):
    for name in ("sigmoid", "tanh"):
        errors, seconds = [], []
        for seed in range(100, 100 + runs):
            rows = teacher_rows(k, d, 1.0, seed)
            data = datasets.make_planted(
                n, d, k, activation=name, weights=rows, output=np.full(k, 1 / k), random_state=seed
            )
            began = time.perf_counter()
            found = METHODS["tensor"](Problem.of(data.X, data.y, k, name, random_state=seed))
            seconds.append(time.perf_counter() - began)
            errors.append(match(found.network, data.teacher).weight_error)
        print(
            f"{name}: weight error < 1e-8 in {np.sum(np.array(errors) < 1e-8)} of {runs}, largest {max(errors):.2g}; "
            f"{np.median(seconds):.1f} s a fit",
            flush=True,
        )


@partial(jax.jit, static_argnames=("n", "by_likelihood"))
def _covered(key, teacher, n, by_likelihood):
    """Whether 95 % intervals around the minimiser of one simulated sample cover each weight (k, d)."""
    k, d = teacher.shape
    x_key, y_key = jax.random.split(key)
    x = jax.random.normal(x_key, (n, d))
    y = (jax.random.uniform(y_key, (n,)) < jnp.mean(SIGMOID(x @ teacher.T), axis=1)).astype(x.dtype)
    rows = ArrayRows(x, y)
    loss = Squared.on(rows, SIGMOID, jnp.full(k, 1 / k))
    if by_likelihood:
        loss = Likelihood.composed(rows, MeanOfProbabilities(SIGMOID), BernoulliMean())
    squared = Squared.on(rows, SIGMOID, jnp.full(k, 1 / k))
    flat_value = lambda flat: loss.traced_value(flat.reshape(k, d))  # noqa: E731

    def newton(flat, _):
        return flat - jnp.linalg.solve(jax.hessian(flat_value)(flat), jax.grad(flat_value)(flat)), None

    flat, _ = jax.lax.scan(newton, teacher.ravel(), None, length=8)
    weights = flat.reshape(k, d)
    if by_likelihood:
        covariance = jnp.linalg.inv(curvature_matrix(loss, weights)[0]) / n
    else:
        bread = jnp.linalg.inv(jax.hessian(flat_value)(flat))
        covariance = bread @ score_matrix(squared, weights) @ bread / n
    reach = 1.959964 * jnp.sqrt(jnp.diag(covariance)).reshape(k, d)
    return jnp.abs(weights - teacher) <= reach


@float64
def coverage(fits, n=8000, k=2, d=3, length=3.0):
    """Share of 95 % intervals that cover, by loss."""
    teacher = jnp.asarray(teacher_rows(k, d, length, 0))
    keys = jax.random.split(jax.random.key(1), fits)
    return {
        name: float(np.mean([np.asarray(_covered(key, teacher, n, flag)) for key in keys]))
        for name, flag in (("likelihood, inverse Fisher", True), ("quadratic loss, sandwich", False))
    }


def report_coverage(fits):
    for name, share in coverage(fits).items():
        print(f"{name}: 95 % intervals cover {100 * share:.2f} % over {fits} fits", flush=True)


def test_label_recovery(benchmark):
    benchmark.pedantic(end_to_end, args=(1,), kwargs={"n": 20_000, "k": 2, "d": 5}, rounds=1)


def test_coverage(benchmark):
    benchmark.pedantic(coverage, args=(20,), kwargs={"n": 2000}, rounds=1)


def test_decompositions(benchmark):
    benchmark.pedantic(decomposition_errors, args=(*moment_tensor(20_000, 3, 8, 0), 0), rounds=1)


PARTS = ("labels", "twin", "coverage", "efficiency", "tensors", "growth")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="20 runs, 1,000 fits, and the growth of n")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--runs", type=int)
    options = parser.parse_args()
    runs = options.runs or (20 if options.full else 3)
    parts = {
        "labels": lambda: report_end_to_end(runs),
        "twin": lambda: report_twin(runs),
        "coverage": lambda: report_coverage(1000 if options.full else 100),
        "efficiency": report_efficiency,
        "tensors": lambda: report_tensors(max(3, runs // 4)),
        "growth": lambda: report_growth(options.runs or (10 if options.full else 2)),
    }
    for name in [options.only] if options.only else PARTS[: None if options.full else -1]:
        parts[name]()


if __name__ == "__main__":
    main()
