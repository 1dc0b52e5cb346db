r"""What the theory of a shared filter does not cover in rows at hand.

Du et al. (2017) and Remark 2 are about patches that do not overlap, are independent of each other, and are
rotation-invariant once they are white. A fit does not need that: the loss and its minimum are those of the rows. The
theorems about the four restarts and about the spurious minimum do.
"""

from __future__ import annotations

import math

import numpy as np

_ROWS, _COLUMNS, _REPEATED_ROWS = 4000, 300, 50
_ERRORS = 6.0


def outside_theory(patches: np.ndarray, whitener: np.ndarray) -> str:
    """Which assumptions the patches (n, k, p) break, in words; empty if none is seen to be broken.

    Overlap is told from inputs that repeat others in every row. Dependence is a correlation between inputs of two
    patches, and a preferred direction a fourth moment of the directions of white patches, six standard errors from what
    the theory has.

    >>> rng = np.random.default_rng(0)
    >>> outside_theory(rng.standard_normal((500, 3, 4)), np.eye(4))
    ''
    >>> rows = rng.standard_normal((500, 5))
    >>> outside_theory(np.stack([rows[:, :4], rows[:, 1:]], axis=1), np.eye(4))
    'patches overlap'
    """
    n, k, p = patches.shape
    if k > 1 and _overlap(patches[:_REPEATED_ROWS].reshape(min(n, _REPEATED_ROWS), -1)):
        return "patches overlap"
    white = patches[:_ROWS] @ whitener
    white, broken = white[:, :, np.any(white != 0, axis=(0, 1))], []
    p = white.shape[2]
    if k > 1 and _dependent(white):
        broken.append("patches of a row are correlated")
    if p > 1 and _preferred(white.reshape(-1, p)):
        broken.append("patches are not rotation-invariant")
    return " and ".join(broken)


def _overlap(flat: np.ndarray) -> bool:
    varied = flat[:, np.ptp(flat, axis=0) > 0] if len(flat) > 1 else flat[:, :0]
    return varied.shape[1] > 0 and np.unique(varied, axis=1).shape[1] < varied.shape[1]


def _dependent(white: np.ndarray) -> bool:
    n, k, p = white.shape
    flat = white.reshape(n, -1)
    some = np.linspace(0, k * p - 1, min(k * p, _COLUMNS)).astype(int)
    columns = flat[:, some] - flat[:, some].mean(axis=0)
    spread = np.sqrt(np.mean(columns**2, axis=0))
    columns = columns / np.where(spread > 0, spread, 1.0)
    owner = some // p
    apart = owner[:, None] != owner[None, :]
    # Radii that patches share make products heavy-tailed: each mean is compared with its own standard error.
    mean = columns.T @ columns / n
    error = np.sqrt(np.maximum((columns**2).T @ columns**2 / n - mean**2, 1e-300) / n)
    return bool(np.any(apart & (np.abs(mean) > _ERRORS * error)))


def _preferred(white: np.ndarray) -> bool:
    lengths = np.linalg.norm(white, axis=1, keepdims=True)
    unit = white[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    if len(unit) < 2:
        return False
    p = unit.shape[1]
    fourth = np.sum(unit**4, axis=1) - 3 / (p + 2)
    peaked = abs(float(fourth.mean())) / max(float(fourth.std()), 1e-300)
    # A component of a uniform direction has variance 1/p.
    centred = float(np.max(np.abs(unit.mean(axis=0)))) * math.sqrt(p)
    return math.sqrt(len(unit)) * max(peaked, centred) > _ERRORS
