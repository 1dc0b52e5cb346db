r"""Networks of saturating neurons (tanh, sigmoid, erf): seen from far away they are sums of steps.

On a line x + t u at a distance |x| = R, a neuron goes from one plateau to the other around the t where its argument
is 0, within a stretch of length 1/|w_i·u|. The stretches do not grow with R while the distances between them do: far
enough out, most neurons turn alone, all others being constant to the last digit. There z_i = φ⁻¹((f − low)/(high −
low)) is linear in x, and d + 1 values more give w_i and b_i. Neurons that overlap on one line are the neurons of what
is left, f − g, on the next one. The number of neurons may be far greater than the number of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

_LEVELS = 90
_SAMPLES = 12_000
_ON_SLOPE = 4
_SMOOTH = 0.15
_ALONE = 1e-7
_INSIDE = 0.02
_CANDIDATES = 200
_BLUR = 0.02
_DOUBLE = float(np.finfo(np.float64).eps)
_COARSEST = 0.02
_ROUNDINGS = 10.0


@dataclass(frozen=True)
class Profile:
    """A step from 0 to 1, its inverse, and the slope of the step."""

    name: str
    step: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


def _logistic_slope(z: np.ndarray) -> np.ndarray:
    return special.expit(z) * special.expit(-z)


def _normal_slope(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.asarray(z) ** 2) / np.sqrt(2 * np.pi)


PROFILES = {
    "sigmoid": Profile("sigmoid", special.expit, special.logit, _logistic_slope),
    "erf": Profile("erf", special.ndtr, special.ndtri, _normal_slope),
}


@dataclass(frozen=True)
class Steps:
    r"""f(x) = Σ_i heights_i σ(weights_i·x + bias_i) + slope·x + constant, with σ a step from 0 to 1.

    Attributes
    ----------
    weights : array (k, d)
        One row a neuron.
    bias : array (k,)
        Biases.
    heights : array (m, k)
        How far each output goes up.
    slope : array (m, d)
        A linear part.
    constant : array (m,)
        The value where every neuron is off.
    profile : Profile
        σ.
    """

    weights: np.ndarray
    bias: np.ndarray
    heights: np.ndarray
    slope: np.ndarray
    constant: np.ndarray
    profile: Profile

    @property
    def count(self) -> int:
        """Number of neurons k."""
        return len(self.weights)

    @property
    def hyperplanes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals (k, d) and offsets (k,) of the hyperplanes on which neurons turn."""
        return self.weights, self.bias

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values (n, m) at x (n, d)."""
        hidden = self.profile.step(x @ self.weights.T + self.bias)
        return hidden @ self.heights.T + x @ self.slope.T + self.constant


@dataclass(frozen=True)
class Step:
    """One isolated step on a line: its centre t, its steepness, and the values (m,) before and after it."""

    t: float
    steepness: float
    before: np.ndarray
    after: np.ndarray


@dataclass
class _Samples:
    """Sorted places t and values (n, m) on one line, with their projections on a random vector of outputs.

    `smooth` (n − 1,) counts, for each interval, how many splits in a row met a value close to the straight line: across
    steps that are far apart, hardly ever; within a stretch that is resolved, always.
    """

    t: np.ndarray
    values: np.ndarray
    mix: np.ndarray
    smooth: np.ndarray
    blur: np.ndarray

    def add(self, t: np.ndarray, values: np.ndarray, blur: np.ndarray) -> None:
        """Add samples, at most one to an interval."""
        old, new = self.projected, values @ self.mix
        i = np.searchsorted(self.t, t) - 1
        share = (t - self.t[i]) / (self.t[i + 1] - self.t[i])
        move = old[i + 1] - old[i]
        miss = np.abs(new - old[i] - share * move)
        count = np.where(miss < _SMOOTH * np.abs(move), self.smooth[i] + 1, 0)
        self.smooth[i] = count
        self.smooth = np.insert(self.smooth, i + 1, count)
        self.t = np.insert(self.t, i + 1, t)
        self.values = np.insert(self.values, i + 1, values, axis=0)
        self.blur = np.insert(self.blur, i + 1, blur)

    @property
    def projected(self) -> np.ndarray:
        return self.values @ self.mix

    def moves(self, tolerance: float) -> np.ndarray:
        """Whether the value moves across each interval (n − 1,), by more than neurons that are known already may."""
        return np.abs(np.diff(self.projected)) > tolerance + self.blur[1:] + self.blur[:-1]


@dataclass(frozen=True)
class _Fit:
    """One step through the samples of a cluster: centre, steepness, worst miss, how many samples are on its slope."""

    centre: float
    steepness: float
    miss: float
    count: int
    tolerance: float

    @property
    def good(self) -> bool:
        return self.count >= _ON_SLOPE and self.miss <= self.tolerance

    def next_place(self, t: np.ndarray) -> float | None:
        """Where one more sample would tell most, if the fit is close and has few samples."""
        if self.miss > 0.05 or self.count > 2 * _ON_SLOPE:
            return None
        options = self.centre + np.array([-0.9, 0.8, 0.1, -2.0, 1.9]) / self.steepness
        gaps = np.abs(options[:, None] - t).min(axis=1) * self.steepness
        inside = (options > t[0]) & (options < t[-1]) & (gaps > 0.2)
        return float(options[np.argmax(inside)]) if inside.any() else None


def _best(
    profiles: list[Profile], t: np.ndarray, s: np.ndarray, tolerance: float, rounding: float
) -> tuple[_Fit | None, Profile | None]:
    """The profile that fits one step through samples (t, s) between two plateaus best, if there are samples enough.

    `rounding` is the error of a place t: on its slope the step is off by steepness · rounding.
    """
    low, high = s[0], s[-1]
    if abs(high - low) <= tolerance:
        return None, None
    p = (s - low) / (high - low)
    inside = (p > _INSIDE) & (p < 1 - _INSIDE)
    if inside.sum() < 2:
        return None, None
    fits = []
    for profile in profiles:
        z = profile.inverse(p[inside])
        weight = profile.slope(z) ** 2
        mean = np.average(t[inside], weights=weight)
        spread = np.sum(weight * (t[inside] - mean) ** 2)
        steepness = float(np.sum(weight * (t[inside] - mean) * z) / spread) if spread > 0 else 0.0
        if steepness <= 0:
            continue
        centre = float(mean - np.average(z, weights=weight) / steepness)
        miss = float(np.abs(profile.step(steepness * (t - centre)) - p).max())
        allowed = _ALONE + tolerance / abs(high - low) + min(steepness * rounding, _COARSEST)
        fits.append((_Fit(centre, steepness, miss, int(inside.sum()), allowed), profile))
    return min(fits, key=lambda pair: pair[0].miss) if fits else (None, None)


def _clusters(samples: _Samples, tolerance: float) -> list[tuple[int, int]]:
    """Runs (first, last) of samples whose neighbours differ, each between two plateaus."""
    moves = np.concatenate([[False], samples.moves(tolerance), [False]])
    edges = np.flatnonzero(np.diff(moves))
    return list(zip(edges[::2], edges[1::2], strict=True))


def find_steps(
    line: Callable[[np.ndarray], np.ndarray],
    radius: float,
    reach: float,
    tolerance: float,
    profiles: list[Profile],
    blur: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rng: np.random.Generator,
    epsilon: float = _DOUBLE,
) -> tuple[list[Step], Profile | None, int]:
    """Isolated steps of a function t ↦ (m,) on [−reach, reach], the profile they share, and how many are left over.

    `blur(t, mix)` says how far values projected on `mix` may be off at t because of neurons that are known already;
    `epsilon` is the relative rounding of the model.
    """
    angle = np.arctan(reach / radius)
    t = radius * np.tan(np.linspace(-angle, angle, 7))
    values = line(t)
    mix: np.ndarray = np.asarray(rng.standard_normal(values.shape[1]))
    samples = _Samples(t, values, mix, np.zeros(len(t) - 1, int), blur(t, mix))
    steps: list[Step] = []
    profile: Profile | None = None
    over = 0
    for level in range(_LEVELS):
        fresh: list[float] = []
        steps, over = [], 0
        projected = samples.projected
        for first, last in _clusters(samples, tolerance):
            where, s = samples.t[first : last + 1], projected[first : last + 1]
            fit, known = _best(profiles, where, s, tolerance, epsilon * (radius + np.abs(where).max()))
            if fit is not None and known is not None and fit.good:
                profiles, profile = [known], known
                steps.append(Step(fit.centre, fit.steepness, samples.values[first], samples.values[last]))
                continue
            over += 1
            proposal = None if fit is None else fit.next_place(where)
            if proposal is not None:
                fresh.append(proposal)
                continue
            moves = samples.moves(tolerance)[first:last]
            wide = np.diff(where) > max(1e-13, 4 * epsilon) * (radius + np.abs(where[1:]))
            split = np.flatnonzero(moves & wide & (samples.smooth[first:last] < 2))
            fresh += list(0.5 * (where[split] + where[split + 1]))
        if not fresh or level == _LEVELS - 1 or len(samples.t) > _SAMPLES:
            break
        new = np.unique(fresh)
        samples.add(new, line(new), blur(new, mix))
    return steps, profile, over


def read_steps(
    model: Callable[[np.ndarray], np.ndarray],
    known: Steps,
    point: np.ndarray,
    reach: float,
    tolerance: float,
    profiles: list[Profile],
    rng: np.random.Generator,
    epsilon: float = _DOUBLE,
) -> tuple[Steps | None, np.ndarray, int]:
    """The neurons that turn alone on a random line through `point`, where they do, and how many stretches are left.

    Parameters
    ----------
    model : callable
        From (n, d) to (n, m).
    known : Steps
        Neurons that are known already, and subtracted.
    point : array (d,)
        A point far from the centre.
    reach : float
        How far from it the line is searched.
    tolerance : float
        Values that differ by less are on one plateau.
    profiles : list of Profile
        Steps to try.
    rng : numpy.random.Generator
        Draws the line.
    epsilon : float
        Relative rounding of the model. The error of an argument w·x is about epsilon |w| |x|.
    """
    d, radius = len(point), float(np.linalg.norm(point))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)

    def function(x: np.ndarray) -> np.ndarray:
        return model(x) - known(x)

    def line(t: np.ndarray) -> np.ndarray:
        return function(point + t[:, None] * u)

    def blur(t: np.ndarray, mix: np.ndarray) -> np.ndarray:
        z = (point + t[:, None] * u) @ known.weights.T + known.bias
        return _BLUR * known.profile.slope(z) @ np.abs(mix @ known.heights)

    steps, profile, over = find_steps(line, radius, reach, tolerance, profiles, blur, rng, epsilon)
    if not steps or profile is None:
        return None, np.empty((0, d)), over
    centres = point + np.array([step.t for step in steps])[:, None] * u
    weights, valid = _weights(function, centres, steps, profile)
    along = np.array([step.steepness for step in steps])
    size = np.linalg.norm(weights, axis=1)
    argument = epsilon * size * np.linalg.norm(centres, axis=1)
    tolerated = (1e-5 + _ROUNDINGS * argument) * np.abs(along) + (1e-8 + argument) * size
    agree = np.abs(weights @ u - along) <= tolerated
    held = valid & agree & (argument < _COARSEST)
    over += int(np.sum(~held))
    if not held.any():
        return None, np.empty((0, d)), over
    weights, centres = weights[held], centres[held]
    heights = np.array([step.after - step.before for step in steps])[held].T
    bias = -np.einsum("ij,ij->i", weights, centres)
    m = heights.shape[0]
    read = Steps(weights, bias, heights, np.zeros((m, d)), np.zeros(m), profile)
    return read, centres, over


def _weights(
    function: Callable[[np.ndarray], np.ndarray], centres: np.ndarray, steps: list[Step], profile: Profile
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (k, d) from one value a coordinate, at steps that move the argument by about one."""
    k, d = centres.shape
    low, rise = np.array([s.before for s in steps]), np.array([s.after - s.before for s in steps])
    size = np.sum(rise**2, axis=1)
    length = np.repeat(0.7 / np.abs([s.steepness for s in steps]), d).reshape(k, d)
    weights, todo = np.zeros((k, d)), np.ones((k, d), bool)
    for _ in range(6):
        i, j = np.nonzero(todo)
        if not len(i):
            break
        asked = centres[i].copy()
        asked[np.arange(len(i)), j] += length[i, j]
        share = np.sum((function(asked) - low[i]) * rise[i], axis=1) / size[i]
        fine = (share > 0.005) & (share < 0.995)
        weights[i[fine], j[fine]] = profile.inverse(share[fine]) / length[i[fine], j[fine]]
        todo[i[fine], j[fine]] = False
        length[i[~fine], j[~fine]] *= 0.08
    return weights, np.asarray(~todo.any(axis=1))


def refine(
    function: Callable[[np.ndarray], np.ndarray], steps: Steps, radius: float, rng: np.random.Generator
) -> Steps:
    """Measure every neuron anew, close to the centre, with the others subtracted.

    The rounding of an argument grows with the distance r from the centre, and the error of a bias with its square. So
    once all neurons are known to a few digits, each is asked again at d + 1 points around a point of its own
    hyperplane at the distance `radius`, chosen among many so that few of the others are on their slopes.
    """
    k, d = steps.weights.shape
    size = np.linalg.norm(steps.weights, axis=1)
    directions = rng.standard_normal((_CANDIDATES, d))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    centres = np.empty((k, d))
    strength = np.abs(steps.heights).max(axis=0)
    arguments, products = directions @ steps.weights.T + steps.bias, steps.weights @ steps.weights.T
    for i in range(k):
        share = arguments[:, i] / size[i] ** 2
        # exp(−|z|) is the slope of a step, but for a factor of at most four.
        slopes = np.exp(-np.abs(arguments - np.outer(share, products[i]))) * strength
        slopes[:, i] = 0.0
        best = int(np.argmin(slopes.sum(axis=1)))
        centres[i] = directions[best] - share[best] * steps.weights[i]
    length = 1.0 / np.maximum(np.abs(steps.weights), 0.2 * size[:, None] / np.sqrt(d))
    moves = np.concatenate([np.zeros((k, 1, d)), length[:, :, None] * np.eye(d)], axis=1)
    asked = (centres[:, None, :] + moves).reshape(-1, d)
    z = asked @ steps.weights.T + steps.bias
    own = np.repeat(np.arange(k), d + 1)
    hidden = steps.profile.step(z)
    hidden[np.arange(len(asked)), own] = 0.0
    others = hidden @ steps.heights.T + asked @ steps.slope.T + steps.constant
    rise = steps.heights.T[own]
    share = np.sum((function(asked) - others) * rise, axis=1) / np.sum(rise**2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        argument = steps.profile.inverse(np.clip(share, 0.0, 1.0)).reshape(k, d + 1)
        weights = (argument[:, 1:] - argument[:, :1]) / length
        bias = argument[:, 0] - np.einsum("ij,ij->i", weights, centres)
    change = np.linalg.norm(weights - steps.weights, axis=1)
    fine = np.isfinite(bias) & np.isfinite(change) & (change < 0.1 * size)
    return replace(
        steps,
        weights=np.where(fine[:, None], weights, steps.weights),
        bias=np.where(fine, bias, steps.bias),
    )
