"""What a report is about: a network, a verdict on it, and as much beside them as is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted.pages._evidence import Evidence
from planted.pages._words import FIRST_ORDER, left_out

# Targets of which each has scores of its own on a page.
_TARGETS = 12


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of a report. A verdict is needed; what is missing is left out of the page.

    Attributes
    ----------
    network : Network, ConvNetwork or None
    status, reason, advice : str
        The verdict in one word, why, and what to try next.
    uncertainty : Uncertainty, optional
        Standard errors of the canonical network.
    certificate : Certificate, optional
    evidence : Evidence, optional
    numbers : dict
        What else was measured, by name.
    search : dict
        "choice": the table of candidates; "widths", "activations", "race": losses (or reasons) by name; "runs": losses
        of independent runs; "descents": the solvers' runs by phase; "restarts": the fate of each restart of a shared
        filter.
    names, targets : sequences of str
        Of the inputs and of the outputs; of labels the name of their column.
    labels : bool
        Whether the network was fitted to labels.
    classes : sequence
        The labels in order, where they are known.
    link : "mean" or "logit"
        What the network gives of labels: the probability of the second class, or log-odds: of the second class of two,
        or of each of several, whose softmax are the probabilities.
    model : str
        The file that the network was written to, if it was.
    exact : bool
        Whether every row is explained to rounding, so that residuals are no noise.
    scaled : UnitScaled, optional
        The displayed network on inputs in units of their standard deviations, with its standard errors: what tables and
        bars show, since weights of inputs in other units do not compare. Formulas are in the inputs' own units.
    scale : array (d,), optional
        These standard deviations.
    untested : str
        Why the residuals were not tested, in words; empty where they were.
    """

    network: Any
    status: str
    reason: str
    advice: str = ""
    uncertainty: Any = None
    certificate: Any = None
    evidence: Evidence | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    search: dict[str, Any] = field(default_factory=dict)
    names: Sequence[str] = ()
    targets: Sequence[str] = ()
    labels: bool = False
    classes: Sequence[Any] = ()
    link: str = "mean"
    model: str = ""
    exact: bool = False
    scaled: Any = None
    scale: Any = None
    untested: str = ""

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, x0, x1, … where they have none; of the entries of a filter for a shared one."""
        if self.network is None:
            return []
        if hasattr(self.network, "filter"):
            return [f"filter {i}" for i in range(len(self.network.filter))]
        d = self.network.n_features
        return [str(name) for name in self.names] if len(self.names) == d else [f"x{i}" for i in range(d)]

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs, of the classes that they are of, or y, or y0, y1, … where they have none."""
        m = getattr(self.network, "n_outputs", 1)
        if len(self.targets) == m:
            return [str(name) for name in self.targets]
        if self.labels and m > 1:
            return [self._class(i) for i in range(m)]
        return ["y"] if m == 1 else [f"y{i}" for i in range(m)]

    @property
    def column(self) -> str:
        """Where the rows' targets stand: names of columns with commas between them, one column for labels."""
        if not self.labels:
            return ",".join(self.outputs)
        return str(self.targets[0]) if len(self.targets) == 1 else "y"

    @property
    def quantities(self) -> list[str]:
        """What each output of the network is.

        >>> from planted import Network
        >>> Subject(Network([[1.0]], [2.0]), "", "", labels=True, link="logit", classes=["no", "yes"]).quantities
        ['log-odds of yes']
        """
        outputs = self.outputs
        if not self.labels:
            return outputs
        if self.link == "mean":
            return [self.chance]
        return [f"log-odds of {self._class(1)}"] if len(outputs) == 1 else [f"score of {name}" for name in outputs]

    @property
    def chance(self) -> str:
        """The probability of the second class, as formulas have it."""
        return f"P({self.column} = {_label(self.classes[1]) if len(self.classes) > 1 else 1})"

    def _class(self, i: int) -> str:
        """The name of a class in a sentence."""
        if i >= len(self.classes):
            return f"class {i}"
        return str(self.classes[i]) if isinstance(self.classes[i], str) else f"class {_label(self.classes[i])}"


def subject_of(
    result: Any,
    *,
    evidence: Evidence | None = None,
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    model: str = "",
) -> Subject:
    """The subject that a fitted estimator, a recovery, a reading or a similar result is.

    Anything with `network`, `status` and `reason` will do; `advice`, `verdict`, `uncertainty`, `descents`, `details`,
    `loss`, `relative_loss`, `method`, `seconds`, `queries` and `fidelity` are shown where they are there.

    Parameters
    ----------
    result : estimator or result
    evidence : Evidence, optional
        Of other rows than those of the fit, whose own evidence is shown otherwise.
    names, targets : sequences of str
        Of the inputs and outputs; those of the fit if omitted.
    model : str
        The file that the network was written to.

    Examples
    --------
    >>> from planted import Network
    >>> from types import SimpleNamespace
    >>> subject_of(SimpleNamespace(network=Network([[1.0]], [2.0]), status="recovered", reason="by query")).inputs
    ['x0']
    """
    estimator, recovery = (result, result.result_) if hasattr(result, "result_") else (None, result)
    details = dict(getattr(recovery, "details", {}))
    facts = getattr(getattr(recovery, "verdict", None), "facts", None)
    known = list(getattr(estimator, "input_names_", ()) or getattr(estimator, "feature_names_in_", ()))
    called = targets or getattr(estimator, "target_names_", ())
    return Subject(
        network=recovery.network,
        status=recovery.status,
        reason=recovery.reason,
        advice=getattr(recovery, "advice", ""),
        uncertainty=getattr(recovery, "uncertainty", None),
        certificate=getattr(estimator, "certificate_", getattr(recovery, "certificate", None)),
        evidence=getattr(estimator, "evidence_", None) if evidence is None else evidence,
        numbers=_numbers(recovery, estimator, called) | _each_target(recovery, called),
        search={
            "widths": dict(getattr(estimator, "width_losses_", {})),
            "activations": dict(getattr(estimator, "activation_losses_", {})),
            "choice": getattr(estimator, "choice_", None),
            "race": dict(details.get("race", {})),
            "runs": details.get("run_losses", details.get("restart_losses", ())),
            "descents": dict(getattr(recovery, "descents", {})),
            "restarts": details.get("restarts", ()),
        },
        names=names or known,
        targets=called,
        labels=hasattr(estimator, "classes_"),
        classes=list(getattr(estimator, "classes_", ())),
        link=getattr(estimator, "link_", "mean"),
        model=model,
        exact=bool(getattr(facts, "explained", False)),
        untested=_untested(facts),
    )


def _untested(facts: Any) -> str:
    """Why the test of the residuals was not run, in words; empty where it was, or where nothing was measured."""
    if facts is None or math.isfinite(facts.p_value):
        return ""
    if facts.explained:
        return "every row is explained to rounding"
    return "too few labels are in doubt for it" if facts.labels else "there are too few rows for it"


def _label(value: Any) -> str:
    """A label as text, whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _each_target(recovery: Any, names: Sequence[str]) -> dict[str, Any]:
    """R² of each of several targets: of rows left out where that was measured, of the rows of the fit otherwise."""
    facts = getattr(getattr(recovery, "verdict", None), "facts", None)
    each = getattr(facts, "targets", ())
    rows = left_out(getattr(facts, "refitted", False))
    called = list(names) if len(names) == len(each) else [f"y{i}" for i in range(len(each))]
    numbers = {}
    for name, losses in list(zip(called, each, strict=True))[:_TARGETS]:
        if not math.isfinite(losses.network):
            numbers[f"R² of the rows of the fit, {name}"] = 1 - losses.fit
            continue
        rivals = {"this network": losses.network, "a linear function": losses.linear, "the mean": losses.mean}
        numbers |= {f"R² of {rows}, {name}, {who}": 1 - loss for who, loss in rivals.items()}
    return numbers


def _numbers(recovery: Any, estimator: Any, names: Sequence[str]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    labels = hasattr(estimator, "classes_")
    words = {
        "method": "method",
        "loss": f"loss (½ mean squared {'distance of probabilities from labels' if labels else 'residual'})",
        "relative_loss": f"{'that' if labels else 'residual variance'} over "
        f"{'the one of the shares of the classes' if labels else 'variance of the target'}",
        "seconds": "seconds",
        "queries": "queries",
        "fidelity": "largest difference to the model on fresh questions, in standard deviations",
    }
    for name, meaning in words.items():
        if getattr(recovery, name, None) is not None:
            numbers[meaning] = getattr(recovery, name)
    likely = dict(getattr(recovery, "details", {})).get("cross_entropy")
    if likely is not None:
        numbers["mean log loss (cross-entropy)"] = likely
    verdict = getattr(recovery, "verdict", None)
    if verdict is not None:
        facts = verdict.facts
        count = "numbers that rows have to determine"
        rows = "rows"
        if getattr(recovery.network, "n_hidden", 1):
            rows = "rows in which a neuron is active"
            # Tables of candidates count weights.
            count += ", beside the lengths of neurons" * (recovery.network.activation.homogeneity is not None)
        numbers |= {
            "p-value of the residual test": facts.p_value,
            f"{'' if facts.labels else 'distinct '}{rows}": facts.counting_rows,
            count: facts.n_parameters,
        }
        measure = "explained deviance" if facts.labels else "R²"
        line, constant = (
            (facts.linear_rival, "the classes' shares") if facts.labels else ("a linear function", "the mean")
        )
        losses = {"this network": facts.network_loss, line: facts.linear_loss, constant: facts.mean_loss}
        curved = {"this network", line} if facts.labels else {"this network"} if facts.n_hidden else set()
        curved = set() if facts.refitted else curved
        how = {name: f" ({FIRST_ORDER})" if name in curved else "" for name in losses}
        if math.isfinite(facts.network_loss):
            rows = f"{measure} of {left_out(facts.refitted)}"
            numbers |= {f"{rows}, {name}{how[name]}": 1 - loss for name, loss in losses.items()}
    noise = getattr(getattr(recovery, "uncertainty", None), "noise", None)
    if noise is not None:
        called = list(names) if len(names) == np.size(noise) > 1 else [f"y{i}" for i in range(np.size(noise))]
        for name, size in zip(called, np.ravel(noise).tolist(), strict=True):
            numbers["standard deviation of the noise" + f", {name}" * (np.ndim(noise) > 0)] = size
    if hasattr(estimator, "alpha_"):
        numbers["ℓ2 penalty of this network (alpha)"] = estimator.alpha_
    law = getattr(estimator, "inputs_", None)
    if law is not None:
        numbers["law of the inputs"] = str(law)
    return numbers
