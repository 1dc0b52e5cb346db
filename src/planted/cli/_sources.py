"""Where the rows of a fit come from: arrays in memory, files read in blocks, a Dask cluster; and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import Stopped, check_table, known, names_in, source_of
from planted.cli._patches import patch_shape, patches_in_words, read_patches
from planted.names import count_of

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

Exclude = Annotated[str | None, typer.Option(help="Columns to leave out, comma-separated.")]
Categorical = Annotated[
    bool, typer.Option("--categorical", help="Make columns of zeros and ones of columns that hold text.")
]
Missing = Annotated[
    str, typer.Option(help="Missing values: refuse them, drop their rows, or fill in the mean (refuse, drop, mean).")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a text file names its columns; told from its lines if omitted."),
]

Weights = Annotated[
    str | None,
    typer.Option("--weights", help="Column (in an NPZ file, an array) of row weights: w counts like w equal rows."),
]

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
    """What `fit` is called with.

    Attributes
    ----------
    X, y : rows in memory, or outside it
    names : list of str
        Of the inputs.
    options : dict
        For `fit`.
    words : str
        What was understood of the table.
    remarks : tuple of str
        What is to be said of its columns.
    encoding : Encoding or None
        How columns became inputs, where the table was read into memory.
    """

    X: Any
    y: Any
    names: list[str]
    options: dict[str, Any]
    words: str = ""
    remarks: tuple[str, ...] = ()
    encoding: Any = None

    def warn(self) -> None:
        """Say on standard error what a reader should know of the columns."""
        for sentence in self.remarks:
            typer.echo(f"planted: {sentence}", err=True)

    def asking_for_classes(self) -> Source:
        """The same with a remark where the values to be fitted are 0 and 1, which often stand for classes."""
        import numpy as np

        if set(np.unique(self.y)) != {0, 1}:
            return self
        remark = "the target has only the values 0 and 1; if these are classes, add --task classification"
        return replace(self, remarks=(*self.remarks, remark))

    def check_rows(self, data: Path) -> None:
        """Raise a ValueError that names the file where one row is all that it gives.

        >>> Source([[1.0]], [2.0], ["u"], {}).check_rows(Path("a.csv"))
        Traceback (most recent call last):
        ValueError: a.csv gives one row, which determines no network
        """
        n = self.X.n_rows if hasattr(self.X, "n_rows") else len(self.X)
        if n == 1:
            where = "standard input" if str(data) == "-" else data
            raise ValueError(f"{where} gives one row, which determines no network")

    def done(self) -> None:
        """Remove the checkpoint, if there is one: the result is safe."""
        if self.options.get("checkpoint") is not None:
            from planted.rows import delete_checkpoint

            delete_checkpoint(self.options["checkpoint"])


@dataclass(frozen=True)
class Columns:
    """What becomes of the columns of a table: which are left out, of text, missing values, and the header."""

    exclude: str | None = None
    categorical: bool = False
    missing: str = "refuse"
    header: bool | None = None
    weights: str | None = None

    def options(self, arrays: bool = False) -> dict[str, Any]:
        """Arguments of :func:`planted.datasets.open_table`; in a file of arrays the weights are no column to leave out.

        >>> Columns("id", weights="w").options()
        {'exclude': ['id', 'w'], 'categorical': False, 'missing': 'refuse', 'header': None}
        """
        excluded = [] if self.exclude is None else names_in(self.exclude)
        excluded += [] if self.weights is None or arrays else [self.weights]
        return {
            "exclude": excluded, "categorical": self.categorical, "missing": self.missing, "header": self.header,
        }  # fmt: skip

    def in_memory(self) -> bool:
        """Whether the table has to be looked at as a whole."""
        return self.categorical or self.missing != "refuse" or self.weights is not None

    def sample_weight(self, data: Path, rows: Any) -> dict[str, Any]:
        """The argument of `fit` that has the weights of the rows that are used, if a column of them is named."""
        if self.weights is None:
            return {}
        if str(data) == "-":
            raise ValueError("--weights reads the table twice: give a file, not standard input")
        import numpy as np

        from planted.datasets import open_table, read_arrays

        if data.suffix.lower() == ".npz":
            weights, kind = np.asarray(read_arrays(data, self.weights)[1]), "array"
            places = np.arange(len(weights))
        else:
            column = open_table(data, None, [self.weights], header=self.header).X[:, 0]
            weights, kind, places = column[rows], "column", np.arange(len(column))[rows]
        negative = np.argwhere(weights < 0)
        if len(negative):
            first = tuple(negative[0])
            raise ValueError(
                f"--weights: {kind} {self.weights!r} of {data} has a negative weight, {weights[first]:.6g} in row "
                f"{places[first[0]] + 1}; a weight counts rows"
            )
        return {"sample_weight": weights}


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
    table: Columns = Columns()

    @contextmanager
    def opened(
        self, conv: bool = False, patch: str | None = None, patches: int | None = None, labels: bool = False
    ) -> Iterator[Source]:
        """The source, whose engine is closed afterwards; with `conv` rows are made of patches."""
        targets = names_in(self.target)
        columns = None if self.features is None else names_in(self.features)
        if self.engine == "memory":
            if conv:
                yield self._arrays(patch, patches)
            else:
                source = self._table(targets, columns, labels)
                yield source if labels else source.asking_for_classes()
            return
        if self.table != Columns():
            raise ValueError(
                "--exclude, --categorical, --missing, --header, --weights look at the whole table: add --engine memory"
            )
        from planted.rows import dask_engine, file_rows

        place = dask_engine(self.scheduler) if self.engine == "dask" else None
        dtype = "float32" if self.float32 else None
        folder = self.checkpoint
        options: dict[str, Any] = {"targets": targets}
        if folder is not None:
            options |= {"checkpoint": folder, "resume": self.resume, "keep_checkpoint": True}
        try:
            with checkpoint_named(folder):
                rows = file_rows(self.data.resolve(), targets, columns, dtype=dtype, engine=place)
                shape = f"{count_of(rows.n_rows, 'row')} × {count_of(rows.n_features, 'column')}, read in blocks"
                yield Source(rows, None, list(rows.names), options, f"{self.data}: {shape}; target {self.target}")
        finally:
            if place is not None:
                place.close()

    def _table(self, targets: list[str], features: list[str] | None, labels: bool) -> Source:
        from planted.datasets import open_table

        options = self.table.options(self.data.suffix.lower() == ".npz")
        table = open_table(source_of(self.data), targets, features, labels=labels, **options)
        said = tuple(remark.sentence(command=True) for remark in table.remarks)
        X, y = self._held(table.X), self._held(table.y)
        given = {"names": table.names, "targets": table.targets} | self.table.sample_weight(self.data, table.rows)
        return Source(X, y, table.names, given, table.words + self._weighted(), said, table.encoding)

    def _arrays(self, patch: str | None, patches: int | None) -> Source:
        from planted.datasets import names_images, to_patches
        from planted.numerics.reading import DataError

        if self.table.categorical:
            raise ValueError("--categorical does not go with --conv: patches are made of numbers")
        arrays = self.data.suffix.lower() == ".npz" or names_images(self.data)
        if arrays and replace(self.table, weights=None) != Columns():
            raise ValueError(f"--exclude, --missing and --header are for tables of columns, which {self.data} is not")
        if arrays or patches is None:
            X, y = read_patches(self.data, self.target, patch, patches)
            weight = self.table.sample_weight(self.data, slice(None))
            words = patches_in_words(self.data, X, self.target) + self._weighted()
            return Source(self._held(X), self._held(y), [], {"names": []} | weight, words)
        try:
            flat = self._table(names_in(self.target), None, labels=False)
        except DataError as error:
            if "--categorical" not in error.command:
                raise
            raise DataError(error.sentence, "patches are made of numbers: leave it out with --exclude") from None
        given = {name: value for name, value in flat.options.items() if name == "sample_weight"}
        return replace(flat, X=to_patches(flat.X, patches, patch_shape(patch)), names=[], options={"names": []} | given)

    def _weighted(self) -> str:
        return "" if self.table.weights is None else f"; row weights {self.table.weights}"

    def _held(self, array: Any) -> Any:
        """As blocks are: held in float32 on the way in, computed on in float64."""
        import numpy as np

        if not self.float32 or array.dtype.kind != "f":
            return array
        return array.astype(np.float32).astype(np.float64)


def check_data(data: Path) -> None:
    """Raise unless there is a file or folder to read.

    >>> check_data(Path("nowhere.csv"))
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file or folder at nowhere.csv
    """
    check_table(data, folder=True)


def chosen_engine(engine: str, data: Path, scheduler: str | None, checkpoint: bool, whole: bool = False) -> str:
    """The engine for a file or folder; `whole` if the table has to be looked at as a whole.

    >>> chosen_engine("auto", Path("data.npy"), None, False)
    'files'
    """
    known("engine", engine, ENGINES)
    if scheduler is not None and engine != "dask":
        raise ValueError("--scheduler is the address of a Dask scheduler: add --engine dask")
    if str(data) == "-" and engine not in ("auto", "memory"):
        raise ValueError("standard input is read into memory: leave --engine out")
    if engine == "auto":
        npy = data.suffix.lower() == ".npy" and not whole
        large = data.is_dir() or npy or (data.is_file() and data.stat().st_size > _LARGE_BYTES)
        engine = "files" if large or checkpoint else "memory"
    if engine == "memory" and data.is_dir():
        raise ValueError(f"{data} is read in blocks: use --engine files or dask")
    if engine == "memory" and checkpoint:
        raise ValueError("--checkpoint and --resume are for --engine files or dask: in memory a fit starts again")
    return engine


@contextmanager
def checkpoint_named(folder: Path | None) -> Iterator[None]:
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
