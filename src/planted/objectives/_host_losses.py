"""Losses of a row in NumPy: value, slope and curvature as in :mod:`planted.objectives._losses`, for small problems."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from planted.objectives._losses import BernoulliLogit, Loss, Softmax, SquaredError

KNOWN: tuple[type[Loss], ...] = (SquaredError, BernoulliLogit, Softmax)
"""Losses that the host has."""


def one_hot(y: np.ndarray, m: int) -> np.ndarray:
    """Shares (n, m) of the classes, from classes (n,) or (n, 1), or shares as they are.

    >>> one_hot(np.array([[1.0], [0.0]]), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    return y if y.ndim > 1 and y.shape[1] == m else np.eye(m, dtype=y.dtype)[y.reshape(-1).astype(int)]


def softmax(scores: np.ndarray) -> np.ndarray:
    """e^{t_c} / Σ e^{t} along the last axis.

    >>> softmax(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def values(loss: Any, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Loss (n,) of each row for predictions (n, m).

    >>> values(SquaredError(), np.array([[1.0], [2.0]]), np.zeros((2, 1)))
    array([0.5, 2. ])
    """
    if isinstance(loss, BernoulliLogit):
        # log(1 + e^{−t}) for y = 1 and log(1 + eᵗ) for y = 0: nothing large cancels.
        return np.sum(y * np.logaddexp(0.0, -prediction) + (1 - y) * np.logaddexp(0.0, prediction), axis=1)
    if isinstance(loss, Softmax):
        shares = one_hot(y, prediction.shape[1])
        return logsumexp(prediction, axis=1) - np.sum(shares * prediction, axis=1)
    return 0.5 * np.sum((prediction - y) ** 2, axis=1)


def slopes(loss: Any, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Derivative (n, m) of each row's loss by the prediction.

    >>> slopes(BernoulliLogit(), np.zeros((1, 1)), np.ones((1, 1)))
    array([[-0.5]])
    """
    if isinstance(loss, BernoulliLogit):
        return expit(prediction) - y
    if isinstance(loss, Softmax):
        return softmax(prediction) - one_hot(y, prediction.shape[1])
    return prediction - y


def curved(loss: Any, prediction: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """C J (n, m, p) for the curvature C (n, m, m) of each row's loss and derivatives J (n, m, p) of the predictions.

    >>> curved(BernoulliLogit(), np.zeros((1, 1)), np.ones((1, 1, 2)))
    array([[[0.25, 0.25]]])
    """
    if isinstance(loss, BernoulliLogit):
        return (expit(prediction) * expit(-prediction))[:, :, None] * jacobian
    if isinstance(loss, Softmax):
        p = softmax(prediction)
        return p[:, :, None] * (jacobian - np.einsum("nm,nmp->np", p, jacobian)[:, None, :])
    return jacobian
