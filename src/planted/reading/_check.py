"""Fresh questions, near and far, on which what was read and the model must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._survey import Survey

_FEWEST, _MOST, _SHARE = 8, 200, 0.025
_LINEAR = 100
NEARBY, _OUTERMOST, _PLACES = 3.0, 1e5, 4
FAR = 30.0
_BY_SPREAD = 2
_RINGS, _RINGS_SINGLE, _PAIRS, _CANDIDATES = (1e3, 1e15), (1e3, 1e9), 6, 64
_WIDEST_RUNG, _MOST_RUNGS, _A_RUNG, _MOST_SINGLE_POINTS = 0.3, 13, 2, 8000
_DOUBLE = 1e-8
_CANCELLED, _PROPORTION = 1e-3, 0.25
LEAST_SINGLE, MOST_SINGLE = 1e-6, 1e-4
_ROUNDINGS = 12.0


@dataclass(frozen=True)
class Check:
    """Largest differences relative to the standard deviation of the answers, and what rounding allows.

    Attributes
    ----------
    rounding : float
        Differences up to this are due to rounding.
    points : array (n, d)
        Points as far from the centre as the first ones, half of them where neurons turn; 30 times as far; where
        neurons turn that are further out than the near points, if there are such neurons; and opposite points a
        thousand and 10¹⁵ times as far (10⁹ in float32), of which one shows a neuron that is missing and turns closer.
    answers : array (n, m)
        What the model said there.
    parts : tuple of slice
        The rows of each of these groups.
    differences : tuple of float
        The largest difference in each of them.
    by_size : int
        How many groups, before the opposite points, are relative to the size of the answers where these vary less:
        points that are a thousand times as far, and in the units in which the first questions were asked, where these
        are not those in which the model bends.
    """

    rounding: float
    points: np.ndarray
    answers: np.ndarray
    parts: tuple[slice, ...]
    differences: tuple[float, ...] = ()
    by_size: int = 0

    @property
    def largest(self) -> float:
        """The largest of the differences."""
        return max(self.differences, default=np.inf)

    @property
    def inside(self) -> bool:
        """Whether the two agree but for the points that are a thousand times as far, or further."""
        return max(self.differences[: -len(_RINGS)], default=np.inf) <= self.rounding

    @property
    def missing(self) -> bool:
        """Whether they agree there, and not further out: neurons that turn far out are missing."""
        return self.inside and self.largest > self.rounding

    def better(self, other: Check | None) -> bool:
        """Whether these differences are smaller than others, or agree at least but for what is far out."""
        return other is None or (not self.inside, self.largest) < (not other.inside, other.largest)

    def joined(self, frame: Frame, more: Sequence[np.ndarray]) -> Check:
        """The check with further points (n, d) near by and far, and in groups of their own; no differences yet."""
        answers = np.split(frame(np.concatenate(more)), np.cumsum([len(new) for new in more])[:-1])
        points, known = ([array[part] for part in self.parts] for array in (self.points, self.answers))
        for groups, new in ((points, more), (known, answers)):
            groups[:_BY_SPREAD] = map(np.concatenate, zip(groups, new[:_BY_SPREAD], strict=False))
            groups[-len(_RINGS) : -len(_RINGS)] = new[_BY_SPREAD:]
        many = replace(self, points=np.concatenate(points), answers=np.concatenate(known), parts=_parts(points))
        return replace(many, by_size=len(more) - _BY_SPREAD)

    def again(self, network: Callable[[np.ndarray], np.ndarray]) -> Check:
        """The same questions for another network.

        Far out, large terms of the network may cancel, as those of max(z + 1, 0) − 2 max(z, 0) + max(z − 1, 0) do.
        What is left of them is their rounding, so differences are taken relative to a thousandth of these terms where
        the answers vary less. A neuron that is missing is as large as the terms. In float32, rounding is in proportion
        to the answers; where those around one neuron far out vary little, differences are relative to their size, as
        they are in units in which the model hardly varies.
        """
        own, sizes = network(self.points), []
        terms, rings = getattr(network, "terms", None), len(self.parts) - len(_RINGS)
        by_size = range(rings - self.by_size, rings)
        for number, part in enumerate(self.parts):
            valid = np.isfinite(self.answers[part]).all(axis=1)
            if not valid.any():
                sizes.append(0.0)
                continue
            answer = self.answers[part][valid]
            spread = float(np.std(answer, axis=0).max())
            level = spread if spread > 0 else max(float(np.abs(answer).max()), 1e-300)
            if number in by_size or (self.rounding > _DOUBLE and number > 1):
                level = max(level, _PROPORTION * float(np.abs(answer).max()))
            if terms is not None:
                level = max(level, _CANCELLED * float(terms(self.points[part][valid]).max()))
            sizes.append(float(np.abs(answer - own[part][valid]).max()) / level)
        return replace(self, differences=tuple(sizes))


def fidelity(
    frame: Frame, network: Callable[[np.ndarray], np.ndarray], survey: Survey, rng: np.random.Generator
) -> Check:
    """Compare at fresh points: 8 near and 8 far at least, more for larger networks, and 100 each for a linear function.

    Half of the near ones are on hyperplanes of the network's neurons. Of two neurons that are read as one, the model
    shows no more than a thin wedge, which is there. In float32 wedges are not told from one kink on a line, and every
    hyperplane is asked at distances from it that go down to rounding.
    """
    count = getattr(network, "count", 0)
    n = int(np.clip(_SHARE * count * frame.n_inputs, _FEWEST, _MOST)) if count else _LINEAR
    near, far = rng.standard_normal((2, n, frame.n_inputs))
    groups = [near, FAR * far]
    weights, bias = getattr(network, "hyperplanes", (np.empty((0, frame.n_inputs)), np.empty(0)))
    if len(weights):
        size = np.linalg.norm(weights, axis=1).clip(1e-300)
        distance = np.abs(bias) / size / np.sqrt(frame.n_inputs)
        close = distance < NEARBY
        spread = 1.0 if survey.smooth else 0.0  # an argument of 0 is where tanh does not bend
        near[: n // 2] = beside_hyperplanes(near[: n // 2], weights[close], bias[close], spread, rng)
        outside = np.flatnonzero(~close & (distance < _OUTERMOST))[: _MOST // _PLACES]
        if survey.single and not survey.smooth:
            groups[0] = np.concatenate([near, _rungs(weights[close], bias[close], 1.0, rng)])
            groups += [_rungs(weights[[j]], bias[[j]], float(distance[j]), rng) for j in outside]
        else:
            groups.append(_beyond(weights[outside], bias[outside], distance[outside], rng))
    groups += _rings(weights, bias, _RINGS_SINGLE if survey.single else _RINGS, rng)
    points, parts = np.concatenate(groups), _parts(groups)
    answers = frame(points)
    return Check(allowed(survey, answers[parts[0]]), points, answers, parts).again(network)


def _parts(groups: list[np.ndarray]) -> tuple[slice, ...]:
    """The rows of each of these groups, one after the other."""
    return tuple(slice(start, stop) for start, stop in pairwise(np.cumsum([0, *map(len, groups)])))


def _rungs(weights: np.ndarray, bias: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Points (n, d), `scale` times as far out as the first, on both sides of every hyperplane, closer and closer to it.

    Of two neurons a₁ max(z₁, 0) + a₂ max(z₂, 0) that are read as one at their weighted mean, what is wrong is a hat
    between that and z₁ or z₂: on the hyperplane itself, or beside it where a₁ and a₂ have opposite signs, on the one
    side or the other where z₁ − z₂ is positive or negative. So opposite places are asked in pairs.
    """
    (k, d), rungs = weights.shape, np.concatenate([[0.0], _WIDEST_RUNG * 3.0 ** -np.arange(_MOST_RUNGS)])
    distances = scale * np.sqrt(d) * np.unique(np.concatenate([rungs, -rungs]))
    size = np.linalg.norm(weights, axis=1).clip(1e-300)
    count = max(1, min(_A_RUNG, _MOST_SINGLE_POINTS // (2 * k * len(distances) + 1)))
    neurons, distance = np.repeat(np.arange(k), 2 * count * len(distances)), np.tile(distances, 2 * count * k)
    points = scale * rng.standard_normal((k, count, 1, len(distances), d))
    points = np.concatenate([points, -points], axis=2).reshape(-1, d)
    argument = np.einsum("nd,nd->n", points, weights[neurons]) + bias[neurons] - distance * size[neurons]
    moved: np.ndarray = points - (argument / size[neurons] ** 2)[:, None] * weights[neurons]
    return moved


def _beyond(weights: np.ndarray, bias: np.ndarray, distance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points (n, d) where neurons turn that are further out than the near points, at `distance` (k,)."""
    owner = np.repeat(np.arange(len(weights)), _PLACES)
    away = rng.standard_normal((len(owner), weights.shape[1])) * distance[owner, None]
    away *= rng.choice([1.0, 3.0], (len(owner), 1))
    for i, j in enumerate(owner):
        argument = (0.3 if i % 2 else 0.0) * abs(bias[j])
        away[i] = beside_hyperplanes(away[i : i + 1], weights[j : j + 1], bias[j : j + 1], argument, rng)
    return away


def _rings(
    weights: np.ndarray, bias: np.ndarray, ratios: tuple[float, ...], rng: np.random.Generator
) -> list[np.ndarray]:
    """Opposite points (12, d) at each of some distances, chosen so that no neuron of the network turns close to them.

    A neuron that was missed is active at one of two opposite points that are further out than its hyperplane, unless
    they lie along it. Where none turns, what is compared does not hang on the last digits of the weights. The better
    half of random points is far enough from hyperplanes; the best ones would all lie along the weights of few neurons,
    and miss those with other weights.
    """
    rings = []
    for ratio in ratios:
        options = ratio * rng.standard_normal((_CANDIDATES, weights.shape[1]))
        size = np.linalg.norm(weights, axis=1).clip(1e-300)
        margins = [np.abs(side * options @ weights.T + bias) / size for side in (1.0, -1.0)]
        margin = np.minimum(*margins).min(axis=1, initial=np.inf) / np.linalg.norm(options, axis=1)
        chosen = options[margin >= np.median(margin)][:_PAIRS]
        rings.append(np.concatenate([chosen, -chosen]))
    return rings


def allowed(survey: Survey, answers: np.ndarray) -> float:
    """Difference, in standard deviations of answers (n, m), that rounding explains.

    1e-8 in float64. In float32, twelve times the standard deviation of the rounding of an answer, at least 1e-6 and at
    most 1e-4.
    """
    if not survey.single:
        return _DOUBLE
    spread = float(np.nanstd(answers, axis=0).max())
    return (
        float(np.clip(_ROUNDINGS * survey.deviation / spread, LEAST_SINGLE, MOST_SINGLE)) if spread > 0 else MOST_SINGLE
    )
