r"""Runs of the search by variable projection: too many neurons, joined down, second-order steps throughout.

Levenberg–Marquardt on the hidden rows, the linear layers solved exactly (:func:`planted.solvers.variable_projection`),
finds weak neurons beside strong ones and neurons near their linear part, which first-order steps do not. A step costs
(rows) × (parameters)², so it runs on a few rows a parameter; where those are explained to rounding, all are.

A run that ended in a local minimum is a better start than a new one: new neurons are added where its residuals have
structure, and joined away again. Each time the network either returns to where it was or leaves the minimum downwards.
Where next to nothing is left, as in the many minima of neurons near their linear part, neurons are exchanged one by one
instead: a descent of the network itself takes a hundredth of the time of a wide one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planted.methods._merge import merge
from planted.methods._search import Attempt, Search
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.solvers import Descent, SeparableRows, variable_projection


class Move(NamedTuple):
    """A run: the first width relative to the wanted one, and whether it starts from the best network so far.

    One that starts from there with the wanted width exchanges neurons.
    """

    ratio: float
    grown: bool = False


# Two new starts come first: where they agree, noise is left and nothing more has to be tried.
_MOVES = (
    *(Move(1.25), Move(1.25), Move(1.5, grown=True), Move(2.0, grown=True), Move(1.0, grown=True)),
    *(Move(1.5), Move(2.0, grown=True), Move(3.0, grown=True), Move(2.0), Move(2.0, grown=True)),
    *(Move(3.0), Move(1.5, grown=True), Move(3.0, grown=True), Move(1.0, grown=True), Move(4.0), Move(2.0, grown=True)),
)
_ROWS_PER_PARAMETER = 3
_SHRINK = 0.8
_DECAY = 0.03
_STEPS = 150
_PATIENCE = (15, 0.9)
# The same from near a minimum, where steps are few.
_NEAR_PATIENCE = (6, 0.99)
# Steps without decay where little is left: a narrow valley is followed to its end.
_LAST_STEPS, _LAST_PATIENCE = 600, (60, 0.97)
# Loss relative to what a linear function leaves: where it is time to join neurons, where a run is worth finishing
# without decay, and where nothing is left.
_PROMISING, _WORTHWHILE, _EXACT = 1e-9, 1e-7, 1e-26
# The first of these once a run of the wanted width has come as low: neurons near their linear part can be told apart
# only by what is left far below, and joining them earlier leads to a local minimum.
_EXPLAINING = 1e-17
# Hidden parameters up to which such runs are affordable, and beyond which first-order runs of neurons without biases
# that have no scale of their own, where they seldom fail, come first.
_AFFORDABLE, _CHEAP = 1600, 300
# Rows a hidden parameter that a run needs so that an exact fit means something.
_MARGIN = 1.1
# Neurons drawn for each that is added, and rows on which they are compared.
_DRAWN, _COMPARED = 20, 5000
# Exchanges of a neuron in a run, rows × (hidden parameters)² of all of them, candidates for its place, the mean rank of
# the one taken, and the relative loss from which they are made.
_EXCHANGES, _WORK, _CANDIDATES, _RANK, _LITTLE = 150, 3e9, 200, 5.0, 1e-5
# Distances of a candidate to the neuron that it is near to, relative to that one's row.
_NEAR = (0.03, 1.0)


def second_order_plan(search: Search, runs: int) -> list[Move | None]:
    """The second-order runs to make, and None for first-order ones: `runs` of them alone, or half as many beside.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> second_order_plan(Search.of(Problem.of(data.X, data.y, 2)), 8)[0]
    Move(ratio=1.25, grown=False)
    """
    if not affordable(search):
        return [None] * runs
    first_order: list[Move | None] = [None] * ((runs + 1) // 2)
    if _parameters(search) > _CHEAP and search.activation.homogeneity is not None and not search.free.bias:
        pairs = zip(first_order, _MOVES, strict=False)
        return [move for pair in pairs for move in pair]
    return [*_MOVES, *first_order]


def _parameters(search: Search) -> float:
    """Hidden parameters of the narrowest run."""
    return _MOVES[0].ratio * search.width * (search.Z.shape[1] + search.free.bias)


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


def second_order_run(search: Search, move: Move, key: np.ndarray, best: Attempt | None = None) -> Attempt:
    """One run: a network `move.ratio` times as wide as wanted, new or grown from the best one, joined down.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> second_order_run(Search.of(Problem.of(data.X, data.y, 2)), Move(1.5), np.array([0, 0])).loss < 1e-20
    True
    """
    run = _Run.on(search)
    if best is not None and move == Move(1.0, grown=True):
        return run.exchanged(key, best)
    width = max(search.width, min(int(np.ceil(move.ratio * search.width)), run.most))
    if best is None or not move.grown:
        return run.down(run.start(key, width), target=run.target(best), grown=False)
    hidden = run.hidden(best.params)
    extra = max(1, width - len(hidden))
    # Where little is left, a neuron often has to become two that hardly differ.
    near = run.target(best) == _EXPLAINING
    drawn = run.drawn(key, hidden, _DRAWN * extra) if near else run.start(key, _DRAWN * extra)
    # Chance draws are as good as the best where those end in the same minimum again and again.
    chosen = np.argsort(-run.correlations(hidden, drawn), kind="stable")[:extra] if move.ratio >= 2 else slice(extra)
    return run.down(np.concatenate([hidden, drawn[chosen]]), target=run.target(best), grown=True)


def pointless(search: Search, move: Move, best: Attempt | None) -> bool:
    """Whether a run would exchange neurons of a network that leaves much, or has only one.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> pointless(Search.of(Problem.of(data.X, data.y, 2)), Move(1.0, grown=True), None)
    True
    """
    if move != Move(1.0, grown=True):
        return False
    return best is None or search.width == 1 or best.loss > _LITTLE * _Run.on(search).unit


def descend_from(search: Search, hidden: np.ndarray) -> Attempt:
    """A run from given hidden rows (k, q) of the wanted width, whatever their signs.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> descend_from(Search.of(Problem.of(data.X, data.y, 2)), -data.teacher.weights).loss < 1e-20
    True
    """
    return _Run.on(search).down(hidden, target=_PROMISING, grown=False)


def descend_near(search: Search, params: dict[str, np.ndarray]) -> Attempt:
    """A descent of the search's own width on all its rows, from parameters that are near a minimum.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> descend_near(Search.of(Problem.of(data.X, data.y, 2)), {"weights": data.teacher.weights + 0.1}).loss < 1e-20
    True
    """
    run = _Run.on(search)
    descent = variable_projection(
        run.rows(len(run.X)), run.hidden(params), steps=_STEPS, target=_EXACT * run.unit, patience=_NEAR_PATIENCE,
        progress=search.progress,
    )  # fmt: skip
    return Attempt(run.params(descent.params), float(descent.value), {"all inputs": descent})


@dataclass(frozen=True)
class _Run:
    """The rows of a search as variable projection takes them."""

    search: Search
    X: np.ndarray
    nuisance: np.ndarray
    y: np.ndarray

    @classmethod
    def on(cls, search: Search) -> _Run:
        Z, ones = search.some, np.ones((len(search.some), 1))
        X = np.column_stack([Z, ones]) if search.free.bias else Z
        nuisance = np.column_stack([Z, ones]) if search.activation.tilt else ones
        return cls(search, X, nuisance, np.asarray(search.targets).reshape(len(Z), -1))

    @property
    def most(self) -> int:
        """The largest width that does not explain any targets."""
        return int(len(self.X) / (_MARGIN * self.X.shape[1]))

    @property
    def unit(self) -> float:
        """The loss of a linear function."""
        return 0.5 * max(self.search.spread, 1e-300) ** 2 * self.y.shape[1]

    def rows(self, count: int) -> SeparableRows:
        weight = self.search.share
        root = None if weight is None else np.sqrt(weight[:count])
        return SeparableRows(self.X[:count], self.nuisance[:count], self.y[:count], self.search.activation, root)

    def hidden(self, params: dict[str, np.ndarray]) -> np.ndarray:
        """Hidden rows (k, q) of parameters."""
        return np.column_stack([params["weights"], params["bias"]]) if self.search.free.bias else params["weights"]

    def start(self, key: np.ndarray, width: int) -> np.ndarray:
        return self.hidden(self.search.start(key, width)[0])

    def drawn(self, key: np.ndarray, hidden: np.ndarray, count: int) -> np.ndarray:
        """Candidates (count, q) for new neurons: new ones, and in turn with them some near those that there are."""
        fresh = self.start(key, count)
        place, spread = random.uniform(random.fold_in(key, 1), (2, count))
        own = hidden[(place * len(hidden)).astype(int)]
        size = _NEAR[0] * (_NEAR[1] / _NEAR[0]) ** spread
        moved = (
            size[:, None]
            * np.linalg.norm(own, axis=1, keepdims=True)
            * random.normal(random.fold_in(key, 2), own.shape)
        )
        return np.where(np.arange(count)[:, None] % 2 == 0, own + moved, fresh)

    def correlations(self, hidden: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """cos² between the features of drawn neurons and the residuals of a network, the largest over outputs."""
        rows = self.rows(min(len(self.X), _COMPARED))
        point, act = rows.at(hidden), rows.activation
        z = rows.X @ drawn.T
        features = act(z) - act.offset - act.tilt * z
        if rows.weight is not None:
            features = features * rows.weight[:, None]
        features = point.cleared(features)
        sizes = np.outer(np.sum(point.residual**2, axis=0), np.sum(features**2, axis=0))
        return np.max((point.residual.T @ features) ** 2 / np.maximum(sizes, 1e-300), axis=0)

    def exchanged(self, key: np.ndarray, best: Attempt) -> Attempt:
        """Exchange a neuron of the best network for another one and descend, again and again, from the lowest so far.

        Every other time the candidate is among those that explain most of what the others leave, its rank being
        exponential, and otherwise any: the best alone can lead to one minimum again and again.
        """
        hidden, unit = self.hidden(best.params), self.unit
        rows = self.rows(self.few(len(hidden)))
        descents = {"exchanged": self.narrow(rows, hidden)}
        for turn in range(min(_EXCHANGES, int(_WORK / (len(rows.X) * hidden.size**2)))):
            if descents["exchanged"].value <= _EXPLAINING * unit or passed():
                break
            one = random.fold_in(key, turn)
            place, luck, coin = random.uniform(random.fold_in(one, 3), (3,))
            staying = np.delete(hidden, int(place * len(hidden)), axis=0)
            drawn = self.drawn(one, hidden, _CANDIDATES)
            rank = min(int(-_RANK * np.log1p(-luck) if coin < 0.5 else luck * len(drawn)), len(drawn) - 1)
            new = drawn[np.argsort(-self.correlations(staying, drawn), kind="stable")[rank]]
            descent = self.narrow(rows, np.concatenate([staying, new[None]]))
            if descent.value < descents["exchanged"].value:
                descents["exchanged"], hidden = descent, descent.params["rows"]
        explaining = len(hidden) if descents["exchanged"].value <= 2 * _EXPLAINING * unit else 0
        return self.on_all_rows(descents, len(rows.X) < len(self.X), explaining=explaining, grown=True)

    def narrow(self, rows: SeparableRows, hidden: np.ndarray) -> Descent:
        """A descent without decay, which goes on to the end of a narrow valley where little is left."""
        goal = _EXACT * self.unit
        descent = variable_projection(
            rows, hidden, steps=_STEPS, target=goal, patience=_PATIENCE, progress=self.search.progress
        )
        return self.onwards(rows, descent, goal) if self.in_a_valley(descent, goal) else descent

    def in_a_valley(self, descent: Descent, goal: float) -> bool:
        """Whether a descent ended with little left, but above its goal."""
        return bool(goal < descent.value <= _WORTHWHILE * self.unit)

    def onwards(self, rows: SeparableRows, descent: Descent, goal: float) -> Descent:
        """From where a descent ended to the end of its valley."""
        start, progress = descent.params["rows"], self.search.progress
        return variable_projection(
            rows, start, steps=_LAST_STEPS, target=goal, patience=_LAST_PATIENCE, progress=progress
        )

    def few(self, width: int) -> int:
        """Rows that are enough for a descent of so many neurons."""
        return min(len(self.X), _ROWS_PER_PARAMETER * width * (self.X.shape[1] + 1) + 50)

    def on_all_rows(self, descents: dict[str, Descent], partial: bool, *, explaining: int, grown: bool) -> Attempt:
        """The run of some descents; the last one goes on where they were on a part of the rows.

        Rows that were left out confirm a fit without noise at once, and otherwise say where the minimum is.
        """
        widest, descent = next(iter(descents.values())), list(descents.values())[-1]
        if partial:
            descent = variable_projection(
                self.rows(len(self.X)),
                descent.params["rows"],
                steps=_STEPS,
                target=_EXACT * self.unit,
                patience=_PATIENCE,
                progress=self.search.progress,
            )
            descents["all rows"] = descent
        wide = widest.value / self.unit
        return Attempt(self.params(descent.params), float(descent.value), descents, wide, explaining, grown)

    def target(self, best: Attempt | None) -> float:
        """The relative loss at which neurons are joined, given the best run so far."""
        return _PROMISING if best is None or best.loss > _WORTHWHILE * self.unit else _EXPLAINING

    def down(self, hidden: np.ndarray, *, target: float, grown: bool) -> Attempt:
        """Descend to `target`, join a few neurons, descend again, until the wanted width is reached."""
        search, d, k, unit = self.search, self.search.Z.shape[1], self.search.width, self.unit
        width, n = len(hidden), len(self.X)
        few = self.few(width)
        some = self.rows(few)
        descents: dict[str, Descent] = {}
        promising, explaining = False, 0
        while True:
            last = width == k
            goal = (_EXACT if last else target) * unit
            descent = variable_projection(
                some,
                hidden,
                steps=_STEPS,
                target=goal,
                # Near the minimum a decay would hide the flattest directions.
                decay=0.0 if last and promising else _DECAY,
                patience=_PATIENCE,
                progress=search.progress,
            )
            descents[f"width {width}"] = descent
            promising = descent.value <= _WORTHWHILE * unit
            if self.in_a_valley(descent, goal):
                descent = self.onwards(some, descent, goal)
                descents[f"narrow valley of width {width}"] = descent
            if descent.value <= 2 * target * unit:
                explaining = width
            hidden, output = descent.params["rows"], descent.params["output"]
            if last:
                break
            width = max(k, min(width - 1, round(_SHRINK * width)))
            bias = hidden[:, d] if search.free.bias else None
            weights, _, bias = merge(hidden[:, :d], output, bias, width, search.some, search.activation)
            hidden = weights if bias is None else np.column_stack([weights, bias])
        return self.on_all_rows(descents, few < n, explaining=explaining, grown=grown)

    def params(self, solved: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Parameters of the search for the result of a descent."""
        search, d = self.search, self.search.Z.shape[1]
        nuisance = solved["nuisance"]
        params = {"weights": solved["rows"][:, :d], "output": solved["output"], "intercept": nuisance[:, -1]}
        if search.free.bias:
            params["bias"] = solved["rows"][:, d]
        if search.activation.tilt:
            params["linear"] = nuisance[:, :-1]
        if search.n_outputs is None:
            params |= {name: params[name][0] for name in ("output", "intercept", "linear") if name in params}
        return params
