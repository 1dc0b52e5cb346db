"""`planted fit --conv`, and what the other commands need for models with a shared filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, print_json, progress_bar

Patch = Annotated[
    str | None, typer.Option(help="For a shared filter: X holds images, cut into patches of this HEIGHTxWIDTH.")
]


def patch_shape(text: str | None) -> tuple[int, int] | None:
    """(height, width) from "4x4", None from None.

    >>> patch_shape("4x3")
    (4, 3)
    >>> patch_shape("4")
    Traceback (most recent call last):
    ValueError: --patch must be HEIGHTxWIDTH such as 4x4, not '4'
    """
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d*)[xX×]([1-9]\d*)", text)
    if found is None:
        raise ValueError(f"--patch must be HEIGHTxWIDTH such as 4x4, not {text!r}")
    return int(found[1]), int(found[2])


def check_options(conv: bool, patch: str | None, patches: int | None, others: dict[str, bool]) -> None:
    """Raise unless the options go together; `others` says which of those that --conv excludes were given.

    >>> check_options(False, "4x4", None, {})
    Traceback (most recent call last):
    ValueError: --patch and --patches describe a shared filter: add --conv
    """
    if not conv:
        if patch is not None or patches is not None:
            raise ValueError("--patch and --patches describe a shared filter: add --conv")
        return
    patch_shape(patch)
    for name, given in others.items():
        if given:
            raise ValueError(f"{name} does not go with --conv, which has one filter for all patches")


def read_patches(data: Path, target: str | None, patch: str | None, patches: int | None) -> tuple[Any, Any]:
    """Patches (n, k, p) and targets from a file.

    >>> read_patches(Path("nowhere.npz"), "y", None, None)
    Traceback (most recent call last):
    planted.datasets.DataError: no data file at nowhere.npz
    """
    from planted.datasets import read_arrays, to_patches

    shape = patch_shape(patch)
    X, y = read_arrays(data, target)
    if shape is None and X.ndim == 4:
        raise ValueError(f"{data}: X holds images of {X.shape[1]}x{X.shape[2]} pixels: give --patch HEIGHTxWIDTH")
    if shape is None and X.ndim == 2 and patches is None:
        raise ValueError(f"{data}: X has flat rows: give --patches, how many patches make up a row")
    return to_patches(X, patches, shape), y


def fit_conv(
    data: Path, target: str, activation: str, patch: str | None, patches: int | None, filters: int, out: Path | None,
    plot: Path | None, seed: int, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    """Recover a shared filter, or several, and write, draw and print it."""
    from planted.methods import recover_conv
    from planted.solvers import silent

    Z, y = read_patches(data, target, patch, patches)
    if filters > 1:
        return _fit_filters(Z, y, activation, filters, out, plot, seed, quiet, as_json)
    with progress_bar(quiet) as report:
        result = recover_conv(Z, y, activation=activation, random_state=seed, progress=report or silent)
    network, shape = result.network, patch_shape(patch)
    if out is not None:
        network.save(out)
    if plot is not None:
        from planted.plots import save_conv_fit

        save_conv_fit(plot, result, network.predict(Z), y, shape)
    return report_conv(result, shape, out, plot, as_json)


def report_conv(result: Any, shape: tuple[int, ...] | None, out: Path | None, plot: Path | None, as_json: bool) -> int:
    """Print a shared filter that was recovered; the exit status."""
    from planted.datasets import patch_to_image

    network = result.network
    if as_json:
        print_json(
            {
                "status": result.status,
                "reason": result.reason,
                "loss": result.loss,
                "noise": result.noise,
                "expected_error": result.expected_error,
                "seconds": result.seconds,
                "restarts": [vars(restart) for restart in result.restarts],
                "network": {
                    "activation": network.activation.name,
                    "parameters": dict(network.activation.parameters),
                    "filter": network.filter if shape is None else patch_to_image(network.filter, shape),
                    "output": network.output,
                },
                "model": None if out is None else str(out),
            }
        )
    else:
        typer.echo(str(result))
        for name, values in (("filter", network.filter), ("output", network.output)):
            more = f" … {len(values) - 8} more" if len(values) > 8 else ""
            typer.echo(f"{name}: {' '.join(f'{value:+.4f}' for value in values[:8])}{more}")
        for path, what in ((out, "network"), (plot, "picture")):
            if path is not None:
                typer.echo(f"{what} written to {path}")
    return DONE if result.status == "recovered" else NOT_RECOVERED


def _fit_filters(
    Z: Any, y: Any, activation: str, filters: int, out: Path | None, plot: Path | None, seed: int, quiet: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Recover several shared filters; the network written is fully connected on flat rows."""
    from planted.methods import recover_filters
    from planted.solvers import silent

    with progress_bar(quiet) as report:
        result = recover_filters(Z, y, filters, activation=activation, random_state=seed, progress=report or silent)
    if out is not None:
        result.network.save(out)
    if plot is not None:
        from planted.plots import save_fit

        save_fit(plot, result, result.network.predict(Z.reshape(len(Z), -1)), y)
    if as_json:
        summary = {"status": result.status, "reason": result.reason, "loss": result.loss, "seconds": result.seconds}
        print_json(summary | {name: result.details[name] for name in ("filters", "outputs")})
    else:
        typer.echo(str(result))
        for i, row in enumerate(result.details["filters"]):
            typer.echo(f"filter {i}: {' '.join(f'{value:+.4f}' for value in row[:8])}{' …' * (len(row) > 8)}")
    return NOT_RECOVERED if result.status == "failed" else DONE
