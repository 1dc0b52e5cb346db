r"""What can be said of a fit without knowing the teacher: one of four statuses, from facts that are measured once.

"recovered": every row is explained to rounding, and the rows determine the weights up to the symmetries.
"estimated": it is not, but what is left looks like noise; weights come with standard errors.
"ambiguous": nothing speaks against the network, but the rows do not determine it: too few of them, inputs that repeat
one another, or a mean, a linear function or fewer neurons that predict rows left out as well.
"misfit": structure is left, or the mean is better: an intercept, the activation, the width, the search, or rows that
come from something else.

Every sentence of a verdict stands in this file, those about what is behind a misfit in
:mod:`planted.methods._verdict_causes`, and every threshold in :mod:`planted.methods._facts`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.methods._facts import (
    ALIKE,
    EXACT,
    LEVEL,
    MARGIN,
    PRECISE,
    ROUNDED,
    SPARE,
    TELLING_ROWS,
    WORTH,
    Facts,
)
from planted.methods._listing import gain
from planted.methods._verdict_causes import cause_of, nothing_better, refitted, units, untried
from planted.names import count_of

STATUSES = ("recovered", "estimated", "ambiguous", "misfit")
SUCCESSES = ("recovered", "estimated")


@dataclass(frozen=True)
class Verdict:
    """One of :data:`STATUSES` with the reason and the advice in one sentence each, and the facts behind it."""

    status: str
    reason: str
    advice: str
    facts: Facts

    @property
    def p_value(self) -> float:
        """Of the residual test, NaN if it was not run."""
        return self.facts.p_value

    def advising(self, advice: str) -> Verdict:
        """The same verdict with other advice."""
        return replace(self, advice=advice)

    @property
    def success(self) -> bool:
        """Whether the network can be used as it is: "recovered" or "estimated"."""
        return self.status in SUCCESSES


OUT_OF_TIME = "the search was stopped to keep the time budget, and this is the best network until then"
_UNMEASURED = {"rivals": "whether logistic regression predicts as well", "fewer": "whether fewer neurons would do"}
_NOTHING = "nothing that was tried explains held-out rows clearly better than {}"
_WITHOUT_NEURONS = {
    "linear": "one linear function explains this, no neuron is needed",
    "constant": _NOTHING.format("their mean"),
}
_UNSEEN = "whether this linear function says anything of rows left out was not measured"
_NOT_COMPARED = "whether neurons are needed is not known, since the time was over before all networks were compared"


def judge(facts: Facts) -> Verdict:
    """The status that follows from the facts.

    >>> judge(Facts(1e-30, 1e-15, 100, 10)).status, judge(Facts(1e-30, 1e-15, 11, 10)).status
    ('recovered', 'ambiguous')
    >>> judge(Facts(0.01, np.inf, 100, 10, p_value=0.4)).status, judge(Facts(0.01, np.inf, 100, 10, p_value=0.0)).status
    ('estimated', 'misfit')
    """
    status, reason, advice = _status(facts)
    if status in SUCCESSES and facts.without_neurons:
        reason = f"{reason}; {_WITHOUT_NEURONS[facts.without_neurons]}"
    if facts.far_rows and not facts.odd_rows:
        reason = f"{reason}; {facts.far_rows}, and least squares follows them"
        advice = f"Look at the rows farthest off, and leave out those that are errors. {advice}".rstrip()
    if facts.remark:
        reason = f"{reason}; {facts.remark}"
    if facts.unmeasured:
        reason = f"{reason}; no time was left to see {' and '.join(_UNMEASURED[name] for name in facts.unmeasured)}"
    if facts.late or facts.unmeasured:
        advice = f"Give a larger time_budget. {advice if status == 'ambiguous' else ''}".rstrip()
    return Verdict(status, reason, advice, facts)


def _status(facts: Facts) -> tuple[str, str, str]:
    tested = np.isfinite(facts.p_value)
    if facts.unfinished and not facts.explained:
        return (
            "misfit",
            f"{_share(facts)}, but {facts.unfinished}",
            "Try solver='newton', which goes on to the minimum.",
        )
    if facts.odd_rows and not facts.structure and (facts.cause is None or facts.cause.kind == "other"):
        return (
            "misfit",
            f"{_share(facts)}, but what is left is in {facts.odd_rows}, and all others are explained to rounding: "
            "errors in these rows, or neurons that hardly any other row shows",
            "Look at these rows, or give more like them.",
        )
    if (not facts.explained and facts.structure) or (tested and facts.p_value < LEVEL):
        evidence = "" if facts.explained else facts.structure
        evidence = evidence or f"the residuals have structure (p = {facts.p_value:.1g}, level {LEVEL:g})"
        cause, advice = cause_of(facts) if not facts.without_neurons else nothing_better(facts)
        if _linear_as_well(facts):
            cause, advice = _WITHOUT_NEURONS["linear"], "Use linear regression."
        share = _share(facts)
        if _loses_to_linear(facts) or _loses_to_mean(facts):
            share = f"{_beside_linear(facts) if _loses_to_linear(facts) else _beside_mean(facts)}; {share}"
        if facts.neighbours:
            cause = f"{cause}; {_together(facts)}{'' if facts.in_order else ', which may look like structure'}"
            advice = advice if facts.in_order else f"{advice} {_apart(facts)}".lstrip()
        if facts.relative_loss > 1:
            return "misfit", f"{share}; {cause}", advice
        return "misfit", f"{share}, but {evidence}: {cause}", advice
    simpler = _simpler(facts)
    if simpler:
        reason, advice = simpler
        # Why labels were fitted with a penalty, and what they leave open.
        return "ambiguous", f"{reason}; {facts.undetermined}" if facts.labels and facts.undetermined else reason, advice
    left = "every row is explained" if facts.explained else _share(facts)
    if facts.undetermined:
        if facts.labels and facts.without_neurons:
            known = _WITHOUT_NEURONS[facts.without_neurons] if facts.linear_tells else _UNSEEN
            left += f"; {_NOT_COMPARED if facts.late else known}"
        if facts.labels and facts.cause is not None:
            return (
                "ambiguous",
                f"{left}, but the rows do not determine the weights: {facts.undetermined}; {facts.cause.value} neurons "
                f"explain as much with fewer numbers ({refitted(facts, facts.cause)})",
                f"Try activation='{facts.cause.value}'.",
            )
        return (
            "ambiguous",
            f"{left}, but the rows do not determine the weights: {facts.undetermined}{_beside_open(facts)}",
            _remedy(facts),
        )
    if facts.scarce:
        if facts.thin and facts.counting_rows >= MARGIN * facts.n_parameters:
            return "ambiguous", f"{left}, but {facts.thin}", f"Give more rows {_or_fewer(facts, 'that reach it')}."
        one, several = "distinct row that counts hardly exceeds", "distinct rows that count hardly exceed"
        counting = count_of(facts.counting_rows, one, several)
        asked = int(np.ceil(max(MARGIN * facts.n_parameters, facts.n_parameters + SPARE)))
        return (
            "ambiguous",
            f"{left}, but {counting} the {count_of(facts.n_parameters, 'number')} to be determined"
            f"{_beside_open(facts)}",
            _remedy(facts) if _beside_open(facts) else f"Give at least {asked} such rows.",
        )
    if facts.explained and facts.precision > PRECISE:
        return (
            "ambiguous",
            f"every row is explained, but the weights are known only to {facts.precision:.1g}, relatively: the "
            "rounding of the numbers hides what is beyond",
            f"Bring inputs to comparable units, {_or_fewer(facts, 'or drop those that hardly differ from others')}.",
        )
    if facts.explained:
        words = f"the network explains every row to rounding, and {facts.counting_rows} distinct rows determine it"
        words += f" {facts.given}" if facts.given else ""
        if _linear_as_well(facts):
            words += "; so does one linear function, for which no neuron is needed"
        return "recovered", words, ""
    if facts.without_neurons and facts.late:
        return "ambiguous", f"{_share(facts)}; {_NOT_COMPARED}", ""
    if facts.without_neurons and (facts.crowded or not tested):
        simple = "one linear function" if facts.without_neurons == "linear" else "their mean"
        return (
            "ambiguous",
            f"{_share(facts)}; these rows are too few to tell {simple} from a network with neurons",
            "Give more rows.",
        )
    if facts.neighbours:
        return (
            "ambiguous",
            f"{_share(facts)}, but {_together(facts)}: the rows are worth fewer independent ones, and tests, scores of "
            "rows left out and standard errors do not allow for that",
            _apart(facts),
        )
    if tested:
        rest = f"no structure was found in what is left (p = {facts.p_value:.2g}, level {LEVEL:g})"
    elif facts.relative_loss <= ROUNDED:
        rest = "what is left is rounding"
    else:
        rest = "there are too few rows to test what is left"
    noise = f"; {facts.noise}" if facts.noise else ""
    noise += f"; the rows determine the weights {facts.given}" if facts.given else ""
    others = untried(facts)
    advice = "" if facts.labels or not others else f"If the data has no noise, try {' or '.join(others)}."
    advice = facts.remedy or advice
    return "estimated", f"{_share(facts)}; {rest}{noise}", advice


def _linear_as_well(facts: Facts) -> bool:
    """Whether a linear function explains every row, so that no neuron is needed."""
    return bool(facts.n_hidden and not facts.labels and facts.linear_loss <= EXACT)


def _beside_open(facts: Facts) -> str:
    """What else is said of weights that the rows leave open: a linear function is as good, or more rows are no help."""
    if _linear_as_well(facts):
        return f"; {_WITHOUT_NEURONS['linear']}"
    if facts.remedy or not facts.repeated_inputs:
        return ""
    return f"; more rows may not help, since each of the {facts.repeated_inputs:,} distinct inputs came more than once"


def _remedy(facts: Facts) -> str:
    """What to do about weights that the rows leave open."""
    if _linear_as_well(facts):
        return "Use linear regression."
    if facts.remedy:
        return facts.remedy
    other = "Take the network as one of several that explain these rows as well, or give rows with other inputs"
    rows = other if facts.repeated_inputs else "Give more rows in general position"
    if not (facts.explained or facts.labels or facts.filters) and 0 < facts.different_rows <= facts.n_parameters:
        return "Try another random_state, since so many numbers can explain so few rows."
    return f"{_or_fewer(facts, rows)}."


def _together(facts: Facts) -> str:
    """That rows which follow one another are not independent, in words."""
    common = "have errors in common, as in a time series"
    if facts.in_order:
        common = f"have errors in common, or more to do with {facts.in_order}, in whose order they are"
    return (
        f"rows that follow one another {common} (what they say of the network has a correlation of "
        f"{facts.neighbours:.2g})"
    )


def _apart(facts: Facts) -> str:
    """What to do about rows that follow one another and are not independent."""
    common = f"beside {facts.in_order}, such as a season," if facts.in_order else "such as the time,"
    comma = "" if facts.in_order else ","
    return f"Give what neighbouring rows have in common{comma} {common} as an input, or rows that are further apart."


def _share(facts: Facts) -> str:
    """How much the network explains, in words."""
    explains = 100 * (1 - facts.relative_loss)
    if explains < 0:
        return f"the network is worse than the mean: its squared error is {facts.relative_loss:.3g} times the variance"
    if f"{explains:.4g}" == "100" and not facts.explained:
        return f"the network explains all but {facts.relative_loss:.1g} of the variance"
    return f"the network explains {explains:.4g} % of the variance"


def _or_fewer(facts: Facts, words: str) -> str:
    """`words`, and fewer neurons, or filters, where there are several; not where fewer were compared and are worse."""
    if facts.n_hidden <= 1 or facts.all_needed or (facts.labels and "n_hidden" in facts.compared):
        return words
    return f"{words.removeprefix('or ')}, or ask for fewer {units(facts)}"


def _or_enough(facts: Facts, words: str) -> str:
    """`words`, and as many neurons as predict rows left out as well where these are fewer; of filters any fewer."""
    if facts.filters:
        return _or_fewer(facts, words)
    return f"{words}, or ask for n_hidden={facts.enough_neurons}" if facts.enough_neurons else words


def _simpler(facts: Facts) -> tuple[str, str] | None:
    """Reason and advice where something simpler predicts rows left out as well."""
    if not facts.explained and "mean" in facts.unbeaten and not facts.linear_tells:
        wanted = "more rows" if facts.linear_p_value < LEVEL else "other inputs, or more rows"
        if facts.repeated_inputs and facts.different_rows < TELLING_ROWS:
            more = "ask for more neurons" if facts.n_hidden else "set n_hidden"
            wanted = f"rows with other inputs, or, if there is no noise, {more}"
        if facts.without_neurons:
            nothing = _NOTHING.format("the classes' shares" if facts.labels else "their mean")
            advice = _apart(facts) if facts.neighbours else f"Give {wanted}."
            return f"{nothing}: {_dependence(facts)}", advice
        return f"{_beside_mean(facts)}: {_dependence(facts)}", f"Give {_or_enough(facts, wanted)}."
    if _loses_to_linear(facts):
        rival = facts.linear_rival
        # A better score that may be chance is no evidence against neurons, nor is what so many numbers cost.
        better = facts.crowded or facts.network_loss < (1 - ALIKE) * facts.linear_loss
        so = "these rows are too few to tell whether neurons are needed" if better else _WITHOUT_NEURONS["linear"]
        so = "a few rows far off hide whether neurons are needed" if facts.far_rows else so
        so = _NOT_COMPARED if facts.late else so
        return f"{_beside_linear(facts)}: {so}", f"Use {rival}, or give {_or_enough(facts, 'more rows')}."
    if facts.enough_neurons:
        left = "every row" if facts.explained else "the rows left out as well"
        enough = count_of(facts.enough_neurons, "neuron explains", "distinct neurons explain")
        one, several = f"of {facts.n_hidden} is", f"of {facts.n_hidden} are"
        others = count_of(facts.n_hidden - facts.enough_neurons, one, several)
        words = f"{enough} {left}: the other {others} not determined"
        if _linear_as_well(facts):
            return f"{words}; {_WITHOUT_NEURONS['linear']}", "Use linear regression."
        return words, f"Ask for n_hidden={facts.enough_neurons}."
    return None


def _loses_to_mean(facts: Facts) -> bool:
    """Whether rows left out speak for their mean, where it is not said of the rows of the fit already."""
    return bool(facts.n_hidden and not facts.labels and "mean" in facts.unbeaten and facts.relative_loss <= 1)


def _beside_mean(facts: Facts) -> str:
    """How the network compares with the mean, or the shares of classes, on rows left out, in words."""
    rival = "the classes' shares" if facts.labels else "the mean"
    word = "worse than" if facts.network_loss > facts.mean_loss else "not clearly better than"
    scores = f"{gain(facts.network_loss)}, {rival} {gain(facts.mean_loss)}"
    return f"on rows left out the network is {word} {rival} ({facts.measure} {scores})"


def _loses_to_linear(facts: Facts) -> bool:
    """Whether rows left out speak for a linear function rather than for the network."""
    return not facts.explained and ("linear" in facts.unbeaten or ("mean" in facts.unbeaten and facts.linear_tells))


def _beside_linear(facts: Facts) -> str:
    """How the network compares with a linear function on rows left out, in words."""
    word = "worse than" if facts.network_loss > (1 + ALIKE) * facts.linear_loss else "not clearly better than"
    scores = f"{facts.measure} {gain(facts.network_loss)}, that {gain(facts.linear_loss)}"
    return f"on rows left out the network is {word} {facts.linear_rival} ({scores})"


def _dependence(facts: Facts) -> str:
    """What is known of a dependence on the inputs where nothing is clearly better than the mean."""
    best = np.nanmin([facts.network_loss, facts.linear_loss, facts.mean_loss])
    if facts.linear_p_value < LEVEL:
        return (
            "what these rows depend on was not found, but they are not only noise, since a linear function fits them "
            f"better than chance would (p = {facts.linear_p_value:.1g}, level {LEVEL:g})"
        )
    if facts.neighbours:
        return f"{_together(facts)}, and what that is was not found"
    if 0 < facts.different_rows < TELLING_ROWS:
        equal = ", as rows that are equal count as one" if facts.repeated_inputs else ""
        return f"{facts.different_rows} distinct rows are too few to tell a dependence on the inputs from noise{equal}"
    if facts.crowded or best < (1 - WORTH) * facts.mean_loss:
        return "these rows are too few to tell a dependence on the inputs from noise"
    if facts.late or not np.isfinite(facts.linear_p_value + facts.p_value):
        return "what these rows depend on, if on anything here, was not found"
    return (
        "neither a linear function nor the test of what is left shows a dependence on the inputs, and as far as these "
        "can tell there is only noise"
    )
