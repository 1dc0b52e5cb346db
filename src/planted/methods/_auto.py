"""The method for those who do not want to choose: try, verify, try the next."""

from __future__ import annotations

import jax
import numpy as np

from planted.activations import Activation
from planted.methods._landscape import landscape
from planted.methods._recovery import Recovery
from planted.methods._squared import squared
from planted.solvers import silent
from planted.solvers._result import Progress

_ROWS_PER_PARAMETER = 50


def auto(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    key: jax.Array,
    progress: Progress = silent,
) -> Recovery:
    """Squared loss first; where it does not explain every row and F applies, the designed landscape; the better one.

    F applies when σ̂₂ and σ̂₄ are non-zero, there are at most as many neurons as inputs, and rows are plentiful.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> auto(data.X, data.y, 2, activations.get("relu"), key=jax.random.key(0)).status
    'recovered'
    """
    first_key, second_key = jax.random.split(key)
    found = squared(X, y, n_hidden, activation, fit_bias=fit_bias, key=first_key, progress=progress)
    n, d = X.shape
    applies = (
        n_hidden <= d
        and min(abs(activation.hermite(2)), abs(activation.hermite(4))) > 1e-12
        and n >= _ROWS_PER_PARAMETER * n_hidden * d
    )
    if found.status == "recovered" or not applies:
        return found
    try:
        other = landscape(X, y, n_hidden, activation, fit_bias=fit_bias, key=second_key, progress=progress)
    except ValueError:
        # The second Hermite moment is not positive on n_hidden directions: outputs of mixed sign.
        return found
    return other if other.loss < found.loss else found
