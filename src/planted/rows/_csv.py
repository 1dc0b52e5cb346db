"""Rows of text files such as CSV and TSV, in memory and in blocks alike: one parser for both."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError
from planted.rows._chunks import Arrays, Scratch
from planted.rows._dialect import MISSING, PADDED, Dialect, sniff
from planted.rows._limits import reading
from planted.rows._tables import TextError, Wanted, arrays_of, check_values

_SCAN_BYTES, _HEAD_BYTES = 2**24, 2**16
_QUOTE, _BREAK, _RETURN, _MARK = 34, 10, 13, 35
_BLANK = re.compile(rb"(?:^|(?<=\n))\r?\n")
_COMMENT = re.compile(rb"(?:^|(?<=\n))#[^\n]*(?:\n|$)")
_ENDS, _GAPS = re.compile(rb"^ +| +(?=\r?$)", re.MULTILINE), re.compile(rb" {2,}")
_QUOTED_OR_GAP = re.compile(rb'("[^"]*")| {2,}')
_TRUTHS = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}


@dataclass(frozen=True)
class CsvChunk:
    """Some whole lines of a text file, or of a text in memory: its bytes from `begin` to `end`."""

    path: str
    begin: int
    end: int
    start: int
    rows: int
    features: tuple[str, ...]
    targets: tuple[str, ...]
    dialect: Dialect
    dtype: str
    text: bytes | None = None

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        frame = self.numbers()
        check_values(self.path, frame, self.start)
        return arrays_of(frame, self.features, self.targets, self.dtype)

    def numbers(self) -> Any:
        """The wanted columns as a frame of numbers, missing ones where cells are empty."""
        return self._frame(self._parsed)

    def mixed(self, labels: bool) -> Any:
        """The wanted columns as a frame of numbers, or of text where a column is not all numbers.

        Empty cells and the usual words for them are missing. With `labels` true and false in a target stay words.
        """
        return self._frame(lambda content: self._typed(content, labels))

    def truths(self) -> tuple[str, ...]:
        """The wanted columns whose first cell that holds something is true or false; none where that cannot be told."""
        import polars as pl

        try:
            content = replace(self, end=min(self.end, self.begin + _HEAD_BYTES))._content()
            if self.end > self.begin + _HEAD_BYTES:
                content = content[: content.rfind(b"\n") + 1]
            frame = self._read(content, dict.fromkeys(self._places, pl.String)).rename(self._places)
        except (pl.exceptions.PolarsError, UnicodeDecodeError):
            return ()
        heads = {name: frame[name].str.strip_chars() for name in self._wanted}
        given = {name: cells.filter(~cells.is_in(list(MISSING)) & (cells != "")) for name, cells in heads.items()}
        return tuple(name for name, cells in given.items() if len(cells) and cells[0] in _TRUTHS)

    def _frame(self, parse: Any) -> Any:
        with reading(self.path, "csv"):
            content = self._content()
            frame = parse(content)
            if frame.height != self.rows and len(self.dialect.columns) > 1:
                frame = parse(_BLANK.sub(b"", content))
            if frame.height != self.rows:
                raise DataError(
                    f"{self.path}: rows {self.start + 1} to {self.start + self.rows} cannot be told apart, or the "
                    "file has changed"
                )
            return frame

    def _content(self) -> bytes:
        with opened(self.path, self.text) as file:
            file.seek(self.begin)
            content = file.read(self.end - self.begin)
        if self.dialect.encoding != "utf-8":
            content = content.decode(self.dialect.encoding).encode()
        content = _COMMENT.sub(b"", content) if self.dialect.comments else content
        return _unpadded(content) if self.dialect.separator == PADDED else content

    def _read(self, content: bytes, kinds: dict[str, Any]) -> Any:
        import polars as pl

        comma = self.dialect.decimal == ","
        return pl.read_csv(
            content, schema=kinds, has_header=False, separator=self.dialect.separator[0], decimal_comma=comma
        )

    @property
    def _places(self) -> dict[str, str]:
        """Names may be anything: columns are known by their places."""
        return {f"{place}": name for place, name in enumerate(self.dialect.columns)}

    @property
    def _wanted(self) -> list[str]:
        return list(dict.fromkeys((*self.features, *self.targets)))

    def _strings(self, content: bytes) -> Any:
        import polars as pl

        try:
            return self._read(content, dict.fromkeys(self._places, pl.String))
        except pl.exceptions.PolarsError:
            raise DataError(
                f"{self.path} cannot be read as csv: among rows {self.start + 1} to {self.start + self.rows} one "
                f"does not have the header's {len(self._places)} cells, or its quotes do not match"
            ) from None

    def _parsed(self, content: bytes) -> Any:
        """The wanted columns as numbers: at once if every cell is one, else cell by cell."""
        import polars as pl

        kind = pl.Float32 if self.dtype == "float32" else pl.Float64
        places, chosen = self._places, set(self._wanted)
        try:
            frame = self._read(
                content, {place: kind if name in chosen else pl.String for place, name in places.items()}
            )
        except pl.exceptions.PolarsError:
            frame = self._strings(content)
            frame = frame.with_columns(
                self._numbers(frame[place].alias(place), name).cast(kind)
                for place, name in places.items()
                if name in chosen
            )
        return frame.rename(places).select(self._wanted)

    def _typed(self, content: bytes, labels: bool) -> Any:
        frame = self._strings(content).rename(self._places).select(self._wanted)
        return frame.with_columns(self._number_or_text(frame[name], labels) for name in self._wanted)

    def _number_or_text(self, text: Any, labels: bool) -> Any:
        import polars as pl

        plain = text.str.strip_chars()
        plain = plain.set(plain.is_in(list(MISSING)), None)
        truths = not (labels and text.name in self.targets)
        if truths and plain.null_count() < len(plain) and plain.drop_nulls().is_in(list(_TRUTHS)).all():
            return plain.replace_strict(_TRUTHS, return_dtype=pl.Float64)
        numbers = self._cast(plain)
        return plain if (numbers.is_null() & plain.is_not_null()).any() else numbers.fill_nan(None)

    def _cast(self, plain: Any) -> Any:
        import polars as pl

        if self.dialect.decimal == ",":
            plain = plain.str.replace(",", ".", literal=True)
        return plain.cast(pl.Float64, strict=False)

    def _numbers(self, text: Any, name: str) -> Any:
        """A column of text as numbers; true and false are one and zero."""
        import polars as pl

        plain = text.str.strip_chars()
        plain = plain.set(plain == "", None)
        if plain.is_in(list(_TRUTHS)).all():
            return plain.replace_strict(_TRUTHS, return_dtype=pl.Float64).alias(text.name)
        numbers = self._cast(plain)
        wrong = numbers.is_null() & plain.is_not_null()
        if wrong.any():
            row = int(wrong.arg_max())
            raise TextError(self.path, name, str(plain[row]), self.start + row + 1, label=name in self.targets)
        return numbers


def _unpadded(content: bytes) -> bytes:
    """Lines whose cells are aligned by spaces, with one space between cells and none around them.

    >>> _unpadded(b'  1.5   2\\n10.5 "a  b" \\n')
    b'1.5 2\\n10.5 "a  b"\\n'
    """
    content = _ENDS.sub(b"", content)
    if b'"' not in content:
        return _GAPS.sub(b" ", content)
    return _QUOTED_OR_GAP.sub(lambda match: match.group(1) or b" ", content)


def opened(path: str | Path, text: bytes | None) -> Any:
    """A binary file to read, of a path or of its text in memory."""
    return open(path, "rb") if text is None else io.BytesIO(text)


def csv_chunks(path: Path, wanted: Wanted, text: bytes | None = None) -> tuple[list[CsvChunk], tuple[str, ...]]:
    """The chunks of a text file, or of a text in memory, and its input columns."""
    with reading(path, "csv"), opened(path, text) as file:
        dialect = sniff(path, file, wanted.header)
        if not dialect.header:
            dialect = replace(dialect, columns=wanted.names(path, len(dialect.columns)))
        chosen = wanted.chosen(path, dialect.columns)
        step, single = wanted.step(len(chosen)), len(dialect.columns) == 1
        chunks: list[CsvChunk] = []
        begin, start = dialect.begin, 0
        file.seek(begin)
        for end, rows in _cuts(file, begin, step, single, dialect.comments):
            chunks.append(
                CsvChunk(str(path), begin, end, start, rows, chosen, wanted.targets, dialect, wanted.dtype, text)
            )
            begin, start = end, start + rows
    return chunks, chosen


def _cuts(file: Any, position: int, step: int, single: bool, comments: bool) -> Any:
    """(end, rows) of pieces of `step` rows each, and of what is left: where lines end, blank ones not counted.

    A line break inside quotes ends no line. In a table of one column a blank line is a row with a missing value. With
    `comments` lines that begin with # are not counted.
    """
    counted, quoted, tail = 0, False, np.full(2, _BREAK, np.uint8)
    marked = False
    while piece := file.read(_SCAN_BYTES):
        codes = np.frombuffer(piece, np.uint8)
        ends = codes == _BREAK
        if quoted or _QUOTE in piece:
            inside = (np.cumsum(codes == _QUOTE) + quoted) % 2 == 1
            ends &= ~inside
            quoted = bool(inside[-1])
        known = np.concatenate([tail, codes])
        if comments:
            marked = _without_comments(codes, ends, marked if tail[1] != _BREAK else codes[0] == _MARK)
        if not single:
            before = known[1:-1]
            ends &= ~((before == _BREAK) | ((before == _RETURN) & (known[:-2] == _BREAK)))
        breaks = np.flatnonzero(ends) + 1
        used = 0
        while counted + len(breaks) - used >= step:
            used += step - counted
            yield position + int(breaks[used - 1]), step
            counted = 0
        counted += len(breaks) - used
        position += len(piece)
        tail = known[-2:]
    open_line = quoted or (tail[1] != _BREAK and not marked)
    if counted or open_line:
        yield position, counted + int(open_line)


def _without_comments(codes: np.ndarray, ends: np.ndarray, marked: bool) -> bool:
    """Take the ends of comments out of `ends`; whether the last line, which goes on, is a comment.

    `marked` says whether the line is one that the piece begins in.
    """
    breaks = np.flatnonzero(codes == _BREAK)
    firsts = np.concatenate([[_MARK if marked else 0], codes[np.minimum(breaks + 1, len(codes) - 1)]])
    ends[breaks[firsts[:-1] == _MARK]] = False
    return bool(firsts[-1] == _MARK)
