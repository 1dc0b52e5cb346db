"""How a text file writes its table: separator, decimal mark, comments, header and encoding, from its first lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planted.numerics.reading import DataError

_HEADER_BYTES = 2**24
_SAMPLE_BYTES, _SAMPLE_LINES, _LEAST_LINES = 2**16, 200, 3
PADDED = "  "
"""The separator of columns that are aligned: any number of spaces, and some before the first column, are one."""
_SEPARATORS = (",", ";", "\t", "|", PADDED, " ")
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", PADDED: "spaces", " ": "single spaces"}
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
_MARK = b"#"
_SAYS = re.compile(r'"?sep=([,;\t| ])"?\s*')
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How a text begins that is encoded as UTF-16, as some spreadsheets write it."""
MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null", "None", "?")
"""Cells that stand for a missing value; NaN is one too."""


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Attributes
    ----------
    separator, decimal : str
        One character, or :data:`PADDED`.
    comments : bool
        Whether lines that begin with # are left out.
    header : bool
        Whether the file names its columns; x0, x1, … and, the last one, y otherwise.
    encoding : "utf-8" or "cp1252"
    columns : tuple of str
    begin : int
        Where the rows begin, in bytes.
    """

    separator: str
    decimal: str
    comments: bool
    header: bool
    encoding: str
    columns: tuple[str, ...]
    begin: int

    @property
    def words(self) -> str:
        """The dialect in words.

        >>> Dialect(";", ",", False, True, "utf-8", ("a", "y"), 4).words
        'semicolons, decimal comma, header'
        """
        parts = [_WORDS[self.separator], "decimal comma" if self.decimal == "," else "decimal point"]
        parts += ["header" if self.header else "no header: columns are called x0, x1, … and the last one y"]
        parts += ["lines that begin with # left out"] * self.comments
        return ", ".join(parts + ["encoded as Windows-1252"] * (self.encoding != "utf-8"))


def sniff(path: Path, file: Any, header: bool | None = None) -> Dialect:
    """The dialect of a text file, which is read from its beginning.

    Parameters
    ----------
    path : Path
        For what is said, and for its suffix.
    file : binary file
    header : bool, optional
        Whether the first line names the columns; told from the lines if omitted.

    Examples
    --------
    >>> sniff(Path("a.csv"), io.BytesIO(b"u;v;y\\n1,5;2;3\\n")).words
    'semicolons, decimal comma, header'
    >>> sniff(Path("a.csv"), io.BytesIO(b"# a comment\\n1,2,3\\n")).columns
    ('x0', 'x1', 'y')
    """
    lines, places = _first_lines(path, file)
    if lines and lines[0].startswith(UTF16):
        raise DataError(f"{path} is encoded as UTF-16, which is not read in blocks: save it as UTF-8")
    encoding = _encoding(lines)
    texts = [line.decode("utf-8-sig" if i == 0 and encoding == "utf-8" else encoding, errors="replace")
             for i, line in enumerate(lines)]  # fmt: skip
    marked = [text.startswith("#") for text in texts]
    full = [i for i, text in enumerate(texts) if text.strip() and not marked[i]]
    if not full:
        raise DataError(f"{path} has no rows")
    first = full[0]
    comments = any(marked[:first]) or 0 < sum(marked) < len(full)
    if not comments:
        full = [i for i, text in enumerate(texts) if text.strip()]
        first = full[0]
    said = _SAYS.fullmatch(texts[first])
    if said is not None and len(full) > 1:
        # Spreadsheets write the separator above the header.
        full = full[1:]
        first = full[0]
    sample = [texts[i] for i in full]
    separator = _separator(path, sample) if said is None else said.group(1)
    rows = [cells(text, separator) for text in sample]
    decimal = _decimal(rows, separator)
    headed = _headed(rows, decimal) if header is None else header
    remark = [name for name in cells(texts[first - 1].lstrip("# "), separator)] if comments and first else []
    commented = not headed and header is None and len(remark) == len(rows[0]) and not _any_number(remark, decimal)
    if headed:
        columns, begin = _named(rows[0]), places[first] + len(lines[first])
    else:
        width = len(rows[0])
        columns, begin = remark if commented else [*(f"x{i}" for i in range(width - 1)), "y"], places[first]
    return Dialect(separator, decimal, comments, headed or commented, encoding, tuple(columns), begin)


def _named(header: list[str]) -> list[str]:
    """The header, with a name for columns that have none, such as the index that a DataFrame writes.

    >>> _named(["", "u", ""])
    ['unnamed', 'u', 'unnamed 2']
    """
    if len(header) == 1:
        return header
    return [name or ("unnamed" if i == header.index("") else f"unnamed {i}") for i, name in enumerate(header)]


def _first_lines(path: Path, file: Any) -> tuple[list[bytes], list[int]]:
    """Some lines from the beginning, and where they are."""
    lines: list[bytes] = []
    places, place = [], 0
    while len(lines) < _LEAST_LINES or (place < _SAMPLE_BYTES and len(lines) < _SAMPLE_LINES):
        line = file.readline(_HEADER_BYTES)
        if len(line) == _HEADER_BYTES:
            raise DataError(f"{path} has a line of more than {_HEADER_BYTES // 2**20} MB: that is no table")
        if not line:
            break
        lines.append(line)
        places.append(place)
        place += len(line)
    return lines, places


def _encoding(lines: list[bytes]) -> str:
    try:
        b"".join(lines).decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def cells(line: str, separator: str) -> list[str]:
    """The cells of a line, without spaces around them.

    >>> cells('1;"a;b"; 2', ";"), cells("  10.5   2 ", PADDED)
    (['1', 'a;b', '2'], ['10.5', '2'])
    """
    csv.field_size_limit(_HEADER_BYTES)
    aligned = separator == PADDED
    text = line.strip(" \r\n") if aligned else line.rstrip("\r\n")
    try:
        parts = next(csv.reader(io.StringIO(text), delimiter=separator[0], skipinitialspace=aligned), [""])
    except csv.Error:
        parts = text.split(None if aligned else separator)
    return [part.strip() for part in parts]


def _separator(path: Path, lines: Sequence[str]) -> str:
    """The separator that cuts every line into the same number of cells, most of them numbers."""
    preferred = "\t" if path.name.lower().split(".")[-1] == "tsv" or ".tsv." in path.name.lower() else ","
    best, score = preferred, (0.0, 0.0, 0)
    for separator in dict.fromkeys((preferred, *_SEPARATORS)):
        if separator[0] not in lines[0]:
            continue
        rows = [cells(line, separator) for line in lines]
        width = len(rows[0])
        if width < 2:
            continue
        # The last line of the sample may go on behind a quoted line break.
        even = sum(len(row) == width for row in rows) / len(rows)
        entries = [entry for row in rows[1:] or rows for entry in row if entry]
        marks = (_POINT,) if separator == "," else (_POINT, _COMMA)
        numbers = sum(any(mark.fullmatch(entry) for mark in marks) for entry in entries) / max(len(entries), 1)
        if (even, numbers) > score[:2]:
            best, score = separator, (even, numbers, width)
    return best


def _decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    entries = [entry for row in rows for entry in row]
    commas = sum("," in entry and _COMMA.fullmatch(entry) is not None for entry in entries)
    points = sum("." in entry and _POINT.fullmatch(entry) is not None for entry in entries)
    return "," if commas > points else "."


def _is_number(text: str, decimal: str) -> bool:
    return (_COMMA if decimal == "," and "," in text else _POINT).fullmatch(text) is not None


def _any_number(row: list[str], decimal: str) -> bool:
    return any(_is_number(text, decimal) for text in row)


def _headed(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row names columns: it has no number, or a word above numbers."""
    first = rows[0]
    if not _any_number(first, decimal):
        return True
    for column, name in enumerate(first):
        below = [row[column] for row in rows[1:] if column < len(row) and row[column] not in MISSING]
        if name not in MISSING and not _is_number(name, decimal) and below and all(
            _is_number(text, decimal) for text in below
        ):  # fmt: skip
            return True
    return False
