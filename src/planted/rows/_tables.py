"""What readers of tables share: which columns are wanted, and frames as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planted.names import unknown
from planted.numerics.reading import DataError, check_columns
from planted.rows._chunks import Arrays, rows_in_a_chunk


@dataclass(frozen=True)
class Wanted:
    """What a caller wants of a table: targets, inputs (all other columns if None), a dtype, and rows in a chunk."""

    targets: tuple[str, ...]
    features: tuple[str, ...] | None
    dtype: str
    chunk_rows: int | None = None

    def chosen(self, path: Path, columns: Sequence[str]) -> tuple[str, ...]:
        """The input columns among those that are there.

        >>> Wanted(("y",), None, "float64").chosen(Path("a.csv"), ["u", "y"])
        ('u',)
        """
        there = set(columns)
        if len(there) < len(columns):
            double = next(name for name in columns if list(columns).count(name) > 1)
            raise DataError(f"{path}: there are two columns {double!r}")
        for name in [*(self.features or []), *self.targets]:
            if name not in there:
                raise DataError(f"{path}: {unknown('column', name, tuple(columns))}")
        asked = [*(self.features or []), *self.targets]
        twice = next((name for name in asked if asked.count(name) > 1), None) if len(asked) < 10_000 else None
        if twice is not None and twice in self.targets and twice in (self.features or ()):
            raise DataError(f"{path}: column {twice!r} is both an input and the target")
        if twice is not None:
            raise DataError(f"{path}: column {twice!r} is asked for twice")
        chosen = tuple(name for name in columns if name not in self.targets)
        chosen = chosen if self.features is None else tuple(self.features)
        if not chosen:
            raise DataError(f"{path} has no input columns besides the target")
        check_columns(path, len(chosen))
        return chosen

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
            raise DataError(f"{path}: column {column.name!r} has a missing value in row {row}")
        finite = column.is_finite()
        if not finite.all():
            row = int((~finite).arg_max()) + 1 + start
            raise DataError(f"{path}: column {column.name!r} has a NaN or infinite value in row {row}")
