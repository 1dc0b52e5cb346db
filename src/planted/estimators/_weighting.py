"""Weights of rows and of classes in words, for a reader who did not ask for the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Classes whose factors are named.
_CLASSES = 6


def row_weights(weight: np.ndarray) -> str:
    """What the weights (n,) of rows are, as far as it changes how the rows are counted.

    >>> row_weights(np.array([0.0, 0.0, 1.0, 3.0])), row_weights(np.array([2.0, 2.0]))
    ('row weights: 1 to 3; 2 of 4 rows have weight 0 and are left out', 'row weights: 2 in every row')
    """
    positive = weight[weight > 0]
    if not len(positive):
        return ""
    low, high = float(positive.min()), float(positive.max())
    span = f"{low:.4g} to {high:.4g}" if low < high else f"{low:.4g}"
    none = len(weight) - len(positive)
    if none:
        return f"row weights: {span}; {none:,} of {len(weight):,} rows have weight 0 and are left out"
    return f"row weights: {span}" if low < high else f"row weights: {span} in every row"


def class_weights(classes: Sequence[Any], factors: np.ndarray) -> str:
    """What a row of each class counts for beside others.

    >>> class_weights(["no", "yes"], np.array([0.5, 12.0]))
    'class weights: a row of no counts 0.5, of yes 12'
    """
    named = [f"of {name} {factor:.3g}" for name, factor in zip(classes, factors, strict=True)]
    named[0] = f"of {classes[0]} counts {factors[0]:.3g}"
    more = f" and {len(named) - _CLASSES} more" if len(named) > _CLASSES else ""
    return f"class weights: a row {', '.join(named[:_CLASSES])}{more}"
