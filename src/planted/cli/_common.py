"""What commands share: options, progress on standard error, results on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

DONE, NOT_RECOVERED, DATA_ERROR, INTERRUPTED = 0, 1, 2, 130

Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed: the same seed gives the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
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


def read_rows(data: Any, target: str | None, features: str | None) -> tuple[Any, Any, list[str]]:
    """Inputs, target and input names from a file, the input columns given as a comma-separated list or None.

    >>> read_rows("nowhere.csv", "y", None)
    Traceback (most recent call last):
    planted.datasets.DataError: no data file at nowhere.csv
    """
    from planted.datasets import read_table

    return read_table(data, target, None if features is None else features.split(","))


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


def network_report(network: Any) -> dict[str, Any]:
    """A network as plain numbers, for JSON.

    >>> from planted import Network
    >>> network_report(Network([[1.0]], [2.0]))["activation"]
    'relu'
    """
    return {
        "activation": network.activation.name,
        "parameters": dict(network.activation.parameters),
        "n_hidden": network.n_hidden,
        "n_features": network.n_features,
        "weights": network.weights,
        "output": network.output,
        "bias": network.bias,
        "intercept": network.intercept,
    }


def describe_network(network: Any, names: list[str] | None = None, rows: int = 12, columns: int = 8) -> str:
    """A small table of the network: one line a neuron, its output first, then its leading weights.

    >>> from planted import Network
    >>> print(describe_network(Network([[1.0, 0.0]], [2.0])))
     neuron    output         x0         x1
          0   +2.0000    +1.0000    +0.0000
    """
    labels = (names or [f"x{i}" for i in range(network.n_features)])[:columns]
    head = f"{'neuron':>7} {'output':>9} " + " ".join(f"{label[:10]:>10}" for label in labels)
    if network.bias is not None:
        head += f" {'bias':>10}"
    lines = [head]
    for i in range(min(rows, network.n_hidden)):
        line = f"{i:>7} {network.output[i]:>+9.4f} " + " ".join(f"{w:>+10.4f}" for w in network.weights[i, :columns])
        if network.bias is not None:
            line += f" {network.bias[i]:>+10.4f}"
        lines.append(line)
    hidden, cut = network.n_hidden - rows, network.n_features - columns
    rest = [f"{hidden} more neurons"] * (hidden > 0) + [f"{cut} more inputs"] * (cut > 0)
    return "\n".join(lines + ([f"… {' and '.join(rest)}"] if rest else []))
