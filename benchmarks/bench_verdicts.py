"""What "recovered" is worth: adversarial problems, and how often the verdict is wrong on each.

A verdict "recovered" is wrong if the network differs from the teacher as a function on fresh rows of the data's law,
by more than 1e-4 of the targets' spread, or in its weights beyond the symmetries of the function, by more than 1e-3.

Run as `python benchmarks/bench_verdicts.py [seeds] [first seed] [scenario …]`; exit status 1 if some verdict was wrong.
`--json FILE` keeps every fit as a line, and those that are there are not repeated; `--minutes M` begins none later.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import beta

from planted import ConvNetwork, Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, match

FUNCTION, WEIGHTS = 1e-4, 1e-3
FRESH = 2000


@dataclass(frozen=True)
class Case:
    """A problem whose answer is known: rows, fresh rows of the same law with the truth, and the teacher if any."""

    X: Any
    y: Any
    fresh: Any
    truth: Any
    teacher: Any = None


@dataclass(frozen=True)
class Scenario:
    """A kind of problem: how it is drawn, and what the estimator is asked for."""

    draw: Callable[[np.random.Generator], Case]
    settings: dict[str, Any] = field(default_factory=dict)
    kind: Any = PlantedRegressor
    honest: bool = False
    """Whether a right "recovered" can be expected."""


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def teacher_of(rng, d, k, activation="relu", bias=False, scale=1.0):
    """Unit rows in general position, outputs between 1 and 2 in size, of mixed sign."""
    rows = rng.standard_normal((k, d))
    rows *= scale / np.linalg.norm(rows, axis=1, keepdims=True)
    output = rng.uniform(1, 2, k) * np.where(np.arange(k) % 2, -1.0, 1.0)
    return Network(rows, output, activation, bias=rng.uniform(-0.5, 0.5, k) if bias else None)


def dense(n, d, k, activation="relu", *, bias=False, law=gaussian, change=None, noise=0.0, scale=1.0):
    """Rows of a planted network; `change(rng, X, y)` spoils the rows, not the truth."""

    def draw(rng):
        teacher = teacher_of(rng, d, k, activation, bias, scale)
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        y = teacher.predict(X)
        y = y + noise * y.std() * rng.standard_normal(n)
        if change is not None:
            X, y = change(rng, X, y)
        return Case(X, y, fresh, teacher.predict(fresh), teacher)

    return draw


def function(n, d, truth, law=gaussian):
    """Rows of a function that is no network of the kind asked for."""

    def draw(rng):
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        f = truth(rng, d)
        return Case(X, f(X), fresh, f(fresh))

    return draw


def patches(n, k, p, *, law=None, change=None, noise=0.0):
    """Rows of a planted shared filter."""

    def draw(rng):
        teacher = ConvNetwork(rng.standard_normal(p), rng.uniform(1, 2, k) * rng.choice([-1.0, 1.0], k))
        make = law or (lambda rng, n, k, p: rng.standard_normal((n, k, p)))
        X, fresh = make(rng, n, k, p), make(rng, FRESH, k, p)
        y = teacher.predict(X) + noise * rng.standard_normal(n)
        if change is not None:
            X, y = change(rng, X, y)
        return Case(X, y, fresh, teacher.predict(fresh), teacher)

    return draw


def labels(n, d, k, scale=3.0, law=gaussian, separable=False):
    """Labels of a planted network of probabilities."""

    def draw(rng):
        rows = rng.standard_normal((k, d))
        rows *= scale / np.linalg.norm(rows, axis=1, keepdims=True)
        teacher = Network(rows, np.full(k, 1 / k), "sigmoid")
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        probability = teacher.predict(X)
        y = (probability > (0.5 if separable else rng.random(n))).astype(float)
        y[:2] = [0.0, 1.0]
        return Case(X, y, fresh, teacher.predict(fresh), teacher)

    return draw


# Laws of inputs


def of_few(distinct):
    """A law on a few points, drawn anew for every data set."""

    def law(rng, n, d, points={}):  # noqa: B006
        key = (id(rng), d)
        if key not in points:
            points.clear()
            points[key] = rng.standard_normal((distinct, d))
        return points[key][rng.integers(distinct, size=n)]

    return law


def from_set(values):
    return lambda rng, n, d: rng.choice(np.asarray(values, float), size=(n, d))


def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(d, size=n)]


def subspace(rank):
    def law(rng, n, d):
        basis = np.random.default_rng(d).standard_normal((rank, d))
        return rng.standard_normal((n, rank)) @ basis

    return law


def with_column(make):
    """The last column is made of the others."""

    def law(rng, n, d):
        X = rng.standard_normal((n, d))
        X[:, -1] = make(rng, X)
        return X

    return law


def heavy(draw):
    return lambda rng, n, d: draw(rng, (n, d))


def units(*sizes):
    return lambda rng, n, d: rng.standard_normal((n, d)) * np.resize(np.asarray(sizes, float), d)


def sparse(share):
    return lambda rng, n, d: rng.standard_normal((n, d)) * (rng.random((n, d)) < share)


# What spoils rows


def outlier(factor, inputs=True, noise=0.1):
    def change(rng, X, y):
        # One row far out, and noise on the others, which its size hides from the mean.
        teacher_scale = factor
        X, y = X.copy(), y.copy()
        y = y + noise * y.std() * rng.standard_normal(len(y))
        if inputs:
            X[0] *= teacher_scale
        y[0] *= teacher_scale
        return X, y

    return change


def far_rows(count, factor):
    """A few exact rows far out: a homogeneous network explains them exactly, and noise on the others is hidden."""

    def change(rng, X, y):
        X, y = X.copy(), y.copy()
        y[count:] += 0.1 * y.std() * rng.standard_normal(len(y) - count)
        X[:count] *= factor
        y[:count] *= factor
        return X, y

    return change


def rounded(digits):
    return lambda rng, X, y: (X, np.round(y, digits))


def single(rng, X, y):
    return X.astype(np.float32).astype(float), y.astype(np.float32).astype(float)


def repeated(times):
    return lambda rng, X, y: (np.tile(X, (times, 1)), np.tile(y, times))


def one_wrong(size):
    def change(rng, X, y):
        y = y.copy()
        y[rng.integers(len(y))] += size * y.std()
        return X, y

    return change


# Functions that are no such networks


def two_layers(activation):
    def make(rng, d):
        A, B, a = rng.standard_normal((4, d)) / d**0.5, rng.standard_normal((3, 4)) / 2, rng.standard_normal(3)
        phi = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}[activation]
        return lambda X: phi(phi(X @ A.T) @ B.T) @ a

    return make


def ridge(phi):
    def make(rng, d):
        w = rng.standard_normal(d) / d**0.5
        return lambda X: phi(X @ w)

    return make


def linear(rng, d):
    w = rng.standard_normal(d)
    return lambda X: X @ w


def shifted(offset):
    def make(rng, d):
        teacher = teacher_of(rng, d, 2)
        return lambda X: teacher.predict(X) + offset

    return make


def pair(rng, d):
    return lambda X: X[:, 0] * X[:, 1]


def close_neurons(angle):
    """Two neurons of one direction but for an angle."""

    def draw(rng):
        rows = rng.standard_normal((1, 4))
        rows = np.vstack([rows, rows + angle * rng.standard_normal((1, 4))])
        teacher = Network(rows, [1.0, 1.0], "tanh")
        X, fresh = gaussian(rng, 200, 4), gaussian(rng, FRESH, 4)
        return Case(X, teacher.predict(X), fresh, teacher.predict(fresh), teacher)

    return draw


def rare_neuron(threshold):
    """A ReLU neuron that few rows reach."""

    def draw(rng):
        rows = np.vstack([np.eye(3)[0], np.eye(3)[1]])
        teacher = Network(rows, [1.0, 2.0], "relu", bias=[0.1, -threshold])
        X, fresh = gaussian(rng, 300, 3), gaussian(rng, FRESH, 3)
        return Case(X, teacher.predict(X), fresh, teacher.predict(fresh), teacher)

    return draw


def linear_neurons(k, linear, law, activation="relu", bias=False):
    """Neurons that no row has on their other side: inputs are positive, and so are the weights of the last ones."""

    def draw(rng):
        teacher = teacher_of(rng, 5, k, activation, bias)
        rows = np.array(teacher.weights)
        rows[k - linear :] = np.abs(rows[k - linear :]) + 0.1
        shift = None if teacher.bias is None else np.where(np.arange(k) < k - linear, teacher.bias, 0.2)
        teacher = Network(rows, teacher.output, activation, bias=shift)
        X, fresh = law(rng, 600, 5), law(rng, FRESH, 5)
        return Case(X, teacher.predict(X), fresh, teacher.predict(fresh), teacher)

    return draw


def weak_neuron(size):
    """A neuron whose output is tiny beside the other's."""

    def draw(rng):
        teacher = Network(np.eye(3)[:2], [1.0, size], "tanh")
        X, fresh = gaussian(rng, 200, 3), gaussian(rng, FRESH, 3)
        return Case(X, teacher.predict(X), fresh, teacher.predict(fresh), teacher)

    return draw


def saturated(scale):
    return dense(200, 3, 1, "tanh", scale=scale)


def _width(k, activation="relu", **more):
    return {"n_hidden": k, "activation": activation, **more}


def _scenarios():
    relu1, relu2, tanh1, tanh2 = _width(1), _width(2), _width(1, "tanh"), _width(2, "tanh")
    positive = heavy(lambda r, s: r.exponential(size=s))
    flat = lambda rng, n, k, p: (  # noqa: E731
        rng.standard_normal((n, k, 2)) @ np.random.default_rng(p).standard_normal((2, p))
    )
    few = lambda rng, n, k, p: np.random.default_rng(5).standard_normal((8, k, p))[rng.integers(8, size=n)]  # noqa: E731
    coded = lambda rng, n, k, p: rng.integers(0, 2, (n, k, p)).astype(float)  # noqa: E731
    found = {
        **{f"rows/relu k1 d10 n{n}": Scenario(dense(n, 10, 1), relu1) for n in (12, 14, 16, 20, 25, 30)},
        **{f"rows/tanh k1 d5 n{n}": Scenario(dense(n, 5, 1, "tanh"), tanh1) for n in (6, 7, 9, 12)},
        **{f"rows/relu k2 d4 n{n}": Scenario(dense(n, 4, 2), relu2) for n in (10, 13, 16, 22)},
        **{f"rows/sigmoid k2 d3 bias n{n}": Scenario(dense(n, 3, 2, "sigmoid", bias=True),
           _width(2, "sigmoid", fit_bias=True)) for n in (11, 15)},
        "rows/abs k1 d8 n11": Scenario(dense(11, 8, 1, "abs"), _width(1, "abs")),
        "rows/squared relu k1 d6 n12": Scenario(dense(12, 6, 1, "squared_relu"), _width(1, "squared_relu")),
        "rows/quadratic k2 d4 n12": Scenario(dense(12, 4, 2, "quadratic"), _width(2, "quadratic")),
        "rows/auto width n20": Scenario(dense(20, 4, 2), _width("auto")),
        "rows/each twice": Scenario(dense(12, 10, 1, change=repeated(2)), relu1),
        "distinct/8 of 300": Scenario(dense(300, 5, 2, law=of_few(8)), relu2),
        "distinct/8 of 300 one neuron": Scenario(dense(300, 5, 1, law=of_few(8)), relu1),
        "distinct/12 of 300 tanh": Scenario(dense(300, 4, 2, "tanh", law=of_few(12)), tanh2),
        "distinct/cube {0,1}^3": Scenario(dense(300, 3, 1, law=from_set([0, 1])), relu1),
        "distinct/cube {0,1}^3 two": Scenario(dense(300, 3, 2, law=from_set([0, 1])), relu2),
        "distinct/cube {-1,1}^4": Scenario(dense(300, 4, 2, law=from_set([-1, 1])), relu2),
        "distinct/cube {-1,1}^6 tanh": Scenario(dense(300, 6, 2, "tanh", law=from_set([-1, 1])), tanh2),
        "distinct/one-hot": Scenario(dense(300, 6, 1, law=one_hot), relu1),
        "distinct/one-hot tanh": Scenario(dense(300, 6, 1, "tanh", law=one_hot), tanh1),
        "subspace/rank 2 of 5": Scenario(dense(300, 5, 1, law=subspace(2)), relu1),
        "subspace/rank 2 of 5 tanh": Scenario(dense(300, 5, 2, "tanh", law=subspace(2)), tanh2),
        "subspace/a copy": Scenario(dense(300, 4, 1, law=with_column(lambda r, X: X[:, 0])), relu1),
        "subspace/a copy, k2": Scenario(dense(300, 4, 2, law=with_column(lambda r, X: X[:, 0])), relu2),
        "subspace/a sum": Scenario(dense(300, 4, 1, law=with_column(lambda r, X: X[:, 0] + X[:, 1])), relu1),
        "subspace/zero": Scenario(dense(300, 4, 1, law=with_column(lambda r, X: 0.0)), relu1),
        "subspace/constant": Scenario(dense(300, 4, 1, law=with_column(lambda r, X: 1.0)), relu1),
        "subspace/constant and bias": Scenario(
            dense(300, 4, 1, "tanh", bias=True, law=with_column(lambda r, X: 1.0)), _width(1, "tanh", fit_bias=True)),
        **{f"subspace/nearly a copy, {e:g}": Scenario(
            dense(300, 4, 1, "tanh", law=with_column(lambda r, X, e=e: X[:, 0] + e * r.standard_normal(len(X)))), tanh1)
           for e in (1e-2, 1e-4, 1e-6, 1e-8)},
        **{f"outlier/a noisy row x {f:g}": Scenario(dense(300, 4, 1, change=outlier(f)), relu1)
           for f in (1e3, 1e6, 1e8)},
        "outlier/a target x 1e6": Scenario(dense(300, 4, 2, "tanh", change=outlier(1e6, inputs=False)), tanh2),
        "outlier/a target x 1e9": Scenario(dense(300, 4, 1, change=outlier(1e9, inputs=False)), relu1),
        "outlier/8 far rows": Scenario(dense(300, 4, 1, change=far_rows(8, 1e7)), relu1),
        "outlier/20 far rows": Scenario(dense(300, 4, 2, change=far_rows(20, 1e8)), relu2),
        "outlier/one wrong row": Scenario(dense(300, 4, 2, change=one_wrong(1.0)), relu2),
        "outlier/one row off by 1e-4": Scenario(dense(300, 4, 2, change=one_wrong(1e-4)), relu2),
        "wide/3 for 2": Scenario(dense(200, 4, 2), _width(3)),
        "wide/4 for 1": Scenario(dense(200, 4, 1), _width(4)),
        "wide/3 for 2 tanh": Scenario(dense(200, 4, 2, "tanh"), _width(3, "tanh")),
        "wide/2 for 1 sigmoid": Scenario(dense(200, 4, 1, "sigmoid"), _width(2, "sigmoid")),
        "wide/4 for 2 quadratic": Scenario(dense(200, 4, 2, "quadratic"), _width(4, "quadratic")),
        "narrow/1 for 2": Scenario(dense(200, 4, 2), relu1),
        "narrow/1 for 2 tanh": Scenario(dense(200, 4, 2, "tanh"), tanh1),
        "other/two layers tanh": Scenario(function(200, 3, two_layers("tanh")), _width(3, "tanh")),
        "other/two layers relu": Scenario(function(200, 3, two_layers("relu")), _width(4)),
        "other/sine": Scenario(function(200, 3, ridge(np.sin)), tanh2),
        "other/softplus": Scenario(function(200, 3, ridge(lambda z: np.logaddexp(0, z))), relu2),
        "other/square": Scenario(function(200, 3, ridge(np.square)), _width(4)),
        "other/product": Scenario(function(200, 3, pair), _width(4)),
        "other/linear": Scenario(function(200, 3, linear), relu2),
        "other/linear, k4": Scenario(function(200, 3, linear), _width(4)),
        "other/linear tanh": Scenario(function(200, 3, linear), tanh1),
        "other/shifted by 1": Scenario(function(200, 3, shifted(1.0)), relu2),
        "other/shifted by 1e-5": Scenario(function(200, 3, shifted(1e-5)), relu2),
        **{f"rounding/{d} digits": Scenario(dense(300, 4, 2, "tanh", change=rounded(d)), tanh2) for d in (1, 3, 5)},
        "rounding/float32": Scenario(dense(300, 4, 2, change=single), relu2),
        **{f"rounding/noise {e:g}": Scenario(dense(300, 4, 2, "tanh", noise=e), tanh2) for e in (1e-3, 1e-5, 1e-7)},
        **{f"scale/X x {s:g}": Scenario(dense(300, 4, 2, law=units(s)), relu2, honest=True) for s in (1e-8, 1e8)},
        "scale/X x 1e-4 tanh": Scenario(dense(300, 4, 1, "tanh", law=units(1e-4)), tanh1),
        "scale/X x 1e3 tanh": Scenario(dense(300, 4, 1, "tanh", law=units(1e3)), tanh1),
        "scale/mixed units": Scenario(dense(300, 4, 2, law=units(1e-3, 1.0, 1e3)), relu2),
        "scale/mixed units, far": Scenario(dense(300, 4, 1, law=units(1e-7, 1.0, 1e7)), relu1),
        "scale/tanh in its linear part": Scenario(dense(200, 3, 2, "tanh", scale=1e-3), tanh2),
        "scale/tanh in its linear part, 1e-5": Scenario(dense(200, 3, 1, "tanh", scale=1e-5), tanh1),
        "scale/tanh saturated": Scenario(saturated(1e2), tanh1),
        "scale/tanh saturated, 1e5": Scenario(saturated(1e5), tanh1),
        "law/integers": Scenario(dense(300, 4, 2, law=from_set(range(-3, 4))), relu2),
        "law/cauchy": Scenario(dense(300, 4, 2, law=heavy(lambda r, s: r.standard_cauchy(s))), relu2),
        "law/cauchy tanh": Scenario(dense(300, 4, 2, "tanh", law=heavy(lambda r, s: r.standard_cauchy(s))), tanh2),
        "law/lognormal": Scenario(dense(300, 4, 2, law=heavy(lambda r, s: np.exp(2 * r.standard_normal(s)))), relu2),
        "law/positive": Scenario(dense(300, 4, 2, law=positive), relu2),
        "law/sparse": Scenario(dense(300, 6, 2, law=sparse(0.1)), relu2),
        "law/sparse tanh": Scenario(dense(300, 6, 2, "tanh", law=sparse(0.1)), tanh2),
        **{f"neurons/close, {e:g}": Scenario(close_neurons(e), tanh2) for e in (1e-1, 1e-2, 1e-4)},
        **{f"neurons/rare, {t:g}": Scenario(rare_neuron(t), _width(2, fit_bias=True)) for t in (1.5, 2.0, 2.5)},
        **{f"neurons/linear at {rows}, k{k}{', two' * (linear - 1)}{', bias' * bias}": Scenario(
            linear_neurons(k, linear, law, bias=bias), _width(k, fit_bias=bias, fit_intercept=False))
           for rows, law in {"counts": from_set(range(4)), "positive": positive}.items()
           for k, linear, bias in ((3, 1, False), (3, 1, True), (4, 2, True), (6, 1, True))},
        **{f"neurons/weak, {s:g}": Scenario(weak_neuron(s), tanh2) for s in (1e-3, 1e-5, 1e-7)},
        **{f"labels/n{n}": Scenario(labels(n, 3, 1), _width(1, "sigmoid"), PlantedClassifier) for n in (20, 200)},
        "labels/separable": Scenario(labels(200, 3, 1, separable=True), _width(1, "sigmoid"), PlantedClassifier),
        "labels/few points": Scenario(labels(300, 3, 2, law=of_few(6)), _width(2, "sigmoid"), PlantedClassifier),
        "labels/a copy": Scenario(
            labels(300, 3, 1, law=with_column(lambda r, X: X[:, 0])), _width(1, "sigmoid"), PlantedClassifier),
        **{f"filter/n{n}": Scenario(patches(n, 3, 4), {}, PlantedConvRegressor) for n in (8, 10, 14)},
        "filter/rank 2": Scenario(patches(200, 3, 4, law=flat), {}, PlantedConvRegressor),
        "filter/8 points": Scenario(patches(200, 3, 4, law=few), {}, PlantedConvRegressor),
        "filter/binary": Scenario(patches(200, 3, 4, law=coded), {}, PlantedConvRegressor),
        "filter/outlier": Scenario(patches(200, 3, 4, change=outlier(1e7)), {}, PlantedConvRegressor),
        "filter/two for one": Scenario(patches(200, 3, 4), {"n_filters": 2}, PlantedConvRegressor),
        "honest/filter": Scenario(patches(200, 3, 4), {}, PlantedConvRegressor, honest=True),
    }  # fmt: skip
    cells = (
        ("relu", 10, 1, False), ("relu", 5, 2, False), ("relu", 6, 4, False), ("tanh", 5, 2, False),
        ("tanh", 4, 2, True), ("sigmoid", 5, 2, False), ("abs", 5, 2, False), ("squared_relu", 5, 2, False),
        ("relu", 4, 2, True), ("softplus", 4, 2, False), ("quadratic", 5, 2, False),
    )  # fmt: skip
    for activation, d, k, bias in cells:
        for ratio in (1.2, 2.0, 10.0):
            n = int(np.ceil(ratio * k * (d + 1 + bias)))
            name = f"honest/{activation} k{k} d{d}{' bias' if bias else ''} n{n} ({ratio:g})"
            settings = _width(k, activation, fit_bias=bias)
            found[name] = Scenario(dense(n, d, k, activation, bias=bias), settings, honest=True)
    return found


SCENARIOS = _scenarios()


def errors(network, case):
    """Relative error of the function on fresh rows, and of the weights up to symmetry (NaN without a teacher)."""
    prediction = network.predict(case.fresh.reshape(len(case.fresh), -1) if _flat(network, case) else case.fresh)
    gap = float(np.sqrt(np.mean((prediction - case.truth) ** 2)) / max(np.std(case.truth), 1e-300))
    if case.teacher is None:
        return gap, float("nan")
    teacher = case.teacher
    if isinstance(teacher, ConvNetwork) and isinstance(network, Network):
        teacher = teacher.to_network()
    if isinstance(network, Network):
        # A neuron that adds nothing is no neuron.
        size = np.linalg.norm(network.weights, axis=1) * np.abs(network.output)
        alive = size > 1e-12 * max(size.max(initial=0.0), 1e-300)
        parts = {"weights": network.weights[alive], "output": network.output[..., alive]}
        if network.bias is not None:
            parts["bias"] = network.bias[alive]
        network = network.replace(**parts)
    if network.activation.name == "quadratic":
        # The function determines Σ aᵢ wᵢwᵢᵀ alone.
        ours, theirs = ((net.weights.T * net.output) @ net.weights for net in (network, teacher))
        return gap, float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
    laid = match(network, teacher)
    return gap, float(max(laid.weight_error, laid.output_error))


def _flat(network, case):
    return isinstance(network, Network) and case.fresh.ndim == 3


def run(name, seed):
    """One fit: its status, whether it is wrong, and how far it is off."""
    scenario = SCENARIOS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    case = scenario.draw(rng)
    began = time.perf_counter()
    record = {"scenario": name, "seed": seed, "honest": scenario.honest, "rows": len(case.y)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator = scenario.kind(**scenario.settings, random_state=seed).fit(case.X, case.y)
        except ValueError as error:
            return record | {"status": "refused", "wrong": False, "reason": str(error)}
    result = estimator.result_
    gap, weights = errors(estimator.network_, case)
    wrong = result.status == "recovered" and (gap > FUNCTION or weights > WEIGHTS)
    return record | {
        "status": result.status, "wrong": bool(wrong), "function": gap, "weights": weights,
        "reason": result.reason, "relative_loss": result.relative_loss, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def stored(path):
    """The fits that a file holds, by scenario and seed."""
    if path is None or not os.path.exists(path):
        return {}
    with open(path) as file:
        records = [json.loads(line) for line in file]
    return {(record["scenario"], record["seed"]): record for record in records}


def upper_limit(wrong, said, level=0.95):
    """The largest share of wrong verdicts that so many wrong ones do not exclude (Clopper and Pearson)."""
    return float(beta.ppf(level, wrong + 1, said - wrong)) if said > wrong else 1.0


def main():
    """Run scenarios by seeds, and say how often "recovered" was said and how often it was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=20)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--json", default=None)
    parser.add_argument("--minutes", type=float, default=np.inf)
    given = parser.parse_args()
    chosen = [name for name in SCENARIOS if not given.scenarios or any(part in name for part in given.scenarios)]
    seeds, began, known = range(given.first, given.first + given.seeds), time.perf_counter(), stored(given.json)
    every = []
    for name in chosen:
        records = []
        for seed in seeds:
            record = known.get((name, seed))
            if record is None and time.perf_counter() - began < 60 * given.minutes:
                record = run(name, seed)
                if given.json is not None:
                    with open(given.json, "a") as file:
                        file.write(json.dumps(record) + "\n")
            records += [] if record is None else [record]
        counts = dict(Counter(record["status"] for record in records))
        bad = [record for record in records if record["wrong"]]
        every += records
        print(f"{name:<44} {counts} {'WRONG ' + str(len(bad)) if bad else ''}", flush=True)
        for record in bad[:3]:
            gaps = f"function {record['function']:.1e}, weights {record['weights']:.1e}"
            print(f"    seed {record['seed']}: {gaps}: {record['reason']}", flush=True)
    for kind, which in (("made to deceive", False), ("honest", True)):
        fits = [record for record in every if record["honest"] == which]
        complete = sum(count == given.seeds for count in Counter(record["scenario"] for record in fits).values())
        said = sum(record["status"] == "recovered" for record in fits)
        print(f"{kind}: {complete} scenarios whole, {len(fits)} fits, recovered {said}")
    said = sum(record["status"] == "recovered" for record in every)
    wrong = sum(record["wrong"] for record in every)
    limit = upper_limit(wrong, said)
    print(f"{len(every)} fits: recovered {said}, wrong {wrong}: at most {100 * limit:.2g} % at 95 % confidence")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
