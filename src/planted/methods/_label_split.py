"""Held-out rows that are told by their content: equal rows stay together, so that w of them are one of weight w.

Where equal inputs come with different labels, as in tables of few values, weights are numbers of observations, which
are divided each by itself: all of a kind held out at once would leave the other labels of these inputs to learn from.
So they are where inputs are few for them: without all rows of an input nothing tells what it does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._observations import apart
from planted.numerics import random
from planted.rows import Survey

_TEST_FRACTION = 0.3
# Decimal places of numbers of observations.
_DIGITS = 9
OBSERVED = 10.0
"""Labels an input from which on inputs are few, so that labels are divided one by one."""


def content_keys(X: np.ndarray, y: np.ndarray, key: Any = None) -> np.ndarray:
    """A number in [0, 1) for each row, random but the same for rows of the same inputs and label.

    Without a key it is the same in every fit of these rows.

    >>> a, b, c = content_keys(np.array([[1.0], [2.0], [1.0]]), np.zeros(3), np.array([1, 2], np.uint32))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    rng = np.random.default_rng(0 if key is None else random.bits(key, (4,)))
    columns = np.column_stack([X.reshape(len(X), -1), y]) + 0.0
    bits = np.ascontiguousarray(columns, dtype=np.float64).view(np.uint64)
    odd = rng.integers(0, 2**63, columns.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    z = np.sum((bits ^ (bits >> np.uint64(31))) * odd, axis=1, dtype=np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))).astype(np.float64) / 2.0**64)


def keyed_rows(survey: Survey, factors: np.ndarray | None, most: int) -> tuple[Survey, np.ndarray]:
    """Rows with a number in [0, 1) for each by which they are divided, the same in every fit of these rows.

    Where weights are numbers of observations, times `factors` (m,) of their classes, each of these is a row and has a
    number of its own; at most `most` are drawn. They are where equal inputs have different labels, or inputs are few.
    Otherwise rows are as they are, and equal ones have one number.

    >>> survey = Survey.of(np.zeros((2, 1)), np.array([0.0, 1.0]), np.array([3.0, 2.0]))
    >>> one, keys = keyed_rows(survey, None, 10)
    >>> one.y, len(np.unique(keys))
    (array([0., 0., 0., 1., 1.]), 5)
    """
    weight = survey.weight
    if weight is not None and factors is not None:
        weight = np.round(weight / factors[survey.y.astype(int)], _DIGITS)
    counted = apart(survey.X, survey.y, weight, most, OBSERVED)
    if counted is None:
        return survey, content_keys(survey.X, survey.y)
    X, y, _ = counted
    one = Survey.of(X, y, None if factors is None else factors[y.astype(int)])
    return one, np.random.default_rng(0).random(len(one.y))


def held_out(y: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the rows to fit and of those to hold out, about a third of them, of each class some where there are.

    Rows of one key stay together.

    >>> fit, test = held_out(np.arange(100) % 2.0, np.random.default_rng(0).random(100))
    >>> len(fit) + len(test), 15 < len(test) < 45
    (100, True)
    """
    test = np.zeros(len(y), bool)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        distinct = np.unique(keys[own])
        count = int(_TEST_FRACTION * len(distinct))
        if count:
            test[own] = keys[own] <= distinct[count - 1]
    if not test.any():
        test = keys <= np.min(keys)
    return np.flatnonzero(~test), np.flatnonzero(test)


def folds(X: np.ndarray, y: np.ndarray, parts: int, *, each: bool = True) -> np.ndarray:
    """The part (n,) in which a row is held out, −1 for rows of a class with fewer distinct rows than parts.

    Parts are the same in every fit of these rows and have about the same share of every class; equal rows stay
    together, unless they are observations of their own (:func:`keyed_rows`) and `each` of them stands there.

    >>> X, y = np.random.default_rng(0).standard_normal((90, 2)), np.arange(90) % 3.0
    >>> np.bincount(folds(X, y, 3)).tolist()
    [30, 30, 30]
    >>> folds(np.ones((6, 1)), np.array([0.0, 0, 0, 1, 1, 1]), 3).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    keys = content_keys(X, y)
    alone = each and apart(X, y, None, 1, OBSERVED) is not None
    part = np.full(len(y), -1)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        distinct, place = np.unique(keys[own], return_inverse=True)
        if alone and len(own) >= parts:
            part[own[np.argsort(place, kind="stable")]] = np.arange(len(own)) % parts
        elif len(distinct) >= parts:
            part[own] = parts * place // len(distinct)
    return part


def effective_rows(survey: Survey, factors: np.ndarray | None) -> float:
    """(Σw)²/Σw², where w are the `factors` (m,) of the rows' classes, which weights contain; otherwise their weight.

    Of two classes that are balanced by their factors it is 4 n₀ n₁/(n₀ + n₁): hardly more than those of the rarer one.

    >>> y = np.array([0.0] * 99 + [1.0])
    >>> factors = np.array([100 / 198, 50.0])
    >>> round(effective_rows(Survey.of(np.zeros((100, 1)), y, factors[y.astype(int)]), factors), 2)
    3.96
    """
    own = np.ones(len(survey.y)) if factors is None else factors[survey.y.astype(int)]
    return float(survey.total_weight / np.average(own, weights=survey.weight))


def standard_error(gap: np.ndarray, weight: np.ndarray | None, factor: np.ndarray | float = 1.0) -> float:
    """Of the weighted mean of differences (n,), a row of weight w counting like w equal ones.

    Where weights contain a `factor` (n,) that does not repeat rows, w is w/factor rows.

    >>> standard_error(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == standard_error(np.array([1.0, 1, 3, 3]), None)
    True
    >>> twice = np.array([2.0, 2.0])
    >>> standard_error(np.array([1.0, 3.0]), twice, twice) == standard_error(np.array([1.0, 3.0]), None)
    True
    """
    total = len(gap) if weight is None else float(np.sum(weight))
    mean = np.average(gap, weights=weight)
    return float(np.sqrt(np.average(factor * (gap - mean) ** 2, weights=weight) / total))
