"""Columns of a table that a reader should know of: constant, counting the rows, or repeating another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planted.names import count_of

_LEAST_ROWS = 10
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Remark:
    """Something about columns: its kind, and their names.

    Attributes
    ----------
    kind : "constant", "index", "repeated" or "shifted"
        A shifted column is a multiple of another plus a constant, a repeated one a multiple.
    columns : tuple of str
        Of repeated and shifted ones, the column and the one that it repeats.
    """

    kind: str
    columns: tuple[str, ...]

    def sentence(self, command: bool = False) -> str:
        """The remark in words, with what can be done about it in Python or on the command line.

        >>> Remark("index", ("id",)).sentence(command=True)
        "column 'id' counts the rows: leave it out with --exclude id"
        """
        name = self.columns[0]
        flag = f'--exclude "{name}"' if " " in name or "," in name else f"--exclude {name}"
        leave = f"leave it out with {flag if command else f'exclude=[{name!r}]'}"
        if self.kind == "constant":
            return f"column {name!r} has one value in all rows: it says no more than an intercept; {leave}"
        if self.kind == "index":
            return f"column {name!r} counts the rows: {leave}"
        if self.kind == "shifted":
            like = f"column {name!r} is {self.columns[1]!r} times a number, plus a constant"
            return f"{like}: in neurons with biases their weights cannot be told apart; {leave}"
        return f"column {name!r} repeats {self.columns[1]!r}: their weights cannot be told apart; {leave}"


def remarks(X: np.ndarray, names: Sequence[str]) -> tuple[Remark, ...]:
    """What is to be said of the columns of inputs (n, d).

    A column repeats another if it is a multiple of it, to rounding, and is shifted if it is one plus a constant.

    >>> X = np.column_stack([np.arange(20.0), np.ones(20), np.sin(np.arange(20.0)), 2 * np.sin(np.arange(20.0))])
    >>> [(remark.kind, remark.columns) for remark in remarks(X, ["id", "one", "u", "v"])]
    [('index', ('id',)), ('constant', ('one',)), ('repeated', ('v', 'u'))]
    """
    n = len(X)
    if n < 3:
        return ()
    made: list[Remark] = []
    known: dict[tuple[float, ...], list[int]] = {}
    for place, name in enumerate(names):
        column = X[:, place]
        if column[0] == column[-1] and np.all(column == column[0]):
            made.append(Remark("constant", (name,)))
            continue
        if n >= _LEAST_ROWS and column[1] - column[0] == 1 and np.all(np.diff(column) == 1):
            made.append(Remark("index", (name,)))
        key = _shape(column)
        twin = next((other for other in known.get(key, ()) if _same(column, X[:, other])), None)
        if twin is not None:
            kind = "repeated" if _multiple(column, X[:, twin]) else "shifted"
            made.append(Remark(kind, (name, names[twin])))
        else:
            known.setdefault(key, []).append(place)
    return tuple(made)


def said(noted: Sequence[Remark], command: bool = False) -> list[str]:
    """The remarks as sentences, a few of each kind.

    >>> len(said([Remark("constant", (f"x{i}",)) for i in range(9)]))
    6
    """
    sentences: list[str] = []
    for kind in dict.fromkeys(remark.kind for remark in noted):
        of_kind = [remark for remark in noted if remark.kind == kind]
        sentences += [remark.sentence(command) for remark in of_kind[:_NAMES_SHOWN]]
        more = len(of_kind) - _NAMES_SHOWN
        sentences += [f"and {count_of(more, 'more column')} like {of_kind[0].columns[0]!r}"] * (more > 0)
    return sentences


def _standard(column: np.ndarray) -> np.ndarray:
    """The column without mean and scale, its first entry away from the mean positive."""
    scale = float(np.max(np.abs(column))) or 1.0
    centred = column / scale - np.mean(column / scale)
    size = float(np.sqrt(np.mean(centred**2)))
    if size == 0:
        return centred
    sign = np.sign(centred[np.argmax(np.abs(centred) > 0.1 * size)])
    return centred * sign / size


def _shape(column: np.ndarray) -> tuple[float, ...]:
    """A few numbers that repeated columns share."""
    places = np.linspace(0, len(column) - 1, 5).astype(int)
    return tuple(np.round(_standard(column)[places], 4) + 0.0)


def _same(column: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.max(np.abs(_standard(column) - _standard(other))) < 1e-9)


def _multiple(column: np.ndarray, other: np.ndarray) -> bool:
    """Whether a column is a multiple of another one, to rounding.

    >>> _multiple(np.array([2.0, 4.0]), np.array([1.0, 2.0])), _multiple(np.array([2.0, 5.0]), np.array([1.0, 2.0]))
    (True, False)
    """
    a, b = column / np.max(np.abs(column)), other / np.max(np.abs(other))
    factor = float(a @ b) / float(b @ b)
    return bool(np.max(np.abs(a - factor * b)) < 1e-9)
