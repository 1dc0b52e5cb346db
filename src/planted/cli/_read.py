"""`planted read`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import (
    DONE,
    NOT_RECOVERED,
    Force,
    Json,
    Quiet,
    Seed,
    check_file,
    known,
    print_json,
    progress_bar,
)
from planted.cli._imported import imported
from planted.cli._report import network_report
from planted.names import ACTIVATIONS, count_of

_TORCH = (".pt", ".pth")
_PICKLES = (".pkl", ".pickle", ".joblib", *_TORCH)


def read(
    model: Annotated[
        str,
        typer.Argument(
            help="ONNX file, network of planted, package.module:name, or pickle or torch file (with --trust)."
        ),
    ],
    inputs: Annotated[int | None, typer.Option(min=1, help="Number of inputs, if the model does not say.")] = None,
    activation: Annotated[str, typer.Option(help=f"auto, or one of {', '.join(ACTIVATIONS)}.")] = "auto",
    max_queries: Annotated[int | None, typer.Option(min=1, help="Never ask for more rows than this.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the network to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw neurons by strength, and where they turn.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the reading to this file (HTML).")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Open a pickle or joblib file, which runs its code.")] = False,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Read a model by asking it: which network with one hidden layer is it?

    Example: planted read model.onnx --out network

    A function of arrays: planted read package.module:function --inputs 20

    Exit status 0 if the network is equal to the model, 1 if it is not or if the budget was spent.
    """
    known("activation", activation, ("auto", *ACTIVATIONS))
    source = [Path(model)] if Path(model).exists() else []
    check_file(out, "model", source, force)
    check_file(plot, "picture", [*source, out], force)
    check_file(report, "page", [*source, out, plot], force)
    opened = open_model(model, trust)

    import planted

    with progress_bar(quiet) as bar:
        reading = planted.read(
            opened, inputs, activation=activation, random_state=seed, max_queries=max_queries, progress=bar
        )
    if out is not None:
        out = reading.network.save(out)
    if plot is not None:
        from planted.plots import save_reading

        save_reading(plot, reading.network)
    if report is not None:
        from planted.pages import subject_of, write_report

        write_report(report, subject_of(reading, model="" if out is None else str(out)))
    if as_json:
        network = network_report(reading.network)
        print_json(reading.as_dict() | {"network": network, "out": None if out is None else str(out)})
    else:
        typer.echo(str(reading))
        typer.echo(_table(reading.network))
        if out is not None:
            typer.echo(f"network written to {out}")
        for path, what in ((plot, "picture"), (report, "report")):
            if path is not None:
                typer.echo(f"{what} written to {path}")
    return DONE if reading.status in ("recovered", "ambiguous") else NOT_RECOVERED


def open_model(model: str, trust: bool) -> Any:
    """What the argument names: an ONNX path, a network of planted, a function of a module, or a pickled model.

    >>> open_model("math:sqrt", trust=False)(4.0)
    2.0
    >>> open_model("model.pkl", trust=False)
    Traceback (most recent call last):
    ValueError: opening model.pkl runs the code that is stored in it: add --trust if you know where it comes from
    """
    path = Path(model)
    if path.suffix in _PICKLES:
        if not trust:
            raise ValueError(
                f"opening {model} runs the code that is stored in it: add --trust if you know where it comes from"
            )
        if not path.is_file():
            raise ValueError(f"no model file at {model}")
        return _from_torch(path) if path.suffix in _TORCH else _from_joblib(path)
    if path.suffix == ".onnx" or path.is_file():
        if not path.is_file():
            raise ValueError(f"no model file at {model}")
        if path.suffix == ".onnx":
            return path
        from planted.networks import Network

        return Network.load(path)
    if ":" not in model:
        raise ValueError(f"no model file at {model}; a function is given as package.module:name")
    return imported(model)


def _from_joblib(path: Path) -> Any:
    import joblib

    return joblib.load(path)


def _from_torch(path: Path) -> Any:
    """A module that torch.save has written."""
    try:
        import torch
    except ImportError:
        raise ValueError(f"opening {path} needs torch: pip install 'planted[torch]'") from None
    module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, torch.nn.Module):
        raise ValueError(f"{path} holds a {type(module).__name__}, not a module; save the module itself by torch.save")
    return module


def _table(network: Any, rows: int = 12, columns: int = 6) -> str:
    """One line a neuron, strongest first: strength, bias, leading weights; then what is linear and constant."""
    import numpy as np

    from planted.plots import strengths

    size = strengths(network)
    inputs = " ".join(f"{f'x{j}':>10}" for j in range(min(columns, network.n_features)))
    lines = [f"{'neuron':>7} {'strength':>10} {'bias':>10} {inputs}"] if network.n_hidden else []
    for number, i in enumerate(np.argsort(-size)[:rows], 1):
        bias = 0.0 if network.bias is None else network.bias[i]
        row = " ".join(f"{w:>+10.4g}" for w in network.weights[i, :columns])
        lines.append(f"{number:>7} {size[i]:>10.4g} {bias:>+10.4g} {row}")
    if network.n_hidden > rows:
        lines.append(f"… {count_of(network.n_hidden - rows, 'more neuron')}")
    intercepts = np.atleast_1d(network.intercept)
    skip = None if network.skip is None else np.atleast_2d(network.skip)
    if skip is not None or np.any(intercepts):
        lines.append(f"{'output':>7} {'intercept':>10} {'' if skip is None else 'linear: ' + inputs.lstrip()}".rstrip())
    for output in range(len(intercepts) if skip is not None or np.any(intercepts) else 0):
        linear = "" if skip is None else " ".join(f"{c:>+10.4g}" for c in skip[output, :columns])
        lines.append(f"{output + 1:>7} {intercepts[output]:>+10.4g} {linear}".rstrip())
    return "\n".join(lines)
