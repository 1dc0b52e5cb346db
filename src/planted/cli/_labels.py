"""What `planted certify --task classification` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, print_json, read_rows


def certify_labels(network: Any, data: Path, target: str, features: str | None, seed: int, as_json: bool) -> int:
    """Certify neurons fitted to labels: minimum of the likelihood, standard errors, geometry of the basin."""
    import numpy as np

    import planted
    from planted.certificates import label_basin, uncertainty
    from planted.objectives import Likelihood

    X, y, _ = read_rows(data, target, features)
    if X.shape[1] != network.n_features:
        raise ValueError(f"{data} has {X.shape[1]} input columns but the network takes {network.n_features}")
    if not np.allclose(network.output, 1 / network.n_hidden):
        raise ValueError("a network of probabilities has all outputs 1/k: this one was not fitted to labels")
    if not set(np.unique(y)) <= {0.0, 1.0}:
        raise ValueError(f"column {target} of {data} must hold labels 0 and 1")
    bias = network.bias is not None
    params = {"weights": network.weights, "bias": network.bias} if bias else network.weights
    loss = Likelihood(X, y, network.activation, bias)
    certificate, sure = planted.certify(loss, params), uncertainty(loss, params)
    # The theorems are about neurons without biases.
    basin = None if bias else label_basin(X, y, network.weights, network.activation, random_state=seed)
    if as_json:
        print_json(
            {
                "kind": certificate.kind,
                "reason": certificate.reason,
                "value": certificate.value,
                "gradient_norm": certificate.gradient_norm,
                "min_eigenvalue": certificate.min_eigenvalue,
                "expected_error": sure.expected_error,
                "standard_errors": sure.weights,
                "local_geometry": None if basin is None else basin.numbers(),
            }
        )
    else:
        typer.echo(str(certificate))
        typer.echo(
            f"labels alone leave an expected relative weight error of {sure.expected_error:.2g}; "
            f"{sure.rows_for(0.1):,.0f} rows bring it to 0.1"
        )
        if basin is not None:
            typer.echo(str(basin))
    return DONE if certificate.kind in {"global minimum", "local minimum"} else NOT_RECOVERED
