"""`planted fit` on rows that are not read into memory: engines, checkpoints and what to say when a run is cut short."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import Stopped, known

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
    typer.Option("--checkpoint", help="Folder for what passes over the rows have found; removed when done."),
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
class Large:
    """Where rows are computed on, and where the checkpoint is."""

    engine: str
    scheduler: str | None
    checkpoint: Path
    resume: bool
    float32: bool


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
def opened_rows(
    engine: str, data: Path, target: str, features: str | None, scheduler: str | None, float32: bool
) -> Iterator[Any]:
    """Rows of a file or folder on an engine, which is closed afterwards."""
    from planted.rows import file_rows

    columns = None if features is None else features.split(",")
    dtype = "float32" if float32 else None
    if engine == "files":
        yield file_rows(data, target, columns, dtype=dtype)
        return
    from planted.rows import dask_engine

    place = dask_engine(scheduler)
    try:
        yield file_rows(data.resolve(), target, columns, dtype=dtype, engine=place)
    finally:
        place.close()


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Say where the checkpoint is if the work inside is interrupted or loses its machines."""
    from planted.rows import RowsLostError

    try:
        yield
    except KeyboardInterrupt:
        where = f"{folder} keeps what was found: run the same command with --resume to go on"
        raise Stopped(where if _holds(folder) else "nothing was written") from None
    except RowsLostError as error:
        where = f"; {folder} keeps what was found: run the same command with --resume to go on"
        raise OSError(f"{error}{where if _holds(folder) else ''}") from None


def _holds(folder: Path) -> bool:
    return (folder / "about.json").is_file()
