r"""One family of activations at many widths: start too wide, join neurons, keep what rows held out say of each width.

The search has every part free that a candidate may have, and the linear part split off
(:class:`planted.solvers.SeparableRows`). A member of the family with fewer parts begins from the neurons of that
search: their signs come from the linear part and the constant (:func:`planted.methods._orient.orientation`), and a few
steps on the member's own loss follow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._families import Family, Member
from planted.methods._merge import merge
from planted.methods._orient import orientation
from planted.methods._problem import Free
from planted.methods._screen_directions import directed_rows, glimpse
from planted.methods._screen_odd import odd_rows
from planted.methods._screen_rows import MANY_INPUTS, Fitted, Shape, Table
from planted.methods._squares import square_rows
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.solvers import SeparableRows, variable_projection
from planted.starts import random_rows
from planted.starts.output_layer import nearest_signs

_STEPS, _DECAY, _PATIENCE = 120, 0.03, (12, 0.9)
_POLISH, _POLISH_PATIENCE = 40, (6, 0.98)
# The same for many inputs, where neurons begin near.
_BRIEF, _BRIEF_POLISH = (6, 0.9), (3, 0.98)
# Loss relative to what a linear function leaves: where decay ends, and where nothing is left.
_PROMISING, _NOTHING = 1e-7, 1e-26
_BIAS, _ANOTHER = 0.5, 2**31
# Widest new start whose neurons are joined one by one.
_ONE_BY_ONE = 12
_LEAST_ROWS, _MEMBER_ROWS, _ROWS_PER_NUMBER = 1000, 2000, 12
# Rows a number that a network needs.
_MARGIN = 1.3

Fold = tuple[np.ndarray, np.ndarray]


class Path:
    """Networks of one family fitted to one fold, by width.

    Parameters
    ----------
    table : Table
    fold : pair of arrays
        Places of the rows to fit, and of those held out.
    family : Family
    allowed : Free
        Which parts candidates may have.
    key : array (2,)
    near : Path, optional
        Of the family from whose neurons this one begins.
    """

    def __init__(
        self, table: Table, fold: Fold, family: Family, allowed: Free, key: np.ndarray, near: Path | None = None
    ) -> None:
        self.table, self.fold, self.family, self.allowed, self.key = table, fold, family, allowed, key
        self.near, self.progress = near, table.progress
        act, members = family.representative, [member.activation for member in family.members]
        bias = allowed.bias and family.biased
        constant = allowed.intercept or any(member.offset for member in members) or (allowed.bias and bool(act.tilt))
        constant = constant or (allowed.bias and not family.biased)
        linear = allowed.skip or bool(act.tilt) or (allowed.bias and not family.biased)
        self.shape = Shape(act, bias, constant, linear, centred=True)
        self.n_inputs = table.space(bias).rank + bias
        nothing = table.linear(Free(intercept=True, skip=linear), fold)[0]
        self.unit = 0.5 * table.n_outputs * max(nothing, 1e-300)
        self.fits: dict[int, Fitted] = {}
        self.made: dict[tuple[int, Member, Free], tuple[Fitted, Fitted]] = {}
        self.tried: set[tuple[int, int, int]] = set()

    @property
    def widest(self) -> int:
        """The largest number of neurons that the rows to fit can determine."""
        m, rank = self.table.n_outputs, self.table.space(self.shape.bias).rank
        numbers = m * (len(self.fold[0]) / _MARGIN - self.shape.constant - rank * self.shape.linear)
        return max(0, int(numbers / (self.n_inputs + m)))

    @property
    def determined(self) -> bool:
        """Whether the rows to fit are enough for one neuron without other parts."""
        return len(self.fold[0]) >= _MARGIN * (self.table.space(False).rank + self.table.n_outputs)

    def _train(self, shape: Shape, width: int, least: int = _LEAST_ROWS) -> SeparableRows:
        """Rows to fit a network of this width to: so many a number, which is enough to tell candidates apart."""
        count = max(least, _ROWS_PER_NUMBER * width * self.n_inputs)
        return self.table.separable(shape, self.fold[0][:count])

    def fresh(self, width: int) -> Fitted:
        """A network of this width from a new start; it replaces one that explains its rows less well."""
        rank, key = self.table.space(self.shape.bias).rank, random.fold_in(self.key, width)
        if self.near is not None:
            return self._best(self._descend(self.family.near_scale * self.near.at(width).hidden))
        if self.directed:
            return self._best(self._descend(self._directed(width, key)))
        squares = square_rows(self._train(self.shape, width), width) if self.family.by_matrix else None
        if squares is not None:
            return self._best(self._descend(squares))
        hidden = random_rows(key, width, rank)
        if self.shape.bias:
            hidden = np.column_stack([hidden, _BIAS * random.normal(random.fold_in(key, 1), (width,))])
        return self._best(self._descend(hidden))

    def _directed(self, width: int, key: np.ndarray) -> np.ndarray:
        """Hidden rows that begin in a few directions; odd neurons descend without a linear part first."""
        rows, bias = self._train(self.shape, width), self.shape.bias
        if self.shape.activation.centred_parity != "odd" or not self.shape.linear:
            return directed_rows(rows, width, bias, key)
        return odd_rows(rows, width, bias, key, target=_PROMISING * self.unit, progress=self.progress)

    @property
    def directed(self) -> bool:
        """Whether neurons begin in directions in which the targets are not linear: where inputs are many."""
        return self.n_inputs >= MANY_INPUTS

    def glimpse(self, leader: Fitted, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Hidden rows fitted in the span of a leader's neurons, and their squares in the rows held out."""
        held = self.table.separable(self.shape, self.fold[1])
        leader = self.table.carried(leader, self.shape.bias)
        return glimpse(self._train(self.shape, width), held, leader, width, random.fold_in(self.key, width))

    def begin(self, hidden: np.ndarray) -> Fitted:
        """The network of hidden rows from which a descent begins."""
        return self._best(self._descend(hidden))

    def at(self, width: int) -> Fitted:
        """The network of this width: joined from the next wider one that there is, from a random start otherwise."""
        if width in self.fits:
            return self.fits[width]
        wider = [other for other in self.fits if other > width]
        if not wider:
            return self.fresh(width)
        fitted = self.fits[min(wider)]
        return self._best(self._descend(self._joined(fitted, width)))

    def _joined(self, fitted: Fitted, width: int) -> np.ndarray:
        """Hidden rows of so many neurons, joined from those of a wider network."""
        rank = self.table.space(self.shape.bias).rank
        bias = fitted.hidden[:, rank] if self.shape.bias else None
        weights, _, bias = merge(
            fitted.hidden[:, :rank], fitted.output, bias, width, self._train(self.shape, 1).X[:, :rank],
            self.shape.activation, linear=self.shape.linear,
        )  # fmt: skip
        return weights if bias is None else np.column_stack([weights, bias])

    def retry(self, width: int, wider: int, number: int) -> None:
        """Another network of this width from a new start, wider and joined; it stays if it is better.

        Few neurons are joined one by one: many at a time may join what should stay apart. A start is tried once.
        """
        if (width, wider, number) in self.tried:
            return
        self.tried.add((width, wider, number))
        other = Path(self.table, self.fold, self.family, self.allowed, random.fold_in(self.key, _ANOTHER + number))
        first = max(width, min(wider, self.widest))
        other.fresh(first)
        for narrower in range(first - 1, width - 1, -1) if first <= _ONE_BY_ONE else ():
            other.at(narrower)
        self._best(other.at(width))

    def borrow(self, other: Path, width: int) -> None:
        """A network of this width that begins from another family's neurons; it stays if it is better.

        A neuron with several kinks lends one with each of them.
        """
        hidden, kinks = other.at(width).hidden, other.shape.activation.kinks
        if self.family.shape == other.family.shape:
            hidden = self.family.near_scale / other.family.near_scale * hidden
        elif len(kinks) > 1 and self.shape.bias and other.shape.bias:
            hidden = np.concatenate([hidden - kink * np.eye(hidden.shape[1])[-1] for kink in kinks])
        made = self._best(self._descend(hidden))
        if made.width > width:
            self._best(self._descend(self._joined(made, width)))

    def _best(self, fitted: Fitted) -> Fitted:
        known = self.fits.get(fitted.width)
        if known is None or fitted.loss < known.loss:
            self.fits[fitted.width] = fitted
        return self.fits[fitted.width]

    def _descend(self, hidden: np.ndarray) -> Fitted:
        rows = self._train(self.shape, len(hidden))
        many = self.n_inputs >= MANY_INPUTS
        run = variable_projection(
            rows, hidden, steps=_STEPS, target=_PROMISING * self.unit, decay=_DECAY,
            patience=_BRIEF if many else _PATIENCE,
            progress=self.progress,
        )  # fmt: skip
        if not passed():
            run = variable_projection(
                rows, run.params["rows"], steps=_POLISH, target=_NOTHING * self.unit,
                patience=_BRIEF_POLISH if many else _POLISH_PATIENCE, progress=self.progress,
            )  # fmt: skip
        return self._fitted(self.shape, run.params, run.value)

    def _fitted(self, shape: Shape, params: dict[str, np.ndarray], value: float) -> Fitted:
        squares = self.table.held_out(shape, params, self.fold[1])
        loss = 2 * float(value) / self.table.n_outputs
        return Fitted(shape, params["rows"], params["output"], params["nuisance"], loss, squares)

    def member(self, width: int, member: Member, free: Free) -> Fitted:
        """The network of this width with a member's activation and these parts, fitted from the path's neurons."""
        fitted, key = self.at(width), (width, member, free)
        if key not in self.made or self.made[key][0] is not fitted:
            self.made[key] = fitted, self._member(fitted, member, free)
        return self.made[key][1]

    def _member(self, fitted: Fitted, member: Member, free: Free) -> Fitted:
        return self.descended(member, free, self._member_rows(fitted, member, free))

    def descended(self, member: Member, free: Free, hidden: np.ndarray) -> Fitted:
        """The network of a member with these parts that begins from hidden rows in its own coordinates."""
        shape = Shape.of(member.activation, free)
        rows = self._train(shape, len(hidden), _MEMBER_ROWS)
        patience = _BRIEF_POLISH if self.n_inputs >= MANY_INPUTS else _POLISH_PATIENCE
        run = variable_projection(
            rows, hidden, steps=_POLISH, target=_NOTHING * self.unit, patience=patience, progress=self.progress
        )
        return self._fitted(shape, run.params, run.value)

    def spared(self, fitted: Fitted, width: int) -> Fitted:
        """A network of fewer neurons and the same shape: those that are missed least go one by one."""
        rows, hidden = self._train(fitted.shape, fitted.width, _MEMBER_ROWS), fitted.hidden
        while len(hidden) > width:
            rest = [np.delete(hidden, neuron, axis=0) for neuron in range(len(hidden))]
            hidden = min(rest, key=lambda one: rows.at(one).value)
        run = variable_projection(
            rows, hidden, steps=_POLISH, target=_NOTHING * self.unit, patience=_POLISH_PATIENCE, progress=self.progress
        )
        return self._fitted(fitted.shape, run.params, run.value)

    def _member_rows(self, fitted: Fitted, member: Member, free: Free) -> np.ndarray:
        """Hidden rows of a member with these parts, in its own coordinates, turned to the side that explains most."""
        table, hidden = self.table, fitted.hidden
        if not self.family.biased:
            hidden = self._square_rows(fitted) if free.bias else hidden
            weights, bias = table.space(self.shape.bias).layer(hidden[:, : table.space(self.shape.bias).rank], False)
            if free.bias:
                bias = hidden[:, -1]
        else:
            if member.shift and self.shape.bias and not free.bias:
                # Of the two sides of an odd neuron the one whose bias is nearer to none.
                raw = table.space(True).layer(hidden, True)[1]
                assert raw is not None
                hidden = hidden * np.where(raw * member.shift <= 0, 1.0, -1.0)[:, None]
            weights, bias = table.space(self.shape.bias).layer(hidden, self.shape.bias)
            weights = member.scale * weights
            bias = member.scale * (np.zeros(len(weights)) if bias is None else bias) + member.shift
            if not free.bias and self.shape.bias and table.constant is not None:
                # Inputs that add up to a constant are as good as biases.
                weights = weights + np.outer(bias, table.constant)
        hidden = table.space(free.bias).hidden(weights, bias if free.bias else None)
        return hidden * self._signs(hidden, member, free)[:, None]

    def _square_rows(self, fitted: Fitted) -> np.ndarray:
        """Rows with biases b for which Σ c (w·x + b)² has the linear part that was fitted: 2 Σ c b w = linear."""
        space = self.table.space(self.shape.bias)
        weights = fitted.hidden[:, : space.rank]
        c = fitted.output[0]
        linear = fitted.linear[0, : space.rank]
        shift = np.linalg.lstsq(weights.T * (2 * c), linear, rcond=1e-10)[0]
        raw = weights @ space.whitener.T
        return np.column_stack([weights, shift - raw @ space.centre])

    def _signs(self, hidden: np.ndarray, member: Member, free: Free) -> np.ndarray:
        act, none = member.activation, np.ones(len(hidden))
        turned = act.centred_parity == "even" and act.tilt and not (free.skip and free.intercept)
        shifted = act.centred_parity == "odd" and act.offset and not free.intercept
        if not (turned or shifted) or not len(hidden):
            return none
        shape = Shape(act, free.bias, True, bool(act.tilt) or free.skip, centred=True)
        point = self._train(shape, len(hidden)).at(hidden)
        if not np.isfinite(point.value):
            return none
        rank = self.table.space(free.bias).rank
        coefficients = point.solution[: -len(hidden)].T
        weights, bias = hidden[:, :rank], hidden[:, rank] if free.bias else None
        constant = coefficients[:, -1]
        if turned and free.skip:
            if bias is None:
                return none
            return nearest_signs(point.output * bias, constant / act.tilt)
        linear = coefficients[:, :-1] if act.tilt else np.zeros((self.table.n_outputs, rank))
        return orientation(weights, point.output, bias, linear, constant, act, fit_intercept=free.intercept)


def on_all_rows(path: Path, fitted: Fitted) -> Fitted:
    """A candidate fitted further to all rows of the table, none held out."""
    rows = path.table.separable(fitted.shape, path.table.whole[0])
    run = variable_projection(
        rows, fitted.hidden, steps=_POLISH, target=_NOTHING * path.unit, patience=_POLISH_PATIENCE
    )
    loss = 2 * float(run.value) / path.table.n_outputs
    return replace(
        fitted, hidden=run.params["rows"], output=run.params["output"], linear=run.params["nuisance"], loss=loss
    )
