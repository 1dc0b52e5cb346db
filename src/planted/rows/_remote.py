"""Blocks that the workers of a cluster hold, what a worker does with them, and how many each should have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planted.rows._chunks import Arrays, Chunk, Scratch, combined, fold_arrays, laid_out


@dataclass(eq=False)
class RemoteChunk:
    """A block of a Dask collection: a future of its inputs and targets, one for both since a pass names every block."""

    block: Any
    start: int
    rows: int

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves, brought here."""
        return _as_arrays(*self.block.result())

    def in_target_units(self, unit: Any) -> RemoteChunk:
        """The same block with its targets divided by `unit`, where they are."""
        return replace(self, block=self.block.client.submit(_divided, self.block, unit, pure=False))

    def move(self, address: str) -> None:
        """Have the worker at `address` hold the block; when that worker is lost, another computes it again."""
        there = {"workers": [address], "allow_other_workers": True}
        self.block = self.block.client.submit(_laid_out_again, self.block, pure=False, **there)


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """A block's inputs and targets as one."""
    return x, y


def _divided(block: tuple[Any, Any], unit: Any) -> tuple[Any, Any]:
    return block[0], np.divide(block[1], unit)


def _laid_out_again(block: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    return as_block(block[0]), as_block(block[1])


def _as_arrays(x: Any, y: Any) -> Arrays:
    inputs = np.asarray(x)
    if inputs.dtype != np.float32:
        inputs = np.asarray(inputs, np.float64)
    return np.ascontiguousarray(inputs), np.ascontiguousarray(np.asarray(y).reshape(len(inputs)), inputs.dtype), None


def as_block(block: Any) -> np.ndarray:
    """A block as passes want it: in order, of float32 or float64, and where JAX uses it without a copy.

    >>> block = as_block(np.ones((3, 2), int))
    >>> block.dtype.name, block.ctypes.data % 64
    ('float64', 0)
    """
    array = np.asarray(block)
    return laid_out(array if array.dtype == np.float32 else np.asarray(array, np.float64))


def run_on_block(block: tuple[Any, Any], start: int, task: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A worker's part: `task` on a block that it holds."""
    return task(_as_arrays(*block), start, *args)


def run_on_chunk(chunk: Chunk, task: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A worker's part: `task` on a chunk that it loads."""
    return task(chunk.load(), chunk.start, *args)


def run_on_bundle(sources: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """A worker's part of a pass over several chunks, one after the other."""
    sums = []
    for source in sources:
        if isinstance(source, tuple):
            block, start = source
            sums.append(run_on_block(block, start, fold_arrays, args))
        else:
            sums.append(run_on_chunk(source, fold_arrays, args))
    return sums


def source(chunk: Chunk) -> Any:
    """What a worker needs to have a chunk's rows."""
    return (chunk.block, chunk.start) if isinstance(chunk, RemoteChunk) else chunk


def add_up(combine: str, results: list[Any]) -> Any:
    """Combine some chunks' results, on a worker or here."""
    return combined(combine, iter(results))


def same(value: Any) -> Any:
    """`value`: a task, unlike scattered data, can be run again when its worker is lost."""
    return value


def moves(places: Mapping[str, Sequence[int]], rows: Sequence[int], threads: Mapping[str, int]) -> dict[int, str]:
    """Blocks to move and the workers to move them to: a pass takes as long as the worker with the most rows a thread.

    Parameters
    ----------
    places : dict
        Numbers of the blocks that each worker holds.
    rows : sequence of int
        Rows in each block.
    threads : dict
        Threads of every worker.

    Examples
    --------
    >>> moves({"a": [0, 1, 2, 3, 4]}, [10] * 5, {"a": 1, "b": 1})
    {4: 'b', 3: 'b'}
    """
    held = {worker: list(places.get(worker, ())) for worker in threads}
    load = {worker: sum(rows[block] for block in mine) for worker, mine in held.items()}
    destinations: dict[int, str] = {}
    while True:
        full = max(threads, key=lambda worker: load[worker] / threads[worker])
        idle = min(threads, key=lambda worker: load[worker] / threads[worker])
        block = held[full][-1] if held[full] else None
        if block is None or (load[idle] + rows[block]) / threads[idle] >= load[full] / threads[full]:
            return destinations
        held[idle].append(held[full].pop())
        load[full], load[idle] = load[full] - rows[block], load[idle] + rows[block]
        destinations[block] = idle
