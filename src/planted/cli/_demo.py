"""`planted demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, Force, Json, Quiet, Seed, check_file, print_json, progress_bar
from planted.cli._program_cache import remember_programs
from planted.names import count_of


def demo(
    features: Annotated[int, typer.Option(min=1, help="Number of inputs.")] = 8,
    hidden: Annotated[int, typer.Option(min=1, help="Number of planted neurons (at most the inputs).")] = 8,
    samples: Annotated[int, typer.Option(min=2, help="Number of rows.")] = 20_000,
    plot: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("planted-demo.png"),
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Plant a network, forget it, recover it from its data, and show how close the recovered one is.

    Beside it runs the usual way, scikit-learn's MLPRegressor with the right number of neurons.
    """
    if hidden > features:
        raise ValueError(f"--hidden must be at most --features, but {hidden} > {features}")
    check_file(plot, "picture", force=force)

    import jax
    import numpy as np

    from planted.datasets import make_planted
    from planted.estimators import PlantedRegressor
    from planted.networks import match
    from planted.plots import save_demo
    from planted.starts import random_rows

    remember_programs()
    data = make_planted(
        samples, features, hidden, weights="correlated", output="positive", condition_number=2.0, random_state=seed
    )
    if not as_json:
        neurons = f"{count_of(hidden, 'ReLU neuron')} on {count_of(features, 'input')}"
        typer.echo(f"planted: {neurons}, {samples} rows, no noise")
    with progress_bar(quiet) as report:
        estimator = PlantedRegressor(
            hidden,
            method="landscape",
            activation="relu",
            fit_bias=False,
            fit_intercept=False,
            random_state=seed,
            progress=report,
        )
        estimator.fit(data.X, data.y)
    distance = match(estimator.network_, data.teacher)
    usual = _usual_way(data.X, data.y, hidden, seed)
    start = np.asarray(random_rows(jax.random.key(seed), hidden, features))
    save_demo(plot, start, estimator.network_, data.teacher, estimator.result_)
    peer = match(usual, data.teacher)
    if as_json:
        print_json(
            {
                "status": estimator.result_.status,
                "weight_error": distance.weight_error,
                "max_angle": distance.max_angle,
                "mlp_weight_error": peer.weight_error,
                "seconds": estimator.result_.seconds,
                "plot": str(plot),
            }
        )
    else:
        typer.echo(str(estimator.result_))
        typer.echo(estimator.summary().table())
        typer.echo(f"against the teacher: {distance}")
        typer.echo(f"scikit-learn's MLPRegressor, same width: weight error {peer.weight_error:.2g}")
        typer.echo(f"picture written to {plot}")
    return DONE if distance.weight_error < 1e-3 else NOT_RECOVERED


def _usual_way(X: Any, y: Any, hidden: int, seed: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    from planted.networks import Network

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mlp = MLPRegressor(hidden_layer_sizes=(hidden,), solver="lbfgs", max_iter=500, random_state=seed).fit(X, y)
    return Network(mlp.coefs_[0].T, mlp.coefs_[1][:, 0], "relu", mlp.intercepts_[0], float(mlp.intercepts_[1][0]))
