r"""What can be said of a fit without knowing the teacher: one of four statuses, from facts that are measured once.

"recovered": every row is explained to rounding, and the rows determine the weights up to the symmetries.
"estimated": it is not, but what is left looks like noise; weights come with standard errors.
"ambiguous": nothing speaks against the network, but the rows do not determine it: too few of them, inputs that repeat
one another, or a mean, a linear function or fewer neurons that predict rows left out as well.
"misfit": structure is left, or the mean is better: an intercept, the activation, the width, the search, or rows that
come from something else.

Every threshold stands in this file, and every sentence of a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.methods._listing import REFITTED, gain, listed, penalised_words
from planted.names import count_of

STATUSES = ("recovered", "estimated", "ambiguous", "misfit")
SUCCESSES = ("recovered", "estimated")

EXACT = 1e-12
"""A relative loss (residual variance over target variance) that rounding alone explains."""
HELD_OUT_FLOOR = 1e-5
"""A relative loss of held-out rows that the early stopping of a width search explains."""
ROW_EXACT = 1e-5
"""The largest residual of a row, relative to the size of the terms that add up to it, that rounding explains."""
ROUNDED = 1e-20
"""A relative loss below which what is left is rounding of float64, and no test is needed to tell."""
NOISELESS = 1e-24
"""A relative loss that a descent reaches only where every number is known as well as rounding lets it be known."""
PRECISE = 1e-5
"""The relative error of the weights, at the residuals or the rounding of the numbers, up to which they are known."""
MARGIN = 1.2
"""Rows that count must exceed what they determine by this factor and by `SPARE`: the others confirm the fit."""
SPARE = 3
LEVERAGE = 1 - 1e-5
"""Where inputs are in general position, fewer rows do if none has more leverage than this: the others confirm each."""
SILENT = 10
"""Rows in which a lone neuron is silent that confirm it where the active rows just suffice."""
LEVEL = 1e-3
"""A residual test with a smaller p-value shows structure."""
RIVAL_ERRORS = 2.0
"""Standard errors of the difference by which a network must be better than a simpler one in rows left out."""
SURE = 5.0
"""Standard errors of a sign test by which more rows must be predicted better than a simpler network predicts them."""
EXPLAINED = 1e-8
"""A relative loss in rows held out below which nothing is left to be explained by another network."""
NEARLY = 1e-4
"""A relative loss in rows held out below which a search may have ended next to the network that made the rows."""
TELLING_ROWS = 50
"""Distinct rows below which it is not said that they show no dependence on the inputs."""
WORTH = 0.1
"""A share of a held-out loss that is worth a change of the network, so that only chance speaks against a larger one."""
UNEVEN = 0.01
"""A smaller p-value of noise of one size calls for errors that do without it."""
LOOSE = 1 / 3
"""The relative error of a neuron's output above which normal intervals of the network are only approximate."""
WEAK = 2.0
"""The factor by which the loss grows at most when a neuron that may be superfluous is taken away."""
ACCURATE = 0.1
"""An expected relative error of the weights that a user would call accurate."""
DIVERGED = 1e3
"""Weights of labels beyond this grow without limit: the loss has no finite minimiser."""
PROBES, LEAST_PROBES = 40, 6
"""Functions of the inputs that the residual test tries, and the fewest with which it says something."""
ROWS_PER_UNKNOWN, ROWS_PER_PROBE, TESTED_ROWS = 4, 5, 4000
"""Rows an unknown that the residual test takes, rows a probe that it needs, and rows that it takes where it can."""
TESTED_UNKNOWNS = 1000
"""Unknowns above which the residual test leaves the network's derivatives out."""
LARGE_ROWS = 50_000
"""Rows at most that are looked at where a part of them says enough."""
LEVERAGE_ENTRIES = 2_000_000
"""Entries of the derivatives above which no leverages are computed."""
SINGULAR = 1e-10
"""A share of the largest eigenvalue below which a direction is not spanned."""


@dataclass(frozen=True)
class Cause:
    """What keeps a network from explaining its rows, from fits to a part of them that are compared on the rest.

    Attributes
    ----------
    kind : "search", "intercept", "link", "activation", "width", "parts", "filters" or "other"
        What was changed in the simplest fit that is clearly better; "other" if none is.
    value : str
        To what: the free part ("intercept", "bias" or "skip"), the activation, the number of neurons; that number for
        "parts", which has more neurons, biases and an intercept at once.
    before, after : float
        Mean squared errors of the network and of that fit (of the best one for "other") over the variance.
    """

    kind: str
    value: str
    before: float
    after: float


@dataclass(frozen=True)
class Facts:
    """What a verdict follows from.

    Attributes
    ----------
    relative_loss : float
        Residual variance over the variance of the targets.
    largest_residual : float
        Over all rows, relative to the size of the terms that add up to the row; infinite where rows are never explained
        one by one, as labels.
    counting_rows : int
        Distinct rows in which some neuron is active.
    n_parameters : int
        Numbers that the rows have to determine, symmetries taken off.
    undetermined : str
        What the rows leave open, in words; empty if nothing.
    given : str
        Up to what, or given what, the rows determine the weights, in words; empty where no more need be said.
    p_value : float
        Of the residual test; NaN where there are too few rows for it.
    structure : str
        Evidence of a misfit beside the test, in words; empty if none.
    odd_rows : str
        How many rows are not explained where all others are explained to rounding, in words; empty if it is not so.
    unfinished : str
        Which search had not reached its minimum, in words; empty if it had.
    noise : str
        What is left, in words, where it looks like noise.
    remark : str
        How the directions came about, where a reader must know.
    agreeing_runs : int or None
        Independent runs of the search that ended in the same place.
    precision : float
        Relative error of the weights that the residuals, or the rounding of the numbers, leave.
    confirmed : bool
        Whether inputs are in general position and no row determines anything by itself; see :func:`confirmed`.
    thin : str
        Which neuron is active in hardly more rows than it has numbers, in words; empty if none.
    network_loss, linear_loss, mean_loss : float
        Losses in rows left out of this network, of one linear function and of the mean, over the variance of the
        targets; for labels cross-entropies over that of the classes' shares. NaN where they were not measured.
    linear_penalty : float
        Strength of the ℓ2 penalty of logistic regression, chosen by held-out rows.
    unbeaten : tuple of str
        Which of "mean" and "linear" the network is not better than in rows left out.
    n_hidden, enough_neurons : int
        Neurons of the network, and fewer that explain the rows as well; zero where that is not known, or not so.
    cause : Cause or None
        Of a misfit, where it was looked for.
    labels, filters : bool
        Whether the targets are classes, and whether neurons are filters that patches share.
    without_neurons : "", "linear" or "constant"
        What the network is where it was left open whether there are neurons, and there is none.
    compared : tuple of str
        Settings that were chosen by a comparison, so that trying others is no advice.
    late : bool
        Whether a time budget ran out before the search was done.
    remedy : str
        What to do about what is left open, one sentence; empty where more rows in general position are all.
    """

    relative_loss: float
    largest_residual: float
    counting_rows: int
    n_parameters: int
    undetermined: str = ""
    given: str = ""
    p_value: float = float("nan")
    structure: str = ""
    odd_rows: str = ""
    unfinished: str = ""
    noise: str = ""
    remark: str = ""
    agreeing_runs: int | None = None
    precision: float = 0.0
    confirmed: bool = False
    thin: str = ""
    network_loss: float = float("nan")
    linear_loss: float = float("nan")
    mean_loss: float = float("nan")
    linear_penalty: float = 0.0
    unbeaten: tuple[str, ...] = ()
    n_hidden: int = 0
    enough_neurons: int = 0
    cause: Cause | None = None
    labels: bool = False
    filters: bool = False
    without_neurons: str = ""
    compared: tuple[str, ...] = ()
    late: bool = False
    remedy: str = ""

    @property
    def explained(self) -> bool:
        """Whether every row is explained to rounding."""
        return self.relative_loss <= EXACT and self.largest_residual <= ROW_EXACT

    @property
    def linear_rival(self) -> str:
        """What the network is compared with, in words."""
        return f"{penalised_words(self.linear_penalty)}logistic regression" if self.labels else "linear regression"

    @property
    def scarce(self) -> bool:
        """Whether the rows that count hardly exceed what they have to determine, and do not confirm each other."""
        if self.confirmed and self.relative_loss <= ROUNDED:
            return False
        return bool(self.thin) or self.counting_rows < max(MARGIN * self.n_parameters, self.n_parameters + SPARE)


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


OUT_OF_TIME = "the time budget ran out, and this is the best network until then"
_WITHOUT_NEURONS = {
    "linear": "one linear function explains this, no neuron is needed",
    "constant": "nothing that was tried explains held-out rows clearly better than their mean",
}


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
    if facts.remark:
        reason = f"{reason}; {facts.remark}"
    if facts.late:
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
        cause, advice = _cause(facts) if not facts.without_neurons else _nothing_better(facts)
        if facts.relative_loss > 1:
            return "misfit", f"{_share(facts)}; {cause}", advice
        return "misfit", f"{_share(facts)}, but {evidence}: {cause}", advice
    simpler = _simpler(facts)
    if simpler:
        return "ambiguous", *simpler
    left = "every row is explained" if facts.explained else _share(facts)
    if facts.undetermined:
        return (
            "ambiguous",
            f"{left}, but the rows do not determine the weights: {facts.undetermined}",
            facts.remedy or f"Give more rows in general position{', or ask for fewer neurons' * (facts.n_hidden > 1)}.",
        )
    if facts.scarce:
        if facts.thin and facts.counting_rows >= MARGIN * facts.n_parameters:
            return "ambiguous", f"{left}, but {facts.thin}", f"Give more rows {_or_fewer(facts, 'that reach it')}."
        return (
            "ambiguous",
            f"{left}, but {facts.counting_rows} distinct rows that count hardly exceed the {facts.n_parameters} "
            "numbers they have to determine",
            f"Give at least {int(np.ceil(max(MARGIN * facts.n_parameters, facts.n_parameters + SPARE)))} such rows.",
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
        if facts.n_hidden and facts.linear_loss <= EXACT:
            words += "; so does one linear function, for which no neuron is needed"
        return "recovered", words, ""
    if facts.without_neurons == "linear" and not tested:
        return (
            "ambiguous",
            f"{_share(facts)}; these rows are too few to tell one linear function from a network with neurons",
            "Give more rows.",
        )
    if tested:
        rest = f"no structure was found in what is left (p = {facts.p_value:.2g}, level {LEVEL:g})"
    else:
        rest = "there are too few rows to test what is left"
    noise = f"; {facts.noise}" if facts.noise else ""
    noise += f"; the rows determine the weights {facts.given}" if facts.given else ""
    others = _others(facts)
    advice = "" if facts.labels or not others else f"If the data has no noise, try {' or '.join(others)}."
    return "estimated", f"{_share(facts)}; {rest}{noise}", advice


def _others(facts: Facts) -> list[str]:
    """What may be tried that no comparison has."""
    words = {"n_hidden": "more neurons", "activation": "another activation"}
    return [phrase for name, phrase in words.items() if name not in facts.compared]


def _share(facts: Facts) -> str:
    """How much the network explains, in words."""
    explains = 100 * (1 - facts.relative_loss)
    if explains < 0:
        return f"the network is worse than the mean: its squared error is {facts.relative_loss:.3g} times the variance"
    return f"the network explains {explains:.4g} % of the variance"


def _or_fewer(facts: Facts, words: str) -> str:
    """`words`, and fewer neurons where there are several."""
    if facts.n_hidden <= 1:
        return words
    return f"{words.removeprefix('or ')}, or ask for fewer neurons"


def _simpler(facts: Facts) -> tuple[str, str] | None:
    """Reason and advice where something simpler predicts rows left out as well."""
    measure = "explained deviance" if facts.labels else "R²"
    own = f"{measure} {gain(facts.network_loss)}"
    if not facts.explained and "mean" in facts.unbeaten:
        if facts.without_neurons:
            return (
                f"{_WITHOUT_NEURONS['constant']}: {_independent(facts)}",
                "Give other inputs, or more rows.",
            )
        rival = "the classes' shares" if facts.labels else "the mean"
        word = "worse than" if facts.network_loss > facts.mean_loss else "not clearly better than"
        return (
            f"on rows left out the network is {word} {rival} ({own}, {rival} {gain(facts.mean_loss)}): "
            f"{_independent(facts, 'that it could describe, ')}",
            f"Give {_or_fewer(facts, 'other inputs, or more rows')}.",
        )
    if not facts.explained and "linear" in facts.unbeaten:
        rival = facts.linear_rival
        # A better score that may be chance is no evidence against neurons.
        better = facts.network_loss < facts.linear_loss
        so = "these rows are too few to tell whether neurons are needed" if better else _WITHOUT_NEURONS["linear"]
        return (
            f"on rows left out the network is not clearly better than {rival} ({own}, that "
            f"{gain(facts.linear_loss)}): {so}",
            f"Use {rival}, or give {_or_fewer(facts, 'more rows')}.",
        )
    if facts.enough_neurons:
        left = "every row" if facts.explained else "the rows left out as well"
        enough = count_of(facts.enough_neurons, "neuron explains", "distinct neurons explain")
        one, several = f"of {facts.n_hidden} is", f"of {facts.n_hidden} are"
        others = count_of(facts.n_hidden - facts.enough_neurons, one, several)
        return f"{enough} {left}: the other {others} not determined", f"Ask for n_hidden={facts.enough_neurons}."
    return None


def _independent(facts: Facts, which: str = "") -> str:
    """What rows say of a dependence on the inputs where nothing is clearly better than the mean."""
    best = np.nanmin([facts.network_loss, facts.linear_loss, facts.mean_loss])
    if facts.counting_rows < TELLING_ROWS:
        return f"{facts.counting_rows} distinct rows are too few to tell a dependence on the inputs from noise"
    if best < (1 - WORTH) * facts.mean_loss:
        return "these rows are too few to tell a dependence on the inputs from noise"
    return f"these rows show no dependence on the inputs {which}only noise".replace("inputs only", "inputs, only")


def _cause(facts: Facts) -> tuple[str, str]:
    """What is behind a misfit, and what to try."""
    cause = facts.cause
    if cause is None:
        return _likely_cause(facts)
    measure = "explained deviance" if facts.labels else "R²"
    instead = f"{measure} {gain(cause.after)} instead of {gain(cause.before)}, {REFITTED}"
    if cause.kind == "search":
        return f"the search failed: a new run with the same settings has {instead}", "Try another random_state."
    if cause.kind == "intercept":
        part = {"intercept": "an intercept is", "bias": "biases are", "skip": "a linear part is"}[cause.value]
        with_it = "them" if cause.value == "bias" else "it"
        return f"{part} missing: with {with_it} the fit has {instead}", f"Try fit_{cause.value}=True."
    if cause.kind == "link":
        return f"probabilities are no means of neurons: log-odds have {instead}", f"Try link='{cause.value}'."
    if cause.kind == "activation":
        return f"the activation is wrong: {cause.value} has {instead}", f"Try activation='{cause.value}'."
    if cause.kind == "parts":
        several = f"{cause.value} neurons, biases and an intercept"
        return (
            f"several things are missing: {several} together have {instead}",
            f"Try n_hidden={cause.value} or more, fit_bias=True and fit_intercept=True.",
        )
    if cause.kind == "filters":
        return f"there are too few filters: {cause.value} have {instead}", f"Try n_filters={cause.value} or more."
    if cause.kind == "width":
        return f"the width is too small: {cause.value} neurons have {instead}", f"Try n_hidden={cause.value} or more."
    parts = "an intercept, biases or a linear part"
    others = "more filters" if facts.filters else "more neurons"
    tried = ["a new search", "biases or an intercept" if facts.labels else parts, "another activation", others]
    none = f"neither {', nor '.join(tried[:1] + tried[1 + facts.filters :])} explain clearly more"
    if cause.before < NEARLY and not facts.labels:
        return (
            f"{none}, but so little of the held-out rows is left ({cause.before:.0e} of the variance) that the search "
            "may have ended next to the network that made them",
            "Try another random_state or more rows, or take the network as an approximation.",
        )
    so = "): the rows hardly come from such a network"
    if cause.after < (1 - WORTH) * cause.before:
        so = ", a difference within its error): these rows are too few to tell what is missing"
    return (
        f"{none} (at best {measure} {gain(cause.after)}, this network {gain(cause.before)}, {REFITTED}{so}",
        "Take the network as an approximation, or use another kind of model.",
    )


def _nothing_better(facts: Facts) -> tuple[str, str]:
    """What is said of a linear function, or a constant, that leaves structure though it was chosen."""
    what = "this linear function" if facts.without_neurons == "linear" else "their mean"
    return (
        f"nothing that was compared explains held-out rows clearly better than {what}",
        "Take it as an approximation, or use another kind of model.",
    )


def _likely_cause(facts: Facts) -> tuple[str, str]:
    """What is likelier behind a misfit where nothing else was fitted."""
    others = _others(facts)
    if facts.labels or facts.agreeing_runs is None:
        causes = [*reversed(others), "a failed search"]
        return listed(causes), f"Try {listed([*reversed(others), 'another random_state'])}."
    if facts.agreeing_runs > 1:
        runs = f"{facts.agreeing_runs} independent runs of the search ended in the same place"
        if not others:
            return f"{runs}, so the rows hardly come from such a network", "Use another kind of model."
        likelier = " or ".join(reversed(others))
        verb = "are" if len(others) > 1 else "is"
        return f"{runs}, so {likelier} {verb} likelier than a failed search", f"Try {likelier}."
    return (
        "independent runs of the search ended in different places, so a failed search is likely",
        f"Try {listed(['another random_state', 'more rows', *others])}.",
    )
