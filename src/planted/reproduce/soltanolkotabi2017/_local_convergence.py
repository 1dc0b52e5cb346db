r"""Theorem 2.5 of Soltanolkotabi et al. (2017): gradient descent on both layers near an over-parameterised teacher.

Close to the teacher the residuals obey r ← (I − α/n JJᵀ) r with the Jacobian J (n, kd + k) of the predictions, so the
loss falls at first like its fast modes and in the end like (1 − α σ_min²(J)/n)². The theorem bounds the rate by
1 − c α d/n for an unknown c. Here it is fitted to the tail of a run beside both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from planted import activations
from planted.datasets import make_planted
from planted.numerics.precision import float64, to_jax
from planted.numerics.seeding import key_from
from planted.objectives import Squared, jacobian_gram
from planted.reproduce.soltanolkotabi2017._over_parameterised import losses_along
from planted.starts import near

_TINY = 1e-26


class LocalConvergence(NamedTuple):
    """Losses (m,) along gradient descent near the teacher, `every` steps apart, and what is read off them.

    The step is α = n/σ_max²(J). `rate` is the factor by which the loss falls in one step, fitted to the last half of
    the run; `predicted` is (1 − α σ_min²(J)/n)² at the teacher; `constant` is c = (1 − rate) n / (α d) of the theorem;
    `smallest` and `largest` are σ_min(J) and σ_max(J).
    """

    losses: np.ndarray
    every: int
    rate: float
    predicted: float
    constant: float
    smallest: float
    largest: float


@float64
def local_convergence(
    activation: Any = "softplus",
    d: int = 20,
    k: int = 20,
    n: int = 40,
    *,
    distance: float = 1e-4,
    steps: int = 40_000,
    random_state: Any = 0,
) -> LocalConvergence:
    """Descend from `distance` (root mean square over entries) of a random teacher and fit the rate.

    >>> run = local_convergence("softplus", 8, 8, 10, steps=2000)
    >>> bool(run.losses[-1] < run.losses[0])
    True
    """
    act = activations.get(activation)
    rng = np.random.default_rng(random_state)
    weights = rng.standard_normal((k, d)) / d**0.5
    data = make_planted(n, d, k, activation=act, weights=weights, random_state=rng)
    loss, teacher = Squared(data.X, data.y, act), {"weights": weights, "output": data.teacher.output}
    values = np.linalg.eigvalsh(np.asarray(jacobian_gram(loss, to_jax(teacher), to_jax(data.X))))
    smallest, largest = max(values[0], 0.0) ** 0.5, values[-1] ** 0.5
    step = n / values[-1]
    start = near(key_from(rng), to_jax(teacher), distance * (k * d + k) ** 0.5, restarts=1)
    predicted = float((1 - step * smallest**2 / n) ** 2)
    # Long enough for the loss to fall by e⁻⁶⁰ at that rate, where `steps` allow it.
    enough = int(min(steps, np.ceil(-60 / np.log(predicted)))) if 0 < predicted < 1 else steps
    every = max(enough // 200, 1)
    losses = np.asarray(losses_along(loss, start, step, 200 * every, every)[0])
    live = losses[losses > _TINY]
    tail = live[len(live) // 2 :]
    slope = np.polyfit(np.arange(len(tail)) * every, np.log(tail), 1)[0] if len(tail) > 2 else float("nan")
    rate = float(np.exp(slope))
    constant = (1 - rate) * n / (float(step) * d)
    return LocalConvergence(losses, every, rate, predicted, constant, float(smallest), float(largest))
