"""Losses of a row in NumPy: value, slope and curvature as in :mod:`planted.objectives._losses`, for small problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.activations.elementwise import logistic, logistic_slope
from planted.objectives._losses import SMALLEST, BernoulliLogit, BernoulliMean, Loss, Softmax, SquaredError

KNOWN: tuple[type[Loss], ...] = (SquaredError, BernoulliMean, BernoulliLogit, Softmax)
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


def values(loss: Any, prediction: np.ndarray, y: np.ndarray, complement: np.ndarray | None = None) -> np.ndarray:
    """Loss (n,) of each row for predictions (n, m); `complement` is 1 − prediction where that is a probability.

    >>> values(SquaredError(), np.array([[1.0], [2.0]]), np.zeros((2, 1)))
    array([0.5, 2. ])
    """
    if isinstance(loss, BernoulliMean):
        yes, no = np.maximum(prediction, SMALLEST), np.maximum(_other(prediction, complement), SMALLEST)
        return -np.sum(y * np.log(yes) + (1 - y) * np.log(no), axis=1)
    if isinstance(loss, BernoulliLogit):
        # log(1 + e^{−|t|}), and |t| where the label is the other one: nothing large cancels.
        other = np.where(prediction > 0, 1 - y, y)
        size = np.abs(prediction)
        return np.sum(np.log1p(np.exp(-size)) + other * size, axis=1)
    if isinstance(loss, Softmax):
        shares, largest = one_hot(y, prediction.shape[1]), prediction.max(axis=1)
        total = np.log(np.sum(np.exp(prediction - largest[:, None]), axis=1)) + largest
        return total - np.einsum("nm,nm->n", shares, prediction)
    return 0.5 * np.sum((prediction - y) ** 2, axis=1)


def _other(prediction: np.ndarray, complement: np.ndarray | None) -> np.ndarray:
    return 1 - prediction if complement is None else complement


def _over(share: np.ndarray, probability: np.ndarray, power: int) -> np.ndarray:
    """share / probability^power, zero where the probability counts as the smallest one, a constant."""
    return np.where(probability > SMALLEST, share / np.maximum(probability, SMALLEST) ** power, 0.0)


def slopes(loss: Any, prediction: np.ndarray, y: np.ndarray, complement: np.ndarray | None = None) -> np.ndarray:
    """Derivative (n, m) of each row's loss by the prediction.

    >>> slopes(BernoulliLogit(), np.zeros((1, 1)), np.ones((1, 1)))
    array([[-0.5]])
    """
    if isinstance(loss, BernoulliMean):
        return _over(1 - y, _other(prediction, complement), 1) - _over(y, prediction, 1)
    if isinstance(loss, BernoulliLogit):
        return logistic(prediction) - y
    if isinstance(loss, Softmax):
        return softmax(prediction) - one_hot(y, prediction.shape[1])
    return prediction - y


def bends(prediction: np.ndarray, y: np.ndarray, complement: np.ndarray) -> np.ndarray:
    """Second derivative (n, m) of −y log p − (1 − y) log(1 − p) by p, whose expectation is the curvature.

    >>> bends(np.array([[0.5]]), np.ones((1, 1)), np.array([[0.5]]))
    array([[4.]])
    """
    return _over(y, prediction, 2) + _over(1 - y, complement, 2)


def curved(loss: Any, prediction: np.ndarray, jacobian: np.ndarray, complement: np.ndarray | None = None) -> np.ndarray:
    """C J (n, m, p) for the curvature C (n, m, m) of each row's loss and derivatives J (n, m, p) of the predictions.

    >>> curved(BernoulliLogit(), np.zeros((1, 1)), np.ones((1, 1, 2)))
    array([[[0.25, 0.25]]])
    """
    if isinstance(loss, BernoulliMean):
        return (1 / np.maximum(prediction * _other(prediction, complement), SMALLEST))[:, :, None] * jacobian
    if isinstance(loss, BernoulliLogit):
        return logistic_slope(prediction)[:, :, None] * jacobian
    if isinstance(loss, Softmax):
        p = softmax(prediction)
        return p[:, :, None] * (jacobian - np.einsum("nm,nmp->np", p, jacobian)[:, None, :])
    return jacobian
