"""What is behind a misfit, in words: a cause that was measured, or else what no comparison has tried."""

from __future__ import annotations

from planted.methods._facts import NEARLY, WORTH, Cause, Facts
from planted.methods._listing import REFITTED, gain, listed

_APPROXIMATE = "Take the network as an approximation, or use another kind of model."


def untried(facts: Facts) -> list[str]:
    """What may be tried that no comparison has."""
    words = {"n_hidden": f"more {units(facts)}", "activation": "another activation"}
    return [phrase for name, phrase in words.items() if name not in facts.compared]


def units(facts: Facts) -> str:
    """What a width is a number of."""
    return "filters" if facts.filters else "neurons"


def cause_of(facts: Facts) -> tuple[str, str]:
    """What is behind a misfit, and what to try."""
    cause = facts.cause
    if cause is None:
        return _likely_cause(facts)
    instead = f"{facts.measure} {gain(cause.after)} instead of {gain(cause.before)}, {REFITTED}"
    if cause.kind == "search":
        return f"the search failed: a new run with the same settings has {instead}", "Try another random_state."
    if cause.kind == "intercept":
        part = {"intercept": "an intercept is", "bias": "biases are", "skip": "a linear part is"}[cause.value]
        with_it = "them" if cause.value == "bias" else "it"
        return f"{part} missing: with {with_it} the fit has {instead}", f"Try fit_{cause.value}=True."
    if cause.kind == "link":
        return f"probabilities are no means of neurons: log-odds have {instead}", f"Try link='{cause.value}'."
    if cause.kind == "links":
        return (
            f"probabilities are no means of neurons: log-odds of {cause.value} neurons have {instead}",
            f"Try link='logit', n_hidden={cause.value} and fit_bias=True.",
        )
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
    others = f"more {units(facts)}"
    tried = ["a new search", "biases or an intercept" if facts.labels else parts, "another activation", others]
    none = f"neither {', nor '.join(tried[:1] + tried[1 + facts.filters :])} explain clearly more"
    if cause.before < NEARLY and not facts.labels:
        return (
            f"{none}, but so little of the held-out rows is left ({cause.before:.0e} of the variance) that the search "
            "may have ended next to the network that made them",
            "Try another random_state or more rows, or take the network as an approximation.",
        )
    if facts.neighbours or facts.far_rows:
        so = "" if facts.neighbours else ": a few rows far off hide what is missing, if anything is"
        return f"{none} (at best {refitted(facts, cause)}){so}", _APPROXIMATE if facts.in_order else ""
    so = "): the rows hardly come from such a network"
    if cause.after < (1 - WORTH) * cause.before:
        so = ", a difference within its error): these rows are too few to tell what is missing"
    return (
        f"{none} (at best {refitted(facts, cause)}{so}",
        _APPROXIMATE,
    )


def refitted(facts: Facts, cause: Cause) -> str:
    """Scores of the best other fit and of the network, in words."""
    return f"{facts.measure} {gain(cause.after)}, this network {gain(cause.before)}, {REFITTED}"


def nothing_better(facts: Facts) -> tuple[str, str]:
    """What is said of a linear function, or a constant, that leaves structure though it was chosen."""
    what = "this linear function" if facts.without_neurons == "linear" else "their mean"
    return (
        f"nothing that was compared explains held-out rows clearly better than {what}",
        "Take it as an approximation, or use another kind of model.",
    )


def _likely_cause(facts: Facts) -> tuple[str, str]:
    """What is likelier behind a misfit where nothing else was fitted."""
    others = untried(facts)
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
