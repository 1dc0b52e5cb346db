"""Kinds of table with a known true answer: planted networks, linear truths, noise, broken columns, real tables.

A kind draws rows to fit and fresh rows to judge by, and says what a true answer to the table is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import datasets

from planted import Network

FRESH = 4000
# What a true answer says.
RECOVERED = "recovered"
ESTIMATED = "estimated"
LINEAR = "linear"
NOISE = "noise"
AMBIGUOUS = "ambiguous"
MISFIT = "misfit"
REAL = "real"


@dataclass(frozen=True)
class Table:
    """Rows of a fit, fresh rows with targets as they would be observed, and the truth behind both where it is known."""

    X: np.ndarray
    y: np.ndarray
    fresh: np.ndarray
    fresh_y: np.ndarray
    teacher: Network | None = None
    fresh_truth: np.ndarray | None = None


@dataclass(frozen=True)
class Kind:
    """How a table is drawn from a generator, what its true answer is, and words of which the answer holds one.

    A real table is drawn `splits` times, and scored by what is left out of all of them together.
    """

    draw: Callable[[np.random.Generator], Table]
    answer: str
    words: tuple[str, ...] = ()
    splits: int = 1


# Laws of inputs: functions of a generator, rows and columns.


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def uniform(rng, n, d):
    return rng.uniform(-2, 2, (n, d))


def discrete(rng, n, d):
    return rng.integers(-4, 5, (n, d)).astype(float)


def heavy(rng, n, d):
    """Student's t of 3 degrees of freedom: infinite fourth moments."""
    return rng.standard_t(3, (n, d))


def correlated(rng, n, d):
    """Correlation 0.8 between neighbours, 0.8^|i−j| in general."""
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def shifted(rng, n, d):
    """Columns with means far from zero, as ages, years and prices have."""
    return rng.standard_normal((n, d)) + np.resize([3.0, -2.0, 0.0, 5.0], d)


def units(rng, n, d):
    """Columns whose scales differ by a million."""
    return rng.standard_normal((n, d)) * np.resize([1e-3, 1.0, 1e3], d)


def shifted_units(rng, n, d):
    """The same, the second column with a mean."""
    return units(rng, n, d) + np.eye(d)[1] * 2.0


def mixed(rng, n, d):
    """Three one-hot columns of one text column, the others Gaussian."""
    return np.column_stack([np.eye(3)[rng.integers(3, size=n)], rng.standard_normal((n, d - 3))])


def one_hot(rng, n, d):
    return np.eye(d)[rng.integers(d, size=n)]


def repeated(rng, n, d):
    """The last column repeats the first."""
    X = rng.standard_normal((n, d))
    X[:, -1] = X[:, 0]
    return X


def constant(rng, n, d):
    """The last column is 2.5 in every row."""
    X = rng.standard_normal((n, d))
    X[:, -1] = 2.5
    return X


# Noise: functions of a generator, inputs, and the truth.


def even(share):
    """Gaussian, a share of the spread of each target."""
    return lambda rng, X, truth: share * truth.std(axis=0) * rng.standard_normal(truth.shape)


def growing(share):
    """Gaussian, of a spread that grows with the first input."""
    return lambda rng, X, truth: share * truth.std(axis=0) * np.exp(X[:, 0] / 2) * rng.standard_normal(truth.shape)


def planted(
    n,
    d,
    k,
    activation="relu",
    *,
    bias=0.0,
    intercept=0.0,
    targets=1,
    law=gaussian,
    noise=None,
    skip=0.0,
    anywhere=False,
):
    """Rows of a network in general position whose neurons are moderate in the units of its inputs.

    Rows of the weights have length 1.5 per standard deviation of the inputs; outputs are between 1 and 2 in size and
    of mixed sign, intercepts and the linear part of the sizes given. Pre-activations at the mean of the inputs are of
    the size `bias`; with `anywhere` it is the biases that are, so that kinks may be beyond all rows. A network that is
    constant in all rows, which fits refuse, is drawn again.
    """

    def draw(rng):
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        scale = fresh.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        weights = rng.standard_normal((k, d))
        weights *= 1.5 / np.linalg.norm(weights, axis=1, keepdims=True)
        signs = np.where(np.arange(k) % 2, -1.0, 1.0)
        shape = (targets, k) if targets > 1 else (k,)
        output = rng.uniform(1, 2, shape) * (rng.choice([-1.0, 1.0], shape) if targets > 1 else signs)
        offset = bias * rng.uniform(0.5, 1.0, k) * rng.choice([-1.0, 1.0], k) if bias else None
        if bias and not anywhere:
            offset = offset - weights @ (fresh.mean(axis=0) / scale)
        lead = (targets,) if targets > 1 else ()
        teacher = Network(
            weights / scale, output, activation, offset, intercept * rng.uniform(1.0, 2.0, lead),
            skip * rng.uniform(0.5, 1.0, (*lead, d)) / scale if skip else None,
        )  # fmt: skip
        table = observed(rng, X, fresh, teacher.predict, noise, teacher)
        return table if np.ptp(table.y) > 0 else draw(rng)

    return draw


def observed(rng, X, fresh, function, noise=None, teacher=None):
    """A table of a function's values, with noise of one law on both parts."""
    truth, fresh_truth = function(X), function(fresh)
    y, fresh_y = truth, fresh_truth
    if noise is not None:
        y, fresh_y = truth + noise(rng, X, truth), fresh_truth + noise(rng, fresh, fresh_truth)
    return Table(X, y, fresh, fresh_y, teacher, fresh_truth)


def linear(n, d, *, intercept=0.0, targets=1, law=gaussian, noise=None):
    def draw(rng):
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        lead = (targets,) if targets > 1 else ()
        slope = rng.standard_normal((*lead, d)) / fresh.std(axis=0)
        teacher = Network(np.zeros((0, d)), np.zeros((*lead, 0)), "relu", None, np.full(lead, intercept), slope)
        return observed(rng, X, fresh, teacher.predict, noise, teacher)

    return draw


def function(n, d, rule, *, law=gaussian, noise=None):
    """Rows of a function of the inputs that is no network with one hidden layer."""

    def draw(rng):
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        return observed(rng, X, fresh, rule, noise)

    return draw


def nothing(n, d, law=gaussian, level=0.0):
    """Targets that have nothing to do with the inputs."""

    def draw(rng):
        X, fresh = law(rng, n, d), law(rng, FRESH, d)
        y, fresh_y = level + rng.standard_normal(n), level + rng.standard_normal(FRESH)
        return Table(X, y, fresh, fresh_y, None, np.full(FRESH, level))

    return draw


def two_layers(X):
    hidden = np.tanh(2 * X[:, :3] @ np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]))
    return np.tanh(3 * hidden[:, 0] * hidden[:, 1]) + np.sin(3 * X[:, 0])


def product(X):
    return X[:, 0] * X[:, 1] - 0.5 * X[:, 2] ** 2


# Tables that come with scikit-learn, a quarter of the rows left out.


def real(load, target=None):
    """A table of scikit-learn; `target` is the column to predict from the others, None for the table's own targets."""

    def draw(rng):
        data = load()
        X, y = np.asarray(data.data, float), np.asarray(data.target, float)
        if target is not None:
            X, y = np.delete(X, target, axis=1), X[:, target]
        order = rng.permutation(len(X))
        cut = len(X) // 4
        left, used = order[:cut], order[cut:]
        return Table(X[used], y[used], X[left], y[left])

    return draw


KINDS = {
    "relu": Kind(planted(1000, 6, 3), RECOVERED),
    "relu, one neuron": Kind(planted(300, 4, 1), RECOVERED),
    "relu, eight neurons": Kind(planted(4000, 8, 8), RECOVERED),
    "relu, biases": Kind(planted(1500, 5, 3, bias=1.0), RECOVERED),
    "relu, intercept": Kind(planted(1000, 5, 3, intercept=4.0), RECOVERED),
    "relu, biases, intercept": Kind(planted(1500, 5, 3, bias=1.0, intercept=4.0), RECOVERED),
    "relu, linear part": Kind(planted(1500, 5, 2, bias=1.0, intercept=1.0, skip=1.0), RECOVERED),
    "relu, noise": Kind(planted(2000, 5, 3, noise=even(0.1)), ESTIMATED),
    "relu, biases, intercept, noise": Kind(planted(3000, 5, 2, bias=1.0, intercept=4.0, noise=even(0.1)), ESTIMATED),
    "relu, growing noise": Kind(planted(3000, 5, 2, noise=growing(0.1)), ESTIMATED),
    "relu, 20,000 rows, noise": Kind(planted(20_000, 10, 4, intercept=2.0, noise=even(0.2)), ESTIMATED),
    "relu, units": Kind(planted(1500, 6, 3, intercept=4.0, law=units), RECOVERED),
    "relu, means": Kind(planted(1500, 5, 2, law=shifted, bias=1.0), RECOVERED),
    "relu, means, kinks anywhere": Kind(planted(1500, 5, 2, law=shifted, bias=1.0, anywhere=True), RECOVERED),
    "relu, uniform inputs": Kind(planted(1500, 5, 3, law=uniform), RECOVERED),
    "relu, integers": Kind(planted(1500, 5, 3, law=discrete), RECOVERED),
    "relu, heavy tails": Kind(planted(1500, 5, 3, law=heavy, intercept=2.0), RECOVERED),
    "relu, correlated inputs": Kind(planted(1500, 6, 3, law=correlated), RECOVERED),
    "relu, text column": Kind(planted(2000, 6, 2, law=mixed), RECOVERED),
    "relu, two targets": Kind(planted(1500, 5, 3, targets=2, intercept=2.0), RECOVERED),
    "relu, three targets, noise": Kind(planted(2500, 5, 3, targets=3, bias=1.0, noise=even(0.1)), ESTIMATED),
    "relu, too few rows": Kind(planted(14, 4, 3), AMBIGUOUS, ("rows",)),
    "relu, a repeated column": Kind(planted(1000, 5, 2, law=repeated), AMBIGUOUS, ("x0", "x4", "input 0", "inputs 0")),
    "relu, a constant column": Kind(planted(1000, 5, 2, law=constant), AMBIGUOUS, ("constant",)),
    "tanh": Kind(planted(1000, 5, 3, "tanh"), RECOVERED),
    "tanh, biases": Kind(planted(1500, 5, 3, "tanh", bias=1.0), RECOVERED),
    "tanh, intercept": Kind(planted(1000, 5, 2, "tanh", intercept=7.0), RECOVERED),
    "tanh, units, means": Kind(planted(1500, 4, 2, "tanh", intercept=3.0, bias=0.5, law=shifted_units), RECOVERED),
    "tanh, noise": Kind(planted(3000, 4, 2, "tanh", noise=even(0.1)), ESTIMATED),
    "tanh, two targets, noise": Kind(
        planted(3000, 4, 3, "tanh", targets=2, intercept=2.0, noise=even(0.05)), ESTIMATED
    ),
    "sigmoid": Kind(planted(1500, 5, 2, "sigmoid"), RECOVERED),
    "sigmoid, biases, intercept": Kind(planted(1500, 4, 2, "sigmoid", bias=1.0, intercept=1.0), RECOVERED),
    "softplus": Kind(planted(1500, 5, 2, "softplus"), RECOVERED),
    "softplus, intercept, noise": Kind(planted(5000, 3, 1, "softplus", intercept=2.0, noise=even(0.02)), ESTIMATED),
    "abs": Kind(planted(1000, 5, 3, "abs"), RECOVERED),
    "abs, intercept, noise": Kind(planted(2000, 4, 2, "abs", intercept=3.0, noise=even(0.1)), ESTIMATED),
    "leaky relu": Kind(planted(1000, 5, 3, "leaky_relu"), RECOVERED),
    "leaky relu, intercept": Kind(planted(1500, 5, 2, "leaky_relu", intercept=3.0, law=uniform), RECOVERED),
    "quadratic": Kind(planted(800, 5, 2, "quadratic"), RECOVERED),
    "quadratic, intercept, noise": Kind(planted(1500, 4, 2, "quadratic", intercept=2.0, noise=even(0.1)), ESTIMATED),
    "erf": Kind(planted(1500, 4, 2, "erf"), RECOVERED),
    "erf, biases, intercept": Kind(planted(1500, 4, 2, "erf", bias=1.0, intercept=2.0), RECOVERED),
    "a product of columns": Kind(function(800, 4, product), RECOVERED),
    "two hidden layers": Kind(function(1500, 4, two_layers), MISFIT),
    "linear": Kind(linear(500, 5), LINEAR, ("linear",)),
    "linear, intercept, units, noise": Kind(
        linear(800, 6, intercept=7.0, law=units, noise=even(0.5)), LINEAR, ("linear",)
    ),
    "linear, two targets, noise": Kind(linear(800, 4, targets=2, noise=even(0.3)), LINEAR, ("linear",)),
    "linear, one-hot columns": Kind(
        planted(600, 6, 2, intercept=2.0, law=one_hot, noise=even(0.3)), LINEAR, ("linear", "ambiguous")
    ),
    "noise, 300 rows": Kind(nothing(300, 5), NOISE, ("mean",)),
    "noise, 3,000 rows, level 20": Kind(nothing(3000, 4, law=heavy, level=20.0), NOISE, ("mean",)),
    "diabetes": Kind(real(datasets.load_diabetes), REAL, splits=5),
    "wine, alcohol": Kind(real(datasets.load_wine, 0), REAL, splits=5),
    "breast cancer, malignant or not": Kind(real(datasets.load_breast_cancer), REAL, splits=5),
    "breast cancer, mean texture": Kind(real(datasets.load_breast_cancer, 1), REAL, splits=5),
    "digits, the digit": Kind(real(datasets.load_digits), REAL, splits=2),
    "iris, petal width": Kind(real(datasets.load_iris, 3), REAL, splits=5),
    "linnerud, three targets": Kind(real(datasets.load_linnerud), REAL, splits=40),
}  # fmt: skip
