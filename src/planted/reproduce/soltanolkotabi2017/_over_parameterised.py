r"""Gradient descent on over-parameterised networks: Figures 2, 3 and 4 of Soltanolkotabi et al. (2017).

Figures 2 and 3 ask how often gradient descent on both layers finds the global minimum: for each width k (or input size
d), ten planted problems y = Σ φ(w*·x) of n = 100 rows, ten starts each, a problem counting as free of spurious minima
if every start ends at zero loss. A logistic curve fitted to the fractions crosses 1/2 at the number reported.

The paper leaves step size, iterations and the meaning of "global minimum" open. Here gradient descent takes a step of
fixed size for `steps` iterations and Levenberg–Marquardt then settles what it was converging to: a loss below 1e-10 is
global.

Under gradient flow ‖w_q‖² − 2v_q² is conserved for φ(z) = z², and it is about −1 at the paper's start, so no output of
a quadratic network can change its sign: from v₀ = ±1 wrong signs stay. With v = 1 fixed, teachers of less than n
parameters are found more often again the smaller they are, so that only kd ≥ n belongs to the crossing.

Figure 4 fits random labels y ~ N(0, 1). As printed, x ↦ 1ᵀφ(Wx), it cannot reach zero: softplus and z² are positive,
so every negative label leaves a residual. With both layers learned it can, and both are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted import activations
from planted.activations import Activation
from planted.datasets import make_planted
from planted.numerics.precision import float64, to_jax
from planted.objectives import Squared
from planted.solvers import FirstOrder, traced_descent, traced_least_squares

_ROWS = 100
_GLOBAL = 1e-10
_DRAWS = 200


@dataclass(frozen=True)
class Panel:
    """One panel of Figures 2 and 3: what is varied, what is fixed, the step size over k, the paper's crossing."""

    activation: Activation
    varied: str
    fixed: int
    rate: float
    paper: float

    def sizes(self, value: int) -> tuple[int, int]:
        """(k, d) where the varied one is `value`."""
        return (value, self.fixed) if self.varied == "k" else (self.fixed, value)


PANELS = {
    "2a": Panel(activations.softplus(b=10.0), "k", 10, 0.5, 11.40),
    "2b": Panel(activations.softplus(b=10.0), "d", 10, 0.5, 10.70),
    "3a": Panel(activations.get("quadratic"), "k", 20, 0.02, 5.5),
    "3b": Panel(activations.get("quadratic"), "d", 5, 0.02, 25.40),
}


def logistic_crossing(values: np.ndarray, fraction: np.ndarray, trials: int) -> tuple[float, float]:
    """Where a logistic curve fitted by maximum likelihood to binomial fractions is 1/2, and its slope.

    A weak penalty (1e-3 slope²) keeps the slope finite when the fractions jump from 0 to 1.

    >>> crossing, slope = logistic_crossing(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 0.9]), 10)
    >>> round(crossing, 3), slope > 0
    (2.0, True)
    """
    crossing, slope = _fit_logistic(np.asarray(values, np.float64), np.asarray(fraction, np.float64)[None], trials)
    return float(crossing[0]), float(slope[0])


def _fit_logistic(x: np.ndarray, p: np.ndarray, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Crossings and slopes for every row of fractions `p` (b, m), by Newton's method with halved steps."""
    design = np.stack([np.ones(len(x)), x - x.mean()])
    ridge = np.array([1e-6, 2e-3])

    def loss(theta: np.ndarray) -> np.ndarray:
        z = theta @ design
        return trials * np.sum(np.logaddexp(0, z) - p * z, axis=1) + 0.5 * np.sum(ridge * theta**2, axis=1)

    theta = np.tile([0.0, 1.0], (len(p), 1))
    for _ in range(100):
        mean = 0.5 * (1 + np.tanh(0.5 * theta @ design))
        gradient = trials * (mean - p) @ design.T + ridge * theta
        hessian = trials * np.einsum("bm,im,jm->bij", mean * (1 - mean), design, design) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        here, length = loss(theta), np.ones(len(p))
        while np.any(worse := (loss(theta - length[:, None] * step) > here) & (length > 1e-9)):
            length = np.where(worse, length / 2, length)
        theta = theta - length[:, None] * step
        if np.max(np.abs(gradient)) < 1e-10 * trials:
            break
    return x.mean() - theta[:, 0] / theta[:, 1], theta[:, 1]


def crossing_error(values: np.ndarray, counts: np.ndarray, trials: int, seed: int = 0) -> float:
    """Standard error of the crossing, by resampling the problems of every value (200 times).

    `counts` (values, problems) are successes out of `trials`. It is half the distance between the 16th and the 84th
    percentile: a resample without both outcomes has its crossing anywhere.

    >>> counts = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 1]], 10, axis=1)
    >>> 0 < crossing_error(np.array([1.0, 2.0, 3.0]), counts, 1) < 0.5
    True
    """
    n, problems = counts.shape
    picks = np.random.default_rng(seed).integers(problems, size=(_DRAWS, n, problems))
    fractions = np.take_along_axis(counts[None], picks, axis=2).mean(axis=2) / trials
    crossings = _fit_logistic(np.asarray(values, np.float64), fractions, problems * trials)[0]
    return float(np.subtract(*np.percentile(crossings, [84, 16])) / 2)


@partial(jax.jit, static_argnames=("steps", "every"))
def losses_along(loss: Squared, starts: Any, rate: Any, steps: int, every: int) -> jax.Array:
    """Losses (starts, steps // every) along gradient descents from starts stacked along a leading axis.

    One start after another: products of small matrices are slower side by side.
    """
    solver = FirstOrder(optax.sgd(rate))
    return jax.lax.map(lambda start: traced_descent(loss, start, solver, steps=steps, record_every=every)[1], starts)


@partial(jax.jit, static_argnames=("steps", "polish"))
def _ends(losses: Squared, starts: Any, rate: Any, steps: int, polish: int) -> jax.Array:
    """Final losses (problems, starts) of problems stacked along a leading axis, their starts along two."""
    solver = FirstOrder(optax.sgd(rate))

    def end(loss: Squared, start: Any) -> jax.Array:
        last, _ = traced_descent(loss, start, solver, steps=steps, record_every=steps)
        finite = jax.tree.map(lambda new, old: jnp.where(jnp.isfinite(new), new, old), last, start)
        return traced_least_squares(loss, finite, steps=polish)[1]

    return jax.lax.map(lambda pair: jax.vmap(partial(end, pair[0]))(pair[1]), (losses, starts))


@float64
def reached(
    panel: str, value: int, *, reading: str = "signs", problems: int, starts: int, steps: int, polish: int,
    random_state: Any = 0,
) -> np.ndarray:  # fmt: skip
    """Which starts of which planted problems end at zero loss: booleans (problems, starts).

    Parameters
    ----------
    panel : str
        A name in :data:`PANELS`.
    value : int
        Of k or d, whichever the panel varies.
    reading : "signs" or "ones"
        Both layers learned from v₀ = ±1, as the text says; or v = v* = 1 fixed and the weights learned.

    Examples
    --------
    >>> hits = reached("3a", 8, reading="ones", problems=2, starts=3, steps=200, polish=50)
    >>> hits.shape
    (2, 3)
    """
    if panel not in PANELS or reading not in ("signs", "ones"):
        raise ValueError(f"unknown panel {panel!r} or reading {reading!r}")
    plan = PANELS[panel]
    (k, d), act, rng = plan.sizes(value), plan.activation, np.random.default_rng(random_state)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal((*shape, k, d)) / d**0.5

    data = [make_planted(_ROWS, d, k, activation=act, weights=draw(), random_state=rng) for _ in range(problems)]
    params = {"weights": draw(problems, starts)}
    if reading == "signs":
        params["output"] = rng.choice([-1.0, 1.0], (problems, starts, k))
    losses = [Squared(one.X, one.y, act, np.ones(k) if reading == "ones" else None) for one in data]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *losses)
    ends = _ends(stacked, to_jax(params), plan.rate / k, steps, polish)
    return np.asarray(ends) < _GLOBAL


class RandomLabels(NamedTuple):
    """Curves of Figure 4: RMSE = √L (m, starts) at `iterations` (m,) on n random labels, d inputs.

    `floor` is the least RMSE possible where the prediction cannot be negative, else 0.
    """

    d: int
    n: int
    iterations: np.ndarray
    rmse: np.ndarray
    floor: float


@float64
def random_labels(
    activation: str, k: int, *, layers: str = "both", steps: int = 50_000, starts: int = 1, random_state: Any = 0
) -> RandomLabels:
    """Gradient descent on labels y ~ N(0, 1) that have nothing to do with x ~ N(0, I); n = 100.

    `layers` is "both", from outputs ±1 in turn, or "first" with all outputs one as the text says.

    >>> curve = random_labels("softplus", 5, steps=400)
    >>> bool(curve.rmse[-1, 0] < curve.rmse[0, 0])
    True
    """
    plan = PANELS["2a" if activation == "softplus" else "3a"]
    # With all outputs positive the start predicts far too much, and a long first step would silence every neuron.
    act, d, rate = plan.activation, plan.fixed, plan.rate / k / (10 if layers == "first" else 1)
    rng = np.random.default_rng(random_state)
    X, y = rng.standard_normal((_ROWS, d)), rng.standard_normal(_ROWS)
    params = {"weights": rng.standard_normal((starts, k, d)) / d**0.5}
    if layers == "both":
        # Signs in turn: those of a quadratic network stay, so that too few of one sign would decide the end.
        params["output"] = np.tile(np.where(np.arange(k) % 2 == 0, 1.0, -1.0), (starts, 1))
    loss = Squared(X, y, act, np.ones(k) if layers == "first" else None)
    every = max(steps // 200, 1)
    losses = np.asarray(losses_along(loss, to_jax(params), rate, steps, every)).T
    negative = np.minimum(y, 0.0)
    floor = float(np.sqrt(np.mean(negative**2) / 2)) if layers == "first" else 0.0
    return RandomLabels(d, _ROWS, every * np.arange(1, len(losses) + 1), np.sqrt(losses), floor)
