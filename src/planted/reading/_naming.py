"""Names for one function: tanh, sigmoid and others are the same neuron up to scale and offset."""

from __future__ import annotations

import numpy as np

from planted.networks import Network
from planted.reading._steps import Steps

FAMILIES = {
    "sigmoid": ("tanh", "sigmoid", "tanh_probability"),
    "erf": ("erf", "standard_erf", "erf_probability"),
    "hard_tanh": ("hard_tanh", "relu6", "hard_sigmoid"),
}

# (inner, outer, offset, shift): σ(z) = offset + outer·φ(inner·z + shift), with σ the step from 0 to 1 or hard_tanh.
_FORMS = {
    "tanh": (0.5, 0.5, 0.5, 0.0),
    "sigmoid": (1.0, 1.0, 0.0, 0.0),
    "tanh_probability": (0.5, 1.0, 0.0, 0.0),
    "erf": (1.0, 0.5 / np.sqrt(2), 0.5, 0.0),
    "standard_erf": (np.sqrt(0.5), 0.5, 0.5, 0.0),
    "erf_probability": (np.sqrt(0.5), 1.0, 0.0, 0.0),
    "hard_tanh": (1.0, 1.0, 0.0, 0.0),
    "relu6": (3.0, 1 / 3, -1.0, 3.0),
    "hard_sigmoid": (3.0, 2.0, -1.0, 0.0),
}


def choose(family: str, *wishes: str | None) -> str:
    """The first wish that is in the family, or the family's first name.

    >>> choose("sigmoid", None, "sigmoid"), choose("sigmoid", "relu")
    ('sigmoid', 'tanh')
    """
    return next((wish for wish in wishes if wish in FAMILIES[family]), FAMILIES[family][0])


def rewrite(network: Network, name: str) -> Network:
    """A hard_tanh network under another name of its family.

    >>> rewrite(Network([[1.0]], [1.0], "hard_tanh"), "relu6").predict([[0.5]])
    array([0.5])
    """
    if name == network.activation.name:
        return network
    inner, outer, offset, shift = _FORMS[name]
    bias = network.shift
    return network.replace(
        weights=inner * network.weights,
        bias=inner * bias + shift,
        output=outer * network.output,
        intercept=network.intercept + offset * network.output.sum(axis=-1),
        activation=name,
    )


def steps_network(steps: Steps, name: str) -> Network:
    """Steps as a network of the activation `name`, which is of the family of their profile."""
    inner, outer, offset, shift = _FORMS[name]
    return Network(
        inner * steps.weights,
        outer * steps.heights,
        name,
        bias=inner * steps.bias + shift,
        intercept=steps.constant + offset * steps.heights.sum(axis=1),
        skip=steps.slope if np.any(steps.slope) else None,
    )
