r"""The number of neurons as the rank of a second moment, with a test of significance.

For rows whose density has score functions S_m = ∇^m f / f, integration by parts gives

    M = E[y S₂(x)] = Σ_i a*_i E[φ''(b*_i·x)] b*_i b*_iᵀ,

E[y (xxᵀ − I)] for standard Gaussian rows. Its rank is the number of neurons where these are at most as many as inputs,
their directions are independent and no E[φ''] vanishes. Constants and linear functions of x have no part in M, so y
loses its linear fit first, which takes most of the noise.

That the rank is r is tested by what is left of M̂ = mean(y S₂) in the space of its d − r smallest eigenvalues. There,
with C = UᵀM̂U, √n vech(C) is asymptotically normal with a covariance Ω that is estimated from the rows, and

    n vech(C)ᵀ Ω⁻¹ vech(C) → χ² with (d − r)(d − r + 1)/2 degrees of freedom

(Robin and Smith 2000; Donald, Fortuna and Pipiras 2007 for symmetric matrices). The rank is the first r that is not
rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import chi2

from planted.inputs import Gaussian, input_law
from planted.names import count_of
from planted.numerics.validation import as_rows

LEVEL = 0.01
# The covariance of the entries has to be estimated: so many rows for each of them.
_ROWS_PER_ENTRY = 10
_MOST_INPUTS = 30
_BLOCK = 8192


@dataclass(frozen=True)
class MomentRank:
    """The rank of E[y S₂] and how it was decided.

    Attributes
    ----------
    rank : int
        The least rank that is not rejected at `level`; d where every smaller one is rejected.
    p_values : array
        Of "the rank is r", r = 0, 1, …, as far as was tested.
    eigenvalues : array (d,)
        Of M̂, by size.
    level : float
    """

    rank: int
    p_values: np.ndarray
    eigenvalues: np.ndarray
    level: float

    def __str__(self) -> str:
        d = len(self.eigenvalues)
        least = "at least " if self.rank == d else ""
        if self.rank == 0:
            return f"E[y S₂] does not differ from zero (p-value {self.p_values[0]:.2g}): it says nothing of the neurons"
        tests = ", ".join(f"{r}: {p:.2g}" for r, p in enumerate(self.p_values))
        return f"{least}{count_of(self.rank, 'neuron')} by the rank of E[y S₂] (p-value of each rank: {tests})"


def rank_is_testable(n_rows: int, n_features: int) -> bool:
    """Whether there are enough rows, and few enough inputs, for the test.

    >>> rank_is_testable(150, 5), rank_is_testable(149, 5)
    (True, False)
    """
    return n_features <= _MOST_INPUTS and n_rows >= _ROWS_PER_ENTRY * n_features * (n_features + 1) // 2


def moment_rank(X: ArrayLike, y: ArrayLike, inputs: Any = "auto", level: float = LEVEL) -> MomentRank:
    """Test ranks 0, 1, … of E[y S₂(x)] for rows X (n, d), y (n,).

    Parameters
    ----------
    X, y : arrays (n, d), (n,)
    inputs : Density or str
        As in :func:`planted.inputs.input_law`.
    level : float
        Of each test.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 5, 3, weights="correlated", output="mixed", random_state=0)
    >>> moment_rank(data.X, data.y, "gaussian").rank
    3
    >>> moment_rank(data.X[:50], data.y[:50], "gaussian")
    Traceback (most recent call last):
    ValueError: the rank of E[y S₂] is tested for at most 30 inputs, for 5 on at least 150 rows, not 50
    """
    rows, targets = as_rows(X, y)
    n, d = rows.shape
    if not rank_is_testable(n, d):
        least = _ROWS_PER_ENTRY * d * (d + 1) // 2
        raise ValueError(
            f"the rank of E[y S₂] is tested for at most {_MOST_INPUTS} inputs, for {d} on at least {least:,} rows, "
            f"not {n:,}"
        )
    law = input_law(inputs, rows).law
    # M̂ in whitened coordinates has the same rank, and entries of like size.
    frame = Gaussian.fit(rows)
    plain = np.column_stack([np.ones(n), rows])
    left = targets - plain @ np.linalg.lstsq(plain, targets, rcond=None)[0]
    scores = _whitened_scores(law, frame, rows)
    weighted = left[:, None, None] * scores
    mean = weighted.mean(axis=0)
    values, vectors = np.linalg.eigh(mean)
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    p_values = []
    for rank in range(d):
        p_values.append(_p_value(weighted, vectors[:, rank:]))
        if p_values[-1] > level:
            break
    rank = len(p_values) - 1 if p_values[-1] > level else d
    return MomentRank(rank, np.array(p_values), values, level)


def _whitened_scores(law: Any, frame: Gaussian, rows: np.ndarray) -> np.ndarray:
    """S₂ (n, d, d) of the law in whitened coordinates: LᵀS₂(x)L for z = L⁻¹(x − mean)."""
    white = frame.whiten(rows)
    if isinstance(law, Gaussian):
        return white[:, :, None] * white[:, None, :] - np.eye(rows.shape[1])
    factor = np.linalg.cholesky(frame.cov)
    parts = [np.asarray(law.score(rows[i : i + _BLOCK], 2)) for i in range(0, len(rows), _BLOCK)]
    return np.einsum("ai,nab,bj->nij", factor, np.concatenate(parts), factor, optimize=True)


def _p_value(weighted: np.ndarray, space: np.ndarray) -> float:
    """Of "UᵀMU = 0" for U (d, q), from the terms y S₂ (n, d, d) of M̂."""
    q = space.shape[1]
    above = np.triu_indices(q)
    terms = np.einsum("ai,nab,bj->nij", space, weighted, space, optimize=True)[:, *above]
    mean = terms.mean(axis=0)
    spread = np.atleast_2d(np.cov(terms.T))
    statistic = len(terms) * mean @ cho_solve(cho_factor(spread), mean)
    return float(chi2.sf(statistic, len(mean)))
