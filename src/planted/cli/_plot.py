"""`planted plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, Force, Json, Quiet, Seed, check_file, known, print_json, progress_bar
from planted.names import PLOT_LOSSES, PLOTS


def plot(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")],
    out: Annotated[Path | None, typer.Option(help="File to write; planted-KIND.png (.gif) if omitted.")] = None,
    loss: Annotated[str, typer.Option(help=f"One of {', '.join(PLOT_LOSSES)}; slices show all.")] = "G",
    features: Annotated[int | None, typer.Option(min=2, help="Inputs, and as many planted neurons.")] = None,
    samples: Annotated[int, typer.Option(min=100, help="Rows for L; the others are taken in expectation.")] = 20_000,
    steps: Annotated[int | None, typer.Option(min=10, help="Steps of gradient descent.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Draw a descent towards a planted network: its error, its overlap with the teacher, the landscape around it.

    descent: error and loss against iterations. permutation, animation: the heat map of |B B*⁻¹| turning into a
    permutation. sphere: neurons locking on for 2 or 3 inputs. spectrum: the Hessian's eigenvalues on the way. slices:
    the squared loss beside G and L, with the way taken on each.

    Example: planted plot sphere --features 3 --out sphere.png
    """
    known("picture", kind, PLOTS)
    known("loss", loss, PLOT_LOSSES)
    file = Path(f"planted-{kind}.{'gif' if kind == 'animation' else 'png'}") if out is None else out
    check_file(file, "picture", force=force)

    from planted.plots import save_picture
    from planted.solvers import silent

    with progress_bar(quiet) as report:
        paths = save_picture(
            kind, file, loss=loss, d=features, steps=steps, samples=samples, seed=seed, progress=report or silent
        )
    errors = [float(path.error[-1]) for path in paths]
    if as_json:
        print_json({"kind": kind, "file": str(file), "errors": errors, "steps": int(paths[0].step[-1])})
    else:
        typer.echo(f"picture written to {file}; parameter error at the end {', '.join(f'{e:.2g}' for e in errors)}")
    return DONE
