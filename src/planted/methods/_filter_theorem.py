r"""Theorems 3.1 to 3.3 of Du et al. (2017) with their constants: premises of a start, the step, both phases.

Write ‖w*‖ = 1, φ for the angle of v and w*, g(φ) = (π − φ) cos φ + sin φ, S = ‖a*‖² + (1ᵀa*)² and, corrected,
β = min{a⁰ᵀa*, (g(φ⁰) − 1)‖a*‖²/(π − 1)}. The filter's descent depends on η/‖v‖² alone and ‖v‖ does not fall, so that
the theorem's step for a unit start is multiplied by ‖v⁰‖² for another, except for the part that the output needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from planted.networks import ConvNetwork
from planted.objectives import arc

_GOAL = 0.75
"""The share of ‖a*‖² that aᵀa* tends to, at least, once the angle is below φ₁."""


@dataclass(frozen=True)
class _Start:
    """What the theorems look at: a teacher with a unit filter, and a start."""

    cosine: float
    length: float
    signal: float
    total: float
    target_square: float
    target_total: float
    n_patches: int
    gap: float

    @classmethod
    def of(cls, teacher: ConvNetwork, filter: Any, output: Any) -> _Start:
        target = teacher.canonical()
        v, a = np.asarray(filter, dtype=np.float64), np.asarray(output, dtype=np.float64)
        length = float(np.linalg.norm(v))
        if length == 0:
            raise ValueError("the filter is zero, so that it has no direction")
        return cls(
            cosine=float(np.clip(v @ target.filter / length, -1.0, 1.0)),
            length=length,
            signal=float(a @ target.output),
            total=float(a.sum()),
            target_square=float(target.output @ target.output),
            target_total=float(target.output.sum()),
            n_patches=len(a),
            gap=float(np.linalg.norm(a - target.output)),
        )

    @property
    def angle(self) -> float:
        return math.acos(self.cosine)

    @property
    def scale(self) -> float:
        """S."""
        return self.target_square + self.target_total**2

    @property
    def beta(self) -> float:
        return min(self.signal, (float(arc(self.angle)) - 1) * self.target_square / (math.pi - 1))


def leads_to_teacher(teacher: ConvNetwork, filter: Any, output: Any) -> bool:
    """Whether a start has the premises of Theorem 3.1: a⁰ᵀa* > 0, |1ᵀa⁰| ≤ |1ᵀa*| and φ⁰ < π/2.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, 1.0])
    >>> leads_to_teacher(teacher, [1.0, 1.0], [1.0, 0.0]), leads_to_teacher(teacher, [-1.0, 1.0], [1.0, 0.0])
    (True, False)
    """
    start = _Start.of(teacher, filter, output)
    return start.cosine > 0 and start.signal > 0 and abs(start.total) <= abs(start.target_total)


def leads_to_spurious_minimum(teacher: ConvNetwork, filter: Any, output: Any) -> bool:
    """Whether a start has the premises of Theorem 3.3, so that descent with a small step ends at the spurious minimum.

    They are a⁰ᵀa* < 0, |1ᵀa⁰| ≤ |1ᵀa*| and g(φ⁰) ≤ 1 − 2(1ᵀa*)²/‖a*‖², and no start has them if (1ᵀa*)² > ‖a*‖²/2.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.1])
    >>> leads_to_spurious_minimum(teacher, [-1.0, 0.1], [-0.1, 0.1, 0.0])
    True
    """
    start = _Start.of(teacher, filter, output)
    level = 1 - 2 * start.target_total**2 / start.target_square
    return start.signal < 0 and abs(start.total) <= abs(start.target_total) and float(arc(start.angle)) <= level


def step_size_bound(teacher: ConvNetwork, filter: Any, output: Any) -> float:
    """The largest step for which the proof of Theorem 3.1 holds from this start (constants of Lemma C.3, corrected).

    min{‖v⁰‖² β cos φ⁰/(2 S²), 2 ‖v⁰‖² cos φ⁰/S, 2π/(k + π − 1)}. Zero where the start misses the premises of the
    theorem.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, 1.0])
    >>> step_size_bound(teacher, [-1.0, 0.0], [1.0, 1.0])
    0.0
    >>> one, tenth = (step_size_bound(teacher, [size, size], [0.1, 0.1]) for size in (1.0, 0.1))
    >>> round(one / tenth, 6)
    100.0
    """
    if not leads_to_teacher(teacher, filter, output):
        return 0.0
    start = _Start.of(teacher, filter, output)
    length, S = start.length**2, start.scale
    filters = min(start.beta / (2 * S), 2.0) * length * start.cosine / S
    return min(filters, 2 * math.pi / (start.n_patches + math.pi - 1))


@dataclass(frozen=True)
class PhaseBounds:
    """Iterations after which Theorem 3.1 has each phase done.

    Attributes
    ----------
    first : float
        T₁: from then on cos φ ≥ 1/2 and aᵀa* ≥ ‖a*‖²/2.
    second : float
        T₂: after T₁ + T₂ iterations the loss is at most epsilon·‖a*‖².
    """

    first: float
    second: float


def phase_bounds(
    teacher: ConvNetwork, filter: Any, output: Any, step_size: float, epsilon: float = 1e-6
) -> PhaseBounds:
    """T₁ and T₂ of Theorem 3.1 for a start and a step within :func:`step_size_bound`, with all constants.

    Phase I: sin²φ falls by 1 − η cos φ⁰ β/(8‖v⁰‖²) in a step (Lemma C.3), until φ = φ₁, where aᵀa* tends to 3/4‖a*‖² or
    more; from zero it is at half of ‖a*‖² after ln 3/(η(π − 1)/(2π)) steps more. Phase II: ‖v‖² ≤ 2‖v⁰‖² makes sin²φ
    fall by 1 − η‖a*‖²/(24‖v⁰‖²); Lemmas C.4 and C.5 as recursions, Lemma C.6 as the loss itself.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, 1.0])
    >>> step = step_size_bound(teacher, [1.0, 1.0], [0.5, 0.5])
    >>> bounds = phase_bounds(teacher, [1.0, 1.0], [0.5, 0.5], step)
    >>> 0 < bounds.first < bounds.second
    True
    """
    allowed = step_size_bound(teacher, filter, output)
    if not 0 < step_size <= allowed * (1 + 1e-12):
        raise ValueError(f"the theorem allows steps up to {allowed:.3g} from this start, not {step_size:.3g}")
    start = _Start.of(teacher, filter, output)
    step, own = step_size / start.length**2, step_size * (math.pi - 1) / (2 * math.pi)
    near = float(brentq(lambda phi: float(arc(phi)) - 1 - _GOAL * (math.pi - 1), 0.0, math.pi / 2))
    ratio = math.sin(start.angle) ** 2 / math.sin(near) ** 2
    turning = math.log(max(ratio, 1.0)) / -math.log1p(-step * start.cosine * start.beta / 8)
    first = math.ceil(turning) + math.ceil(math.log(3) / -math.log1p(-own))
    return PhaseBounds(first, _second(start, step_size, step, own, math.sin(near) ** 2, epsilon))


def _second(start: _Start, eta: float, step: float, own: float, sine: float, epsilon: float) -> float:
    """The least n at which the bound on the loss n steps into phase II is at most epsilon·‖a*‖²."""
    square, total, k = start.target_square, abs(start.target_total), start.n_patches
    angle_rate = 1 - step * square / 24
    sum_rate = max(1 - eta * (k + math.pi - 1) / (2 * math.pi), 0.0)
    # π − g ≤ (π/2)φ² and φ ≤ 1.21 sin φ below π/3.
    lag = math.pi / 2 * 1.21**2 * sine
    gap = max(start.gap, math.sqrt(square) * math.pi / (math.pi - 1))

    def loss(n: float) -> float:
        def follow(first: float, rate: float, source: float) -> float:
            """x with x' ≤ rate·x + source·angle_rate^t, n steps on."""
            slower = max(rate, angle_rate)
            return first * rate**n + source * n * slower ** max(n - 1, 0.0)

        change = follow(gap, 1 - own, eta * lag * math.sqrt(square) / (2 * math.pi))
        sums = follow(2 * total, sum_rate, eta * lag * total / (2 * math.pi))
        behind = lag * angle_rate**n
        return ((math.pi - 1) * change**2 + 2 * behind * start.scale + sums**2) / (4 * math.pi)

    low, high = 0.0, 1.0
    while loss(high) > epsilon * square:
        low, high = high, 2 * high
        if high > 1e15:
            return math.inf
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if loss(middle) <= epsilon * square else (middle, high)
    return high
