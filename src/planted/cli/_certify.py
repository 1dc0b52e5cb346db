"""`planted certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, NOT_RECOVERED, Json, Quiet, Seed, known, print_json, read_rows
from planted.cli._conv import Patch, read_patches
from planted.cli._labels import certify_labels
from planted.names import TASKS


def certify(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or NPZ file with inputs and target.")],
    target: Annotated[str, typer.Option(help="Column that the network explains.")] = "y",
    features: Annotated[str | None, typer.Option(help="Input columns in order, comma-separated.")] = None,
    task: Annotated[str, typer.Option(help="regression, or classification for neurons fitted to labels.")] = TASKS[0],
    patch: Patch = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Is this network a global minimum of the squared loss, a trap, or neither? Which theorems apply?

    With --task classification the likelihood takes the place of the squared loss, and the report has the standard
    errors and the geometry of the basin. Exit status 0 if the network is a minimum, 1 if it is not or if that cannot be
    decided.
    """
    known("task", task, TASKS)
    for path, what in ((model, "model"), (data, "data")):
        if not path.is_file():
            raise ValueError(f"no {what} file at {path}")

    import numpy as np

    import planted
    from planted.certificates import assumptions
    from planted.networks import ConvNetwork, load_model
    from planted.objectives import ConvSquared, Squared

    network = load_model(model)
    if task == "classification":
        if isinstance(network, ConvNetwork):
            raise ValueError(f"{model} holds a shared filter, which classification does not take")
        return certify_labels(network, data, target, features, seed, as_json)
    if isinstance(network, ConvNetwork):
        network = network.canonical()  # the loss normalises the filter
        Z, y = read_patches(data, target, patch, network.n_patches)
        certificate = planted.certify(
            ConvSquared(Z, y, network.activation), {"filter": network.filter, "output": network.output}, seed=seed
        )
        table = list(certificate.assumptions)
    else:
        X, y, _ = read_rows(data, target, features)
        if X.shape[1] != network.n_features:
            raise ValueError(f"{data} has {X.shape[1]} input columns but the network takes {network.n_features}")
        params = {"weights": network.weights, "output": network.output}
        if network.bias is not None:
            params["bias"] = network.bias
        if network.intercept:
            params["intercept"] = np.asarray(network.intercept)
        loss = Squared(X, y, network.activation, bias=network.bias is not None, intercept=bool(network.intercept))
        certificate = planted.certify(loss, params, seed=seed)
        table = assumptions(X, network)
    if as_json:
        print_json(certificate.as_dict() | {"assumptions": [row.as_dict() for row in table]})
    else:
        typer.echo(str(certificate))
        for row in table:
            typer.echo(str(row))
    return DONE if certificate.is_minimum else NOT_RECOVERED
