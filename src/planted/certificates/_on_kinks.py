r"""Minima on kinks: points where some pre-activations lie on a kink of φ, as most minima of noisy ReLU fits do.

A kink c, row r of neuron i, is the hyperplane w_i·x_r + b_i = κ of the parameters, with normal n_c = (x_r, 1). Off it
predictions of the row bend, and so the loss has one-sided derivatives

    f'(θ; δ) = g·δ + Σ_c β_c |n_c·δ|,

g the mean of the gradients on both sides. Let the normals be linearly independent. If g = Σ_c λ_c n_c with |λ_c| < β_c,
the loss rises with every step off the kinks, at first order. On the plane n_c·δ = 0 along them the loss is smooth, its
gradient vanishes, and where its Hessian is positive there the point is a strict local minimum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from planted.networks import AT_KINK
from planted.numerics.decompositions import svd
from planted.numerics.precision import float64
from planted.objectives import Flat, flatten, named

_ASIDE = 1e-7
_INDEPENDENT = 1e-6
_LARGEST = 20_000_000


@float64
def kink_normals(objective: Any, params: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Normals (m, p) of the kinks that a point lies on, and sizes (m,) of the terms of these pre-activations.

    None where rows are not in memory, or the neurons are not dense.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0, 1.0], [2.0, 0.0]], [0.0, 1.0])
    >>> kink_normals(loss, {"weights": np.array([[1.0, -1.0]]), "output": np.array([3.0])})[0]
    array([[0., 1., 1.]])
    """
    arrays = {name: np.asarray(value) for name, value in named(params).items()}
    whole = objective.rows.in_memory()
    if whole is None or "weights" not in arrays or len(objective.rows.shape) != 1:
        return None
    X, counts = np.asarray(whole["x"]), np.asarray(whole["weight"]) > 0
    W = arrays["weights"]
    b = arrays.get("bias", np.zeros(len(W)))
    if len(X) * len(W) > _LARGEST:
        return None
    z = X @ W.T + b
    sizes = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(W, axis=1) + np.abs(b)
    kinks = np.asarray(objective.activation.kinks)
    nearest = np.min(np.abs(z[..., None] - kinks), axis=-1)
    reach = np.maximum(sizes + np.abs(kinks).max(), 1e-300)
    on = (nearest <= AT_KINK * reach) & (counts & np.any(X != 0, axis=1))[:, None]
    places = np.argwhere(on)
    normals = []
    for row, neuron in places.tolist():
        normal = {name: np.zeros(value.shape) for name, value in arrays.items()}
        normal["weights"][neuron] = X[row]
        if "bias" in normal:
            normal["bias"][neuron] = 1.0
        normals.append(flatten(normal))
    return np.array(normals).reshape(len(places), -1), reach[on]


class OnKinks(NamedTuple):
    """What a point on kinks is, in words, and unless it is a local minimum a direction (p,) in which the loss falls."""

    reason: str
    way: np.ndarray | None = None


def on_kinks(scaled: Flat, hessian: np.ndarray, flat: np.ndarray, threshold: float, tolerance: float) -> OnKinks | None:
    """What `scaled.start` is by the conditions above; None where they do not tell.

    Parameters
    ----------
    scaled : Flat
        Over an objective with rows, in the units of what follows.
    hessian : array (p, p)
    flat : array (p, s)
        Orthonormal tangents of known symmetries.
    threshold : float
        Length up to which a gradient counts as zero.
    tolerance : float
        Share of the Hessian's norm that its positive eigenvalues exceed.

    Examples
    --------
    ½(|w₁| + 1)² + ½(|w₂| − 2)² is least at (0, 2).

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0, 0.0], [0.0, 1.0]], [-1.0, 2.0], "abs", output=[1.0])
    >>> for second in (2.0, 1.0):
    ...     point = Flat(loss, np.array([[0.0, second]]))
    ...     print(on_kinks(point, np.eye(2), np.zeros((2, 0)), 1e-9, 1e-6).reason)
    the loss rises off a kink of the activation, along which its gradient vanishes and its Hessian is positive definite
    on a kink of the activation, along which the gradient does not vanish
    """
    kinks = kink_normals(scaled.objective, scaled.params(scaled.start))
    if kinks is None or not len(kinks[0]) or len(kinks[0]) >= len(scaled.start):
        return None
    normals, reach = (kinks[0] * scaled.units).T, kinks[1]
    left, singular, _ = svd(normals / np.linalg.norm(normals, axis=0))
    if singular[-1] < _INDEPENDENT * singular[0]:
        return None
    several = "a kink" if len(reach) == 1 else f"{len(reach)} kinks"
    dual = np.linalg.pinv(normals).T
    mean, half = _sides(scaled, dual @ (_ASIDE * reach))
    multipliers, jumps = (np.linalg.lstsq(normals, side, rcond=None)[0] for side in (mean, half))
    gains = jumps - np.abs(multipliers)
    if np.min(gains) <= 0:
        way = np.where(multipliers > 0, -1.0, 1.0) * dual
        return OnKinks(f"on {several} of the activation, off which the loss falls", _unit(way[:, np.argmin(gains)]))
    along = mean - normals @ multipliers
    if np.linalg.norm(along) > threshold:
        return OnKinks(f"on {several} of the activation, along which the gradient does not vanish", -_unit(along))
    taken = len(reach) + flat.shape[1]
    rest = np.linalg.qr(np.column_stack([left, flat]), mode="complete")[0][:, taken:]
    if np.linalg.eigvalsh(rest.T @ hessian @ rest).min(initial=np.inf) <= tolerance * np.linalg.norm(hessian, 2):
        return None
    positive = "positive except along known symmetries" if flat.shape[1] else "positive definite"
    return OnKinks(
        f"the loss rises off {several} of the activation, along which its gradient vanishes and its Hessian is "
        f"{positive}"
    )


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def _sides(scaled: Flat, aside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and half difference of the gradients on both sides of all kinks, extrapolated to the kinks."""
    pairs = []
    for step in (aside, 2 * aside):
        above, below = (scaled.value_and_gradient(scaled.start + sign * step)[1] for sign in (1.0, -1.0))
        pairs.append(((above + below) / 2, (above - below) / 2))
    (mean, half), (far, wide) = pairs
    return 2 * mean - far, 2 * half - wide
