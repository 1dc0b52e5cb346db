"""`planted export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, Force, Json, Quiet, Seed, check_file, known, print_json
from planted.names import EXPORTS, count_of


def export(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out' or 'planted read --out'.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(EXPORTS)}.")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="File to write; named after the network if omitted.")] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Write ONNX or torch in double precision.")] = False,
    simplify: Annotated[bool, typer.Option("--simplify", help="Drop dead neurons and merge equal ones first.")] = False,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Write a network for another library: ONNX, a torch module (saved by torch.save), or scikit-learn (joblib).

    Example: planted export network --to onnx --out model.onnx
    """
    known("format", to, tuple(EXPORTS))
    if not model.is_file():
        raise ValueError(f"no model file at {model}")
    target = model.with_suffix(EXPORTS[to]) if out is None else out
    check_file(target, to, inputs=(model,), force=force)

    from planted.networks import Network, export_network

    network = Network.load(model)
    if simplify:
        network = network.simplify()
    export_network(network, target, to, "float64" if float64 else "float32")
    if as_json:
        print_json({"format": to, "file": str(target), "n_hidden": network.n_hidden})
    else:
        typer.echo(f"{count_of(network.n_hidden, 'neuron')} written to {target}")
    return DONE
