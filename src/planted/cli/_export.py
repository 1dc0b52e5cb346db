"""`planted export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, Json, Quiet, Seed, known, print_json

_FORMATS = ("onnx", "torch", "sklearn")


def export(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out' or 'planted read --out'.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(_FORMATS)}.")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="File to write; named after the network if omitted.")] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Write ONNX or torch in double precision.")] = False,
    simplify: Annotated[bool, typer.Option("--simplify", help="Drop dead neurons and merge equal ones first.")] = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Write a network for another library: ONNX, a torch module (saved by torch.save), or scikit-learn (joblib).

    Example: planted export network --to onnx --out model.onnx
    """
    known("format", to, _FORMATS)
    if not model.is_file():
        raise ValueError(f"no model file at {model}")
    endings = {"onnx": ".onnx", "torch": ".pt", "sklearn": ".joblib"}
    target = model.with_suffix(endings[to]) if out is None else out
    if not target.parent.is_dir():
        raise ValueError(f"no folder {target.parent} to write {target.name} to")

    from planted.networks import Network

    network = Network.load(model)
    if simplify:
        network = network.simplify()
    dtype = "float64" if float64 else "float32"
    if to == "onnx":
        network.to_onnx(target, dtype)
    elif to == "torch":
        module = network.to_torch(dtype)
        import torch

        torch.save(module, target)
    else:
        import joblib

        joblib.dump(network.to_sklearn(), target)
    if as_json:
        print_json({"format": to, "file": str(target), "n_hidden": network.n_hidden})
    else:
        typer.echo(f"{network.n_hidden} neurons written to {target}")
    return DONE
