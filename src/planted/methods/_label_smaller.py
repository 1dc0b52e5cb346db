"""Do fewer neurons explain labels as well? Neurons are taken away one at a time, and the rest descends again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted.methods._facts import TESTED_ROWS
from planted.methods._label_held_out import losses_left_out, predicts_better
from planted.methods._label_quick import descended
from planted.methods._labels import LabelProblem
from planted.methods._smaller import without_neuron
from planted.networks import Network
from planted.numerics.deadline import passed


def fewer_label_neurons(problem: LabelProblem, network: Network) -> Network | None:
    """The network of fewest neurons, at least one, that predicts labels left out as well: the given one if none does.

    None where a time budget is spent before.

    >>> rng = np.random.default_rng(0)
    >>> X, small = rng.standard_normal((800, 2)), Network([[2.0, 0.0]], [3.0], "tanh")
    >>> y = (rng.random(800) < 1 / (1 + np.exp(-small.predict(X)))).astype(float)
    >>> problem = LabelProblem.of(X, y, 2, "tanh", link="logit")
    >>> wide = Network([[2.0, 0.0], [2.0, 0.1]], [1.0, 2.0], "tanh")
    >>> fewer_label_neurons(problem, wide).n_hidden
    1
    """
    if network.n_hidden < 2:
        return network
    sample: Any = problem.on_sample()
    n = len(sample.survey.y)
    some = np.arange(n)
    if n > TESTED_ROWS:
        some = np.sort(np.random.default_rng(0).choice(n, TESTED_ROWS, replace=False))
    own, now = losses_left_out(sample, network, some), network
    while now.n_hidden > 1:
        if passed():
            return None if now is network else now
        narrow = replace(sample, n_hidden=now.n_hidden - 1)
        loss = narrow.objective()
        starts = [without_neuron(now, i) for i in range(now.n_hidden)]
        smaller = descended(narrow, min(starts, key=lambda rest: float(loss.value(narrow.params(rest)))))
        # Numbers that a penalty holds cost what it takes from the labels that are fitted.
        extra = 0 if problem.alpha else problem.unknowns - narrow.unknowns
        rival = losses_left_out(narrow, smaller, some)
        if predicts_better(problem, some, own, rival, extra):
            return now
        now = smaller
    return now
