"""`planted plot`."""

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
    known,
    print_json,
    progress_bar,
    read_model,
    targets_of,
)
from planted.cli._patches import Patch
from planted.cli._program_cache import remember_programs
from planted.cli._rows import Request
from planted.cli._sources import Header, Weights
from planted.names import PLOT_LOSSES, PLOTS, count_of, unknown


def plot(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|KIND", help=f"A model written by 'planted fit --out', or one of {', '.join(PLOTS)}."
        ),
    ],
    data: Annotated[
        Path | None, typer.Argument(help="With a model: the table to draw it beside; - for standard input.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With a model: the column it explains; that of the fit if omitted.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="With a model: input columns by place, comma-separated; with a KIND: how many inputs."),
    ] = None,
    patch: Patch = None,
    header: Header = None,
    weights: Weights = None,
    out: Annotated[Path | None, typer.Option(help="File to write; planted-KIND.png (.gif) if omitted.")] = None,
    loss: Annotated[str, typer.Option(help=f"One of {', '.join(PLOT_LOSSES)}; slices show all.")] = "G",
    samples: Annotated[int, typer.Option(min=100, help="Rows for L; the others are taken in expectation.")] = 20_000,
    steps: Annotated[int | None, typer.Option(min=10, help="Steps of gradient descent.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Draw your own model beside rows, or a descent towards a planted network.

    planted plot model data.csv draws the model: weights by name, the response of each neuron beside what the rows say,
    prediction, residuals and their histogram; for labels whether the probabilities are right; for images the filter.

    A KIND draws a descent with a known teacher. descent: error and loss against iterations. permutation, animation: the
    heat map of |B B*⁻¹| turning into a permutation. sphere: neurons locking on for 2 or 3 inputs. spectrum: the
    Hessian's eigenvalues on the way. slices: the squared loss beside G and L, with the way taken on each.

    Examples: planted plot model data.csv --out model.png

    planted plot sphere --features 3 --out sphere.png
    """
    if data is not None:
        return draw_model(Path(what), Request(data, target, features, patch, header, weights), out, force, as_json)
    if what not in PLOTS and Path(what).is_file():
        raise ValueError(f"name the table that the model is to be drawn beside: planted plot {what} data.csv")
    if what not in PLOTS:
        raise ValueError(f"no model file at {what}, and {unknown('picture', what, PLOTS)}")
    known("loss", loss, PLOT_LOSSES)
    if features is not None and (not features.isdigit() or int(features) < 2):
        raise ValueError(f"--features is a number of inputs from 2 on for a picture of {what}, not {features!r}")
    size = None if features is None else int(features)
    file = Path(f"planted-{what}.{'gif' if what == 'animation' else 'png'}") if out is None else out
    check_file(file, "picture", force=force)

    from planted.plots import save_picture
    from planted.solvers import silent

    remember_programs()
    with progress_bar(quiet) as report:
        paths = save_picture(
            what, file, loss=loss, d=size, steps=steps, samples=samples, seed=seed, progress=report or silent
        )
    errors = [float(path.error[-1]) for path in paths]
    if as_json:
        print_json({"kind": what, "file": str(file), "errors": errors, "steps": int(paths[0].step[-1])})
    else:
        typer.echo(f"picture written to {file}; parameter error at the end {', '.join(f'{e:.2g}' for e in errors)}")
    return DONE


def draw_model(model: Path, request: Request, out: Path | None, force: bool, as_json: bool) -> int:
    """Write the picture of a model beside the rows of a table."""
    from dataclasses import replace

    from planted.numerics.reading import check_source

    check_source(model, "model")
    check_table(request.data)
    file = Path(f"planted-{model.stem}.png") if out is None else out
    check_file(file, "picture", [model, request.data], force)

    from planted.cli._predict import scored, scores
    from planted.estimators import label_codes
    from planted.plots import save_model

    saved = read_model(model)
    if request.target is None:
        request = replace(request, target=targets_of(saved))
    classes = saved.signature.classes if saved.labels else None
    rows = request.rows(saved).complete(classes)
    X, y, weight = rows.X, rows.y, rows.weight
    codes = None if classes is None else label_codes(y, classes)
    save_model(file, saved, X, y, names=rows.names, codes=codes, weight=weight)
    measured = scores(saved, X, y, weight)
    if as_json:
        print_json({"model": str(model), "file": str(file), "rows": len(X), **measured})
    else:
        typer.echo(f"picture written to {file}; {count_of(len(X), 'row')}, {scored(measured)}")
    return DONE
