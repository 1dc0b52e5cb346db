"""Networks of saturating neurons, line after line until nothing is left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.names import count_of
from planted.reading._baseline import lengthen
from planted.reading._check import Check, fidelity
from planted.reading._query import Frame
from planted.reading._steps import PROFILES, Steps, read_steps, refine
from planted.reading._survey import Survey

_PASSES, _PASSES_SINGLE = 12, 24
_OUT = 200.0
_REACH = 1000.0
_OUT_OF_EPSILON = 3e-7
_REACH_OF_EPSILON = 1e-6
_BIAS = 0.003
_RAYS = 5
_CLEAR = 25.0
_CLOSER = (3.0, 0.7, 0.1)
_SURE, _SURE_SINGLE = 200.0, 20.0
_WIDEN = 1.25
_HALFWAY = 20.0
_SAME = 1e-5
_FEW, _PATIENT = 3, 7


@dataclass
class State:
    """What is known so far; kept by the caller, so that it outlives a budget that is spent."""

    steps: Steps
    check: Check | None = None
    evidence: str = ""


@dataclass(frozen=True)
class Far:
    """What a model looks like from far away.

    Attributes
    ----------
    scale : float
        Distance from which on the slope along a ray no longer changes.
    slopes : array (2, m)
        Slopes at the two ends of that ray.
    level : float
        Size of its values.
    error : float
        What rounding may make of a slope.
    """

    scale: float
    slopes: np.ndarray
    level: float
    error: float

    @property
    def bends(self) -> bool:
        """Whether the slopes at the two ends differ, as those of softplus do and those of tanh do not."""
        change = np.abs(self.slopes[1] - self.slopes[0]).max()
        return bool(change > 1e-6 * np.abs(self.slopes).max() + self.error)


def look_out(frame: Frame, survey: Survey, rng: np.random.Generator) -> Far | None:
    """Go out along a ray, both ways, until the slope stays the same; None if it never does.

    Where rounding is coarse the distance matters more, and is the median of several rays.
    """
    rays = [_along_ray(frame, survey, rng) for _ in range(_RAYS if survey.single else 1)]
    valid = sorted((ray for ray in rays if ray is not None), key=lambda ray: ray.scale)
    return valid[len(valid) // 2] if len(valid) == len(rays) else None


def _along_ray(frame: Frame, survey: Survey, rng: np.random.Generator) -> Far | None:
    u = rng.standard_normal(frame.n_inputs)
    u /= np.linalg.norm(u)
    t, last, steepest = survey.radius, None, 0.0
    for _ in range(14):
        places = np.array([-1.02 * t, -t, t, 1.02 * t])
        values = frame(places[:, None] * u)
        if not np.all(np.isfinite(values)):
            return None
        slopes = np.array([(values[1] - values[0]) / (0.02 * t), (values[3] - values[2]) / (0.02 * t)])
        level = float(np.abs(values).max())
        steepest = max(steepest, float(np.abs(slopes).max()))
        error = 100 * max(survey.noise, survey.epsilon * level) / t + 1e-4 * steepest
        if last is not None and np.abs(slopes - last).max() <= error:
            return _at(frame, t / 4, 1e4 * t, u, survey.epsilon)
        last, t = slopes, 4 * t
    return None


def _at(frame: Frame, scale: float, t: float, u: np.ndarray, epsilon: float) -> Far | None:
    """Slopes and level very far out."""
    values = frame(np.array([-1.02 * t, -t, t, 1.02 * t])[:, None] * u)
    slopes = np.array([(values[1] - values[0]) / (0.02 * t), (values[3] - values[2]) / (0.02 * t)])
    level = float(np.abs(values).max())
    return Far(scale, slopes, level, 1e4 * epsilon * level / t) if np.all(np.isfinite(values)) else None


def read_saturating(frame: Frame, survey: Survey, far: Far, rng: np.random.Generator, state: State) -> None:
    """Read lines into `state` until the steps and the model agree on fresh questions, or no progress is made."""
    d = frame.n_inputs
    # An argument is off by epsilon times |weights|·distance: where rounding is coarse, one cannot go far.
    radius = min(_OUT, _OUT_OF_EPSILON / survey.epsilon) * far.scale
    reach = min(_REACH, _REACH_OF_EPSILON / survey.epsilon)
    tolerance = (_SURE_SINGLE if survey.single else _SURE) * max(survey.noise, survey.epsilon * far.level)
    base = state.steps
    if np.abs(far.slopes).max() * far.scale > 1e-6 * far.level:
        state.steps = base = replace(base, slope=_slope(frame, radius, rng))
    profiles, stuck, rounds = list(PROFILES.values()), 0, 0
    for attempt in range(_PASSES_SINGLE if survey.single else _PASSES):
        frame.query.stage = f"line {attempt + 1}, {count_of(state.steps.count, 'neuron')}"
        point = rng.standard_normal(d)
        point *= radius / np.linalg.norm(point)
        known = state.steps
        steps, centres, over = read_steps(frame, known, point, reach * radius, tolerance, profiles, rng, survey.epsilon)
        if steps is not None and survey.single:
            steps, lost = _over_distances(frame, steps, centres, survey.epsilon, tolerance, rng)
            over += lost
        if steps is not None and steps.count:
            profiles, stuck = [steps.profile], 0
            state.steps = Steps(
                np.concatenate([known.weights, steps.weights]),
                np.concatenate([known.bias, steps.bias]),
                np.concatenate([known.heights, steps.heights], axis=1),
                known.slope,
                known.constant,
                steps.profile,
            )
        else:
            stuck += 1
        stretches = ("stretch of one line is", "stretches of one line are")
        state.evidence = f"far out, {count_of(over, *stretches)} not the turn of a single neuron" if over else ""
        few = state.steps.count and over <= _FEW and not survey.single
        if over and stuck < (_PATIENT if few else 2):
            # Overlapping neurons may come apart further out; neurons that differ little, much further out.
            if not stuck:
                radius *= _WIDEN if survey.single else 1.0
            else:
                radius *= 4.0 if few else 2.0
            continue
        if not state.steps.count:
            return
        _closer(frame, survey, (far.scale, radius), rng, state)
        rounds += 1
        if state.check is None or state.check.largest <= state.check.rounding or rounds > 2:
            return


def _over_distances(
    frame: Frame, steps: Steps, centres: np.ndarray, epsilon: float, tolerance: float, rng: np.random.Generator
) -> tuple[Steps, int]:
    """The steps, measured over long distances where their biases need it, and how many are lost."""
    size, distance = np.linalg.norm(steps.weights, axis=1), np.linalg.norm(centres, axis=1)
    weights, bias, held = steps.weights.copy(), steps.bias.copy(), np.ones(steps.count, bool)
    for i in np.flatnonzero(epsilon * (size * distance) ** 2 > _BIAS):
        longer = lengthen(frame, centres[i], weights[i], steps.heights[:, i], steps.profile, tolerance, rng)
        if longer is None:
            held[i] = False
        else:
            weights[i], bias[i] = longer
    longest = replace(steps, weights=weights[held], bias=bias[held], heights=steps.heights[:, held])
    return longest, int(np.sum(~held))


def _closer(
    frame: Frame, survey: Survey, distances: tuple[float, float], rng: np.random.Generator, state: State
) -> None:
    """Heights far out, then every neuron once more close to the centre, until fresh questions are answered to
    rounding.
    """
    scale, radius = distances
    frame.query.stage = f"{count_of(state.steps.count, 'neuron')} once more"
    anchors = _anchors(frame, int(1.1 * state.steps.count) + 10, 1e3 * radius, rng)
    state.steps = _settle(state.steps, anchors)
    state.check = fidelity(frame, state.steps, survey, rng)
    # From very far out biases may be off by more than one: then the first step towards the centre is a shorter one.
    if survey.single:  # what was measured over long distances is not improved on by single values
        return
    for ratio in _CLOSER if state.check.largest < 0.1 else (_HALFWAY, *_CLOSER):
        if state.check.largest <= 0.02 * state.check.rounding:
            break
        steps = _settle(refine(frame, state.steps, ratio * scale, rng), anchors)
        tidy = _tidy(steps)
        if tidy.count < steps.count:
            steps = _settle(tidy, anchors)
        check = state.check.again(steps)
        if check.largest >= state.check.largest and ratio != _HALFWAY:
            break
        state.steps, state.check = steps, check


def _slope(frame: Frame, radius: float, rng: np.random.Generator) -> np.ndarray:
    """The linear part (m, d), by differences far out."""
    d = frame.n_inputs
    point = rng.standard_normal(d)
    point *= radius / np.linalg.norm(point)
    step = 0.01 * radius
    values = frame(point + step * np.concatenate([np.zeros((1, d)), np.eye(d)]))
    return ((values[1:] - values[0]) / step).T


def _anchors(frame: Frame, count: int, radius: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points so far out that hardly any neuron is on its slope there, and the answers."""
    points = rng.standard_normal((count, frame.n_inputs))
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return points, frame(points)


def _settle(steps: Steps, anchors: tuple[np.ndarray, np.ndarray]) -> Steps:
    """The steps with heights and constant by least squares at the anchors, where they are sums of heights."""
    points, answers = anchors
    z = points @ steps.weights.T + steps.bias
    clear = np.abs(z).min(axis=1, initial=np.inf) > _CLEAR
    if clear.sum() < steps.count + 2:
        clear[:] = True
    hidden = np.column_stack([steps.profile.step(z), np.ones(len(points))])[clear]
    target = (answers - points @ steps.slope.T)[clear]
    solution, _, rank, _ = np.linalg.lstsq(hidden, target, rcond=1e-9)
    miss = np.abs(hidden @ solution - target).max()
    if rank < hidden.shape[1] or miss > 1e-6 * np.abs(target).max():  # a neuron is still missing
        return replace(steps, constant=np.median(target - hidden[:, :-1] @ steps.heights.T, axis=0))
    return replace(steps, heights=solution[:-1].T, constant=solution[-1])


def _tidy(steps: Steps) -> Steps:
    """Without neurons of no height, and with neurons that are the same one read twice taken once."""
    size = np.linalg.norm(steps.weights, axis=1)
    rows = np.column_stack([steps.weights, steps.bias]) / size[:, None]
    heights, held = steps.heights.copy(), np.ones(steps.count, bool)
    for i in range(steps.count):
        for j in np.flatnonzero(held[:i]):
            turn = np.sign(rows[i] @ rows[j])
            near = np.abs(rows[i] - turn * rows[j]).max() < _SAME * (1 + abs(rows[i, -1]))
            if near and abs(size[i] / size[j] - 1) < _SAME:
                heights[:, j] += turn * heights[:, i]
                held[i] = False
                break
    strength = np.abs(heights).max(axis=0)
    held &= strength > 1e-8 * strength.max(initial=0.0)
    return replace(steps, weights=steps.weights[held], bias=steps.bias[held], heights=heights[:, held])
