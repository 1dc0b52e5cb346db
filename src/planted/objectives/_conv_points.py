r"""Stationary points of the population loss of a shared ReLU filter (Lemma 4.1 of Du et al. 2017, completed).

For ‖w*‖ = 1, φ the angle of filter and teacher, g(φ) = (π − φ) cos φ + sin φ and rotation-invariant patches of second
moment one (Remark 2), μ = 2πm² with m = E φ(w·z), which is one for Gaussian patches, the loss is

    ℓ = [(π − μ)‖a − a*‖² + 2(π − g(φ)) aᵀa* + μ (1ᵀ(a − a*))²] / (4π),

the best output for a filter is

    a(φ) = [(g(φ) − μ) a* + μ (π − g(φ)) 1ᵀa*/(μk + π − μ) 1] / (π − μ),

and the loss is stationary in the filter as well where (π − φ) sin φ aᵀa* = 0:

- φ = 0: the teacher, a global minimum;
- φ = π: there K(w, w*) = (π − φ)³/(6π) + …, so the Hessian vanishes in every direction of the filter and the third
  order decides. The point is a strict local minimum (up to the filter's length) when aᵀa* < 0, which is
  (1ᵀa*)²/‖a*‖² < (μk + π − μ)/π, and no minimum above that ratio. At that ratio, as always for one patch, aᵀa* = 0 and
  the loss falls with the sixth power of a turn that the output follows;
- aᵀa* = 0: saddles at the angle where g(φ) = (μ − πh)/(1 − h), h = μ(1ᵀa*)²/((μk + π − μ)‖a*‖²). They exist exactly
  when the spurious minimum does and part its basin from the teacher's.

With one input, p = 1, a filter cannot turn: φ is 0 or π, and the opposite point is a minimum whatever the ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from planted.networks import ConvNetwork

_EQUAL = 1e-12


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


GAUSSIAN = 1 / (2 * math.pi)
"""m² of Gaussian patches; :attr:`planted.inputs.RadialLaw.mean_square` has that of others."""


def threshold(n_patches: int, mean_square: float = GAUSSIAN) -> float:
    """The ratio (1ᵀa*)²/‖a*‖² from which on there is no spurious minimum, (μk + π − μ)/π with μ = 2πm².

    >>> round(threshold(25), 4)
    8.6394
    """
    return _width(n_patches, 2 * math.pi * mean_square) / math.pi


def _width(n_patches: int, mu: float) -> float:
    return mu * n_patches + math.pi - mu


def _relu_teacher(teacher: ConvNetwork) -> np.ndarray:
    """Output weights of a ReLU teacher with a filter of norm one."""
    if not isinstance(teacher, ConvNetwork):
        raise TypeError(f"teacher must be a planted.ConvNetwork, not {type(teacher).__name__}")
    if teacher.activation.name != "relu":
        raise ValueError(f"the stationary points are known for ReLU, not for {teacher.activation.name}")
    if not np.any(teacher.filter) or not np.any(teacher.output):
        raise ValueError("the teacher is zero")
    return teacher.canonical().output


def best_output(teacher: ConvNetwork, angle: float, mean_square: float = GAUSSIAN) -> np.ndarray:
    """The output weights a(φ) of least loss for a filter at this angle to the teacher's.

    `mean_square` is m² of the patches.

    >>> best_output(ConvNetwork([2.0], [1.0, 3.0]), 0.0)
    array([2., 6.])
    """
    target, mu = _relu_teacher(teacher), 2 * math.pi * mean_square
    g = float(arc(angle))
    shared = mu * (math.pi - g) * target.sum() / _width(len(target), mu)
    return ((g - mu) * target + shared) / (math.pi - mu)


def evaluate(target: np.ndarray, output: np.ndarray, angle: float, mean_square: float = GAUSSIAN) -> float:
    """Theorem 2.1, corrected, for ‖w*‖ = 1."""
    change, mu = output - target, 2 * math.pi * mean_square
    g = float(arc(angle))
    squares = (math.pi - mu) * change @ change + 2 * (math.pi - g) * output @ target + mu * change.sum() ** 2
    return float(squares) / (4 * math.pi)


def stationary_points(teacher: ConvNetwork, mean_square: float = GAUSSIAN) -> list[ConvPoint]:
    """All stationary points, by angle: the teacher, the saddle between (if there is one), and the opposite filter.

    Parameters
    ----------
    teacher : ConvNetwork
        With ReLU.
    mean_square : float
        m² of the patches, 1/(2π) for Gaussian ones; the values are those for patches of second moment one.

    Examples
    --------
    >>> for point in stationary_points(ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5])):
    ...     print(f"{point.angle:.4f} {point.kind}")
    0.0000 global minimum
    1.6012 saddle
    3.1416 local minimum
    """
    target = _relu_teacher(teacher)
    k, norm, total, mu = len(target), float(target @ target), float(target.sum()), 2 * math.pi * mean_square
    points = [ConvPoint(0.0, target, 0.0, "global minimum", "the filter and the output weights are the teacher's")]
    h = mu * total**2 / (_width(k, mu) * norm)
    excess = total**2 / norm - threshold(k, mean_square)
    level_ratio, fixed = abs(excess) <= _EQUAL * threshold(k, mean_square), len(teacher.filter) == 1
    spurious = excess < 0 and not level_ratio
    if spurious and not fixed:
        level = (mu - math.pi * h) / (1 - h)
        angle = float(brentq(lambda phi: float(arc(phi)) - level, 0.0, math.pi, xtol=1e-15))
        output = best_output(teacher, angle, mean_square)
        reason = "aᵀa* = 0: turning the filter either way, with its best output, lowers the loss"
        points.append(ConvPoint(angle, output, evaluate(target, output, angle, mean_square), "saddle", reason))
    output = best_output(teacher, math.pi, mean_square)
    # One patch has the output zero, which rounding must not make a small one.
    output = np.where(np.abs(output) <= 1e-14 * math.sqrt(norm), 0.0, output)
    if fixed:
        kind = "local minimum"
        reason = "a filter of one input cannot turn: only its sign is wrong, and the output is the best one for it"
    elif level_ratio:
        kind = "saddle"
        reason = "aᵀa* = 0: a turn t of the filter, followed by the output, lowers the loss by its sixth power"
    elif spurious:
        kind = "local minimum"
        reason = "the filter points away from the teacher's and aᵀa* < 0: the loss grows with the third power of a turn"
    else:
        kind = "saddle"
        reason = "the filter points away from the teacher's and aᵀa* > 0: the loss falls with the third power of a turn"
    points.append(ConvPoint(math.pi, output, evaluate(target, output, math.pi, mean_square), kind, reason))
    return points


def nearest_stationary_point(
    teacher: ConvNetwork, filter: Any, output: Any, tolerance: float = 1e-6, mean_square: float = GAUSSIAN
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
    network = ConvNetwork(filter, output)
    u, v = network.filter / (np.linalg.norm(network.filter) or 1.0), teacher.canonical().filter
    angle = 2 * float(np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))
    for point in stationary_points(teacher, mean_square):
        allowed = math.sqrt(tolerance) if point.angle == math.pi else tolerance
        near = np.linalg.norm(network.output - point.output) <= tolerance * np.linalg.norm(target)
        if near and abs(angle - point.angle) <= allowed:
            return point
    return None
