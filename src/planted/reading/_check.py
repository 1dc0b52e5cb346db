"""Fresh questions, near and far, on which what was read and the model must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._survey import Survey

_FEWEST, _MOST, _SHARE = 8, 200, 0.025
_LINEAR = 100
_NEARBY, _OUTERMOST, _PLACES = 3.0, 1e5, 4
_FAR = 30.0
_DOUBLE = 1e-8
LEAST_SINGLE, MOST_SINGLE = 1e-6, 1e-4
_ROUNDINGS = 4.0


@dataclass(frozen=True)
class Check:
    """Largest difference relative to the standard deviation, near and far, and what rounding allows.

    Attributes
    ----------
    near, far, beyond : float
        Differences at points as far from the centre as the first ones, half of them where neurons turn; 30 times as
        far; and where neurons turn that are further out than the near points, if there are such neurons.
    rounding : float
        Differences up to this are due to rounding.
    points : array (2n + r, d)
        The near points, then the far ones, then those beyond.
    answers : array (2n + r, m)
        What the model said there.
    count : int
        Number n of near points.
    """

    near: float
    far: float
    rounding: float
    points: np.ndarray
    answers: np.ndarray
    count: int
    beyond: float = 0.0

    @property
    def largest(self) -> float:
        """The largest of the differences."""
        return max(self.near, self.far, self.beyond)

    @property
    def parts(self) -> tuple[slice, slice, slice]:
        """Rows of the near points, of the far ones, and of those beyond."""
        return slice(0, self.count), slice(self.count, 2 * self.count), slice(2 * self.count, None)

    def again(self, network: Callable[[np.ndarray], np.ndarray]) -> Check:
        """The same questions for another network."""
        own, sizes = network(self.points), []
        for part in self.parts:
            valid = np.isfinite(self.answers[part]).all(axis=1)
            if not valid.any():
                sizes.append(0.0)
                continue
            answer = self.answers[part][valid]
            spread = float(np.std(answer, axis=0).max())
            level = spread if spread > 0 else max(float(np.abs(answer).max()), 1e-300)
            sizes.append(float(np.abs(answer - own[part][valid]).max()) / level)
        return replace(self, near=sizes[0], far=sizes[1], beyond=sizes[2])


def fidelity(
    frame: Frame, network: Callable[[np.ndarray], np.ndarray], survey: Survey, rng: np.random.Generator
) -> Check:
    """Compare at fresh points: 8 near and 8 far at least, more for larger networks, and 100 each for a linear function.

    Half of the near ones are on hyperplanes of the network's neurons. Of two neurons that are read as one, the model
    shows no more than a thin wedge, which is there.
    """
    count = getattr(network, "count", 0)
    n = int(np.clip(_SHARE * count * frame.n_inputs, _FEWEST, _MOST)) if count else _LINEAR
    points = rng.standard_normal((2 * n, frame.n_inputs))
    points[n:] *= _FAR
    if hasattr(network, "hyperplanes"):
        weights, bias = network.hyperplanes
        distance = np.abs(bias) / np.linalg.norm(weights, axis=1).clip(1e-300) / np.sqrt(frame.n_inputs)
        close = distance < _NEARBY
        points[: n // 2] = beside_hyperplanes(points[: n // 2], weights[close], bias[close], 0.0, rng)
        outside = np.repeat(np.flatnonzero(~close & (distance < _OUTERMOST))[: _MOST // _PLACES], _PLACES)
        away = rng.standard_normal((len(outside), frame.n_inputs)) * distance[outside, None]
        away *= rng.choice([1.0, 3.0], (len(outside), 1))
        for i, j in enumerate(outside):
            argument = (0.3 if i % 2 else 0.0) * abs(bias[j])
            away[i] = beside_hyperplanes(away[i : i + 1], weights[j : j + 1], bias[j : j + 1], argument, rng)
        points = np.concatenate([points, away])
    answers = frame(points)
    return Check(np.inf, np.inf, allowed(survey, answers[:n]), points, answers, n).again(network)


def allowed(survey: Survey, answers: np.ndarray) -> float:
    """Difference, in standard deviations of answers (n, m), that rounding explains.

    1e-8 in float64. In float32, four times the rounding error of an answer, at least 1e-6 and at most 1e-4.
    """
    if not survey.single:
        return _DOUBLE
    spread = float(np.nanstd(answers, axis=0).max())
    return float(np.clip(_ROUNDINGS * survey.noise / spread, LEAST_SINGLE, MOST_SINGLE)) if spread > 0 else MOST_SINGLE
