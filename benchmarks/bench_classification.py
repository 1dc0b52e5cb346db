"""What the recovery of labelled neurons must show: basins and errors from data alone, the regression twin, coverage.

Run as `python benchmarks/bench_classification.py [--full]`, or with pytest-benchmark.
"""

import argparse
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from planted import Network, activations, datasets, match
from planted.certificates import cramer_rao
from planted.certificates._uncertainty import _gram
from planted.methods import classification, tensor
from planted.objectives import Likelihood, Squared
from planted.precision import float64
from planted.rows import ArrayRows
from planted.solvers import lbfgs

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


def end_to_end(runs, n=200_000, k=3, d=20, length=4.0):
    """Errors of the quadratic loss and of the likelihood from the tensor start, bounds, seconds, right basin."""
    out = []
    for seed in range(runs):
        data = labels(n, k, d, length, seed)
        began = time.perf_counter()
        found = classification(data.X, data.y, k, SIGMOID, key=jax.random.key(seed), restarts=0)
        seconds = time.perf_counter() - began
        quadratic = Network(found.descents["quadratic"].params, np.full(k, 1 / k), "sigmoid")
        errors = [match(net, data.teacher).weight_error for net in (quadratic, found.network)]
        # The right basin is the one that a descent from the teacher itself ends in.
        best = lbfgs(Likelihood(data.X, data.y), data.teacher.weights, steps=300, tolerance=1e-8).params
        same = match(found.network, Network(best, np.full(k, 1 / k), "sigmoid")).weight_error < 1e-2
        out.append((*errors, cramer_rao(data.X, data.teacher.weights).expected_error, seconds, same))
    return np.array(out)


def report_end_to_end(runs, **sizes):
    found = end_to_end(runs, **sizes)
    quadratic, own, bound, seconds, same = found.T
    basin = same > 0
    rms = lambda values: np.sqrt(np.mean(values[basin] ** 2)) if basin.any() else np.nan  # noqa: E731
    print(
        f"right basin {basin.sum()} of {runs}; rms weight error {rms(own):.5f}, Cramér–Rao {rms(bound):.5f}, ratio "
        f"{rms(own) / rms(bound):.3f}; quadratic loss {rms(quadratic):.5f}, so the likelihood needs "
        f"{(rms(own) / rms(quadratic)) ** 2:.2f} of its rows; {np.median(seconds):.1f} s a fit",
        flush=True,
    )
    return basin


def report_growth(runs, lengths=(4.0, 2.0, 1.0), sizes=(3000, 6000, 12_500, 25_000, 50_000, 100_000, 200_000, 400_000)):
    """Fewest rows at which every run ends in the right basin, by the length of the neurons."""
    for length in lengths:
        for n in sizes:
            found = end_to_end(runs, n=n, length=length)
            if np.all(found[:, 4] > 0):
                print(f"length {length:g}: right basin in {runs} of {runs} from n = {n:,}", flush=True)
                break
        else:
            print(f"length {length:g}: not in all of {runs} with n = {sizes[-1]:,}", flush=True)


def report_twin(runs, n=50_000, k=5, d=20):
    for name in ("sigmoid", "tanh"):
        errors, seconds = [], []
        for seed in range(runs):
            rows = teacher_rows(k, d, 1.0, seed)
            data = datasets.make_planted(
                n, d, k, activation=name, weights=rows, output=np.full(k, 1 / k), random_state=seed
            )
            began = time.perf_counter()
            found = tensor(data.X, data.y, k, activations.get(name), key=jax.random.key(seed))
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
    loss = Likelihood.on(rows, SIGMOID) if by_likelihood else Squared.on(rows, SIGMOID, jnp.full(k, 1 / k))
    squared = Squared.on(rows, SIGMOID, jnp.full(k, 1 / k))
    flat_value = lambda flat: loss.traced_value(flat.reshape(k, d))  # noqa: E731

    def newton(flat, _):
        return flat - jnp.linalg.solve(jax.hessian(flat_value)(flat), jax.grad(flat_value)(flat)), None

    flat, _ = jax.lax.scan(newton, teacher.ravel(), None, length=8)
    weights = flat.reshape(k, d)
    if by_likelihood:
        covariance = jnp.linalg.inv(_gram(loss, weights, True)) / n
    else:
        bread = jnp.linalg.inv(jax.hessian(flat_value)(flat))
        covariance = bread @ _gram(squared, weights, False) @ bread / n
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="20 runs, 1,000 fits and the growth of n")
    parser.add_argument("--only", choices=("labels", "growth", "twin", "coverage"))
    parser.add_argument("--runs", type=int)
    options = parser.parse_args()
    runs = options.runs or (20 if options.full else 3)
    parts = {
        "labels": lambda: report_end_to_end(runs),
        "twin": lambda: report_twin(runs),
        "coverage": lambda: report_coverage(1000 if options.full else 100),
        "growth": lambda: report_growth(5 if options.full else 2),
    }
    for name in [options.only] if options.only else ["labels", "twin", "coverage", *["growth"] * options.full]:
        parts[name]()


if __name__ == "__main__":
    main()
