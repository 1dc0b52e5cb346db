"""Where the rows of a fit come from: arrays in memory, files read in blocks, a Dask cluster; and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import Stopped, known, names_in, read_rows
from planted.cli._patches import read_patches

ENGINES = ("auto", "memory", "files", "dask")
_LARGE_BYTES = 10**9

Engine = Annotated[
    str,
    typer.Option(
        help="memory, files (read in blocks) or dask; auto takes files for folders, NPY files and files above 1 GB."
    ),
]
Scheduler = Annotated[
    str | None, typer.Option(help="With --engine dask: address of a running scheduler; a local cluster if omitted.")
]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", help="Folder for what passes over the rows have given; removed when the result is safe."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")]
Float32 = Annotated[bool, typer.Option("--float32", help="Hold rows in float32 on the way in; sums are in float64.")]


SweepEngine = Annotated[
    str, typer.Option("--engine", help="local, or dask for independent cells on a Dask cluster (see --scheduler).")
]


@contextmanager
def sweep(engine: str, scheduler: str | None) -> Iterator[Any]:
    """None for this machine, or what spreads independent calls over a Dask cluster, which is closed afterwards.

    >>> with sweep("local", None) as spread:
    ...     spread is None
    True
    """
    known("engine", engine, ("local", "dask"))
    if engine == "local":
        if scheduler is not None:
            raise ValueError("--scheduler is the address of a Dask scheduler: add --engine dask")
        yield None
        return
    from functools import partial

    from planted.rows import RowsLostError, dask_engine, spread

    place = dask_engine(scheduler)
    try:
        yield partial(spread, place)
    except RowsLostError as error:
        raise OSError(f"{error}; what was computed before is kept with --out: run the same command again") from None
    finally:
        place.close()


@dataclass(frozen=True)
class Source:
    """What `fit` is called with: inputs, targets, the names of the inputs, and options for rows outside memory."""

    X: Any
    y: Any
    names: list[str]
    options: dict[str, Any]

    def done(self) -> None:
        """Remove the checkpoint, if there is one: the result is safe."""
        if self.options.get("checkpoint") is not None:
            from planted.rows import delete_checkpoint

            delete_checkpoint(self.options["checkpoint"])


@dataclass(frozen=True)
class Place:
    """Where rows are, which of their columns are wanted, and where and how they are computed on."""

    data: Path
    target: str
    features: str | None
    engine: str
    scheduler: str | None
    checkpoint: Path | None
    resume: bool
    float32: bool

    @contextmanager
    def opened(self, conv: bool = False, patch: str | None = None, patches: int | None = None) -> Iterator[Source]:
        """The source, whose engine is closed afterwards; with `conv` rows are made of patches."""
        targets = names_in(self.target)
        columns = None if self.features is None else names_in(self.features)
        if self.engine == "memory":
            yield self._arrays(patch, patches) if conv else self._table()
            return
        from planted.rows import dask_engine, file_rows

        place = dask_engine(self.scheduler) if self.engine == "dask" else None
        dtype = "float32" if self.float32 else None
        folder = self.checkpoint
        options: dict[str, Any] = {}
        if folder is not None:
            options = {"checkpoint": folder, "resume": self.resume, "keep_checkpoint": True}
        try:
            with kept(folder):
                rows = file_rows(self.data.resolve(), targets, columns, dtype=dtype, engine=place)
                yield Source(rows, None, list(rows.names), options)
        finally:
            if place is not None:
                place.close()

    def _table(self) -> Source:
        return self._held(*read_rows(self.data, self.target, self.features))

    def _arrays(self, patch: str | None, patches: int | None) -> Source:
        return self._held(*read_patches(self.data, self.target, patch, patches), [])

    def _held(self, X: Any, y: Any, names: list[str]) -> Source:
        import numpy as np

        if self.float32:
            # As blocks are: held in float32 on the way in, computed on in float64.
            X, y = (array.astype(np.float32).astype(np.float64) for array in (X, y))
        return Source(X, y, names, {"names": names})


def check_data(data: Path) -> None:
    """Raise unless there is a file or folder to read.

    >>> check_data(Path("nowhere.csv"))
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file or folder at nowhere.csv
    """
    from planted.numerics.reading import check_source

    check_source(data, folder=True)


def chosen_engine(engine: str, data: Path, scheduler: str | None, checkpoint: bool) -> str:
    """The engine for a file or folder.

    >>> chosen_engine("auto", Path("data.npy"), None, False)
    'files'
    """
    known("engine", engine, ENGINES)
    if scheduler is not None and engine != "dask":
        raise ValueError("--scheduler is the address of a Dask scheduler: add --engine dask")
    if engine == "auto":
        large = data.is_dir() or data.suffix == ".npy" or (data.is_file() and data.stat().st_size > _LARGE_BYTES)
        engine = "files" if large or checkpoint else "memory"
    if engine == "memory" and (data.is_dir() or data.suffix == ".npy"):
        raise ValueError(f"{data} is read in blocks: use --engine files or dask")
    if engine == "memory" and checkpoint:
        raise ValueError("--checkpoint and --resume are for --engine files or dask: in memory a fit starts again")
    return engine


@contextmanager
def kept(folder: Path | None) -> Iterator[None]:
    """Say where the checkpoint is if the work inside is interrupted or loses its machines."""
    from planted.rows import RowsLostError

    try:
        yield
    except KeyboardInterrupt:
        where = f"{folder} keeps what was found: run the same command with --resume to go on"
        nothing = "nothing was written: with --checkpoint FOLDER a stopped fit can go on"
        raise Stopped(where if _holds(folder) else nothing) from None
    except RowsLostError as error:
        where = f"; {folder} keeps what was found: run the same command with --resume to go on"
        raise OSError(f"{error}{where if _holds(folder) else ''}") from None


def _holds(folder: Path | None) -> bool:
    return folder is not None and (folder / "about.json").is_file()
