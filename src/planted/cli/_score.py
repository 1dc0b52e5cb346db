"""`planted score`."""

from __future__ import annotations

from dataclasses import replace
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
    known,
    names_in,
    print_json,
    source_of,
)
from planted.cli._program_cache import remember_programs
from planted.cli._rows import missing_rows
from planted.cli._sources import Categorical, Columns, Exclude, Header, Missing
from planted.names import MISSING_RULES


def score(
    data: Annotated[
        Path,
        typer.Argument(
            help="A table, one row a sample: CSV and the like (compressed or not), Parquet, Arrow, Excel, NPY, NPZ; - "
            "for standard input."
        ),
    ],
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
    exclude: Exclude = None,
    categorical: Categorical = False,
    missing: Missing = "refuse",
    header: Header = None,
    out: Annotated[Path | None, typer.Option(help="Write the scores to this CSV file.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Estimate the score functions of the density that rows were drawn from, by local likelihood.

    One line a query point: the distinct entries of the score (of order 2, those on and above the diagonal), the
    effective number of neighbours, and a status; entries are empty where there is no usable fit, and where
    --missing drop leaves a row out. Exit status 1 if none has one.

    Example: planted score data.csv --target y --order 1 --bandwidth held-out --out scores.csv
    """
    for path in (data, query):
        if path is not None:
            check_table(path)
    check_file(out, "scores", [data, query], force)
    width = bandwidth_from(bandwidth)
    columns = Columns(exclude, categorical, known("rule for missing values", missing, MISSING_RULES), header)

    from planted.inputs import LocalLikelihood

    remember_programs()
    table = _rows(data, target, features, columns)
    names = table.names
    asked = table if query is None else _query(query, table, columns)
    estimate = LocalLikelihood(width, degree, random_state=seed).fit(table.X)
    fit = estimate.local_fit(None if query is None else asked.X[asked.rows])
    estimated = _columns(fit.score(order), names, order) | {"neighbours": fit.neighbours, "status": fit.status}
    if not asked.rows.all():
        estimated = _with_gaps(estimated, asked.rows)
        typer.echo(f"planted: {missing_rows(asked.rows, asked.lacking)}: they have no scores", err=True)
    if out is not None:
        _write(estimated, out)
    if as_json:
        report = {"rows": len(table.X), "queries": len(asked.rows), "usable": int(fit.ok.sum()), "order": order}
        settings = {"degree": degree, "bandwidth": estimate.bandwidth_, "criterion": estimate.criterion_}
        print_json(report | settings | {"scores": None if out is not None else estimated})
    else:
        if out is None:
            _write(estimated, None)
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


def _rows(data: Path, target: str | None, features: str | None, columns: Columns) -> Any:
    """The table of inputs; the target is one more column to leave out, in a file of arrays an array."""
    from planted.datasets import open_table
    from planted.numerics.reading import DataError
    from planted.rows import TextError

    targets = [] if target is None else names_in(target)
    options, chosen = columns.options(), None if features is None else names_in(features)
    if data.suffix.lower() == ".npz":
        return open_table(data, targets, chosen, **options)
    try:
        return open_table(source_of(data), None, chosen, **options | {"exclude": [*options["exclude"], *targets]})
    except TextError as error:
        if "--categorical" not in error.command:
            raise
        left = "--exclude leaves it out" if targets else "--target or --exclude leaves it out"
        raise DataError(error.sentence, f"{left}, --categorical makes columns of zeros and ones of it") from None


def _query(query: Path, table: Any, columns: Columns) -> Any:
    """The table of query points, its columns made inputs as those of the rows were."""
    import numpy as np

    from planted.datasets import open_table, read_inputs
    from planted.rows import MissingError

    if table.encoding.plain:
        return open_table(source_of(query), None, table.encoding.columns, header=columns.header)
    refused = columns.missing == "refuse"
    encoding = replace(table.encoding, missing="drop") if refused else table.encoding
    points = read_inputs(source_of(query), encoding, header=columns.header)
    if refused and points.lacking:
        raise MissingError(query, points.lacking[0], int(np.argmin(points.rows)) + 1)
    if not points.rows.any():
        raise ValueError(f"{query}: every row lacks an input")
    return points


def _with_gaps(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Columns with an entry for each of `rows` (n,) of bool: none, and a status of its own, where that is false.

    >>> import numpy as np
    >>> _with_gaps({"score_u": np.array([2.0]), "status": np.array(["ok"])}, np.array([False, True]))
    {'score_u': array([nan,  2.]), 'status': array(['missing value', 'ok'], dtype='<U13')}
    """
    import numpy as np

    places = np.maximum(np.cumsum(rows) - 1, 0)
    return {
        name: np.where(rows, np.asarray(values)[places], "missing value" if name == "status" else np.nan)
        for name, values in columns.items()
    }


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
