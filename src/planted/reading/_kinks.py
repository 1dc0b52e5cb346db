r"""Piecewise linear networks: kinks along a line, and gradients in the regions between them.

On the line x + t u every neuron has one kink, at the t where w_i·(x + t u) + b_i = 0. The gradients of f on both sides
of it differ by a_i w_i. So the kinks and the k + 1 gradients between them are the network: d + 3 values a neuron, where
it has d + 2 parameters. Neurons that this line misses, because their kinks are too far out or too close to each other,
are the neurons of what is left, f − g, which the next line reads in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planted.reading._lines import Line, LineKinks, find_kinks

_STEP = 1.5e-2
_ROWS = 4_000_000
_PARALLEL = 1e-6
_PRECISE = 2e-10
_ROUNDS = 4
_CANDIDATES = 2000
_WIDEST = 2000
_SOFT_STEP, _SOFT_GRAIN = 5e-2, 1e-7


@dataclass(frozen=True)
class Pieces:
    r"""f(x) = Σ_i jumps_i max(normals_i·x + offsets_i, 0) + slope·x + constant.

    Attributes
    ----------
    normals : array (k, d)
        Unit vectors across the hyperplanes on which the gradient jumps.
    offsets : array (k,)
        normals·x + offsets = 0 on the hyperplane.
    jumps : array (m, k)
        How much the slope along the normal grows.
    slope : array (m, d)
        Gradient where every normals·x + offsets is negative.
    constant : array (m,)
        The rest.
    error : array (k,)
        Rounding error of each neuron's gradient to expect, relative to the function's.
    """

    normals: np.ndarray
    offsets: np.ndarray
    jumps: np.ndarray
    slope: np.ndarray
    constant: np.ndarray
    error: np.ndarray

    @classmethod
    def none(cls, d: int, m: int) -> Pieces:
        """The function zero."""
        return cls(np.empty((0, d)), np.empty(0), np.empty((m, 0)), np.zeros((m, d)), np.zeros(m), np.empty(0))

    @property
    def count(self) -> int:
        """Number of kinks k."""
        return len(self.normals)

    @property
    def hyperplanes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals (k, d) and offsets (k,) of the hyperplanes on which neurons turn."""
        return self.normals, self.offsets

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values (n, m) at x (n, d)."""
        return np.maximum(x @ self.normals.T + self.offsets, 0) @ self.jumps.T + x @ self.slope.T + self.constant

    def terms(self, x: np.ndarray) -> np.ndarray:
        """Sums (n, m) of the absolute values of what is added up at x (n, d)."""
        hidden = np.maximum(x @ self.normals.T + self.offsets, 0) @ np.abs(self.jumps.T)
        sums: np.ndarray = hidden + np.abs(x @ self.slope.T) + np.abs(self.constant)
        return sums

    def __add__(self, other: Pieces) -> Pieces:
        """The sum, with hyperplanes that are in both taken once."""
        normals, offsets, jumps, error = self.normals, self.offsets, self.jumps.copy(), self.error
        slope, constant = self.slope + other.slope, self.constant + other.constant
        new = []
        for i in range(other.count):
            v, c, jump = other.normals[i], other.offsets[i], other.jumps[:, i]
            size = np.sqrt(1 + self.offsets**2)
            near = np.flatnonzero(
                np.maximum(
                    np.linalg.norm(normals - np.sign(normals @ v)[:, None] * v, axis=1),
                    np.abs(offsets - np.sign(normals @ v) * c) / size,
                )
                < _PARALLEL
            )
            if not len(near):
                new.append(i)
                continue
            j = near[0]
            jumps[:, j] += jump
            if normals[j] @ v < 0:  # max(−z, 0) = max(z, 0) − z
                slope = slope + np.outer(jump, v)
                constant = constant + jump * c
        return Pieces(
            np.concatenate([normals, other.normals[new]]),
            np.concatenate([offsets, other.offsets[new]]),
            np.concatenate([jumps, other.jumps[:, new]], axis=1),
            slope,
            constant,
            np.concatenate([error, other.error[new]]),
        )

    def strongest(self, share: float) -> Pieces:
        """Without the neurons that are weaker than `share` of the strongest one."""
        size = np.linalg.norm(self.jumps, axis=0)
        return self.only(size > share * size.max(initial=0.0))

    def only(self, held: np.ndarray) -> Pieces:
        """Some of the neurons, by a mask (k,)."""
        return replace(
            self,
            normals=self.normals[held],
            offsets=self.offsets[held],
            jumps=self.jumps[:, held],
            error=self.error[held],
        )


@dataclass(frozen=True)
class Pass:
    """What one line gave: the pieces, and places where f is not piecewise linear along it."""

    pieces: Pieces
    broken: list[float]
    curved: list[tuple[float, float]]


def unit(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random direction (d,), of length one.

    >>> round(float(np.linalg.norm(unit(np.random.default_rng(0), 3))), 12)
    1.0
    """
    u = rng.standard_normal(d)
    return u / np.linalg.norm(u)


def basis_along(u: np.ndarray) -> np.ndarray:
    """An orthogonal matrix (d, d) whose first column is u, of length one, up to its sign.

    >>> np.abs(basis_along(np.array([0.6, 0.8]))[:, 0])
    array([0.6, 0.8])
    """
    v = u.copy()
    v[0] += np.copysign(1.0, u[0])
    return np.eye(len(u)) - 2 * np.outer(v, v) / (v @ v)


@dataclass
class Regions:
    """The pieces of a line between its kinks, one row each.

    Attributes
    ----------
    place, room : array (n,)
        A point t of the line, and how far away its nearest kink is.
    value, slope : array (n, m)
        Value there, and slope along the line.
    gradient : array (n, m, d)
        Gradient of f.
    error : array (n,)
        Rounding error of the gradient.
    """

    place: np.ndarray
    room: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    gradient: np.ndarray
    error: np.ndarray


def _between(search: LineKinks, radius: float) -> Regions:
    """The regions of a line, with value and slope from the values beside the kinks: nothing new is asked."""
    kinks, (low, high) = search.kinks, search.ends
    starts = [low] + [(kink.t + kink.step, kink.after) for kink in kinks]
    stops = [(kink.t - kink.step, kink.before) for kink in kinks] + [high]
    place, room, value, slope = [], [], [], []
    for i, ((t0, v0), (t1, v1)) in enumerate(zip(starts, stops, strict=True)):
        tilt = (v1 - v0) / (t1 - t0)
        if 0 < i < len(kinks):
            t, free = 0.5 * (t0 + t1), 0.5 * (t1 - t0)
        elif not kinks:
            t, free = 0.0, min(radius, 0.4 * (t1 - t0))
        elif i == 0:
            free = min(radius + abs(t1), 0.9 * (t1 - t0))
            t = t1 - free
        else:
            free = min(radius + abs(t0), 0.9 * (t1 - t0))
            t = t0 + free
        near_t, near_v = (t0, v0) if abs(t - t0) < abs(t - t1) else (t1, v1)
        place.append(t)
        room.append(free)
        value.append(near_v + tilt * (t - near_t))
        slope.append(tilt)
    n, m = len(place), len(low[1])
    return Regions(np.array(place), np.array(room), np.array(value), np.array(slope), np.zeros((n, m, 0)), np.zeros(n))


def _gradients(line: Line, regions: Regions, rng: np.random.Generator) -> None:
    """Measure the gradient of every region, by steps that are small beside its room.

    A step that crosses a hyperplane shows when the gradient fails to predict one more value; then steps shrink.
    """
    d, n = len(line.point), len(regions.place)
    basis = basis_along(line.direction)
    across = basis[:, 1:].T
    sign = float(np.sign(basis[:, 0] @ line.direction))
    regions.gradient = np.empty((n, regions.value.shape[1], d))
    step, todo = _STEP * (line.step / 1e-3) ** 0.7 * regions.room, np.arange(n)
    for attempt in range(4):
        again: list[int] = []
        size = max(1, _ROWS // (d * d))
        for start in range(0, len(todo), size):
            part = todo[start : start + size]
            turn = rng.choice([-2.0, 2.0], size=(len(part), d - 1)) / np.sqrt(max(d - 1, 1))
            points = line.point + regions.place[part, None] * line.direction
            moves = np.concatenate([np.broadcast_to(across, (len(part), d - 1, d)), -(turn @ across)[:, None]], axis=1)
            moved = points[:, None, :] + step[part, None, None] * moves
            value = regions.value[part]
            rounding = np.array([line.rounding(t) for t in regions.place[part]])
            if d > 1:
                answers = line.function(moved.reshape(-1, d)).reshape(len(part), d, -1)
                partial = (answers[:, :-1] - value[:, None]) / step[part, None, None]
                expected = value - step[part, None] * np.einsum("nj,njm->nm", turn, partial)
                again += list(part[np.abs(answers[:, -1] - expected).max(axis=1) > 30 * rounding])
            else:
                partial = np.empty((len(part), 0, value.shape[1]))
            along = np.concatenate([sign * regions.slope[part, None], partial], axis=1)
            regions.gradient[part] = np.einsum("njm,dj->nmd", along, basis)
            regions.error[part] = 2 * rounding / step[part]
        todo = np.array(again, dtype=int)
        if not len(todo) or attempt == 3:
            break
        step[todo] /= 8.0


def _assemble(line: Line, search: LineKinks, regions: Regions) -> Pieces:
    """Hyperplanes and jumps from the regions: where lines along u meet, and the leading part of a gradient's jump."""
    kinks = np.array([kink.t for kink in search.kinks])
    (k, d), m = (len(kinks), len(line.point)), regions.value.shape[1]
    bend = np.diff(regions.slope, axis=0)
    base = regions.value - regions.slope * regions.place[:, None]
    total = np.sum(bend**2, axis=1)
    where = -np.sum(np.diff(base, axis=0) * bend, axis=1) / np.where(total > 0, total, 1.0)
    where = np.where((total > 0) & (np.abs(where - kinks) < [kink.step for kink in search.kinks]), where, kinks)
    normals, sizes = np.empty((k, d)), np.empty((m, k))
    for i, jump in enumerate(np.diff(regions.gradient, axis=0)):
        outer, strength, inner = np.linalg.svd(jump, full_matrices=False)
        turn = 1.0 if inner[0] @ line.direction > 0 else -1.0
        normals[i], sizes[:, i] = turn * inner[0], turn * strength[0] * outer[:, 0]
    offsets = -np.einsum("ij,ij->i", normals, line.point + where[:, None] * line.direction)
    slope = regions.gradient[0]
    constant = regions.value[0] - slope @ (line.point + regions.place[0] * line.direction)
    return Pieces(normals, offsets, sizes, slope, constant, regions.error[:-1] + regions.error[1:])


def _widen(line: Line, pieces: Pieces, regions: Regions, tolerance: float, rng: np.random.Generator) -> bool:
    """Measure the gradient of narrow regions anew, at points where the same neurons matter and no kink is near.

    At a point q where the neurons of the set S are active, the gradient is that of the first region plus the jumps of
    S: Σ_r c_r G_r with c_r = [kink r − 1 in S] − [kink r in S]. A point at which c = ±1 for one narrow region and 0
    for the others gives its gradient, by steps as long as the distance to the nearest hyperplane.
    """
    n, d = len(regions.place), len(line.point)
    narrow = [int(r) for r in np.argsort(-regions.error) if regions.error[r] > tolerance and 0 < r < n - 1]
    if not narrow or n > _WIDEST:
        return False
    points = rng.standard_normal((_CANDIDATES, d)) * line.reach / np.sqrt(d) * rng.choice([1.0, 3.0], (_CANDIDATES, 1))
    side = points @ pieces.normals.T + pieces.offsets
    margin = np.abs(side).min(axis=1)
    active = np.concatenate([np.ones((len(points), 1)), side > 0, np.zeros((len(points), 1))], axis=1)
    share = active[:, :-1] - active[:, 1:]  # c, (candidates, n)
    rows, asked = [], []
    for r in narrow:
        others = regions.error.copy()
        others[r] = 0.0
        spoilt = np.abs(share) @ others
        rounding = line.noise * (1 + np.linalg.norm(points, axis=1) / line.reach)
        quality = spoilt + 4 * rounding / margin
        quality[share[:, r] == 0] = np.inf
        best = int(np.argmin(quality))
        if quality[best] < 0.3 * regions.error[r]:
            rows.append((r, best))
            step = 0.5 * margin[best]
            turn = rng.choice([-1.0, 1.0], size=d) / np.sqrt(d)
            asked.append(points[best] + step * np.concatenate([np.zeros((1, d)), np.eye(d), -turn[None]]))
    if not rows:
        return False
    answers = line.function(np.concatenate(asked)).reshape(len(rows), d + 2, -1)
    for (r, best), values, asked_at in zip(rows, answers, asked, strict=True):
        step = 0.5 * margin[best]
        measured = ((values[1:-1] - values[0]) / step).T
        expected = values[0] + measured @ (asked_at[-1] - asked_at[0])
        rounding = line.noise * (1 + float(np.linalg.norm(points[best])) / line.reach)
        if np.abs(values[-1] - expected).max() > 30 * rounding:
            continue
        c = share[best]
        step = 0.5 * margin[best]
        known = np.einsum("r,rmd->md", c, regions.gradient) - c[r] * regions.gradient[r]
        regions.gradient[r] = (measured - known) / c[r]
        others = np.abs(c) * regions.error
        regions.error[r] = 2 * rounding / step + others.sum() - others[r]
    return True


def read_line(
    function: Callable[[np.ndarray], np.ndarray],
    point: np.ndarray,
    direction: np.ndarray,
    reach: float,
    noise: float,
    rng: np.random.Generator,
    softness: float = 0.0,
) -> Pass:
    """The pieces of a piecewise linear function whose kinks a line crosses.

    Parameters
    ----------
    function : callable
        From (n, d) to (n, m).
    point, direction : array (d,)
        A point of the line, and its direction, of length one.
    reach : float
        How far from it kinks are looked for.
    noise : float
        Rounding error of the function's values near the point.
    rng : numpy.random.Generator
        Draws the values that check gradients.
    softness : float
        Length over which kinks are rounded off; 0 for corners. Steps are longer for a model that bends softly.

    Examples
    --------
    >>> f = lambda X: np.maximum(X[:, :1] + 2 * X[:, 1:] - 1, 0)
    >>> pieces = read_line(f, np.ones(2), np.array([0.6, 0.8]), 1e4, 1e-15, np.random.default_rng(0)).pieces
    >>> round(abs(float(pieces.jumps[0, 0])) ** 2, 6), round(abs(float(pieces.normals[0, 1] / pieces.normals[0, 0])), 6)
    (5.0, 2.0)
    """
    radius = max(float(np.linalg.norm(point)), 1.0)
    steps = (_SOFT_STEP, _SOFT_GRAIN, softness) if softness else ()
    line = Line(function, point, direction, noise, radius, *steps)
    search = find_kinks(line, reach)
    if len(search.jumps) + len(search.curved) > 10 + 0.2 * len(search.kinks):
        m = len(search.ends[0][1])
        return Pass(Pieces.none(len(point), m), search.jumps, search.curved)
    regions = _between(search, radius)
    _gradients(line, regions, rng)
    if not np.all(np.isfinite(regions.gradient)):  # answers are not defined everywhere around this line
        return Pass(Pieces.none(len(point), regions.value.shape[1]), [], [])
    pieces = _assemble(line, search, regions)
    tolerance = _PRECISE * float(np.abs(regions.gradient).max())
    for _ in range(0 if softness else _ROUNDS):
        if not _widen(line, pieces, regions, tolerance, rng):
            break
        pieces = _assemble(line, search, regions)
    # A kink met from both sides of a node, or none at all: a jump that rounding explains.
    size = np.linalg.norm(pieces.jumps, axis=0)
    return Pass(pieces.only(size > 10 * np.sqrt(len(point)) * pieces.error), search.jumps, search.curved)
