"""Recipes: each names one part of every kind and puts them in order.

A method is called as `method(X, y, n_hidden, activation, fit_bias=…, key=…, progress=…)` and returns a
:class:`Recovery`.
"""

from collections.abc import Callable

from planted.methods._assumed import InputsWarning, assumed_inputs
from planted.methods._auto import auto
from planted.methods._classification import classification
from planted.methods._conv import ConvRestart, ConvResult, recover_conv
from planted.methods._conv_dynamics import (
    FATES,
    Trajectory,
    conv_descent,
    fate_code,
    step_size_bound,
    typical_step,
)
from planted.methods._conv_filters import ConvFilters, recover_filters
from planted.methods._expand import expand
from planted.methods._hermite import hermite
from planted.methods._label_width import choose_label_width
from planted.methods._landscape import landscape
from planted.methods._quadratic import QuadraticRecovery, factorise, quadratic, recover_quadratic
from planted.methods._recovery import Recovery, refine, verdict
from planted.methods._score import score
from planted.methods._squared import squared
from planted.methods._tensor import tensor
from planted.methods._verdict import VERDICTS, Verdict, judge
from planted.methods._width import choose_width

METHODS: dict[str, Callable[..., Recovery]] = {
    "auto": auto,
    "expand": expand,
    "landscape": landscape,
    "hermite": hermite,
    "score": score,
    "quadratic": quadratic,
    "squared": squared,
    "tensor": tensor,
}

__all__ = [
    "FATES",
    "METHODS",
    "VERDICTS",
    "ConvFilters",
    "ConvRestart",
    "ConvResult",
    "InputsWarning",
    "QuadraticRecovery",
    "Recovery",
    "Trajectory",
    "Verdict",
    "assumed_inputs",
    "auto",
    "choose_label_width",
    "choose_width",
    "classification",
    "conv_descent",
    "expand",
    "factorise",
    "fate_code",
    "hermite",
    "judge",
    "landscape",
    "quadratic",
    "recover_conv",
    "recover_filters",
    "recover_quadratic",
    "refine",
    "score",
    "squared",
    "step_size_bound",
    "tensor",
    "typical_step",
    "verdict",
]
