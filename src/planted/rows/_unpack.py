"""Compressed files, unpacked into memory as far as they may honestly be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path
from typing import Any

from planted.numerics.reading import DataError
from planted.rows._limits import reading
from planted.rows._trial import check_pages

ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""Of compressed files, behind the ending that names the kind of table."""
_GZIP, _ZSTD, _ZIP, _BZ2, _XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ"
_STREAMS: dict[bytes, Any] = {_GZIP: gzip.open, _BZ2: bz2.open, _XZ: lzma.open}
_RATIO, _FREE_BYTES = 3, 180 * 2**20


def compressed(head: bytes) -> bool:
    """Whether a file that begins with these bytes is compressed.

    >>> compressed(gzip.compress(b"text")), compressed(b"text")
    (True, False)
    """
    return head.startswith((_GZIP, _ZSTD, _ZIP, _BZ2, _XZ))


def is_workbook(path: Path, content: bytes) -> bool:
    """Whether compressed bytes without a name are a workbook; a DataError for arrays of NumPy, which are a zip too.

    >>> buffer = io.BytesIO()
    >>> with zipfile.ZipFile(buffer, "w") as archive:
    ...     archive.writestr("[Content_Types].xml", "")
    >>> is_workbook(Path("standard input"), buffer.getvalue()), is_workbook(Path("standard input"), gzip.compress(b"u"))
    (True, False)
    """
    if not content.startswith(_ZIP):
        return False
    with reading(path, "a compressed file"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.namelist()
    if members and all(name.endswith(".npy") for name in members):
        raise DataError(f"{path} holds arrays of NumPy (NPZ), which are read from a file: give its name")
    return "[Content_Types].xml" in members or "mimetype" in members


def unpacked(path: Path, content: bytes) -> bytes:
    """What a compressed table holds: gzip, zstd, bzip2, xz, or a zip archive with one member.

    More than three times the file and 180 MB is not unpacked.

    >>> unpacked(Path("a.csv.gz"), gzip.compress(b"u,y"))
    b'u,y'
    """
    limit = _RATIO * len(content) + _FREE_BYTES
    with reading(path, "a compressed file"):
        if content.startswith(_ZSTD):
            _check(path, _declared(content), limit)
            # A frame need not declare its size, and others may follow it.
            check_pages(path, "zstd", content=content)
            text = _lines(content)
        elif content.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [name for name in archive.namelist() if not name.endswith("/")]
                if len(members) != 1:
                    raise DataError(f"{path} holds {len(members)} files, not one table: unpack it first")
                with archive.open(members[0]) as file:
                    text = file.read(limit + 1)
        else:
            opened = next(way for magic, way in _STREAMS.items() if content.startswith(magic))
            with opened(io.BytesIO(content)) as file:
                text = file.read(limit + 1)
    _check(path, len(text), limit)
    return text


def _check(path: Path, size: int, limit: int) -> None:
    if size > limit:
        raise DataError(
            f"{path} unpacks to more than {limit / 1e6:,.0f} MB: that is not read into memory; unpack it first"
        )


def _declared(content: bytes) -> int:
    """Bytes that the first zstd frame declares, zero if it does not say."""
    descriptor = content[4]
    single = (descriptor >> 5) & 1
    place = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3]
    size = (single, 2, 4, 8)[descriptor >> 6]
    value = int.from_bytes(content[place : place + size], "little")
    return value + 256 if size == 2 else value


def _lines(content: bytes) -> bytes:
    """Polars unpacks zstd on its way to a table: one of whole lines."""
    import polars as pl

    frame = pl.read_csv(content, has_header=False, separator="\x1f", quote_char=None, schema={"line": pl.String})
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=False, quote_style="never")
    return buffer.getvalue()
