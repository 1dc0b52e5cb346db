r"""Kinks of a piecewise linear function along a line.

Between two nodes whose lines are known, t ↦ f(t) has no kink if the lines agree, and exactly one if f is on the one
before the corner where they meet, on the other after it, and passes through the corner; otherwise the corner is the
next node. Kinks that are close to each other are told apart down to rounding by the value at the corner itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

_ROOM = 10.0
_LEVELS = 48
_LOPSIDED = 0.05
_MANY = 300
_LOOKED_AT = 8
_STRIDE = 0.03


@dataclass(frozen=True)
class Line:
    """The function t ↦ f(x + t u), with the rounding error to expect of its values.

    Attributes
    ----------
    function : callable
        From (n, d) to (n, m).
    point, direction : array (d,)
        x, and u of length one.
    noise : float
        Rounding error of f at distance one.
    reach : float
        Distance at which rounding errors begin to grow in proportion.
    step : float
        Length of the steps by which slopes are measured, beside the interval they are measured in.
    grain : float
        Intervals shorter than this, beside `reach`, are not split.
    softness : float
        Length over which corners are rounded off; 0 where they are sharp.
    """

    function: Callable[[np.ndarray], np.ndarray]
    point: np.ndarray
    direction: np.ndarray
    noise: float
    reach: float
    step: float = 1e-3
    grain: float = 1e-12
    softness: float = 0.0

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """Values (n, m) at t (n,)."""
        return self.function(self.point + np.asarray(t)[:, None] * self.direction)

    def soft(self, t: float) -> float:
        """Length along the line over which a corner at t may be rounded off: the longer, the flatter it is crossed."""
        return self.softness * (1.0 + abs(t) / self.reach)

    def rounding(self, t: float) -> float:
        """Rounding error to expect at t."""
        return self.noise * (1.0 + abs(t) / self.reach)


@dataclass
class _Node:
    t: float
    value: np.ndarray
    slope: np.ndarray
    slope_error: float
    step: float


@dataclass(frozen=True)
class Kink:
    """A place where the slope jumps, with the values (m,) at t − step and t + step."""

    t: float
    step: float
    before: np.ndarray
    after: np.ndarray


@dataclass
class LineKinks:
    """Kinks of a line in order, and the intervals that could not be resolved.

    Attributes
    ----------
    kinks : list of Kink
        Places where the slope jumps.
    ends : tuple of (float, array (m,))
        The two ends of the line, and the values there.
    jumps : list of float
        Places where the value itself jumps: the function is not continuous.
    curved : list of (float, float)
        Intervals that are neither linear nor have one kink, as small as they could be made.
    """

    kinks: list[Kink] = field(default_factory=list)
    ends: tuple[tuple[float, np.ndarray], ...] = ()
    jumps: list[float] = field(default_factory=list)
    curved: list[tuple[float, float]] = field(default_factory=list)


def _nodes(line: Line, places: list[float], steps: list[float]) -> list[_Node]:
    t, step = np.asarray(places), np.asarray(steps)
    values = line(np.concatenate([t, t + step]))
    nodes = []
    for i in range(len(t)):
        value, other = values[i], values[len(t) + i]
        error = 2 * line.rounding(t[i]) / abs(step[i])
        nodes.append(_Node(float(t[i]), value, (other - value) / step[i], error, abs(float(step[i]))))
    return nodes


def find_kinks(line: Line, reach: float, most: int = 20_000) -> LineKinks:
    """All kinks of `line` on [−reach, reach], at three to five values a kink; stops at `most` nodes.

    >>> f = lambda X: np.maximum(X, 0) - np.maximum(2 * X - 3, 0)
    >>> result = find_kinks(Line(f, np.zeros(1), np.ones(1), 1e-15, 1.0), 100.0)
    >>> np.abs(np.round([kink.t for kink in result.kinks], 9))
    array([0. , 1.5])
    """
    grid = [sign * reach * ratio for sign in (-1, 1) for ratio in (1.0, 1e-3, 1e-6) if reach * ratio >= line.reach]
    grid = sorted({*grid, 0.0137 * line.reach})  # not zero, where a kink may well be
    steps = [line.step * max(abs(t), line.reach) for t in grid]
    steps[-1] = -steps[-1]
    nodes = _nodes(line, grid, steps)
    pending = list(pairwise(nodes))
    result, count, watched = LineKinks(), len(nodes), _MANY
    for _ in range(_LEVELS):
        if not pending or count > most or len(result.jumps) > 20:
            break
        if count > watched:
            watched *= 2
            if _smooth(line, pending):
                break
        pending = _level(line, pending, result)
        count += len(pending)
    result.curved += [(a.t, b.t) for a, b in pending]
    result.kinks.sort(key=lambda kink: kink.t)
    result.ends = tuple((node.t, node.value) for node in (nodes[0], nodes[-1]))
    return result


def _smooth(line: Line, pairs: list[tuple[_Node, _Node]]) -> bool:
    """Whether most intervals that are left curve in the middle: second differences go with the square of the step.

    Where there are kinks, the difference over half the step is any share of the whole one between 0 and ½.
    """
    chosen = [pairs[i] for i in np.linspace(0, len(pairs) - 1, min(_LOOKED_AT, len(pairs))).astype(int)]
    middle = np.array([0.5 * (a.t + b.t) for a, b in chosen])
    step = np.array([_STRIDE * (b.t - a.t) for a, b in chosen])
    asked = middle + np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, None] * step
    values = line(asked.ravel()).reshape(5, len(chosen), -1)
    whole, half = values[0] + values[4] - 2 * values[2], values[1] + values[3] - 2 * values[2]
    output = np.argmax(np.abs(whole), axis=1)[:, None]
    whole, half = (np.take_along_axis(part, output, axis=1)[:, 0] for part in (whole, half))
    clear = np.abs(whole) > [_ROOM * line.rounding(t) for t in middle]
    return bool(np.mean(clear & (np.abs(half - whole / 4) < np.abs(whole) / 10)) > 0.6)


def _sharpen(line: Line, pairs: list[tuple[_Node, _Node]]) -> None:
    """Measure slopes anew where a node's step is no longer small beside the interval that uses it."""
    again, coarse = [], min(30 * line.step, 0.4)
    for a, b in pairs:
        width = b.t - a.t
        again += [(node, sign * line.step * width) for node, sign in ((a, 1), (b, -1)) if node.step > coarse * width]
    if again:
        for (node, _), new in zip(again, _nodes(line, [n.t for n, _ in again], [s for _, s in again]), strict=True):
            node.slope, node.slope_error, node.step = new.slope, new.slope_error, new.step


def _level(line: Line, pairs: list[tuple[_Node, _Node]], result: LineKinks) -> list[tuple[_Node, _Node]]:
    """One level of the search: intervals that are settled leave, the others are split."""
    _sharpen(line, pairs)
    candidates = []
    for a, b in pairs:
        width = b.t - a.t
        rounding = line.rounding(a.t) + line.rounding(b.t)
        miss = b.value - a.value - a.slope * width
        change = b.slope - a.slope
        error = a.slope_error + b.slope_error
        if np.abs(change).max() <= _ROOM * error and np.abs(miss).max() <= _ROOM * (rounding + error * width):
            continue
        if width <= _finest(line, 0.5 * (abs(a.t) + abs(b.t))):
            broken = line.softness == 0 and np.abs(b.value - a.value).max() > 100 * rounding
            kind = result.jumps if broken else result.curved
            kind.append(a.t if kind is result.jumps else (a.t, b.t))  # type: ignore[arg-type]
            continue
        total = float(np.sum(change**2))
        back = float(np.sum(miss * change)) / total if total > 0 else -1.0
        corner = 1e-9 * width < back < width * (1 - 1e-9)
        t = b.t - back if corner else 0.5 * (a.t + b.t)
        step = max(line.step * min(t - a.t, b.t - t), 4e-16 * abs(t), 1e-300)
        candidates.append((a, b, t, step, corner))
    if not candidates:
        return []
    values = _sides(line, [(t, step) for _, _, t, step, _ in candidates])
    fresh, lopsided, likely = [], [], []
    for (a, b, t, step, corner), (before, after) in zip(candidates, values, strict=True):
        if corner and _single(line, a, b, (t, step), (before, after)):
            likely.append((a, b, Kink(t, step, before, after)))
        elif _LOPSIDED * (b.t - a.t) < min(t - a.t, b.t - t):
            node = _between(line, t, step, (before, after))
            fresh += [(a, node), (node, b)]
        else:
            lopsided.append((a, b))
    if lopsided:
        # A corner close to an end that is not a kink would be proposed again and again.
        middles = [(0.5 * (a.t + b.t), 0.5 * line.step * (b.t - a.t)) for a, b in lopsided]
        for (a, b), (t, step), pair in zip(lopsided, middles, _sides(line, middles), strict=True):
            node = _between(line, t, step, pair)
            fresh += [(a, node), (node, b)]
    return fresh + _confirm(line, likely, result)


def _confirm(line: Line, likely: list[tuple[_Node, _Node, Kink]], result: LineKinks) -> list[tuple[_Node, _Node]]:
    """Ask at the corners: f passes through them where there is one kink; elsewhere the two sides are a new interval."""
    if not likely:
        return []
    fresh = []
    for (a, b, kink), value in zip(likely, line(np.array([kink.t for _, _, kink in likely])), strict=True):
        error = _ROOM * _corner_error(line, a, b, kink.t) + line.soft(kink.t) * float(np.abs(b.slope - a.slope).max())
        miss = float(np.abs(value - a.value - a.slope * (kink.t - a.t)).max())
        width = 2 * kink.step
        if miss <= error or width <= _finest(line, kink.t):
            result.kinks.append(kink)
        else:
            before = _Node(kink.t - kink.step, kink.before, a.slope, a.slope_error, 0.0)
            fresh.append((before, _Node(kink.t + kink.step, kink.after, b.slope, b.slope_error, 0.0)))
    return fresh


def _finest(line: Line, t: float) -> float:
    """Length of an interval at t that is not split any more."""
    return max(line.grain * line.reach, line.soft(t)) + 16e-16 * abs(t)


def _corner_error(line: Line, a: _Node, b: _Node, t: float) -> float:
    """Error to expect of the lines of two nodes at t between them, and of the value there."""
    rounding = line.rounding(t) + line.rounding(a.t) + line.rounding(b.t)
    return rounding + a.slope_error * (t - a.t) + b.slope_error * (b.t - t)


def _sides(line: Line, places: list[tuple[float, float]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Values at t − step and at t + step."""
    values = line(np.array([t + sign * step for sign in (-1, 1) for t, step in places]))
    return list(zip(values[: len(places)], values[len(places) :], strict=True))


def _between(line: Line, t: float, step: float, values: tuple[np.ndarray, np.ndarray]) -> _Node:
    """A node from the values at t − step and t + step."""
    before, after = values
    return _Node(t - step, before, (after - before) / (2 * step), line.rounding(t) / step, 2 * step)


def _single(line: Line, a: _Node, b: _Node, place: tuple[float, float], values: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether f is on the line of one node before the corner of the two, and on the other's after it.

    The corner alone would not do: for two kinks in opposite directions the lines outside them meet on one of the
    lines.
    """
    (t, step), (before, after) = place, values
    left, right = a.value + a.slope * (t - step - a.t), b.value + b.slope * (t + step - b.t)
    error = _corner_error(line, a, b, t)
    size = float(np.abs(b.slope - a.slope).max()) * step
    miss = max(float(np.abs(before - left).max()), float(np.abs(after - right).max()))
    return miss <= min(_ROOM * error, 0.1 * size)
