"""Questions put to a model: counted, checked, in batches, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted.numerics.progress import Progress, silent

_BATCH = 8192
_AGAIN_SINGLE, _AGAIN = 1e-5, 1e-12


class ModelError(ValueError):
    """The model cannot be read: it raises, answers with NaN or other shapes, or answers one question in two ways."""


class BudgetSpent(Exception):
    """The next question would go beyond the number of queries that the caller allows."""


@dataclass(frozen=True)
class Source:
    """A model as a function of arrays, with what is known about its inputs.

    Attributes
    ----------
    function : callable
        From X (n, d) to (n,) or (n, m).
    n_inputs : int
        Number of inputs d.
    activation : str or None
        The name that the model itself gives to its activation. Only used to choose between names for one function.
    centre, scale : array (d,) or None
        Where the model's inputs lie and how far they spread, if it says so (a pipeline with a scaler does).
    bounded : bool
        Whether answers far out may be undefined, as log-odds of probabilities that have become 0 or 1.
    """

    function: Callable[[np.ndarray], Any]
    n_inputs: int
    activation: str | None = None
    centre: np.ndarray | None = None
    scale: np.ndarray | None = None
    bounded: bool = False


@dataclass
class Query:
    """A model that counts: X (n, d) ↦ answers (n, m), at most `max_queries` rows in all.

    Examples
    --------
    >>> query = Query(Source(lambda X: X.sum(axis=1), 2), max_queries=3)
    >>> query(np.ones((2, 2)))
    array([[2.],
           [2.]])
    >>> query.spent, query.single
    (2, True)
    >>> query(np.ones((2, 2)))
    Traceback (most recent call last):
    planted.reading._query.BudgetSpent: ...
    """

    source: Source
    max_queries: int | None = None
    progress: Progress = silent
    spent: int = 0
    single: bool = True
    stage: str = "first questions"
    _width: int | None = field(default=None, repr=False)

    @property
    def width(self) -> int:
        """Number of outputs m; one before anything was asked."""
        return self._width or 1

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Answers (n, m) to the questions X (n, d)."""
        if self.max_queries is not None and self.spent + len(X) > self.max_queries:
            raise BudgetSpent(f"{len(X)} more queries would be more than the {self.max_queries} allowed")
        answers = [self._ask(X[start : start + _BATCH]) for start in range(0, len(X), _BATCH)]
        return np.concatenate(answers) if answers else np.empty((0, self._width or 1))

    def _ask(self, X: np.ndarray) -> np.ndarray:
        try:
            raw = self.source.function(X.copy())  # which the model may change
        except Exception as error:
            words = " ".join(str(error).split())[:200]
            raise ModelError(
                f"the model raised {type(error).__name__} on an array of shape {X.shape}: {words}"
            ) from error
        self.spent += len(X)
        if np.iscomplexobj(raw):
            raise ModelError("the model answered with complex numbers, not with real ones")
        try:
            answers = np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"the model answered with {type(raw).__name__}, not with numbers") from None
        if answers.shape[:1] != X.shape[:1] or answers.ndim > 2 or (answers.ndim == 2 and not answers.shape[1]):
            raise ModelError(
                f"the model answered {len(X)} rows with shape {answers.shape}; expected ({len(X)},) or ({len(X)}, m)"
            )
        single, answers = answers.ndim == 1, answers.reshape(len(X), -1)
        if self._width is None:
            self._width, self.single = answers.shape[1], single
        elif answers.shape[1] != self._width:
            raise ModelError(f"the model answered with {answers.shape[1]} outputs after {self._width} before")
        if not self.source.bounded and not np.all(np.isfinite(answers)):
            row = int(np.argmin(np.isfinite(answers).all(axis=1)))
            size = float(np.abs(X[row]).max())
            raise ModelError(f"the model answered with NaN or infinity at an input with entries up to {size:.3g}")
        self.report()
        return answers

    def report(self) -> None:
        """Say what is being done, and how many queries were spent."""
        self.progress(self.spent, self.max_queries or 0, f"{self.stage}: {self.spent} queries")


@dataclass(frozen=True)
class Frame:
    """A model in coordinates in which it varies on the scale of one: X = centre + scale·x.

    Examples
    --------
    >>> frame = Frame(Query(Source(lambda X: X[:, 0], 1)), np.array([5.0]), np.array([2.0]))
    >>> frame(np.array([[1.0]]))
    array([[7.]])
    """

    query: Query
    centre: np.ndarray
    scale: np.ndarray

    @property
    def n_inputs(self) -> int:
        """Number of inputs d."""
        return len(self.centre)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Answers (n, m) at x (n, d) in these coordinates."""
        return self.query(self.centre + x * self.scale)


def check_determinism(query: Query, X: np.ndarray) -> np.ndarray:
    """Answers (n, m) to X asked twice, the second time in reverse; a :class:`ModelError` if they differ.

    Answers may differ by rounding, that of float32 or of float64: a sum over another batch may be taken in another
    order.

    >>> check_determinism(Query(Source(lambda X: X[:, 0], 1)), np.array([[1.0], [2.0]])).ravel()
    array([1., 2.])
    """
    first, again = query(X), query(X[::-1])[::-1]
    both = np.isfinite(first) & np.isfinite(again)
    gap = float(np.abs(np.where(both, first - again, 0.0)).max(initial=0.0))
    spread = float(np.abs(first[both]).max(initial=0.0))
    single = bool(np.all(first[both] == first[both].astype(np.float32)))
    if gap > (_AGAIN_SINGLE if single else _AGAIN) * spread:
        raise ModelError(
            f"the model answers the same question in different ways: two answers differ by {gap:.3g}, "
            f"where answers are up to {spread:.3g}; a noisy model cannot be read"
        )
    return first
