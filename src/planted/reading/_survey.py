"""The first questions: whether answers repeat, how much they are rounded, whether the model is piecewise linear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planted.reading._query import Frame, ModelError, check_determinism

_POINTS = 4
_SINGLE = float(np.finfo(np.float32).eps)
_DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Survey:
    """What a few questions say about a model.

    Attributes
    ----------
    epsilon : float
        Relative rounding of its answers: that of float32 or of float64.
    noise : float
        Rounding error of an answer at the distance of the first points.
    spread : float
        Size of its answers there.
    smooth : bool
        Whether it curves at most points, or is linear around most of them.
    radius : float
        Distance of the first points from the centre.
    outputs : int
        Number of outputs m.
    """

    epsilon: float
    noise: float
    spread: float
    smooth: bool
    radius: float
    outputs: int


def survey(frame: Frame, rng: np.random.Generator) -> Survey:
    """Ask at four points twice, and around them.

    >>> from planted.reading._query import Query, Source
    >>> query = Query(Source(lambda X: np.tanh(X[:, 0]), 2))
    >>> survey(Frame(query, np.zeros(2), np.ones(2)), np.random.default_rng(0)).smooth
    True
    """
    d = frame.n_inputs
    points = rng.standard_normal((_POINTS, d))
    values = check_determinism(frame.query, frame.centre + points * frame.scale)
    if not np.all(np.isfinite(values)):
        raise ModelError("the model's probabilities are 0 or 1 where its inputs are of the size of one")
    single = bool(np.all(values == values.astype(np.float32)) and np.any(values != np.round(values)))
    epsilon = _SINGLE if single else _DOUBLE
    spread = float(np.abs(values).max())
    directions = rng.standard_normal((_POINTS, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = float(np.sqrt(d))
    step = (3e-3 if single else 1e-4) * radius * directions
    sides = frame(np.concatenate([points - step, points + step]))
    bends = np.abs(sides[:_POINTS] + sides[_POINTS:] - 2 * values).max(axis=1)
    bends = np.sort(bends[np.isfinite(bends)])
    # A kink may be close to one point, or to two: a smooth model curves at three of four.
    bend = float(bends[min(1, len(bends) - 1)]) if len(bends) else 0.0
    rounding = 5 * epsilon * spread
    smooth = bend > 20 * rounding and bend > (1e-6 if single else 1e-11) * spread
    noise = rounding if smooth else max(rounding, min(2 * bend, 100 * rounding))
    return Survey(epsilon, noise, spread, smooth, radius, values.shape[1])
