"""`planted predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import DONE, Force, Json, Quiet, Seed, check_file, check_table, print_json, read_model
from planted.cli._patches import Patch
from planted.cli._rows import Request, given_rows, missing_rows
from planted.cli._sources import Header, Weights
from planted.names import count_of


def predict(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Table with the network's inputs, of any kind that 'planted fit' takes; - for standard input."
        ),
    ],
    features: Annotated[
        str | None,
        typer.Option(help="Input columns by place, comma-separated; matched by the names of the fit if omitted."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to compare with; several, comma-separated.")] = None,
    patch: Patch = None,
    header: Header = None,
    weights: Weights = None,
    out: Annotated[Path | None, typer.Option(help="Write a CSV with a column 'prediction', or one a target.")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Evaluate a recovered network on new rows.

    Columns are matched by name, in any order, and others do not matter; text and missing values are treated as in the
    fit, and rows that the fit would have left out get no prediction, which is said. A network fitted to labels gives
    the most probable class and the probability of each.

    Example: planted predict model new.csv --target y --out predictions.csv
    """
    from planted.numerics.reading import check_source

    check_source(model, "model")
    check_table(data)
    check_file(out, "predictions", [model, data], force)

    from planted.numerics.files import write_whole

    saved = read_model(model)
    rows = Request(data, target, features, patch, header, weights, weighted=target is not None).rows(saved)
    columns = predictions(saved, rows.X)
    score = {} if rows.y is None else scores(saved, rows.X, rows.y, rows.weight)
    text = _csv(columns)
    if out is not None:
        try:
            write_whole(out, text.encode())
        except OSError:
            typer.echo(text, nl=False)
            raise
    n = len(rows.X)
    whole = given_rows(rows.X)
    if not whole.all():
        typer.echo(
            f"planted: {missing_rows(whole, rows.lacking)}: their predictions are empty, since the fit left such rows "
            "out; a fit with --missing mean fills them in",
            err=True,
        )
    if as_json:
        shown = None if out is not None else columns
        if shown is not None and list(shown) == ["prediction"]:
            shown = shown["prediction"]
        about = {"rows": n, "empty": int((~whole).sum()), "table": rows.words or None, "r2": None}
        print_json(about | score | {"predictions": shown})
        return DONE
    if out is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{count_of(int(whole.sum()), 'prediction')} written to {out}")
    if score:
        typer.echo(scored(score), err=out is None)
    return DONE


def predictions(saved: Any, X: Any) -> dict[str, Any]:
    """Columns of predictions: values, one column a target; for labels the class and the probability of each.

    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> predictions(SavedModel(Network([[1.0]], [2.0]), None), [[3.0]])
    {'prediction': [6.0]}
    """
    import numpy as np

    if saved.labels:
        chances = saved.predict_proba(X)
        labels = saved.signature.classes
        classes = [None if np.isnan(row).any() else labels[int(np.argmax(row))] for row in chances]
        return {"prediction": classes} | {
            f"probability of {label}": _gaps(chances[:, i]) for i, label in enumerate(labels)
        }
    values = saved.values(X)
    if values.ndim == 1:
        return {"prediction": _gaps(values)}
    return {f"prediction {name}": _gaps(values[:, i]) for i, name in enumerate(_target_names(saved, values.shape[1]))}


def _target_names(saved: Any, count: int) -> list[str]:
    """Names of several targets; arrays of several columns have one name, and models of earlier versions none."""
    fitted = () if saved.signature is None else saved.signature.targets
    return [str(name) for name in (fitted if len(set(fitted)) == count else range(count))]


def scores(saved: Any, X: Any, y: Any, weight: Any = None) -> dict[str, Any]:
    """R² of values, or accuracy and log loss of classes, over the rows that have a prediction, by their weight (n,).

    Of several targets R² is the mean of theirs, each relative to its own variance, and "target_r2" has them by name.

    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> import numpy as np
    >>> scores(SavedModel(Network([[1.0]], [2.0]), None), [[1.0], [2.0]], np.array([2.0, 4.0]))
    {'r2': 1.0}
    """
    import numpy as np

    from planted.estimators import label_codes

    if saved.labels:
        chances = saved.predict_proba(X)
        codes = label_codes(y, saved.signature.classes)
        whole = ~np.isnan(chances).any(axis=1) & (codes >= 0)
        right = codes[whole]
        given = chances[whole][np.arange(len(right)), right]
        weight = None if weight is None else weight[whole]
        hits = np.average(np.argmax(chances[whole], axis=1) == right, weights=weight)
        log_loss = -np.average(np.log(np.clip(given, 1e-300, 1)), weights=weight)
        return {"accuracy": float(hits), "log_loss": float(log_loss)}
    values = saved.values(X)
    y = np.asarray(y, dtype=np.float64)
    whole = ~np.isnan(np.column_stack([values, y])).any(axis=1)
    y = y[whole]
    if y.shape != values[whole].shape:
        named = count_of(y[0].size, "target is", "targets are")
        raise ValueError(f"the network has {count_of(values[0].size, 'output')}, but {named} named")
    weight = None if weight is None else weight[whole]
    variance = np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    each = 1 - np.average((values[whole] - y) ** 2, axis=0, weights=weight) / np.maximum(variance, 1e-300)
    made: dict[str, Any] = {"r2": float(np.mean(each))}
    if y.ndim == 1:
        return made
    return made | {"target_r2": dict(zip(_target_names(saved, y.shape[1]), each.tolist(), strict=True))}


def scored(score: dict[str, Any]) -> str:
    """What :func:`scores` measured, in words: one line, and one for each of several targets.

    >>> print(scored({"r2": 0.75, "target_r2": {"pressure": 0.5, "flow": 1.0}}))
    R² 0.75
      of pressure: R² 0.5
      of flow: R² 1
    """
    words = {"r2": "R²", "accuracy": "accuracy", "log_loss": "log loss"}
    line = ", ".join(f"{word} {score[name]:.6g}" for name, word in words.items() if name in score)
    return "\n".join([line, *(f"  of {name}: R² {value:.6g}" for name, value in score.get("target_r2", {}).items())])


def _gaps(values: Any) -> list[Any]:
    """Numbers, None where there is none."""
    return [None if value != value else value for value in values.tolist()]


def _csv(columns: dict[str, Any]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
