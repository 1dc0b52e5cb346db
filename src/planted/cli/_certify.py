"""`planted certify`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._certify_designed import check_loss, designed_certificate, expected_certificate
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
    read_model,
    targets_of,
)
from planted.cli._imported import LAW_HELP, named_law
from planted.cli._patches import Patch, check_patch
from planted.cli._program_cache import remember_programs
from planted.cli._rows import Request
from planted.cli._sources import Header, Weights
from planted.names import TASKS


def certify(
    model: Annotated[Path, typer.Argument(help="Network written by 'planted fit --out'.")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Table with inputs and target, of any kind that 'planted fit' takes; - for standard input."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="Column that the network explains; that of the fit if omitted.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Input columns by place, comma-separated; matched by the names of the fit if omitted."),
    ] = None,
    task: Annotated[
        str, typer.Option(help="regression, or classification for labels; a model that 'planted fit' wrote knows it.")
    ] = TASKS[0],
    patch: Patch = None,
    header: Header = None,
    weights: Weights = None,
    descent: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Say what gradient descent from this network is proved to reach, at which rate, and run this many "
            "steps of it as a check. For smooth activations and the squared loss.",
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="squared; or G, F or L: the minimum of that loss next to the network, and how near the theorems say "
            "that the teacher is. G and F take inputs as standard Gaussian."
        ),
    ] = "squared",
    inputs: Annotated[str, typer.Option(help=f"Law of the inputs for --loss L, {LAW_HELP}.")] = "auto",
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="With --loss G, F or L: its expectation, with this network as the teacher and inputs of that law.",
        ),
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write a page with the certificate and the fit (HTML).")] = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Is this network a global minimum of the squared loss, a trap, or neither? Which theorems apply?

    Columns are matched by name, in any order, and others do not matter; rows that the fit would have left out are left
    out, which is said. Without --weights rows are weighted by the column that the fit took its weights from, if it is
    there. For a network fitted to labels the likelihood takes the place of the squared loss; the weight error that
    labels leave is printed, --json and --report have standard errors of every number, and where probabilities are means
    of neurons there is the geometry of the basin. Exit status 0 if the network is a minimum, 1 if it is not or if that
    cannot be decided.
    """
    known("task", task, TASKS)
    law = named_law(inputs)
    check_loss(loss, population, task != TASKS[0] or descent is not None or bool(report or weights))
    from planted.numerics.reading import check_source

    check_source(model, "model")
    check_table(data)
    check_file(report, "page", [model, data], force)

    from planted.certificates import assumptions, certify, run_descent, uncertainty
    from planted.cli._certify_labels import Labelled
    from planted.methods import PARAMETERS_WITH_ERRORS, label_uncertainty, problem_of, with_ends
    from planted.networks import ConvNetwork, Network

    remember_programs()
    saved = read_model(model)
    network = saved.network
    target = targets_of(saved) if target is None else target
    check_patch(patch, network)
    if loss != "squared" and (saved.labels or isinstance(network, ConvNetwork) or not network.n_hidden):
        raise ValueError(f"--loss {loss} is for networks of one hidden layer fitted to numbers")
    if task == "classification" or saved.labels:
        if isinstance(network, ConvNetwork):
            raise ValueError(f"{model} holds a shared filter, which classification does not take")
        if descent is not None:
            raise ValueError("--descent is for regression, not for labels")
        place = Labelled(model, data, target, features, header, weights)
        certificate, problem = place.certified(saved, seed)
        if report is not None:
            classes = saved.signature.classes if saved.labels else ()
            errors = label_uncertainty(problem, problem.params(network))
            about = list(problem.names), names_in(target)
            write_page(report, problem, network, certificate, errors, *about, classes=classes)
        return place.show(certificate, problem, network, seed, as_json)
    request = Request(data, target, features, patch, header, weights, weighted=loss == "squared")
    rows = request.rows(saved).complete()
    X, y, names = rows.X, rows.y, rows.names
    if isinstance(network, ConvNetwork):
        network = network.canonical()  # the loss normalises the filter
    else:
        X = X.reshape(len(X), -1)
        if loss != "squared":
            if population:
                return _show(expected_certificate(loss, network, X, law, seed), as_json)
            return _show(designed_certificate(loss, network, X, y, law, seed), as_json)
    given = problem_of(network, X, y, rows.weight)
    problem, counted, how = given, network, ""
    if isinstance(network, Network) and given.n_outputs > 1:
        problem, counted, how = _as_fitted(saved, given)
    objective, params = problem.objective(), problem.params(counted)
    certificate = certify(objective, params, seed=seed, descent=descent is not None)
    proved = certificate.descent
    check = None
    if descent and proved is not None and proved.proved:
        check = run_descent(objective, params, proved, steps=descent)
    few = problem.unknowns <= PARAMETERS_WITH_ERRORS
    errors = uncertainty(objective, params) if few else None
    if isinstance(network, Network):
        certificate = with_ends(certificate, problem, counted, errors)
        table = tuple(assumptions(X, network, weight=rows.weight))
        certificate = replace(certificate, reason=certificate.reason + how, assumptions=table)
    if report is not None:
        errors = None if errors is None else errors.in_units(1.0 if problem.units is None else problem.units, network)
        write_page(report, given, network, certificate, errors, names, names_in(target))
    return _show(certificate, as_json, check)


def _as_fitted(saved: Any, problem: Any) -> tuple[Any, Any, str]:
    """The problem and the network with each of several targets in the units of the fit, and these in words."""
    import numpy as np

    from planted.methods import in_units

    unit = np.array(() if saved.signature is None else saved.signature.units)
    if len(unit) != problem.n_outputs:
        return problem, saved.network, "; targets count as they stand: the model file does not say how the fit did"
    if np.ptp(unit) == 0:
        return problem, saved.network, ""
    shown = [f"{value:.3g}" for value in unit[:4]] + ["…"] * (len(unit) > 4)
    return *in_units(problem, saved.network, unit), f"; targets count in units of {', '.join(shown)}, as in the fit"


def _show(certificate: Any, as_json: bool, check: Any = None) -> int:
    """Print a certificate, with a run of descent if there was one, and return the exit status."""
    if as_json:
        print_json(certificate.as_dict() | ({} if check is None else {"descent_run": check.as_dict()}))
    else:
        typer.echo(str(certificate))
        if check is not None:
            typer.echo(f"  {check}")
        if certificate.assumptions:
            typer.echo("assumptions (where one fails its theorem promises nothing, and a fit can be right):")
        for row in certificate.assumptions:
            typer.echo(str(row))
    return DONE if certificate.is_minimum else NOT_RECOVERED


def write_page(
    path: Path, problem: Any, network: Any, certificate: Any, errors: Any, *names: list[str], classes: Any = ()
) -> None:
    """Write the report of a certificate; `names` are those of the inputs and of the targets, `classes` the labels.

    `errors` are the network's, which are not shown where it is no fit to the rows.
    """
    from planted.certificates import unit_scaled
    from planted.methods import LabelProblem, class_probabilities
    from planted.networks import Network
    from planted.pages import Subject, displayed, evidence, write_report

    labels, survey = isinstance(problem, LabelProblem), problem.survey
    about: dict[str, Any] = {}
    if labels:
        about = {"labels": True, "probability": lambda net, rows: class_probabilities(net, rows, problem.link)}
    fitted = certificate.kind not in ("saddle", "not critical")
    errors = errors if fitted else None
    shown = evidence(displayed(network, errors), survey.X, survey.y, fitted=fitted, weight=survey.weight, **about)
    scaled = unit_scaled(displayed(network, errors), shown.scale, errors) if isinstance(network, Network) else None
    subject = Subject(
        network=network,
        status=certificate.kind,
        reason=certificate.reason,
        uncertainty=errors,
        certificate=certificate,
        evidence=shown,
        names=names[0],
        targets=names[1],
        labels=labels,
        classes=classes,
        link=problem.link if labels else "mean",
        scaled=scaled,
        scale=None if scaled is None else shown.scale,
    )
    write_report(path, subject)
