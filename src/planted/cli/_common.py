"""What commands share: options, progress on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

DONE, NOT_RECOVERED, DATA_ERROR, INTERRUPTED = 0, 1, 2, 130
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".eps", ".gif")

Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed: the same seed gives the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file of another kind.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


class Stopped(Exception):
    """The user stopped the work; the message says what was kept and how to go on."""


def known(kind: str, name: str, names: tuple[str, ...]) -> str:
    """`name` if it is one of `names`, otherwise an error that suggests the nearest.

    >>> known("method", "hermite", ("hermite",))
    'hermite'
    """
    from planted.names import unknown

    if name not in names:
        raise ValueError(unknown(kind, name, names))
    return name


def names_in(text: str) -> list[str]:
    """Names in a comma-separated list; a name with a comma in it stands in quotes.

    >>> names_in('y1, y2, "a, b"')
    ['y1', 'y2', 'a, b']
    """
    import csv

    from planted.numerics.reading import shortened

    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [""])]
    except csv.Error:
        raise ValueError(f"{shortened(repr(text), 60)} is no list of names, comma-separated in one line") from None


def source_of(data: Path) -> Any:
    """Where a table is read from: the file, or standard input for "-".

    >>> source_of(Path("a.csv")).name
    'a.csv'
    """
    return sys.stdin.buffer if str(data) == "-" else data


def check_table(data: Path, folder: bool = False) -> None:
    """Raise unless there is a file to read, or a folder where one may be given; "-" is standard input.

    >>> check_table(Path("nowhere.csv"))
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file at nowhere.csv
    """
    from planted.numerics.reading import check_source

    if str(data) != "-":
        check_source(data, folder=folder)


def check_file(path: Path | None, kind: str, inputs: Any = (), force: bool = False) -> None:
    """Raise before the work begins unless a file of this kind can be written, if one is asked for.

    >>> check_file(Path("nowhere/model"), "model")
    Traceback (most recent call last):
    planted.numerics.files.OutputError: no folder .../nowhere to write model to
    """
    from planted.numerics.files import check_output

    if path is None:
        return
    if kind == "picture" and path.suffix.lower() not in _PICTURES:
        raise ValueError(f"{path}: pictures end in {', '.join(_PICTURES)}")
    check_output(path, inputs=inputs, kind=kind, force=force)


def read_model(model: Path) -> Any:
    """The network in a file with its signature; what is to be said of the file goes to standard error.

    >>> read_model(Path("nowhere"))
    Traceback (most recent call last):
    planted.networks._format.ModelFileError: no model file at nowhere
    """
    import warnings

    from planted.estimators import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        saved = load(model)
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        typer.echo(f"planted: {sentence}", err=True)
    return saved


def targets_of(saved: Any) -> str:
    """Names of the targets that a model was fitted to, as a comma-separated list; "y" for a model that keeps none.

    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> targets_of(SavedModel(Network([[1.0]], [2.0]), None))
    'y'
    """
    fitted = () if saved.signature is None else saved.signature.targets
    return ",".join(f'"{name}"' if "," in name else name for name in fitted or ("y",))


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """A progress callback that draws a bar on a terminal, or None when quiet or piped.

    >>> with progress_bar(quiet=True) as report:
    ...     report is None
    True
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=text)

        yield report


def plain(value: Any) -> Any:
    """`value` with NumPy arrays and numbers turned into what JSON can hold; NaN and infinity become None.

    >>> import numpy as np
    >>> plain({"a": np.arange(2), "b": np.float64("nan")})
    {'a': [0, 1], 'b': None}
    """
    import math

    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """Print `value` as JSON on standard output.

    >>> print_json({"a": 1})
    {
      "a": 1
    }
    """
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))
