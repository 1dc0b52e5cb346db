r"""Networks of softplus, gelu or silu neurons: seen from far away they are ReLU networks.

All three are max(z, 0) plus an even bump ψ(z) that dies out: log(1 + exp(−|z|)), −|z| Φ(−|z|), −|z| σ(−|z|). Far out,
f is piecewise linear but for short stretches around its kinks, and hyperplanes and jumps are read as those of a ReLU
network. A jump is ‖a_i w_i‖; the length s of w_i alone follows from the bump, which is (‖a_i w_i‖/s) ψ(s r) at the
distance r from the hyperplane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.optimize import least_squares

from planted.networks import Network
from planted.reading._check import Check, fidelity
from planted.reading._kinks import Pieces, read_line, unit
from planted.reading._orient import orient, relu_network
from planted.reading._polish import polish
from planted.reading._query import Frame
from planted.reading._saturating import Far
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork

_OUT = 2e4
_REACH = 300.0
_ATTEMPTS = 4
_CLOSE = 0.03
_BESIDE, _APART = (50.0, 1e3, 2e4), 3.0

BUMPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softplus": lambda z: np.log1p(np.exp(-np.abs(z))),
    "gelu": lambda z: -np.abs(z) * special.ndtr(-np.abs(z)),
    "silu": lambda z: -np.abs(z) * special.expit(-np.abs(z)),
}


@dataclass
class State:
    """What is known so far; kept by the caller, so that it outlives a budget that is spent."""

    network: Network | None = None
    check: Check | None = None
    evidence: str = ""
    determined: bool = True


def read_corners(frame: Frame, survey: Survey, far: Far, rng: np.random.Generator, state: State) -> None:
    """Read a line far out into `state`, another one if the first did not do."""
    radius = _OUT * far.scale
    noise = survey.epsilon * max(far.level / (1e4 * 4 * far.scale), np.abs(far.slopes).max()) * radius * 4
    for attempt in range(_ATTEMPTS):
        frame.query.stage = f"line {attempt + 1}, far out"
        point = rng.standard_normal(frame.n_inputs)
        point *= radius / np.linalg.norm(point)
        line = read_line(frame, point, unit(rng, frame.n_inputs), _REACH * radius, noise, rng, far.scale)
        pieces = line.pieces.strongest(1e-7)
        if not pieces.count:
            continue
        name, lengths = _lengths(frame, pieces, far.scale, rng)
        network, determined = _with_lengths(pieces, name, lengths)
        check = fidelity(frame, CountedNetwork(network), survey, rng)
        if 1e-2 * check.rounding < check.largest < _CLOSE:
            network = polish(frame, network, rng)
            check = check.again(CountedNetwork(network))
        if state.check is None or check.largest < state.check.largest:
            state.network, state.check, state.determined = network, check, determined
        if state.check.largest <= state.check.rounding:
            return
    state.evidence = (
        "far out, it is not piecewise linear along a line"
        if state.network is None
        else "far out it looks like a ReLU network, but its corners are not those of softplus, gelu or silu neurons"
    )


def _lengths(frame: Frame, pieces: Pieces, scale: float, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """The bump that all corners share, and the length of every neuron's weights, from values beside its hyperplane."""
    k, d = pieces.normals.shape
    distance = scale * np.geomspace(1.0, 3e-6, 10)
    directions = rng.standard_normal((200, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centres = np.empty((k, d))
    for i, (normal, offset) in enumerate(zip(pieces.normals, pieces.offsets, strict=True)):
        for radius in _BESIDE:  # the nearer the better, but neurons that are close come apart further out
            options = radius * scale * directions
            options -= np.outer(options @ normal + offset, normal)
            margin = np.abs(options @ pieces.normals.T + pieces.offsets)
            margin[:, i] = np.inf
            apart = margin.min(axis=1)
            centres[i] = options[np.argmax(apart)]
            if apart.max() > _APART * scale:
                break
    asked = (centres[:, None] + distance[None, :, None] * pieces.normals[:, None]).reshape(-1, d)
    excess = (frame(asked) - pieces(asked)).reshape(k, len(distance), -1)
    size = np.sum(pieces.jumps**2, axis=0)
    share = np.einsum("kjm,mk->kj", excess, pieces.jumps) / size[:, None]  # ψ(s r)/s
    grid = np.geomspace(1e-2, 1e5, 600) / scale
    best: tuple[float, str, np.ndarray] = (np.inf, "softplus", np.ones(k))
    for name, bump in BUMPS.items():
        table = bump(grid[:, None] * distance) / grid[:, None]
        start = grid[np.argmin(((share[:, None] - table[None]) ** 2).sum(axis=2), axis=1)]
        lengths, miss = np.empty(k), 0.0
        for i in range(k):
            fit = least_squares(
                lambda p, i=i, bump=bump: (bump(np.exp(p) * distance) / np.exp(p) - share[i]) / np.abs(share[i]).max(),
                [np.log(start[i])],
                xtol=1e-15,
                ftol=1e-15,
                gtol=1e-15,
            )
            lengths[i] = float(np.exp(fit.x[0]))
            miss += float(fit.cost)
        if miss < best[0]:
            best = (miss, name, lengths)
    return best[1], best[2]


def _with_lengths(pieces: Pieces, name: str, lengths: np.ndarray) -> tuple[Network, bool]:
    """The network of these corners: weights of the given lengths, on the right side where that is determined."""
    oriented = orient(pieces)
    relu, determined = oriented.network, oriented.determined
    if relu.activation.name != "relu":
        relu, determined = relu_network(pieces), False
    bias = relu.shift
    return relu.replace(
        weights=relu.weights * lengths[:, None],
        bias=bias * lengths,
        output=relu.output / lengths,
        activation=name,
    ), determined
