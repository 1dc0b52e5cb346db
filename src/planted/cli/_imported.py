"""Things of the user's own code that an option names as package.module:name."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from planted.cli._common import known
from planted.names import DENSITIES

LAW_HELP = f"one of {', '.join(DENSITIES)}, or package.module:name for a density of your own"


def imported(place: str) -> Any:
    """What package.module:name stands for; modules in the current folder are found too.

    >>> imported("math:sqrt")(4.0)
    2.0
    >>> imported("math:root")
    Traceback (most recent call last):
    ValueError: math has no root
    """
    module, _, name = place.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        target: Any = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"cannot import {module}: {error}") from None
    for part in name.split("."):
        if not hasattr(target, part):
            raise ValueError(f"{module} has no {name}")
        target = getattr(target, part)
    return target


def named_law(inputs: str) -> Any:
    """The law of the inputs that an option names: one of the known names, or a density of the user's own code.

    >>> named_law("logistic")
    'logistic'
    >>> named_law("math:pi")
    Traceback (most recent call last):
    ValueError: math:pi is a float, not a density of planted.inputs such as a CustomDensity
    """
    if ":" not in inputs:
        return known("inputs", inputs, DENSITIES)
    from planted.inputs import Density, LocalLikelihood

    law = imported(inputs)
    if not isinstance(law, (Density, LocalLikelihood)):
        raise ValueError(f"{inputs} is a {type(law).__name__}, not a density of planted.inputs such as a CustomDensity")
    return law
