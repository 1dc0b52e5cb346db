"""A network that explains every row of a small table, looked for on all rows before some are held out.

A part of few rows does not show what all of them do: networks fitted to it have few neurons, and a residual test finds
nothing. But a network of at most half as many numbers as there are targets does not explain all of them to rounding by
chance, so that no row need be held out to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planted.methods._facts import EXACT, ROUNDED
from planted.methods._families import Family
from planted.methods._problem import Free
from planted.methods._screen import Path
from planted.methods._screen_rows import Fitted, Table
from planted.numerics import random
from planted.numerics.deadline import passed

# Widths, narrow ones first: the fewest neurons that explain the rows are the simplest network.
_WIDTHS = (1, 2, 4, 8)
# Targets a number that the network has at least.
_TARGETS_PER_NUMBER = 2
# Rows an input weight of the widest network, of those fitted where others are held out, from which on they are enough.
_ENOUGH = 10
# Rows × (hidden numbers)², the cost of a step, up to which a network is fitted.
_AFFORDABLE = 1_000_000
# Further starts of neurons with one kink, which stop descents early, and how much wider these are.
_ATTEMPTS, _WIDER = 2, 1.5


def explaining(
    table: Table, families: Sequence[Family], allowed: Free, key: np.ndarray
) -> tuple[Family, Fitted] | None:
    """The first family, and its network, that explains every row of a small table to rounding; None if none does.

    Parameters
    ----------
    table : Table
    families : sequence of Family
        Commonest first.
    allowed : Free
        Parts that a network may have; all of them are fitted.
    key : array (2,)

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> from planted.methods._families import families
    >>> from planted.methods._problem import Problem
    >>> data = make_planted(60, 3, 2, activation="tanh", random_state=0)
    >>> key = np.zeros(2, np.uint32)
    >>> table = Table(Problem.of(data.X, data.y, 1), key)
    >>> family, network = explaining(table, families(), Free(True, True, True), key)
    >>> family.name, network.width
    ('tanh', 2)
    """
    enough = len(table.folds[0][0]) >= _ENOUGH * max(_WIDTHS) * (table.space(True).rank + 1)
    # Of a linear function, which is fitted beside the neurons, any of them would explain every row.
    if enough or table.linear(Free(intercept=True, skip=True), table.whole)[0] <= EXACT:
        return None
    paths: dict[str, Path] = {}
    for place, family in enumerate(families):
        paths[family.name] = Path(
            table, table.whole, family, allowed, random.fold_in(key, place), paths.get(family.near)
        )
    for wide in _WIDTHS:
        for path in paths.values():
            width = min(wide, _widest(path))
            if width in path.fits or width == 0:
                continue
            if passed():
                return None
            if path.at(width).loss <= ROUNDED:
                plainer = _with_a_kink(paths, path, width)
                return plainer.family, plainer.fits[width]
    return None


def _widest(path: Path) -> int:
    """The largest number of neurons that is affordable and does not explain rows by chance."""
    table, shape, q = path.table, path.shape, path.n_inputs
    rank, m = table.space(shape.bias).rank, table.n_outputs
    spare = table.y.size // _TARGETS_PER_NUMBER - m * (shape.constant + rank * shape.linear)
    affordable = math.isqrt(_AFFORDABLE // len(table.y)) // max(q, 1)
    # More squares than inputs are no other function.
    most = m * q if path.family.by_matrix else max(_WIDTHS)
    return max(0, min(spare // (q + m), affordable, most))


def _with_a_kink(paths: dict[str, Path], smooth: Path, width: int) -> Path:
    """The path of neurons with one kink where these explain the rows as well from other starts; the other one if not.

    A smooth neuron with steep weights is a kink, and one with several kinks may have but one among the rows.
    """
    kinked = paths.get("relu", smooth)
    if smooth.shape.activation.homogeneity is not None:
        return smooth
    for number in range(_ATTEMPTS):
        kinked.retry(width, math.ceil(_WIDER * width), number)
        if kinked.fits[width].loss <= ROUNDED:
            return kinked
    if len(smooth.shape.activation.kinks) > 1:
        kinked.borrow(smooth, width)
    return kinked if kinked.fits[width].loss <= ROUNDED else smooth
