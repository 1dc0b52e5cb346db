"""What a method assumes of the inputs, and whether the rows bear it out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from planted.inputs import InputLaw, input_law

GAUSSIAN = ("landscape", "hermite")
ANY_DENSITY = ("score",)


class InputsWarning(UserWarning):
    """The inputs are not what the method assumes."""


def assumed_inputs(inputs: Any, X: np.ndarray, method: str) -> InputLaw:
    """The law of the rows of X (n, d), settled where `method` depends on it, with a warning where it is wrong.

    "auto" is not tested for methods that assume nothing, or check their own result; these say so of a law that was
    given as well.

    >>> print(assumed_inputs("auto", np.zeros((3, 1)), "squared"))
    method='squared' assumes nothing of the inputs, so they were not tested
    """
    if method not in GAUSSIAN + ANY_DENSITY and isinstance(inputs, str) and inputs == "auto":
        return InputLaw(None, None, f"method={method!r} assumes nothing of the inputs, so they were not tested")
    chosen = input_law(inputs, X)
    if method not in GAUSSIAN + ANY_DENSITY:
        return replace(chosen, reason=f"{chosen.reason}, but method={method!r} assumes nothing of the inputs")
    if method in GAUSSIAN and not chosen.gaussian:
        warnings.warn(
            f"method={method!r} assumes Gaussian inputs, but they are taken as {chosen}; method='score' does not",
            InputsWarning,
            stacklevel=3,
        )
    return chosen
