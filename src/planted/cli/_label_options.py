"""Options of `planted fit` that are about labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from planted.cli._common import known
from planted.names import LABEL_LOSSES, LABEL_SOLVERS, LINKS

Link = Annotated[
    str,
    typer.Option(
        help="With --task classification: mean (probabilities are means of neurons), logit (log-odds, softmax for more "
        "than two classes), or auto: mean where that can be, both compared where the activation is left open."
    ),
]
Alpha = Annotated[
    str,
    typer.Option(help="With --task classification: strength of an ℓ2 penalty, or auto (by held-out rows)."),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(help="With --task classification: 'balanced', or factors of the rows by class: no=1,yes=4."),
]
Loss = Annotated[str, typer.Option(help="With --task classification: likelihood, or quadratic (eq. 2 of fu2018).")]
Solver = Annotated[str, typer.Option(help="With --task classification: newton, or gradient (Algorithm 1 of fu2018).")]
Split = Annotated[
    bool,
    typer.Option("--split", help="With --task classification: thirds of the rows for the stages of Algorithm 2."),
]
Restarts = Annotated[
    int | None, typer.Option(min=0, help="With --task classification: random starts; 0 for the tensor start alone.")
]


def label_options(labels: bool, intercept: bool | None, **given: Any) -> dict[str, Any]:
    """Arguments of :class:`planted.PlantedClassifier`; a ValueError for one that is given without labels.

    >>> label_options(True, None, alpha="0.1", link="logit", class_weight="a=2,b=1")["class_weight"]
    {'a': 2.0, 'b': 1.0}
    >>> label_options(False, None, link="logit")
    Traceback (most recent call last):
    ValueError: --link is for labels: add --task classification
    """
    usual = {
        "link": "auto", "alpha": "0", "class_weight": None, "loss": LABEL_LOSSES[0], "solver": LABEL_SOLVERS[0],
        "split": False, "restarts": None,
    }  # fmt: skip
    given = usual | given
    if not labels:
        strange = next((name for name, value in given.items() if value != usual[name]), None)
        if strange is not None:
            raise ValueError(f"--{strange.replace('_', '-')} is for labels: add --task classification")
        return {}
    known("link", given["link"], ("auto", *LINKS))
    known("loss", given["loss"], LABEL_LOSSES)
    known("solver", given["solver"], LABEL_SOLVERS)
    options = given | {"alpha": _alpha(given["alpha"]), "class_weight": _class_weight(given["class_weight"])}
    if options["restarts"] is None:
        del options["restarts"]
    return options | {"fit_intercept": "auto" if intercept is None else intercept}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _alpha(text: str) -> float | str:
    value = _number(text)
    if text == "auto":
        return text
    if value is None or not 0 <= value < float("inf"):
        raise ValueError(f"--alpha must be a number that is not negative or 'auto', not {text!r}")
    return value


def _class_weight(text: str | None) -> str | dict[Any, float] | None:
    if text is None or text == "balanced":
        return text
    weights: dict[Any, float] = {}
    for part in text.split(","):
        label, _, factor = (piece.strip() for piece in part.rpartition("="))
        value = _number(factor)
        if not label or value is None or not 0 < value < float("inf"):
            raise ValueError(f"--class-weight must be 'balanced' or like no=1,yes=4, not {text!r}")
        number = _number(label)
        weights[label if number is None else number] = value
    return weights
