r"""Networks of softplus, gelu or silu neurons in float32: directions from very far out, the rest from each bump.

All three are max(z, 0) plus a bump that dies out. So far out that rounding hides the bumps, f is a ReLU network whose
hyperplanes pass through the centre: directions and jumps ‖a_i w_i‖ are traced there. Closer, on a line across one
hyperplane where the other neurons are linear, f is α + βt + A φ(s(t − t₀))/s. Fitting that gives the length s of w_i,
the bias from t₀, and the activation, which is the one that fits all neurons best. Then all numbers are fitted together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from planted.names import count_of
from planted.networks import Network
from planted.reading._check import fidelity
from planted.reading._corners import BUMPS, State
from planted.reading._kinks import Pieces
from planted.reading._orient import COARSE, orient, relu_network
from planted.reading._piecewise import State as PiecewiseState
from planted.reading._places import beside_hyperplanes
from planted.reading._polish import SLOPES, polish_coarse, with_rounding
from planted.reading._query import Frame
from planted.reading._saturating import Far
from planted.reading._single import read_single
from planted.reading._survey import Survey
from planted.reading._survey import survey as ask
from planted.reading._values import CountedNetwork, function_of, values

_OUT = 1e6
_REACH = 30.0
_CLOSER = (20.0, 60.0, 200.0)
_APART = 6.0
_CANDIDATES, _ROUNDS = 2000, 4
_POINTS, _WIDTH = 61, 8.0
_LENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
_CLOSE = 0.1
_ATTEMPTS = 2
_ROWS, _SCALES = 8, (0.5, 1.0, 3.0, 30.0)
_FARTHEST, _EVALUATIONS = 12.0, 200
_EQUAL, _ODD = 1e-6, 4.0


def read_soft_single(frame: Frame, survey: Survey, far: Far, rng: np.random.Generator, state: State) -> None:
    """Read a network of soft corners whose answers are rounded to float32 into `state`.

    With one input there is one direction, and far out all neurons are one: nothing can be read there.
    """
    if frame.n_inputs == 1:
        return
    for _ in range(_ATTEMPTS):
        frame.query.stage = "very far out"
        outer = Frame(frame.query, frame.centre, frame.scale * _OUT * far.scale)
        known = PiecewiseState(Pieces.none(frame.n_inputs, survey.outputs))
        read_single(outer, replace(ask(outer, rng), smooth=False), rng, known, _REACH)
        if not known.pieces.count:
            return
        frame.query.stage = f"the bumps of {count_of(known.pieces.count, 'neuron')}"
        network, determined = _with_bumps(frame, known.pieces, far.scale, rng)
        if network is None:
            return
        check = fidelity(frame, CountedNetwork(network), survey, rng)
        if check.largest < _CLOSE:
            network = polish_coarse(frame, network, rng)
            check = with_rounding(check.again(CountedNetwork(network)), network, survey)
        if state.check is None or check.better(state.check):
            state.network, state.check, state.determined = network, check, determined
        if state.check.largest <= state.check.rounding:
            return


@dataclass(frozen=True)
class _Line:
    """Places t (n,) on a line across one hyperplane, points (n, d), answers (n, m), and the mix (m,) of the outputs."""

    t: np.ndarray
    points: np.ndarray
    answers: np.ndarray
    mix: np.ndarray


def _with_bumps(frame: Frame, pieces: Pieces, scale: float, rng: np.random.Generator) -> tuple[Network | None, bool]:
    """The network of these directions, with lengths and biases from lines across each, and whether sides are known."""
    oriented = orient(pieces, COARSE)
    relu, determined = oriented.network, oriented.determined
    if relu.activation.name != "relu":
        relu, determined = relu_network(pieces), False
    normals = relu.weights / np.linalg.norm(relu.weights, axis=1, keepdims=True)
    lines = [_across(frame, normals, i, relu.output[:, i], scale, rng) for i in range(len(normals))]
    count = _ROWS * (2 * len(normals) + frame.n_inputs) + 20
    points = rng.standard_normal((count, frame.n_inputs)) * rng.choice(_SCALES, (count, 1))
    points[::2] = beside_hyperplanes(points[::2], normals, np.zeros(len(normals)), scale, rng)
    answers = frame(points)
    known = normals, relu.output / (_OUT * scale)
    best: tuple[float, Network | None] = (np.inf, None)
    for name in BUMPS:
        network, cost = None, np.inf
        for _ in range(_ROUNDS):  # from the second on with the other neurons subtracted
            fits = [_bump(name, line, scale, i, network) for i, line in enumerate(lines)]
            length, shift = np.array([fit[1] / scale for fit in fits]), np.array([fit[2] * scale for fit in fits])
            fresh = _outputs((points, answers), normals * length[:, None], -length * shift, name, relu.skip is not None)
            total = sum(fit[0] for fit in fits)
            if not total < cost:
                break
            network, cost = fresh, total
        if network is not None:
            network, cost = _together(network, known, (points, answers))
        if cost < best[0]:
            best = (cost, network)
    cost, network = best
    if network is None:
        return None, determined
    for _ in range(_ROUNDS):
        if cost < 0.5 * _EQUAL**2 * answers.size:
            break
        # A neuron may end as a sharp corner, from which no derivative leads back: it starts again at a typical length.
        size = np.linalg.norm(network.weights, axis=1).clip(1e-300)
        typical = float(np.median(size))
        odd = np.abs(np.log(size / typical)) > np.log(_ODD)
        length = np.where(odd, typical, size)
        start = network.replace(weights=length[:, None] * normals, bias=np.where(odd, 0.0, np.asarray(network.bias)))
        again, left = _together(start, known, (points, answers))
        if left < cost:
            network, cost = again, left
    return network, determined


def _together(
    network: Network, far: tuple[np.ndarray, np.ndarray], asked: tuple[np.ndarray, np.ndarray]
) -> tuple[Network, float]:
    """Lengths and biases of all neurons fitted at once, and what is left; directions and jumps are those from far out.

    f(x) = Σ_i (A_i/s_i) φ(s_i (v_i·x − t_i)) + slope·x + constant. There are two unknowns a neuron, s_i and t_i, beside
    the linear part, so that bumps which overlap are told apart where lines across a single one are not enough.
    """
    (points, answers), (normals, jumps), name = asked, far, network.activation.name
    phi, slope, k, m = function_of(name), SLOPES[name], len(normals), len(jumps)
    along = points @ normals.T
    linear = np.ones((len(points), 1)) if network.skip is None else np.column_stack([points, np.ones(len(points))])
    level = np.abs(answers).max(axis=1)
    weight = 1 / (level + max(float(np.median(level)), 1e-300))

    def parts(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lengths, shifts = np.exp(np.clip(p[:k], -_FARTHEST, _FARTHEST)), p[k : 2 * k]
        return lengths, along - shifts, p[2 * k :].reshape(-1, m)

    def left(p: np.ndarray) -> np.ndarray:
        lengths, u, rest = parts(p)
        miss: np.ndarray = (phi(lengths * u) / lengths) @ jumps.T + linear @ rest - answers
        return (weight[:, None] * miss).ravel()

    def derivatives(p: np.ndarray) -> np.ndarray:
        lengths, u, _ = parts(p)
        bend = slope(lengths * u)
        inner = np.concatenate([u * bend - phi(lengths * u) / lengths, -bend], axis=1) * weight[:, None]
        hidden = (inner[:, None] * np.tile(jumps, (1, 2))).reshape(len(points) * m, -1)
        outer = np.einsum("nj,ml->nmjl", weight[:, None] * linear, np.eye(m)).reshape(len(points) * m, -1)
        return np.hstack([hidden, outer])

    size = np.linalg.norm(network.weights, axis=1).clip(1e-300)
    rest = np.atleast_2d(network.intercept)
    if network.skip is not None:
        rest = np.vstack([network.skip.T, rest])
    start = np.concatenate([np.log(size), -np.asarray(network.bias) / size, rest.ravel()])
    fit = least_squares(left, start, derivatives, method="trf", x_scale="jac", max_nfev=_EVALUATIONS)
    lengths, _, rest = parts(fit.x)
    return network.replace(
        weights=lengths[:, None] * normals,
        bias=-lengths * fit.x[k : 2 * k],
        output=jumps / lengths,
        intercept=rest[-1],
        **({"skip": rest[:-1].T} if network.skip is not None else {}),
    ), float(fit.cost)


def _across(
    frame: Frame, normals: np.ndarray, i: int, output: np.ndarray, scale: float, rng: np.random.Generator
) -> _Line:
    """A line across hyperplane i, at a place where the others are as far away as they can be."""
    k, d = normals.shape
    options = rng.standard_normal((_CANDIDATES, d))
    options -= np.outer(options @ normals[i], normals[i])
    options /= np.linalg.norm(options, axis=1, keepdims=True).clip(1e-300)
    margin = np.abs(options @ normals.T)
    margin[:, i] = np.inf
    best = int(np.argmax(margin.min(axis=1)))
    apart = float(margin.min(axis=1)[best]) if k > 1 else 1.0
    distance = next((ratio for ratio in _CLOSER if ratio * apart > _APART), _CLOSER[-1])
    width = min(_WIDTH, 0.5 * distance * apart) if k > 1 else _WIDTH
    t = scale * width * np.linspace(-1.0, 1.0, _POINTS) * np.abs(np.linspace(-1.0, 1.0, _POINTS))
    points = distance * scale * options[best] + t[:, None] * normals[i]
    return _Line(t / scale, points, frame(points), output / np.linalg.norm(output))


def _bump(name: str, line: _Line, scale: float, i: int, network: Network | None) -> tuple[float, float, float]:
    """Cost, length s and shift t₀ of the best α + βt + A φ(s(t − t₀)) through the answers, less the other neurons."""
    phi, t, v = function_of(name), line.t, line.answers @ line.mix
    starts = [np.array([np.log(length), 0.0]) for length in _LENGTHS]
    if network is not None:
        output = network.output.copy()
        output[:, i] = 0.0
        v = v - values(network.replace(output=output), line.points) @ line.mix
        length, bias = float(np.linalg.norm(network.weights[i])), np.asarray(network.bias)[i]
        starts = [np.array([np.log(length * scale), -bias / length / scale])]
    else:
        second = np.abs(np.gradient(np.gradient(v, t), t))
        starts += [np.array([np.log(length), float(t[np.argmax(second)])]) for length in _LENGTHS]
    size = max(float(np.ptp(v)), 1e-300) if network is None else float(np.ptp(line.answers @ line.mix))

    def left(p: np.ndarray) -> np.ndarray:
        columns = np.column_stack([phi(_length(p) * (t - p[1])), t, np.ones_like(t)])
        residual: np.ndarray = v - columns @ np.linalg.lstsq(columns, v, rcond=1e-12)[0]
        return residual / size

    fits = [least_squares(left, start, method="lm", max_nfev=60) for start in starts]
    best = min(fits, key=lambda fit: fit.cost)
    return float(best.cost), _length(best.x), float(best.x[1])


def _length(p: np.ndarray) -> float:
    """Length e^p₀ of a neuron's weights beside the scale, where lengths between e^±9 come into question."""
    return float(np.exp(np.clip(p[0], -9.0, 9.0)))


def _outputs(
    asked: tuple[np.ndarray, np.ndarray], weights: np.ndarray, bias: np.ndarray, name: str, skip: bool
) -> Network:
    """The network of these neurons, with outputs, linear part and intercept by least squares on answers (n, m)."""
    (points, answers), k = asked, len(weights)
    weight = 1 / (1 + np.linalg.norm(points, axis=1, keepdims=True))
    linear = points if skip else np.empty((len(points), 0))
    columns = np.hstack([function_of(name)(points @ weights.T + bias), linear, np.ones((len(points), 1))])
    solution = np.linalg.lstsq(columns * weight, answers * weight, rcond=1e-9)[0]
    return Network(
        weights,
        solution[:k].T,
        name,
        bias=bias,
        intercept=solution[-1],
        skip=solution[k:-1].T if skip else None,
    )
