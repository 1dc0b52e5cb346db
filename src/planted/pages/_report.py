"""The report of a result: the answer first, then everything it rests on, on one page that needs nothing else."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.names import count_of
from planted.numerics.files import write_whole
from planted.pages._assemble import assemble, embedded
from planted.pages._evidence import displayed, shown_network
from planted.pages._payload import order, payload, sentence
from planted.pages._subject import Subject
from planted.pages._words import COLOUR, KIND, READ, STATUS, question

_TERMS, _INPUTS, _NOTEBOOK_ROWS = 6, 6, 8
_SMALL = 5e-4
# Numbers up to which a formula is also given whole; files hold more than a reader copies.
_WHOLE = 5000


def write_report(path: str | PathLike[str], subject: Subject) -> Path:
    """Write the report of a subject to an HTML file; returns its path.

    >>> import tempfile
    >>> from planted import Network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subject = Subject(Network([[3.0, 4.0]], [2.0]), "recovered", "by construction")
    ...     page = write_report(f"{folder}/report.html", subject)
    ...     "10 · relu( 0.8 · x1 + 0.6 · x0 )" in page.read_text(encoding="utf-8")
    True
    """
    file = Path(path)
    write_whole(file, report_html(subject).encode())
    return file


def report_html(subject: Subject) -> str:
    """The report of a subject as the text of one HTML file."""
    parts = {
        "question": escape(question(subject.status, "queries" in subject.numbers)),
        "title": escape(f"planted: {subject.status}"),
        "status": escape(subject.status),
        "answer": escape(answer(subject)),
        "reason": escape(sentence(subject.reason)),
        "advice": escape(subject.advice),
        "formula": formula(subject),
        "whole": _whole(subject),
        "next": _next(subject),
        "data": embedded(payload(subject)),
    }
    return assemble("report.html", ("shared.css", "report.css"), ("shared.js", "report.js"), parts)


def fragment(subject: Subject) -> str:
    """The head of the report for a notebook: verdict, formula and strongest neurons, without scripts.

    >>> from planted import Network
    >>> "recovered" in fragment(Subject(Network([[3.0, 4.0]], [2.0]), "recovered", "by construction"))
    True
    """
    colour = COLOUR.get(subject.status, COLOUR["misfit"])
    head = (
        f'<p><strong style="color:#fff;background:{colour};border-radius:1em;padding:.1em .7em">'
        f"{escape(subject.status)}</strong> {escape(answer(subject))}</p>"
        f"<p>{escape(sentence(subject.reason))} {escape(subject.advice)}</p>"
    )
    if subject.network is None:
        return f"<div>{head}</div>"
    head += f'<pre style="white-space:pre-wrap">{formula(subject)}</pre>'
    content = payload(subject)
    choice = content["search"]["choice"]
    table = ""
    if content["matrices"]:
        first = content["matrices"][0]
        table = _strongest(first) + (f"<p>{first['unit']}</p>" if first["unit"] else "")
    return f"<div>{head}{table}{'' if choice is None else _candidates(choice)}</div>"


def _strongest(table: dict[str, Any]) -> str:
    """The first rows and columns of a table of weights, for a notebook."""
    largest = max((abs(value) for row in table["values"] for value in row), default=0.0) or 1.0
    columns = table["columns"][:_NOTEBOOK_ROWS]
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = ""
    for label, row in list(zip(table["rows"], table["values"], strict=True))[:_NOTEBOOK_ROWS]:
        bars = "".join(
            f'<td style="background:linear-gradient(90deg,rgba({"31,95,191" if value >= 0 else "196,84,16"},.3) '
            f'{100 * abs(value) / largest:.0f}%,transparent 0)">{value:+.4g}</td>'
            for value in row[:_NOTEBOOK_ROWS]
        )
        body += f'<tr><th scope="row">{escape(label)}</th>{bars}</tr>'
    hidden = len(table["rows"]) - _NOTEBOOK_ROWS, len(table["columns"]) - _NOTEBOOK_ROWS
    what = "outputs" if table["title"] == "linear part" else "neurons"
    more = [f"{count} more {what}" for count, what in zip(hidden, (what, "inputs"), strict=True) if count > 0]
    note = f"<p>… {' and '.join(more)}</p>" if more else ""
    return f"<table><thead><tr><th></th>{cells}</tr></thead><tbody>{body}</tbody></table>{note}"


def _candidates(choice: dict[str, Any]) -> str:
    """The candidates that were compared, folded, for a notebook."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("candidate", "numbers", "held-out loss", "why"))
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th><td>{numbers}</td>'
        f"<td>{loss:.3g} ± {error:.1g}</td><td>{escape(why)}</td></tr>"
        for name, numbers, loss, error, why in choice["rows"]
    )
    return (
        f"<details><summary>candidates that were compared: {escape(choice['reason'])}</summary>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></details>"
    )


def answer(subject: Subject) -> str:
    """The answer in one sentence.

    >>> from planted import Network
    >>> answer(Subject(Network([[1.0]], [2.0]), "recovered", ""))
    'This is the network that made the data: 1 relu neuron on 1 input.'
    """
    network = subject.network
    statuses = READ if "queries" in subject.numbers else STATUS
    lead = statuses.get(subject.status) or KIND.get(subject.status) or "This is the network."
    if network is None:
        return lead
    if hasattr(network, "filter"):
        weights, patches = count_of(len(network.filter), "weight"), count_of(network.n_patches, "patch", "patches")
        what = f"one {network.activation.name} filter of {weights} shared by {patches}"
    else:
        inputs = count_of(network.n_features, "input")
        what = f"{count_of(network.n_hidden, f'{network.activation.name} neuron')} on {inputs}"
        if not network.n_hidden:
            what = "a constant, no neurons" if network.skip is None else f"one linear function of {inputs}, no neurons"
        what += f", {network.n_outputs} outputs" if network.n_outputs > 1 else ""
    return f"{lead[:-1]}: {what}."


def formula(subject: Subject, *, whole: bool = False) -> str:
    """The canonical network as a formula in the caller's own names, strongest neurons and weights first, as HTML.

    Of many neurons and inputs the first few, and four digits, or the `whole` with ten.
    """
    network, outputs = displayed(subject.network, subject.uncertainty), subject.quantities
    if network is None:
        return ""
    act = network.activation.name
    if hasattr(network, "filter"):
        return f"{outputs[0]} = Σ<sub>i</sub> output<sub>i</sub> · {act}( filter · patch<sub>i</sub> )"
    if subject.uncertainty is not None:
        network = shown_network(network, subject.uncertainty.errors, subject.exact)
    ranking, names = order(subject, network), subject.inputs
    scale = np.ones(len(names)) if subject.scale is None else np.asarray(subject.scale)
    shown, digits = (len(ranking), 10) if whole else (_TERMS, 4)
    bias = np.zeros(network.n_hidden) if network.bias is None else network.bias
    lines = []
    for j, target in enumerate(outputs):
        row = np.atleast_2d(network.output)[j]
        terms = [
            _term(row[i], f"{act}( {_sum(network.weights[i], names, bias[i], scale, whole)} )", digits)
            for i in ranking[:shown]
        ]
        if network.skip is not None:
            terms.append(" ".join(_terms(np.atleast_2d(network.skip)[j], names, scale, whole)) or "+ 0")
        shift = float(np.atleast_1d(network.intercept)[j])
        if shift:
            terms.append(_shift(shift, digits))
        if len(ranking) > shown:
            terms.append(f"+ … {count_of(len(ranking) - shown, 'more neuron')}")
        text = "\n    ".join(escape(term) for term in terms) or "0"
        lines.append(f"{escape(target)} = {_opening(text)}")
    if subject.labels and subject.link == "logit":
        several = "probabilities of the classes = softmax of the scores"
        lines.append(several if len(outputs) > 1 else escape(f"{subject.chance} = 1 / (1 + exp(−log-odds))"))
    return "\n".join(lines)


def _next(subject: Subject) -> str:
    """The code that goes on from here."""
    from shlex import quote

    if subject.network is None:
        return ""
    kind = "ConvNetwork" if hasattr(subject.network, "filter") else "Network"
    file = subject.model or "model.safetensors"
    origin = "est.save(...) or planted fit --out writes it"
    if "queries" in subject.numbers:
        origin = "reading.network.save(...) or planted read --out writes it"
    elif subject.status in KIND:
        origin = "the network that was certified"
    lines = [f"# {'written by this command' if subject.model else origin}"]
    imports, given, chances = _given(subject)
    lines += ["import planted", *imports, "", f'network = planted.{kind}.load("{file}")']
    lines += [f"y = network.predict(X){given}", *chances]
    if kind == "Network" and not subject.network.n_hidden:
        # A constant is the formula above.
        if subject.network.skip is not None:
            lines += ["", "# without this package: the numbers are plain arrays"]
            lines += [f"y = X @ network.skip.T + network.intercept{given}", *chances]
    elif kind == "Network":
        lines += [
            "",
            "# without this package: the numbers are plain arrays",
            f"W, a, phi = network.weights, network.output, network.activation  # {subject.network.activation.name}",
            "b = 0 if network.bias is None else network.bias",
            "skip = 0 if network.skip is None else X @ network.skip.T",
            f"y = phi(X @ W.T + b) @ a.T + skip + network.intercept{given}",
            *chances,
        ]
    # A model that knows its classes says itself that it is of labels.
    task = " --task classification" if subject.labels and not subject.classes else ""
    shell = (
        f"planted predict {quote(file)} new.csv --out predictions.csv\n"
        f"planted certify {quote(file)} data.csv --target {quote(subject.column)}{task}"
    )
    return f"<pre>{escape(chr(10).join(lines))}</pre><pre>{escape(shell)}</pre>"


def _given(subject: Subject) -> tuple[list[str], str, list[str]]:
    """Imports, what the network gives of labels as a comment, and the lines that make probabilities of it."""
    if not subject.labels:
        return [], "", []
    given = f"  # {', '.join(subject.quantities[:_TERMS])}" + (", …" if len(subject.quantities) > _TERMS else "")
    if subject.link == "mean":
        return [], given, []
    if len(subject.quantities) == 1:
        return ["from scipy.special import expit"], given, [f"p = expit(y)  # {subject.chance}"]
    return ["from scipy.special import softmax"], given, ["p = softmax(y, axis=1)  # a column for each class"]


def _whole(subject: Subject) -> str:
    """The formula with every number, folded, where the one above it leaves some out or rounds them."""
    network = subject.network
    if network is None or hasattr(network, "filter"):
        return ""
    if sum(np.size(part) for part in network.arrays().values()) > _WHOLE:
        return ""
    text = f'<samp tabindex="0" role="group" aria-label="whole formula">{formula(subject, whole=True)}</samp>'
    return f"<details><summary>the whole formula, every number to ten digits</summary>{text}</details>"


def _terms(weights: np.ndarray, names: list[str], scale: np.ndarray, whole: bool) -> list[str]:
    """The leading terms of weights·x, largest first where inputs vary by `scale` (d,); all of a whole."""
    sizes = np.abs(weights) * scale
    order = np.argsort(-sizes, kind="stable")
    size = float(np.max(sizes, initial=0.0))
    if whole:
        return [_term(weights[i], names[i], 10) for i in order if weights[i]]
    leading = [i for i in order[:_INPUTS] if sizes[i] > _SMALL * size]
    terms = [_term(weights[i], names[i], 4) for i in leading]
    return terms + ([f"+ … {len(order) - _INPUTS} more"] if len(order) > _INPUTS else [])


def _sum(weights: np.ndarray, names: list[str], shift: float, scale: np.ndarray, whole: bool) -> str:
    terms = _terms(weights, names, scale, whole)
    if shift:
        terms.append(_shift(float(shift), 10 if whole else 4))
    return _opening(" ".join(terms) or "0")


def _opening(sum_: str) -> str:
    """A sum whose first sign stands close to its term, or is left out."""
    return f"−{sum_[2:]}" if sum_.startswith("− ") else sum_.removeprefix("+ ")


def _term(factor: float, what: str, digits: int) -> str:
    return f"{_shift(float(factor), digits)} · {what}"


def _shift(value: float, digits: int) -> str:
    return f"{'−' if value < 0 else '+'} {abs(value):.{digits}g}"
