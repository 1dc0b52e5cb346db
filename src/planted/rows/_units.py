"""Targets in other units, read piece by piece: each piece brings them to these as it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planted.rows._chunks import Arrays, Chunk, ChunkedRows, Scratch


@dataclass(frozen=True)
class UnitChunk:
    """Rows of another chunk whose targets are divided by `unit`, or each of several by its own (m,).

    Of one target it is a power of two, which loses nothing.

    >>> from planted.rows import block_rows
    >>> chunk = block_rows(np.ones((2, 1)), np.array([3e200, 1e200]), chunk_rows=2).chunks[0]
    >>> (UnitChunk(chunk, 2.0**660).load()[1] * 2.0**660).tolist()
    [3e+200, 1e+200]
    """

    chunk: Chunk
    unit: Any

    @property
    def start(self) -> int:
        """Number of the first row."""
        return self.chunk.start

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.chunk.rows

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows, the targets in their units."""
        x, y, weight = self.chunk.load(scratch)
        return x, np.asarray(y, np.float64) / self.unit, weight


def in_target_units(rows: ChunkedRows, unit: Any) -> ChunkedRows:
    """Rows whose targets are divided by `unit`, or each of several by its own (m,), where they are.

    >>> from planted.rows import block_rows
    >>> rows = in_target_units(block_rows(np.ones((2, 1)), np.array([3e200, 1e200]), chunk_rows=2), 1e200)
    >>> rows.chunks[0].load()[1]
    array([3., 1.])
    """
    chunks: list[Chunk] = []
    for chunk in rows.chunks:
        # Blocks on a cluster stay there.
        remote = getattr(chunk, "in_target_units", None)
        chunks.append(UnitChunk(chunk, unit) if remote is None else remote(unit))
    return replace(rows, chunks=tuple(chunks))
