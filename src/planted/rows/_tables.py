"""What readers of tables share: which columns are wanted, and frames as arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from planted.names import unknown
from planted.numerics.reading import DataError
from planted.rows._chunks import Arrays, rows_in_a_chunk
from planted.rows._limits import check_columns

_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")
# Digits with marks, but no letter: 12 %, 1,234.50, $ 3.
_DECORATED = re.compile(r"[^a-zA-Z]*\d[^a-zA-Z]*")


class TextError(DataError):
    """A column that numbers are wanted of holds text; `label` says whether these may be labels."""

    def __init__(self, path: object, column: str, cell: str, row: int, label: bool = False) -> None:
        sentence = f"{path}: column {column!r} holds text, {cell[:60]!r} in row {row}"
        self.label = label and not (_DATE.match(cell) or _DECORATED.fullmatch(cell))
        if self.label:
            super().__init__(sentence, "PlantedClassifier takes labels", "labels go with --task classification")
        elif _DATE.match(cell):
            leave = "make numbers of dates, such as days, or leave the column out with"
            super().__init__(sentence, f"{leave} exclude=", f"{leave} --exclude")
        elif _DECORATED.fullmatch(cell):
            super().__init__(sentence, "write plain numbers, without %, currency or marks between thousands")
        else:
            encode = "categorical=True makes columns of zeros and ones of it"
            super().__init__(sentence, encode, "--categorical makes columns of zeros and ones of it")


class MissingError(DataError):
    """A column has a missing value."""

    def __init__(self, path: object, column: str, row: int, what: str = "a missing value") -> None:
        super().__init__(
            f"{path}: column {column!r} has {what} in row {row}",
            "missing='drop' leaves such rows out, missing='mean' fills them in",
            "--missing drop leaves such rows out, --missing mean fills them in",
        )


@dataclass(frozen=True)
class Wanted:
    """What a caller wants of a table.

    Attributes
    ----------
    targets : tuple of str
    features : tuple of str or None
        Input columns; all others if None, but for those to `exclude`.
    dtype : str
    chunk_rows : int, optional
    exclude : tuple of str
    header : bool, optional
        Whether a text file names its columns; told from its lines if omitted.
    unnamed : tuple of str
        Names of the columns of a table that does not name them; x0, x1, … and, the last one, y if empty.
    """

    targets: tuple[str, ...]
    features: tuple[str, ...] | None
    dtype: str = "float64"
    chunk_rows: int | None = None
    exclude: tuple[str, ...] = ()
    header: bool | None = None
    unnamed: tuple[str, ...] = ()

    def chosen(self, path: Path, columns: Sequence[str]) -> tuple[str, ...]:
        """The input columns among those that are there.

        >>> Wanted(("y",), None, "float64").chosen(Path("a.csv"), ["u", "y"])
        ('u',)
        """
        there = set(columns)
        if len(there) < len(columns):
            double = next(name for name in columns if list(columns).count(name) > 1)
            raise DataError(f"{path}: there are two columns {double!r}")
        for name in [*(self.features or []), *self.targets, *self.exclude]:
            if name not in there:
                raise DataError(self._absent(path, name, columns))
        asked = [*(self.features or []), *self.targets]
        twice = next((name for name in asked if asked.count(name) > 1), None) if len(asked) < 10_000 else None
        if twice is not None and twice in self.targets and twice in (self.features or ()):
            raise DataError(f"{path}: column {twice!r} is both an input and the target")
        if twice is not None:
            raise DataError(f"{path}: column {twice!r} is asked for twice")
        out = {*self.targets, *self.exclude}
        chosen = tuple(name for name in columns if name not in out)
        chosen = chosen if self.features is None else tuple(name for name in self.features if name not in self.exclude)
        if not chosen:
            raise DataError(f"{path} has no input columns besides the target")
        check_columns(path, len(chosen))
        return chosen

    def _absent(self, path: Path, name: str, columns: Sequence[str]) -> str:
        if not self.unnamed or name not in (self.features or ()):
            return f"{path}: {unknown('column', name, tuple(columns))}"
        same = [column for column in columns if column.casefold() == name.casefold()]
        nearest = same or get_close_matches(name, columns, n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]!r}? Its" if nearest else "its"
        there = ", ".join(repr(column) if "," in column else column for column in columns)
        return f"{path} has no column {name!r}, which the network takes; {hint} columns are {there}"

    def names(self, path: Path, columns: int) -> tuple[str, ...]:
        """Names of the columns of a table that does not name them.

        >>> Wanted(("y",), None).names(Path("a.csv"), 3)
        ('x0', 'x1', 'y')
        """
        if not self.unnamed:
            return (*(f"x{i}" for i in range(columns - 1)), "y")
        if columns > len(self.unnamed):
            raise DataError(f"{path} has {columns} columns without names, where {', '.join(self.unnamed)} are expected")
        return self.unnamed[:columns]

    def step(self, inputs: int) -> int:
        """Rows in a chunk."""
        return self.chunk_rows or rows_in_a_chunk(inputs + len(self.targets))


def arrays_of(frame: Any, features: Sequence[str], targets: Sequence[str], dtype: str) -> Arrays:
    """Inputs (r, d) and targets (r,), or (r, m), of a frame of numbers without missing values."""
    x = frame.select(list(features)).to_numpy(order="c")
    y = frame[targets[0]] if len(targets) == 1 else frame.select(list(targets))
    return np.asarray(x, dtype), np.array(y.to_numpy(), dtype, order="C").reshape(len(x), *_tail(targets)), None


def _tail(targets: Sequence[str]) -> tuple[int, ...]:
    return () if len(targets) == 1 else (len(targets),)


def check_values(path: str, frame: Any, start: int) -> None:
    """Raise a DataError that names column and row of the first value of a frame that is missing or not finite."""
    for column in frame.iter_columns():
        if column.null_count():
            row = int(column.is_null().arg_max()) + 1 + start
            raise MissingError(path, column.name, row)
        finite = column.is_finite()
        if not finite.all():
            row = int((~finite).arg_max()) + 1 + start
            if np.isnan(column[row - 1 - start]):
                raise MissingError(path, column.name, row, "a NaN or infinite value")
            raise DataError(f"{path}: column {column.name!r} has a NaN or infinite value in row {row}")
