"""Where a logistic curve through counts of successes crosses one half, as Figures 2 and 3 report it."""

from __future__ import annotations

import numpy as np

_DRAWS = 200


def logistic_crossing(values: np.ndarray, fraction: np.ndarray, trials: int) -> tuple[float, float]:
    """Where a logistic curve fitted by maximum likelihood to binomial fractions is 1/2, and its slope.

    A weak penalty (1e-3 slope²) keeps the slope finite when the fractions jump from 0 to 1.

    >>> crossing, slope = logistic_crossing(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 0.9]), 10)
    >>> round(crossing, 3), slope > 0
    (2.0, True)
    """
    crossing, slope = _fit_logistic(np.asarray(values, np.float64), np.asarray(fraction, np.float64)[None], trials)
    return float(crossing[0]), float(slope[0])


def _fit_logistic(x: np.ndarray, p: np.ndarray, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Crossings and slopes for every row of fractions `p` (b, m), by Newton's method with halved steps."""
    design = np.stack([np.ones(len(x)), x - x.mean()])
    ridge = np.array([1e-6, 2e-3])

    def loss(theta: np.ndarray) -> np.ndarray:
        z = theta @ design
        return trials * np.sum(np.logaddexp(0, z) - p * z, axis=1) + 0.5 * np.sum(ridge * theta**2, axis=1)

    theta = np.tile([0.0, 1.0], (len(p), 1))
    for _ in range(100):
        mean = 0.5 * (1 + np.tanh(0.5 * theta @ design))
        gradient = trials * (mean - p) @ design.T + ridge * theta
        hessian = trials * np.einsum("bm,im,jm->bij", mean * (1 - mean), design, design) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        here, length = loss(theta), np.ones(len(p))
        while np.any(worse := (loss(theta - length[:, None] * step) > here) & (length > 1e-9)):
            length = np.where(worse, length / 2, length)
        theta = theta - length[:, None] * step
        if np.max(np.abs(gradient)) < 1e-10 * trials:
            break
    return x.mean() - theta[:, 0] / theta[:, 1], theta[:, 1]


def crossing_error(values: np.ndarray, counts: np.ndarray, trials: int, seed: int = 0) -> float:
    """Standard error of the crossing, by resampling the problems of every value (200 times).

    `counts` (values, problems) are successes out of `trials`. It is half the distance between the 16th and the 84th
    percentile: a resample without both outcomes has its crossing anywhere.

    >>> counts = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 1]], 10, axis=1)
    >>> 0 < crossing_error(np.array([1.0, 2.0, 3.0]), counts, 1) < 0.5
    True
    """
    n, problems = counts.shape
    picks = np.random.default_rng(seed).integers(problems, size=(_DRAWS, n, problems))
    fractions = np.take_along_axis(counts[None], picks, axis=2).mean(axis=2) / trials
    crossings = _fit_logistic(np.asarray(values, np.float64), fractions, problems * trials)[0]
    return float(np.subtract(*np.percentile(crossings, [84, 16])) / 2)
