r"""Standard errors of a fitted network, from the Gauss–Newton matrix or the sandwich.

With J (n, p) the derivative of the predictions and r the residuals, the estimate of least squares has covariance
σ² (JᵀJ)⁻¹ for noise of one variance, and (JᵀJ)⁻¹ (Jᵀ diag(r²) J) (JᵀJ)⁻¹ whatever the variances. For homogeneous φ
the length of a row is free, so JᵀJ is singular along it; the errors given are those of the canonical network (unit
rows, output_i ‖weights_i‖^p), whose derivative vanishes along that direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_rows
from planted.objectives import Squared, evaluate
from planted.rows import ArrayRows, Block, Rows
from planted.solvers import normal_equations

_VANISHING = 1e-10


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of the parameters of a canonical network, infinite where the rows leave one open.

    Attributes
    ----------
    network : Network
        The canonical form that the errors belong to.
    weights, output, bias, intercept : arrays (k, d), (k,), (k,) and (), or None
        One standard error for each parameter.
    noise : float
        Standard deviation of the residuals, degrees of freedom taken off.
    """

    network: Network
    weights: np.ndarray
    output: np.ndarray
    bias: np.ndarray | None
    intercept: np.ndarray | None
    noise: float

    def intervals(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Lower and upper ends (2, …) by name, from the normal approximation.

        >>> from planted.datasets import make_planted
        >>> data = make_planted(500, 2, 1, noise=0.1, random_state=0)
        >>> standard_errors(data.X, data.y, data.teacher).intervals(0.9)["output"].shape
        (2, 1)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        reach = norm.ppf(0.5 + level / 2)
        ends = {}
        for name in ("weights", "output", "bias", "intercept"):
            error = getattr(self, name)
            if error is not None:
                value = np.asarray(getattr(self.network, name))
                ends[name] = np.stack([value - reach * error, value + reach * error])
        return ends


@float64
def standard_errors(
    X: ArrayLike,
    y: ArrayLike,
    network: Network,
    *,
    robust: bool = False,
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
) -> StandardErrors:
    """Standard errors of a network that minimises the squared loss on X (n, d), y (n,).

    Parameters
    ----------
    robust : bool
        The sandwich, for noise whose variance differs from row to row, or row weights that are no inverse variances.
    fit_intercept : bool
        Whether the intercept was fitted.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(1000, 3, 2, noise=0.1, random_state=0)
    >>> bool(np.all(standard_errors(data.X, data.y, data.teacher).output < 0.02))
    True
    """
    inputs, targets = as_rows(X, y)
    net = network.canonical()
    weight = np.ones(len(inputs)) if sample_weight is None else np.asarray(sample_weight, float)
    params: dict[str, Any] = {"weights": net.weights, "output": net.output}
    if net.bias is not None:
        params["bias"] = net.bias
    if fit_intercept:
        params["intercept"] = np.asarray(net.intercept)
    elif net.intercept:
        targets = targets - net.intercept
    residual = targets - Network(net.weights, net.output, net.activation, net.bias).predict(inputs)
    if fit_intercept:
        residual = residual - net.intercept

    def gram(row_weight: np.ndarray) -> np.ndarray:
        rows = ArrayRows(to_jax(inputs), to_jax(targets), to_jax(row_weight))
        loss = Squared.on(rows, net.activation, bias=net.bias is not None, intercept=fit_intercept)
        return np.asarray(normal_equations(loss, to_jax(params))[0]) * row_weight.sum()

    meat_weight = weight**2 * residual**2
    meat = gram(meat_weight) if robust and np.any(meat_weight > 0) else None
    scatter = float(np.sum(weight * residual**2) / np.mean(weight))
    return _from_sums(net, params, gram(weight), scatter, len(inputs), float(np.mean(weight)), meat)


@float64
def standard_errors_over(rows: Rows, network: Network, *, fit_intercept: bool = False) -> StandardErrors:
    """:func:`standard_errors` of a network that minimises the squared loss over unweighted rows: one pass.

    >>> from planted.datasets import make_planted
    >>> from planted.rows import block_rows
    >>> data = make_planted(1000, 3, 2, noise=0.1, random_state=0)
    >>> sure = standard_errors_over(block_rows(data.X, data.y), data.teacher)
    >>> bool(np.allclose(sure.output, standard_errors(data.X, data.y, data.teacher).output))
    True
    """
    net = network.canonical()
    params: dict[str, Any] = {"weights": net.weights, "output": net.output}
    if net.bias is not None:
        params["bias"] = net.bias
    if fit_intercept:
        params["intercept"] = np.asarray(net.intercept)
    elif net.intercept:
        rows = rows.map(block_shifted, np.asarray(net.intercept))
    loss = Squared.on(rows, net.activation, bias=net.bias is not None, intercept=fit_intercept)
    point, n = to_jax(params), float(rows.total_weight)
    gram = np.asarray(normal_equations(loss, point)[0]) * n
    return _from_sums(net, params, gram, 2 * n * float(evaluate(loss, point)), round(n), 1.0, None)


def block_shifted(block: Block, constant: Any) -> Block:
    """The block with a constant taken off its targets."""
    return block | {"y": block["y"] - constant}


def _from_sums(
    net: Network,
    params: dict[str, Any],
    gram: np.ndarray,
    scatter: float,
    n: int,
    mean_weight: float,
    meat: np.ndarray | None,
) -> StandardErrors:
    """Errors from JᵀJ, the sum of squared residuals and, for the sandwich, its meat."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _VANISHING * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    noise = float(np.sqrt(scatter / max(n - int(kept.sum()), 1)))
    covariance = noise**2 * mean_weight * inverse if meat is None else inverse @ meat @ inverse
    slope = _slope(params, net)
    variance = np.einsum("ij,jk,ik->i", slope, covariance, slope)
    open_ = np.linalg.norm(slope @ vectors[:, ~kept], axis=1) > 1e-6
    errors = np.where(open_, np.inf, np.sqrt(np.maximum(variance, 0.0)))
    names, sizes = sorted(params), [np.size(params[name]) for name in sorted(params)]
    parts = zip(names, np.split(errors, np.cumsum(sizes)[:-1]), strict=True)
    named = {name: part.reshape(np.shape(params[name])) for name, part in parts}
    return StandardErrors(net, named["weights"], named["output"], named.get("bias"), named.get("intercept"), noise)


def _slope(params: dict[str, Any], network: Network) -> np.ndarray:
    """Derivative (p, p) of the canonical parameters by the parameters, at canonical ones, in the order of their names.

    For φ of degree p and a unit row u: u changes by (I − uuᵀ)dw, the output by da + p a u·dw, the bias by db − b u·dw.
    """
    names = sorted(params)
    starts = dict(zip(names, np.cumsum([0, *(np.size(params[name]) for name in names)]), strict=False))
    slope = np.eye(sum(np.size(value) for value in params.values()))
    degree = network.activation.homogeneity
    if degree is None:
        return slope
    d = network.n_features
    for i, row in enumerate(network.weights):
        w = slice(starts["weights"] + i * d, starts["weights"] + (i + 1) * d)
        slope[w, w] -= np.outer(row, row)
        slope[starts["output"] + i, w] = degree * network.output[i] * row
        if network.bias is not None:
            slope[starts["bias"] + i, w] = -network.bias[i] * row
    return slope
