"""Rows of NPY files, and members of NPZ files: headers are checked against sizes before numbers are read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError
from planted.rows._chunks import Arrays, Scratch, aligned
from planted.rows._limits import check_size, reading
from planted.rows._tables import Wanted

_NUMBERS = "biuf"


@dataclass(frozen=True)
class NpyChunk:
    """Some rows of an array (n, columns) in an NPY file; `total` is n where it is stored column by column."""

    path: str
    offset: int
    start: int
    rows: int
    width: int
    stored: str
    features: tuple[int, ...] | None
    targets: tuple[int, ...]
    dtype: str
    total: int | None = None

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        with reading(self.path, "npy"):
            # A map of this chunk only: pages of a larger one would count as resident memory.
            if self.total is None:
                table: np.ndarray = np.memmap(self.path, self.stored, "r", self.offset, (self.rows, self.width))
            else:
                whole = np.memmap(self.path, self.stored, "r", self.offset, (self.total, self.width), order="F")
                table = whole[self.start : self.start + self.rows]
            chosen = table[:, : self.width - 1] if self.features is None else table[:, list(self.features)]
            aim = table[:, self.targets[0]] if len(self.targets) == 1 else table[:, list(self.targets)]
            make = aligned if scratch is None else scratch
            x, y = make(chosen.shape, self.dtype), make(aim.shape, self.dtype)
            np.copyto(x, chosen, casting="unsafe")
            np.copyto(y, aim, casting="unsafe")
            return x, y, None


def npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order (True for Fortran's) and dtype that an NPY stream declares.

    >>> import io
    >>> content = io.BytesIO()
    >>> np.save(content, np.ones((2, 3)))
    >>> _ = content.seek(0)
    >>> npy_header(content)
    ((2, 3), False, dtype('float64'))
    """
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return tuple(int(side) for side in shape), bool(fortran), dtype


def npy_dtype(path: Path) -> np.dtype:
    """What an NPY file holds."""
    with reading(path, "npy"), path.open("rb") as file:
        return npy_header(file)[2]


def npy_chunks(path: Path, wanted: Wanted) -> tuple[list[NpyChunk], tuple[str, ...]]:
    """The chunks of an NPY file (n, columns), whose columns are called x0, x1, … and, the last one, y."""
    with reading(path, "npy"), path.open("rb") as file:
        shape, fortran, dtype = npy_header(file)
        offset = file.tell()
        if len(shape) != 2 or dtype.kind not in _NUMBERS:
            raise DataError(f"{path} must hold real numbers (rows, columns), not {_word(dtype)} of shape {shape}")
        n, width = shape
        if math.prod(shape) * dtype.itemsize > path.stat().st_size - offset:
            raise DataError(f"{path} is cut short: it declares {n:,} rows of {width:,} columns and has fewer")
        if width < 1:
            raise DataError(f"{path} has no columns")
    if width > 10**6:
        raise DataError(f"{path} declares {width:,} columns: rows of a table have fewer")
    columns = [*(f"x{i}" for i in range(width - 1)), "y"]
    chosen = wanted.chosen(path, columns)
    place = {name: i for i, name in enumerate(columns)}
    picked = None if wanted.features is None and wanted.targets == ("y",) else tuple(place[name] for name in chosen)
    targets = tuple(place[name] for name in wanted.targets)
    step, row = wanted.step(width), 0 if fortran else width * dtype.itemsize
    return [
        NpyChunk(
            str(path), offset + begin * row, begin, min(step, n - begin), width, dtype.str, picked, targets,
            wanted.dtype, n if fortran else None,
        )
        for begin in range(0, n, step)
    ], chosen  # fmt: skip


def npz_arrays(path: Path, names: list[str], needed: str, text: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of an NPZ file by name, those wanted alone; the one `needed` must be there, those in `text` may hold text.

    What a member declares is checked before it is unpacked, and no more than that is unpacked.
    """
    from planted.names import unknown

    with reading(path, "npz"), zipfile.ZipFile(path) as archive:
        members = [name.removesuffix(".npy") for name in archive.namelist()]
        if needed not in members:
            raise DataError(f"{path} holds no array named {needed}; it has {', '.join(members) or 'nothing'}")
        missing = next((name for name in names if name not in members), None)
        if missing is not None:
            raise DataError(f"{path}: {unknown('array', missing, tuple(members))}")
        twice = next((name for name in names if members.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"{path}: there are two arrays {twice!r}")
        return {name: _member(path, archive, name, name in text) for name in names}


def _member(path: Path, archive: zipfile.ZipFile, name: str, text: bool) -> np.ndarray:
    stored = next(entry for entry in archive.namelist() if entry.removesuffix(".npy") == name)
    with archive.open(stored) as file:
        try:
            shape, fortran, dtype = npy_header(file)
        except Exception:
            raise DataError(f"{path} cannot be read as npz: {name} is no array") from None
        if dtype.kind not in _NUMBERS and not (text and dtype.kind == "U"):
            what = "the target" if name != "X" else "X"
            raise DataError(f"{path}: X and the target must be numbers, and {what} holds {_word(dtype)}")
        declared = math.prod(shape) * dtype.itemsize
        # Numbers of another type become float64 beside themselves.
        held = declared + (0 if dtype == np.float64 else 8 * math.prod(shape))
        check_size(path, held, path.stat().st_size, copies=1)
        content = file.read(declared)
        if len(content) < declared or file.read(1):
            raise DataError(f"{path} cannot be read as npz: {name} does not have the size that it declares")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _word(dtype: np.dtype) -> str:
    words = {"c": "complex numbers", "m": "spans of time", "M": "dates", "O": "objects", "U": "text", "S": "bytes"}
    return words.get(dtype.kind, str(dtype))
