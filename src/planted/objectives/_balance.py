r"""Units of parameters in which the entries of a Hessian are of one size.

The kind of a critical point does not depend on units, but what counts as small does: an input in millimetres, or a
linear part that is next to zero, has curvatures that look flat beside the others. In units s with

    max_i |s_i H_ij s_j| = 1    for every j

(Ruiz 2001) nothing looks flat that is not. Where H is positive semi-definite these are s_j = H_jj^(−1/2), since
H_ij² ≤ H_ii H_jj: no other units of single parameters are better by more than a factor p (van der Sluis 1969).
"""

from __future__ import annotations

import numpy as np

_ROUNDS = 60
_EVEN = 0.01


def balance(hessian: np.ndarray, least: float = 0.0) -> np.ndarray:
    """s (p,) for a symmetric matrix (p, p); one for a row whose entries do not exceed `least`.

    >>> balance(np.diag([4.0, 1e-6, 0.0]))
    array([5.e-01, 1.e+03, 1.e+00])
    >>> s = balance(np.array([[1e8, 10.0], [10.0, -1e-6]]))
    >>> np.abs(s * np.array([[1e8, 10.0], [10.0, -1e-6]]) * s[:, None]).max(axis=0).round(1)
    array([1., 1.])
    """
    size = np.abs(hessian)
    units = np.ones(len(size))
    live = size.max(axis=0, initial=0.0) > least
    for _ in range(_ROUNDS):
        largest = np.where(live, np.max(size * units * units[:, None], axis=0, initial=0.0), 1.0)
        if np.all(np.abs(largest - 1) < _EVEN):
            break
        # A square root of the way, since both ends of an entry move.
        units = units / np.sqrt(largest)
    return units
