"""The method for those who do not want to choose: a race that ends as soon as a candidate verifies itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from planted.activations import Activation
from planted.methods._expand import expand
from planted.methods._landscape import landscape
from planted.methods._recovery import Recovery
from planted.methods._squared import squared
from planted.methods._tensor import tensor
from planted.numerics.progress import Progress
from planted.solvers import silent

_ROWS_PER_PARAMETER = 50
_CANDIDATES = (expand, squared, tensor, landscape)


def auto(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
    key: jax.Array,
    progress: Progress = silent,
) -> Recovery:
    """Expand and merge; if that does not verify itself, plain squared loss, tensor start and designed landscape too.

    A candidate verifies itself by explaining every row to rounding, or by two independent runs that end in the same
    minimum. Otherwise the candidate with the lowest loss is returned. `details["race"]` holds the relative loss of
    every candidate that ran, or the reason why it did not apply. The budget of each is a number of starts and steps,
    not of seconds, so that a seed gives the same network on every machine.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> auto(data.X, data.y, 2, activations.get("relu"), key=jax.random.key(0)).status
    'recovered'
    """
    race: dict[str, Any] = {}
    best: Recovery | None = None
    for index, candidate in enumerate(_CANDIDATES):
        reason = _obstacle(candidate.__name__, X, n_hidden, activation)
        if reason is None:
            try:
                found = candidate(
                    X,
                    y,
                    n_hidden,
                    activation,
                    fit_bias=fit_bias,
                    fit_intercept=fit_intercept,
                    sample_weight=sample_weight,
                    key=jax.random.fold_in(key, index),
                    progress=progress,
                )
            except ValueError as error:
                # What a method assumes may show only on the data, as when outputs of mixed sign make F unbounded.
                reason = str(error)
        if reason is not None:
            race[candidate.__name__] = reason
            continue
        race[candidate.__name__] = found.relative_loss
        if best is None or found.loss < best.loss:
            best = found
        if best.status == "recovered" or found.details.get("agreeing_runs", 0) > 1:
            break
    assert best is not None
    return replace(best, details=best.details | {"race": race})


def _obstacle(name: str, X: np.ndarray, n_hidden: int, activation: Activation) -> str | None:
    """Why a candidate does not apply, or None."""
    n, d = X.shape
    if name in ("expand", "squared"):
        return None
    if n_hidden > d:
        return f"it needs n_hidden ≤ inputs, but {n_hidden} > {d}"
    if name == "landscape" and min(abs(activation.hermite(2)), abs(activation.hermite(4))) <= 1e-12:
        return f"the second or fourth Hermite coefficient of {activation.name} is zero"
    if n < _ROWS_PER_PARAMETER * n_hidden * d:
        return f"it needs {_ROWS_PER_PARAMETER} rows a weight"
    return None
