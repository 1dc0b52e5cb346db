r"""Shrink an over-parameterised network: join the pair of neurons whose joining changes the function least."""

from __future__ import annotations

import numpy as np

from planted.activations import Activation

# Features of so many entries are evaluated with one compilation, whatever the width.
_ENTRIES = 65_536


def merge(
    weights: np.ndarray,
    output: np.ndarray,
    bias: np.ndarray | None,
    width: int,
    X: np.ndarray,
    activation: Activation,
    *,
    linear: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    r"""Join neurons of Σ_i output_i ψ(weights_i·x + bias_i) pair by pair until `width` are left.

    With f_i the feature of neuron i on the rows X, cleared of what a constant, and a linear part where there is one,
    explain, and A_i = ‖output_i‖ ‖f_i‖, joining i and j costs min(A_i, A_j) √(1 − cos²(f_i, f_j)): nothing when one
    is idle or when both are the same. The joint neuron has the A-weighted mean of the two rows, turned to agree where
    ψ is even or odd, and the sum of the signed outputs. For homogeneous ψ rows are first brought to unit length.

    Parameters
    ----------
    weights : array (m, d)
    output : array (m,), or (outputs, m)
    bias : array (m,), optional
    X : array (n, d)
        At most 65,536/m of its rows are looked at.
    linear : bool
        Whether a linear part stands beside the neurons, which explains one that is nearly linear.

    Examples
    --------
    >>> from planted import activations
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> W, c, _ = merge(np.array([[1.0, 0], [-2.0, 0], [0, 1.0]]), np.ones(3), None, 2, X, activations.get("relu"))
    >>> np.abs(W).round(6), c.round(6)
    (array([[1., 0.], [0., 1.]]), array([3., 1.]))
    """
    m, d = weights.shape
    some = X[: max(_ENTRIES // m, 2 * d + 2)]
    rows = weights if bias is None else np.column_stack([weights, bias])
    inputs = some if bias is None else np.column_stack([some, np.ones(len(some))])
    rows, output = rows.copy(), output.copy()
    if activation.homogeneity is not None:
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        rows, output = rows / lengths[:, None], output * lengths**activation.homogeneity
    nuisance = (
        np.ones((len(some), 1)) if not (activation.tilt or linear) else np.column_stack([np.ones(len(some)), some])
    )
    basis = np.linalg.qr(nuisance)[0]

    def feature(row: np.ndarray) -> np.ndarray:
        z = inputs @ row.T
        value = activation(z) - activation.tilt * z
        return value - basis @ (basis.T @ value)

    features = feature(rows)
    gram = features.T @ features
    alive = np.ones(m, bool)
    for _ in range(m - width):
        i, j = _cheapest(gram, _size(output), alive)
        side = 1.0
        if activation.centred_parity == "even":
            side = 1.0 if rows[i] @ rows[j] >= 0 else -1.0
        elif activation.centred_parity == "odd":
            side = 1.0 if gram[i, j] >= 0 else -1.0
        mass = _size(output)[[i, j]] * np.sqrt(np.maximum(np.diagonal(gram)[[i, j]], 0.0)) + 1e-300
        joint = (mass[0] * rows[i] + side * mass[1] * rows[j]) / mass.sum()
        if activation.homogeneity is not None:
            joint = joint / max(float(np.linalg.norm(joint)), 1e-300)
        rows[i], alive[j] = joint, False
        output[..., i] += output[..., j] * (side if activation.centred_parity == "odd" else 1.0)
        features[:, i] = feature(joint)
        gram[i] = gram[:, i] = features[:, i] @ features
    rows, output = rows[alive], output[..., alive]
    return rows[:, :d], output, None if bias is None else rows[:, d]


def _size(output: np.ndarray) -> np.ndarray:
    """‖output_i‖ (m,) of each neuron, whatever its size: that of a neuron without weight has no bounds."""
    if output.ndim == 1:
        return np.abs(output)
    largest = np.maximum(np.abs(output).max(axis=0), 1e-300)
    return largest * np.linalg.norm(output / largest, axis=0)


def _cheapest(gram: np.ndarray, size: np.ndarray, alive: np.ndarray) -> tuple[int, int]:
    """The pair i, j of living neurons that costs least; i is the larger one."""
    norms = np.sqrt(np.maximum(np.diagonal(gram), 1e-300))
    mass = size * norms
    sine = np.sqrt(np.maximum(0.0, 1 - (gram / np.outer(norms, norms)) ** 2))
    cost = np.minimum.outer(mass, mass) * sine
    cost[~alive] = cost[:, ~alive] = np.inf
    np.fill_diagonal(cost, np.inf)
    i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    return (int(i), int(j)) if mass[i] >= mass[j] else (int(j), int(i))
