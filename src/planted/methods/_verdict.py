r"""What can be said of a fit without knowing the teacher: one of four statuses, from facts that are measured once.

"recovered": every row is explained to rounding, and the rows determine the weights up to the symmetries.
"estimated": it is not, but what is left looks like noise; weights come with standard errors.
"ambiguous": the fit is good, but the rows do not determine the weights.
"misfit": structure is left: the activation, the width, or the search.

Every threshold stands in this file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

STATUSES = ("recovered", "estimated", "ambiguous", "misfit")
SUCCESSES = ("recovered", "estimated")

EXACT = 1e-12
"""A relative loss (residual variance over target variance) that rounding alone explains."""
ROW_EXACT = 1e-5
"""The largest residual of a row, relative to the size of the terms that add up to it, that rounding explains."""
ROUNDED = 1e-20
"""A relative loss below which what is left is rounding of float64, and no test is needed to tell."""
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
ACCURATE = 0.1
"""An expected relative error of the weights that a user would call accurate."""
DIVERGED = 1e3
"""Weights of labels beyond this grow without limit: the labels are separable."""
PROBES, LEAST_PROBES = 40, 6
"""Functions of the inputs that the residual test tries, and the fewest with which it says something."""
ROWS_PER_UNKNOWN = 4
"""Rows an unknown that the residual test takes."""
TESTED_UNKNOWNS = 1000
"""Unknowns above which the residual test leaves the network's derivatives out."""
LARGE_ROWS = 50_000
"""Rows at most that are looked at where a part of them says enough."""
INACTIVE = 1e-12
"""A slope below which a neuron is silent."""
AT_KINK = 1e-9
"""The distance from a kink, relative to the terms of the pre-activation, at which rounding decides the side."""
LEVERAGE_ENTRIES = 2_000_000
"""Entries of the derivatives above which no leverages are computed."""
SINGULAR = 1e-10
"""A share of the largest eigenvalue below which a direction is not spanned."""


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
    p_value : float
        Of the residual test; NaN where there are too few rows for it.
    structure : str
        Evidence of a misfit beside the test, in words; empty if none.
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
    """

    relative_loss: float
    largest_residual: float
    counting_rows: int
    n_parameters: int
    undetermined: str = ""
    p_value: float = float("nan")
    structure: str = ""
    noise: str = ""
    remark: str = ""
    agreeing_runs: int | None = None
    precision: float = 0.0
    confirmed: bool = False
    thin: str = ""

    @property
    def explained(self) -> bool:
        """Whether every row is explained to rounding."""
        return self.relative_loss <= EXACT and self.largest_residual <= ROW_EXACT

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


def judge(facts: Facts) -> Verdict:
    """The status that follows from the facts.

    >>> judge(Facts(1e-30, 1e-15, 100, 10)).status, judge(Facts(1e-30, 1e-15, 11, 10)).status
    ('recovered', 'ambiguous')
    >>> judge(Facts(0.01, np.inf, 100, 10, p_value=0.4)).status, judge(Facts(0.01, np.inf, 100, 10, p_value=0.0)).status
    ('estimated', 'misfit')
    """
    status, reason, advice = _status(facts)
    if facts.remark:
        reason = f"{reason}; {facts.remark}"
    return Verdict(status, reason, advice, facts)


def _status(facts: Facts) -> tuple[str, str, str]:
    share = f"the network explains {100 * (1 - facts.relative_loss):.4g} % of the variance"
    tested = np.isfinite(facts.p_value)
    if (not facts.explained and facts.structure) or (tested and facts.p_value < LEVEL):
        evidence = "" if facts.explained else facts.structure
        evidence = evidence or f"the residuals have structure (p = {facts.p_value:.1g})"
        cause, advice = _cause(facts)
        return "misfit", f"{share}, but {evidence}: {cause}", advice
    if facts.undetermined:
        left = "every row is explained" if facts.explained else share
        return (
            "ambiguous",
            f"{left}, but the rows do not determine the weights: {facts.undetermined}",
            "Give more rows in general position, drop inputs that repeat others, or ask for fewer neurons.",
        )
    if facts.scarce:
        left = "every row is explained" if facts.explained else share
        if facts.thin and facts.counting_rows >= MARGIN * facts.n_parameters:
            return "ambiguous", f"{left}, but {facts.thin}", "Give more rows that reach it, or ask for fewer neurons."
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
            "Bring inputs to comparable units, drop those that hardly differ from others, or ask for fewer neurons.",
        )
    if facts.explained:
        return (
            "recovered",
            f"the network explains every row to rounding, and {facts.counting_rows} rows determine it",
            "",
        )
    if tested:
        left = f"no structure was found in what is left (p = {facts.p_value:.2g})"
    else:
        left = "there are too few rows to test what is left"
    words = f"; {facts.noise}" if facts.noise else ""
    return "estimated", f"{share}; {left}{words}", "If the data has no noise, try more neurons or another activation."


def _cause(facts: Facts) -> tuple[str, str]:
    """What is likelier behind a misfit, and what to try."""
    if facts.agreeing_runs is None:
        return "another activation, more neurons, or a failed search", (
            "Try another activation, more neurons, or another random_state."
        )
    if facts.agreeing_runs > 1:
        return (
            f"{facts.agreeing_runs} independent runs of the search ended in the same place, so another activation or "
            "more neurons are likelier than a failed search",
            "Try another activation or more neurons.",
        )
    return (
        "independent runs of the search ended in different places, so a failed search is likely",
        "Try another random_state, more rows, or more neurons; then another activation.",
    )
