r"""Where odd neurons of many inputs begin: descents in all inputs without a linear part, too wide if need be.

The linear parts of odd neurons are most of the targets. A linear part beside them lets them explain rows to fit in
other ways, of which a descent from directions that are only rough does not come out; without it, it often does. A
neuron whose direction the rows hardly show is then missed, and the others bend to make up for it. One neuron more finds
it and is joined with another.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._screen_directions import directed_rows, joined
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.progress import Progress, silent
from planted.solvers import SeparableRows, variable_projection

# Neurons more than asked for, start by start.
_SPARE = (0, 1, 2)
_STEPS, _DECAY, _PATIENCE = 120, 0.03, (6, 0.9)
# The share of a loss by which descents differ that end in one minimum: they stop where six steps gain little.
_AGREE = 0.02


def odd_rows(
    rows: SeparableRows, width: int, bias: bool, key: np.ndarray, *, target: float, progress: Progress = silent
) -> np.ndarray:
    """Hidden rows (k, q) of the best of a few descents; they end when one explains the rows or two end alike.

    Parameters
    ----------
    rows : SeparableRows
        Their nuisance columns are the inputs of a linear part, followed perhaps by a constant.
    width : int
        Number of neurons k.
    bias : bool
        Whether the last input is one.
    key : array (2,)
    target : float
        The loss ½ mean r² at which nothing is left.

    Examples
    --------
    >>> from planted import activations
    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 20, 1, activation="tanh", random_state=0)
    >>> rows = SeparableRows(data.X, data.X, data.y[:, None], activations.get("tanh"))
    >>> hidden = odd_rows(rows, 1, False, np.array([0, 0]), target=1e-8)
    >>> bool(np.allclose(np.abs(hidden), np.abs(data.teacher.weights), atol=1e-3))
    True
    """
    d = rows.X.shape[1] - bias
    alone = replace(rows, nuisance=rows.nuisance[:, d:], origin=None)
    best = None
    for number, spare in enumerate(_SPARE):
        hidden = directed_rows(rows, width + spare, bias, random.fold_in(key, number) if number else key)
        while True:
            run = variable_projection(
                alone, hidden, steps=_STEPS, target=target, decay=_DECAY, patience=_PATIENCE, progress=progress
            )
            hidden = run.params["rows"]
            if len(hidden) == width:
                break
            hidden = joined(alone, hidden, run.params["output"], len(hidden) - 1, bias)
        agree = best is not None and abs(run.value - best.value) <= _AGREE * best.value
        best = run if best is None or run.value < best.value else best
        if agree or best.value <= target or passed():
            break
    assert best is not None
    return np.asarray(best.params["rows"])
