"""A fitted estimator as a table to read: what was concluded, how well it predicts, and every neuron with its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import numpy as np

from planted.certificates import unit_scaled
from planted.estimators._scores import scores
from planted.estimators._weighting import class_weights
from planted.names import count_of
from planted.networks import ConvNetwork
from planted.pages import displayed, shown_errors, shown_network

_COLUMNS, _NEURONS, _INPUTS = 4, 12, 24
# A share of rows that is all of them, but for rounding.
_ALWAYS = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Summary:
    """What `summary()` gives: printing it shows the table.

    Attributes
    ----------
    head : list of str
        The conclusion, the network, and how well it predicts.
    parts : list of dict
        One entry a neuron, strongest first, or a patch or a filter, in their order: `strength`, `active in`, and by the
        name of each parameter the value and its standard error (None if it is not known, or if rounding is all that is
        left).
    shared : dict
        Parameters that belong to no neuron: intercepts and the linear part, values with standard errors.
    notes : list of str
        What the columns of the table mean, and what is left out of it.
    level : float or None
        Of intervals, which are shown instead of standard errors then.
    intervals : tuple (list of dict, dict) or None
        The same as `parts` and `shared` with how far an interval reaches to either side; None without a level.
    digits : int
        Of numbers without an error.
    kind : "neuron", "patch" or "filter"
        What an entry of `parts` is called, and its column of the table; patches are counted from 0, as in pictures.
    """

    head: list[str]
    parts: list[dict[str, Any]]
    shared: dict[str, tuple[float, float | None]]
    notes: list[str]
    level: float | None = None
    hidden: list[str] = field(default_factory=list)
    intervals: tuple[list[dict[str, Any]], dict[str, Any]] | None = None
    digits: int = 4
    kind: str = "neuron"

    def as_dict(self) -> dict[str, Any]:
        """Neurons and shared parameters in JSON's types."""
        return {"neurons": self.parts, "shared": self.shared}

    def table(self) -> str:
        """Neurons as columns, parameters as rows, then what they share."""
        lines: list[str] = []
        parts, shared = self.intervals or (self.parts, self.shared)
        shown, left = self._places(), max(len(self.parts) - _NEURONS, 0)
        for begin in range(0, len(shown), _COLUMNS):
            lines += [*self._block(parts, shown[begin : begin + _COLUMNS]), ""]
        if left:
            which, many = (
                "more" if self.kind == "filter" else "weaker",
                "patches" if self.kind == "patch" else f"{self.kind}s",
            )
            lines += [f"… {count_of(left, f'{which} {self.kind} is', f'{which} {many} are')} not shown", ""]
        if shared:
            width = max(len(name) for name in shared)
            lines += [f"{name:<{width}}  {self._cell(*pair)}" for name, pair in shared.items()] + [""]
        return "\n".join(lines).rstrip()

    def _places(self) -> list[int]:
        """Which columns are shown, in their order: those of the strongest patches where these are too many."""
        places = list(range(len(self.parts)))
        if self.kind == "patch":
            places.sort(key=lambda i: -self.parts[i]["strength"])
        return sorted(places[:_NEURONS])

    def _block(self, parts: Sequence[dict[str, Any]], places: Sequence[int]) -> list[str]:
        names = [name for name in parts[0] if name not in self.hidden]
        cells = [[self._named(name, parts[i][name]) for i in places] for name in names]
        heads = [f"{self.kind} {i + (self.kind != 'patch')}" for i in places]
        left = max(len(name) for name in names)
        widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]
        lines = [" " * left + "  " + "  ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))]
        for name, row in zip(names, cells, strict=True):
            entries = "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            lines.append(f"{name:<{left}}  {entries}")
        return lines

    def _named(self, name: str, value: Any) -> str:
        if name == "strength":
            return f"{value:.3g}"
        if name == "active in":
            return f"{100 * value:.0f} %" if value in (0.0, 1.0) else f"{100 * value:.1f} %"
        return self._cell(*value)

    def _cell(self, value: float, error: float | None) -> str:
        if error is None:
            return f"{value:+.{self.digits}g}"
        if math.isinf(error):
            return f"{value:+.4g}, left open"
        return _with_error(value, error) if self.level is None else _with_interval(value, error)

    def __str__(self) -> str:
        return "\n".join([*self.head, "", self.table(), "", *self.notes]).strip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _with_error(value: float, error: float) -> str:
    """A value and its error, with two digits of the error.

    >>> _with_error(0.66351, 0.00342), _with_error(-7.0, 1e-9), _with_error(-0.2, 11.0)
    ('+0.6635 ± 0.0034', '-7 ± 1e-09', '+0 ± 11')
    >>> _with_error(-131.889, 104.2), _with_error(2.34567e7, 31234.0)
    ('-130 ± 100', '+2.3457e+07 ± 3.1e+04')
    """
    shown, beside = _to_place(_place(error), value, error)
    return f"{shown} ± {beside.removeprefix('+')}"


def _with_interval(value: float, reach: float) -> str:
    """A value and the interval that reaches so far to either side, with two digits of how far.

    >>> _with_interval(1199.62, 0.549), _with_interval(0.980051, 5.3e-5)
    ('+1199.62 [+1199.07, +1200.17]', '+0.980051 [+0.979998, +0.980104]')
    """
    shown, low, high = _to_place(_place(reach), value, value - reach, value + reach)
    return f"{shown} [{low}, {high}]"


def _place(error: float) -> int:
    """The decimal of an error's second digit, negative left of the point; that of the ninth digit of no error."""
    return 1 - math.floor(math.log10(float(f"{error:.1e}"))) if error > 0 else 9


def _to_place(place: int, *values: float) -> list[str]:
    """Numbers rounded to a decimal place, with their signs; what rounds to nothing has none."""
    rounded = [round(value, place) + 0.0 for value in values]
    if place <= 6 and max(map(abs, rounded)) < 1e6:
        return [f"{value:+.{max(place, 0)}f}" for value in rounded]
    digits = [math.floor(math.log10(abs(value))) + place if value else 0 for value in rounded]
    if max(map(abs, rounded)) >= 1e6:
        return [f"{value:+.{min(count, 16)}e}" for value, count in zip(rounded, digits, strict=True)]
    return [f"{value:+.{min(count + 1, 17)}g}" for value, count in zip(rounded, digits, strict=True)]


def summarise(estimator: Any, level: float | None = None) -> Summary:
    """The summary of a fitted estimator, with intervals of a level instead of standard errors if one is given."""
    if level is not None and not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}")
    result, shown = estimator.result_, estimator.evidence_
    errors = result.uncertainty
    network = displayed(result.network, errors)
    names = list(getattr(estimator, "input_names_", ()))
    own, estimate = ({}, {}) if errors is None else (errors.errors, errors.estimate)
    reach = {} if errors is None or level is None else errors.reach(level)
    hidden: list[str] = []
    columns: Callable[[dict[str, Any]], tuple[list[Any], dict[str, Any]]]
    if isinstance(network, ConvNetwork):
        columns, kind, notes = partial(_filter, network, shown), "patch", ["patches are those of a row, in their order"]
        notes += _left_out(len(network.filter) - _INPUTS, "more entry of the filter", "more entries of the filter")
    elif errors is not None and "filters" in errors.estimate:
        columns, kind = partial(_columns, errors.estimate), "filter"
        notes = ["every column is a filter, which all patches of a row share"]
    else:
        if len(names) != network.n_features:
            names = [f"x{i}" for i in range(network.n_features)]
        made = unit_scaled(network, shown.scale, errors)
        network = shown_network(made.network, made.errors, result.verdict.facts.explained)
        own, hidden, estimate = made.errors, _hidden(network, names), network.arrays()
        columns, kind = partial(_neurons, estimator, network, names), "neuron"
        notes = _neuron_notes(network, shown, len(hidden))
    stated = shown_errors(own, estimate, result.verdict.facts.explained)
    rounded = any(np.isnan(error).any() for error in stated.values())
    if rounded:
        notes = [*notes, f"numbers without an {'error' if level is None else 'interval'} are known to rounding"]
    parts, shared = columns(stated)
    intervals = columns({name: reach[name] * stated[name] for name in stated}) if reach else None
    if level is not None and any(np.isfinite(error).any() for error in stated.values()):
        notes = [f"brackets hold {100 * level:g} % intervals for independent noise", *notes]
    return Summary(_head(estimator), parts, shared, notes, level, hidden, intervals, 6 if rounded else 4, kind)


def _head(estimator: Any) -> list[str]:
    """Conclusion, network, penalty, scores."""
    result, verdict = estimator.result_, estimator.result_.verdict
    lines = [f"{verdict.status}: {verdict.reason}"] + ([verdict.advice] if verdict.advice else [])
    rows = count_of(estimator.evidence_.n_rows, "row")
    lines += [f"{result.network}; {rows}; method {result.method!r}; {result.seconds:.1f} s"]
    return lines + _penalty(estimator) + scores(estimator) + _weights(estimator)


def _weights(estimator: Any) -> list[str]:
    """What weights rows and classes have, a line each; nothing where they have none."""
    weighting = [getattr(estimator, "_weighting", "")]
    if getattr(estimator, "_factors", None) is not None:
        weighting.append(class_weights(estimator.classes_.tolist(), estimator._factors))
    return [words for words in weighting if words]


def _penalty(estimator: Any) -> list[str]:
    """The penalty that a network of labels was fitted with and who chose it, in one line; nothing of other networks."""
    if not hasattr(estimator, "alpha_"):
        return []
    chosen = ", chosen by held-out rows" if estimator.alpha_ != estimator.alpha else ""
    if not estimator.alpha_:
        return [f"ℓ2 penalty of this network: none{chosen}"]
    biased = "it pulls weights towards zero, so that errors and intervals are biased"
    return [f"ℓ2 penalty of this network: alpha={estimator.alpha_:g}{chosen}; {biased}"]


def _neurons(
    estimator: Any, net: Any, names: list[str], spread: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Neurons, strongest first, and what they share, each value with its place in `spread`."""
    shown, outputs = estimator.evidence_, _outputs(estimator, net)
    parts = []
    for i in np.argsort(-shown.strength, kind="stable"):
        part: dict[str, Any] = {"strength": float(shown.strength[i]), "active in": float(shown.active[i])}
        for j, name in enumerate(outputs):
            place = (i,) if net.output.ndim == 1 else (j, i)
            part[name] = _pair(net.output, spread.get("output"), place)
        part |= {name: _pair(net.weights, spread.get("weights"), (i, j)) for j, name in enumerate(names)}
        if net.bias is not None:
            part["bias"] = _pair(net.bias, spread.get("bias"), (i,))
        parts.append(part)
    return parts, _shared(net, spread, names, outputs)


def _neuron_notes(net: Any, shown: Any, hidden: int) -> list[str]:
    """What the columns of neurons mean, and how many inputs are left out of them."""
    if not net.n_hidden:
        zero = "; an intercept is what the function gives where every input is zero, not at its mean"
        notes = ["coefficients are per standard deviation of an input" + zero * bool(np.any(net.intercept))]
        notes *= net.skip is not None
    else:
        notes = ["weights are per standard deviation of an input" + (
            ", of length one together; the output carries the rest" if net.activation.homogeneity is not None else ""
        )]  # fmt: skip
        if np.all(np.isfinite(net.activation.range)):
            notes.append("a neuron is active in rows on its slope, not in those where it stays at one of its ends")
        ranking = np.argsort(-shown.strength, kind="stable")
        always = shown.active[ranking] > _ALWAYS
        notes += _in_every_row(always & shown.straight[ranking], "linear")
        if net.activation.name == "squared_relu":
            notes += _in_every_row(always, "never silent")
    return notes + _left_out(hidden, "input with smaller weights", "inputs with smaller weights")


def _left_out(number: int, one: str, many: str) -> list[str]:
    """How many are not shown, in words; nothing if there are none."""
    return [f"{count_of(number, f'{one} is', f'{many} are')} not shown"] if number > 0 else []


def _in_every_row(these: np.ndarray, kind: str) -> list[str]:
    """What neurons that are active in every row are, in words; nothing if there are none."""
    places = np.flatnonzero(these) + 1
    if not len(places):
        return []
    return [
        f"neuron{'s' * (len(places) > 1)} {', '.join(map(str, places))}: active in every row, so {kind} on these rows"
    ]


def _outputs(estimator: Any, network: Any) -> list[str]:
    """Names of the rows that hold output weights."""
    m = len(np.atleast_2d(network.output))
    if m == 1:
        return ["output"]
    targets = getattr(estimator, "classes_", getattr(estimator, "target_names_", ()))
    labels = [str(name) for name in targets] if len(targets) == m else [str(j) for j in range(m)]
    return [f"output {name}" for name in labels]


def _hidden(network: Any, names: list[str]) -> list[str]:
    """Inputs that are too many to be shown: those with the smallest weights, if there are any weights."""
    if len(names) <= _INPUTS or (not network.n_hidden and network.skip is None):
        return []
    size = np.abs(network.weights).max(axis=0, initial=0.0)
    if network.skip is not None:
        size = size + np.abs(np.atleast_2d(network.skip)).max(axis=0)
    large = set(np.argsort(-size)[:_INPUTS].tolist())
    return [name for j, name in enumerate(names) if j not in large]


def _shared(network: Any, errors: dict[str, Any], names: list[str], outputs: list[str]) -> dict[str, Any]:
    several = network.output.ndim > 1
    shared: dict[str, Any] = {}
    for j, head in enumerate(outputs):
        tail = f" of {head.removeprefix('output ')}" if several else ""
        place = (j,) if several else ()
        if np.any(network.intercept) or "intercept" in errors:
            shared[f"intercept{tail}"] = _pair(np.asarray(network.intercept), errors.get("intercept"), place)
        if network.skip is not None:
            hidden = _hidden(network, names)
            shared |= {
                f"linear{tail}: {name}": _pair(network.skip, errors.get("skip"), (*place, i))
                for i, name in enumerate(names)
                if name not in hidden
            }
    return shared


def _filter(network: Any, shown: Any, spread: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    parts = [
        {"strength": float(shown.strength[i]), "active in": float(shown.active[i]),
         "output": _pair(network.output, spread.get("output"), (i,))}
        for i in range(len(network.output))
    ]  # fmt: skip
    entries = {f"filter {j}": _pair(network.filter, spread.get("filter"), (j,)) for j in range(len(network.filter))}
    return parts, dict(list(entries.items())[:_INPUTS])


def _columns(arrays: Any, spread: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Outputs and entries of filters (k, …), one column a filter; nothing is shared."""
    words = {"output": "output of patch", "filters": "entry"}
    return [
        {
            f"{word} {j}": _pair(arrays[name], spread.get(name), (i, j))
            for name, word in words.items()
            for j in range(arrays[name].shape[1])
        }
        for i in range(len(arrays["output"]))
    ], {}


def _pair(values: Any, errors: Any, place: tuple[int, ...]) -> tuple[float, float | None]:
    error = math.nan if errors is None else float(np.asarray(errors)[place])
    return float(np.asarray(values)[place]), None if math.isnan(error) else error
