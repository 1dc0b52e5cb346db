r"""How far the parameters of a fitted network may be off: covariance, standard errors, intervals, ellipsoids.

An estimate that minimises a mean loss over n rows is asymptotically normal. With A the Gauss–Newton or Fisher matrix
and S the mean outer product of the rows' gradients (:func:`planted.objectives.curvature_matrix`, `score_matrix`) its
covariance is

    σ² A⁻¹/n     for a squared loss and noise of one variance σ², estimated from the residuals,
    A⁻¹MA⁻¹/n    for several targets, M = mean JᵀSJ, S (m, m) the covariance of their residuals,
    A⁻¹/n        for a likelihood, which no unbiased estimate can beat (Cramér–Rao),
    A⁻¹SA⁻¹/n    the sandwich, whatever the variances of the rows,

and B⁻¹AB⁻¹/n with B = A + the curvature of a penalty, around a mean that the penalty has moved.

The errors belong to the canonical network. A direction that its form takes out (the scale between the layers of
homogeneous φ, a function added to all log-odds) is no uncertainty. Any other direction that A does not see is one that
the rows leave open: parameters that it reaches have infinite errors, the others keep theirs. The scale of a neuron is
then that of the part of its weights which rows determine, so that what is open is not carried to every other number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.stats import chi2, norm

from planted.certificates._ellipsoid import Ellipsoid
from planted.certificates._unit_scale import unit_scaled
from planted.networks import ConvNetwork, Network, grown
from planted.numerics.decompositions import svd
from planted.numerics.precision import float64
from planted.objectives import (
    Fit,
    Likelihood,
    Params,
    curvature_matrix,
    evaluate,
    named,
    noise_scores,
    residual_products,
    score_matrix,
)

# Shares of the largest below which eigenvalues of a curvature, and singular values of derivatives, are rounding.
_VANISHING, _VANISHING_ROOT = 1e-10, 1e-12
_REACHED, _ROUNDED = 1e-6, 1e-9
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The normal approximation around an estimate.

    Attributes
    ----------
    network : Network or ConvNetwork
        The canonical network that the errors belong to; with fixed outputs the network as it is.
    estimate, errors : dict of arrays
        Its fitted parameters and their standard errors by name; an error is infinite where the rows leave it open.
    covariance : array (p, p)
        Of the fitted parameters, flattened by sorted name; NaN in rows and columns of parameters that are left open,
        whose variances are infinite.
    noise : float, array (m,) or None
        Standard deviation of the residuals of a squared loss, degrees of freedom taken off; of several targets each.
    n_rows : float
        Sum of the rows' weights: a row of weight w counts like w equal rows.
    rank, n_parameters : int
        How many free parameters the rows determine, and how many there are.
    flat_directions : array (p, n_parameters − rank)
        Orthonormal basis of what the rows leave open, in the order of `covariance`.
    biased : bool
        Whether a penalty has pulled the estimate, so that intervals lie around a mean that is not the truth.
    covariance_beside : array (p, p)
        The covariance without what the rows leave open, finite everywhere: of combinations of parameters on which that
        has no effect.
    moved : array (p, q)
        How every parameter of the canonical network moves along each direction that is left open.
    ratios : array (draws, p), optional
        Errors at other parameters that are as likely, over those at the estimate
        (:func:`planted.certificates.error_ratios`), which intervals allow for.
    noise_covariance : array (m, m), optional
        Of the residuals of several targets.
    spread : array (d,), optional
        Standard deviations of the inputs, in units of which relative errors are taken; in the inputs' own without.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> from planted.objectives import Squared
    >>> data = make_planted(1000, 3, 2, noise=0.1, random_state=0)
    >>> loss = Squared(data.X, data.y)
    >>> result = uncertainty(loss, loss.model.params(data.teacher))
    >>> result.determined, bool(np.all(result.output < 0.02)), result.intervals(0.9)["weights"].shape
    (True, True, (2, 2, 3))
    """

    network: Network | ConvNetwork
    estimate: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    covariance: np.ndarray
    noise: Any
    n_rows: float
    rank: int
    n_parameters: int
    flat_directions: np.ndarray
    biased: bool
    covariance_beside: np.ndarray
    moved: np.ndarray
    ratios: np.ndarray | None = None
    noise_covariance: np.ndarray | None = None
    spread: np.ndarray | None = None

    @property
    def determined(self) -> bool:
        """Whether the rows determine every free parameter to first order."""
        return self.rank == self.n_parameters

    @property
    def weights(self) -> np.ndarray | None:
        """Standard errors (k, d) of the weights."""
        return self.errors.get("weights")

    @property
    def output(self) -> np.ndarray | None:
        """Standard errors (k,) or (m, k) of the output weights, None if they are fixed."""
        return self.errors.get("output")

    @property
    def bias(self) -> np.ndarray | None:
        """Standard errors (k,) of the biases."""
        return self.errors.get("bias")

    @property
    def intercept(self) -> np.ndarray | None:
        """Standard errors () or (m,) of the intercepts."""
        return self.errors.get("intercept")

    @property
    def skip(self) -> np.ndarray | None:
        """Standard errors (d,) or (m, d) of the linear part."""
        return self.errors.get("skip")

    def intervals(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Lower and upper ends (2, …) by name of intervals that each cover their parameter with this probability."""
        reach = self.reach(level)
        return {
            name: self.estimate[name] + np.multiply.outer([-1.0, 1.0], reach[name] * self.errors[name])
            for name in reach
        }

    def reach(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """How many standard errors the interval of each parameter reaches to either side, by name."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        names = sorted(self.errors)
        sizes = [self.errors[name].size for name in names]
        normal = np.full(sum(sizes), norm.ppf(0.5 + level / 2))
        reach = normal if self.ratios is None else mixture_reach(self.ratios, level)
        parts = np.split(reach, np.cumsum(sizes)[:-1])
        return {name: part.reshape(self.errors[name].shape) for name, part in zip(names, parts, strict=True)}

    def in_units(self, unit: Any, network: Network | ConvNetwork) -> Uncertainty:
        """The same for targets divided by `unit`, or (m,) of them: outputs, intercepts and linear parts grow by it."""
        size = {name: grown(np.ones(value.shape), name, unit) for name, value in self.estimate.items()}
        factors = np.concatenate([size[name].ravel() for name in sorted(self.estimate)])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            covariance = self.covariance * np.outer(factors, factors)
            beside = self.covariance_beside * np.outer(factors, factors)
            between = self.noise_covariance
            if between is not None:
                between = between * np.multiply.outer(unit * np.ones(len(between)), unit)
        return replace(
            self,
            network=network.canonical(),
            estimate={name: value * size[name] for name, value in self.estimate.items()},
            errors={name: value * size[name] for name, value in self.errors.items()},
            covariance=covariance,
            covariance_beside=beside,
            moved=self.moved * factors[:, None],
            noise=None if self.noise is None else self.noise * unit,
            noise_covariance=between,
        )

    @property
    def _first_layer(self) -> str:
        return next(name for name in ("weights", "filters", "filter") if name in self.errors)

    def ellipsoid(self, neuron: int, level: float = 0.95) -> Ellipsoid:
        """The confidence ellipsoid of one neuron's weights; a ValueError if the rows leave them open."""
        name = self._first_layer
        rows, errors = np.atleast_2d(self.estimate[name]), np.atleast_2d(self.errors[name])
        if not np.all(np.isfinite(errors[neuron])):
            raise ValueError(f"the rows leave the weights of neuron {neuron} open")
        d = rows.shape[1]
        start = sum(array.size for other, array in self.estimate.items() if other < name) + range(len(rows))[neuron] * d
        block = self.covariance[start : start + d, start : start + d]
        # A unit row has no error along itself, which takes one dimension off.
        dimensions = np.linalg.matrix_rank(block, rtol=_VANISHING, hermitian=True)
        return Ellipsoid(rows[neuron], block, float(chi2.ppf(level, dimensions)))

    @property
    def expected_error(self) -> float:
        """√(tr Cov)/‖W‖ over the weights of the neurons: the expected relative Frobenius error."""
        estimate, errors = (part[self._first_layer] for part in self.comparable)
        size = np.linalg.norm(estimate)
        return float(np.linalg.norm(errors) / size) if size > 0 else math.inf

    @cached_property
    def comparable(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Estimates and errors by name, with inputs in units of their spread, so that weights of all inputs compare."""
        if self.spread is None or not isinstance(self.network, Network) or "filters" in self.estimate:
            return self.estimate, self.errors
        scaled = unit_scaled(self.network, self.spread, self)
        return {name: scaled.network.arrays()[name] for name in self.estimate}, scaled.errors

    @property
    def relative_error(self) -> float:
        """The larger of the relative errors of the neurons, weights with biases, and of the outputs.

        Without neurons that of the linear part and the intercept.
        """
        layers: list[tuple[str, ...]] = [(self._first_layer, "bias"), ("output",)]
        if not self.estimate[self._first_layer].size:
            layers = [("skip", "intercept")]
        sizes = []
        for names in layers:
            there = [name for name in names if name in self.errors]
            size, error = (
                math.hypot(*(float(np.linalg.norm(part[name])) for name in there)) for part in self.comparable
            )
            sizes.append(0.0 if not there else error / size if size > 0 else math.inf)
        return max(sizes)

    def rows_for(self, error: float) -> float:
        """How many rows bring the expected relative error down to `error`; infinite if not determined."""
        with np.errstate(over="ignore"):
            return float(self.n_rows * np.float64(self.expected_error / error) ** 2)


def mixture_reach(ratios: np.ndarray, level: float) -> np.ndarray:
    """q/s (p,) for ratios (draws, p): how many errors an interval of this level reaches.

    >>> mixture_reach(np.ones((4, 2)), 0.95).round(2)
    array([1.96, 1.96])
    """
    normal = norm.ppf(0.5 + level / 2)
    low, high = normal * ratios.min(axis=0), normal * ratios.max(axis=0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        short = np.mean(norm.cdf(middle / np.maximum(ratios, 1e-300)), axis=0) < 0.5 + level / 2
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2)


class _Inverse(NamedTuple):
    """A generalised inverse (p, p), its rank, directions (p, m) that it leaves out, and the units (p,) of entries."""

    matrix: np.ndarray
    rank: int
    flat: np.ndarray
    units: np.ndarray


def inverse_beside(matrix: np.ndarray, gauge: np.ndarray, root: np.ndarray | None = None) -> _Inverse:
    """Inverse of a positive semi-definite matrix (p, p) beside directions `gauge` (s, p) that do not count.

    Directions are judged in units of the diagonal, so that units of inputs and targets do not matter. Where a `root`
    J (n, p) with JᵀJ = matrix is given, they are judged by its singular values. Eigenvalues are the squares of these,
    and rounding hides them where the ratio of singular values is below 1e-8.
    """
    p = len(matrix)
    if not np.all(np.isfinite(matrix)):
        return _Inverse(np.zeros((p, p)), 0, np.eye(p), np.ones(p))
    diagonal = np.diagonal(matrix)
    scale = np.where(diagonal > 1e-300, diagonal, 1.0) ** -0.5
    if root is not None:
        return _inverse_by_root(root * scale, gauge / scale, scale)
    scaled = matrix * np.outer(scale, scale)
    if len(gauge):
        # What does not count is given the curvature of an average direction.
        across, _ = np.linalg.qr((gauge / scale).T)
        scaled = scaled - across @ (across.T @ scaled)
        scaled = scaled - (scaled @ across) @ across.T
        scaled = scaled + across @ across.T * max(float(np.mean(np.diagonal(scaled))), 1e-300)
    values, vectors = scipy.linalg.eigh((scaled + scaled.T) / 2)
    known = values > _VANISHING * max(float(values[-1]), 1e-300)
    basis = scale[:, None] * vectors[:, known]
    rank = int(known.sum()) - len(gauge)
    return _Inverse((basis / values[known]) @ basis.T, rank, scale[:, None] * vectors[:, ~known], scale)


def _inverse_by_root(root: np.ndarray, gauge: np.ndarray, scale: np.ndarray) -> _Inverse:
    """The same from J (n, p), with columns and `gauge` (s, p) in units `scale` (p,) already."""
    if len(gauge):
        across, _ = np.linalg.qr(gauge.T)
        average = math.sqrt(max(float(np.mean(np.sum(root**2, axis=0))), 1e-300))
        root = np.concatenate([root - (root @ across) @ across.T, average * across.T])
    _, values, vectors = svd(np.asarray(np.linalg.qr(root, mode="r")), full_matrices=True)
    values = np.concatenate([values, np.zeros(len(vectors) - len(values))])
    known = values > _VANISHING_ROOT * max(float(values[0]), 1e-300)
    basis = scale[:, None] * vectors[known].T / values[known]
    rank = int(known.sum()) - len(gauge)
    return _Inverse(basis @ basis.T, rank, scale[:, None] * vectors[~known].T, scale)


@float64
def uncertainty(
    objective: Fit,
    params: Params,
    *,
    robust: bool = False,
    least_noise: float = 0.0,
    class_weight: ArrayLike | None = None,
    meat: ArrayLike | None = None,
    root: ArrayLike | None = None,
) -> Uncertainty:
    """The uncertainty of the estimate `params` that minimises `objective` over its rows.

    Parameters
    ----------
    objective : Fit
        Any model and loss, over rows in memory or in chunks, weighted or not.
    params : dict of arrays
        All parameters, at the minimum.
    robust : bool
        The sandwich, for noise whose variance differs from row to row, and for a loss that is not the likelihood of
        the data.
    least_noise : float
        Standard deviation that the residuals of a squared loss have at least, such as that of rounding.
    class_weight : array (m,), optional
        Factors that the weights of rows with targets 0, …, m − 1 contain and that do not repeat rows; the sandwich.
    meat : array (p, p), optional
        S of the sandwich, where it is not the mean outer product of the rows' gradients.
    root : array (n, p), optional
        J with JᵀJ = A: derivatives of the predictions at the canonical network, times roots of the rows' shares. It
        tells directions that rows without noise hardly see from those that they do not see.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(5000, 3, 1, activation="sigmoid", task="classification", random_state=0)
    >>> result = uncertainty(Likelihood(data.X, data.y), data.teacher.weights)
    >>> bool(np.all(result.weights < 0.1)), result.determined
    (True, True)
    """
    model = objective.model
    given = model.canonical(named(objective.checked(params)))
    network = model.network(given)
    if given.keys() != model.params(network).keys():
        raise ValueError(f"params has {sorted(given)}, but {sorted(model.params(network))} were fitted")
    n, n_parameters = float(objective.rows.total_weight), model.n_parameters(given)
    curvature, gauge = np.asarray(curvature_matrix(objective, given)[0]), model.gauge(given)
    loss = float(evaluate(objective, given)) if objective.loss.noisy else 0.0
    information = curvature
    if objective.ridge is not None:
        ridge = objective.canonical_ridge(given)
        information = curvature - np.diag(objective.flat_ridge(given))
        curvature = information + np.diag(ridge)
        # What the penalty bends is no free choice any more.
        gauge = gauge[~np.any(gauge * ridge, axis=1)]
    inverse = inverse_beside(curvature, gauge, None if root is None else np.asarray(root, dtype=np.float64))
    covariance, noise, between = inverse.matrix / n, None, None
    if objective.ridge is not None:
        covariance = inverse.matrix @ information @ inverse.matrix / n
    if objective.loss.noisy:
        if model.n_outputs is None:
            noise = max(math.sqrt(2 * n * loss / max(n - inverse.rank, 1.0)), least_noise)
            covariance = noise**2 * covariance
        else:
            products = np.asarray(residual_products(objective, given))
            between = _noise_covariance(products, n, inverse.rank, least_noise)
            noise = np.sqrt(np.diagonal(between))
            covariance = inverse.matrix @ np.asarray(noise_scores(objective, given, between)) @ inverse.matrix / n
    if meat is None and (robust or class_weight is not None):
        meat = score_matrix(objective, given, class_weight)
    if meat is not None:
        covariance = inverse.matrix @ np.asarray(meat) @ inverse.matrix / n
    # Entries that rounding explains are none.
    flat = np.where(np.abs(inverse.flat) > _ROUNDED * inverse.units[:, None], inverse.flat, 0.0)
    slope = model.canonical_slope(given, flat if flat.shape[1] else None)
    covariance = slope @ covariance @ slope.T
    beside, moved = covariance.copy(), slope @ flat
    reached = np.linalg.norm(moved, axis=1) > _REACHED * inverse.units
    covariance[reached], covariance[:, reached] = np.nan, np.nan
    np.fill_diagonal(covariance, np.where(reached, np.inf, np.maximum(np.diagonal(covariance), 0.0)))
    errors, names = np.sqrt(np.diagonal(covariance)), sorted(given)
    parts = np.split(errors, np.cumsum([given[name].size for name in names])[:-1])
    return Uncertainty(
        network=network,
        estimate=given,
        errors={name: part.reshape(given[name].shape) for name, part in zip(names, parts, strict=True)},
        covariance=covariance,
        noise=noise,
        n_rows=n,
        rank=min(inverse.rank, n_parameters),
        n_parameters=n_parameters,
        flat_directions=np.linalg.qr(inverse.flat)[0],
        biased=objective.ridge is not None,
        covariance_beside=beside,
        moved=moved,
        noise_covariance=between,
    )


def _noise_covariance(products: np.ndarray, n: float, rank: int, least: float) -> np.ndarray:
    """S (m, m) from the mean products of residuals; every target pays for its share of the numbers fitted.

    >>> _noise_covariance(np.array([[1.0, 0.0], [0.0, 4.0]]), 10.0, 10, 0.0)
    array([[2., 0.],
           [0., 8.]])
    """
    m = len(products)
    size = np.sqrt(np.diagonal(products))
    unit = np.where(size > 0, size, 1.0)
    # Rounding of one target has nothing to do with that of another.
    between = np.where(np.eye(m, dtype=bool), 1.0, products / np.outer(unit, unit))
    size = np.maximum(size * math.sqrt(n * m / max(n * m - rank, 1.0)), least)
    return np.asarray(between * np.outer(size, size))


@float64
def cramer_rao(X: ArrayLike, weights: ArrayLike, activation: Any = "sigmoid") -> Uncertainty:
    """The bound on any unbiased estimate of `weights` (k, d) from labels drawn at the rows of X.

    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> bool(cramer_rao(X, [[1.0, 0.0]]).expected_error < 0.2)
    True
    """
    return uncertainty(Likelihood(X, np.zeros(len(np.asarray(X))), activation), np.asarray(weights))
