r"""One run of the search by variable projection: a few neurons too many, joined down, second-order steps throughout.

Levenberg–Marquardt on the hidden rows, the linear layers solved exactly (:func:`planted.solvers.variable_projection`),
finds weak neurons beside strong ones and neurons near their linear part, which first-order steps do not. A step costs
(rows) × (parameters)², so it runs on a few rows a parameter; where those are explained to rounding, all are.
"""

from __future__ import annotations

import numpy as np

from planted.methods._merge import merge
from planted.methods._search import Attempt, Search
from planted.solvers import Descent, SeparableRows, variable_projection

_RATIOS = (1.25, 1.25, 1.5, 1.5, 2.0, 2.0)
_ROWS_PER_PARAMETER = 3
_SHRINK = 0.8
_DECAY = 0.03
_STEPS = 150
_PATIENCE = (15, 0.9)
# Loss relative to what a linear function leaves: where it is time to join neurons, where a run is worth finishing
# without decay, and where nothing is left.
_PROMISING, _WORTHWHILE, _EXACT = 1e-9, 1e-7, 1e-26
# Hidden parameters up to which such runs are affordable, and beyond which first-order runs of neurons without biases
# that have no scale of their own, where they seldom fail, come first.
_AFFORDABLE, _CHEAP = 1600, 300
# Rows a hidden parameter that a run needs so that an exact fit means something.
_MARGIN = 1.1


def second_order_plan(search: Search, runs: int) -> list[float | None]:
    """For each run the first width of a second-order one, relative to the wanted width, or None for a first-order one.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> second_order_plan(Search.of(Problem.of(data.X, data.y, 2)), 8)
    [1.25, 1.25, 1.5, 1.5, 2.0, 2.0, None, None]
    """
    if not affordable(search):
        return [None] * runs
    first_order = [None] * max(0, runs - len(_RATIOS))
    if _parameters(search) > _CHEAP and search.activation.homogeneity is not None and not search.free.bias:
        pairs = zip(first_order, _RATIOS, strict=False)
        return [ratio for pair in pairs for ratio in pair][:runs]
    return [*_RATIOS, *first_order][:runs]


def _parameters(search: Search) -> float:
    """Hidden parameters of the narrowest run."""
    return _RATIOS[0] * search.width * (search.Z.shape[1] + search.free.bias)


def affordable(search: Search) -> bool:
    """Whether second-order runs are: for an activation of NumPy's, few hidden parameters, and more rows than those.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> affordable(Search.of(Problem.of(data.X, data.y, 2))), affordable(Search.of(Problem.of(data.X, data.y, 600)))
    (True, False)
    """
    parameters = _parameters(search)
    return search.activation.on_host and parameters <= _AFFORDABLE and len(search.some) >= _MARGIN * parameters


def second_order_run(search: Search, ratio: float, key: np.ndarray) -> Attempt:
    """One run: a network `ratio` times as wide as wanted, joined down.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> second_order_run(Search.of(Problem.of(data.X, data.y, 2)), 1.5, np.array([0, 0])).loss < 1e-20
    True
    """
    d, k = search.Z.shape[1], search.width
    Z, y, weight = search.some, np.asarray(search.targets), search.share
    X = np.column_stack([Z, np.ones(len(Z))]) if search.free.bias else Z
    ones = np.ones((len(Z), 1))
    nuisance = np.column_stack([Z, ones]) if search.activation.tilt else ones
    y = y.reshape(len(Z), -1)

    def rows(count: int) -> SeparableRows:
        root = None if weight is None else np.sqrt(weight[:count])
        return SeparableRows(X[:count], nuisance[:count], y[:count], search.activation, root)

    unit = 0.5 * max(search.spread, 1e-300) ** 2 * y.shape[1]
    width = max(k, min(int(np.ceil(ratio * k)), int(len(Z) / (_MARGIN * X.shape[1]))))
    few = min(len(Z), _ROWS_PER_PARAMETER * width * (X.shape[1] + 1) + 50)
    some, every = rows(few), rows(len(Z))
    start, _ = search.start(key, width)
    hidden = start["weights"]
    if search.free.bias:
        hidden = np.column_stack([hidden, start["bias"]])
    descents: dict[str, Descent] = {}
    promising, explaining = False, 0
    while True:
        last = width == k
        descent = variable_projection(
            some,
            hidden,
            steps=_STEPS,
            target=(_EXACT if last else _PROMISING) * unit,
            # Near the minimum a decay would hide the flattest directions.
            decay=0.0 if last and promising else _DECAY,
            patience=_PATIENCE,
            progress=search.progress,
        )
        descents[f"width {width}"] = descent
        if descent.value <= 2 * _PROMISING * unit:
            explaining = width
        hidden, output = descent.params["rows"], descent.params["output"]
        promising = descent.value <= _WORTHWHILE * unit
        if last:
            break
        width = max(k, min(width - 1, round(_SHRINK * width)))
        bias = hidden[:, d] if search.free.bias else None
        weights, _, bias = merge(hidden[:, :d], output, bias, width, Z, search.activation)
        hidden = weights if bias is None else np.column_stack([weights, bias])
    if few < len(Z):
        # Rows that were left out confirm a fit without noise at once, and otherwise say where the minimum is.
        descent = variable_projection(
            every, hidden, steps=_STEPS, target=_EXACT * unit, patience=_PATIENCE, progress=search.progress
        )
        descents["all rows"] = descent
    end = descent.params
    params = {"weights": end["rows"][:, :d], "output": end["output"], "intercept": end["nuisance"][:, -1]}
    if search.free.bias:
        params["bias"] = end["rows"][:, d]
    if search.activation.tilt:
        params["linear"] = end["nuisance"][:, :-1]
    if search.n_outputs is None:
        params |= {name: params[name][0] for name in ("output", "intercept", "linear") if name in params}
    widest = next(iter(descents.values())).value / unit
    return Attempt(params, float(descent.value), descents, widest, explaining)
