r"""How many draws of a start suffice, from where descents from them have ended.

A theorem says that the four signs of one draw suffice, for ReLU behind patches that are white, independent and
rotation-invariant. Elsewhere there are minima that look like the least one: their residuals may show nothing to a test.
Draws that end in w different minima in n attempts leave an expected share w(w + 1)/(n(n − 1)) of all draws to minima
that were not seen (Boender and Rinnooy Kan 1987), so that drawing can end once that is small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planted.names import count_of

MOST_DRAWS = 16
_UNSEEN = 0.1
# Shares of a loss, and of the energy of the targets, by which descents to one minimum end apart.
APART, UNSETTLED = 0.01, 1e-6


def enough(losses: Sequence[float], energy: float) -> bool:
    """Whether draws whose least losses these are leave little to minima that none of them has found.

    >>> enough([1.0, 1.0], 9.0), enough([1.0, 1.001, 1.0, 1.0, 1.0], 9.0), enough([1.0, 2.0, 1.0, 1.0, 1.0], 9.0)
    (False, True, False)
    """
    n, minima = len(losses), len(_minima(losses, energy))
    return n > 1 and minima * (minima + 1) <= _UNSEEN * n * (n - 1)


def apart(losses: Sequence[float], energy: float) -> str:
    """That draws ended in different minima, of which the least is the network's, in words; empty if in one.

    >>> apart([1.0, 2.0, 1.0], 9.0)
    'starts ended in different minima, 2 of 3 in this one, the best'
    """
    minima = _minima(losses, energy)
    if len(minima) < 2:
        return ""
    return f"starts ended in different minima, {minima[0]} of {len(losses)} in this one, the best"


def unsettled(losses: Sequence[float], energy: float) -> str:
    """Why a lower minimum may be left, in words: the best of many was found once; empty if it was found again.

    >>> unsettled(list(np.arange(1.0, 5.0)), 9.0), unsettled([1.0, 2.0, 3.0, 1.0], 9.0)
    ('4 starts ended in 4 minima, and a lower one may be left', '')
    """
    minima = _minima(losses, energy)
    if minima[0] > 1 or len(minima) < 2 or enough(losses, energy):
        return ""
    return f"{len(losses)} starts ended in {count_of(len(minima), 'minimum', 'minima')}, and a lower one may be left"


def _minima(losses: Sequence[float], energy: float) -> list[int]:
    """How many draws ended in each minimum, from the least on."""
    ordered = np.sort(np.asarray(losses, dtype=np.float64))
    first = np.flatnonzero(np.diff(ordered) > APART * ordered[:-1] + UNSETTLED * energy) + 1
    return [len(part) for part in np.split(ordered, first)]
