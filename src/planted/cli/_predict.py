"""`planted predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, Json, Quiet, Seed, print_json
from planted.cli._conv import Patch, read_patches


def predict(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or NPZ file with the network's inputs.")],
    features: Annotated[str | None, typer.Option(help="Input columns in order, comma-separated.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to leave out, and to compare with.")] = None,
    patch: Patch = None,
    out: Annotated[Path | None, typer.Option(help="Write a CSV with one column, 'prediction'.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Evaluate a recovered network on new rows.

    Example: planted predict model new.csv --target y --out predictions.csv
    """
    for path, what in ((model, "model"), (data, "data")):
        if not path.is_file():
            raise ValueError(f"no {what} file at {path}")
    if out is not None and not out.parent.is_dir():
        raise ValueError(f"no folder {out.parent} to write {out.name} to")

    import numpy as np

    from planted.datasets import read_table
    from planted.networks import ConvNetwork, load_model

    network = load_model(model)
    if isinstance(network, ConvNetwork):
        X, y = read_patches(data, target, patch, network.n_patches)
    else:
        X, y, _ = read_table(data, target, features.split(",") if features is not None else None)
        if X.shape[1] != network.n_features:
            raise ValueError(
                f"{data} has {X.shape[1]} input columns but the network takes {network.n_features}; "
                "name them with --features, or the column to leave out with --target"
            )
    values = network.predict(X)
    r2 = None if y is None else 1 - float(np.mean((values - y) ** 2) / max(np.var(y), 1e-300))
    if out is not None:
        out.write_text("prediction\n" + "".join(f"{value!r}\n" for value in values.tolist()))
    if as_json:
        print_json({"rows": len(values), "r2": r2, "predictions": None if out is not None else values})
        return DONE
    if out is None:
        typer.echo("prediction")
        for value in values.tolist():
            typer.echo(repr(value))
    else:
        typer.echo(f"{len(values)} predictions written to {out}")
    if r2 is not None:
        typer.echo(f"R² {r2:.6g}", err=out is None)
    return DONE
