"""Which neurons are not determined, where fewer explain the rows as well."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from planted.certificates import Uncertainty
from planted.methods._facts import PRECISE
from planted.networks import Network

# Standard errors within which a number of two fits to the same rows is one number.
_ONE_NUMBER = 3.0


def spare_neurons(about: Uncertainty, smaller: Network, X: np.ndarray) -> list[int]:
    """Neurons of `about.network` that the smaller network, which explains rows X (n, d) as well, does not have.

    Neurons of the two are paired by what they add to the predictions. A pair is one neuron where every number of it is
    the same, within three standard errors or to rounding.

    >>> from planted.certificates import uncertainty
    >>> from planted.objectives import Squared
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> wide = Network([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]], [2.0, 1.0, 1e-9])
    >>> smaller = wide.replace(weights=wide.weights[:2], output=wide.output[:2])
    >>> loss = Squared(X, smaller.predict(X))
    >>> about = uncertainty(loss, loss.model.params(wide), least_noise=1e-15)
    >>> about.network.output[spare_neurons(about, smaller, X)]
    array([1.e-09])
    """
    network, other = about.network, smaller.canonical()
    assert isinstance(network, Network)
    added, wanted = (_contributions(one, X) for one in (network, other))
    apart = np.sum(added**2, axis=0)[:, None] + np.sum(wanted**2, axis=0) - 2 * added.T @ wanted
    own, theirs = linear_sum_assignment(apart)
    shared = {int(i) for i, j in zip(own, theirs, strict=True) if _same(about, network, other, int(i), int(j))}
    return [i for i in range(network.n_hidden) if i not in shared]


def _contributions(network: Network, X: np.ndarray) -> np.ndarray:
    """What each neuron adds to the predictions (n·m, k), beside a constant."""
    value = network.activation(network.preactivations(X))
    value = value - value.mean(axis=0)
    return np.concatenate([value * row for row in np.atleast_2d(network.output)])


def _same(about: Uncertainty, network: Network, other: Network, i: int, j: int) -> bool:
    """Whether neuron i of the network is neuron j of the other one."""
    pairs = [
        ("weights", network.weights[i], other.weights[j]),
        ("output", network.output[..., i], other.output[..., j]),
        ("bias", network.shift[i], other.shift[j]),
    ]
    for name, one, two in pairs:
        errors = about.errors.get(name)
        if errors is None:
            continue
        error = errors[..., i] if name == "output" else errors[i]
        if not np.all(np.isfinite(error)):
            return False
        rounding = PRECISE * float(np.max(np.abs(one)))
        if np.any(np.abs(one - two) > np.maximum(_ONE_NUMBER * error, rounding)):
            return False
    return True
