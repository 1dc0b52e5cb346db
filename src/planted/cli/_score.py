"""`planted score`."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import (
    DONE,
    NOT_RECOVERED,
    Force,
    Json,
    Quiet,
    Seed,
    check_file,
    check_table,
    print_json,
    read_rows,
)
from planted.cli._program_cache import remember_programs


def score(
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or NPZ file with numbers, one row a sample.")],
    order: Annotated[int, typer.Option(min=1, max=4, help="m of ∇^m f / f; 3 and 4 want --degree 4.")] = 1,
    bandwidth: Annotated[
        str,
        typer.Option(
            help="A positive number; 'rule' (s·n^(-1/(2p+2+d)), s the spread); 'held-out' (score matching, for S₁); "
            "'moment' (least error of E[y S₄])."
        ),
    ] = "rule",
    degree: Annotated[
        int, typer.Option(min=1, max=4, help="p of the local polynomial; 2 takes any number of inputs, others up to 3.")
    ] = 2,
    query: Annotated[Path | None, typer.Option(help="Where scores are wanted; at the rows of DATA if omitted.")] = None,
    features: Annotated[str | None, typer.Option(help="Input columns, comma-separated; all others if omitted.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to leave out.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the scores to this CSV file.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Estimate the score functions of the density that rows were drawn from, by local likelihood.

    One line a query point: the distinct entries of the score (of order 2, those on and above the diagonal), the
    effective number of neighbours, and a status; entries are empty where there is no usable fit. Exit status 1 if none
    has one.

    Example: planted score data.csv --target y --order 1 --bandwidth held-out --out scores.csv
    """
    for path in (data, query):
        if path is not None:
            check_table(path)
    check_file(out, "scores", [data, query], force)
    width = bandwidth_from(bandwidth)

    from planted.inputs import LocalLikelihood

    remember_programs()
    X, _, names = read_rows(data, target, features)
    points = None
    if query is not None:
        points, _, given = read_rows(query, None, ",".join(names))
        if len(given) != len(names):
            raise ValueError(f"{query} has {len(given)} input columns but {data} has {len(names)}")
    estimate = LocalLikelihood(width, degree, random_state=seed).fit(X)
    fit = estimate.local_fit(points)
    columns = _columns(fit.score(order), names, order)
    columns |= {"neighbours": fit.neighbours, "status": fit.status}
    if out is not None:
        _write(columns, out)
    if as_json:
        report = {"rows": len(X), "queries": len(fit.status), "usable": int(fit.ok.sum()), "order": order}
        settings = {"degree": degree, "bandwidth": estimate.bandwidth_, "criterion": estimate.criterion_}
        print_json(report | settings | {"scores": None if out is not None else columns})
    else:
        if out is None:
            _write(columns, None)
        summary = f"{fit}; bandwidth {estimate.bandwidth_:.4g}"
        if out is not None:
            typer.echo(f"{summary}; written to {out}")
        elif not quiet:
            typer.echo(summary, err=True)
    return DONE if fit.ok.any() else NOT_RECOVERED


def bandwidth_from(text: str) -> float | str:
    """The bandwidth that an option names.

    >>> bandwidth_from("0.5"), bandwidth_from("rule")
    (0.5, 'rule')
    >>> bandwidth_from("wide")
    Traceback (most recent call last):
    ValueError: --bandwidth must be a positive number, 'rule', 'held-out' or 'moment', not 'wide'
    """
    if text in ("rule", "held-out", "moment"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise ValueError(f"--bandwidth must be a positive number, 'rule', 'held-out' or 'moment', not {text!r}")
    return value


def _columns(tensor: Any, names: list[str], order: int) -> dict[str, Any]:
    """The distinct entries of a symmetric tensor a row (n, d, …, d), by the names of their inputs."""
    places = combinations_with_replacement(range(len(names)), order)
    return {"score_" + "_".join(names[i] for i in place): tensor[(slice(None), *place)] for place in places}


def _write(columns: dict[str, Any], out: Path | None) -> None:
    import polars as pl

    from planted.numerics.files import write_whole

    text = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None)).write_csv()
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        write_whole(out, text.encode())
    except OSError:
        typer.echo(text, nl=False)
        raise
