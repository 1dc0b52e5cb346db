r"""Several filters shared by patches, y = Σ_f Σ_i output_fi φ(filter_f·Z_i): squared loss from several starts.

No theorem is known for more than one filter. As for any network, Adam descends from random starts side by side, and
each good one is finished by least squares on all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._filters import recover_filters
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.networks import ConvNetwork, Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.precision import to_jax
from planted.objectives import ConvFilters
from planted.solvers import Monitor, decaying_adam, descend, least_squares
from planted.starts import random_rows

_ROWS, _RESTARTS, _POLISHED, _STEPS = 4096, 16, 4, 1000


def dense_network(filters: list[ConvNetwork]) -> Network:
    """The sum of networks with one filter each as one fully connected network on flat rows (n, k·p).

    >>> dense_network([ConvNetwork([1.0], [1.0, 2.0]), ConvNetwork([3.0], [0.0, 1.0])]).weights.shape
    (4, 2)
    """
    dense = [one.to_network() for one in filters]
    weights = np.concatenate([net.weights for net in dense])
    return Network(weights, np.concatenate([net.output for net in dense]), dense[0].activation)


def start(problem: Any) -> Start:
    """Several shared filters behind patches.

    The network is fully connected on flat rows, f·k neurons; `details` holds "filters" (f, p) and "outputs" (f, k),
    each filter in canonical form, and the losses of the restarts.

    >>> from planted.datasets import make_planted_conv
    >>> from planted.methods import FilterProblem
    >>> one, two = (make_planted_conv(1000, 3, 4, random_state=seed) for seed in (0, 1))
    >>> result = METHOD(FilterProblem.of(one.X, one.y + two.teacher.predict(one.X), 2))
    >>> result.status, result.details["filters"].shape
    ('recovered', (2, 4))
    """
    survey, act, f = problem.survey, problem.activation, problem.n_hidden
    patches, targets = survey.X, survey.y
    k, p = patches.shape[1:]
    few = slice(0, _ROWS)
    some = None if survey.weight is None else survey.weight[few]
    spread = np.sqrt(np.average(patches[few] ** 2, axis=0, weights=some).mean(axis=0))
    filter_key, sign_key, run_key = random.split(problem.key, 3)
    filters = random_rows(filter_key, f, p, _RESTARTS) / np.where(spread > 0, spread, 1.0)
    signs = random.normal(sign_key, (_RESTARTS, f, k))
    run = descend(
        ConvFilters(patches[few], targets[few], act, sample_weight=some),
        to_jax({"filters": filters, "output": signs * survey.variance**0.5 / (f * k) ** 0.5}),
        decaying_adam(0.03, _STEPS),
        steps=_STEPS,
        key=run_key,
        side_by_side=True,
        monitor=Monitor(every=100),
        progress=problem.progress,
    )
    objective: Any = ConvFilters(patches, targets, act, sample_weight=survey.weight)
    values = np.where(np.isfinite(run.value), run.value, np.inf)
    ends = []
    for index in np.argsort(values)[:_POLISHED]:
        begin = {name: leaf[index] for name, leaf in run.params.items()}
        ends.append(least_squares(objective, begin, progress=problem.progress))
        if 2 * ends[-1].value <= EXACT * survey.variance or passed():
            break
    best = min(ends, key=lambda end: float(end.value))
    pairs = zip(*(best.params[name] for name in ("filters", "output")), strict=True)
    networks = [ConvNetwork(w, a, act).canonical() for w, a in pairs]
    details = {
        "filters": np.stack([one.filter for one in networks]),
        "outputs": np.stack([one.output for one in networks]),
        "restart_losses": np.sort(values),
    }
    descents = {"squared": run, "least_squares": best}
    return Start(dense_network(networks), "several", float(best.value), descents, details)


METHOD = Method(
    name="several",
    start=start,
    summary="least squares from several starts; no theorem is known",
    suits="patches that share several filters",
    finish=recover_filters,
)
