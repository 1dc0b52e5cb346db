r"""Piecewise linear models that round coarsely: every hyperplane is traced at places far apart.

A model that computes in float32 answers with an error ε of 1e-6. A gradient measured in a region of width h is off by
ε/h, too much where kinks are close. But *where* a kink of size A is on a short line across it is known to ε/A however
short the line is, and d such places at distances L from each other give the normal to ε/(A L). So a kink's hyperplane
is followed outwards from the line on which it was found, in d − 1 directions, until L is as large as the region of
interest. That the same jump is met at all of these places is also evidence that it belongs to a single neuron of the
only hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planted.reading._chords import find_corners
from planted.reading._kinks import Pieces, basis_along, unit
from planted.reading._query import Frame
from planted.reading._survey import Survey

_GRAIN = 1e-4
_STATIONS = np.array([-1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0])
_ROUNDS = 6
# Where to cross instead, beside the move asked for, and on how much shorter a line.
_TRIES = ((1.0, 1.0), (-1.0, 1.0), (0.8, 0.5), (-0.8, 0.5), (0.6, 0.2), (-0.6, 0.2), (0.5, 0.1), (-0.7, 0.1))
_HOPELESS = 0.5
_MISS = 6.0
_AGREE = 0.01
_SHORTEST = 0.2
_NARROWINGS = 8
_WIDE = 0.3
_NARROWER = 5
_SPOTS = 6
_CERTAIN = 1e-4
OUTWARDS = 0.3


@dataclass
class Crossing:
    """One kink on short lines across it: x_j + s v with |s| ≤ h_j, at j = 0, …, d − 1.

    Attributes
    ----------
    shift, bend, error : array (n,)
        Place s of the kink, jump of the slope along v in the outputs' direction, and error of that jump.
    valid : array (n,)
        Whether the line is straight on both sides of one kink.
    """

    shift: np.ndarray
    bend: np.ndarray
    error: np.ndarray
    valid: np.ndarray


@dataclass(frozen=True)
class Remainder:
    """What is left of a model: function(x, rows) at x (n, d), for kinks by number (n,); and its rounding error."""

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    noise: float
    radius: float

    def rounding(self, x: np.ndarray) -> np.ndarray:
        """Rounding error to expect at x (n, d)."""
        return self.noise * (1 + np.linalg.norm(x, axis=-1) / self.radius)


def cross(model: Remainder, points: np.ndarray, normals: np.ndarray, jumps: np.ndarray, half: np.ndarray) -> Crossing:
    """Where a kink is on lines through points (n, d) along normals (n, d), from seven values each.

    The lines through three values on either side meet at the kink. That these values, and the one where the lines
    meet, are on them to rounding says that there is no other. Outputs are projected on jumps (n, m).

    >>> model = Remainder(lambda X, rows: np.maximum(X[:, :1] - 0.1, 0), 1e-9, 1.0)
    >>> crossing = cross(model, np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.ones((1, 1)), np.ones(1))
    >>> round(float(crossing.shift[0]), 9), round(float(crossing.bend[0]), 9), bool(crossing.valid[0])
    (0.1, 1.0, True)
    """
    n, d = points.shape
    directions = jumps / np.linalg.norm(jumps, axis=1, keepdims=True).clip(1e-300)
    asked = points[:, None] + (half[:, None] * _STATIONS)[:, :, None] * normals[:, None]
    rows = np.repeat(np.arange(n), len(_STATIONS))
    answers = model.function(asked.reshape(-1, d), rows).reshape(n, len(_STATIONS), -1)
    values = np.einsum("njm,nm->nj", answers, directions)
    left, right = values[:, :3], values[:, 3:]
    slopes = [1.5 * (side[:, 2] - side[:, 0]) for side in (left, right)]  # per half
    means = [side.mean(axis=1) for side in (left, right)]
    bend = slopes[1] - slopes[0]
    at_zero = [means[0] + slopes[0] * 2 / 3, means[1] - slopes[1] * 2 / 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = (at_zero[0] - at_zero[1]) / bend
    rounding = model.rounding(points)
    misses = [np.abs(side[:, 0] - 2 * side[:, 1] + side[:, 2]) for side in (left, right)]
    valid = (np.maximum(*misses) < _MISS * rounding) & (np.abs(bend) > 2 * _MISS * rounding) & (np.abs(shift) < 1 / 3)
    valid &= np.isfinite(shift)
    # Two kinks between the middle values would pass so far: the lines would meet beside the function.
    checked = np.flatnonzero(valid)
    corners = points[checked] + (shift * half)[checked, None] * normals[checked]
    expected = at_zero[0][checked] + slopes[0][checked] * shift[checked]
    met = np.einsum("nm,nm->n", model.function(corners, checked), directions[checked])
    valid[checked] = np.abs(met - expected) < _MISS * rounding[checked]
    return Crossing(shift * half, bend / half, 2 * rounding / half, valid)


@dataclass
class _Candidate:
    """A kink that is followed: a point of its hyperplane, normal, jump (m,), and half-width of lines across it."""

    point: np.ndarray
    normal: np.ndarray
    jump: np.ndarray
    half: float
    error: float


def _first_normal(model: Remainder, direction: np.ndarray, place: np.ndarray, room: float) -> _Candidate:
    """Normal and jump from the gradients on both sides of a kink, for a start."""
    d = len(place)
    h = 0.5 * room
    step = 0.25 * h
    basis = basis_along(direction)
    sides = [place - h * direction, place + h * direction]
    asked = np.concatenate([side + np.concatenate([np.zeros((1, d)), step * basis.T]) for side in sides])
    answers = model.function(asked, np.zeros(len(asked), int)).reshape(2, d + 1, -1)
    gradients = (answers[:, 1:] - answers[:, :1]) / step
    difference = (gradients[1] - gradients[0]).T @ basis.T  # (m, d)
    outer, strength, inner = np.linalg.svd(difference, full_matrices=False)
    error = 3 * float(model.rounding(place)) / step / max(float(strength[0]), 1e-300)
    return _Candidate(place, inner[0], strength[0] * outer[:, 0], h, error * np.sqrt(d))


def follow(model: Remainder, start: _Candidate, extent: float, rng: np.random.Generator) -> _Candidate | None:
    """Follow a hyperplane outwards, until the places where it was met are `extent` apart; None if it is lost."""
    d = len(start.point)
    point, normal, half, error = start.point, start.normal, start.half, start.error
    jump = start.jump
    for _ in range(_NARROWINGS):
        if _at(model, point[None], (normal, jump), np.array([half])).valid[0]:
            break
        half *= 0.5
    else:
        return None
    for _ in range(_ROUNDS):
        length = min(extent, 0.3 * half / max(error, 1e-12))
        if length < _SHORTEST * half:
            return None
        across = basis_along(normal)[:, 1:]
        if d > 2:
            across = across @ np.linalg.qr(rng.standard_normal((d - 1, d - 1)))[0]
        moves = length * across.T * rng.choice([-1.0, 1.0], (d - 1, 1))
        home = _at(model, point[None], (normal, jump), np.array([half]))
        met = _meet(model, point, normal, jump, (moves, half), home)
        if met is None:
            return None
        moves, crossing = met
        normal_change = -((crossing.shift - home.shift) / np.sum(moves**2, axis=1)) @ moves
        point = point + home.shift[0] * normal
        weight = 1 / np.concatenate([home.error, crossing.error]) ** 2
        size = float(np.sum(weight * np.concatenate([home.bend, crossing.bend])) / weight.sum())
        jump = size * jump / np.linalg.norm(jump)
        normal = normal + normal_change
        normal /= np.linalg.norm(normal)
        error = (
            6
            * float(np.max(model.rounding(point + np.vstack([moves, np.zeros(d)]))))
            / (abs(size) * length)
            * np.sqrt(d)
        )
        if length >= extent or d == 1:
            return _Candidate(point, normal, jump, half, error)
    return None


def _at(model: Remainder, points: np.ndarray, neuron: tuple[np.ndarray, np.ndarray], half: np.ndarray) -> Crossing:
    """Cross one neuron's hyperplane, given by normal and jump, at several points."""
    normals, jumps = (np.broadcast_to(part, (len(points), len(part))) for part in neuron)
    return cross(model, points, normals, jumps, half)


def _meet(
    model: Remainder,
    point: np.ndarray,
    normal: np.ndarray,
    jump: np.ndarray,
    places: tuple[np.ndarray, float],
    home: Crossing,
) -> tuple[np.ndarray, Crossing] | None:
    """Cross the hyperplane at point + moves; where another kink is too close, nearer, beyond, or on shorter lines."""
    moves, width = places
    tried, half = moves.copy(), np.full(len(moves), width)
    none = np.zeros(len(moves))
    result = Crossing(none.copy(), none.copy(), none.copy(), none > 0)
    for attempt, (share, narrower) in enumerate(_TRIES):
        again = np.flatnonzero(~result.valid)
        if not len(again):
            break
        if attempt == 4 and len(again) > _HOPELESS * len(moves):
            return None
        tried[again], half[again] = share * moves[again], narrower * width
        fresh = _at(model, point + tried[again], (normal, jump), half[again])
        fresh.valid &= np.abs(fresh.bend - home.bend) <= _MISS * (fresh.error + home.error) + _AGREE * np.abs(home.bend)
        for name in ("shift", "bend", "error", "valid"):
            getattr(result, name)[again] = getattr(fresh, name)
    return (tried, result) if result.valid.all() else None


def extent_at(place: np.ndarray, radius: float) -> float:
    """How far apart places on a hyperplane should be: further where it is further out, as rounding grows with that."""
    return max(radius, OUTWARDS * float(np.linalg.norm(place)))


def trace_line(
    frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator, noise: float, reach: float
) -> tuple[Pieces, int]:
    """The neurons whose kinks one random line meets, followed one by one, and the number of kinks that were lost.

    The line is searched as far as `reach` times the distance of the first points.
    """
    d = frame.n_inputs
    point, direction = rng.standard_normal(d), unit(rng, d)

    def left(x: np.ndarray) -> np.ndarray:
        return frame(x) - known(x)

    model = Remainder(lambda x, rows: left(x), noise, survey.radius)
    reach = reach * survey.radius
    search = find_corners(
        lambda t: left(point + t[:, None] * direction),
        reach,
        survey.radius,
        lambda t: model.rounding(point + t[:, None] * direction),
        _GRAIN,
    )
    edges = np.concatenate([[-reach], search.t, [reach]])
    candidates, lost = [], search.unresolved
    for i, t in enumerate(search.t):
        room = min(edges[i + 1] - edges[i], edges[i + 2] - edges[i + 1])
        place = point + t * direction
        extent = extent_at(place, survey.radius)
        end = follow(model, _first_normal(model, direction, place, min(float(room), extent)), extent, rng)
        if end is None:
            lost += 1
        else:
            candidates.append(end)
    m = len(known.constant)
    normals = np.array([c.normal for c in candidates]).reshape(-1, d)
    points = np.array([c.point for c in candidates]).reshape(-1, d)
    return replace(
        Pieces.none(d, m),
        normals=normals,
        offsets=-np.einsum("ij,ij->i", normals, points),
        jumps=np.array([c.jump for c in candidates]).reshape(-1, m).T,
        error=np.array([c.error for c in candidates]),
    ), lost


def sharpen(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator) -> Pieces:
    """Measure every jump anew with the other neurons subtracted, on longer lines.

    Lines across a hyperplane may be the longer, and its jump known the better, the more of the other neurons are known.
    """
    (k, d), radius = known.normals.shape, survey.radius
    home = -known.offsets[:, None] * known.normals
    extent = np.maximum(radius, OUTWARDS * np.abs(known.offsets))
    spots = rng.standard_normal((k, _SPOTS, d))
    spots -= np.einsum("kjd,kd->kj", spots, known.normals)[:, :, None] * known.normals[:, None]
    spots *= extent[:, None, None] / np.linalg.norm(spots, axis=2, keepdims=True).clip(1e-300)
    owner = np.repeat(np.arange(k), _SPOTS)
    points, normals, jumps = (home[:, None] + spots).reshape(-1, d), known.normals[owner], known.jumps.T[owner]

    def alone(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        own = np.einsum("nd,nd->n", x, normals[rows]) + known.offsets[owner[rows]]
        return frame(x) - known(x) + np.maximum(own, 0)[:, None] * jumps[rows]

    half, valid = _WIDE * extent[owner], np.zeros(len(points), bool)
    shift, bend, error = (np.zeros(len(points)) for _ in range(3))
    for _ in range(_NARROWER):
        again = np.flatnonzero(~valid)
        if not len(again):
            break
        model = Remainder(lambda x, rows, again=again: alone(x, again[rows]), survey.noise, radius)  # type: ignore[misc]
        fresh = cross(model, points[again], normals[again], jumps[again], half[again])
        size = np.linalg.norm(jumps[again], axis=1)
        fresh.valid &= np.abs(fresh.bend - size) <= _MISS * fresh.error + 5 * _AGREE * size
        shift[again], bend[again], error[again], valid[again] = fresh.shift, fresh.bend, fresh.error, fresh.valid
        half[~valid] *= 0.35
    new_jumps = known.jumps.copy()
    for i in range(k):
        held = np.flatnonzero(valid & (owner == i))
        if not len(held):
            continue
        weight = 1 / error[held] ** 2
        size = float(np.sum(weight * bend[held]) / weight.sum())
        new_jumps[:, i] = size * known.jumps[:, i] / np.linalg.norm(known.jumps[:, i])
    return _follow_again(frame, replace(known, jumps=new_jumps), survey, rng)


def alone(frame: Frame, known: Pieces, i: int, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The model without the neurons that are known, but for neuron i."""
    own = np.maximum(x @ known.normals[i] + known.offsets[i], 0)
    return frame(x) - known(x) + own[:, None] * known.jumps[:, i]


def _follow_again(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator) -> Pieces:
    """Follow the least certain hyperplanes once more, with the other neurons subtracted."""
    least_certain = np.argsort(-known.error)[: max(3, known.count // 4)]
    for i in least_certain[known.error[least_certain] > _CERTAIN]:
        normal, offset, jump = known.normals[i], known.offsets[i], known.jumps[:, i]
        model = Remainder(partial(alone, frame, known, int(i)), survey.noise, survey.radius)
        extent = extent_at(offset * normal, survey.radius)
        place = extent / survey.radius * rng.standard_normal(frame.n_inputs)
        place -= (place @ normal + offset) * normal
        end = follow(model, _Candidate(place, normal, jump, _WIDE * extent, known.error[i]), extent, rng)
        if end is not None and end.error < known.error[i]:
            normals, offsets, jumps, error = (
                part.copy() for part in (known.normals, known.offsets, known.jumps, known.error)
            )
            normals[i], offsets[i], jumps[:, i], error[i] = end.normal, -end.normal @ end.point, end.jump, end.error
            known = replace(known, normals=normals, offsets=offsets, jumps=jumps, error=error)
    return known
