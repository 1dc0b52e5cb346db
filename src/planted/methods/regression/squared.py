"""The usual way: squared loss from several random starts, the best one refined."""

from __future__ import annotations

import numpy as np

from planted.methods._facts import ROUNDED
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.numerics import random
from planted.numerics.precision import to_jax
from planted.rows import in_memory
from planted.solvers import Monitor, decaying_adam, descend
from planted.starts import random_rows

_ROWS = 8192
_RESTARTS = 8
_STEPS = 1000


def start(problem: Problem) -> Start:
    """Fit both layers by Adam from eight random starts side by side; the best one.

    Works for any activation and any inputs, but often ends in a spurious minimum: it is the baseline that the
    other methods are measured against.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, activation="tanh", output="mixed", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 2, "tanh")).status
    'recovered'
    """
    survey, k = problem.survey, problem.n_hidden
    weight_key, sign_key, run_key = random.split(problem.key, 3)
    # Rows of unit response: whatever the inputs' scale, a neuron starts with pre-activations of order one.
    spread = np.sqrt(np.diagonal(survey.second))
    rows = random_rows(weight_key, k, problem.n_features, _RESTARTS) / np.where(spread > 0, spread, 1.0)
    centred = survey.y - survey.mean
    scale = np.sqrt(np.average(centred**2, axis=0, weights=survey.weight))[..., None] / k**0.5
    signs = random.signs(sign_key, (_RESTARTS, *survey.y.shape[1:], k))
    begin = {
        name: np.zeros((_RESTARTS, *np.shape(value)))
        for name, value in problem.params(problem.network(_layers(problem))).items()
    }
    run = descend(
        problem.objective(in_memory(survey, slice(_ROWS))),
        to_jax(begin | {"weights": rows, "output": signs * scale}),
        decaying_adam(0.03, _STEPS),
        steps=_STEPS,
        key=run_key,
        side_by_side=True,
        monitor=Monitor(every=100),
        progress=problem.progress,
    )
    losses = np.where(np.isfinite(run.value), run.value, np.inf)
    # Of starts that explain every row the first: which of them is lowest, rounding decides.
    best = int(np.argmin(np.where(2 * losses <= ROUNDED * survey.variance, 0.0, losses)))
    network = problem.network({name: value[best] for name, value in run.params.items()})
    return Start(network, "squared", None, {"squared": run}, {"restart_losses": np.sort(run.value)})


def _layers(problem: Problem) -> dict[str, np.ndarray]:
    """Layers of the right shapes, all zero."""
    lead, k = problem.survey.y.shape[1:], problem.n_hidden
    return {"weights": np.zeros((k, problem.n_features)), "output": np.zeros((*lead, k))}


METHOD = Method(
    name="squared",
    start=start,
    summary="Adam on the squared loss from eight starts: the baseline",
    suits="any data; a baseline to compare with",
    scales=True,
    several_outputs=True,
    rank=1,
)
