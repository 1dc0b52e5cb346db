r"""Gradient descent with weight normalisation on a shared filter: Algorithm 1 of Du et al. (2017), measured.

    v ← v − η ∂ℓ/∂v,    a ← a − η ∂ℓ/∂a,    w = v/‖v‖,

on the population loss (Theorem 2.2) or on data. With φ the angle of v and w*, ‖w*‖ = 1 and
λ = (π − φ) aᵀa* / (2π‖v‖²), the filter stays in the plane of v and w* and the angle moves by an exact rule,

    φ' = |φ − arctan(η λ sin φ)|,

from which Lemma 4.2 follows when ηλ ≤ 2, and Lemma 4.5 when ηλ ≤ cos φ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.activations import Activation
from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax, to_numpy
from planted.numerics.quadrature import gaussian_expectation
from planted.objectives import Objective, stationary_points

RELU = activations.get("relu")
FATES = ("global minimum", "spurious minimum", "still moving")
NEAR = (0.02, 0.3, 0.05)
"""What counts as near: an angle to the teacher, an angle to its opposite (which is approached like 1/t only), and an
output relative to ‖a*‖."""


def angle(v: jax.Array, w: jax.Array) -> jax.Array:
    """Angle of v and a unit vector w, to full precision near 0 and π, traceable.

    >>> round(float(angle(jnp.array([0.0, 3.0]), jnp.array([1.0, 0.0]))), 4)
    1.5708
    """
    u = v / jnp.linalg.norm(v)
    return 2 * jnp.arctan2(jnp.linalg.norm(u - w), jnp.linalg.norm(u + w))


def typical_step(total: Any, square: Any, n_patches: int, activation: Activation = RELU) -> Any:
    """A step with which descents are stable, for total 1ᵀa* and square ‖a*‖², traceable.

    min{1/(2 E[φ'²] S), 1/(2 κ + 2 k m²)} with S = ‖a*‖² + (1ᵀa*)², m = E φ and κ = Var φ, the curvatures of the filter
    and of the output: min{1/S, π/(k + π − 1)} for ReLU, half of what Lemma 4.4 allows.
    :func:`planted.methods.step_size_bound` is what the theorem asks for.

    >>> round(float(typical_step(0.0, 1.0, 25)), 4)
    0.1157
    """
    slope = float(gaussian_expectation(lambda z: activation.derivative(z) ** 2, activation.kinks))
    mean, second = activation.hermite(0), activation.second_moment()
    return jnp.minimum(1 / (2 * slope * (square + total**2)), 1 / (2 * (second + (n_patches - 1) * mean**2)))


@dataclass(frozen=True)
class Trajectory:
    """What Algorithm 1 did: one entry an iteration t = 0, …, T in arrays (T + 1, restarts).

    Attributes
    ----------
    loss, angle, signal, total, rate, filter_norm : array (T + 1, restarts)
        ℓ, φ, aᵀa*, 1ᵀa, λ and ‖v‖.
    params : dict
        Where it ended: {"filter": (restarts, p), "output": (restarts, k)}.
    step_size : float
    teacher : ConvNetwork
        In canonical form.
    """

    loss: np.ndarray
    angle: np.ndarray
    signal: np.ndarray
    total: np.ndarray
    rate: np.ndarray
    filter_norm: np.ndarray
    params: dict[str, np.ndarray]
    step_size: float
    teacher: ConvNetwork

    @property
    def invariants(self) -> dict[str, np.ndarray]:
        """Whether each holds in each step, arrays (T, restarts) by name.

        "angle falls": aᵀa* > 0 implies φ' ≤ φ (Lemma 4.2). "signal stays positive": aᵀa* > 0, 1ᵀa 1ᵀa* ≤ (1ᵀa*)² and
        φ < π/2 imply a'ᵀa* > 0 (Lemma 4.3). "total stays small": 1ᵀa 1ᵀa* ≤ (1ᵀa*)² implies the same of a'
        (Lemma 4.4). "angle contracts": under the premises of Lemma 4.3, sin²φ' ≤ (1 − η λ cos φ) sin²φ (Lemma 4.5).
        """
        slack = 1e-12
        mine, square = float(self.teacher.output.sum()), float(self.teacher.output @ self.teacher.output)
        small = self.total * mine <= mine**2 + slack * max(square, mine**2)
        positive, before, after = self.signal[:-1] > 0, self.angle[:-1], self.angle[1:]
        premises = positive & small[:-1] & (before < math.pi / 2)
        bound = (1 - self.step_size * self.rate[:-1] * np.cos(before)) * np.sin(before) ** 2
        return {
            "angle falls": ~positive | (after <= before + slack),
            "signal stays positive": ~premises | (self.signal[1:] > 0),
            "total stays small": ~small[:-1] | small[1:],
            "angle contracts": ~premises | (np.sin(after) ** 2 <= bound + slack),
        }

    @property
    def phase_one_end(self) -> np.ndarray:
        """First t with cos φ ≥ 1/2 and aᵀa* ≥ ‖a*‖²/2 of each restart, −1 if there is none."""
        square = float(self.teacher.output @ self.teacher.output)
        reached = (np.cos(self.angle) >= 0.5) & (self.signal >= 0.5 * square)
        return np.where(reached.any(axis=0), reached.argmax(axis=0), -1)

    def phase_two_rate(self, restart: int, floor: float = 1e-13) -> float:
        """Factor by which the loss falls in an iteration of phase II, fitted to log ℓ; NaN if there is no phase II.

        Its last half before the loss reaches `floor` times ½‖a*‖² is used, where the slowest mode rules.
        """
        begin = int(self.phase_one_end[restart])
        if begin < 0:
            return math.nan
        square = float(self.teacher.output @ self.teacher.output)
        large = self.loss[begin:, restart] > floor * square / 2
        end = begin + (len(large) if large.all() else int(np.argmin(large)))
        t = np.arange((begin + end) // 2, end)
        if len(t) < 3:
            return math.nan
        return float(np.exp(np.polyfit(t, np.log(self.loss[t, restart]), 1)[0]))

    def predicted_rate(self, restart: int) -> float:
        """The factor that the Hessian at the teacher predicts: max over its modes of (1 − η·curvature)².

        Curvatures are ‖a*‖²/(2‖v‖²) for the filter, (π − 1)/(2π) and (k + π − 1)/(2π) for the output.
        """
        k, square = self.teacher.n_patches, float(self.teacher.output @ self.teacher.output)
        filter_mode = square / (2 * float(self.filter_norm[-1, restart]) ** 2)
        modes = [filter_mode, (k + math.pi - 1) / (2 * math.pi)] + [(math.pi - 1) / (2 * math.pi)] * (k > 1)
        return max((1 - self.step_size * mode) ** 2 for mode in modes)

    @property
    def fates(self) -> list[str]:
        """Where each restart ended: "global minimum", "spurious minimum" or "still moving"."""
        return fates(self.params, self.teacher)


def fate_code(
    v: jax.Array,
    a: jax.Array,
    target_filter: jax.Array,
    target_output: jax.Array,
    opposite: jax.Array,
    near: tuple[float, float, float] = NEAR,
) -> jax.Array:
    """Index into `FATES` of a point, given the outputs of the teacher and of the opposite point, traceable.

    >>> one = jnp.ones(1)
    >>> int(fate_code(one, one, one, one, -one))
    0
    """
    phi, scale = angle(v, target_filter), near[2] * jnp.linalg.norm(target_output)
    good = (phi < near[0]) & (jnp.linalg.norm(a - target_output) < scale)
    bad = (phi > math.pi - near[1]) & (jnp.linalg.norm(a - opposite) < scale) & (a @ target_output < 0)
    return jnp.where(good, 0, jnp.where(bad, 1, 2))


@float64
def fates(
    params: dict[str, Any],
    teacher: ConvNetwork,
    near: tuple[float, float, float] = NEAR,
    mean_square: float = 1 / (2 * math.pi),
) -> list[str]:
    """Where each of several points {"filter": (restarts, p), "output": (restarts, k)} is: one of `FATES` each.

    `mean_square` is m² of the patches, see :func:`planted.objectives.stationary_points`.

    >>> fates({"filter": np.ones((1, 1)), "output": np.ones((1, 2))}, ConvNetwork([1.0], [1.0, 1.0]))
    ['global minimum']
    """
    target = teacher.canonical()
    opposite = stationary_points(target, mean_square)[-1].output
    rest = (to_jax(target.filter), to_jax(target.output), to_jax(opposite))
    points = to_jax(params)
    return [FATES[code] for code in np.asarray(_codes(points["filter"], points["output"], *rest, near))]


@partial(jax.jit, static_argnames="near")
def _codes(v: jax.Array, a: jax.Array, w: jax.Array, b: jax.Array, opposite: jax.Array, near: Any) -> jax.Array:
    return jax.vmap(lambda one, output: fate_code(one, output, w, b, opposite, near))(v, a)


def _measure(v: jax.Array, a: jax.Array, w: jax.Array, b: jax.Array) -> tuple[jax.Array, ...]:
    phi, norm, signal = angle(v, w), jnp.linalg.norm(v), a @ b
    return phi, signal, jnp.sum(a), (jnp.pi - phi) * signal / (2 * jnp.pi * norm**2), norm


@partial(jax.jit, static_argnames="n_iterations")
def _scan(objective: Objective, starts: Any, w: jax.Array, b: jax.Array, eta: Any, n_iterations: int) -> Any:
    def one(start: Any) -> Any:
        def body(params: Any, _: None) -> tuple[Any, tuple[jax.Array, ...]]:
            value, gradient = objective.traced_value_and_gradient(params)
            record = (value, *_measure(params["filter"], params["output"], w, b))
            return {name: params[name] - eta[name] * gradient[name] for name in params}, record

        last, records = jax.lax.scan(body, start, None, length=n_iterations)
        final = (objective.traced_value(last), *_measure(last["filter"], last["output"], w, b))
        return last, jax.tree.map(lambda many, end: jnp.append(many, end), records, final)

    return jax.vmap(one)(starts)


@float64
def conv_descent(
    objective: Objective,
    starts: dict[str, Any],
    step_size: float,
    n_iterations: int,
    teacher: ConvNetwork,
    fixed_output: bool = False,
) -> Trajectory:
    """Algorithm 1 from several starts side by side, measured against a teacher.

    Parameters
    ----------
    objective : PopulationConv or ConvSquared
        The population loss or the loss on data.
    starts : dict
        {"filter": (restarts, p), "output": (restarts, k)}.
    step_size, n_iterations : float, int
        η and T.
    teacher : ConvNetwork
        A ReLU network.
    fixed_output : bool
        Whether the second layer stays as it starts, as in the remark after Theorem 2.2. The gradient without weight
        normalisation is that of ``PopulationConv(teacher, normalise=False)``.

    Examples
    --------
    >>> from planted.objectives import PopulationConv
    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, -0.5])
    >>> starts = {"filter": [[0.6, 0.8], [-0.6, 0.8]], "output": [[0.1, 0.0], [-0.1, 0.0]]}
    >>> conv_descent(PopulationConv(teacher), starts, 0.2, 1000, teacher).fates
    ['global minimum', 'spurious minimum']
    """
    if not (np.isfinite(step_size) and step_size > 0):
        raise ValueError(f"step_size must be a positive number, not {step_size!r}")
    target = teacher.canonical()
    w, b = to_jax(target.filter), to_jax(target.output)
    eta = {"filter": jnp.asarray(float(step_size)), "output": jnp.asarray(0.0 if fixed_output else float(step_size))}
    last, records = _scan(objective, to_jax(starts), w, b, eta, int(n_iterations))
    loss, phi, signal, total, rate, norm = (np.asarray(record).T for record in records)
    return Trajectory(loss, phi, signal, total, rate, norm, to_numpy(last), float(step_size), target)
