"""What a report draws, as plain lists, numbers and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.pages._evidence import displayed, shown_errors, shown_network
from planted.pages._subject import Subject
from planted.pages._words import KIND, meaning

LEVEL = 0.95
_CURVE = 400
# Parameters for which methods compute errors.
_MOST = 1000


def payload(subject: Subject) -> dict[str, Any]:
    """Everything that the page draws, as plain lists, numbers and words."""
    network, errors, ends = _shown(subject)
    matrices: list[dict[str, Any]] = []
    neurons, ranking = None, np.arange(0)
    if hasattr(network, "filter"):
        matrices = [
            _matrix("filter", ["filter"], subject.inputs, network.filter[None], ends.get("filter"), "entry"),
            _matrix(
                "output of each patch", ["output"], [f"patch {i}" for i in range(network.n_patches)],
                network.output[None], ends.get("output"), "patch",
            ),
        ]  # fmt: skip
        ranking = np.arange(network.n_patches)
    elif network is not None:
        ranking = order(subject, network)
        if network.n_hidden:
            labels = [f"neuron {rank + 1}" for rank in range(len(ranking))]
            interval = ends.get("weights")
            matrices = [
                _matrix(
                    "weights", labels, subject.inputs, network.weights[ranking],
                    None if interval is None else interval[:, ranking], "input", _unit(subject, network),
                )
            ]  # fmt: skip
            neurons = _neurons(subject, network, ranking, errors)
        if network.skip is not None:
            rows = np.atleast_2d(network.skip)
            interval = ends.get("skip")
            bounds = None if interval is None else interval.reshape(2, *rows.shape)
            unit = "Weights are per standard deviation of an input." if subject.scaled is not None else ""
            matrices.append(_matrix("linear part", subject.outputs, subject.inputs, rows, bounds, "input", unit))
    return {
        "status": subject.status,
        "level": LEVEL,
        "labels": subject.labels,
        "matrices": matrices,
        "no_intervals": _no_intervals(subject, network),
        "untested": subject.untested,
        "neurons": neurons,
        "numbers": [{"what": name, "value": value} for name, value in subject.numbers.items()],
        "evidence": _evidence(subject, ranking),
        "search": _search(subject.search),
        "certificate": _certificate(subject.certificate),
        "assumptions": _assumptions(subject.certificate),
    }


def _shown(subject: Subject) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The network of tables and bars, standard errors and ends of intervals (2, …) of its parameters by name."""
    network, known, scaled = displayed(subject.network, subject.uncertainty), subject.uncertainty, subject.scaled
    if scaled is not None:
        network = scaled.network
    if known is None:
        return network, {}, {}
    if scaled is None:
        return network, shown_errors(known.errors, known.estimate, subject.exact), known.intervals(LEVEL)
    network = shown_network(network, scaled.errors, subject.exact)
    values, reach = network.arrays(), known.reach(LEVEL)
    ends = {
        name: values[name] + np.multiply.outer([-1.0, 1.0], reach[name] * error)
        for name, error in scaled.errors.items()
    }
    return network, shown_errors(scaled.errors, values, subject.exact), ends


def _unit(subject: Subject, network: Any) -> str:
    """In which units weights are, in words; empty where they are in those of the inputs."""
    if subject.scaled is None:
        return ""
    one = ", of length one together; the output carries the rest" if network.activation.homogeneity is not None else ""
    return f"Weights are per standard deviation of an input{one}."


def _matrix(
    title: str, rows: list[str], columns: list[str], values: Any, ends: Any, column: str, unit: str = ""
) -> dict[str, Any]:
    bounds = None if ends is None else np.asarray(ends).reshape(2, len(rows), len(columns))
    return {
        "title": title,
        "rows": rows,
        "columns": columns,
        "column": column,
        "unit": unit,
        "values": np.asarray(values).tolist(),
        "lower": None if bounds is None else bounds[0],
        "upper": None if bounds is None else bounds[1],
    }


def _neurons(subject: Subject, network: Any, ranking: np.ndarray, errors: dict[str, Any]) -> dict[str, Any]:
    """A table of neurons: strength, outputs and bias with standard errors."""
    strength, outputs = _strength(subject, network), np.atleast_2d(network.output)
    rounded = any(np.isnan(errors[name]).any() for name in ("output", "bias") if name in errors)
    errors = {name: error for name, error in errors.items() if not np.isnan(error).all()}
    columns = ["neuron", "strength"]
    parts: list[np.ndarray] = []
    for j, target in enumerate(subject.outputs):
        columns.append("output" if len(outputs) == 1 else f"output to {target}")
        parts.append(outputs[j])
        if "output" in errors:
            columns.append("± standard error" if len(outputs) == 1 else f"± of {target}")
            parts.append(np.atleast_2d(errors["output"])[j])
    if network.bias is not None:
        columns.append("bias")
        parts.append(network.bias)
        if "bias" in errors:
            columns.append("± of bias")
            parts.append(np.asarray(errors["bias"]))
    if subject.scaled is None or network.activation.homogeneity is None:
        columns.append("length of weights")
        parts.append(np.linalg.norm(network.weights, axis=1))
    rows = [[rank + 1, float(strength[i]), *(float(column[i]) for column in parts)] for rank, i in enumerate(ranking)]
    note = "Strength is the standard deviation of what a neuron adds to its output over the rows."
    if not _measured(subject, network):
        note = "There are no rows: strength is the output times the length of the weights."
    note += " Numbers without an error are known to rounding." * rounded
    return {"columns": columns, "rows": rows, "note": note}


def _evidence(subject: Subject, ranking: np.ndarray) -> dict[str, Any] | None:
    evidence = subject.evidence
    if evidence is None:
        return None
    return {
        "n_rows": evidence.n_rows,
        "sampled": evidence.sampled,
        "source": evidence.source,
        "truth": _short(evidence.truth),
        "predicted": _short(evidence.predicted),
        "counts": evidence.counts,
        "edges": _short(evidence.edges),
        "standard": evidence.standard,
        "neurons": [
            {
                "name": f"patch {i}" if hasattr(subject.network, "filter") else f"neuron {rank + 1}",
                "output": subject.quantities[int(evidence.leading[i])],
                "z": _short(evidence.positions[i]),
                "response": _short(evidence.response[i]),
                "partial": _short(evidence.partial[i]),
                "share": _short(evidence.shares[i]),
            }
            for rank, i in enumerate(ranking)
        ],
    }


def _search(search: dict[str, Any]) -> dict[str, Any]:
    descents = []
    for name, run in search.get("descents", {}).items():
        values = [float(np.min(np.asarray(value))) for value in run.history.value]
        every = max(1, len(values) // _CURVE)
        descents.append(
            {
                "name": name,
                "status": run.status,
                "steps": run.n_steps,
                "value": float(np.min(np.asarray(run.value))),
                "seconds": run.seconds,
                "reason": run.reason,
                "step": list(run.history.step)[::every],
                "curve": _short(np.array(values[::every])),
            }
        )
    choice = search.get("choice")
    return {
        "choice": None if choice is None else _choice(choice),
        **{name: dict(search.get(name, {})) for name in ("widths", "activations", "race")},
        "runs": np.asarray(search.get("runs", ())).ravel(),
        "restarts": [
            {"signs": ", ".join("−+"[sign > 0] + "1" for sign in one.signs), "fate": one.fate, "loss": one.loss}
            for one in search.get("restarts", ())
        ],
        "descents": descents,
    }


def _choice(choice: Any) -> dict[str, Any]:
    """The candidates that were compared: what, numbers, held-out loss with its error, why."""
    rows = [
        [("▸ " if one.chosen else "") + one.name, one.n_parameters, one.loss, one.error, one.reason]
        for one in choice.shown()
    ]
    return {"reason": " ".join(filter(None, [sentence(choice.reason), sentence(choice.unshown)])), "rows": rows}


def _certificate(certificate: Any) -> dict[str, Any] | None:
    if certificate is None:
        return None
    numbers = {
        "loss": certificate.value,
        "gradient norm": certificate.gradient_norm,
        "counts as zero below": certificate.gradient_tolerance,
        "smallest eigenvalue of the Hessian": certificate.min_eigenvalue,
        "largest |eigenvalue|": certificate.hessian_norm,
    }
    return {
        "kind": certificate.kind,
        "words": KIND.get(certificate.kind, ""),
        "reason": sentence(certificate.reason),
        "flat": list(certificate.flat),
        "descent": "" if certificate.descent is None else str(certificate.descent),
        "numbers": [{"what": name, "value": value} for name, value in numbers.items()],
        "spectrum": None if certificate.spectrum is None else _short(certificate.spectrum),
    }


def _assumptions(certificate: Any) -> list[list[Any]]:
    rows = () if certificate is None else certificate.assumptions
    return [[row.name, meaning(row.name), row.status, row.number, row.note, row.theorem] for row in rows]


def _strength(subject: Subject, network: Any) -> np.ndarray:
    """How much each neuron moves the output: measured on rows where there are some, |output|·‖weights‖^p otherwise."""
    if _measured(subject, network):
        return subject.evidence.strength  # type: ignore[union-attr]
    lengths = np.linalg.norm(network.weights, axis=1)
    return np.abs(np.atleast_2d(network.output)).max(axis=0) * lengths ** (network.activation.homogeneity or 1)


def _measured(subject: Subject, network: Any) -> bool:
    """Whether strengths were measured on rows."""
    return subject.evidence is not None and len(subject.evidence.strength) == network.n_hidden


def _no_intervals(subject: Subject, network: Any) -> str:
    """Why there are no intervals, in words; empty where there are."""
    if subject.uncertainty is not None or network is None:
        return ""
    if "queries" in subject.numbers:
        return "a model that was asked has no noise"
    if subject.status in ("saddle", "not critical"):
        return "the network is no minimum of the loss"
    if sum(np.size(part) for part in network.arrays().values()) > _MOST:
        return f"they are computed for at most {_MOST:,} parameters"
    return "no standard errors were computed"


def order(subject: Subject, network: Any) -> np.ndarray:
    """Neurons of the displayed network, strongest first."""
    if hasattr(network, "filter"):
        return np.arange(1)
    return np.argsort(-_strength(subject, network), kind="stable")


def _short(values: Any) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, np.float64).ravel()]


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop.

    >>> sentence("every row is explained")
    'Every row is explained.'
    """
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) or not text else ".")
