r"""Stationary points of the population loss of a shared ReLU filter (Lemma 4.1 of Du et al. 2017, completed).

For ‖w*‖ = 1, φ the angle of filter and teacher and g(φ) = (π − φ) cos φ + sin φ, the best output for a filter is

    a(φ) = [(g(φ) − 1) a* + (π − g(φ)) 1ᵀa*/(k + π − 1) 1] / (π − 1),

and the loss is stationary in the filter as well where (π − φ) sin φ aᵀa* = 0:

- φ = 0: the teacher, a global minimum;
- φ = π: there K(w, w*) = (π − φ)³/(6π) + …, so the Hessian vanishes in every direction of the filter and the third
  order decides. The point is a strict local minimum (up to the filter's length) when aᵀa* < 0, which is
  (1ᵀa*)²/‖a*‖² < (k + π − 1)/π, and no minimum above that ratio;
- aᵀa* = 0: saddles at the angle where g(φ) = (1 − πh)/(1 − h), h = (1ᵀa*)²/((k + π − 1)‖a*‖²). They exist exactly when
  the spurious minimum does and part its basin from the teacher's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from planted.networks import ConvNetwork


@dataclass(frozen=True)
class ConvPoint:
    """A stationary point: its angle to the teacher's filter, output weights (k,), loss, kind and why.

    `kind` is "global minimum", "local minimum" or "saddle". At angles other than 0 and π the point is any filter
    at that angle.
    """

    angle: float
    output: np.ndarray
    value: float
    kind: str
    reason: str


def arc(angle: Any) -> Any:
    """g(φ) = (π − φ) cos φ + sin φ = 2π K(w, w*), falling from π at φ = 0 through 1 at π/2 to 0 at π.

    >>> round(float(arc(np.pi / 2)), 12)
    1.0
    """
    return (math.pi - angle) * np.cos(angle) + np.sin(angle)


def threshold(n_patches: int) -> float:
    """The ratio (1ᵀa*)²/‖a*‖² above which there is no spurious minimum, (k + π − 1)/π.

    >>> round(threshold(25), 4)
    8.6394
    """
    return (n_patches + math.pi - 1) / math.pi


def _relu_teacher(teacher: ConvNetwork) -> np.ndarray:
    """Output weights of a ReLU teacher with a filter of norm one."""
    if not isinstance(teacher, ConvNetwork):
        raise TypeError(f"teacher must be a planted.ConvNetwork, not {type(teacher).__name__}")
    if teacher.activation.name != "relu":
        raise ValueError(f"the stationary points are known for ReLU, not for {teacher.activation.name}")
    if not np.any(teacher.filter) or not np.any(teacher.output):
        raise ValueError("the teacher is zero")
    return teacher.canonical().output


def best_output(teacher: ConvNetwork, angle: float) -> np.ndarray:
    """The output weights a(φ) of least loss for a filter at this angle to the teacher's.

    >>> best_output(ConvNetwork([2.0], [1.0, 3.0]), 0.0)
    array([2., 6.])
    """
    target = _relu_teacher(teacher)
    g = float(arc(angle))
    shared = (math.pi - g) * target.sum() / (len(target) + math.pi - 1)
    return ((g - 1) * target + shared) / (math.pi - 1)


def evaluate(target: np.ndarray, output: np.ndarray, angle: float) -> float:
    """Theorem 2.1, corrected, for ‖w*‖ = 1."""
    change = output - target
    g = float(arc(angle))
    squares = (math.pi - 1) * change @ change + 2 * (math.pi - g) * output @ target + change.sum() ** 2
    return float(squares) / (4 * math.pi)


def stationary_points(teacher: ConvNetwork) -> list[ConvPoint]:
    """All stationary points, by angle: the teacher, the saddle between (if there is one), and the opposite filter.

    Examples
    --------
    >>> for point in stationary_points(ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5])):
    ...     print(f"{point.angle:.4f} {point.kind}")
    0.0000 global minimum
    1.6012 saddle
    3.1416 local minimum
    """
    target = _relu_teacher(teacher)
    k, norm, total = len(target), float(target @ target), float(target.sum())
    points = [ConvPoint(0.0, target, 0.0, "global minimum", "the filter and the output weights are the teacher's")]
    h = total**2 / ((k + math.pi - 1) * norm)
    spurious = total**2 / norm < threshold(k)
    if spurious:
        level = (1 - math.pi * h) / (1 - h)
        angle = float(brentq(lambda phi: float(arc(phi)) - level, 0.0, math.pi, xtol=1e-15))
        output = best_output(teacher, angle)
        reason = "aᵀa* = 0: turning the filter either way, with its best output, lowers the loss"
        points.append(ConvPoint(angle, output, evaluate(target, output, angle), "saddle", reason))
    output = best_output(teacher, math.pi)
    if spurious:
        kind = "local minimum"
        reason = "the filter points away from the teacher's and aᵀa* < 0: the loss grows with the third power of a turn"
    else:
        kind = "saddle"
        reason = "the filter points away from the teacher's and aᵀa* ≥ 0: the loss falls with the third power of a turn"
    points.append(ConvPoint(math.pi, output, evaluate(target, output, math.pi), kind, reason))
    return points


def nearest_stationary_point(
    teacher: ConvNetwork, filter: Any, output: Any, tolerance: float = 1e-6
) -> ConvPoint | None:
    """The stationary point within `tolerance` of this filter and output (angle, and output relative to ‖a*‖), or None.

    The loss is flat around φ = π, so near that point the angle is taken to the tolerance's square root.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5])
    >>> nearest_stationary_point(teacher, [3.0, 0.0], teacher.output).kind
    'global minimum'
    >>> nearest_stationary_point(teacher, [3.0, 1.0], teacher.output) is None
    True
    """
    target = _relu_teacher(teacher)
    found = ConvNetwork(filter, output)
    u, v = found.filter / (np.linalg.norm(found.filter) or 1.0), teacher.canonical().filter
    angle = 2 * float(np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))
    for point in stationary_points(teacher):
        allowed = math.sqrt(tolerance) if point.angle == math.pi else tolerance
        near = np.linalg.norm(found.output - point.output) <= tolerance * np.linalg.norm(target)
        if near and abs(angle - point.angle) <= allowed:
            return point
    return None
