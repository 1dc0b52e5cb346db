"""Where rows come from, and how sums over them are taken."""

from typing import Any

from planted.rows._base import Block, Rows, over_rows
from planted.rows._chunks import ChunkedRows, Counts, Engine, LocalEngine, RowsLostError, Work, block_rows
from planted.rows._encoding import Encoding
from planted.rows._files import file_rows, in_blocks
from planted.rows._frames import Frame, read_frame, table_kind
from planted.rows._fresh import FreshRows
from planted.rows._journal import CheckpointError, Journal, delete_checkpoint, fingerprint
from planted.rows._limits import check_columns
from planted.rows._memory import ArrayRows
from planted.rows._npy import npz_arrays
from planted.rows._on_cores import on_cores
from planted.rows._open import open_rows, outside_memory
from planted.rows._progress import PassProgress
from planted.rows._remarks import Remark, remarks
from planted.rows._sample import Survey, in_memory, survey
from planted.rows._tables import MissingError, TextError, Wanted
from planted.rows._typed import is_frame
from planted.rows._units import in_target_units

__all__ = [
    "ArrayRows",
    "Block",
    "CheckpointError",
    "ChunkedRows",
    "Counts",
    "Encoding",
    "Engine",
    "Frame",
    "FreshRows",
    "Journal",
    "LocalEngine",
    "MissingError",
    "PassProgress",
    "Remark",
    "Rows",
    "RowsLostError",
    "Survey",
    "TextError",
    "Wanted",
    "Work",
    "block_rows",
    "check_columns",
    "dask_engine",
    "dask_rows",
    "delete_checkpoint",
    "file_rows",
    "fingerprint",
    "in_blocks",
    "in_memory",
    "in_target_units",
    "is_frame",
    "npz_arrays",
    "on_cores",
    "open_rows",
    "outside_memory",
    "over_rows",
    "read_frame",
    "remarks",
    "spread",
    "survey",
    "table_kind",
]


def __getattr__(name: str) -> Any:
    # Dask is an extra and slow to import.
    if name in ("dask_engine", "dask_rows", "spread"):
        from planted.rows import _dask

        return getattr(_dask, name)
    raise AttributeError(f"module 'planted.rows' has no attribute {name!r}")
