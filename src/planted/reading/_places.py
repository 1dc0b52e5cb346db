"""Where to ask: points at which neurons turn, which random points miss if weights are small or biases large."""

from __future__ import annotations

import numpy as np


def beside_hyperplanes(
    points: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    spread: float | np.ndarray,
    rng: np.random.Generator,
    scale: np.ndarray | None = None,
) -> np.ndarray:
    """Points (n, d), each moved along the weights of one neuron until its argument w·x + b is `spread` times Gaussian.

    Neurons take turns, so that each gets its share; without neurons the points stay. The points and the spread of each
    neuron are multiplied by its `scale` (k,), one by default.

    >>> rng = np.random.default_rng(0)
    >>> moved = beside_hyperplanes(np.ones((4, 2)), np.array([[2.0, 0.0]]), np.array([6.0]), 0.0, rng)
    >>> moved[0]
    array([-3.,  1.])
    """
    if not len(weights):
        return points
    chosen = np.resize(rng.permutation(len(weights)), len(points))
    w, size = weights[chosen], np.sum(weights[chosen] ** 2, axis=1).clip(1e-300)
    ratio = np.ones(len(points)) if scale is None else scale[chosen]
    points = points * ratio[:, None]
    shift = spread * ratio * rng.standard_normal(len(points)) - np.einsum("nd,nd->n", points, w) - bias[chosen]
    moved: np.ndarray = points + (shift / size)[:, None] * w
    return moved
