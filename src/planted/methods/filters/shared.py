r"""Recover a shared filter and its output weights from data (Du et al. 2017): restarts, descent, polish, verdict.

The model is y = Σ_i a_i φ(w·Z_i) + noise, with patches Z_i of covariance Σ within a patch. Four restarts, the signs of
one draw (Theorem 3.2), descend side by side in the coordinates U_i = Σ^{-1/2} Z_i, in which the theorems hold if the
Z_i are centred, Gaussian and independent. Whitening only steers the descent: the loss and its minimiser are those of
the data, whatever the law of the inputs. Each restart is then polished by least squares, and the best one is taken. It
is accepted if it explains all rows to rounding, or if the theorems cover the rows and its residuals carry no linear
trace of the inputs, which the spurious minimum's do. Else more draws follow, until little is left to minima that none
of them has found (:mod:`planted.methods._filter_draws`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.inputs import RadialLaw
from planted.methods._facts import EXACT
from planted.methods._filter_draws import APART, UNSETTLED, enough
from planted.methods._filter_dynamics import fates, typical_step
from planted.methods._filter_polish import polish
from planted.methods._filters import recover_filter
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.networks import ConvNetwork, match
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.objectives import ConvSquared
from planted.solvers import AdaptiveStep, Descent, Monitor, descend
from planted.starts import SIGNS, output_radius, sign_restarts, uniform_start

_GRADIENT, _PROGRESS = 1e-3, 1e-8
_NEAR_ON_DATA = (0.3, 0.6, 0.3)
# Losses that differ relatively by less are those of one place, or of its mirror image.
_SAME = 1e-9
# Steps of descents after the first, whose polish goes on to the minimum from where they end, and of a polish that tells
# whether a restart ends below another.
_AGAIN, _BRIEF = 300, 15


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
    """Whether the best restart has settled; `restarts` (4,) says which have."""

    def __init__(self, energy: float) -> None:
        self.energy = energy
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
        return bool(self.restarts[np.argmin(losses)])


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
    lowest = losses <= (1 + APART) * least + UNSETTLED * settled.energy
    ended = np.where(settled.restarts, "stationary point", "still moving")
    return [
        best if end == "global minimum" and low else end if end == "spurious minimum" else str(other)
        for end, low, other in zip(ends, lowest, ended, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Draw:
    """Where the four signs of one draw led: the descent, its loss, and the best network after a polish."""

    run: Descent
    white: ConvSquared
    settled: _Settled
    network: ConvNetwork
    loss: float


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Draws of a start on the first rows of a problem, descents from them, and the best end of each."""

    problem: Any
    step: float
    radius: float
    exact: float

    def __call__(self, key: Any, size: int, steps: int, *, judged: bool = False) -> _Draw:
        """One draw, on `size` rows; where it is judged, the first restart that ends well is the end."""
        problem, survey, whitener = self.problem, self.problem.survey, self.problem.whitener
        patches, targets = survey.X[:size], survey.y[:size]
        weight = None if survey.weight is None else survey.weight[:size]
        white = ConvSquared(patches @ whitener, targets, problem.activation, sample_weight=weight)
        # Whatever the units of inputs and targets, a polish looks at entries and outputs of comparable sizes.
        unit = problem.energy**0.5
        own = ConvSquared(patches @ whitener, targets / unit, problem.activation, sample_weight=weight)
        k, p = problem.patches
        settled = _Settled(float(np.average(targets**2, weights=weight)) / 2)
        run = descend(
            white, sign_restarts(uniform_start(random.jax_key(key), p, k, self.radius)), AdaptiveStep(self.step),
            steps=steps, key=key, side_by_side=True, monitor=Monitor(settled=settled), progress=problem.progress,
        )  # fmt: skip
        best: tuple[ConvNetwork, float] | None = None
        for index in _distinct(run.value):
            end = white.network({name: leaf[index] for name, leaf in run.params.items()})
            near = ConvNetwork(end.filter, end.output / unit, problem.activation).canonical()
            if best is not None:
                near, descent = polish(own, near, _BRIEF)
            if best is None or unit**2 * descent.value < best[1]:
                near, descent = polish(own, near)
                network = ConvNetwork(whitener @ near.filter, unit * near.output, problem.activation).canonical()
                best = network, unit**2 * float(descent.value)
            if best[1] <= self.exact or passed() or (judged and _finished(problem, *best, size)[2]):
                break
        assert best is not None
        return _Draw(run, white, settled, *best)


def start(problem: Any) -> Start:
    """The network y = Σ_i output_i φ(filter·Z_i) behind patches, by four sign restarts, descent and polish.

    `details` has the four restarts of the draw that led to the network, the curve of their losses, the number of
    iterations of all draws, and the least loss of each in the rows they descend on.

    >>> from planted.datasets import make_planted_conv
    >>> from planted.methods import FilterProblem
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> result = METHOD(FilterProblem.of(data.X, data.y, 1))
    >>> result.status, match(result.network, data.teacher).weight_error < 1e-10
    ('recovered', True)
    """
    survey, act = problem.survey, problem.activation
    n, (k, p) = len(survey.y), problem.patches
    whitener = problem.whitener
    law = RadialLaw.of(survey.X @ whitener)
    mean = float(np.average(survey.y, weights=survey.weight))
    variance = float(np.average((survey.y - mean) ** 2, weights=survey.weight))
    typical, second = act.hermite(0), act.second_moment()
    square = variance / (second - typical**2) if second > typical**2 else variance / second
    total = 0.0 if abs(typical) < 1e-12 else mean / typical
    draw = _Drawing(
        problem,
        step=float(typical_step(total, square, k, act)),
        radius=output_radius(mean, variance, k, act),
        exact=EXACT * variance / 2,
    )
    first = min(n, max(4096, 50 * (p + k)) if problem.descent_rows is None else int(problem.descent_rows))
    draws = [draw(random.split(problem.key)[0], first, problem.max_iterations, judged=problem.covered)]
    while True:
        best, losses = min(draws, key=lambda one: one.loss), [one.loss for one in draws]
        last = best.loss <= draw.exact or len(draws) >= problem.draws or enough(losses, problem.energy) or passed()
        if last or (len(draws) == 1 and problem.covered):
            network, loss, success = _finished(problem, best.network, best.loss, first)
            if last or success:
                break
        draws.append(draw(random.fold_in(problem.key, len(draws)), first, min(_AGAIN, problem.max_iterations)))
    if first < n and not success and not passed():
        whole = draw(random.split(problem.key)[1], n, problem.max_iterations)
        draws.append(whole)
        if whole.loss < loss:
            best, losses = whole, [whole.loss]
            network, loss, success = _finished(problem, whole.network, whole.loss, n)
    size = np.linalg.norm(whitener, axis=1)
    size[size == 0] = 1.0
    there = np.linalg.lstsq(whitener / size[:, None], network.filter / size)[0]
    winner = ConvNetwork(there, network.output, act).canonical()
    run = best.run
    ends = _fates(run.params, run.value, best.settled, best.white, winner, success, law.mean_square)
    restarts = tuple(
        ConvRestart(signs, fate, float(value)) for signs, fate, value in zip(SIGNS, ends, run.value, strict=True)
    )
    details = {
        "restarts": restarts,
        "curve": (np.array(run.history.step), np.array(run.history.value)),
        "n_iterations": sum(one.run.n_steps for one in draws),
        "draw_losses": np.array(losses),
    }
    return Start(network, "shared", loss, details=details)


def _finished(problem: Any, network: ConvNetwork, loss: float, size: int) -> tuple[ConvNetwork, float, bool]:
    """A network of this loss on `size` rows at the minimum of all rows, the loss there, and whether it is accepted."""
    if size < len(problem.survey.y):
        network, descent = polish(problem.objective(problem.sample), network)
        loss = float(descent.value)
    return network, loss, problem.judge(network, loss, problem.survey).success


METHOD = Method(
    name="shared",
    start=start,
    summary="four sign restarts avoid the spurious minimum",
    suits="patches that share one filter",
    scales=True,
    finish=recover_filter,
)
