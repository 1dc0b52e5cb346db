"""The first questions: whether answers repeat, how much they are rounded, whether the model is piecewise linear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.reading._query import Frame, ModelError, check_determinism

_POINTS = 4
_MANY, _VERY_MANY = 12, 36
_LONG, _SHORT = 0.04, 1e-4
_ROUNDINGS = 2.0
_ALL_WHOLE = 2.0**23
_TELLING = 300.0
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
    decimals : int or None
        To how many decimals its answers are rounded, if they are.
    deviation : float
        Standard deviation of the rounding error of an answer there, measured for float32 models; `noise` is several
        times as large.
    """

    epsilon: float
    noise: float
    spread: float
    smooth: bool
    radius: float
    outputs: int
    decimals: int | None = None
    deviation: float = 0.0

    @property
    def single(self) -> bool:
        """Whether the model rounds to float32."""
        return self.epsilon > 1e-10

    @property
    def fine(self) -> Survey:
        """The same, with a `noise` that is twice the measured deviation."""
        return replace(self, noise=_ROUNDINGS * self.deviation)


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
    # Small whole numbers say nothing about the precision; from 2²³ on, float32 has no others.
    telling = (values != np.round(values)) | (np.abs(values) >= _ALL_WHOLE)
    single = bool(np.all(values == values.astype(np.float32)) and np.any(telling))
    epsilon = _SINGLE if single else _DOUBLE
    spread = float(np.abs(values).max())
    radius, rounding = float(np.sqrt(d)), 5 * epsilon * spread
    if single:
        smooth = _curves(frame, rounding, radius, rng)
        deviation = min(rounding / _ROUNDINGS, _deviation(frame, epsilon * spread, radius, rng))
        return Survey(epsilon, rounding, spread, smooth, radius, values.shape[1], deviation=deviation)
    directions = rng.standard_normal((_POINTS, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    step = 1e-4 * radius * directions
    sides = frame(np.concatenate([points - step, points + step]))
    bends = np.abs(sides[:_POINTS] + sides[_POINTS:] - 2 * values).max(axis=1)
    bends = np.sort(bends[np.isfinite(bends)])
    # A kink may be close to one point, or to two: a smooth model curves at three of four.
    bend = float(bends[min(1, len(bends) - 1)]) if len(bends) else 0.0
    smooth = bend > 20 * rounding and bend > 1e-11 * spread
    noise = rounding if smooth else max(rounding, min(2 * bend, 100 * rounding))
    return Survey(epsilon, noise, spread, smooth, radius, values.shape[1], _decimals(np.vstack([values, sides])))


def _decimals(values: np.ndarray) -> int | None:
    """The least number of decimals, up to twelve, with which all values are given; None for values that need more.

    >>> _decimals(np.array([0.123, 4.5, 6.78])), _decimals(np.array([np.pi, 1.0, 2.0]))
    (3, None)
    """
    if not np.all(np.isfinite(values)) or len(np.unique(values)) < 3:
        return None
    most = int(np.floor(-np.log10(_TELLING * _DOUBLE * np.abs(values).max())))  # beyond, rounding is that of float64
    return next((digits for digits in range(min(most, 12) + 1) if np.all(values == np.round(values, digits))), None)


def _deviation(frame: Frame, ulp: float, radius: float, rng: np.random.Generator) -> float:
    """Standard deviation of the rounding error of an answer, from second differences over steps too short to bend.

    Rounding is larger at some points than at others. Where a kink is met all the same the differences are far larger,
    which happens at few points: the third largest of 36 counts. An answer that is rounded to a step `ulp` is off by
    at least what a uniform error is, ulp/√12.
    """
    points = rng.standard_normal((_VERY_MANY, frame.n_inputs))
    step = rng.standard_normal((_VERY_MANY, frame.n_inputs))
    step *= _SHORT * radius / np.linalg.norm(step, axis=1, keepdims=True)
    asked = points + np.arange(-2.0, 3.0)[:, None, None] * step
    answers = frame(asked.reshape(-1, frame.n_inputs)).reshape(len(asked), _VERY_MANY, -1)
    differences = np.abs(np.diff(answers, n=2, axis=0)).max(axis=2)
    typical = float(np.sqrt(np.sort(np.mean(differences**2, axis=0))[-3] / 6))
    return max(typical, ulp / np.sqrt(12))


def _curves(frame: Frame, rounding: float, radius: float, rng: np.random.Generator) -> bool:
    """Whether second differences go with the square of the step, as they do for a smooth model.

    In float32 steps must be so long that a kink may well be among them. But then the difference over half the step is
    any share of the whole one between 0 and ½, and hardly ever a quarter at most points.
    """
    points = rng.standard_normal((_MANY, frame.n_inputs))
    step = rng.standard_normal((_MANY, frame.n_inputs))
    step *= _LONG * radius / np.linalg.norm(step, axis=1, keepdims=True)
    asked = np.stack([points - step, points - step / 2, points, points + step / 2, points + step])
    low, lower, middle, higher, high = frame(asked.reshape(-1, frame.n_inputs)).reshape(5, _MANY, -1)
    whole, half = low + high - 2 * middle, lower + higher - 2 * middle
    output = np.argmax(np.abs(whole), axis=1)[:, None]
    whole, half = (np.take_along_axis(part, output, axis=1)[:, 0] for part in (whole, half))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = half / whole
    clear = np.abs(whole) > 20 * rounding
    return bool(clear.sum() > _MANY / 4 and np.mean((share[clear] > 0.2) & (share[clear] < 0.3)) > 0.6)
