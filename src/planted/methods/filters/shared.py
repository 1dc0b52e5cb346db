r"""Recover a shared filter and its output weights from data (Du et al. 2017): restarts, descent, polish, verdict.

The model is y = Σ_i a_i φ(w·Z_i) + noise, with patches Z_i of covariance Σ within a patch. Four restarts, the signs of
one draw (Theorem 3.2), descend side by side in the coordinates U_i = Σ^{-1/2} Z_i, in which the theorems hold if the
Z_i are centred, Gaussian and independent. Whitening only steers the descent: the loss and its minimiser are those of
the data, whatever the law of the inputs. The best restart is then polished by least squares on all rows, and accepted
if its residuals carry no linear trace of the inputs, which the spurious minimum's do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.inputs import RadialLaw
from planted.methods._filter_dynamics import fates, typical_step
from planted.methods._filter_polish import polish
from planted.methods._filters import recover_filter
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.networks import ConvNetwork, match
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.objectives import ConvSquared
from planted.solvers import AdaptiveStep, Monitor, descend
from planted.starts import SIGNS, output_radius, sign_restarts, uniform_start

_GRADIENT, _PROGRESS = 1e-3, 1e-8
_NEAR_ON_DATA = (0.3, 0.6, 0.3)
# Losses that differ relatively by less are those of one place, or of its mirror image.
_SAME = 1e-9
# Shares of the least loss, and of half the mean square of the targets, by which descents to one minimum end apart.
_APART, _UNSETTLED = 0.01, 1e-6


@dataclass(frozen=True)
class ConvRestart:
    """One of the four restarts: its signs of (filter, output), where its descent ended, and the loss there.

    `fate` is "global minimum" ("best minimum found" where the verdict is no success), which has the least loss of all
    restarts, "spurious minimum" (that of Lemma 4.1, known for ReLU), "stationary point" (descent has stopped elsewhere)
    or "still moving" (its loss would fall further; descents end once the best one has settled).
    """

    signs: tuple[int, int]
    fate: str
    loss: float


class _Settled:
    """Whether the best restart, or every one, has settled; `restarts` (4,) says which have."""

    def __init__(self, energy: float, all_restarts: bool) -> None:
        self.energy, self.all_restarts = energy, all_restarts
        self.before, self.restarts = np.array(np.inf), np.array(False)

    def __call__(self, state: Any) -> bool:
        losses = np.asarray(state.value)
        lengths, slopes, changes = (
            np.linalg.norm(np.asarray(part), axis=1)
            for part in (state.params["filter"], state.gradient["filter"], state.gradient["output"])
        )
        # ‖v‖ ∂ℓ/∂v and √ℓ ∂ℓ/∂a have the units of the loss, whatever the scale of y and v.
        norms = lengths * slopes + self.energy**0.5 * changes
        # Noise puts kinks next to a minimum, where the gradient stays large and only the loss can tell.
        self.restarts = (norms <= _GRADIENT * self.energy) | (self.before - losses <= _PROGRESS * self.energy)
        self.before = losses
        return bool(self.restarts.all() if self.all_restarts else self.restarts[np.argmin(losses)])


def _among(loss: float, others: list[float]) -> bool:
    """Whether one of the other losses is the same."""
    return any(math.isclose(loss, other, rel_tol=_SAME) for other in others)


def _distinct(losses: np.ndarray) -> list[int]:
    """Restarts from the least loss on; of equal ones, such as (w, a) and (−w, −a) behind an odd φ, the first.

    >>> _distinct(np.array([2.0, 1.0, 2.0, 1.0 + 1e-12]))
    [1, 0]
    """
    order = [int(index) for index in np.argsort(losses)]
    return [index for i, index in enumerate(order) if not _among(losses[index], [losses[j] for j in order[:i]])]


def _fates(
    params: dict[str, np.ndarray],
    losses: np.ndarray,
    settled: _Settled,
    objective: ConvSquared,
    winner: ConvNetwork,
    success: bool,
    mean_square: float,
) -> list[str]:
    """Where the restarts are, with the network that won in the teacher's place."""
    best = "global minimum" if success else "best minimum found"
    if objective.activation.name == "relu":
        ends = fates(params, winner, _NEAR_ON_DATA, mean_square)
    else:
        networks = [objective.network({"filter": v, "output": a}) for v, a in zip(*params.values(), strict=True)]
        near = [match(network, winner).weight_error <= _NEAR_ON_DATA[2] for network in networks]
        ends = ["global minimum" if one else "still moving" for one in near]
    least = min(float(objective.value({"filter": winner.filter, "output": winner.output})), *losses)
    lowest = losses <= (1 + _APART) * least + _UNSETTLED * settled.energy
    ended = np.where(settled.restarts, "stationary point", "still moving")
    return [
        best if end == "global minimum" and low else end if end == "spurious minimum" else str(other)
        for end, low, other in zip(ends, lowest, ended, strict=True)
    ]


def start(problem: Any) -> Start:
    """The network y = Σ_i output_i φ(filter·Z_i) behind patches, by four sign restarts, descent and polish.

    `details` has the four restarts of the last descent, the curve of their losses and the number of iterations.

    >>> from planted.datasets import make_planted_conv
    >>> from planted.methods import FilterProblem
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> result = METHOD(FilterProblem.of(data.X, data.y, 1))
    >>> result.status, match(result.network, data.teacher).weight_error < 1e-10
    ('recovered', True)
    """
    survey, act = problem.survey, problem.activation
    patches, targets, weight = survey.X, survey.y, survey.weight
    n, k, p = patches.shape
    objective = problem.objective(problem.sample)
    whitener = problem.whitener
    law = RadialLaw.of(patches @ whitener)
    mean = float(np.average(targets, weights=weight))
    variance = float(np.average((targets - mean) ** 2, weights=weight))
    typical, second = act.hermite(0), act.second_moment()
    square = variance / (second - typical**2) if second > typical**2 else variance / second
    total = 0.0 if abs(typical) < 1e-12 else mean / typical
    step = float(typical_step(total, square, k, act))
    radius = output_radius(mean, variance, k, act)
    first = min(n, max(4096, 50 * (p + k)) if problem.descent_rows is None else int(problem.descent_rows))
    candidates: list[tuple[float, ConvNetwork]] = []
    iterations, success = 0, False
    keys = random.split(problem.key, 2)
    for attempt, size in enumerate([first, n] if first < n else [n, n]):
        counts = None if weight is None else weight[:size]
        white = ConvSquared(patches[:size] @ whitener, targets[:size], act, sample_weight=counts)
        starts = sign_restarts(uniform_start(random.jax_key(keys[attempt]), p, k, radius))
        settled = _Settled(float(np.average(targets[:size] ** 2, weights=counts)) / 2, all_restarts=attempt > 0)
        run = descend(
            white, starts, AdaptiveStep(step), steps=problem.max_iterations, key=keys[attempt], side_by_side=True,
            monitor=Monitor(settled=settled), progress=problem.progress,
        )  # fmt: skip
        params, losses, iterations = run.params, run.value, iterations + run.n_steps
        for index in _distinct(losses):
            end = white.network({name: leaf[index] for name, leaf in params.items()})
            near = ConvNetwork(whitener @ end.filter, end.output, act).canonical()
            network, descent = polish(objective, near)
            loss = float(descent.value)
            judged = _among(loss, [other for other, _ in candidates])
            candidates.append((loss, network))
            success = not judged and problem.judge(network, loss, survey).success
            if success or passed():
                break
        if success or passed():
            break
    loss, network = candidates[-1] if success else min(candidates, key=lambda pair: pair[0])
    winner = ConvNetwork(np.linalg.solve(whitener, network.filter), network.output, act).canonical()
    restarts = tuple(
        ConvRestart(signs, fate, float(value))
        for signs, fate, value in zip(
            SIGNS, _fates(params, losses, settled, white, winner, success, law.mean_square), losses, strict=True
        )
    )
    curve = (np.array(run.history.step), np.array(run.history.value))
    details = {"restarts": restarts, "curve": curve, "n_iterations": iterations}
    return Start(network, "shared", loss, details=details)


METHOD = Method(
    name="shared",
    start=start,
    summary="four sign restarts avoid the spurious minimum",
    suits="patches that share one filter",
    scales=True,
    finish=recover_filter,
)
