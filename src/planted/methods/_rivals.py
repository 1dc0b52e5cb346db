"""Which change of a problem helps? Fits that differ in one thing, compared on rows that none of them has used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from planted.methods._facts import RIVAL_ERRORS, Cause
from planted.methods._label_split import standard_error
from planted.numerics.deadline import passed


class Rival(NamedTuple):
    """What is changed, how it is called, the losses (t,) of the rows held out, and the fit."""

    kind: str
    value: str
    losses: np.ndarray
    network: Any = None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What losses (t,) of rows held out say.

    Attributes
    ----------
    unit : float
        The mean loss there of the plainest prediction: the variance, or the cross-entropy of the classes' shares.
    worth : float
        A gain that is a smaller share of the loss than this explains nothing, however sure it is.
    weight : array (t,), optional
        Weights of the rows.
    floor : float
        Likewise in units of `unit`.
    factor : float or array (t,)
        Factors that weights contain and that do not repeat rows, as those of classes.

    Examples
    --------
    >>> rows = HeldOut(unit=1.0, worth=0.1)
    >>> own, wider, odd = np.ones(100), np.full(100, 0.25), np.linspace(0.1, 1.9, 100)
    >>> rows.cause(own, [Rival("activation", "tanh", odd), Rival("width", "3", wider)])[0]
    Cause(kind='width', value='3', before=1.0, after=0.25)
    """

    unit: float
    worth: float
    weight: np.ndarray | None = None
    floor: float = 0.0
    factor: np.ndarray | float = 1.0

    def mean(self, losses: np.ndarray) -> float:
        """The mean loss."""
        return float(np.average(losses, weights=self.weight))

    def clearly(self, better: np.ndarray, worse: np.ndarray) -> bool:
        """Whether losses are lower than others by more than chance, and by enough to matter."""
        gap = worse - better
        chance = RIVAL_ERRORS * standard_error(gap, self.weight, self.factor)
        return self.mean(gap) > max(chance, self.worth * self.mean(worse), self.floor * self.unit)

    def cause(self, own: np.ndarray, rivals: Sequence[Rival]) -> tuple[Cause, Rival | None]:
        """The first rival, the simplest, that clearly beats `own` and loses clearly to none; "other" if none does."""
        before = self.mean(own) / self.unit
        helpful = [one for one in rivals if self.clearly(one.losses, own)]
        if not helpful:
            lowest = min((self.mean(one.losses) for one in rivals), default=float("nan"))
            return Cause("other", "", before, lowest / self.unit), None
        best = min(helpful, key=lambda one: self.mean(one.losses))
        simplest = next(one for one in helpful if not self.clearly(best.losses, one.losses))
        return Cause(simplest.kind, simplest.value, before, self.mean(simplest.losses) / self.unit), simplest


def changed(
    part: Any, options: Iterable[tuple[str, str, dict[str, Any]]], rows_per_unknown: int
) -> Iterator[tuple[str, str, Any]]:
    """Problems that differ from `part` in one thing, of those that have rows enough, while there is time.

    >>> from planted.methods import Problem
    >>> part = Problem.of(np.ones((30, 2)), np.arange(30.0), 1)
    >>> [value for _, value, _ in changed(part, [("width", str(k), {"n_hidden": k}) for k in (2, 9)], 3)]
    ['2']
    """
    for kind, value, change in options:
        asked = replace(part, **change)
        if passed():
            return
        if len(part.survey.y) >= rows_per_unknown * asked.unknowns:
            yield kind, value, asked
