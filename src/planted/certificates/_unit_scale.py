r"""A network on inputs in units of their standard deviations, with standard errors.

With inputs x_j = s_j x′_j the weights become u_ij = s_j w_ij. For φ positively homogeneous of degree p neurons have
unit rows again: n_i = ‖u_i‖, v_i = u_i/n_i, bias b_i/n_i, outputs a_i n_i^p. Errors follow to first order,

    dv = (I − v vᵀ) S dw/n,   db′ = db/n − b′ vᵀS dw/n,   da′ = n^p (da + p a vᵀS dw/n),   dskip′ = s dskip,

which is what fitting to x′ would give, since the normal approximation does not depend on the parameters' form. Where
rows leave some of v open, n is the length of the rest times a number: v in the brackets is then that of `part_beside`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.networks import Network
from planted.objectives import part_beside

# A share of the terms that cancel which rounding explains.
_REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class UnitScaled:
    """A canonical network on inputs in units of their standard deviations.

    Attributes
    ----------
    network : Network
    errors : dict of arrays
        Standard errors by parameter, infinite where the rows leave it open; empty if none are known.

    Examples
    --------
    >>> unit_scaled(Network([[1.0, 0.0]], [2.0]), [3.0, 1.0]).network.output
    array([6.])
    """

    network: Network
    errors: dict[str, np.ndarray]


def unit_scaled(network: Network, scale: ArrayLike, uncertainty: Any = None) -> UnitScaled:
    """The network x′ ↦ f(scale · x′), canonical but for the order of its neurons, with its standard errors.

    Parameters
    ----------
    network : Network
        The one that errors belong to, `uncertainty.network`, where there are some.
    scale : array (d,)
        Standard deviations of the inputs; one is taken for a constant input.
    uncertainty : Uncertainty, optional
        Of the network's parameters.
    """
    size = np.where(np.asarray(scale, np.float64) > 0, scale, 1.0)
    degree = network.activation.homogeneity
    scaled = network.weights * size
    norms = np.linalg.norm(scaled, axis=1) if degree is not None else np.ones(len(scaled))
    norms = np.where(norms > 0, norms, 1.0)
    arrays = network.arrays() | {"weights": scaled / norms[:, None]}
    arrays["output"] = network.output * norms ** (degree or 0)
    if network.bias is not None:
        arrays["bias"] = network.bias / norms
    if network.skip is not None:
        arrays["skip"] = network.skip * size
    made = Network(**arrays, activation=network.activation)
    return UnitScaled(made, {} if uncertainty is None else _errors(made, uncertainty, size, norms))


def _errors(network: Network, uncertainty: Any, size: np.ndarray, norms: np.ndarray) -> dict[str, np.ndarray]:
    """Standard errors by the delta method, one parameter of the new network after the other."""
    places, begin = {}, 0
    for name in sorted(uncertainty.estimate):
        shape = np.shape(uncertainty.estimate[name])
        count = int(np.prod(shape, dtype=int))
        places[name] = np.arange(begin, begin + count).reshape(shape)
        begin += count
    # Where what rows leave open does not change the length of a neuron, its other weights are determined.
    open_ = np.isinf(np.diagonal(uncertainty.covariance))
    moves = np.where(open_[:, None], uncertainty.moved, 0.0)
    k, d = network.weights.shape
    degree = network.activation.homogeneity
    # Row i, j of `along` is the derivative of the log of a neuron's norm by its weights.
    along = np.zeros((k, d))
    if degree is not None and "weights" in places:
        for i in np.flatnonzero(np.any(network.weights, axis=1)):
            along[i] = size / norms[i] * part_beside(network.weights[i], size[:, None] * moves[places["weights"][i]])
    errors = {}
    for name, place in places.items():
        jacobian = np.zeros((place.size, begin))
        for row, index in enumerate(np.ndindex(place.shape)):
            factor, neuron = _factor(name, index, size, norms, degree or 0)
            jacobian[row, place[index]] = factor
            if neuron is None or degree is None or "weights" not in places:
                continue
            value = float(network.arrays()[name][index])
            jacobian[row, places["weights"][neuron]] += (degree if name == "output" else -1.0) * value * along[neuron]
        variance = np.einsum("ij,jk,ik->i", jacobian, uncertainty.covariance_beside, jacobian, optimize=True)
        reached = (np.abs(jacobian @ moves) > _REACHED * (np.abs(jacobian) @ np.abs(moves))).any(axis=1)
        errors[name] = np.where(reached, np.inf, np.sqrt(np.maximum(variance, 0.0))).reshape(place.shape)
    return errors


def _factor(
    name: str, index: tuple[int, ...], size: np.ndarray, norms: np.ndarray, degree: float
) -> tuple[float, int | None]:
    """By what a parameter is multiplied, and the neuron whose norm it depends on."""
    if name == "weights":
        return float(size[index[1]] / norms[index[0]]), index[0]
    if name == "bias":
        return float(1 / norms[index[0]]), index[0]
    if name == "output":
        return float(norms[index[-1]] ** degree), index[-1]
    return (float(size[index[-1]]) if name == "skip" else 1.0), None
