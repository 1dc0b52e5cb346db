"""Inputs that repeat one another: which, and of all networks that are the same on the rows the shortest weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._problem import Free, Problem
from planted.networks import Network
from planted.rows import Survey

_NULL, _NEARLY_NULL = 1e-13, 1e-9
# A coefficient below this share of the largest takes no part in a combination.
_PART, _NEAR_PART = 1e-6, 1e-2
_SHOWN = 8
_UNCHANGED = 1e-9


def shortest_weights(problem: Problem, network: Network) -> Network:
    """The network whose weights have no part along combinations of inputs that are zero in every row.

    With copies of a column the weights are shared out equally. Moving along such a combination then leaves the length
    of a neuron alone to first order, so that the errors of other weights stay finite.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> X = np.column_stack([X, X[:, 0]])
    >>> problem = Problem.of(X, np.maximum(X[:, 0], 0.0), 1)
    >>> shortest_weights(problem, Network([[9.0, 0.0, -8.0]], [1.0])).weights.round(12)
    array([[0.5, 0. , 0.5]])
    """
    null = _combinations(problem.survey, constant=problem.free.bias)
    d = problem.n_features
    if not null.shape[1]:
        return network
    inputs, constant = null[:d], null[d:]
    along = network.weights @ np.linalg.pinv(inputs).T
    parts = {"weights": network.weights - along @ inputs.T}
    if network.bias is not None and len(constant):
        parts["bias"] = network.bias - along @ constant[0]
    shorter = network.replace(**parts)
    X = problem.survey.X
    before = network.predict(X)
    size = float(np.max(np.abs(before), initial=0.0))
    same = np.max(np.abs(shorter.predict(X) - before), initial=0.0) <= _UNCHANGED * size
    return shorter if same else network


def _combinations(survey: Survey, *, constant: bool) -> np.ndarray:
    """Coefficients (d, c), or (d + 1, c) with a constant, of combinations of the inputs that are zero in every row."""
    second = survey.second
    if constant:
        mean = survey.first[:, None]
        second = np.block([[second, mean], [mean.T, np.ones((1, 1))]])
    scale = np.sqrt(np.maximum(np.diagonal(second), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(second / np.outer(scale, scale))
    return np.asarray(vectors[:, values < _NULL * max(float(values[-1]), 1e-300)] / scale[:, None])


def dependence_advice(survey: Survey, free: Free, names: tuple[str, ...] = ()) -> str:
    """What to do about inputs that follow from others in every row, in one sentence; empty if none does.

    One-hot columns add up to one, so that beside biases, or beside a linear part with an intercept, one is too many.
    Inputs that differ from others by less than a curvature can tell, some 3e-5 of their spread, are named too.

    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> dependence_advice(Survey.of(X, np.arange(12.0)), Free(bias=True), ("a", "b", "c"))
    'Drop one of the inputs a, b, c, a combination of which is constant, or set fit_bias=False.'
    >>> dependence_advice(Survey.of(X, np.arange(12.0)), Free(), ("a", "b", "c"))
    ''
    """
    called = _called(survey, names)
    d = len(called)
    constant = free.bias or (free.skip and free.intercept)
    alone, beside = (_combinations(survey, constant=with_it) for with_it in (False, constant))
    null = beside[:d] if beside.shape[1] else _near_combinations(survey, centred=constant)
    if not null.shape[1]:
        return ""
    shown, places = _shown(null, called, _PART if beside.shape[1] else _NEAR_PART)
    count = null.shape[1]
    which = f"{'one' if count == 1 else count} of the inputs {shown}"
    if not beside.shape[1]:
        return f"Drop {which}, of which some all but follow from the others."
    if places == 1:
        return f"Drop the input {shown}, which is constant."
    if count == alone.shape[1]:
        return f"Drop {which}, of which some follow from the others."
    part = "fit_bias" if free.bias else "fit_intercept"
    return f"Drop {which}, a combination of which is constant, or set {part}=False."


def constant_inputs(survey: Survey, names: tuple[str, ...] = ()) -> str:
    """Inputs of which a combination is constant in every row, in words; empty if there are none.

    >>> X = np.column_stack([np.repeat(np.eye(2), 4, axis=0), np.arange(8.0)])
    >>> constant_inputs(Survey.of(X, np.arange(8.0)), ("a", "b", "c"))
    'the inputs a, b, of which a combination is constant,'
    >>> constant_inputs(Survey.of(np.full((8, 1), 2.0), np.arange(8.0)), ("one",))
    'the input one, which is constant,'
    """
    called = _called(survey, names)
    alone, beside = (_combinations(survey, constant=with_it) for with_it in (False, True))
    if alone.shape[1] == beside.shape[1]:
        return ""
    # Of the combinations those that are constant and not zero.
    along = beside[-1] / np.linalg.norm(beside[-1])
    shown, places = _shown((beside[:-1] @ along)[:, None], called, _PART)
    if places == 1:
        return f"the input {shown}, which is constant,"
    return f"the inputs {shown}, of which a combination is constant,"


def _called(survey: Survey, names: tuple[str, ...]) -> tuple[Any, ...]:
    """What inputs are called: by names, or by numbers."""
    d = int(np.prod(survey.X.shape[1:]))
    return names if len(names) == d else tuple(range(d))


def _shown(combinations: np.ndarray, called: tuple[Any, ...], least: float) -> tuple[str, int]:
    """The inputs that take part in combinations (d, c), in words, and their number."""
    size = np.abs(combinations).max(axis=1)
    places = np.flatnonzero(size > least * size.max())
    return ", ".join(str(called[place])[:40] for place in places[:_SHOWN]) + ", …" * (len(places) > _SHOWN), len(places)


def _near_combinations(survey: Survey, *, centred: bool) -> np.ndarray:
    """Coefficients (d, c) of combinations of the inputs that are next to zero, or to a constant, beside the inputs."""
    X = survey.X.reshape(len(survey.X), -1)
    rows = X - X.mean(axis=0) if centred else X
    scale = np.linalg.norm(rows, axis=0)
    unit = rows / np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    near = (values < _NEARLY_NULL * max(float(values[-1]), 1e-300)) & bool(np.all(scale > 0))
    return np.asarray(vectors[:, near] / np.where(scale > 0, scale, 1.0)[:, None])
