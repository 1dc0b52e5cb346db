r"""Does a network predict rows that are left out better than the mean, and than one linear function?

A row i is left out by one Newton step: its residual becomes r_i/(1 − h_i), h_i = w_i J_i (JᵀWJ)⁺ J_iᵀ its leverage. For
the mean and the linear function that is exact. A search that looks at many networks finds some gain in pure noise,
beyond what leaving rows out takes off, so that a network with p numbers more than its rival is called better only if
its mean squared error is lower by two standard errors of the difference, and by p (ln n − 2)/n of itself: together
with what leaving out takes off, 2p/n, the price that the Bayesian information criterion asks for. Where a few rows make
most of the error, as beyond a kink that is far out, means say little; then it is better too if more rows than chance
would have it, by five standard errors of their number, are predicted better. Nor do they where rows are ten: a linear
function is better than the mean too if it takes a tenth off its squared error and a test asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.stats import f as f_distribution

from planted.methods._facts import LEVEL, RIVAL_ERRORS, SURE, TESTED_ROWS, TESTED_UNKNOWNS, WORTH
from planted.methods._filter_bank import FilterBank
from planted.methods._observations import Observations
from planted.networks import ConvNetwork, Network
from planted.numerics.decompositions import svd

FULL_LEVERAGE = 0.9
"""A first-order step says nothing of a row that alone determines something: leverages count as at most this."""
_VANISHING = 1e-9
_ENTRIES = 20_000_000

Predicting: TypeAlias = Network | ConvNetwork | FilterBank


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Squared errors of left-out rows by what predicts them, relative to the variance of the targets.

    Attributes
    ----------
    network, linear, mean : float
        Mean squared errors; NaN where there are too few rows.
    unbeaten : tuple of str
        Which of "mean" and "linear" the network is not better than.
    squares : array (s,) or (s, m)
        Squared errors of the network in the rows looked at.
    targets : tuple of (float, float, float)
        The three mean squared errors of each target, where there are several.
    linear_tells : bool
        Whether the linear function is better than the mean, and the network is not better than it.
    """

    network: float
    linear: float
    mean: float
    unbeaten: tuple[str, ...]
    squares: np.ndarray
    targets: tuple[tuple[float, float, float], ...] = ()
    linear_tells: bool = False


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Some observations, to compare what predicts them: places (s,) among all, weights (s,) with mean one, variances.

    Errors of a target are relative to its own variance, of which there are (m,), and averaged over targets.
    """

    data: Observations
    some: np.ndarray
    weight: np.ndarray
    variance: np.ndarray
    n_rows: float

    @classmethod
    def of(cls, data: Observations, n_rows: float, most: int = TESTED_ROWS, seed: int = 0) -> LeftOut:
        """At most so many observations of `n_rows` that there are."""
        n = len(data.y)
        some = np.arange(n)
        if n > most:
            some = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        weight = np.ones(len(some)) if data.weight is None else data.weight[some] / np.mean(data.weight[some])
        y = data.y[some].reshape(len(some), -1)
        centred = y - np.average(y, axis=0, weights=weight)
        variance = np.mean(weight[:, None] * centred**2, axis=0)
        # Beside the rounding of its mean, by which a constant target varies, every error is large.
        varies = (np.ptp(y, axis=0) > 0) & (variance > 0)
        return cls(data, some, weight, np.where(varies, variance, 1.0), max(n_rows, data.number))

    def more(self, numbers: int) -> LeftOut | None:
        """As many observations as models of so many numbers are affordable for; None if these are all."""
        most = max(TESTED_ROWS, _ENTRIES // max(numbers, 1))
        if len(self.some) >= min(most, len(self.data.y)):
            return None
        return LeftOut.of(self.data, self.n_rows, most)

    def squares(self, network: Predicting, *, intercept: bool) -> np.ndarray:
        """Squared errors (s,), or (s, m) of m targets, of the network in each row, left out, relative to variances."""
        rows = self.data.X[self.some]
        residual = (self.data.y[self.some] - network.predict(rows)).reshape(len(rows), -1)
        free = sum(np.size(part) for part in network.arrays().values())
        if free > TESTED_UNKNOWNS:
            leverage = np.full(residual.shape, min(free / (self.n_rows * residual.shape[1]), 1.0))
        else:
            J = network.jacobian(rows, intercept=intercept)
            share = min(1.0, len(rows) / len(self.data.y)) * min(1.0, self.data.number / self.n_rows)
            leverage = self._leverage(J.reshape(residual.size, -1), residual.shape) * share
        return self._relative(residual, leverage)

    def linear(self) -> np.ndarray:
        """The same of the linear function with an intercept that least squares fits to all observations."""
        X, y = self.data.X.reshape(len(self.data.y), -1), self.data.y.reshape(len(self.data.y), -1)
        n, d = X.shape
        if n > max(_ENTRIES // (d + 1), 2 * d):
            places = np.union1d(np.random.default_rng(1).choice(n, max(_ENTRIES // (d + 1), 2 * d)), self.some)
        else:
            places = np.arange(n)
        weight = np.ones(n) if self.data.weight is None else self.data.weight
        mean, scale = X.mean(axis=0), X.std(axis=0)

        def design(rows: np.ndarray) -> np.ndarray:
            return np.column_stack([np.ones(len(rows)), (X[rows] - mean) / np.where(scale > 0, scale, 1.0)])

        root = np.sqrt(weight[places])[:, None]
        weighted = design(places) * root
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        known = values > _VANISHING * values[-1]
        basis = vectors[:, known] / np.sqrt(values[known])
        fit = basis @ (basis.T @ (weighted.T @ (y[places] * root)))
        some = design(self.some)
        leverage = weight[self.some] * np.sum((some @ basis) ** 2, axis=1)
        return self._relative(y[self.some] - some @ fit, leverage[:, None])

    def mean(self) -> np.ndarray:
        """The same of the mean."""
        y = self.data.y[self.some].reshape(len(self.some), -1)
        return self._relative(y - np.average(y, axis=0, weights=self.weight), (self.weight / len(y))[:, None])

    def loss(self, squares: np.ndarray) -> float:
        """Weighted mean of squared errors (s,) or (s, m)."""
        return float(np.mean(self.by_target(squares)))

    def by_target(self, squares: np.ndarray) -> np.ndarray:
        """Weighted mean of squared errors (s,) or (s, m), for each target."""
        return np.asarray(np.mean((self.weight * squares.T).T, axis=0))

    def better(self, squares: np.ndarray, rival: np.ndarray, extra: int) -> bool:
        """Whether squared errors are lower than a rival's by what `extra` more numbers have to bring."""
        number = self._number
        total = float(np.sum(number))
        # What rounding makes of one function is no row that is predicted better.
        gap = np.where(np.abs(rival - squares) > _VANISHING * rival, rival - squares, 0.0).reshape(len(number), -1)
        gap = self.weight * total / (number * len(number)) * np.mean(gap, axis=1)
        signs = self.weight / number * np.sign(gap)
        if float(number @ signs) > SURE * float(np.sqrt(number @ signs**2)):
            return True
        mean = float(number @ gap) / total
        error = float(np.sqrt(number @ (gap - mean) ** 2)) / total
        price = self.loss(squares) * max(extra, 0) * max(np.log(self.n_rows) - 2, 0.0) / self.n_rows
        return mean > max(RIVAL_ERRORS * error, price)

    def slopes_tell(self, squares: np.ndarray, mean: np.ndarray) -> bool:
        """Whether squared errors of a linear function are lower than the mean's, and its slopes are no chance."""
        worth = self.loss(squares) < (1 - WORTH) * self.loss(mean)
        return worth and linear_p_value(*self.data[:3], counted=self.data.counted) < LEVEL

    @property
    def _number(self) -> np.ndarray:
        """Of observations that each row stands for (s,)."""
        if self.data.weight is None or not self.data.counted:
            return np.ones(len(self.some))
        return self.data.weight[self.some]

    def _leverage(self, J: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        weighted = J * np.sqrt(np.repeat(self.weight, shape[1]))[:, None]
        size = np.linalg.norm(weighted, axis=0)
        left, values, _ = svd(weighted / np.where(size > 0, size, 1.0))
        known = values > _VANISHING * max(float(values[0]), 1e-300)
        return np.asarray(np.sum(left[:, known] ** 2, axis=1)).reshape(shape)

    def _relative(self, residual: np.ndarray, leverage: np.ndarray) -> np.ndarray:
        # Of a row that stands for several observations, one is left out.
        number = np.maximum(self._number, 1.0)[:, None]
        left_out = residual / (1 - np.minimum(leverage / number, FULL_LEVERAGE))
        squares = left_out**2 / np.maximum(self.variance, 1e-300)
        return np.asarray(squares[:, 0] if self.data.y.ndim == 1 else squares)


def looked_at(
    left: LeftOut, network: Predicting, n_parameters: int, *, intercept: bool
) -> tuple[LeftOut, HeldOut | None]:
    """The comparison, with more observations where few of them leave open whether the network is better.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 2, 1, noise=10.0, random_state=0)
    >>> few = LeftOut.of(Observations(data.X, data.y), 20_000, most=50)
    >>> compared(few, data.teacher, 2, intercept=False).unbeaten
    ('mean', 'linear')
    >>> left, held = looked_at(few, data.teacher, 2, intercept=False)
    >>> len(left.some), held.unbeaten
    (20000, ('linear',))
    """
    held = compared(left, network, n_parameters, intercept=intercept)
    outputs = 1 if left.data.y.ndim == 1 else left.data.y.shape[1]
    wider = left.more(n_parameters * outputs) if held is not None and held.unbeaten else None
    return (left, held) if wider is None else (wider, compared(wider, network, n_parameters, intercept=intercept))


def compared(left: LeftOut, network: Predicting, n_parameters: int, *, intercept: bool) -> HeldOut | None:
    """The network beside the linear function and the mean; None where there are no more rows than numbers.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(300, 2, 1, noise=0.1, random_state=0)
    >>> left = LeftOut.of(Observations(data.X, data.y), 300)
    >>> shown = compared(left, data.teacher, 2, intercept=False)
    >>> shown.network < shown.linear < shown.mean, shown.unbeaten
    (True, ())
    """
    outputs = 1 if left.data.y.ndim == 1 else left.data.y.shape[1]
    d = int(np.prod(left.data.X.shape[1:]))
    if left.n_rows * outputs <= n_parameters + outputs:
        return None
    own, mean = left.squares(network, intercept=intercept), left.mean()
    curved = network_is_curved(network)
    beaten = left.better(own, mean, n_parameters - outputs) or (not curved and left.slopes_tell(own, mean))
    unbeaten = [] if beaten else ["mean"]
    linear, tells = np.full(own.shape, np.nan), False
    if left.n_rows > d + 2:
        linear = left.linear()
        if curved and not left.better(own, linear, n_parameters - outputs * (d + 1)):
            unbeaten.append("linear")
            tells = left.better(linear, mean, outputs * d) or left.slopes_tell(linear, mean)
    each = [left.by_target(squares).tolist() for squares in (own, linear, mean)] if own.ndim > 1 else []
    targets = tuple(zip(*each, strict=True))
    return HeldOut(left.loss(own), left.loss(linear), left.loss(mean), tuple(unbeaten), own, targets, tells)


def linear_p_value(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, *, counted: bool = True) -> float:
    r"""p-value of tests that targets y (n,) or (n, m) have a mean only and no linear function of inputs X (n, ...).

    One is of all inputs, where rows are more, and one of each input: the least, times the number of tests. Of several
    targets the least, times theirs. NaN where rows are too few.

    Each is the larger p-value of two, that of an F-test and one that does without noise of one size. Of an orthonormal
    basis U (n, q) of the centred inputs √w x the score u = Uᵀ √w y has Σ_i U_i U_iᵀ e_i² for a covariance, with
    e_i² = w_i r_i²/(1 − h_i)^δ_i, r the residuals, h the leverages, δ_i = h_i/h̄ between 1 and 4 (HC4: Cribari-Neto,
    2004). With its trace t and the trace s of its square, ‖u‖²/t is compared with F(t²/s, ν), which has its first two
    moments, where t has the variance 2t²/ν of a sum of squares of normal variables.

    Parameters
    ----------
    counted : bool
        Whether a row of weight w is w equal rows. Otherwise it is one, as precise as its weight says or not.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> linear_p_value(X, X[:, 0] + np.sin(99 * X[:, 1])) < 1e-6
    True
    >>> linear_p_value(X**3, X[:, 0] ** 3 * np.random.default_rng(1).standard_normal(100)) > 0.01
    True
    """
    weights = np.ones(len(y)) if weight is None else weight
    number = weights if counted else np.ones(len(y))
    n, root, share = float(np.sum(number)), np.sqrt(weights)[:, None], weights / np.sum(weights)
    inputs, targets = (
        (part.reshape(len(y), -1) - np.average(part.reshape(len(y), -1), axis=0, weights=weights)) * root
        for part in (X, y)
    )
    scale = np.linalg.norm(inputs, axis=0)
    inputs = inputs[:, scale > 0] / scale[scale > 0]
    if n <= 2 or not inputs.shape[1] or not np.all(np.sum(targets**2, axis=0) > 0):
        return np.nan
    values, vectors = np.linalg.eigh(inputs.T @ inputs)
    known = values > _VANISHING * max(float(values[-1]), 1e-300)
    basis, rank = inputs @ (vectors[:, known] / np.sqrt(values[known])), int(np.sum(known))
    least = []
    for target in targets.T:
        each = [_of_each(inputs, target, share, number) * inputs.shape[1]]
        if n > rank + 1 > 2:
            each.append(_of_all(basis, target, share, number))
        least.append(min(each) * len(each))
    return min(1.0, min(least) * len(least))


def _of_each(inputs: np.ndarray, target: np.ndarray, share: np.ndarray, number: np.ndarray) -> float:
    """The least p-value of single inputs (n, d) of unit length."""
    score, squares = inputs.T @ target, inputs**2
    errors = _inflated(target[:, None] - inputs * score, squares, share, number, 1)
    return float(np.min(_larger(score**2, float(target @ target), squares * errors, number, 1, 1.0)))


def _of_all(basis: np.ndarray, target: np.ndarray, share: np.ndarray, number: np.ndarray) -> float:
    """The p-value of all inputs, of which there is an orthonormal basis (n, q)."""
    score, squares, rank = basis.T @ target, np.sum(basis**2, axis=1)[:, None], basis.shape[1]
    errors = _inflated((target - basis @ score)[:, None], squares, share, number, rank)
    covariance = basis.T @ (basis * (errors / number[:, None]))
    freedom = np.clip(np.trace(covariance) ** 2 / max(np.sum(covariance**2), 1e-300), 1.0, rank)
    fitted, total = np.array([score @ score]), float(target @ target)
    return float(_larger(fitted, total, squares * errors, number, rank, float(freedom))[0])


def _inflated(
    residual: np.ndarray, squares: np.ndarray, share: np.ndarray, number: np.ndarray, rank: int
) -> np.ndarray:
    """Squared residuals (n, t), the larger the more leverage a row has."""
    leverage = (squares + share[:, None]) / number[:, None]
    power = np.clip(leverage * np.sum(number) / (rank + 1), 1.0, 4.0)
    return np.asarray(residual**2 / (1 - np.minimum(leverage, FULL_LEVERAGE)) ** power)


def _larger(
    fitted: np.ndarray, total: float, terms: np.ndarray, number: np.ndarray, rank: int, freedom: float
) -> np.ndarray:
    """The larger p-value (t,) of an F-test of sums of squares (t,) of a total, and of one beside their terms (n, t)."""
    spare = float(np.sum(number)) - rank - 1
    ratio = (fitted / rank) / np.maximum((total - fitted) / spare, 1e-300)
    terms = terms / number[:, None]
    trace = np.sum(terms, axis=0)
    unit = np.maximum(trace, 1e-300)
    # A term is the square of a normal variable, whose fourth moment is three times its variance squared.
    fourth = np.sum((terms / unit) ** 2 / number[:, None], axis=0)
    known = np.clip(3 / np.maximum(fourth, 1e-300), 1, spare)
    even, uneven = f_distribution.sf(ratio, rank, spare), f_distribution.sf(fitted / unit, freedom, known)
    return np.asarray(np.maximum(even, uneven))


def network_is_curved(network: Predicting) -> bool:
    """Whether the network has neurons that are more than a linear function.

    >>> network_is_curved(Network(np.zeros((0, 2)), np.zeros(0), skip=[1.0, 2.0]))
    False
    """
    return not (isinstance(network, Network) and network.n_hidden == 0)
