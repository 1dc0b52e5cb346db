"""Inputs that repeat one another: which, and of all networks that are the same on the rows the shortest weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._observations import equal_rows
from planted.methods._problem import Free, Problem
from planted.networks import Network
from planted.rows import Survey

_NULL, _NEARLY_NULL = 1e-13, 1e-9
# A coefficient below this share of the largest takes no part in a combination.
_PART, _NEAR_PART = 1e-6, 1e-2
_SHOWN = 8
_UNCHANGED = 1e-9
# Equations, and terms of one, that a sentence can hold.
_EQUATIONS, _TERMS = 3, 5
# The share of a combination from which on it is solved for an input.
_PIVOT = 1e-3
# A difference beside the spread of an input that is none.
_SAME = 1e-6


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
    Inputs that differ from others by less than a curvature can tell, some 3e-5 of their spread, are named too. Where
    distinct rows are fewer than the inputs, and do not depend on one another, each input follows from others in them:
    that says nothing of the inputs, and more rows are asked for.

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
    shown, places = _shown(survey, null, called, _PART if beside.shape[1] else _NEAR_PART)
    count = null.shape[1]
    distinct = len(equal_rows(survey.X)[0])
    if d - alone.shape[1] == distinct < d:
        return f"Give more than {d:,} distinct rows, of which there are {distinct:,}, or fewer inputs."
    which = f"{'one' if count == 1 else count} of the inputs {shown}"
    if not beside.shape[1]:
        return f"Drop {which}, of which some all but follow from the others."
    if places == 1:
        return f"Drop the input {shown}, which is constant."
    if count > 1 and solved_inputs(survey, beside):
        return (
            f"Drop the inputs {_listed(sorted(solved_inputs(survey, beside)), called)}, which follow from the others."
        )
    if count == alone.shape[1]:
        return f"Drop {which}, of which some follow from the others."
    part = "fit_bias" if free.bias else "fit_intercept"
    return f"Drop {which}, a combination of which is constant, or set {part}=False."


def solved_inputs(survey: Survey, null: np.ndarray) -> dict[int, np.ndarray]:
    """By input the coefficients (d + 1,) of the inputs and the constant from which it follows.

    Of combinations (d, c), or (d + 1, c) with a constant, that are zero, each is solved for one input, the last ones
    that can be; the others do not depend on one another. Empty where that cannot be done.

    >>> X = np.array([[1.0, 2.0], [2.0, 4.0]])
    >>> solved_inputs(Survey.of(X, X[:, 0]), np.array([[2.0], [-1.0]]))
    {1: array([2., 0., 0.])}
    """
    d, count = len(survey.first), null.shape[1]
    # An input that is zero in all rows has no scale: its own coefficient says all.
    rest = null[:d] * _sizes(survey)[:, None]
    rest = rest / np.abs(rest).max(axis=0)
    solved: list[int] = []
    for place in reversed(range(d)):
        pivot = int(np.argmax(np.abs(rest[place])))
        if len(solved) < count and abs(rest[place, pivot]) > _PIVOT:
            rest = rest - np.outer(rest[:, pivot] / rest[place, pivot], rest[place])
            solved.append(place)
    if len(solved) < count:
        return {}
    coefficients = np.zeros((d + 1, count))
    coefficients[: len(null)] = -null @ np.linalg.inv(null[solved])
    coefficients[solved] = 0.0
    return {place: coefficients[:, c] for c, place in enumerate(solved)}


def equations(survey: Survey, null: np.ndarray, names: tuple[str, ...] = (), digits: int = 4) -> str:
    """What each input that follows from others is, for combinations as of :func:`solved_inputs`; empty if that is long.

    >>> X = np.array([[1.0, 2.0], [2.0, 4.0]])
    >>> equations(Survey.of(X, X[:, 0]), np.array([[2.0], [-1.0]]), ("dose", "dose2"))
    'dose2 = 2·dose'
    >>> equations(Survey.of(X * [1, 0], X[:, 0]), np.array([[0.0], [1.0]]), ("dose", "none"))
    'none = 0'
    """
    called = [f"x{one}" if isinstance(one, int) else str(one)[:40] for one in _called(survey, names)]
    scale = np.append(np.sqrt(np.maximum(np.diagonal(survey.second), 0.0)), 1.0)
    said = []
    for place, coefficients in sorted(solved_inputs(survey, null).items()):
        size = np.abs(coefficients) * scale
        terms = np.flatnonzero((size > _PART * size.max()) & (scale[place] > 0))
        right = ""
        for term in terms:
            number = f"{abs(coefficients[term]):.{digits}g}"
            product = number if term == len(called) else f"{number}·".replace("1·", "", number == "1") + called[term]
            right += f" {'−' if coefficients[term] < 0 else '+'} {product}"
        said.append(f"{called[place]} = {'−' * right.startswith(' −')}{right[3:] or '0'}")
        if len(said) > _EQUATIONS or len(terms) > _TERMS:
            return ""
    return f"{', '.join(said[:-1])}{' and ' * (len(said) > 1)}{said[-1]}" if said else ""


def dependence_words(survey: Survey, free: Free, names: tuple[str, ...] = ()) -> str:
    """Which inputs follow from others, as equations that hold in all rows; empty if none does, or they are long.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.ones(50)])
    >>> dependence_words(Survey.of(X, X[:, 0]), Free(bias=True))
    'x2 = x0 − 2·x1 and x3 = 1 in all rows'
    """
    null = _combinations(survey, constant=free.bias or (free.skip and free.intercept))
    said = equations(survey, null, names) if null.shape[1] else ""
    if not said:
        return ""
    gaps = [_gap(survey, place, coefficients) for place, coefficients in solved_inputs(survey, null).items()]
    if max(gaps) > _SAME:
        return f"{said} up to {100 * max(gaps):.2g} % of {'its' if len(gaps) == 1 else 'their'} spread"
    return f"{said} in all rows"


def _gap(survey: Survey, place: int, coefficients: np.ndarray) -> float:
    """The largest difference of an input from what it follows from, by coefficients (d + 1,), beside its spread."""
    X = survey.X.reshape(len(survey.X), -1)
    rest = X[:, place] - X @ coefficients[:-1] - coefficients[-1]
    spread = float(np.std(X[:, place]))
    return float(np.max(np.abs(rest))) / spread if spread else 0.0


def all_but_follow(survey: Survey, free: Free) -> bool:
    """Whether inputs all but follow from others, so that a curvature hardly sees it, and none does in every row.

    >>> x, other = np.random.default_rng(0).standard_normal((2, 50))
    >>> near, copy = (np.column_stack([x, x + gap * other]) for gap in (1e-5, 0.0))
    >>> all_but_follow(Survey.of(near, x), Free()), all_but_follow(Survey.of(copy, x), Free())
    (True, False)
    """
    constant = free.bias or (free.skip and free.intercept)
    exact = _combinations(survey, constant=constant).shape[1]
    return not exact and bool(_near_combinations(survey, centred=constant).shape[1])


def near_advice(survey: Survey, null: np.ndarray, names: tuple[str, ...] = ()) -> str:
    """What to drop where combinations (d + 1, c) of inputs and a constant are next to zero, in one sentence.

    >>> X = np.array([[1.0, 2.0], [2.0, 4.0]])
    >>> near_advice(Survey.of(X, X[:, 0]), np.array([[2.0], [-1.0], [0.0]]), ("dose", "dose2"))
    'Drop one of the inputs dose, dose2, of which some all but follow from the others.'
    """
    called = _called(survey, names)
    solved = sorted(solved_inputs(survey, null))
    if len(solved) > 1:
        return f"Drop the inputs {_listed(solved, called)}, which all but follow from the others."
    places = np.flatnonzero(np.any(null[:-1], axis=1)).tolist()
    return f"Drop one of the inputs {_listed(places, called)}, of which some all but follow from the others."


def _listed(places: list[int], called: tuple[Any, ...]) -> str:
    return ", ".join(str(called[place])[:40] for place in places[:_SHOWN]) + ", …" * (len(places) > _SHOWN)


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
    shown, places = _shown(survey, (beside[:-1] @ along)[:, None], called, _PART)
    if places == 1:
        return f"the input {shown}, which is constant,"
    return f"the inputs {shown}, of which a combination is constant,"


def _called(survey: Survey, names: tuple[str, ...]) -> tuple[Any, ...]:
    """What inputs are called: by names, or by numbers."""
    d = int(np.prod(survey.X.shape[1:]))
    return names if len(names) == d else tuple(range(d))


def _shown(survey: Survey, combinations: np.ndarray, called: tuple[Any, ...], least: float) -> tuple[str, int]:
    """The inputs that take part in combinations (d, c), in whatever units they are, in words, and their number."""
    size = np.abs(combinations * _sizes(survey)[:, None]).max(axis=1)
    places = np.flatnonzero(size > least * size.max())
    return _listed(places.tolist(), called), len(places)


def _sizes(survey: Survey) -> np.ndarray:
    """Roots of the mean squares (d,) of the inputs, one for an input that is zero in all rows."""
    size = np.sqrt(np.maximum(np.diagonal(survey.second), 0.0))
    return np.where(size > 0, size, 1.0)


def _near_combinations(survey: Survey, *, centred: bool) -> np.ndarray:
    """Coefficients (d, c) of combinations of the inputs that are next to zero, or to a constant, beside the inputs."""
    X = survey.X.reshape(len(survey.X), -1)
    rows = X - X.mean(axis=0) if centred else X
    scale = np.linalg.norm(rows, axis=0)
    unit = rows / np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    near = (values < _NEARLY_NULL * max(float(values[-1]), 1e-300)) & bool(np.all(scale > 0))
    return np.asarray(vectors[:, near] / np.where(scale > 0, scale, 1.0)[:, None])
