r"""What the rows observed: rows that repeat one another are one row with a weight.

A row of weight w equals w equal rows: the same network, the same errors, the same verdict. Two cases are told apart.
Where equal inputs always come with equal targets, equal rows are copies, since independent noise would part them: the
copies, and a weight, say how much an observation counts and nothing about how well it was measured. Where equal inputs
come with different targets too, as in a table of counts, a weight is a number of observations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planted.rows import Survey

# Observations from which drawing them without and with replacement is the same.
_MANY = 10**8


class Observations(NamedTuple):
    """Distinct rows (x, y) with their weights.

    Attributes
    ----------
    X : array (n, …)
    y : array (n,) or (n, m)
    weight : array (n,) or None
        None where all count alike; of mean one unless they are numbers of observations.
    counted : bool
        Whether a weight is a number of observations; otherwise a row is one observation, whatever its weight.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    counted: bool = False

    @property
    def unequal(self) -> bool:
        """Whether observations count differently though each was made once."""
        return self.weight is not None and not self.counted

    @property
    def number(self) -> float:
        """Of observations."""
        return float(len(self.y) if self.weight is None else np.sum(self.weight))


def observations(survey: Survey) -> Observations:
    """The observations among the rows of a survey's sample, those that count.

    >>> X, y = np.array([[1.0], [2.0], [2.0]]), np.array([0.0, 3.0, 3.0])
    >>> observations(Survey.of(X, y)).weight
    array([0.66666667, 1.33333333])
    >>> observations(Survey.of(X, np.array([0.0, 3.0, 4.0]))).counted
    True
    """
    counts = slice(None) if survey.weight is None else survey.weight > 0
    given = None if survey.weight is None else survey.weight[counts]
    X, y, weight = joined_rows(survey.X[counts], survey.y[counts], given)
    counted = len(equal_rows(X)[0]) < len(X)
    if weight is not None and not counted:
        weight = None if np.all(weight == weight[0]) else weight / np.mean(weight)
    return Observations(X, y, weight, counted)


def apart(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, most: int, enough: float = np.inf
) -> tuple[np.ndarray, np.ndarray, None] | None:
    """One row for each observation, where weights are numbers of them; None where they are not, or not whole numbers.

    They are so, too, where there are `enough` of them for each distinct input. Rows come in an order of their own,
    however they were given. Of more than `most` observations so many are drawn.

    >>> X, y = np.array([[2.0], [1.0], [1.0]]), np.array([0.0, 5.0, 6.0])
    >>> apart(X, y, np.array([1.0, 3.0, 1.0]), 10)[1]
    array([5., 5., 5., 6., 0.])
    >>> apart(X[:2], y[:2], np.array([1.0, 3.0]), 10) is None
    True
    """
    X, y, weight = joined_rows(X, y, weight)
    if weight is None or np.any(weight != np.round(weight)):
        return None
    distinct = len(equal_rows(X)[0])
    if distinct == len(X) and np.sum(weight) < enough * distinct:
        return None
    order = np.lexsort(np.column_stack([X.reshape(len(y), -1), y]).T[::-1])
    number = np.asarray(weight, int)[order]
    total = int(np.sum(number))
    if total > most:
        rng = np.random.default_rng(0)
        few = total < _MANY
        number = rng.multivariate_hypergeometric(number, most) if few else rng.multinomial(most, number / total)
    places = np.repeat(order, number)
    return X[places], y[places], None


def joined_rows(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows with rows of the same inputs and targets joined, and the sums of their weights.

    >>> joined_rows(np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 5.0, 0.0]))
    (array([[2.],
           [1.]]), array([0., 5.]), array([2., 1.]))
    """
    places, group = equal_rows(np.column_stack([X.reshape(len(y), -1), y]))
    if len(places) == len(y):
        return X, y, weight
    return X[places], y[places], np.bincount(group, weights=weight).astype(np.float64)


def ordered_rows(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of rows X (n, d) and y (n, m) in an order of their own, however they were given.

    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([[0.0], [5.0], [0.0]])
    >>> np.array_equal(ordered_rows(X, y, None)[0], ordered_rows(X[::-1], y[::-1], None)[0])
    True
    """
    rows = np.ascontiguousarray(np.column_stack([X, y])) + 0.0
    as_one = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    _, places, group = np.unique(as_one, return_index=True, return_inverse=True)
    return X[places], y[places], np.bincount(group.ravel(), weights=weight).astype(np.float64)


def equal_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (g,) of the distinct rows of X (n, …), first come first, and for each row the group (n,) it is in.

    >>> equal_rows(np.array([[2.0], [1.0], [2.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    if not X.size:
        return np.arange(len(X)), np.arange(len(X))
    rows = np.ascontiguousarray(X.reshape(len(X), -1)) + 0.0
    # Sums of equal rows are equal bits: where they all differ, which is quick to tell, so do the rows.
    sums = np.sum(rows * np.random.default_rng(0).standard_normal(rows.shape[1]), axis=1)
    if len(np.unique(sums)) == len(sums):
        return np.arange(len(X)), np.arange(len(X))
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    return first[order], rank[group.ravel()]
