"""What a method assumes of the inputs, and whether the rows bear it out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from planted.inputs import InputLaw, input_law
from planted.methods._method import Method


class InputsWarning(UserWarning):
    """The inputs are not what the method assumes."""


def assumed_inputs(inputs: Any, X: np.ndarray, method: Method) -> InputLaw:
    """The law of the rows of X (n, d), settled where `method` depends on it, with a warning where it is wrong.

    "auto" is not tested for methods that assume nothing, or check their own result; these say so of a law that was
    given as well.

    >>> from planted.methods import METHODS
    >>> print(assumed_inputs("auto", np.zeros((3, 1)), METHODS["squared"]))
    method='squared' assumes nothing of the inputs, so they were not tested
    """
    name = method.name
    if method.inputs == "any" and isinstance(inputs, str) and inputs == "auto":
        return InputLaw(None, None, f"method={name!r} assumes nothing of the inputs, so they were not tested")
    law = input_law(inputs, X)
    if method.inputs == "any":
        return replace(law, reason=f"{law.reason}, but method={name!r} assumes nothing of the inputs")
    if method.inputs == "gaussian" and not law.gaussian:
        warnings.warn(
            f"method={name!r} assumes Gaussian inputs, but they are taken as {law}; method='score' does not",
            InputsWarning,
            stacklevel=3,
        )
    return law
