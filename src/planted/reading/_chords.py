"""Kinks of a piecewise linear function along a line whose values are rounded coarsely.

Slopes over short steps would be lost in rounding. So a stretch counts as straight if five values on it are in line,
as one kink if the lines through the outer ones meet where the function does, and is halved otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_POINTS = 5
_MISS = 5.0
_LEVELS = 40
_MOST = 20_000


@dataclass
class _Stretch:
    """Five places on a line, at equal distances, and the values (5, m) there."""

    t: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Corners:
    """Kinks t (n,) in order, and the number of stretches that stayed unresolved."""

    t: np.ndarray
    unresolved: int


def find_corners(
    line: Callable[[np.ndarray], np.ndarray],
    reach: float,
    radius: float,
    rounding: Callable[[np.ndarray], np.ndarray],
    grain: float,
) -> Corners:
    """Kinks of t ↦ line(t) (n, m) on [−reach, reach]; stretches shorter than `grain` are not halved.

    >>> corners = find_corners(lambda t: np.abs(t - 0.3)[:, None], 10.0, 1.0, lambda t: 1e-7 + 0 * t, 1e-4)
    >>> corners.t.round(6), corners.unresolved
    (array([0.3]), 0)
    """
    outward = radius * 3.0 ** np.arange(int(np.ceil(np.log(max(reach / radius, 1.0)) / np.log(3.0))) + 1)
    edges = np.concatenate([-outward[::-1], [0.0137 * radius], outward])
    places = np.linspace(edges[:-1], edges[1:], _POINTS, axis=1)
    pending = [_Stretch(t, v) for t, v in zip(places, line(places.ravel()).reshape(*places.shape, -1), strict=True)]
    kinks: list[float] = []
    unresolved, asked = 0, places.size
    for _ in range(_LEVELS):
        candidates, halves = [], []
        for stretch in pending:
            allowed = _MISS * float(rounding(stretch.t).max())
            if np.abs(np.diff(stretch.values, n=2, axis=0)).max() <= allowed:
                continue
            corner = _corner(stretch, allowed)
            if corner is None:
                halves.append(stretch)
            else:
                candidates.append((stretch, *corner, allowed))
        if candidates:
            met = line(np.array([t for _, t, _, _ in candidates]))
            asked += len(candidates)
            for (stretch, t, value, allowed), answer in zip(candidates, met, strict=True):
                if np.abs(answer - value).max() <= allowed:
                    kinks.append(t)
                else:
                    halves.append(stretch)
        wide = [stretch for stretch in halves if stretch.t[-1] - stretch.t[0] > grain * max(1.0, abs(stretch.t[2]))]
        unresolved += len(halves) - len(wide)
        if not wide or asked > _MOST:
            unresolved += len(wide)
            break
        pending = _halve(line, wide)
        asked += 2 * len(wide) * (_POINTS // 2)
    return Corners(np.sort(np.array(kinks)), unresolved)


def _corner(stretch: _Stretch, allowed: float) -> tuple[float, np.ndarray] | None:
    """Where the lines of the values before and after one of the two middle gaps meet, and the value there."""
    t, v = stretch.t, stretch.values
    bends = np.abs(np.diff(v, n=2, axis=0)).max(axis=1)  # around points 1, 2, 3
    if bends[1] <= allowed:  # the kink is in the first gap or in the last one, of which one end alone is known
        return None
    if bends[2] <= allowed:  # 2, 3, 4 in line: the kink is between 1 and 2
        before, after = (0, 1), (2, 4)
    elif bends[0] <= allowed:
        before, after = (0, 2), (3, 4)
    else:
        return None
    slopes = [(v[j] - v[i]) / (t[j] - t[i]) for i, j in (before, after)]
    change, base = slopes[1] - slopes[0], (v[after[0]] - slopes[1] * t[after[0]]) - (v[0] - slopes[0] * t[0])
    total = float(np.sum(change**2))
    place = -float(np.sum(base * change)) / total if total > 0 else np.inf
    if not t[before[1]] < place < t[after[0]]:
        return None
    return place, v[0] + slopes[0] * (place - t[0])


def _halve(line: Callable[[np.ndarray], np.ndarray], stretches: list[_Stretch]) -> list[_Stretch]:
    """Both halves of every stretch, with two new values each."""
    middles = np.array([0.5 * (s.t[1:] + s.t[:-1]) for s in stretches])
    answers = line(middles.ravel()).reshape(*middles.shape, -1)
    halves = []
    for stretch, t, values in zip(stretches, middles, answers, strict=True):
        places, known = np.empty(2 * _POINTS - 1), np.empty((2 * _POINTS - 1, values.shape[1]))
        places[::2], places[1::2] = stretch.t, t
        known[::2], known[1::2] = stretch.values, values
        halves += [_Stretch(places[:_POINTS], known[:_POINTS]), _Stretch(places[_POINTS - 1 :], known[_POINTS - 1 :])]
    return halves
