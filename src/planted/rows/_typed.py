"""Tables whose columns have types already: DataFrames, Arrow and Excel files; and Parquet files in memory."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError
from planted.rows._dialect import MISSING
from planted.rows._limits import check_size, reading
from planted.rows._parquet import check_footer, kind_of, scan_parquet
from planted.rows._tables import Wanted
from planted.rows._trial import check_pages, start_trials


def is_frame(value: Any) -> bool:
    """Whether `value` is a table of pandas, polars or Arrow.

    >>> import polars as pl
    >>> is_frame(pl.DataFrame({"u": [1.0]})), is_frame([[1.0]])
    (True, False)
    """
    home = type(value).__module__.split(".")[0]
    name = type(value).__name__
    return (home in ("pandas", "polars") and name in ("DataFrame", "LazyFrame")) or (
        home == "pyarrow" and name in ("Table", "RecordBatch")
    )


def as_polars(value: Any) -> Any:
    """A table of pandas, polars or Arrow as a polars DataFrame; names of columns become text.

    >>> import polars as pl
    >>> as_polars(pl.LazyFrame({"u": [1.0]})).columns
    ['u']
    """
    import polars as pl

    home = type(value).__module__.split(".")[0]
    if home == "polars":
        return value.collect() if isinstance(value, pl.LazyFrame) else value
    if home == "pyarrow":
        return pl.from_arrow(value)
    names = [str(name) for name in value.columns]
    double = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if double is not None:
        raise DataError(f"the table has two columns {double!r}")
    return pl.DataFrame({name: _series(name, value.iloc[:, i]) for i, name in enumerate(names)})


def _series(name: str, column: Any) -> Any:
    """A pandas column, without a detour over Arrow, which need not be installed."""
    import polars as pl

    kind = getattr(column.dtype, "kind", "O")
    absent = column.isna().to_numpy(dtype=bool)
    if kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pl.Series(name, numbers).set(pl.Series(absent), None)
    if kind in "mMc":
        return pl.Series(name, [None] * len(column), dtype=pl.Duration if kind == "m" else pl.Datetime)
    values = [None if gone else entry for gone, entry in zip(absent, column.tolist(), strict=True)]
    given = [entry for entry in values if entry is not None]
    if kind == "b" or (given and all(isinstance(entry, (bool, np.bool_)) for entry in given)):
        return pl.Series(name, [None if entry is None else bool(entry) for entry in values], dtype=pl.Boolean)
    if all(isinstance(entry, (bool, int, float, np.number)) for entry in given):
        return pl.Series(name, [None if entry is None else float(entry) for entry in values], dtype=pl.Float64)
    return pl.Series(name, [None if entry is None else str(entry) for entry in values], dtype=pl.String)


def typed_columns(frame: Any, name: object, columns: Sequence[str], mixed: bool, labels: bool = False) -> Any:
    """Columns as float64, or with `mixed` as text where they hold text; missing values are null.

    With `labels` true and false stay what they are.
    """
    import polars as pl

    made = []
    for column in frame.select(list(columns)).iter_columns():
        kind = column.dtype
        if labels and kind == pl.Boolean:
            made.append(column)
        elif kind.is_numeric() or kind in (pl.Boolean, pl.Null):
            made.append(column.cast(pl.Float64))
        elif mixed and kind in (pl.String, pl.Categorical, pl.Enum):
            text = column.cast(pl.String).str.strip_chars()
            made.append(text.set(text.is_in(list(MISSING)), None))
        else:
            text = kind_of(kind)
            encode = text == "text"
            raise DataError(
                f"{name}: column {column.name!r} holds {text}, not numbers",
                "categorical=True makes columns of zeros and ones of it" if encode else "leave it out",
                "--categorical makes columns of zeros and ones of it" if encode else "leave it out with --exclude",
            )
    # Where missing values are refused NaN keeps its own words.
    typed = pl.DataFrame({column.name: column for column in made})
    return typed.with_columns(pl.selectors.float().fill_nan(None)) if mixed else typed


def parquet_frame(path: Path, wanted: Wanted, content: bytes | None = None) -> tuple[Any, tuple[str, ...]]:
    """All rows of a Parquet file, its wanted columns alone, and the names of the inputs."""
    start_trials()
    import polars as pl

    with reading(path, "parquet"):
        size = check_footer(path, content)
        check_pages(path, "parquet", content=content)
        lazy = scan_parquet(path if content is None else io.BytesIO(content))
        chosen = wanted.chosen(path, lazy.collect_schema().names())
        n = int(lazy.select(pl.len()).collect().item())
        check_size(path, 8 * n * (len(chosen) + len(wanted.targets)), size)
        columns, step = (*chosen, *wanted.targets), wanted.step(len(chosen))
        check_pages(path, "parquet", columns, step=step, content=content)
        return lazy.select(columns).collect(), chosen


def arrow_frame(path: Path, content: bytes) -> Any:
    """An Arrow (Feather) file or stream."""
    import polars as pl

    with reading(path, "arrow"):
        if content.startswith(b"FEA1"):
            raise DataError(f"{path} is a Feather file of the first version: write it again as version 2 or Parquet")
        whole = content.startswith(b"ARROW1")
        check_pages(path, "ipc" if whole else "ipc_stream", content=content)
        frame = (pl.read_ipc if whole else pl.read_ipc_stream)(io.BytesIO(content))
        check_size(path, 8 * frame.height * frame.width, len(content))
        return frame


def excel_frame(path: Path, content: bytes) -> Any:
    """The first sheet of an Excel or OpenDocument file."""
    import polars as pl

    try:
        import fastexcel  # noqa: F401
    except ImportError:
        raise DataError(
            f"{path}: reading Excel files needs the extra 'excel': install planted[excel], or save the sheet as CSV"
        ) from None
    with reading(path, "an Excel sheet"):
        return pl.read_excel(content, engine="calamine")
