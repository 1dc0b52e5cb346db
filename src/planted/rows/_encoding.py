"""From columns to inputs of a network: text as zeros and ones, missing values filled in, each as it was fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted.names import MISSING_RULES, unknown
from planted.numerics.reading import DataError
from planted.rows._frames import Frame
from planted.rows._tables import MissingError, TextError, check_values

_MOST_LEVELS = 200


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the inputs of a network.

    A column of text with levels l₀, l₁, …, l_m becomes m columns, "name=lᵢ" being one where the text is lᵢ; l₀ is the
    reference, at which all of them are zero. A missing number is replaced by the mean of its column and a missing text
    by the most frequent level, where that was asked for.

    Attributes
    ----------
    columns : tuple of str
        Columns of the table, in order.
    levels : dict
        Levels by column of text, the reference first.
    missing : "refuse", "drop" or "mean"
    fill : dict
        What stands for a missing value, by column.

    Examples
    --------
    >>> import polars as pl
    >>> table = Frame(pl.DataFrame({"u": [1.0, None, 3.0], "c": ["a", "b", "a"]}), ("u", "c"), "", "table")
    >>> code = Encoding.of(table, categorical=True, missing="mean")
    >>> code.names, code.inputs(table)[0].tolist()
    (('u', 'c=b'), [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    """

    columns: tuple[str, ...]
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "refuse"
    fill: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Frame, categorical: Any = False, missing: str = "refuse") -> Encoding:
        """The encoding that a table asks for.

        Parameters
        ----------
        table : Frame
        categorical : bool, or names of columns
            Whether columns of text are encoded; columns of numbers that are named are encoded too.
        missing : "refuse", "drop" or "mean"
        """
        if missing not in MISSING_RULES:
            raise ValueError(unknown("rule for missing values", missing, MISSING_RULES))
        named = () if isinstance(categorical, bool) else (categorical,) if isinstance(categorical, str) else categorical
        strange = next((name for name in named if name not in table.features), None)
        if strange is not None:
            raise DataError(f"{table.name}: {unknown('column', strange, table.features)}")
        levels: dict[str, tuple[str, ...]] = {}
        fill: dict[str, Any] = {}
        for name in table.features:
            column = table.frame[name]
            if name in named or (categorical is True and _is_text(column)):
                levels[name] = _levels(table, name)
            elif _is_text(column):
                row = first_text(column)
                raise TextError(table.name, name, str(column[row]), row + 1)
            if missing == "mean":
                fill[name] = _usual(table, name, levels.get(name))
        return cls(tuple(table.features), levels, missing, fill)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(
            entry
            for name in self.columns
            for entry in ([f"{name}={level}" for level in self.levels[name][1:]] if name in self.levels else [name])
        )

    @property
    def plain(self) -> bool:
        """Whether the columns are the inputs as they are."""
        return not self.levels and self.missing == "refuse"

    def inputs(self, table: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (n, d), and which rows (n,) have them all; the others hold NaN.

        A missing value is refused where it is neither dropped nor filled in, and so is a text that the encoding does
        not know.
        """
        whole = np.ones(table.frame.height, bool)
        made = []
        for name in self.columns:
            column = table.frame[name]
            if column.null_count():
                if self.missing == "refuse":
                    raise MissingError(table.name, name, int(column.is_null().arg_max()) + 1)
                if self.missing == "mean":
                    column = column.fill_null(self.fill[name])
            if name in self.levels:
                made += self._ones(table, name, column)
            else:
                if _is_text(column):
                    row = first_text(column)
                    raise DataError(
                        f"{table.name}: column {name!r} holds text, {str(column[row])[:60]!r} in row {row + 1}, where "
                        "numbers were fitted"
                    )
                made.append(column.to_numpy())
            whole &= ~column.is_null().to_numpy()
        X = np.column_stack([np.asarray(part, np.float64) for part in made])
        _check_finite(table, self.columns)
        X[~whole] = np.nan
        return X, whole

    def _ones(self, table: Frame, name: str, column: Any) -> list[np.ndarray]:
        levels, text = self.levels[name], _texts(column)
        strange = next(((i, entry) for i, entry in enumerate(text) if entry is not None and entry not in levels), None)
        if strange is not None:
            shown = ", ".join(repr(level) for level in levels[:6]) + (", …" if len(levels) > 6 else "")
            raise DataError(
                f"{table.name}: column {name!r} holds {strange[1]!r} in row {strange[0] + 1}, which the fit did not "
                f"see; it knows {shown}"
            )
        values = np.array([np.nan if entry is None else levels.index(entry) for entry in text])
        return [np.where(np.isnan(values), np.nan, values == place) for place in range(1, len(levels))]

    def as_dict(self) -> dict[str, Any]:
        """The encoding in JSON's types; :meth:`from_dict` reads it."""
        levels = {name: list(entries) for name, entries in self.levels.items()}
        return {"columns": list(self.columns), "levels": levels, "missing": self.missing, "fill": dict(self.fill)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Encoding:
        """What :meth:`as_dict` gave.

        >>> Encoding.from_dict(Encoding(("u",)).as_dict()).columns
        ('u',)
        """
        try:
            columns = tuple(str(name) for name in stored["columns"])
            levels = {name: tuple(str(level) for level in stored["levels"][name]) for name in stored["levels"]}
            fill = {name: value if isinstance(value, str) else float(value) for name, value in stored["fill"].items()}
            missing = str(stored["missing"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValueError("the encoding of its inputs is damaged") from None
        complete = missing != "mean" or {*fill} == {*columns}
        if missing not in MISSING_RULES or not {*levels, *fill} <= {*columns} or not complete:
            raise ValueError("the encoding of its inputs is damaged")
        return cls(columns, levels, missing, fill)


def first_text(column: Any) -> int:
    """The place of the first entry of a column of text that is no number; of the first entry if all are numbers.

    >>> import polars as pl
    >>> first_text(pl.Series(["1", None, "red"]))
    2
    """
    import polars as pl

    words = column.is_not_null() & column.str.strip_chars().cast(pl.Float64, strict=False).is_null()
    return int((words if words.any() else column.is_not_null()).arg_max() or 0)


def _is_text(column: Any) -> bool:
    return str(column.dtype) == "String"


def _texts(column: Any) -> list[str | None]:
    """Entries as text; whole numbers without a decimal point."""
    if _is_text(column):
        return column.to_list()
    return [None if value is None else f"{value:.17g}" for value in column.to_list()]


def _levels(table: Frame, name: str) -> tuple[str, ...]:
    texts = [entry for entry in _texts(table.frame[name]) if entry is not None]
    levels = sorted(set(texts))
    most = min(_MOST_LEVELS, max(2, len(texts) // 2))
    if len(levels) > most:
        raise DataError(
            f"{table.name}: column {name!r} holds {len(levels):,} different texts in {len(texts):,} rows "
            f"({levels[0]!r}, …): too many for columns of zeros and ones",
            "leave it out with exclude=",
            "leave it out with --exclude",
        )
    if len(levels) < 2:
        what = f"one text, {levels[0]!r}," if levels else "nothing"
        raise DataError(
            f"{table.name}: column {name!r} holds {what} in all rows", "leave it out", "leave it out with --exclude"
        )
    return tuple(levels)


def _usual(table: Frame, name: str, levels: tuple[str, ...] | None) -> Any:
    """The mean of a column of numbers, the most frequent level of one of text."""
    if levels is not None:
        counts = Counter(entry for entry in _texts(table.frame[name]) if entry is not None)
        return max(levels, key=lambda level: counts[level])
    mean = table.frame[name].mean()
    if mean is None:
        raise DataError(
            f"{table.name}: column {name!r} has no value at all", "leave it out", "leave it out with --exclude"
        )
    return float(mean)


def _check_finite(table: Frame, columns: tuple[str, ...]) -> None:
    import polars as pl

    check_values(table.name, table.frame.select(list(columns)).select(pl.selectors.float()).fill_null(0.0), 0)
