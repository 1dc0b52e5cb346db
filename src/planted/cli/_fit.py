"""`planted fit`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import (
    DONE,
    NOT_RECOVERED,
    Json,
    Quiet,
    Seed,
    describe_network,
    known,
    network_report,
    print_json,
    progress_bar,
    read_rows,
)
from planted.cli._conv import Patch, check_options, fit_conv, report_conv
from planted.cli._large import (
    CheckpointFolder,
    Engine,
    Float32,
    Large,
    Resume,
    Scheduler,
    chosen_engine,
    kept,
    opened_rows,
)
from planted.names import ACTIVATIONS, DENSITIES, METHODS, TASKS


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="CSV, TSV, Parquet, NPY or NPZ file, or folder of Parquet files, of numbers."),
    ],
    target: Annotated[str, typer.Option(help="Column to explain (in an NPZ file, an array).")] = "y",
    features: Annotated[str | None, typer.Option(help="Input columns, comma-separated; all others if omitted.")] = None,
    hidden: Annotated[str, typer.Option(help="Number of neurons, or 'auto' to find it.")] = "auto",
    task: Annotated[str, typer.Option(help="regression, or classification for a target with two values.")] = TASKS[0],
    activation: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(ACTIVATIONS)}; relu, or sigmoid for classification, if omitted."),
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "auto",
    inputs: Annotated[str, typer.Option(help=f"Law of the inputs, one of {', '.join(DENSITIES)}.")] = "auto",
    bias: Annotated[bool, typer.Option("--bias", help="Neurons have biases.")] = False,
    conv: Annotated[bool, typer.Option("--conv", help="One filter shared by all patches of a row.")] = False,
    patch: Patch = None,
    patches: Annotated[int | None, typer.Option(min=1, help="With --conv: patches in a flat row.")] = None,
    filters: Annotated[int, typer.Option(min=1, help="With --conv: how many filters the patches share.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the network to this file (safetensors).")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of the fit to this file (PNG, SVG or PDF).")
    ] = None,
    intervals: Annotated[
        float | None, typer.Option(help="Print intervals for every parameter at this level, such as 0.95.")
    ] = None,
    engine: Engine = "auto",
    scheduler: Scheduler = None,
    checkpoint: CheckpointFolder = None,
    resume: Resume = False,
    float32: Float32 = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Recover the network behind a table of numbers.

    Example: planted fit data.csv --target y --hidden 8 --activation relu --out model

    More rows than memory: planted fit data/ --target y --hidden 8 --engine dask --checkpoint fit.checkpoint

    A filter shared by the patches of images: planted fit images.npz --conv --patch 4x4 --plot filter.png
    """
    known("task", task, TASKS)
    labels = task == "classification"
    activation = known("activation", activation or ("sigmoid" if labels else "relu"), ACTIVATIONS)
    known("method", method, METHODS)
    known("inputs", inputs, DENSITIES)
    given = {"--hidden": hidden != "auto", "--method": method != "auto", "--bias": bias, "--features": bool(features)}
    given["--inputs"] = inputs != "auto"
    check_options(conv, patch, patches, given)
    if filters > 1 and not conv:
        raise ValueError("--filters counts shared filters: add --conv")
    if labels and method not in ("auto", "tensor"):
        raise ValueError(f"classification has its own method: leave --method out, or 'tensor', not {method!r}")
    if labels and inputs != "auto":
        raise ValueError("--inputs is for regression: classification assumes Gaussian inputs")
    if intervals is not None and (conv or not 0 < intervals < 1):
        raise ValueError("--intervals takes a level between 0 and 1, such as 0.95, and is not for --conv")
    width: int | str = hidden
    if hidden != "auto":
        if not hidden.isdigit() or int(hidden) < 1:
            raise ValueError(f"--hidden must be a positive integer or 'auto', not {hidden!r}")
        width = int(hidden)
    for path in (out, plot):
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"no folder {path.parent} to write {path.name} to")
    if not data.exists():
        raise ValueError(f"no data file at {data}")
    engine = chosen_engine(engine, data, scheduler, checkpoint is not None or resume)
    if engine != "memory":
        if conv and (patch is not None or filters > 1):
            raise ValueError("rows outside memory are flat: give --patches, not --patch, and one filter")
        place = Large(engine, scheduler, _checkpoint_folder(checkpoint, data, out), resume, float32)
        if conv:
            model: Any = partial(_conv_estimator, activation, patches)
        else:
            model = partial(_estimator, labels, width, activation, bias, method, inputs)
        return _fit_large(data, target, features, model, place, out, plot, intervals, seed, quiet, as_json)
    if conv:
        return fit_conv(data, target, activation, patch, patches, filters, out, plot, seed, quiet, as_json)

    X, y, names = read_rows(data, target, features)
    with progress_bar(quiet) as report:
        estimator = _estimator(labels, width, activation, bias, method, inputs, random_state=seed, progress=report)
        _fit_quietly(estimator, X, y)
    if out is not None:
        estimator.network_.save(out)
    if plot is not None:
        from planted.plots import save_fit

        widths = getattr(estimator, "width_losses_", None)
        save_fit(plot, estimator.result_, estimator.network_.predict(X), y, None if labels else widths)
    _report(estimator, names, out, plot, as_json, intervals)
    return NOT_RECOVERED if estimator.result_.status == "failed" else DONE


def _estimator(labels: bool, width: Any, activation: str, bias: bool, method: str, inputs: str, **shared: Any) -> Any:
    from planted.estimators import PlantedClassifier, PlantedRegressor

    shared |= {"n_hidden": width, "activation": activation, "fit_bias": bias}
    return PlantedClassifier(**shared) if labels else PlantedRegressor(method=method, inputs=inputs, **shared)


def _conv_estimator(activation: str, patches: int | None, **shared: Any) -> Any:
    from planted.estimators import PlantedConvRegressor

    return PlantedConvRegressor(n_patches=patches, activation=activation, **shared)


def _checkpoint_folder(given: Path | None, data: Path, out: Path | None) -> Path:
    """The folder named, otherwise one beside the network's file, or in the current folder after the data's name."""
    if given is not None:
        return given
    return (Path(data.resolve().name) if out is None else out).with_suffix(".checkpoint")


def _fit_large(
    data: Path, target: str, features: str | None, model: Any, place: Large, out: Path | None, plot: Path | None,
    level: float | None, seed: int, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    if plot is not None:
        raise ValueError("--plot shows rows in memory: fit with --engine memory, or plot the network on a sample")
    with (
        opened_rows(place.engine, data, target, features, place.scheduler, place.float32) as rows,
        progress_bar(quiet) as report,
        kept(place.checkpoint),
    ):
        estimator = model(random_state=seed, progress=report)
        _fit_quietly(estimator, rows, None, checkpoint=place.checkpoint, resume=place.resume)
        if out is not None:
            estimator.network_.save(out)
    if not hasattr(estimator, "certificate_"):
        return report_conv(estimator.result_, None, out, None, as_json)
    _report(estimator, list(rows.names), out, None, as_json, level)
    return NOT_RECOVERED if estimator.result_.status == "failed" else DONE


def _fit_quietly(estimator: Any, X: Any, y: Any, **options: Any) -> None:
    """Fit; warnings become sentences on standard error, but for the one that repeats what the report says."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y, **options)
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        typer.echo(f"planted: {sentence}", err=True)


def _intervals(estimator: Any, level: float | None) -> dict[str, Any] | None:
    """Lower and upper ends of every parameter, neuron by neuron, when asked for."""
    if level is None:
        return None
    import numpy as np

    found: dict[str, Any] = {}
    for name, ends in estimator.confidence_intervals(level).items():
        ends = np.asarray(ends)
        if ends.ndim == 3:
            found |= {f"{name} of neuron {i}": ends[:, i] for i in range(ends.shape[1])}
        else:
            found[name] = np.atleast_2d(ends.reshape(2, -1))
    return {name: (ends[0].tolist(), ends[1].tolist()) for name, ends in found.items()}


def _report(
    estimator: Any, names: list[str], out: Path | None, plot: Path | None, as_json: bool, level: float | None
) -> None:
    result, certificate = estimator.result_, estimator.certificate_
    verdict = getattr(estimator, "verdict_", None)
    law = getattr(estimator, "inputs_", None)
    if as_json:
        print_json(
            {
                "status": result.status,
                "reason": result.reason,
                "advice": result.advice,
                "method": result.method,
                "loss": result.loss,
                "relative_loss": result.relative_loss,
                "seconds": result.seconds,
                "certificate": {"kind": certificate.kind, "reason": certificate.reason},
                "verdict": None if verdict is None else {"kind": verdict.kind, "reason": verdict.reason},
                "intervals": _intervals(estimator, level),
                "network": network_report(estimator.network_),
                "inputs": names,
                "input_law": None if law is None else str(law),
                "width_losses": getattr(estimator, "width_losses_", None),
                "details": result.details,
                "model": None if out is None else str(out),
            }
        )
        return
    typer.echo(str(result))
    if verdict is not None:
        typer.echo(f"verdict: {verdict.kind} ({verdict.reason})")
    if law is not None and law.law is not None:
        typer.echo(f"inputs: {law}")
    typer.echo(f"certificate: {certificate.kind} ({certificate.reason})")
    constants = result.details.get("constants")
    if constants:
        typer.echo("constants: " + ", ".join(f"{name} {value:.4g}" for name, value in constants.items()))
    typer.echo(describe_network(estimator.network_, names))
    intervals = _intervals(estimator, level)
    if intervals is not None:
        typer.echo(
            f"{100 * (level or 0):g} % intervals for independent noise, of the same network in canonical form "
            "(unit rows where the activation is homogeneous, neurons sorted by their weights):"
        )
        for name, (lower, upper) in intervals.items():
            typer.echo(f"  {name}: " + ", ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(lower, upper, strict=True)))
    if out is not None:
        typer.echo(f"network written to {out}")
    if plot is not None:
        typer.echo(f"picture written to {plot}")
