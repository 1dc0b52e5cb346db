r"""Recover a shared filter and its output weights from data (Du et al. 2017): restarts, descent, polish, verdict.

The model is y = Σ_i a_i φ(w·Z_i) + noise, with patches Z_i of covariance Σ within a patch. Four restarts, the signs of
one draw (Theorem 3.2), descend side by side in the coordinates U_i = Σ^{-1/2} Z_i, in which the theorems hold if the
Z_i are centred, Gaussian and independent. Whitening only steers the descent: the loss and its minimiser are those of
the data, whatever the law of the inputs. The best restart is then polished by least squares on all rows, and accepted
if its residuals carry no linear trace of the inputs, which the spurious minimum's do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.methods._filter_dynamics import fates, typical_step
from planted.methods._filter_polish import polish
from planted.methods._filters import recover_filter
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.networks import ConvNetwork, match
from planted.numerics.precision import to_numpy
from planted.numerics.progress import Progress
from planted.objectives import ConvSquared
from planted.starts import SIGNS, output_radius, sign_restarts, uniform_start

_CHUNK = 50
_GRADIENT, _PROGRESS = 1e-3, 1e-8
_GROWTH, _CUT = 1.1, 0.5
_NEAR_ON_DATA = (0.3, 0.6, 0.3)


@dataclass(frozen=True)
class ConvRestart:
    """One of the four restarts: its signs of (filter, output), where its descent ended, and the loss there.

    `fate` is "global minimum" ("best minimum found" where the verdict is no success), "spurious minimum" (that of
    Lemma 4.1, known for ReLU), "stationary point" (descent has stopped elsewhere) or "still moving".
    """

    signs: tuple[int, int]
    fate: str
    loss: float


@partial(jax.jit, static_argnames="length")
def _chunk(objective: ConvSquared, state: Any, length: int) -> Any:
    """Some iterations of Algorithm 1 for each restart; a step that raises the loss is undone and halved."""

    def one(state: Any) -> Any:
        def body(state: Any, _: None) -> tuple[Any, None]:
            params, value, gradient, step = state
            trial = jax.tree.map(lambda x, g: x - step * g, params, gradient)
            trial_value, trial_gradient = objective.traced_value_and_gradient(trial)
            better = trial_value <= value
            pick = lambda new, old: jax.tree.map(lambda x, y: jnp.where(better, x, y), new, old)  # noqa: E731
            chosen = pick((trial, trial_value, trial_gradient), (params, value, gradient))
            return (*chosen, step * jnp.where(better, _GROWTH, _CUT)), None

        return jax.lax.scan(body, state, None, length=length)[0]

    return jax.vmap(one)(state)


def _descend(
    objective: ConvSquared, starts: Any, step: float, limit: int, all_restarts: bool, progress: Progress
) -> tuple[dict[str, np.ndarray], np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Params, whether each restart settled, and the curve of losses, until the best (or all) settle."""
    values, gradients = jax.jit(jax.vmap(objective.traced_value_and_gradient))(starts)
    state = (starts, values, gradients, jnp.full(len(values), step))
    energy = float(objective.rows.mean(lambda block: 0.5 * jnp.sum(block["weight"] * block["y"] ** 2)))
    done, before = 0, np.full(len(values), np.inf)
    steps, curve = [], []
    while True:
        params, values, gradients, _ = state
        losses = np.asarray(values)
        lengths = np.asarray(jnp.linalg.norm(params["filter"], axis=1))
        # ‖v‖ ∂ℓ/∂v and √ℓ ∂ℓ/∂a have the units of the loss, whatever the scale of y and v.
        norms = lengths * np.asarray(jnp.linalg.norm(gradients["filter"], axis=1))
        norms = norms + energy**0.5 * np.asarray(jnp.linalg.norm(gradients["output"], axis=1))
        # Noise puts kinks next to a minimum, where the gradient stays large and only the loss can tell.
        settled = (norms <= _GRADIENT * energy) | (before - losses <= _PROGRESS * energy)
        before = losses
        steps.append(done)
        curve.append(losses)
        finished = settled.all() if all_restarts else settled[np.argmin(losses)]
        if finished or done >= limit:
            return to_numpy(params), settled, (np.array(steps), np.array(curve))
        state = _chunk(objective, state, _CHUNK)
        done += _CHUNK
        progress(min(done, limit), limit, f"loss {losses.min():.4g}")


def _fates(
    params: dict[str, np.ndarray], settled: np.ndarray, objective: ConvSquared, winner: ConvNetwork, success: bool
) -> list[str]:
    """Where the restarts are, with the network that won in the teacher's place."""
    best = "global minimum" if success else "best minimum found"
    if objective.activation.name == "relu":
        ends = fates(params, winner, _NEAR_ON_DATA)
    else:
        networks = [objective.network({"filter": v, "output": a}) for v, a in zip(*params.values(), strict=True)]
        near = [match(network, winner).weight_error <= _NEAR_ON_DATA[2] for network in networks]
        ends = ["global minimum" if one else "still moving" for one in near]
    names = {"global minimum": best, "spurious minimum": "spurious minimum"}
    return [names.get(end, "stationary point" if done else end) for end, done in zip(ends, settled, strict=True)]


def start(problem: Any) -> Start:
    """The network y = Σ_i output_i φ(filter·Z_i) behind patches, by four sign restarts, descent and polish.

    `details` has the four restarts of the last descent, the curve of their losses and the number of iterations.

    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(1000, 4, 3, random_state=0)
    >>> result = METHOD(FilterProblem.of(data.X, data.y, 1))
    >>> result.status, match(result.network, data.teacher).weight_error < 1e-10
    ('recovered', True)
    """
    survey, act = problem.survey, problem.activation
    patches, targets = survey.X, survey.y
    n, k, p = patches.shape
    objective = problem.objective(problem.sample)
    whitener = problem.whitener
    variance, mean = float(np.var(targets)), float(np.mean(targets))
    typical, second = act.hermite(0), act.second_moment()
    square = variance / (second - typical**2) if second > typical**2 else variance / second
    total = 0.0 if abs(typical) < 1e-12 else mean / typical
    step = float(typical_step(total, square, k, act))
    radius = output_radius(mean, variance, k, act)
    first = min(n, max(4096, 50 * (p + k)) if problem.descent_rows is None else int(problem.descent_rows))
    candidates: list[tuple[float, ConvNetwork]] = []
    iterations, success = 0, False
    keys = jax.random.split(problem.key, 2)
    for attempt, size in enumerate([first, n] if first < n else [n, n]):
        white = ConvSquared(patches[:size] @ whitener, targets[:size], act)
        starts = sign_restarts(uniform_start(keys[attempt], p, k, radius))
        limit = problem.max_iterations
        params, settled, curve = _descend(white, starts, step, limit, attempt > 0, problem.progress)
        losses = curve[1][-1]
        iterations += int(curve[0][-1])
        for index in np.argsort(losses):
            end = white.network({name: leaf[index] for name, leaf in params.items()})
            near = ConvNetwork(whitener @ end.filter, end.output, act).canonical()
            network, descent = polish(objective, near)
            candidates.append((float(descent.value), network))
            success = problem.judge(network, float(descent.value), survey).success
            if success:
                break
        if success:
            break
    loss, network = candidates[-1] if success else min(candidates, key=lambda pair: pair[0])
    winner = ConvNetwork(np.linalg.solve(whitener, network.filter), network.output, act).canonical()
    restarts = tuple(
        ConvRestart(signs, fate, float(value))
        for signs, fate, value in zip(SIGNS, _fates(params, settled, white, winner, success), losses, strict=True)
    )
    details = {"restarts": restarts, "curve": curve, "n_iterations": iterations}
    return Start(network, "shared", loss, details=details)


METHOD = Method(
    name="shared",
    start=start,
    summary="four sign restarts avoid the spurious minimum",
    suits="patches that share one filter",
    scales=True,
    weighted=False,
    finish=recover_filter,
)
