"""`planted fit`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import Force, Json, Quiet, Seed, check_file, known, names_in, progress_bar
from planted.cli._imported import LAW_HELP, named_law
from planted.cli._label_options import Alpha, ClassWeight, Link, Loss, Restarts, Solver, Split, label_options
from planted.cli._patches import Patch, patch_shape
from planted.cli._program_cache import remember_programs
from planted.cli._report import Report, reported
from planted.cli._sources import (
    Categorical,
    CheckpointFolder,
    Columns,
    Engine,
    Exclude,
    Float32,
    Header,
    Missing,
    Place,
    Resume,
    Scheduler,
    Weights,
    check_data,
    chosen_engine,
)
from planted.cli._words import in_flags
from planted.names import ACTIVATIONS, METHODS, MISSING_RULES, TASKS


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            help="A table: CSV and the like (compressed or not), Parquet, Arrow, Excel, NPY, NPZ; a folder of Parquet "
            "files; - for standard input."
        ),
    ],
    target: Annotated[
        str, typer.Option(help="Column to explain (in an NPZ file, an array); several, comma-separated.")
    ] = "y",
    features: Annotated[str | None, typer.Option(help="Input columns, comma-separated; all others if omitted.")] = None,
    exclude: Exclude = None,
    categorical: Categorical = False,
    missing: Missing = "refuse",
    header: Header = None,
    weights: Weights = None,
    hidden: Annotated[str, typer.Option(help="Number of neurons, or 'auto' to find it.")] = "auto",
    task: Annotated[str, typer.Option(help="regression, or classification for a target that is a label.")] = TASKS[0],
    activation: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(ACTIVATIONS)}; auto compares them on held-out rows, for classification those that "
            "suit the link, and is relu for a shared filter."
        ),
    ] = "auto",
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "auto",
    inputs: Annotated[str, typer.Option(help=f"Law of the inputs, {LAW_HELP}.")] = "auto",
    bias: Annotated[
        bool | None,
        typer.Option("--bias/--no-bias", help="Whether neurons have biases; decided by held-out rows if omitted."),
    ] = None,
    intercept: Annotated[
        bool | None, typer.Option("--intercept/--no-intercept", help="Whether the output has an intercept; likewise.")
    ] = None,
    skip: Annotated[
        bool | None, typer.Option("--skip/--no-skip", help="Whether a linear part stands beside the neurons; likewise.")
    ] = None,
    time_budget: Annotated[
        float | None, typer.Option(help="Seconds after which the best network until then is finished and reported.")
    ] = None,
    link: Link = "auto",
    alpha: Alpha = "0",
    class_weight: ClassWeight = None,
    loss: Loss = "likelihood",
    solver: Solver = "newton",
    split: Split = False,
    restarts: Restarts = None,
    conv: Annotated[bool, typer.Option("--conv", help="One filter shared by all patches of a row.")] = False,
    patch: Patch = None,
    patches: Annotated[int | None, typer.Option(min=1, help="With --conv: patches in a flat row.")] = None,
    filters: Annotated[int, typer.Option(min=1, help="With --conv: how many filters the patches share.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the network to this file (safetensors).")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of the fit to this file (PNG, SVG or PDF).")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with everything about the fit (HTML).")] = None,
    intervals: Annotated[
        float | None, typer.Option(help="Print intervals for every parameter at this level, such as 0.95.")
    ] = None,
    engine: Engine = "auto",
    scheduler: Scheduler = None,
    checkpoint: CheckpointFolder = None,
    resume: Resume = False,
    float32: Float32 = False,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Recover the network behind a table of numbers.

    Example: planted fit data.csv --target y --out model

    What is known need not be looked for: planted fit data.csv --hidden 8 --activation relu --no-bias --no-intercept

    More rows than memory: planted fit data/ --target y --hidden 8 --engine dask --checkpoint fit.checkpoint

    Labels: planted fit data.csv --target species --task classification --link logit --hidden 3 --bias --out model

    A filter shared by the patches of images: planted fit images.npz --conv --patch 4x4 --plot filter.png

    Exit status 0 if the network is recovered or estimated, 1 if it is ambiguous or a misfit.
    """
    began = time.perf_counter()
    known("task", task, TASKS)
    labels = task == "classification"
    known("activation", activation, ("auto", *ACTIVATIONS))
    known("method", method, METHODS)
    law = named_law(inputs)
    given = {"--hidden": hidden != "auto", "--method": method != "auto", "--bias": bias is not None}
    given |= {"--features": bool(features), "--inputs": inputs != "auto", "--task classification": labels}
    given |= {"--intercept": intercept is not None}
    _check_kind(conv, given, {"--patch": patch is not None, "--patches": patches is not None, "--filters": filters > 1})
    if labels:
        _check_labels(method, inputs)
    if (labels or conv) and skip is not None:
        raise ValueError("--skip is for the networks of regression")
    for_labels = label_options(
        labels, intercept, link=link, alpha=alpha, class_weight=class_weight, loss=loss,
        solver=solver, split=split, restarts=restarts,
    )  # fmt: skip
    if intervals is not None and not 0 < intervals < 1:
        raise ValueError("--intervals takes a level between 0 and 1, such as 0.95")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"--time-budget is a positive number of seconds, not {time_budget:g}")
    check_data(data)
    check_file(out, "model", [data], force)
    check_file(plot, "picture", [data, out], force)
    check_file(report, "page", [data, out, plot], force)
    shape = patch_shape(patch)
    table = Columns(exclude, categorical, known("rule for missing values", missing, MISSING_RULES), header, weights)
    engine = chosen_engine(engine, data, scheduler, checkpoint is not None or resume, table.in_memory())
    if engine != "memory" and (patch is not None or filters > 1):
        raise ValueError("rows outside memory are flat: give --patches, not --patch, and one filter")
    if engine != "memory" and plot is not None:
        raise ValueError("--plot shows rows in memory: fit with --engine memory, or plot the network on a sample")
    if resume and checkpoint is None:
        raise ValueError("--resume goes on from a checkpoint: name its folder with --checkpoint")
    if activation == "auto" and conv:
        activation = "relu"
    options: dict[str, Any] = {"activation": activation, "random_state": seed, "time_budget": time_budget}
    if conv:
        # Rows in memory come as patches already.
        options |= {"n_patches": None if engine == "memory" else patches, "n_filters": filters}
    else:
        options |= {"n_hidden": _width(hidden)}
        parts = {"fit_bias": bias, "fit_intercept": intercept, "fit_skip": skip}
        options |= (
            for_labels | {"fit_bias": "auto" if bias is None else bias}
            if labels
            else {name: "auto" if part is None else part for name, part in parts.items()}
            | {"method": method, "inputs": law}
        )
    place = Place(data, target, features, engine, scheduler, checkpoint, resume, float32, table)
    remember_programs()
    with place.opened(conv, patch, patches, labels) as source, progress_bar(quiet) as bar:
        source.check_rows(data)
        estimator = _estimator(conv, labels, options | {"progress": bar})
        _fit_quietly(estimator, source.X, source.y, **source.options)
    source.warn()
    made = Report(estimator, source.names, out, plot, intervals, report, source, began)
    with reported(made, as_json) as shown:
        if out is not None:
            signed = {
                "encoding": source.encoding,
                "targets": tuple(names_in(target)),
                "patch": shape,
                "weights": weights,
            }
            estimator.save(out, _about(estimator, data, options), **signed)
        source.done()
        if plot is not None:
            _draw(plot, estimator, source, None if shape is None else (shape[0], shape[1]))
        if report is not None:
            estimator.report(report, names=source.names, targets=names_in(target), model=str(out or ""))
    return shown.show(as_json)


def _check_kind(conv: bool, dense: dict[str, bool], patches: dict[str, bool]) -> None:
    """Raise unless the options go together: those of dense networks, or those of shared filters."""
    for name, given in (dense if conv else patches).items():
        if given and conv:
            raise ValueError(f"{name} does not go with --conv, which has one filter for all patches")
        if given:
            raise ValueError(f"{name} describes a shared filter: add --conv")


def _check_labels(method: str, inputs: str) -> None:
    if method not in ("auto", "tensor"):
        raise ValueError(f"classification has its own method: leave --method out, or 'tensor', not {method!r}")
    if inputs != "auto":
        raise ValueError("--inputs is for regression: the tensor start of classification assumes Gaussian inputs")


def _width(hidden: str) -> int | str:
    if hidden == "auto":
        return hidden
    if not hidden.isdigit() or int(hidden) < 1:
        raise ValueError(f"--hidden must be a positive integer or 'auto', not {hidden!r}")
    return int(hidden)


def _estimator(conv: bool, labels: bool, options: dict[str, Any]) -> Any:
    from planted.estimators import PlantedClassifier, PlantedConvRegressor, PlantedRegressor

    return (PlantedConvRegressor if conv else PlantedClassifier if labels else PlantedRegressor)(**options)


def _about(estimator: Any, data: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What a network belongs to: the data's name and fingerprint, and the settings of the fit."""
    settings = {name: str(value) for name, value in options.items()}
    return {"file": data.name, **estimator.fingerprint_, "settings": settings}


def _fit_quietly(estimator: Any, X: Any, y: Any, **options: Any) -> None:
    """Fit; warnings become sentences on standard error, but for the one that repeats what the report says."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
        estimator.fit(X, y, **options)
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        typer.echo(f"planted: {in_flags(sentence)}", err=True)


def _draw(path: Path, estimator: Any, source: Any, shape: tuple[int, int] | None) -> None:
    import numpy as np

    from planted.plots import save_conv_fit, save_fit, save_label_fit

    result = estimator.result_
    if "restarts" in result.details:
        save_conv_fit(path, result, result.network.predict(source.X), source.y, shape)
        return
    rows = source.X.reshape(len(source.X), -1)
    if hasattr(estimator, "classes_"):
        codes = np.searchsorted(estimator.classes_, np.asarray(source.y))
        save_label_fit(path, result, estimator.predict_proba(rows), codes, list(estimator.classes_))
        return
    widths = getattr(estimator, "width_losses_", None) if hasattr(estimator, "inputs_") else None
    save_fit(path, result, result.network.predict(rows), source.y, widths)
