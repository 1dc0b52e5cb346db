r"""Runs of the search where rows are few: a wide network whose neurons pay for their strength, until few are left.

From little more than one row a number, a network of the wanted width descends to minima that have nothing to do with
the teacher (:mod:`planted.methods._direct`). For φ of degree one the penalty ½ λ Σ_i ω_i (‖v_i‖² + ‖a_i‖²) is, at the
best scale between the layers, λ Σ_i ω_i s_i with the strengths s_i = ‖a_i‖ ‖v_i‖: a weighted ℓ1 norm. A network that is
wide enough has hardly any bad minima under it, and like ℓ1 in regression it prefers few neurons. The weights
ω_i = 1/(s_i + ε) are set anew after each descent (Candès, Wakin, Boyd 2008), so that what is minimised comes near to
the number of neurons, while λ falls. Those that are left are joined to the wanted number, which then descends alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._merge import merge
from planted.methods._problem import Problem
from planted.methods._search import Attempt, Search
from planted.methods._second_order import affordable, descend_from
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.precision import float64
from planted.objectives import Dense, Penalised, SquaredError
from planted.rows import ArrayRows
from planted.solvers import Descent, lbfgs
from planted.starts import random_rows

# Rows a number of the network up to which these runs are made: from there on others find it sooner.
_ROWS_PER_NUMBER = 3
_RUNS = 8
# Neurons at the start for each that is wanted, and their size: small, as large ones would stay where they are.
_WIDTH, _SIZE = 4, 0.3
# λ at the start in runs of even and odd number, the share of it that is left after each of the first descents, and
# after each that sets ω anew; targets have unit variance.
_PENALTIES, _FALL, _SLOW_FALL = (1e-2, 3e-3), 0.5, 0.5**0.5
_EVEN_DESCENTS, _WEIGHTED_DESCENTS, _STEPS = 4, 9, 250
# ε in units of the strength that the first superfluous neuron has, and of the largest; the largest ω, their median over
# as many neurons as are wanted being one; and the share of the largest strength below which a neuron is gone.
_EPSILON, _LEAST, _MOST = 0.3, 1e-3, 100.0
_GONE = 1e-2
# Apart from the keys of the other runs.
_STREAM = 2 * 10**6


def sparse_runs(search: Search, problem: Problem) -> int:
    """How many runs to make: none unless rows are few, and neurons of degree one can pay for their strength.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(15, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> sparse_runs(Search.of(problem), problem)
    8
    >>> problem = Problem.of(np.tile(data.X, (9, 1)), np.tile(data.y, 9), 2)
    >>> sparse_runs(Search.of(problem), problem)
    0
    """
    targets = len(search.Z) * problem.n_outputs
    few = problem.unknowns < targets <= _ROWS_PER_NUMBER * problem.unknowns
    determined = search.Z.shape[1] == problem.n_features
    return _RUNS if few and determined and search.activation.homogeneity == 1 and affordable(search) else 0


def sparse_attempts(search: Search, problem: Problem) -> list[Attempt]:
    """Runs until one explains every row; the best one last.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(15, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> sparse_attempts(Search.of(problem), problem)[-1].loss < 1e-20
    True
    """
    attempts: list[Attempt] = []
    key = random.fold_in(problem.key, _STREAM)
    for run in range(sparse_runs(search, problem)):
        hidden, descents = _Wide.drawn(search, random.fold_in(key, run)).thinned(_PENALTIES[run % 2])
        # Of a neuron and its opposite, which differ by a linear function, either may be what is left.
        attempt = descend_from(search, hidden)
        attempt = replace(attempt, descents=descents | attempt.descents)
        attempts.append(attempt)
        if attempt.loss <= EXACT or passed():
            break
    return sorted(attempts, key=lambda attempt: -attempt.loss)


@dataclass
class _Wide:
    """A wide network on the rows of a search, changed in place."""

    search: Search
    rows: ArrayRows
    params: dict[str, Any]

    @classmethod
    @float64
    def drawn(cls, search: Search, key: np.ndarray) -> _Wide:
        """A small random one, outputs of both signs in turn."""
        width, (n, d) = _WIDTH * search.width, search.some.shape
        params: dict[str, Any] = {"weights": _SIZE * random_rows(key, width, d)}
        if search.n_outputs is None:
            params["output"] = _SIZE * np.where(np.arange(width) % 2 == 0, 1.0, -1.0)
        else:
            params["output"] = _SIZE * random_rows(random.fold_in(key, 1), width, search.n_outputs).T
        several = () if search.n_outputs is None else (search.n_outputs,)
        if search.free.bias:
            params["bias"] = np.zeros(width)
        if search.free.intercept:
            params["intercept"] = np.zeros(several)
        if search.free.skip:
            params["skip"] = np.zeros((*several, d))
        weight = np.ones(n) if search.share is None else search.share
        return cls(search, ArrayRows(search.some, np.asarray(search.targets), weight), params)

    @property
    def strengths(self) -> np.ndarray:
        """‖output‖ ‖(weights, bias)‖ (width,) of each neuron."""
        square = np.sum(self.params["weights"] ** 2, axis=1) + self.params.get("bias", 0.0) ** 2
        return np.sqrt(square * np.sum(np.atleast_2d(self.params["output"]) ** 2, axis=0))

    def thinned(self, penalty: float) -> tuple[np.ndarray, dict[str, Descent]]:
        """Hidden rows (k, q) that are left where λ begins at `penalty`, and the descents on the way."""
        k, descents = self.search.width, {}
        for stage in range(_EVEN_DESCENTS):
            weights = np.ones(len(self.params["weights"]))
            descents[f"penalty {stage}"] = self._descend(penalty * _FALL**stage * weights)
        for stage in range(_WEIGHTED_DESCENTS):
            size = self.strengths
            order = np.sort(size)[::-1]
            weights = 1 / (size + _EPSILON * order[k] + _LEAST * order[0] + 1e-300)
            weights = np.minimum(weights / np.median(np.sort(weights)[:k]), _MOST)
            level = penalty * _FALL ** (_EVEN_DESCENTS - 1) * _SLOW_FALL**stage
            descents[f"strength {stage}"] = self._descend(level * weights)
            if np.sum(self.strengths > _GONE * np.max(self.strengths)) <= k or passed():
                break
        return self._joined(), descents

    def _descend(self, ridge: np.ndarray) -> Descent:
        """Descend the squared loss with these penalties (width,) of the neurons."""
        free, act = self.search.free, self.search.activation
        model = Dense(act, None, free.bias, free.intercept, free.skip, self.search.n_outputs)
        parts = {"weights": ridge[:, None], "output": ridge} | ({"bias": ridge} if free.bias else {})
        loss = Penalised.by(self.rows, model, SquaredError(), parts)
        run = lbfgs(loss, self.params, steps=_STEPS, tolerance=0.0, decrease=1e-9, progress=self.search.progress)
        self.params = run.params
        return run

    def _joined(self) -> np.ndarray:
        """Hidden rows (k, q) of the neurons joined to the wanted number, of unit length."""
        params, search = self.params, self.search
        weights, _, bias = merge(
            params["weights"], params["output"], params.get("bias"), search.width, search.some, search.activation
        )
        return weights if bias is None else np.column_stack([weights, bias])
