"""What a verdict follows from, measured once, with every threshold."""

from __future__ import annotations

from dataclasses import dataclass

from planted.methods._listing import penalised_words

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
ALIKE = 0.02
"""A share of a held-out loss within which a network and a linear function predict alike."""
TELLING_ROWS = 50
"""Distinct rows below which it is not said that they show no dependence on the inputs."""
WORTH = 0.1
"""A share of a held-out loss that is worth a change of the network, so that only chance speaks against a larger one."""
UNEVEN = 0.01
"""A smaller p-value of noise of one size calls for errors that do without it."""
LOOSE = 1 / 3
"""The relative error of a neuron's output above which normal intervals of the network are only approximate."""
LOST = 3.0
"""The relative error of a neuron's output above which rows leave it open: neither sign nor size are known."""
UNKNOWN = 1.0
"""The error of a combination of a neuron's weights, over the length of its other weights per standard deviation of the
inputs, above which rows leave it open where it may be zero: the loss is no parabola within the error. Nor do labels
determine weights that they leave a larger relative error."""
ALONG = 0.2
"""A correlation of what neighbouring rows say of the parameters beyond which they are not taken for independent."""
WEAK = 2.0
"""The factor by which the loss grows at most when a neuron that may be superfluous is taken away."""
ACCURATE = 0.1
"""An expected relative error of the weights that a user would call accurate."""
CROWDED = 0.1
"""Numbers a target above which a Newton step a row says little of rows left out, and a few neurons do not show."""
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
    kind : "search", "intercept", "link", "activation", "width", "links", "parts", "filters" or "other"
        What was changed in the simplest fit that is clearly better; "other" if none is.
    value : str
        To what: the free part ("intercept", "bias" or "skip"), the activation, the number of neurons; that number for
        "parts", which has more neurons, biases and an intercept at once, and for "links", which has log-odds too.
    before, after : float
        Losses there of the network and of that fit (of the best one for "other"): squared errors over the variance,
        cross-entropies over that of the shares that classes have in the part.
    """

    kind: str
    value: str
    before: float
    after: float


@dataclass(frozen=True)
class TargetLosses:
    """Losses of one of several targets, over its variance.

    Attributes
    ----------
    fit : float
        Of the network in the rows of the fit.
    network, linear, mean : float
        In rows left out, as those of :class:`Facts` over all targets; NaN where they were not measured.
    """

    fit: float
    network: float = float("nan")
    linear: float = float("nan")
    mean: float = float("nan")


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
    different_rows : int
        Rows that differ in an input or the target, of labels all rows, and all where equal inputs come with different
        targets; zero where they were not counted.
    repeated_inputs : int
        Distinct inputs, where each of them came more than once, so that more rows bring no others; zero otherwise.
    counting_rows : int
        Distinct rows in which some neuron is active; all rows where equal inputs come with different targets, and of
        labels.
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
    far_rows : str
        Which few rows make most of the squared residuals, in words; empty if none do.
    neighbours : float
        Correlation of what rows that follow one another say of the parameters; zero if it is small or may be chance.
    in_order : str
        An input that only grows or falls from row to row, where neighbours go together; empty if there is none.
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
    targets : tuple of TargetLosses
        The same of each of several targets; empty for one.
    linear_p_value : float
        Of a test of one linear function against the mean, where the network is not better than the mean in rows left
        out; NaN where it was not run.
    linear_penalty : float
        Strength of the ℓ2 penalty of logistic regression, chosen by held-out rows.
    unbeaten : tuple of str
        Which of "mean" and "linear" the network is not better than in rows left out.
    linear_tells : bool
        Whether a linear function, or logistic regression, is known to be better than the mean, or the classes' shares,
        in rows left out, and the network no better than it.
    n_hidden, enough_neurons : int
        Neurons of the network, and fewer that explain the rows as well; zero where that is not known, or not so.
    all_needed : bool
        Whether fewer neurons were compared, and predict rows left out worse, or do not explain them.
    cause : Cause or None
        Of a misfit, where it was looked for.
    labels, filters : bool
        Whether the targets are classes, and whether neurons are filters that patches share.
    without_neurons : "", "linear" or "constant"
        What the network is where it was left open whether there are neurons, and there is none.
    compared : tuple of str
        Settings that were chosen by a comparison, so that trying others is no advice.
    crowded : bool
        Whether numbers are so many for the rows that these may not show neurons; see :func:`crowded`.
    refitted : bool
        Whether rows were left out by refits without a tenth of them at a time, and not one by one to first order.
    late : bool
        Whether a time budget ended the search before it was done.
    unmeasured : tuple of "rivals", "fewer"
        What a time budget left no time for: the comparison with logistic regression, whether fewer neurons would do.
    remedy : str
        What to do about what is left open, or stands for biases, one sentence; empty where more rows in general
        position are all.
    """

    relative_loss: float
    largest_residual: float
    counting_rows: int
    n_parameters: int
    undetermined: str = ""
    given: str = ""
    different_rows: int = 0
    repeated_inputs: int = 0
    p_value: float = float("nan")
    structure: str = ""
    odd_rows: str = ""
    far_rows: str = ""
    neighbours: float = 0.0
    in_order: str = ""
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
    targets: tuple[TargetLosses, ...] = ()
    linear_p_value: float = float("nan")
    linear_penalty: float = 0.0
    unbeaten: tuple[str, ...] = ()
    linear_tells: bool = False
    n_hidden: int = 0
    enough_neurons: int = 0
    all_needed: bool = False
    cause: Cause | None = None
    labels: bool = False
    filters: bool = False
    without_neurons: str = ""
    compared: tuple[str, ...] = ()
    crowded: bool = False
    refitted: bool = False
    late: bool = False
    unmeasured: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def explained(self) -> bool:
        """Whether every row is explained to rounding."""
        return self.relative_loss <= EXACT and self.largest_residual <= ROW_EXACT

    @property
    def measure(self) -> str:
        """What losses in rows left out are shown as, in words."""
        return "explained deviance" if self.labels else "R²"

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


def crowded(n_parameters: int, n_rows: float, n_outputs: int = 1) -> bool:
    """Whether numbers are many for the rows: leverages, which are their ratio on average, are not small.

    >>> crowded(10, 600), crowded(42, 100)
    (False, True)
    """
    return n_parameters > CROWDED * n_rows * n_outputs
