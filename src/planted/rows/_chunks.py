"""Rows that are read piece by piece: an engine loads a piece, computes on it and lets go of it.

A :class:`Chunk` says where a piece of the rows is and loads it. A sum over rows sends a :class:`Work` (functions and
their arguments) to every chunk; only its small result comes back. The engine decides where that happens.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np

from planted.numerics.precision import float64
from planted.rows._base import Block, Rows
from planted.rows._memory import BLOCK_SIZE, ArrayRows

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Inputs (r, …), targets (r,) or (r, m), and row weights (r,), None for weights of one."""

CHUNK_BYTES = 2**25


class Chunk(Protocol):
    """Where some consecutive rows are."""

    @property
    def start(self) -> int:
        """Number of the first row."""

    @property
    def rows(self) -> int:
        """How many rows."""

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves, in arrays of `scratch` where that is of use: valid until the next load but one."""


class RowsLostError(RuntimeError):
    """The machines that hold the rows cannot be reached any more."""


def rows_in_a_chunk(columns: int) -> int:
    """A multiple of the block size that makes about 32 MB of float64.

    >>> rows_in_a_chunk(50), rows_in_a_chunk(10_000)
    (81920, 8192)
    """
    return max(1, CHUNK_BYTES // (8 * max(columns, 1) * BLOCK_SIZE)) * BLOCK_SIZE


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialised array whose first byte is where JAX can use it without a copy.

    >>> aligned((3, 2), np.float32).ctypes.data % 64
    0
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)


class Scratch:
    """Arrays to load into, three of a kind in turn: fresh pages for every chunk cost as much as reading it.

    >>> scratch = Scratch()
    >>> first = [scratch((2,), "float64") for _ in range(3)][0]
    >>> scratch((2,), "float64") is first
    True
    """

    def __init__(self) -> None:
        self.rings: dict[Any, list[np.ndarray]] = {}

    def __call__(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        ring = self.rings.setdefault((shape, dtype), [])
        ring.append(aligned(shape, dtype) if len(ring) < 3 else ring.pop(0))
        return ring[-1]


def laid_out(array: np.ndarray, rows: int | None = None) -> np.ndarray:
    """`array` itself if JAX can use it without a copy, else an aligned copy; with zeros up to `rows` rows.

    >>> laid_out(np.ones(3), 4)
    array([1., 1., 1., 0.])
    """
    rows = len(array) if rows is None else rows
    usable = array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % 64 == 0
    if usable and rows == len(array):
        return array
    place = aligned((rows, *array.shape[1:]), array.dtype)
    place[: len(array)], place[len(array) :] = array, 0
    return place


def row_keys(seed: int, start: int, rows: int) -> np.ndarray:
    """Random numbers in [0, 1) that belong to the rows start, start + 1, …, however rows are cut into chunks.

    >>> bool(np.all(row_keys(0, 0, 5)[3:] == row_keys(0, 3, 2)))
    True
    """
    generator = np.random.PCG64(seed)
    generator.advance(start)
    return np.random.Generator(generator).random(rows)


@dataclass(frozen=True)
class Work:
    """One pass: functions of a block, all but the last from block to block, and the arguments of each.

    `excluded` is a seed and a number: rows whose key (:func:`row_keys`) is below the number count nothing.
    """

    combine: str
    functions: tuple[Callable[..., Any], ...]
    arguments: tuple[tuple[Any, ...], ...]
    excluded: tuple[int, float] | None = None


@partial(jax.jit, static_argnums=(0, 1))
def _fold(combine: str, functions: tuple[Any, ...], arrays: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    def whole(block: Block) -> Any:
        # Rows may be held in float32; what is computed from them is not.
        block = {name: leaf.astype(jnp.float64) for name, leaf in block.items()}
        for function, args in zip(functions[:-1], arguments, strict=False):
            block = function(block, *args)
        return functions[-1](block, *arguments[-1])

    return ArrayRows(*arrays).fold(combine, whole)


def _pieces(n: int) -> list[slice]:
    """Whole blocks of n rows, which need no padding and hence no copy, and the rest."""
    whole = n - n % BLOCK_SIZE
    return [cut for cut in (slice(0, whole), slice(whole, n)) if cut.stop > cut.start]


@float64
def fold_arrays(arrays: Arrays, start: int, work: Work) -> Any:
    """What one chunk contributes to a pass: a pytree of NumPy arrays.

    >>> work = Work("add", (lambda block: jnp.sum(block["weight"] * block["y"]),), ((),))
    >>> float(fold_arrays((np.ones((3, 1)), np.ones(3), None), 0, work))
    3.0
    """
    x, y, weight = arrays
    n = len(y)
    weight = np.ones(n, y.dtype) if weight is None else weight
    if work.excluded is not None:
        seed, threshold = work.excluded
        weight = np.where(row_keys(seed, start, n) < threshold, 0, weight).astype(weight.dtype)
    return combined(work.combine, (_fold_piece([a[cut] for a in (x, y, weight)], work) for cut in _pieces(n)))


def _fold_piece(arrays: list[np.ndarray], work: Work) -> Any:
    n = len(arrays[1])
    # Few sizes make few compilations.
    rows = n if n % BLOCK_SIZE == 0 else max(8, 1 << (n - 1).bit_length())
    given = tuple(jax.dlpack.from_dlpack(laid_out(array, rows)) for array in arrays)
    result = jax.tree.map(np.asarray, _fold(work.combine, work.functions, given, work.arguments))
    for array in given:
        array.delete()
    return result


def combined(combine: str, results: Iterator[Any]) -> Any:
    """Results of chunks combined in their order, entry by entry.

    >>> combined("add", iter([(1.0, 2.0), (3.0, 4.0)]))
    (np.float64(4.0), np.float64(6.0))
    """
    operation = getattr(np, combine)
    total = next(results)
    for result in results:
        total = jax.tree.map(operation, total, result)
    return total


@dataclass
class Counts:
    """What an engine has done: passes begun, chunks and rows of all passes, seconds spent in them."""

    passes: int = 0
    chunks: int = 0
    rows: int = 0
    seconds: float = 0.0

    def since(self, earlier: Counts) -> Counts:
        """What was done after `earlier` was copied.

        >>> Counts(5, 10).since(Counts(2, 4)).passes
        3
        """
        return Counts(*(getattr(self, part.name) - getattr(earlier, part.name) for part in fields(self)))


Observer = Callable[[int, int, Counts], None]
"""Called as `observer(done, total, counts)` when a chunk of a pass is done."""


class Engine(ABC):
    """Where the work on chunks is done. `observer` hears of every chunk; `counts` adds up."""

    def __init__(self) -> None:
        self.observer: Observer | None = None
        self.counts = Counts()

    @contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Let `observer` hear of the chunks of every pass made inside, and of none afterwards."""
        earlier, self.observer = self.observer, observer
        try:
            yield
        finally:
            self.observer = earlier

    @abstractmethod
    def run(self, chunks: Sequence[Chunk], task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """`task(arrays, start, *args)` of every chunk, in their order, as they come."""

    def each(self, chunks: Sequence[Chunk], task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """The same as :meth:`run`, counted."""
        self.counts.passes += 1
        last = time.perf_counter()
        for done, result in enumerate(self.run(chunks, task, *args), 1):
            now = time.perf_counter()
            self.counts.seconds += now - last
            last = now
            self.counts.chunks += 1
            self.counts.rows += chunks[done - 1].rows
            if self.observer is not None:
                self.observer(done, len(chunks), self.counts)
            yield result

    def fold(self, chunks: Sequence[Chunk], work: Work) -> Any:
        """One pass."""
        return combined(work.combine, self.each(chunks, fold_arrays, work))


class LocalEngine(Engine):
    """This process: one chunk is computed on while a thread loads the next."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = Scratch()

    def run(self, chunks: Sequence[Chunk], task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """`task(arrays, start, *args)` of every chunk."""
        with ThreadPoolExecutor(1) as reader:
            waiting = reader.submit(chunks[0].load, self.scratch)
            for chunk, after in zip(chunks, [*chunks[1:], None], strict=True):
                arrays = waiting.result()
                if after is not None:
                    waiting = reader.submit(after.load, self.scratch)
                yield task(arrays, chunk.start, *args)


class Memory(Protocol):
    """Remembers the results of passes, so that an interrupted computation can go on."""

    def recall(self, work: Work, structure: Callable[[], Any]) -> Any | None:
        """The result of the same pass made earlier, or None."""

    def store(self, work: Work, result: Any) -> None:
        """Remember a result."""


@dataclass(frozen=True, eq=False)
class ChunkedRows(Rows):
    """Rows in chunks, whose sums run on an engine when they are asked for.

    Made by :func:`file_rows`, :func:`block_rows` and :func:`planted.rows.dask_rows`.

    Attributes
    ----------
    chunks : tuple of Chunk
    row_shape : tuple of int
        Shape of a row's inputs as loaded.
    engine : Engine
    steps : tuple
        Functions, with their arguments and the shapes they lead to, that every block goes through.
    excluded : (int, float) or None
        As in :class:`Work`.
    memory : Memory or None
        Asked before every pass.
    names : tuple of str
        Of the inputs.
    target_shape : tuple of int
        Shape of a row's targets: () or (m,).

    Examples
    --------
    >>> rows = block_rows(np.ones((5, 2)), np.arange(5.0), chunk_rows=2)
    >>> float(rows.mean(_first_moment))
    2.0
    """

    traceable = False

    chunks: tuple[Chunk, ...]
    row_shape: tuple[int, ...]
    engine: Engine
    names: tuple[str, ...] = ()
    weighted: bool = False
    steps: tuple[tuple[Callable[..., Block], tuple[Any, ...], tuple[int, ...]], ...] = ()
    excluded: tuple[int, float] | None = None
    memory: Memory | None = field(default=None, repr=False)
    target_shape: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's inputs."""
        return self.steps[-1][2] if self.steps else self.row_shape

    @cached_property
    def total_weight(self) -> float:
        """Sum of the rows' weights."""
        if not self.weighted and self.excluded is None:
            return float(self.n_rows)
        return float(self.sum(_weight))

    def fold(self, combine: str, function: Callable[..., Any], *args: Any) -> Any:
        """Combine `function(block, *args)` over all chunks: one pass over the rows."""
        functions = (*(step[0] for step in self.steps), function)
        arguments = jax.tree.map(np.asarray, (*(step[1] for step in self.steps), args))
        work = Work(combine, functions, arguments, self.excluded)
        if self.memory is None:
            return self.engine.fold(self.chunks, work)
        result = self.memory.recall(work, partial(self._structure, work))
        if result is None:
            result = self.engine.fold(self.chunks, work)
            self.memory.store(work, result)
        return result

    @float64
    def _structure(self, work: Work) -> Any:
        """The structure of a pass's result, found without the rows."""
        shapes = ((1, *self.row_shape), (1, *self.target_shape), (1,))
        block = tuple(jax.ShapeDtypeStruct(shape, jnp.float64) for shape in shapes)
        fold = partial(_fold, work.combine, work.functions)
        return jax.tree.structure(jax.eval_shape(fold, block, work.arguments))

    def map(self, function: Callable[..., Block], *args: Any, shape: tuple[int, ...] | None = None) -> Self:
        """Rows whose blocks are `function(block, *args)`, computed anew in every pass."""
        return replace(self, steps=(*self.steps, (function, args, self.shape if shape is None else shape)))

    def without(self, seed: int, threshold: float) -> Self:
        """All rows but those whose key is below `threshold`: those that a subsample took."""
        return replace(self, excluded=(seed, threshold))


def _weight(block: Block) -> jax.Array:
    return jnp.sum(block["weight"])


def _first_moment(block: Block) -> jax.Array:
    return jnp.sum(block["weight"] * block["y"])


@dataclass(frozen=True, eq=False)
class ArrayChunk:
    """Some rows of arrays in memory, which may be memory maps."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    start: int

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.y)

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        return np.ascontiguousarray(self.x), np.asarray(self.y), self.weight


def block_rows(
    X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, *, chunk_rows: int | None = None
) -> ChunkedRows:
    """Rows of arrays X (n, …), y (n,) or (n, m), read in chunks: nothing as large as X is made.

    >>> block_rows(np.ones((5, 2)), np.ones(5), chunk_rows=2).n_rows
    5
    """
    if len(X) != len(y) or not len(y):
        raise ValueError(f"X has {len(X)} rows and y {len(y)}; both must have the same number, at least one")
    size = chunk_rows or rows_in_a_chunk(int(np.prod(X.shape[1:])))
    cut = [slice(start, start + size) for start in range(0, len(y), size)]
    chunks = [ArrayChunk(X[c], y[c], None if sample_weight is None else sample_weight[c], c.start) for c in cut]
    names = tuple(f"x{i}" for i in range(X.shape[-1]))
    weighted = sample_weight is not None
    return ChunkedRows(tuple(chunks), X.shape[1:], LocalEngine(), names, weighted=weighted, target_shape=y.shape[1:])
