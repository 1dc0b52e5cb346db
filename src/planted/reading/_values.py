"""Networks in NumPy: reading takes milliseconds, in which nothing can be compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from planted.activations.elementwise import logistic, softplus
from planted.networks import Network

_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda z: np.maximum(z, 0),
    "abs": np.abs,
    "quadratic": np.square,
    "squared_relu": lambda z: np.square(np.maximum(z, 0)),
    "tanh": np.tanh,
    "sigmoid": logistic,
    "tanh_probability": lambda z: logistic(2 * z),
    "erf": lambda z: np.sqrt(2) * special.erf(z / np.sqrt(2)),
    "standard_erf": special.erf,
    "erf_probability": lambda z: 0.5 * special.erfc(-z),
    "softplus": softplus,
    "gelu": lambda z: z * special.ndtr(z),
    "silu": lambda z: z * logistic(z),
    "hard_tanh": lambda z: np.clip(z, -1, 1),
    "relu6": lambda z: np.clip(z, 0, 6),
    "hard_sigmoid": lambda z: np.clip(z / 6 + 0.5, 0, 1),
}


def function_of(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The activation of this name, with its default parameters, as a NumPy function.

    >>> function_of("relu")(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return _FUNCTIONS[name]


def values(network: Network, X: np.ndarray) -> np.ndarray:
    """Outputs (n, m) of a network at X (n, d), as :meth:`planted.Network.predict` gives them.

    >>> values(Network([[1.0]], [2.0], bias=[1.0]), np.array([[3.0]]))
    array([[8.]])
    """
    total = _hidden(network, X) @ np.atleast_2d(network.output).T + network.intercept
    return total if network.skip is None else total + X @ np.atleast_2d(network.skip).T


def _hidden(network: Network, X: np.ndarray) -> np.ndarray:
    act = network.activation
    z = network.preactivations(X)
    if act.name == "leaky_relu":
        return np.maximum(z, dict(act.parameters)["slope"] * z)
    if act.name in _FUNCTIONS and all(value == 1.0 for _, value in act.parameters):
        return _FUNCTIONS[act.name](z)
    return np.asarray(act(z))


class CountedNetwork:
    """A network as a function of arrays, with its number of neurons and their hyperplanes.

    >>> CountedNetwork(Network([[1.0]], [2.0])).count
    1
    """

    def __init__(self, network: Network) -> None:
        self.network, self.count = network, network.n_hidden
        bias = network.shift
        self.hyperplanes = np.asarray(network.weights), np.asarray(bias)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values (n, m)."""
        return values(self.network, x)

    def terms(self, x: np.ndarray) -> np.ndarray:
        """Sums (n, m) of the absolute values of what is added up at x (n, d).

        >>> CountedNetwork(Network([[1.0], [1.0]], [2.0, -2.0])).terms(np.ones((1, 1)))
        array([[4.]])
        """
        net = self.network
        total = np.abs(_hidden(net, x)) @ np.abs(np.atleast_2d(net.output)).T + np.abs(net.intercept)
        return total if net.skip is None else total + np.abs(x @ np.atleast_2d(net.skip).T)
