r"""Two neurons that were read as one: the thin wedge between their hyperplanes, looked at closely.

From further away, a₁ max(z₁, 0) + a₂ max(z₂, 0) with z₁ ≈ z₂ is one neuron at the weighted mean of both. On short
lines across it there are two kinks. Lines at many places of the hyperplane give points of both hyperplanes; which kink
belongs to which is first taken from the sizes of the kinks, then from the hyperplanes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planted.reading._chords import find_corners
from planted.reading._kinks import Pieces
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._trace import Remainder, alone, extent_at

_RUNGS = 0.3 * 3.0 ** -np.arange(10.0)
_LOOKS = 6
_CLEAR, _LOCAL = 8.0, 0.3
_MOST = 4
_PLACES, _SPARE = 3, 6
_REACH, _FINEST = 0.1, 1e-4
_ASIDE = 3.0
_STARTS, _ROUNDS = 12, 10
_MISS = 5.0


@dataclass(frozen=True)
class _Wedge:
    """Two kinks on each of n lines across a hyperplane.

    Attributes
    ----------
    places : array (n, d)
        Points of the hyperplane.
    shifts, sizes : array (n, 2)
        Distances of the two kinks from it, in order, and their sizes relative to the whole neuron's.
    error : array (n, 2)
        Errors of the distances.
    """

    places: np.ndarray
    shifts: np.ndarray
    sizes: np.ndarray
    error: np.ndarray


def split(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator) -> Pieces:
    """The pieces with every neuron that is two of them taken as two; those that stay unclear stay as they are."""
    for i in _suspects(frame, known, survey, rng)[:_MOST]:
        wedge = _cross_twice(frame, known, i, survey, rng)
        halves = None if wedge is None else _halves(wedge, rng)
        if halves is None:
            continue
        turns, moves, shares = halves
        normals = known.normals[i] - turns
        length = np.linalg.norm(normals, axis=1)
        offsets = (known.offsets[i] - moves) / length
        jumps = np.outer(known.jumps[:, i], shares * length)
        others = known.only(np.arange(known.count) != i)
        known = replace(
            others,
            normals=np.vstack([others.normals, normals / length[:, None]]),
            offsets=np.concatenate([others.offsets, offsets]),
            jumps=np.hstack([others.jumps, jumps]),
            error=np.append(others.error, [known.error[i]] * 2),
        )
        return known
    return known


def _on_hyperplane(known: Pieces, i: int, count: int, extent: float, rng: np.random.Generator) -> np.ndarray:
    """Random points (count, d) of a hyperplane, at distances of about `extent` from each other."""
    normal = known.normals[i]
    points = rng.standard_normal((count, len(normal))) * extent / np.sqrt(len(normal))
    points -= np.outer(points @ normal + known.offsets[i], normal)
    return points


def _suspects(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator) -> list[int]:
    """Neurons beside whose hyperplanes the model differs by more than rounding, the largest difference first."""
    steps, misses = np.concatenate([-_RUNGS, [0.0], _RUNGS[::-1]]), np.zeros(known.count)
    model = Remainder(lambda x, rows: frame(x) - known(x), survey.noise, survey.radius)
    for i, normal in enumerate(known.normals):
        extent = extent_at(known.offsets[i] * normal, survey.radius)
        asked = _on_hyperplane(known, i, _LOOKS, extent, rng)[:, None] + extent * steps[:, None] * normal
        asked = asked.reshape(-1, len(normal))
        miss = np.abs(model.function(asked, np.arange(len(asked)))).max(axis=1) / model.rounding(asked)
        miss = miss.reshape(_LOOKS, len(steps)).max(axis=0)
        # Where a neuron is missing instead, the difference does not end at a distance from the hyperplane.
        misses[i] = miss.max() if max(miss[0], miss[-1]) < _LOCAL * miss.max() else 0.0
    return [int(i) for i in np.argsort(-misses) if misses[i] > _CLEAR]


def _cross_twice(frame: Frame, known: Pieces, i: int, survey: Survey, rng: np.random.Generator) -> _Wedge | None:
    """The two kinks on lines across neuron i at many places, with the other neurons subtracted."""
    normal, d = known.normals[i], known.normals.shape[1]
    size = float(np.linalg.norm(known.jumps[:, i]))
    mix = known.jumps[:, i] / size
    extent = extent_at(known.offsets[i] * normal, survey.radius)
    model = Remainder(partial(alone, frame, known, i), survey.noise, survey.radius)
    places: list[np.ndarray] = []
    shifts, sizes, errors = [], [], []
    for asked, place in enumerate(_on_hyperplane(known, i, _PLACES * (d + 1) + _SPARE, extent, rng)):
        if asked == _SPARE and len(places) < _SPARE // 3:
            return None
        corners = find_corners(
            lambda t, place=place: model.function(place + t[:, None] * normal, t) @ mix[:, None],  # type: ignore[misc]
            _REACH * extent,
            _FINEST * extent,
            lambda t, place=place: model.rounding(place + t[:, None] * normal),  # type: ignore[misc]
            1e-7 * extent,
        )
        if len(corners.t) != 2:
            continue
        first, second = corners.t
        aside = _ASIDE * (second - first)
        t = np.array([first - aside, first, second, second + aside])
        values = model.function(place + t[:, None] * normal, t) @ mix
        bends = np.diff(np.diff(values) / np.diff(t)) / size
        rounding = float(model.rounding(place))
        if np.all(np.abs(bends) * (second - first) * size > _MISS * rounding):
            places.append(place)
            shifts.append(corners.t)
            sizes.append(bends)
            errors.append(rounding / (np.abs(bends) * size))
    if len(places) < d + 2:
        return None
    return _Wedge(np.array(places), np.array(shifts), np.array(sizes), np.array(errors))


def _halves(wedge: _Wedge, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Turns (2, d), moves (2,) and shares (2,): neuron j is share_j max(z − turn_j·x − move_j, 0); None if unclear."""
    n = len(wedge.places)
    columns = np.column_stack([wedge.places, np.ones(n)])
    swapped = wedge.sizes[:, 0] < wedge.sizes[:, 1]
    for start in range(_STARTS):
        swap = swapped if not start else rng.random(n) < 0.5
        for _ in range(_ROUNDS):
            pick = np.column_stack([swap, ~swap]).astype(int)
            planes = []
            for j in (0, 1):
                weight = 1 / np.take_along_axis(wedge.error, pick[:, j : j + 1], axis=1)[:, 0]
                shift = np.take_along_axis(wedge.shifts, pick[:, j : j + 1], axis=1)[:, 0]
                planes.append(np.linalg.lstsq(columns * weight[:, None], shift * weight, rcond=1e-9)[0])
            expected = columns @ np.array(planes).T
            direct = np.abs(expected - wedge.shifts) / wedge.error
            crossed = np.abs(expected[:, ::-1] - wedge.shifts) / wedge.error
            better = crossed.max(axis=1) < direct.max(axis=1)
            if np.array_equal(better, swap):
                break
            swap = better
        if np.median(np.where(swap[:, None], crossed, direct)) < _MISS:
            weight = np.ptp(wedge.shifts, axis=1)
            sizes = np.where(swap[:, None], wedge.sizes[:, ::-1], wedge.sizes)
            shares = np.average(sizes, axis=0, weights=weight**2)
            solution = np.array(planes)
            return solution[:, :-1], solution[:, -1], shares
    return None
