r"""A bandwidth for E[y Ŝ₄], which is what the loss L of Gao et al. (2018) makes of an estimated score.

Score matching compares bandwidths by S₁ alone, Remark 1 by rates. But for a smooth function g of one direction v,

    E[g(v·x) S₄(x)] = E[g''''(v·x)] v^{⊗4}

whatever the density, and both sides can be had from the rows. So the error of the left side with Ŝ₄ in place of S₄ is
measured, bias and variance together, on functions g(v_j·x), g(z) = log 2cosh z, of orthonormal directions v_j: smooth
relatives of the neurons whose moments are wanted. The bandwidth with the least error is taken. As in L itself the best
polynomial of degree 4 is taken out of g first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import ortho_group

from planted.inputs._polynomial import polynomial_fit
from planted.numerics.seeding import words_from

_DIRECTIONS = 5
_ROWS = {2: 20_000}
_ROWS_OF_OTHER_DEGREES = 1500
# In units of the inputs' spread.
_WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0)
_USABLE = 0.95


def probe(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g(z) = log 2cosh z, of the shape of z, and its fourth derivative.

    >>> value, fourth = probe(np.zeros(1))
    >>> value.round(6), fourth
    (array([0.693147]), array([-2.]))
    """
    square = 1 / np.cosh(np.clip(z, -300, 300)) ** 2
    return np.logaddexp(z, -z), square * (4 - 6 * square)


def moment_error(contract: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray, frame: np.ndarray) -> float:
    """Error of the mean of g_j Ŝ₄(v_a, v_a, v_b, v_b) over j and a ≥ b, relative to the true ones; one is useless.

    Parameters
    ----------
    contract : callable (u, v) -> array (n,)
        Ŝ₄(x)(u, u, v, v) at the rows of X, NaN where there is no estimate.
    X : array (n, d)
    frame : array (m, d)
        Orthonormal directions v_j.

    Examples
    --------
    >>> from planted.inputs import Gaussian
    >>> X = Gaussian([0.0, 0.0]).sample(20_000, random_state=0)
    >>> moment_error(lambda u, v: Gaussian([0.0, 0.0]).contract(X, u, v), X, np.eye(2)) < 0.2
    True
    >>> moment_error(lambda u, v: np.nan * X[:, 0], X, np.eye(2))
    inf
    """
    along = X @ frame.T
    centre, spread = along.mean(axis=0), along.std(axis=0)
    values, fourth = probe((along - centre) / spread)
    truth = fourth.mean(axis=0) / spread**4
    fits = [polynomial_fit(X, column, 4) for column in values.T]
    rest = np.stack([fit.residual for fit in fits], axis=1)
    errors = []
    for a, u in enumerate(frame):
        for b, v in enumerate(frame[: a + 1]):
            score = contract(u, v)
            usable = np.isfinite(score)
            if usable.mean() < _USABLE:
                return np.inf
            moments = rest[usable].T @ score[usable] / usable.sum()
            for j, fit in enumerate(fits):
                known = 0.0 if fit.fourth is None else np.einsum("ijkl,i,j,k,l", fit.fourth, u, u, v, v)
                errors.append(moments[j] + known - (truth[j] if j == a == b else 0.0))
    return float(np.linalg.norm(errors) / np.linalg.norm(truth))


def bandwidth_for_moment(
    X: np.ndarray, degree: int, fitted: Callable[[float, np.ndarray], Any], random_state: Any = None
) -> tuple[float, dict[float, float]]:
    """The bandwidth of the least :func:`moment_error`, and the error by bandwidth.

    Parameters
    ----------
    X : array (n, d)
    degree : int
        Of the local polynomials; those other than 2 are compared on fewer rows, as each costs Newton's method.
    fitted : callable (h, rows) -> LocalLikelihood
        Fitted to those rows with bandwidth h.
    random_state : None, int, RandomState or Generator
        Decides rows and directions.

    Examples
    --------
    >>> from planted.inputs import Gaussian, LocalLikelihood
    >>> X = Gaussian([0.0, 0.0]).sample(3000, random_state=0)
    >>> h, errors = bandwidth_for_moment(X, 2, lambda h, rows: LocalLikelihood(h).fit(rows), 0)
    >>> errors[h] == min(errors.values()) < 0.5
    True
    """
    n, d = X.shape
    rng = np.random.default_rng(np.asarray(words_from(random_state)))
    spread = float(np.sqrt(np.mean(np.var(X, axis=0))))
    if not spread > 0:
        raise ValueError("all rows of X are equal, so no bandwidth follows from them")
    rows = X[np.sort(rng.permutation(n)[: _ROWS.get(degree, _ROWS_OF_OTHER_DEGREES)])]
    frame = (ortho_group.rvs(d, random_state=rng) if d > 1 else np.eye(1))[: min(d, _DIRECTIONS)]
    errors = {}
    with warnings.catch_warnings():
        # Rows without a fit make a bandwidth unusable, or are left out; only those of the chosen one matter.
        warnings.simplefilter("ignore", UserWarning)
        for h in (spread * width for width in _WIDTHS):
            errors[h] = moment_error(partial(fitted(h, rows).contract, None), rows, frame)
    usable = {h: error for h, error in errors.items() if np.isfinite(error)}
    if not usable:
        raise ValueError("no bandwidth tried leaves enough neighbours at the rows; give one")
    return min(usable, key=lambda h: usable[h]), errors
