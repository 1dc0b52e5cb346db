r"""Derivatives of a network's outputs by its parameters, in NumPy: for tests on some thousand rows nothing compiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planted.networks._dense import Network
from planted.networks._shared_filter import ConvNetwork


def jacobian(network: Network | ConvNetwork, X: ArrayLike, *, intercept: bool = False) -> np.ndarray:
    r"""∂f_o(x_r)/∂θ as an array (n, m, p), m outputs, at rows X (n, d) or, for a shared filter, patches (n, k, p).

    Parameters
    ----------
    intercept : bool
        Whether the intercepts are among the parameters.

    Returns
    -------
    array (n, m, p)
        Columns in the order bias, intercept, output, skip, weights of those that there are (output, filter for a
        shared filter), each flattened row by row.

    Examples
    --------
    >>> jacobian(Network([[1.0, 2.0]], [3.0]), [[1.0, 1.0]])
    array([[[3., 3., 3.]]])
    """
    rows = np.asarray(X, dtype=np.float64)
    if isinstance(network, ConvNetwork):
        return _shared(network, rows)
    n, act = len(rows), network.activation
    output = np.atleast_2d(network.output)
    m, k = output.shape
    z = rows @ network.weights.T + (0.0 if network.bias is None else network.bias)
    slope = act.derivative(z)[:, None, :] * output[None]
    each = np.broadcast_to(np.eye(m)[None], (n, m, m))
    parts = []
    if network.bias is not None:
        parts.append(slope)
    if intercept:
        parts.append(each)
    parts.append(np.einsum("rop,rk->ropk", each, act(z)).reshape(n, m, m * k))
    if network.skip is not None:
        parts.append(np.einsum("rop,rd->ropd", each, rows).reshape(n, m, -1))
    parts.append(np.einsum("rok,rd->rokd", slope, rows).reshape(n, m, -1))
    return np.concatenate(parts, axis=2)


def _shared(network: ConvNetwork, patches: np.ndarray) -> np.ndarray:
    z = patches @ network.filter
    slope = network.activation.derivative(z) * network.output
    by_filter = np.einsum("rk,rkp->rp", slope, patches)
    return np.concatenate([network.activation(z), by_filter], axis=1)[:, None, :]
