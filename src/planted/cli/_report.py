"""What `planted fit` prints: one text and one JSON schema for every estimator (docs/json.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, print_json
from planted.cli._words import in_flags


def network_report(network: Any) -> dict[str, Any]:
    """A network of any kind as plain numbers, for JSON.

    >>> from planted import Network
    >>> network_report(Network([[1.0]], [2.0]))["activation"]
    'relu'
    """
    parts = ("weights", "output", "bias", "intercept", "skip", "filter")
    return {
        "activation": network.activation.name,
        "parameters": dict(network.activation.parameters),
        "n_hidden": getattr(network, "n_hidden", None),
        **dict.fromkeys(parts),
        **network.arrays(),
    }


def intervals(estimator: Any, level: float | None) -> dict[str, Any] | None:
    """Lower and upper ends of every parameter, neuron by neuron, when asked for."""
    if level is None:
        return None
    import numpy as np

    named: dict[str, Any] = {}
    for name, ends in estimator.confidence_intervals(level).items():
        ends = np.asarray(ends)
        if ends.ndim == 3:
            row = "output" if name in ("output", "skip") else "neuron"
            named |= {f"{name} of {row} {i}": ends[:, i] for i in range(ends.shape[1])}
        else:
            named[name] = np.atleast_2d(ends.reshape(2, -1))
    return {name: (ends[0].tolist(), ends[1].tolist()) for name, ends in named.items()}


@contextmanager
def reported(report: Report, as_json: bool) -> Iterator[Report]:
    """Print the report, files aside, if what is written inside cannot be: no result is lost to a full disk."""
    try:
        yield report
    except (OSError, ValueError):
        replace(report, out=None, plot=None, page=None).show(as_json)
        raise


@dataclass(frozen=True)
class Report:
    """A fitted estimator, the names of its inputs, what was written, the level of intervals, and the table's source.

    `began` is when the command did, by `time.perf_counter`.
    """

    estimator: Any
    names: list[str]
    out: Path | None
    plot: Path | None
    level: float | None
    page: Path | None = None
    source: Any = None
    began: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words: the schema of docs/json.md."""
        from planted.estimators import held_out, target_scores
        from planted.pages import displayed

        estimator, result = self.estimator, self.estimator.result_
        certificate, law = estimator.certificate_, getattr(estimator, "inputs_", None)
        rank = getattr(estimator, "moment_rank_", None)
        choice = getattr(estimator, "choice_", None)
        return {
            "status": result.status,
            "reason": in_flags(result.reason),
            "advice": in_flags(result.advice),
            "method": result.method,
            "loss": result.loss,
            "relative_loss": result.relative_loss,
            "p_value": result.verdict.p_value,
            "seconds": result.seconds,
            "certificate": {"kind": certificate.kind, "reason": certificate.reason},
            "intervals": intervals(estimator, self.level),
            "scores": held_out(estimator),
            "target_scores": target_scores(estimator),
            "summary": estimator.summary().as_dict(),
            "network": network_report(displayed(result.network, result.uncertainty)),
            "table": None if self.source is None else self.source.words,
            "remarks": [] if self.source is None else list(self.source.remarks),
            "inputs": self.names,
            "input_law": None if law is None else str(law),
            "choice": None if choice is None else choice.as_dict(),
            "width_losses": getattr(estimator, "width_losses_", None),
            "moment_rank": None if rank is None else vars(rank),
            "details": {name: value for name, value in result.details.items() if name not in ("restarts", "curve")},
            "restarts": [vars(restart) for restart in result.details.get("restarts", ())],
            "model": None if self.out is None else str(self.out),
            "report": None if self.page is None else str(self.page),
        }

    def text(self) -> str:
        """The same for a person."""
        estimator, result = self.estimator, self.estimator.result_
        certificate, law = estimator.certificate_, getattr(estimator, "inputs_", None)
        summary = estimator.summary(self.level if result.uncertainty is not None else None)
        table, lines = summary.table(), [in_flags(line) for line in summary.head]
        if self.source is not None and self.source.words:
            lines.append(f"table: {self.source.words}")
        if law is not None and law.law is not None:
            lines.append(f"inputs: {law}")
        if hasattr(estimator, "moment_rank_"):
            chosen = "by rows left out" if estimator.n_hidden == "auto" else "as asked for"
            lines.append(f"width: {estimator.n_hidden_} {chosen}; {estimator.moment_rank_}")
        if getattr(estimator, "choice_", None) is not None:
            lines += str(estimator.choice_).splitlines()
        lines.append(f"certificate: {certificate.kind} ({certificate.reason})")
        constants = result.details.get("constants")
        if constants:
            lines.append("constants: " + ", ".join(f"{name} {value:.4g}" for name, value in constants.items()))
        for restart in result.details.get("restarts", ()):
            signs = f"({restart.signs[0]:+d}, {restart.signs[1]:+d})"
            lines.append(f"  restart {signs}: {restart.fate}, loss {restart.loss:.4g}")
        lines += ["", table, "", *summary.notes]
        if self.level is not None and result.uncertainty is None:
            lines.append("there are no intervals: standard errors are computed for at most 1,000 parameters")
        if self.began is not None:
            lines.append(f"time: fit {result.seconds:.1f} s, {time.perf_counter() - self.began:.1f} s in all")
        written = ((self.out, "network"), (self.plot, "picture"), (self.page, "report"))
        return "\n".join(lines + [f"{what} written to {path}" for path, what in written if path is not None])

    def show(self, as_json: bool) -> int:
        """Print the report; the exit status that follows from the verdict."""
        if as_json:
            print_json(self.as_dict())
        else:
            typer.echo(self.text())
        return DONE if self.estimator.verdict_.success else NOT_RECOVERED
