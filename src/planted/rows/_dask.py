"""Rows on a Dask cluster: blocks stay where they are, parameters go out, small sums come back.

This module and `_dask_cluster.py` alone import Dask (`pip install planted[dask]`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from planted.rows._chunks import Chunk, ChunkedRows, Engine, RowsLostError, Work, combined, fold_arrays
from planted.rows._files import file_rows
from planted.rows._remote import (
    RemoteChunk,
    add_up,
    as_block,
    moves,
    pair,
    run_on_block,
    run_on_bundle,
    run_on_chunk,
    same,
    source,
)

try:
    import dask
    import distributed
    from distributed.client import FutureCancelledError

    from planted.rows._dask_cluster import QuietLogs, local_cluster
except ImportError:
    raise ImportError("the Dask engine needs Dask: install planted[dask]") from None

PATIENCE = 30.0
"""Seconds without workers, or without a word of the scheduler, after which a pass is given up."""
ANSWER = PATIENCE / 6
"""Seconds in which a scheduler that is there answers."""
_GROUP = 16
_ATTEMPTS = 10
_BUNDLE = 16
_PLACES_HOLD = 16
_INLINE_BYTES = 100_000
_GATHERED_BYTES = 2**24
_LOST = (FutureCancelledError, distributed.CancelledError, TimeoutError, OSError, RuntimeError)


class DaskEngine(Engine):
    """Tasks on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client, optional
        Used as it is. Otherwise the current client, or a new local cluster.
    owned : tuple
        What :meth:`close` closes.
    """

    def __init__(self, client: distributed.Client | None = None, owned: tuple[Any, ...] = ()) -> None:
        super().__init__()
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError:
                owned = local_cluster()
                client = owned[0]
        self.client, self.owned = client, owned
        self.result_bytes: dict[Any, float] = {}
        self.places: tuple[Sequence[Chunk], list[list[int]], int] | None = None
        self.finished: list[Any] = []
        self.address = str(getattr(client.scheduler, "address", client.scheduler))

    def run(self, chunks: Sequence[Chunk], task: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """`task(arrays, start, *args)` of every chunk, where the chunk is, in the order of chunks."""
        futures = self._submit(chunks, task, args)
        for index, chunk in enumerate(chunks):
            yield self._retried(self._result, partial(self._again, chunk, task, args), futures[index])
            futures[index] = None

    def fold(self, chunks: Sequence[Chunk], work: Work) -> Any:
        """One pass; results of sixteen chunks at a time are combined, always the same sixteen in the same order."""
        return self._retried(lambda _: self._fold(chunks, work), lambda: None, None)

    def _retried(self, attempt: Callable[[Any], Any], again: Callable[[], Any], first: Any) -> Any:
        """A task that was on several dying workers is suspected of killing them; here their deaths had other causes."""
        subject = first
        for _ in range(_ATTEMPTS):
            try:
                return attempt(subject)
            except distributed.KilledWorker:
                self.places = None
                subject = again()
        raise RowsLostError(
            f"workers of the Dask cluster at {self.address} died {_ATTEMPTS} times over the same rows: they may "
            "run out of memory"
        )

    def _fold(self, chunks: Sequence[Chunk], work: Work) -> Any:
        """Where a pass of the same kind had a small result, chunks that are in one place make one task."""
        self.counts.passes += 1
        began = time.perf_counter()
        kind = (work.functions, tuple(np.shape(leaf) for leaf in _leaves((work,))))
        small = self.result_bytes.get(kind, np.inf) * len(chunks) <= _GATHERED_BYTES
        results = self._in_bundles(chunks, work) if small else self._in_groups(chunks, work)
        total = combined(work.combine, iter(results))
        self.result_bytes[kind] = sum(leaf.nbytes for leaf in _leaves((total,)))
        self.counts.chunks += len(chunks)
        self.counts.rows += sum(chunk.rows for chunk in chunks)
        self.counts.seconds += time.perf_counter() - began
        return total

    def _in_groups(self, chunks: Sequence[Chunk], work: Work) -> list[Any]:
        """Sums of sixteen chunks each, a task a chunk, added up on the workers."""
        futures = self._submit(chunks, fold_arrays, (work,))
        groups = self._calls(add_up, [(work.combine, futures[i : i + _GROUP]) for i in range(0, len(futures), _GROUP)])
        results = []
        for group in groups:
            results.append(self._result(group))
            self._observe(min(len(results) * _GROUP, len(chunks)), len(chunks))
        return results

    def _in_bundles(self, chunks: Sequence[Chunk], work: Work) -> list[Any]:
        """The same sums, of the same chunks in the same order, from fewer tasks: their results are added up here."""
        bundles = self._bundles(chunks)
        args = self._sent((work,))
        futures = self._calls(run_on_bundle, [([source(chunks[i]) for i in bundle], args) for bundle in bundles])
        # Only now are those of the pass before let go of. A client sends its messages at least 10 ms apart, so that the
        # tasks of this pass would wait that long behind the message that the others are no longer needed.
        self.finished = futures
        results: list[Any] = [None] * len(chunks)
        done = 0
        for bundle, future in zip(bundles, futures, strict=True):
            for index, result in zip(bundle, self._result(future), strict=True):
                results[index] = result
            done += len(bundle)
            self._observe(done, len(chunks))
        return [add_up(work.combine, results[i : i + _GROUP]) for i in range(0, len(results), _GROUP)]

    def _bundles(self, chunks: Sequence[Chunk]) -> list[list[int]]:
        """Numbers of chunks that one task takes: blocks that are on one worker, or consecutive chunks of files.

        Where blocks are is asked again every few passes, as they move when a worker is lost. Blocks are moved where
        one worker has more of them than others: which worker computes a block first is a matter of chance.
        """
        if self.places is not None and self.places[0] is chunks and self.counts.passes < self.places[2]:
            return self.places[1]
        places: dict[Any, list[int]] = {}
        held = [chunk.block for chunk in chunks if isinstance(chunk, RemoteChunk)]
        try:
            where = self.client.who_has(held) if held else {}
            threads = self.client.nthreads() if held else {}
        except _LOST as error:
            raise self._lost(error) from None
        known = len(held) == len(chunks) and all(where.get(future.key) for future in held)
        few = max(1, min(_BUNDLE, len(chunks) // _GROUP))
        for index, chunk in enumerate(chunks):
            # A block whose place is not known is a task of its own.
            where_it_is = where.get(chunk.block.key) if isinstance(chunk, RemoteChunk) else [index // few]
            places.setdefault((where_it_is or [("lost", index)])[0], []).append(index)
        if known:
            places = self._levelled(chunks, places, threads)
        bundles = []
        for place, mine in places.items():
            # As many tasks of one size as keep every thread of the worker busy.
            parts = max(-(-len(mine) // _BUNDLE), threads.get(place, 1))
            size = -(-len(mine) // parts)
            bundles += [mine[i : i + size] for i in range(0, len(mine), size)]
        if known or not held:
            self.places = (chunks, bundles, self.counts.passes + _PLACES_HOLD)
        return bundles

    def _levelled(
        self, chunks: Sequence[Any], places: dict[str, list[int]], threads: dict[str, int]
    ) -> dict[str, list[int]]:
        """The places of blocks after those have been moved of which a worker has too many."""
        moved = moves(places, [chunk.rows for chunk in chunks], threads)
        try:
            for index, address in moved.items():
                chunks[index].move(address)
        except _LOST as error:
            raise self._lost(error) from None
        level: dict[str, list[int]] = {}
        for place, mine in places.items():
            for index in mine:
                level.setdefault(moved.get(index, place), []).append(index)
        return {place: sorted(mine) for place, mine in level.items()}

    def _observe(self, done: int, total: int) -> None:
        if self.observer is not None:
            self.observer(done, total, self.counts)

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._calls(function, [args])[0]

    def _calls(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Futures of `function(*args)` for each `args`, submitted together: one by one the scheduler takes longer."""
        try:
            futures: list[Any] = self.client.map(function, *zip(*arguments, strict=True), pure=False)
        except _LOST as error:
            raise self._lost(error) from None
        return futures

    def _submit(self, chunks: Sequence[Chunk], task: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        args = self._sent(args)
        held = [(c.block, c.start, task, args) for c in chunks if isinstance(c, RemoteChunk)]
        if held:
            return self._calls(run_on_block, held)
        return self._calls(run_on_chunk, [(chunk, task, args) for chunk in chunks])

    def _sent(self, args: tuple[Any, ...]) -> Any:
        """`args`, or where they are large a future of them, so that they travel once to each worker."""
        return self._call(same, args) if sum(leaf.nbytes for leaf in _leaves(args)) > _INLINE_BYTES else args

    def _again(self, chunk: Chunk, task: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return self._submit([chunk], task, args)[0]

    def _result(self, future: Any) -> Any:
        """What a task returned; a scheduler that is gone, silent or without workers is an error, not a wait."""
        patient_until = time.monotonic() + PATIENCE
        while True:
            try:
                return future.result(timeout=PATIENCE / 6)
            except distributed.KilledWorker:
                raise
            except (TimeoutError, distributed.TimeoutError):
                if self.client.status not in ("running", "connecting"):
                    raise self._lost(None) from None
                trouble = self._trouble()
                if not trouble:
                    patient_until = time.monotonic() + PATIENCE
                elif time.monotonic() > patient_until:
                    raise RowsLostError(trouble) from None
            except _LOST as error:
                # An error of the task itself is the caller's to see.
                if future.status == "error":
                    raise
                raise self._lost(error) from None

    def _trouble(self) -> str:
        """What keeps a result from coming, in words; empty where the cluster is alive and has workers."""
        try:
            scheduler: Any = self.client.scheduler
            known = self.client.sync(scheduler.identity, callback_timeout=ANSWER)
        except Exception:
            return (
                f"the Dask scheduler at {self.address} has not answered for {PATIENCE:.0f} s: see whether its "
                "machine is there, and start it again"
            )
        if known.get("workers"):
            return ""
        return (
            f"the Dask cluster at {self.address} has had no workers for {PATIENCE:.0f} s: start some, with "
            f"`dask worker {self.address}`"
        )

    def _lost(self, error: BaseException | None) -> RowsLostError:
        return RowsLostError(
            f"the Dask scheduler at {self.address} was lost ({type(error).__name__ if error else self.client.status}) "
            f"in pass {self.counts.passes} over the rows"
        )

    def close(self) -> None:
        """Close the connection and the local cluster, if they were made here; a caller's client stays."""
        for part in self.owned:
            part.close()


def _leaves(args: Any) -> list[Any]:
    import jax

    leaves = jax.tree.leaves([arg.arguments if isinstance(arg, Work) else arg for arg in args])
    return [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]


def is_dask(value: Any) -> bool:
    """Whether `value` is a Dask collection.

    >>> is_dask([1.0])
    False
    """
    return bool(dask.is_dask_collection(value))


def dask_rows(
    X: Any, y: Any = None, *, target: str | Sequence[str] = "y", client: distributed.Client | None = None
) -> ChunkedRows:
    """Rows of Dask arrays X (n, …), y (n,) or (n, m), or of a Dask dataframe X with its target columns.

    The collections are persisted on the cluster: their blocks are computed once, stay on the workers, and are
    computed again from their own graph when a worker is lost. X and y must be cut into the same blocks of rows; X must
    not be cut into blocks of columns.

    Parameters
    ----------
    X : dask array or dataframe, or the path of a Parquet file or folder
        Files are not persisted: workers read their chunks in every pass.
    y : dask array or series, optional
        If omitted, X is a dataframe that holds the column `target`.
    client : distributed.Client, optional
        As for :class:`DaskEngine`.
    """
    engine = DaskEngine(client)
    if not is_dask(X):
        return file_rows(X, target, engine=engine)
    names: tuple[str, ...] = ()
    if hasattr(X, "columns"):
        columns = [str(name) for name in X.columns]
        if y is None:
            targets = [target] if isinstance(target, str) else list(target)
            missing = next((name for name in targets if name not in columns), None)
            if missing is not None:
                raise ValueError(f"the dataframe has no column {missing!r}; it has {', '.join(columns)}")
            y = X[targets[0]] if len(targets) == 1 else X[targets]
            X = X[[name for name in columns if name not in targets]]
        names = tuple(str(name) for name in X.columns)
        X = X.to_dask_array()
    if y is None:
        raise ValueError("y is missing: give the targets, or a dataframe with a target column")
    if hasattr(y, "to_dask_array"):
        y = y.to_dask_array()
    X, y = (
        array.rechunk({axis: -1 for axis in range(1, array.ndim)})
        if any(len(cuts) > 1 for cuts in array.chunks[1:])
        else array
        for array in (X, y)
    )
    X, y = engine.client.persist([_as_blocks(X), _as_blocks(y)])
    if any(np.isnan(size) for size in (*X.chunks[0], *y.chunks[0])):
        X, y = X.compute_chunk_sizes(), y.compute_chunk_sizes()
    if X.chunks[0] != y.chunks[0]:
        y = engine.client.persist(_as_blocks(y.rechunk({0: X.chunks[0]})))
    held = [_block_futures(collection) for collection in (X, y)]
    sizes = [int(rows) for rows in X.chunks[0]]
    filled = [index for index, rows in enumerate(sizes) if rows]
    if not filled:
        raise ValueError("the Dask collection has no rows")
    pairs = engine._calls(pair, [(held[0][index], held[1][index]) for index in filled])
    starts = np.cumsum([0, *sizes])
    chunks = [RemoteChunk(block, int(starts[index]), sizes[index]) for block, index in zip(pairs, filled, strict=True)]
    shape = tuple(int(size) for size in X.shape[1:])
    names = names or tuple(f"x{i}" for i in range(shape[-1]))
    return ChunkedRows(tuple(chunks), shape, engine, names, target_shape=tuple(int(size) for size in y.shape[1:]))


def _as_blocks(collection: Any) -> Any:
    return collection.map_blocks(as_block, dtype=np.float32 if collection.dtype == np.float32 else np.float64)


def _block_futures(collection: Any) -> dict[int, Any]:
    """Futures of the blocks of a persisted array, by their place along the rows."""
    known = {future.key: future for future in distributed.futures_of(collection)}
    return {key[1]: known[key] for key in dask.core.flatten(collection.__dask_keys__())}


def dask_engine(scheduler: str | None = None, workers: int | None = None) -> DaskEngine:
    """An engine on the scheduler at an address, or on a new local cluster of one process a core.

    The engine's `close` ends the connection, and the cluster if it is new.
    """
    if scheduler is None:
        client, cluster = local_cluster(workers)
        return DaskEngine(client, (client, cluster, QuietLogs()))
    quiet = QuietLogs()
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError):
        quiet.close()
        raise OSError(f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler`") from None
    return DaskEngine(client, (client, quiet))


def spread(engine: DaskEngine, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """(place, function(*arguments[place])) of independent calls, as they are done.

    A call whose worker dies is made again; a scheduler that is gone is a :class:`RowsLostError`.
    """
    places = {future: place for place, future in enumerate(engine._calls(function, arguments))}
    done = distributed.as_completed(list(places), raise_errors=False)
    try:
        for future in done:
            place = places.pop(future)
            try:
                result = engine._result(future)
            except distributed.KilledWorker:
                again = engine._call(function, *arguments[place])
                places[again] = place
                done.add(again)
                continue
            yield place, result
    finally:
        for future in places:
            future.cancel()
