r"""Gradient descent on over-parameterised networks until its own loss decides: Figures 2 and 3 of Soltanolkotabi et al.

For each width k (or input size d), ten planted problems y = Σ φ(w*·x) of n = 100 rows, ten starts each, a problem
counting as free of spurious minima if every start ends at zero loss.

The paper leaves step size, iterations and the meaning of "global minimum" open. Here gradient descent takes steps of
one size. A run is "zero" once its loss is below 1e-10, "stuck" once it fell by less than a ten-millionth in 1,000
steps, and "not settled" if neither came true within the budget. Levenberg–Marquardt then goes on from where descent
was, and what it says stands beside it under its own name: the two need not agree.

Under gradient flow ‖w_q‖² − 2v_q² is conserved for φ(z) = z², and it is about −1 at the paper's start, so no output of
a quadratic network can change its sign: from v₀ = ±1 wrong signs stay. With v = 1 fixed, teachers of less than n
parameters are found more often again the smaller they are, so that only kd ≥ n belongs to the crossing.
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

ROWS = 100
ZERO = 1e-10
VERDICTS = ("zero", "stuck", "not settled")
READINGS = ("signs", "ones")
"""Both layers learned from v = ±1, as the text says; outputs fixed at one."""

_CHUNK = 1000
_STILL = 1e-7


@dataclass(frozen=True)
class Panel:
    """One panel of Figures 2 and 3.

    What is varied, what is fixed, the step size over k, the paper's crossing, and from which value on the text says
    that every start finds a global minimiser (None where it does not).
    """

    activation: Activation
    varied: str
    fixed: int
    rate: float
    paper: float
    always: int | None = None

    def sizes(self, value: int) -> tuple[int, int]:
        """(k, d) where the varied one is `value`."""
        return (value, self.fixed) if self.varied == "k" else (self.fixed, value)


PANELS = {
    "2a": Panel(activations.softplus(b=10.0), "k", 10, 0.5, 11.40, 13),
    "2b": Panel(activations.softplus(b=10.0), "d", 10, 0.5, 10.70, 12),
    "3a": Panel(activations.get("quadratic"), "k", 20, 0.02, 5.5),
    "3b": Panel(activations.get("quadratic"), "d", 5, 0.02, 25.40),
}


class Ends(NamedTuple):
    """Where descents ended, arrays (problems, starts).

    Verdicts, losses, losses after Levenberg–Marquardt, and how many outputs were positive at the start.
    """

    verdict: np.ndarray
    loss: np.ndarray
    finished: np.ndarray
    positive: np.ndarray


@jax.jit
def _advance(losses: Squared, params: Any, moving: Any, rate: Any) -> tuple[Any, jax.Array]:
    """`_CHUNK` steps of every start that is still moving, one after another, and the losses after them."""
    solver = FirstOrder(optax.sgd(rate))

    def one(loss: Squared, start: Any, go: jax.Array) -> tuple[Any, jax.Array]:
        def descend(point: Any) -> Any:
            return traced_descent(loss, point, solver, steps=_CHUNK, record_every=_CHUNK)[0]

        end = jax.lax.cond(go, descend, lambda point: point, start)
        return end, loss.traced_value(end)

    def problem(arrays: Any) -> tuple[Any, jax.Array]:
        loss, starts, go = arrays
        return jax.lax.map(lambda pair: one(loss, *pair), (starts, go))

    return jax.lax.map(problem, (losses, params, moving))


@partial(jax.jit, static_argnames="steps")
def _finish(losses: Squared, params: Any, starts: Any, steps: int) -> jax.Array:
    """Losses after Levenberg–Marquardt from `params`, or from the start where descent left the numbers."""

    def end(loss: Squared, point: Any, start: Any) -> jax.Array:
        finite = jax.tree.map(lambda new, old: jnp.where(jnp.isfinite(new), new, old), point, start)
        return traced_least_squares(loss, finite, steps=steps)[1]

    return jax.lax.map(lambda some: jax.vmap(partial(end, some[0]))(some[1], some[2]), (losses, params, starts))


def _settle(losses: Squared, starts: Any, rate: float, steps: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Descend from stacked starts (problems, starts, …) until every loss has decided or `steps` are spent."""
    shape = starts["weights"].shape[:2]
    params, moving, value = starts, np.ones(shape, bool), np.full(shape, np.inf)
    for _ in range(max(steps // _CHUNK, 1)):
        before = value
        params, values = _advance(losses, params, moving, rate)
        value = np.asarray(values)
        moving = moving & ~(value < ZERO) & ~(np.abs(before - value) <= _STILL * value)
        if not moving.any():
            break
    verdict = np.where(value < ZERO, "zero", np.where(moving, "not settled", "stuck"))
    return params, verdict, value


@float64
def sweep(
    panel: str, value: int, *, reading: str = "signs", problems: int, starts: int, steps: int, polish: int,
    random_state: Any = 0,
) -> Ends:  # fmt: skip
    """Where gradient descent on planted problems of this panel ends, start by start.

    Parameters
    ----------
    panel : str
        A name in :data:`PANELS`.
    value : int
        Of k or d, whichever the panel varies.
    reading : "signs" or "ones"
        Both layers learned from v₀ = ±1, as the text says; or v = v* = 1 fixed and the weights learned.
    problems, starts : int
    steps, polish : int
        The budget of gradient descent, a multiple of 1,000, and steps of Levenberg–Marquardt after it.

    Examples
    --------
    >>> ends = sweep("3a", 8, reading="ones", problems=2, starts=3, steps=1000, polish=50)
    >>> ends.verdict.shape, bool((ends.finished < ZERO).all())
    ((2, 3), True)
    """
    if panel not in PANELS or reading not in READINGS:
        raise ValueError(f"unknown panel {panel!r} or reading {reading!r}")
    plan = PANELS[panel]
    (k, d), act, rng = plan.sizes(value), plan.activation, np.random.default_rng(random_state)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal((*shape, k, d)) / d**0.5

    data = [make_planted(ROWS, d, k, activation=act, weights=draw(), random_state=rng) for _ in range(problems)]
    params = {"weights": draw(problems, starts)}
    if reading == "signs":
        params["output"] = rng.choice([-1.0, 1.0], (problems, starts, k))
    losses = [Squared(one.X, one.y, act, np.ones(k) if reading == "ones" else None) for one in data]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *losses)
    first = to_jax(params)
    last, verdict, loss = _settle(stacked, first, plan.rate / k, steps)
    positive = np.sum(params["output"] > 0, axis=2) if reading == "signs" else np.full(loss.shape, k)
    return Ends(verdict, loss, np.asarray(_finish(stacked, last, first, polish)), positive)
