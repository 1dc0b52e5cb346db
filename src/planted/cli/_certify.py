"""`planted certify`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import (
    DONE,
    NOT_RECOVERED,
    Json,
    Quiet,
    Seed,
    check_file,
    check_table,
    known,
    names_in,
    print_json,
    read_network,
    read_rows,
)
from planted.cli._patches import Patch, read_patches
from planted.names import TASKS


def certify(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or NPZ file with inputs and target.")],
    target: Annotated[str, typer.Option(help="Column that the network explains.")] = "y",
    features: Annotated[str | None, typer.Option(help="Input columns in order, comma-separated.")] = None,
    task: Annotated[str, typer.Option(help="regression, or classification for neurons fitted to labels.")] = TASKS[0],
    patch: Patch = None,
    descent: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Say what gradient descent from this network is proved to reach, at which rate, and run this many "
            "steps of it as a check. For smooth activations and the squared loss.",
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the certificate and the fit (HTML).")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Is this network a global minimum of the squared loss, a trap, or neither? Which theorems apply?

    With --task classification the likelihood takes the place of the squared loss, and the report has the standard
    errors and the geometry of the basin. Exit status 0 if the network is a minimum, 1 if it is not or if that cannot be
    decided.
    """
    known("task", task, TASKS)
    from planted.numerics.reading import check_source

    check_source(model, "model")
    check_table(data)
    check_file(report, "page", [model, data], force=True)

    import numpy as np

    from planted.certificates import assumptions, certify, run_descent
    from planted.methods import FilterProblem, Free, LabelProblem, Problem
    from planted.networks import ConvNetwork

    network = read_network(model)
    labels = task == "classification"
    if isinstance(network, ConvNetwork):
        if labels:
            raise ValueError(f"{model} holds a shared filter, which classification does not take")
        network = network.canonical()  # the loss normalises the filter
        X, y = read_patches(data, target, patch, network.n_patches)
        names: list[str] = []
        problem: Problem = FilterProblem.of(X, y, 1, network.activation)
    else:
        X, y, names = read_rows(data, target, features)
        if X.shape[1] != network.n_features:
            raise ValueError(f"{data} has {X.shape[1]} input columns but the network takes {network.n_features}")
        if labels:
            check_labels(network, y, f"column {target} of {data}")
        free = Free(network.bias is not None, bool(np.any(network.intercept)), network.skip is not None)
        kind = LabelProblem if labels else Problem
        problem = kind.of(X, y, network.n_hidden, network.activation, free=free)
    loss, params = problem.objective(), problem.params(network)
    if descent is not None and labels:
        raise ValueError("--descent is for regression, not for labels")
    certificate = certify(loss, params, seed=seed, descent=descent is not None)
    proved = certificate.descent
    check = (
        run_descent(loss, params, proved, steps=descent) if descent and proved is not None and proved.proved else None
    )
    if not (labels or isinstance(network, ConvNetwork)):
        certificate = replace(certificate, assumptions=tuple(assumptions(X, network)))
    if report is not None:
        write_page(report, problem, network, certificate, names, names_in(target))
    if labels:
        return report_labels(network, X, y, certificate, seed, as_json)
    if as_json:
        print_json(certificate.as_dict() | ({} if check is None else {"descent_run": check.as_dict()}))
    else:
        typer.echo(str(certificate))
        if check is not None:
            typer.echo(f"  {check}")
        for row in certificate.assumptions:
            typer.echo(str(row))
    return DONE if certificate.is_minimum else NOT_RECOVERED


def write_page(path: Path, problem: Any, network: Any, certificate: Any, *names: list[str]) -> None:
    """Write the report of a certificate; `names` are those of the inputs and of the targets."""
    from planted.certificates import uncertainty
    from planted.methods import PARAMETERS_WITH_ERRORS, LabelProblem
    from planted.pages import Subject, displayed, evidence, write_report

    labels, survey = isinstance(problem, LabelProblem), problem.survey
    few = problem.unknowns <= PARAMETERS_WITH_ERRORS
    errors = uncertainty(problem.objective(), problem.params(network)) if few else None
    subject = Subject(
        network=network,
        status=certificate.kind,
        reason=certificate.reason,
        uncertainty=errors,
        certificate=certificate,
        evidence=evidence(displayed(network, errors), survey.X, survey.y, labels=labels),
        names=names[0],
        targets=names[1],
        labels=labels,
    )
    write_report(path, subject)


def check_labels(network: Any, y: Any, where: str) -> None:
    """Raise unless a network gives probabilities and the targets are labels."""
    import numpy as np

    if not np.allclose(network.output, 1 / network.n_hidden):
        raise ValueError("a network of probabilities has all outputs 1/k: this one was not fitted to labels")
    if not set(np.unique(y)) <= {0.0, 1.0}:
        raise ValueError(f"{where} must hold labels 0 and 1")


def report_labels(network: Any, X: Any, y: Any, certificate: Any, seed: int, as_json: bool) -> int:
    """The certificate of neurons fitted to labels, with standard errors and the geometry of the basin."""
    from planted.certificates import label_basin, uncertainty
    from planted.methods import Free, LabelProblem

    problem = LabelProblem.of(X, y, network.n_hidden, network.activation, free=Free(network.bias is not None))
    errors = uncertainty(problem.objective(), problem.params(network))
    # The theorems are about neurons without biases.
    basin = None
    if network.bias is None:
        basin = label_basin(X, y, network.weights, network.activation, random_state=seed)
    if as_json:
        print_json(
            certificate.as_dict()
            | {
                "expected_error": errors.expected_error,
                "standard_errors": errors.errors,
                "local_geometry": None if basin is None else basin.numbers(),
            }
        )
    else:
        typer.echo(str(certificate))
        typer.echo(
            f"labels alone leave an expected relative weight error of {errors.expected_error:.2g}; "
            f"{errors.rows_for(0.1):,.0f} rows bring it to 0.1"
        )
        if basin is not None:
            typer.echo(str(basin))
    return DONE if certificate.is_minimum else NOT_RECOVERED
