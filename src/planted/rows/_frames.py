"""A table of any kind in memory, as a frame: numbers, or text where it is asked for, and missing values as null."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError, check_source
from planted.rows._csv import csv_chunks
from planted.rows._dialect import UTF16
from planted.rows._limits import check_size, reading
from planted.rows._npy import npy_header
from planted.rows._tables import Wanted
from planted.rows._typed import arrow_frame, as_polars, excel_frame, is_frame, parquet_frame, typed_columns
from planted.rows._unpack import ENDINGS, compressed, is_workbook, unpacked

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
ARROW, EXCEL = (".arrow", ".feather", ".ipc"), (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_STANDARD_INPUT = "standard input"
_KINDS = (*TEXT, *PARQUET, *ARROW, *EXCEL, ".npy", ".npz")
_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow", b"\x93NUMPY": ".npy"}


@dataclass(frozen=True, eq=False)
class Frame:
    """A table in memory.

    Attributes
    ----------
    frame : polars.DataFrame
        The wanted columns, of float64 or text.
    features : tuple of str
        Which of them are inputs.
    words : str
        How the table was read.
    name : str
        What the table is called in messages.
    header : bool
        Whether it names its columns.
    truths : tuple of str
        Columns that hold true and false, which are one and zero here.
    """

    frame: Any
    features: tuple[str, ...]
    words: str
    name: str
    header: bool = True
    truths: tuple[str, ...] = ()


def table_kind(path: Path) -> str:
    """The ending that says what kind of table a file holds, that of a compression taken off.

    >>> table_kind(Path("Data.CSV.gz"))
    '.csv'
    """
    plain = Path(path.name.lower())
    return Path(plain.stem).suffix if plain.suffix in ENDINGS else plain.suffix


def read_frame(source: Any, wanted: Wanted, *, mixed: bool = False, labels: bool = False) -> Frame:
    """Read the wanted columns of a table into memory.

    Parameters
    ----------
    source : path, binary file, or table of pandas, polars or Arrow
        A text file (CSV and the like, of any separator, compressed or not), Parquet, Arrow (Feather), Excel, NPY. What
        a binary file such as standard input holds is told from its first bytes.
    wanted : Wanted
    mixed : bool
        Whether columns may hold text and missing values.
    labels : bool
        Whether targets are labels: they may hold text.

    Examples
    --------
    >>> import io
    >>> table = read_frame(io.BytesIO(b"u;y\\n1,5;2\\n"), Wanted(("y",), None))
    >>> table.frame.row(0), table.words
    ((1.5, 2.0), 'semicolons, decimal comma, header')
    """
    if is_frame(source):
        return _typed(as_polars(source), "the table", type(source).__module__.split(".")[0], wanted, (mixed, labels))
    path, content, kind = _opened(source)
    if kind in TEXT:
        return _text(path, content, wanted, (mixed, labels))
    if kind in PARQUET:
        frame, chosen = parquet_frame(path, wanted, content)
        return _typed(frame, str(path), "Parquet", replace(wanted, features=chosen, exclude=()), (mixed, labels))
    if content is None:
        with reading(path, kind[1:]):
            content = path.read_bytes()
    if kind in ARROW:
        return _typed(arrow_frame(path, content), str(path), "Arrow", wanted, (mixed, labels))
    if kind in EXCEL:
        return _typed(excel_frame(path, content), str(path), "first sheet, header", wanted, (mixed, labels))
    return _typed(_npy_frame(path, content, wanted), str(path), "NPY", wanted, (mixed, labels))


def _opened(source: Any) -> tuple[Path, bytes | None, str]:
    """Path, content where it is in memory already (None otherwise), and kind of a source."""
    content: bytes | None
    if not isinstance(source, (str, PathLike)):
        path, content, kind = Path(_STANDARD_INPUT), bytes(source.read()), ""
        if not content:
            raise DataError("standard input is empty")
        if compressed(content) and is_workbook(path, content):
            return path, content, ".xlsx"
        content = unpacked(path, content) if compressed(content) else content
        kind = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), ".csv")
        return path, _utf8(path, content), kind
    path = check_source(source)
    kind = table_kind(path)
    if kind not in _KINDS:
        known = ", ".join((*_KINDS, *ENDINGS))
        raise DataError(f"{path}: unknown kind of file {path.suffix!r}; tables end in {known}")
    with reading(path, kind[1:]), path.open("rb") as file:
        head = file.read(8)
        packed = compressed(head) and (kind in TEXT or path.suffix.lower() in ENDINGS)
        file.seek(0)
        content = unpacked(path, file.read()) if packed else None
        if kind in TEXT and (packed or head.startswith(UTF16)):
            content = _utf8(path, file.read() if content is None else content)
    return path, content, kind


def _utf8(path: Path, content: bytes) -> bytes:
    """A text that says to be UTF-16 as UTF-8; anything else as it is."""
    if not content.startswith(UTF16):
        return content
    try:
        return content.decode("utf-16").encode()
    except UnicodeDecodeError:
        raise DataError(f"{path} begins like UTF-16 but is not: save it as UTF-8") from None


def _text(path: Path, content: bytes | None, wanted: Wanted, kinds: tuple[bool, bool]) -> Frame:
    import polars as pl

    size = len(content or b"") if str(path) == _STANDARD_INPUT else path.stat().st_size

    mixed, labels = kinds
    # Whether a column is text is told from all of its rows.
    whole = replace(wanted, chunk_rows=2**62)
    chunks, chosen = csv_chunks(path, whole if mixed or labels else wanted, content)
    if not chunks:
        raise DataError(f"{path} has a header but no rows")
    numbers = 8 * sum(chunk.rows for chunk in chunks) * (len(chosen) + len(wanted.targets))
    check_size(path, numbers, size)
    dialect = chunks[0].dialect
    frame = chunks[0].mixed(labels) if mixed or labels else pl.concat([chunk.numbers() for chunk in chunks])
    truths = tuple(name for name in chunks[0].truths() if frame[name].dtype.is_float())
    return Frame(frame, chosen, dialect.words, str(path), dialect.header, truths)


def _typed(frame: Any, name: str, words: str, wanted: Wanted, kinds: tuple[bool, bool]) -> Frame:
    import polars as pl

    mixed, labels = kinds
    chosen = wanted.chosen(Path(name), frame.columns)
    if not frame.height:
        raise DataError(f"{name} has no rows")
    inputs = typed_columns(frame, name, chosen, mixed)
    targets = typed_columns(frame, name, wanted.targets, mixed or labels, labels) if wanted.targets else inputs.select()
    numbers = chosen if labels else (*chosen, *wanted.targets)
    truths = tuple(column for column in numbers if frame[column].dtype == pl.Boolean)
    return Frame(inputs.hstack(targets.get_columns()), chosen, words, name, truths=truths)


def _npy_frame(path: Path, content: bytes, wanted: Wanted) -> Any:
    """An array (n, columns), whose columns are called x0, x1, … and, the last one, y."""
    import io

    import polars as pl

    with reading(path, "npy"):
        shape, _, dtype = npy_header(io.BytesIO(content))
        if len(shape) != 2 or dtype.kind not in "biuf":
            raise DataError(f"{path} must hold real numbers (rows, columns), not {dtype} {shape}")
        array = np.load(io.BytesIO(content), allow_pickle=False)
        names = list(wanted.names(path, shape[1]))
        return pl.DataFrame(np.ascontiguousarray(array, np.float64), schema=names, orient="row")
