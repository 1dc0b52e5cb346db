"""Recipes: each names one part of every kind and puts them in order.

A method is called as `method(X, y, n_hidden, activation, fit_bias=…, key=…, progress=…)` and returns a
:class:`Recovery`.
"""

from collections.abc import Callable

from planted.methods._auto import auto
from planted.methods._classification import classification
from planted.methods._conv import ConvRestart, ConvResult, recover_conv
from planted.methods._conv_dynamics import Trajectory, conv_descent, step_size_bound
from planted.methods._hermite import hermite
from planted.methods._landscape import landscape
from planted.methods._recovery import Recovery, refine, verdict
from planted.methods._squared import squared
from planted.methods._tensor import tensor

METHODS: dict[str, Callable[..., Recovery]] = {
    "auto": auto,
    "landscape": landscape,
    "hermite": hermite,
    "squared": squared,
    "tensor": tensor,
}

__all__ = [
    "METHODS",
    "ConvRestart",
    "ConvResult",
    "Recovery",
    "Trajectory",
    "auto",
    "classification",
    "conv_descent",
    "hermite",
    "landscape",
    "recover_conv",
    "refine",
    "squared",
    "step_size_bound",
    "tensor",
    "verdict",
]
