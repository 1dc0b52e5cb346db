"""What `planted certify` makes of a network that was fitted to labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, names_in, print_json, source_of
from planted.cli._rows import Given, Request
from planted.names import count_of


@dataclass(frozen=True)
class Labelled:
    """A model file and the table whose labels it explains."""

    model: Path
    data: Path
    target: str
    features: str | None
    header: bool | None = None
    weights: str | None = None

    def certified(self, saved: Any, seed: int) -> tuple[Any, Any]:
        """The certificate of the network for the loss it was fitted with, and the problem that it solves."""
        import numpy as np

        from planted.certificates import certify
        from planted.estimators import label_codes
        from planted.methods import Free, LabelProblem, label_uncertainty, with_ends
        from planted.networks import model_about

        network = saved.network
        about: dict[str, Any] = {"loss": "likelihood", "alpha": 0.0} | model_about(self.model)
        signature = saved.signature if saved.labels else None
        classes = [0.0, 1.0] if signature is None else list(signature.classes)
        link = "mean" if signature is None else signature.link
        request = Request(self.data, self.target, self.features, None, self.header, self.weights)
        if self.features is None and saved.encoding is not None:
            table, among = saved.table(source_of(self.data), names_in(self.target), self.header), slice(None)
        else:
            table = request.by_place(labels=True)
            among = table.rows
        if table.X.shape[1] != network.n_features:
            given = count_of(table.X.shape[1], "input column")
            raise ValueError(f"{self.data} has {given} but the network takes {network.n_features}")
        if link == "mean" and not np.allclose(network.output, 1 / network.n_hidden):
            raise ValueError("a network of probabilities has all outputs 1/k: this one was not fitted to labels")
        weight = request.weight(saved, among)
        rows = Given(table.X, table.y, table.names, table.words, table.lacking, weight).complete(classes)
        codes = label_codes(rows.y, classes).astype(float)
        factors = None if about.get("class_factors") is None else np.asarray(about["class_factors"])
        weight = rows.weight
        if factors is not None:
            weight = factors[codes.astype(int)] * (1.0 if weight is None else weight)
        problem = LabelProblem.of(
            rows.X, codes, max(network.n_hidden, 1), network.activation,
            free=Free(network.bias is not None, bool(np.any(network.intercept)), network.skip is not None),
            sample_weight=weight, class_weight=factors,
            link=link, n_classes=len(classes), loss=about["loss"], alpha=float(about["alpha"]),
            names=tuple(rows.names),
        )  # fmt: skip
        problem = replace(problem, n_hidden=network.n_hidden)
        errors = label_uncertainty(problem, problem.params(network))
        certificate = certify(problem.objective(), problem.params(network), seed=seed)
        return with_ends(certificate, problem, network, errors), problem

    def show(self, certificate: Any, problem: Any, network: Any, seed: int, as_json: bool) -> int:
        """Print the certificate with standard errors and, for means of neurons, the geometry of the basin."""
        import numpy as np

        from planted.certificates import label_basin
        from planted.methods import label_uncertainty, leaving

        errors = label_uncertainty(problem, problem.params(network))
        # The theorems are about minima, and about means of neurons without biases.
        basin = None
        if problem.link == "mean" and network.bias is None and certificate.is_minimum:
            survey = problem.survey
            basin = label_basin(
                survey.X, survey.y, network.weights, network.activation, random_state=seed, sample_weight=survey.weight
            )
        if as_json:
            print_json(
                certificate.as_dict()
                | {
                    "expected_error": None if errors is None or not network.n_hidden else errors.expected_error,
                    "standard_errors": None if errors is None else errors.errors,
                    "local_geometry": None if basin is None else basin.numbers(),
                }
            )
        else:
            typer.echo(str(certificate))
            if errors is not None and network.n_hidden and np.isfinite(errors.expected_error):
                rows = "" if problem.alpha else f"; {errors.rows_for(0.1):,.0f} rows bring it to 0.1"
                error = f"an expected relative weight error of {errors.expected_error:.2g}"
                typer.echo(f"{leaving(problem)} {error}{rows}")
            elif errors is not None and not errors.determined:
                typer.echo(f"these labels determine {errors.rank} of the network's {errors.n_parameters} numbers")
            if basin is not None:
                typer.echo(str(basin))
        return DONE if certificate.is_minimum else NOT_RECOVERED
