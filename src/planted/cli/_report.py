"""What `planted fit` prints: one text and one JSON schema for every estimator (docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, print_json


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
        **{name: network.arrays().get(name) for name in parts},
    }


def describe_network(network: Any, names: list[str] | None = None, rows: int = 12, columns: int = 8) -> str:
    """A small table of the network: one line a neuron, its outputs first, then its leading weights.

    >>> from planted import Network
    >>> print(describe_network(Network([[1.0, 0.0]], [2.0])))
     neuron    output         x0         x1
          0   +2.0000    +1.0000    +0.0000
    """
    import numpy as np

    arrays = network.arrays()
    if "filter" in arrays:
        lines = []
        for name, values in arrays.items():
            more = f" … {len(values) - columns} more" if len(values) > columns else ""
            lines.append(f"{name}: {' '.join(f'{value:+.4f}' for value in values[:columns])}{more}")
        return "\n".join(lines)
    outputs = np.atleast_2d(network.output)
    labels = (names or [f"x{i}" for i in range(network.n_features)])[:columns]
    heads = ["output"] if len(outputs) == 1 else [f"output {i}" for i in range(len(outputs))]
    head = f"{'neuron':>7} " + " ".join(f"{label:>9}" for label in heads) + " "
    head += " ".join(f"{label[:10]:>10}" for label in labels)
    if network.bias is not None:
        head += f" {'bias':>10}"
    lines = [head]
    for i in range(min(rows, network.n_hidden)):
        line = f"{i:>7} " + " ".join(f"{value:>+9.4f}" for value in outputs[:, i]) + " "
        line += " ".join(f"{w:>+10.4f}" for w in network.weights[i, :columns])
        if network.bias is not None:
            line += f" {network.bias[i]:>+10.4f}"
        lines.append(line)
    hidden, cut = network.n_hidden - rows, network.n_features - columns
    extra = [f"{hidden} more neurons"] * (hidden > 0) + [f"{cut} more inputs"] * (cut > 0)
    lines += [f"… {' and '.join(extra)}"] * bool(extra)
    for name in ("intercept", "skip"):
        values = np.atleast_1d(arrays[name]) if name in arrays else np.zeros(0)
        if np.any(values):
            lines.append(f"{name}: {' '.join(f'{value:+.4f}' for value in values.reshape(-1)[:columns])}")
    return "\n".join(lines)


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
        replace(report, out=None, plot=None).show(as_json)
        raise


@dataclass(frozen=True)
class Report:
    """A fitted estimator, the names of its inputs, what was written, the level of intervals, and the table's source."""

    estimator: Any
    names: list[str]
    out: Path | None
    plot: Path | None
    level: float | None
    page: Path | None = None
    source: Any = None

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and words: the schema of docs/json.md."""
        estimator, result = self.estimator, self.estimator.result_
        certificate, law = estimator.certificate_, getattr(estimator, "inputs_", None)
        return {
            "status": result.status,
            "reason": result.reason,
            "advice": result.advice,
            "method": result.method,
            "loss": result.loss,
            "relative_loss": result.relative_loss,
            "p_value": result.verdict.p_value,
            "seconds": result.seconds,
            "certificate": {"kind": certificate.kind, "reason": certificate.reason},
            "intervals": intervals(estimator, self.level),
            "network": network_report(estimator.network_),
            "table": None if self.source is None else self.source.words,
            "remarks": [] if self.source is None else list(self.source.remarks),
            "inputs": self.names,
            "input_law": None if law is None else str(law),
            "width_losses": getattr(estimator, "width_losses_", None),
            "details": {name: value for name, value in result.details.items() if name not in ("restarts", "curve")},
            "restarts": [vars(restart) for restart in result.details.get("restarts", ())],
            "model": None if self.out is None else str(self.out),
            "report": None if self.page is None else str(self.page),
        }

    def text(self) -> str:
        """The same for a person."""
        estimator, result = self.estimator, self.estimator.result_
        certificate, law = estimator.certificate_, getattr(estimator, "inputs_", None)
        lines = [str(result)]
        if self.source is not None and self.source.words:
            lines.append(f"table: {self.source.words}")
        if law is not None and law.law is not None:
            lines.append(f"inputs: {law}")
        lines.append(f"certificate: {certificate.kind} ({certificate.reason})")
        constants = result.details.get("constants")
        if constants:
            lines.append("constants: " + ", ".join(f"{name} {value:.4g}" for name, value in constants.items()))
        for restart in result.details.get("restarts", ()):
            signs = f"({restart.signs[0]:+d}, {restart.signs[1]:+d})"
            lines.append(f"  restart {signs}: {restart.fate}, loss {restart.loss:.4g}")
        lines.append(describe_network(estimator.network_, self.names))
        named = intervals(estimator, self.level)
        if named is not None:
            lines.append(
                f"{100 * (self.level or 0):g} % intervals for independent noise, of the same network in canonical form "
                "(unit rows where the activation is homogeneous, neurons sorted by their weights):"
            )
            for name, (lower, upper) in named.items():
                ends = ", ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(lower, upper, strict=True))
                lines.append(f"  {name}: {ends}")
        written = ((self.out, "network"), (self.plot, "picture"), (self.page, "report"))
        return "\n".join(lines + [f"{what} written to {path}" for path, what in written if path is not None])

    def show(self, as_json: bool) -> int:
        """Print the report; the exit status that follows from the verdict."""
        if as_json:
            print_json(self.as_dict())
        else:
            typer.echo(self.text())
        return DONE if self.estimator.verdict_.success else NOT_RECOVERED
