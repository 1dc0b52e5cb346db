r"""Losses of small networks on the host, in NumPy: nothing has to be compiled for a first answer.

A compiled program pays for itself when it is used for long. A network of a few neurons on a few thousand rows is
fitted in less time than one program takes to compile. With z = Wx + b, features f = ψ(z), predictions p = Af + Sx +
c, slopes r of the loss (p − y for squared errors) of weight w and u = Aᵀr ∘ ψ'(z), the derivatives are sums over rows:

    ∂/∂A = Σ w r fᵀ,   ∂/∂W = Σ w u xᵀ,   ∂/∂b = Σ w u,   ∂/∂S = Σ w r xᵀ,   ∂/∂c = Σ w r,

and the Hessian is JᵀCJ, C the curvature of the loss, plus Σ w (Aᵀr)_i ψ''(z_i) x̃x̃ᵀ for each neuron, x̃ = (x, 1), and
Σ w r_o ψ'(z_i) x̃ between output weight (o, i) and the neuron's row. Those of filters that patches share are in
:mod:`planted.objectives._host_filters`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from planted.objectives._host_filters import (
    FilterCoordinates,
    jacobian,
    neurons,
    predictions,
    second_derivatives,
)
from planted.objectives._host_losses import bends, curved, slopes, values
from planted.objectives._host_outputs import curvature_of_outputs
from planted.objectives._losses import SMALLEST, BernoulliMean

LARGEST_WORK = 2_000_000
"""Rows × neurons × inputs up to which the host computes."""
HESSIAN_WORK = 20_000_000
"""The same for whole Hessians, which are products of tall matrices here and of one vector after another there."""
MANY_INPUTS_WORK, FEW_NEURONS = 20_000_000, 20_000
"""The same, and rows × neurons, where inputs are so many that all work is in products with x."""
_JACOBIAN_ENTRIES = 4_000_000
# Numbers x up to which rows are taken in one piece, and numbers in a piece of more.
_WHOLE, _PIECE = 1 << 20, 1 << 17


class Point(NamedTuple):
    """What every sum needs: rows x (n, d), weights (n,) that sum to one, features, slopes (n, k), and of the loss its
    predictions and its slopes, `residual`, (n, m). Rows of patches (n, k, p) have their `filters` in place of outputs.
    """

    x: np.ndarray
    weight: np.ndarray
    z: np.ndarray
    feature: np.ndarray
    slope: np.ndarray
    prediction: np.ndarray
    residual: np.ndarray
    output: np.ndarray
    complement: np.ndarray | None = None
    filters: FilterCoordinates | None = None


def is_small(objective: Any, params: Any, work: int = LARGEST_WORK) -> bool:
    """Whether an objective at these parameters is one for the host: a known model, loss and activation, few rows.

    >>> from planted.objectives import Squared
    >>> loss = Squared(np.ones((4000, 300)), np.ones(4000))
    >>> [is_small(loss, {"weights": np.ones((k, 300)), "output": np.ones(k)}) for k in (3, 30)]
    [True, False]
    """
    model, rows = objective.model, objective.rows
    if not (objective.on_host and isinstance(params, dict)):
        return False
    leaves = [*jax.tree.leaves(params), *jax.tree.leaves(model), *jax.tree.leaves(rows)]
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        return False
    if "weights" not in params:
        shared = model.filter_coordinates(params)
        return shared is not None and rows.size * math.prod(rows.shape) * len(shared.filters) <= work
    k, d = np.shape(params["weights"])
    dense = rows.size * max(k, 1)
    return dense * d <= (max(work, MANY_INPUTS_WORK) if dense <= FEW_NEURONS else work)


def _pieces(objective: Any) -> list[slice]:
    """Rows that stay in the cache together."""
    x = objective.rows.on_host[0]
    n, d = len(x), math.prod(x.shape[1:])
    if n * d <= _WHOLE:
        return [slice(None)]
    step = max(_PIECE // d, 1)
    return [slice(start, start + step) for start in range(0, n, step)]


def at(objective: Any, params: dict[str, Any], rows: slice = slice(None)) -> Point:
    """The objective's rows at a point, or some of them."""
    x, y, weight = (part[rows] for part in objective.rows.on_host)
    model = objective.model
    shared = model.filter_coordinates(params)
    if shared is not None:
        parts = neurons(model.activation, x, shared)
        prediction = predictions(parts[1], shared)
        residual = slopes(objective.loss, prediction, y)
        return Point(x, weight, *parts, prediction, residual, shared.output, filters=shared)
    weights = np.asarray(params["weights"])
    # Neuron by neuron in memory, so that loops over entries are long.
    z = (weights @ x.T).T
    if model.bias:
        z = z + np.asarray(params["bias"])
    act = model.activation
    feature, slope = act(z), act.derivative(z)
    if model.symmetric:
        feature, slope = feature - act.offset - act.tilt * z, slope - act.tilt
    output = np.atleast_2d(model.outer(params)).astype(x.dtype)
    feature, slope = feature.astype(x.dtype, copy=False), slope.astype(x.dtype, copy=False)
    prediction = feature @ output.T
    if model.intercept:
        prediction = prediction + np.asarray(params["intercept"])
    if model.skip:
        prediction = prediction + x @ np.atleast_2d(np.asarray(params[model.linear_part])).T
    complement = None
    if isinstance(objective.loss, BernoulliMean):
        # 1 − φ(z) = φ(−z) where φ is odd about 1/2, which keeps digits that the subtraction loses.
        complement = act(-z) @ output.T if model.mirrored else 1 - prediction
    residual = slopes(objective.loss, prediction, y, complement)
    return Point(x, weight, z, feature, slope, prediction, residual, output, complement)


def _loss(objective: Any, point: Point, rows: slice) -> float:
    losses = values(objective.loss, point.prediction, objective.rows.on_host[1][rows], point.complement)
    return float(point.weight @ losses)


def _penalty(objective: Any, params: dict[str, Any]) -> float:
    """½ Σ ridge θ² of a penalised objective, otherwise zero."""
    if objective.ridge is None:
        return 0.0
    return 0.5 * sum(
        float(np.sum(np.asarray(ridge) * np.square(params[name]))) for name, ridge in objective.ridge.items()
    )


def value(objective: Any, params: dict[str, Any]) -> float:
    """Σ w loss, and the penalty if there is one.

    >>> from planted.objectives import Squared
    >>> value(Squared([[1.0], [2.0]], [1.0, 0.0]), {"weights": np.ones((1, 1)), "output": np.ones(1)})
    1.0
    """
    total = sum(_loss(objective, at(objective, params, rows), rows) for rows in _pieces(objective))
    return total + _penalty(objective, params)


def value_and_gradient(objective: Any, params: dict[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
    """The value, and its gradient in the structure of the parameters.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> value_and_gradient(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})[1]["output"]
    array([2.])
    """
    total, sums = 0.0, dict[str, np.ndarray]()
    for rows in _pieces(objective):
        point = at(objective, params, rows)
        total += _loss(objective, point, rows)
        for name, part in _slopes(objective, params, point).items():
            sums[name] = sums[name] + part if name in sums else part
    gradient = {name: sums[name].reshape(np.shape(params[name])) for name in params}
    for name, ridge in (objective.ridge or {}).items():
        gradient[name] = gradient[name] + np.asarray(ridge) * params[name]
    return total + _penalty(objective, params), gradient


def _slopes(objective: Any, params: dict[str, Any], point: Point) -> dict[str, np.ndarray]:
    """The sums over the rows of a point that are the gradient, by name."""
    model, weighted = objective.model, point.weight[:, None] * point.residual
    if point.filters is not None:
        flat = np.einsum("nmp,nm->p", _jacobian(objective, params, point, slice(None)), weighted)
        cuts = np.cumsum([np.size(params[name]) for name in sorted(params)])[:-1]
        return dict(zip(sorted(params), np.split(flat, cuts), strict=True))
    u = (point.output.T @ weighted.T).T * point.slope
    parts = {"weights": u.T @ point.x}
    if "output" in params:
        parts["output"] = weighted.T @ point.feature
    if model.bias:
        parts["bias"] = u.sum(axis=0)
    if model.intercept:
        parts["intercept"] = weighted.sum(axis=0)
    if model.skip:
        parts[model.linear_part] = weighted.T @ point.x
    return parts


def _jacobian(objective: Any, params: dict[str, Any], point: Point, rows: slice) -> np.ndarray:
    """∂p/∂θ (r, m, p) of some rows, parameters by sorted name."""
    x, slope, feature = point.x[rows], point.slope[rows], point.feature[rows]
    if point.filters is not None:
        return jacobian(x, feature, slope, point.filters)
    n, m, (k, d) = len(x), len(point.output), np.shape(params["weights"])
    sizes = {"weights": k * d, "bias": k, "output": m * k, "intercept": m, objective.model.linear_part: m * d}
    # Parameter by parameter in memory, so that loops over entries are long.
    made = np.zeros((sum(sizes[name] for name in params), n, m))
    inputs, u = x.T[:, :, None], slope.T[:, :, None] * point.output.T[:, None, :]
    start = 0
    for name in sorted(params):
        part = made[start : start + sizes[name]]
        start += sizes[name]
        if name == "weights":
            np.multiply(u[:, None], inputs, out=part.reshape(k, d, n, m))
        elif name == "bias":
            part[:] = u
        else:
            own = {"output": feature.T, "intercept": 1.0}.get(name, x.T)
            for o, own_part in enumerate(np.split(part, m)):
                own_part[:, :, o] = own
    return made.transpose(1, 2, 0)


def curvature(objective: Any, params: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss–Newton or Fisher matrix Σ w JᵀCJ (p, p) and the gradient (p,), parameters by sorted name.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> curvature(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})[0]
    array([[2.5, 2.5],
           [2.5, 2.5]])
    """
    point = at(objective, params)
    m = point.prediction.shape[1]
    size = sum(np.size(leaf) for leaf in params.values())
    if m > 1 and point.filters is None:
        matrix, parts = curvature_of_outputs(objective, params, point), _slopes(objective, params, point)
        gradient = np.concatenate([np.ravel(parts[name]) for name in sorted(params)])
    else:
        matrix, gradient = _by_jacobian(objective, params, point)
    if objective.ridge is not None:
        ridge = objective.flat_ridge(params)
        matrix[np.diag_indices(size)] += ridge
        gradient += ridge * np.concatenate([np.ravel(params[name]) for name in sorted(params)])
    return matrix, gradient


def _by_jacobian(objective: Any, params: dict[str, Any], point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Σ w JᵀCJ (p, p) and Σ w Jᵀr (p,) from the Jacobian of some rows after the other."""
    n, m = point.prediction.shape
    size = sum(np.size(leaf) for leaf in params.values())
    matrix, gradient = np.zeros((size, size)), np.zeros(size)
    step = max(1, _JACOBIAN_ENTRIES // (size * m))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        J = _jacobian(objective, params, point, rows)
        weighted = (J * point.weight[rows, None, None]).reshape(-1, size)
        complement = None if point.complement is None else point.complement[rows]
        matrix += weighted.T @ curved(objective.loss, point.prediction[rows], J, complement).reshape(-1, size)
        gradient += weighted.T @ point.residual[rows].reshape(-1)
    return matrix, gradient


def scores(objective: Any, params: dict[str, Any], class_weight: Any = None) -> np.ndarray:
    """Σ w f (Jᵀr)(Jᵀr)ᵀ (p, p), with f = 1, or the factor of the row's class.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> scores(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})
    array([[8., 8.],
           [8., 8.]])
    """
    point, total = at(objective, params), 0.0
    factor = point.weight
    if class_weight is not None:
        factor = factor * np.asarray(class_weight)[objective.rows.on_host[1][:, 0].astype(int)]
    size = sum(np.size(leaf) for leaf in params.values())
    step = max(1, _JACOBIAN_ENTRIES // (size * point.prediction.shape[1]))
    for start in range(0, len(point.x), step):
        rows = slice(start, start + step)
        each = np.einsum("nmp,nm->np", _jacobian(objective, params, point, rows), point.residual[rows])
        total = total + (each * factor[rows, None]).T @ each
    return np.asarray(total)


def residual_products(objective: Any, params: dict[str, Any]) -> np.ndarray:
    """Σ w r rᵀ (m, m).

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [[1.0, 0.0], [0.0, 0.0]])
    >>> residual_products(loss, {"weights": np.ones((1, 1)), "output": np.ones((2, 1))})
    array([[2. , 2. ],
           [2. , 2.5]])
    """
    point = at(objective, params)
    return np.asarray((point.residual * point.weight[:, None]).T @ point.residual)


def noise_scores(objective: Any, params: dict[str, Any], covariance: np.ndarray) -> np.ndarray:
    """Σ w JᵀSJ (p, p) for noise of the targets whose covariance is S (m, m).

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [[1.0, 0.0], [0.0, 0.0]])
    >>> noise_scores(loss, {"weights": np.ones((1, 1)), "output": np.ones((2, 1))}, np.diag([1.0, 3.0]))
    array([[ 2.5,  0. ,  2.5],
           [ 0. ,  7.5,  7.5],
           [ 2.5,  7.5, 10. ]])
    """
    point, total = at(objective, params), 0.0
    size = sum(np.size(leaf) for leaf in params.values())
    step = max(1, _JACOBIAN_ENTRIES // (size * point.prediction.shape[1]))
    for start in range(0, len(point.x), step):
        rows = slice(start, start + step)
        J = _jacobian(objective, params, point, rows)
        weighted = np.einsum("ab,nbp,n->nap", covariance, J, point.weight[rows], optimize=True)
        total = total + weighted.reshape(-1, size).T @ J.reshape(-1, size)
    return np.asarray(total)


def hessian(objective: Any, params: dict[str, Any]) -> np.ndarray:
    """The Hessian (p, p), parameters by sorted name.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> hessian(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})
    array([[2.5, 4.5],
           [4.5, 2.5]])
    """
    point, model = at(objective, params), objective.model
    matrix = curvature(objective, params)[0] + _beyond_expectation(objective, params, point)
    names = sorted(params)
    starts = dict(zip(names, np.cumsum([0, *(np.size(params[name]) for name in names)]), strict=False))
    weighted = point.weight[:, None] * point.residual
    if point.filters is not None:
        curve = model.activation.derivative(point.z, 2)
        return matrix + second_derivatives(point.x, weighted[:, 0], point.slope, curve, point.filters)
    bend = (weighted @ point.output) * model.activation.derivative(point.z, 2)
    (k, d), m = np.shape(params["weights"]), len(point.output)
    wide = np.column_stack([point.x, np.ones(len(point.x))]) if model.bias else point.x
    for i in range(k):
        # The places of neuron i's row, followed by its bias.
        own = starts["weights"] + i * d + np.arange(d)
        if model.bias:
            own = np.append(own, starts["bias"] + i)
        matrix[np.ix_(own, own)] += wide.T @ (bend[:, i, None] * wide)
        if "output" in params:
            outer = (weighted * point.slope[:, i, None]).T @ wide
            for o in range(m):
                place = starts["output"] + o * k + i
                matrix[place, own] += outer[o]
                matrix[own, place] += outer[o]
    return matrix


def _beyond_expectation(objective: Any, params: dict[str, Any], point: Point) -> np.ndarray | float:
    """Σ w Jᵀ(∂²loss/∂p² − C)J: what the curvature of probabilities differs by from its expectation."""
    if point.complement is None:
        return 0.0
    y = objective.rows.on_host[1]
    expected = 1 / np.maximum(point.prediction * point.complement, SMALLEST)
    extra = point.weight[:, None] * (bends(point.prediction, y, point.complement) - expected)
    J = _jacobian(objective, params, point, slice(None))[:, 0]
    return (J * extra).T @ J


def kink_distances(objective: Any, params: dict[str, Any], kinks: tuple[float, ...]) -> np.ndarray:
    """Relative distance (n, k) of every pre-activation to the nearest kink, of filters (n, patches × filters).

    Infinite for a row of zeros.

    >>> from planted.objectives import Squared
    >>> kink_distances(Squared([[3.0]], [1.0]), {"weights": np.ones((1, 1)), "output": np.ones(1)}, (0.0,))
    array([[1.]])
    """
    x, point = objective.rows.on_host[0], at(objective, params)
    rows = np.asarray(params["weights"]) if point.filters is None else point.filters.filters
    bound = np.linalg.norm(x, axis=-1)[..., None] * np.linalg.norm(rows, axis=1)
    if objective.model.bias:
        bound = bound + np.abs(np.asarray(params["bias"]))
    gaps = np.min([np.abs(point.z - kink) / np.maximum(bound + abs(kink), 1e-300) for kink in kinks], axis=0)
    # A row of zeros moves no pre-activation, so it makes no kink.
    flat = x.reshape(len(x), -1)
    return np.where(np.any(flat != 0, axis=1)[:, None], gaps.reshape(len(x), -1), np.inf)
