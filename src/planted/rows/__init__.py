"""Where rows come from, and how sums over them are taken."""

from typing import Any

from planted.rows._base import Block, Rows, over_rows
from planted.rows._chunks import ChunkedRows, Counts, Engine, LocalEngine, RowsLostError, Work, block_rows
from planted.rows._files import file_rows, read_file
from planted.rows._fresh import FreshRows
from planted.rows._journal import CheckpointError, Journal, delete_checkpoint, fingerprint
from planted.rows._memory import BLOCK_SIZE, ArrayRows
from planted.rows._npy import npz_arrays
from planted.rows._open import open_rows, outside_memory
from planted.rows._progress import PassProgress
from planted.rows._sample import Survey, survey

__all__ = [
    "BLOCK_SIZE",
    "ArrayRows",
    "Block",
    "CheckpointError",
    "ChunkedRows",
    "Counts",
    "Engine",
    "FreshRows",
    "Journal",
    "LocalEngine",
    "PassProgress",
    "Rows",
    "RowsLostError",
    "Survey",
    "Work",
    "block_rows",
    "dask_engine",
    "dask_rows",
    "delete_checkpoint",
    "file_rows",
    "fingerprint",
    "npz_arrays",
    "open_rows",
    "outside_memory",
    "over_rows",
    "read_file",
    "spread",
    "survey",
]


def __getattr__(name: str) -> Any:
    # Dask is an extra and slow to import.
    if name in ("dask_engine", "dask_rows", "spread"):
        from planted.rows import _dask

        return getattr(_dask, name)
    raise AttributeError(f"module 'planted.rows' has no attribute {name!r}")
