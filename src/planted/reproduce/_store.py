"""Results on disk, one small file a piece of work, so that whatever stops a run loses only what was under way.

A store is a folder for one configuration and seed::

    out/<name>/<key>/cells/<cell key>.parquet   rows of one cell
    out/<name>/<key>/cells/<cell key>.json      the cell, its seconds, and the checksum of its rows
    out/<name>/<key>/table.parquet, study.json  written when every cell is there

Every file is written beside its place and renamed into it. The JSON file is written last: a cell whose JSON is
missing, or whose rows do not have the checksum it states, counts as not computed. <key> contains :data:`REVISION`, so
that cells computed by code that gave other numbers are not taken for this one's.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from planted.numerics.files import WriteError, write_whole

Rows = list[dict[str, Any]]
_SCALARS = (bool, int, float, str, type(None))

REVISION = 3
"""Of what studies compute: to be raised whenever the rows of some cell change."""


class StoreError(OSError):
    """A result could not be written; what was written before is still there."""


def digest(*parts: Any) -> str:
    """A short key of JSON-able parts, the same whatever the order of a mapping's names.

    >>> digest("a", {"n": 1, "d": 2}) == digest("a", {"d": 2, "n": 1})
    True
    >>> digest("a", 1) == digest("a", 2)
    False
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def jsonable(value: Any) -> Any:
    """`value` as JSON would give it back: tuples become lists, and what JSON cannot hold is an error.

    >>> jsonable({"sizes": (1, 2)})
    {'sizes': [1, 2]}
    """
    return json.loads(json.dumps(value))


def tabulate(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of scalars as a table; a name that a row lacks is null there, integers beside floats become floats.

    >>> tabulate([{"n": 1, "error": 0.5}, {"n": 2}]).to_dicts()
    [{'n': 1, 'error': 0.5}, {'n': 2, 'error': None}]
    >>> tabulate([{"h": 1.0}, {"h": "rule"}])
    Traceback (most recent call last):
    TypeError: column 'h' holds both float and str
    """
    columns: dict[str, list[Any]] = {}
    for count, row in enumerate(rows):
        for name, value in row.items():
            scalar = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
            if not isinstance(scalar, _SCALARS):
                raise TypeError(f"column {name!r} holds a {type(scalar).__name__}, not a number, a string or a truth")
            columns.setdefault(name, [None] * count).append(scalar)
        for column in columns.values():
            column.extend([None] * (count + 1 - len(column)))
    for name, column in columns.items():
        kinds = {type(value).__name__ for value in column if value is not None}
        if kinds == {"float", "int"}:
            columns[name] = [None if value is None else float(value) for value in column]
        elif len(kinds) > 1:
            raise TypeError(f"column {name!r} holds both {' and '.join(sorted(kinds))}")
    return pl.DataFrame(columns, strict=True)


def stack(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Tables below each other, with every column that any of them has.

    >>> stack([tabulate([{"a": 1}]), tabulate([{"a": 0.5, "b": "x"}])]).to_dicts()
    [{'a': 1.0, 'b': None}, {'a': 0.5, 'b': 'x'}]
    """
    filled = [table for table in tables if table.height]
    return pl.concat(filled, how="diagonal_relaxed") if filled else pl.DataFrame()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file or nothing: a reader, or a run after a kill, never sees half of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "a" / "b", b"text")
    ...     (Path(folder) / "a" / "b").read_bytes()
    b'text'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        why = (error if isinstance(error, WriteError) else WriteError(path, error)).reason
        raise StoreError(
            f"cannot write {path}: {why}; what was computed before is kept, so run the same command again after that"
        ) from error


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """The table as the bytes of a Parquet file.

    >>> parquet_bytes(tabulate([{"a": 1}]))[:4]
    b'PAR1'
    """
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


@dataclass(frozen=True)
class CellResult:
    """Rows of one cell, the seconds they took to compute, and the versions of what computed them."""

    table: pl.DataFrame
    seconds: float
    versions: dict[str, str]


class Store:
    """The results of one configuration and seed under `out`.

    Parameters
    ----------
    out : path
        Folder of all results.
    name : str
        What was run; slashes make subfolders.
    config : JSON-able
    seed : int

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     store = Store(out, "demo/one", {"n": 3}, 0)
    ...     before = store.load({"trial": 1})
    ...     store.save({"trial": 1}, tabulate([{"error": 0.5}]), 0.1, {})
    ...     after = Store(out, "demo/one", {"n": 3}, 0).load({"trial": 1})
    >>> before is None, after.table.to_dicts()
    (True, [{'error': 0.5}])
    """

    def __init__(self, out: str | os.PathLike[str], name: str, config: Any, seed: int) -> None:
        self.name, self.config, self.seed = name, jsonable(config), int(seed)
        self.key = digest(REVISION, name, self.config, self.seed)
        self.folder = Path(out) / name / self.key
        self._cells = self.folder / "cells"

    def check(self) -> None:
        """Raise a StoreError now if nothing can be written here, and sweep what killed runs left half written.

        >>> Store("/proc/nowhere", "a", {}, 0).check()
        Traceback (most recent call last):
        planted.reproduce._store.StoreError: cannot write /proc/nowhere/a/.../config.json: ...
        """
        if self._cells.is_dir():
            for path in self._cells.glob(".*.part"):
                if not _alive(path.suffixes[-2][1:]):
                    path.unlink(missing_ok=True)
        record = {"name": self.name, "config": self.config, "seed": self.seed, "revision": REVISION}
        write_atomically(self.folder / "config.json", _json(record))

    def load(self, cell: Mapping[str, Any]) -> CellResult | None:
        """The result of a cell, or None if it is not there or not whole."""
        stem = digest(cell)
        try:
            record = json.loads((self._cells / f"{stem}.json").read_bytes())
            content = (self._cells / f"{stem}.parquet").read_bytes()
            if record["cell"] != jsonable(cell) or record["sha256"] != hashlib.sha256(content).hexdigest():
                return None
            return CellResult(pl.read_parquet(io.BytesIO(content)), float(record["seconds"]), record["versions"])
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None

    def save(self, cell: Mapping[str, Any], table: pl.DataFrame, seconds: float, versions: Mapping[str, str]) -> None:
        """Keep the rows of a cell: Parquet first, then the JSON file that makes them count."""
        stem, content = digest(cell), parquet_bytes(table)
        checksum = hashlib.sha256(content).hexdigest()
        record = {"cell": cell, "rows": table.height, "seconds": seconds, "sha256": checksum}
        write_atomically(self._cells / f"{stem}.parquet", content)
        write_atomically(self._cells / f"{stem}.json", _json(record | {"versions": dict(versions)}))

    def finish(self, table: pl.DataFrame, summary: Mapping[str, Any]) -> None:
        """Write the table of all cells, and its summary."""
        write_atomically(self.folder / "table.parquet", parquet_bytes(table))
        write_atomically(self.folder / "study.json", _json(summary))


def _json(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
