"""`planted predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import (
    DONE,
    Force,
    Json,
    Quiet,
    Seed,
    check_file,
    check_table,
    print_json,
    read_network,
    read_rows,
)
from planted.cli._patches import Patch, read_patches


def predict(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or NPZ file with the network's inputs.")],
    features: Annotated[str | None, typer.Option(help="Input columns in order, comma-separated.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Column to leave out, and to compare with; several, comma-separated.")
    ] = None,
    patch: Patch = None,
    out: Annotated[Path | None, typer.Option(help="Write a CSV with one column, 'prediction'.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Evaluate a recovered network on new rows.

    Example: planted predict model new.csv --target y --out predictions.csv
    """
    from planted.numerics.reading import check_source

    check_source(model, "model")
    check_table(data)
    check_file(out, "predictions", [model, data], force)

    import numpy as np

    from planted.networks import ConvNetwork
    from planted.numerics.files import write_whole

    network = read_network(model)
    if isinstance(network, ConvNetwork):
        X, y = read_patches(data, target, patch, network.n_patches)
    else:
        X, y, _ = read_rows(data, target, features)
        if X.shape[1] != network.n_features:
            raise ValueError(
                f"{data} has {X.shape[1]} input columns but the network takes {network.n_features}; "
                "name them with --features, or the column to leave out with --target"
            )
    values = network.predict(X)
    r2 = None if y is None else 1 - float(np.mean((values - y) ** 2) / max(np.mean(np.var(y, axis=0)), 1e-300))
    columns = values.reshape(len(values), -1)
    heads = ["prediction"] if values.ndim == 1 else [f"prediction {i}" for i in range(columns.shape[1])]
    lines = [",".join(heads), *(",".join(map(repr, row)) for row in columns.tolist())]
    if out is not None:
        try:
            write_whole(out, "".join(f"{line}\n" for line in lines).encode())
        except OSError:
            typer.echo("\n".join(lines))
            raise
    if as_json:
        print_json({"rows": len(values), "r2": r2, "predictions": None if out is not None else values})
        return DONE
    if out is None:
        typer.echo("\n".join(lines))
    else:
        typer.echo(f"{len(values)} predictions written to {out}")
    if r2 is not None:
        typer.echo(f"R² {r2:.6g}", err=out is None)
    return DONE
