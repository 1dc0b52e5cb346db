r"""What can be said of a fit without knowing the teacher: one of four statuses, from facts that are measured once.

"recovered": every row is explained to rounding, and the rows determine the weights up to the symmetries.
"estimated": it is not, but what is left looks like noise; weights come with standard errors.
"ambiguous": the fit is good, but the rows do not determine the weights.
"misfit": structure is left: the activation, the width, or the search.

Every threshold stands in this file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import f as fisher

from planted.networks import ConvNetwork, Network, jacobian

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
_PROBES = 40
_LEAST_PROBES = 6
_ROWS_PER_UNKNOWN = 4
_TESTED_UNKNOWNS = 1000
_LARGE_ROWS = 50_000
_INACTIVE = 1e-12
_LEVERAGE_ENTRIES = 2_000_000
_AT_KINK = 1e-9
_SINGULAR = 1e-10


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


def off_kinks(network: Network | ConvNetwork, X: np.ndarray) -> np.ndarray:
    """Which rows of X (n, …) no neuron has on a kink of its activation, where rounding decides whether it is active.

    >>> off_kinks(Network([[1.0, -1.0]], [1.0]), np.array([[1.0, 1.0], [2.0, 1.0]]))
    array([False,  True])
    """
    if not network.activation.kinks:
        return np.ones(len(X), bool)
    if isinstance(network, ConvNetwork):
        z, bound = X @ network.filter, np.abs(X) @ np.abs(network.filter)
    else:
        inputs, shift = X.reshape(len(X), -1), 0.0 if network.bias is None else network.bias
        z = inputs @ network.weights.T + shift
        bound = np.abs(inputs) @ np.abs(network.weights).T + np.abs(shift)
    near = [np.abs(z - kink) <= _AT_KINK * (bound + abs(kink)) for kink in network.activation.kinks]
    return ~np.any(near, axis=(0, 2))


def counting_rows(network: Network | ConvNetwork, X: np.ndarray) -> int:
    """Distinct rows of X (n, …) in which some neuron is active: those that say something about the weights.

    >>> counting_rows(Network([[1.0]], [1.0]), np.array([[1.0], [1.0], [2.0], [-1.0]]))
    2
    """
    if isinstance(network, ConvNetwork):
        z = X @ network.filter
    else:
        z = X.reshape(len(X), -1) @ network.weights.T + (0.0 if network.bias is None else network.bias)
    active = np.any(np.abs(network.activation.derivative(z)) > _INACTIVE, axis=1) & off_kinks(network, X)
    return len(_distinct(X[active]))


def _distinct(X: np.ndarray) -> np.ndarray:
    """Places of the distinct rows of X (n, …)."""
    if not X.size:
        return np.arange(0)
    rows = np.ascontiguousarray(X.reshape(len(X), -1)) + 0.0
    return np.unique(rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))), return_index=True)[1]


def thin_neuron(network: Network, X: np.ndarray) -> str:
    """Which neuron is active in hardly more distinct rows than it has numbers of its own, in words.

    >>> thin_neuron(Network([[1.0]], [1.0]), np.array([[1.0], [2.0], [-1.0]]))
    'neuron 0 is active in 2 distinct rows, hardly more than its 1 numbers'
    """
    inputs = X.reshape(len(X), -1)
    z = inputs @ network.weights.T + (0.0 if network.bias is None else network.bias)
    active = np.abs(network.activation.derivative(z)) > _INACTIVE
    smooth = off_kinks(network, X)[:, None]
    counts = np.sum(active & smooth, axis=0)
    outputs = np.atleast_2d(network.output).shape[0]
    numbers = network.n_features + (network.bias is not None) + outputs - (network.activation.homogeneity is not None)
    for i in np.flatnonzero(counts < 4 * (numbers + SPARE)):
        count = len(_distinct(X[(active & smooth)[:, i]]))
        if count * outputs < numbers + SPARE:
            return f"neuron {i} is active in {count} distinct rows, hardly more than its {numbers} numbers"
    return ""


def confirmed(network: Network, X: np.ndarray, n_parameters: int, intercept: bool = False) -> bool:
    """Whether rows in general position leave one another out: no prediction hangs on its own row alone.

    The leverage of a row is the diagonal of J(JᵀJ)⁺Jᵀ, J the derivatives at the rows that count. One at leverage 1
    determines something that no other row speaks of, so that a wrong network may explain it as well as the right one.
    Where no leverage is near one, and the values of an input all differ, another network that explains every row to
    rounding would be a coincidence of reals. A lone neuron with a silent side is told by its sign too: rows that just
    suffice determine it, and silent rows confirm it.

    >>> X = np.random.default_rng(0).standard_normal((12, 2))
    >>> confirmed(Network([[1.0, 2.0]], [1.0], "tanh"), X, 3), confirmed(Network([[1.0, 2.0]], [1.0], "tanh"), X[:3], 3)
    (True, False)
    """
    inputs = X.reshape(len(X), -1)
    z = inputs @ network.weights.T + (0.0 if network.bias is None else network.bias)
    active = np.any(np.abs(network.activation.derivative(z)) > _INACTIVE, axis=1) & off_kinks(network, X)
    rows = inputs[active]
    if not len(rows) or len(rows) * n_parameters > _LEVERAGE_ENTRIES:
        return False
    if any(len(np.unique(column)) < len(column) for column in rows.T):
        return False
    J = jacobian(network, rows, intercept=intercept).reshape(len(rows) * np.atleast_2d(network.output).shape[0], -1)
    scale = np.linalg.norm(J, axis=0)
    left, values, _ = np.linalg.svd(J / np.where(scale > 0, scale, 1.0), full_matrices=False)
    basis = left[:, values > 1e-7 * values[0]]
    if basis.shape[1] < n_parameters:
        return False
    if network.n_hidden == 1 and len(inputs) - len(rows) >= SILENT:
        return True
    return bool(np.max(np.sum(basis**2, axis=1)) < LEVERAGE)


def largest_residual(network: Network | ConvNetwork, X: np.ndarray, y: np.ndarray) -> float:
    """The largest |prediction − y| over rows, relative to the terms that add up to the prediction and the target.

    >>> largest_residual(Network([[1.0]], [2.0]), np.array([[1.0]]), np.array([2.0]))
    0.0
    """
    if isinstance(network, ConvNetwork):
        terms = np.abs(network.activation(X @ network.filter)) @ np.abs(network.output)
    else:
        inputs = X.reshape(len(X), -1)
        z = inputs @ network.weights.T + (0.0 if network.bias is None else network.bias)
        terms = np.abs(network.activation(z)) @ np.abs(network.output).T + np.abs(network.intercept)
        if network.skip is not None:
            terms = terms + np.abs(inputs) @ np.abs(network.skip).T
    residual = np.abs(network.predict(X) - y)
    # Rows where all neurons are silent are compared to a typical row.
    size = terms + np.abs(y) + 1e-3 * np.median(terms + np.abs(y), axis=0)
    return float(np.max(residual / np.maximum(size, 1e-300)))


def rounding_noise(network: Network | ConvNetwork, X: np.ndarray, y: np.ndarray) -> float:
    """Standard deviation of the rounding of a row's prediction and target: ε times the terms that add up to it.

    >>> rounding_noise(Network([[1.0]], [2.0]), np.array([[1.0]]), np.array([2.0])) < 1e-14
    True
    """
    some = slice(0, _LARGE_ROWS)
    rows, targets = X[some], np.abs(y[some])
    if isinstance(network, ConvNetwork):
        output = np.abs(network.output)
        z, size = rows @ network.filter, np.abs(rows) @ np.abs(network.filter)
    else:
        inputs = rows.reshape(len(rows), -1)
        weights, output = network.weights, np.abs(np.atleast_2d(network.output)).sum(axis=0)
        shift = np.zeros(len(weights)) if network.bias is None else network.bias
        z, size = inputs @ weights.T + shift, np.abs(inputs) @ np.abs(weights).T + np.abs(shift)
    terms = (np.abs(network.activation.derivative(z)) * size + np.abs(network.activation(z))) @ output
    total = terms + targets.reshape(len(rows), -1).sum(axis=1)
    return float(np.finfo(float).eps * np.sqrt(np.mean(total**2)))


def open_neurons(network: Network, X: np.ndarray, names: tuple[str, ...] = ()) -> str:
    """What the rows in which a neuron is active leave open of its weights, in words; for networks too large for a rank.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> open_neurons(Network([[1.0, 0.0]], [1.0]), np.column_stack([X, X[:, 0]])[:, [0, 2]])
    'the rows in which neuron 0 is active span 1 of 2 directions'
    """
    inputs = X.reshape(len(X), -1)
    z = inputs @ network.weights.T + (0.0 if network.bias is None else network.bias)
    slope = np.abs(network.activation.derivative(z))
    scale = np.sqrt(np.mean(inputs**2, axis=0))
    unit = inputs / np.where(scale > 0, scale, 1.0)
    d = inputs.shape[1]
    for i in range(network.n_hidden):
        weighted = unit * slope[:, i, None]
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        rank = int(np.sum(values > _SINGULAR * max(values[-1], 1e-300)))
        if rank < d:
            places = np.flatnonzero(np.abs(vectors[:, : d - rank]).max(axis=1) > 0.1)
            called = names if len(names) == d else range(d)
            which = ", ".join(str(called[place])[:40] for place in places[:8])
            where = f", inputs {which}" if len(places) <= d / 2 else ""
            return f"the rows in which neuron {i} is active span {rank} of {d} directions{where}"
    return ""


def residual_p_value(
    X: np.ndarray,
    y: np.ndarray,
    network: Network | ConvNetwork,
    *,
    intercept: bool = False,
    outputs: bool = True,
    spread: np.ndarray | None = None,
    seed: int = 0,
) -> float:
    r"""p-value of an F-test of random probes in a regression of the residuals on the network's derivatives and them.

    Probes g(x) are bumps and ridges in random directions, a constant and, in equal parts, odd, even and local
    functions. A right network leaves noise minus J δ, J its derivatives and δ the error of its parameters: since J is
    in the regression, it does not matter how they were estimated, with which row weights for example. The test uses
    four rows an unknown, and at most all. Above 1,000 unknowns the derivatives are left out and 50,000 rows are used:
    residuals of a least-squares fit are orthogonal to them already, so the probes' share is overestimated in the
    denominator only, and the p-value errs upwards.

    Parameters
    ----------
    X : array (n, …)
    y : array (n,) or (n, m)
    intercept, outputs : bool
        Whether the intercept and the outputs were free.
    spread : array (n,), optional
        Standard deviation of the noise of each row, where it is known up to a factor.

    Returns
    -------
    float
        NaN where there are too few rows.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, noise=0.1, random_state=0)
    >>> 0.0 < residual_p_value(data.X, data.y, data.teacher) < 1.0
    True
    """
    n, flat = len(X), X.reshape(len(X), -1)
    m = 1 if y.ndim == 1 else y.shape[1]
    unknowns = sum(np.size(value) for value in _arrays(network, intercept, outputs))
    probes = max(_PROBES // m, _LEAST_PROBES)
    large = unknowns > _TESTED_UNKNOWNS
    rng = np.random.default_rng(seed)
    count = min(n, _LARGE_ROWS if large else max(_ROWS_PER_UNKNOWN * (unknowns + probes * m) // m, 4000))
    if count * m < unknowns + 2 * probes * m:
        probes = max((count * m - unknowns) // (2 * m), 0)
        if probes < _LEAST_PROBES:
            return float("nan")
    some = rng.choice(n, count, replace=False)
    residual = (y[some] - network.predict(X[some])).reshape(count, m)
    unit = np.sqrt(np.mean(residual**2, axis=0))
    unit = np.where(unit > 0, unit, 1.0) * (np.ones((count, 1)) if spread is None else spread[some, None])
    r = (residual / unit).reshape(-1)
    J = np.ones((count, 1, 1)) * np.eye(m) if large else jacobian(network, X[some], intercept=intercept)
    J = J / unit[:, :, None]
    G = _probes(flat, flat[some], probes, rng)
    if not (intercept or large):
        G[:, -1] = 1.0
    design = np.einsum("rp,ra,ab->rapb", G, 1 / unit, np.eye(m)).reshape(count * m, -1)
    left, values, _ = np.linalg.svd(J.reshape(count * m, -1), full_matrices=False)
    basis = left[:, values > 1e-9 * values[0]]
    r = r - basis @ (basis.T @ r)
    design = design - basis @ (basis.T @ design)
    explained = design @ np.linalg.lstsq(design, r, rcond=1e-8)[0]
    freedom = count * m - (unknowns * count // n if large else basis.shape[1]) - design.shape[1]
    remaining = float(np.sum((r - explained) ** 2))
    if freedom <= 0 or remaining <= 0:
        return float("nan")
    statistic = float(np.sum(explained**2)) / design.shape[1] / (remaining / freedom)
    return float(fisher.sf(statistic, design.shape[1], freedom))


def _probes(whole: np.ndarray, rows: np.ndarray, probes: int, rng: np.random.Generator) -> np.ndarray:
    """Values (r, probes) of odd, even and local functions of random projections, a third each."""
    scale = np.sqrt(np.mean(whole**2, axis=0))
    directions = rng.standard_normal((probes, rows.shape[1])) / np.sqrt(rows.shape[1]) / np.where(scale > 0, scale, 1.0)
    t = rows @ directions.T
    third = probes // 3
    # Wrong activations, missing neurons and interactions all show in one of them.
    return np.concatenate([np.abs(t[:, :third]), t[:, third : 2 * third] ** 2, np.sin(3 * t[:, 2 * third :])], axis=1)


def _arrays(network: Network | ConvNetwork, intercept: bool, outputs: bool) -> list[Any]:
    free = {"intercept": intercept, "output": outputs}
    return [value for name, value in network.arrays().items() if free.get(name, True)]
