"""Neurons with one kink that explain every row with fewer numbers than a network that does.

Where inputs have few values, as one-hot columns have, rows on some levels hardly pass a kink. A linear part beside the
neurons, or neurons of another kind, then make up for what such rows leave open: they explain every row too, and what
rows held out say of a kink that the others do not pass is chance. Which side of a kink a neuron is active on cannot be
read off that linear part either, so that all sides are tried.
"""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np

from planted.methods._comparison import Entry
from planted.methods._facts import EXACT
from planted.methods._families import Family, Member
from planted.methods._lending import Lending, bends_once
from planted.methods._orient import patterns
from planted.methods._problem import Free
from planted.methods._screen_rows import Shape
from planted.numerics.deadline import passed

# Neurons of which all sides are looked at, how many of these are descended from, and choices of kinks.
_FEW, _TRIED, _MANY = 6, 4, 30


class PlainKinks(Lending):
    """A last look at networks that explain every row."""

    def plain_kinks(self, chosen: Entry) -> Entry:
        """The chosen network or, if it explains every row, neurons with one kink that do so with fewer numbers."""
        if chosen.family is None or not self.exact(chosen):
            return chosen
        plainer = [
            (self.numbers(member.activation, len(kinks), free), place, kinks, family, member, free)
            for kinks in self.kinks_passed(chosen)
            for family in self.question.families(self.d)
            if family.representative.homogeneity == 1
            for place, member in enumerate(family.members)
            for free in self.question.parts(self.d)
            if self.question.admits(member.activation, len(kinks), free)
        ]
        for numbers, _, kinks, family, member, free in sorted(plainer, key=lambda one: one[:2]):
            if numbers >= chosen.numbers or passed():
                break
            made = self.from_kinks(kinks[:, :-1], kinks[:, -1], family, member, free)
            if made is not None:
                chosen.why = chosen.why or "no better, with more numbers"
                return self.without_spares(made)
        return self.without_spares(chosen)

    def without_spares(self, exact: Entry) -> Entry:
        """Fewer neurons that begin from these and explain every row too, where a width is open."""
        while exact.width > 1 and self.question.n_hidden is None and not passed():
            fewer = self.spared(exact, exact.width - 1)
            if not self.exact(fewer):
                break
            exact = fewer
        return exact

    def kinks_passed(self, entry: Entry) -> list[np.ndarray]:
        """Weights and bias (k, d + 1) of neurons with one kink, one or more for each neuron: choices of those passed.

        A width that is given is kept.
        """
        network = self.table.network(self.on_all(entry))
        act = network.activation
        bias = np.zeros(network.n_hidden) if network.bias is None else network.bias
        options = []
        for weights, shift in zip(network.weights, bias, strict=True):
            z = self.table.X @ weights + shift
            kinks = [kink for kink in (act.kinks or (0.0,) * bends_once(act)) if z.min() < kink < z.max()]
            rows = [np.append(weights, shift - kink) for kink in kinks]
            options.append([some for size in range(1, len(rows) + 1) for some in combinations(rows, size)])
        if math.prod(map(len, options)) > _MANY:
            return []
        made = [np.array([row for rows in one for row in rows]) for one in product(*options)]
        return [kinks for kinks in made if len(kinks) <= _FEW and self.question.n_hidden in (None, len(kinks))]

    def from_kinks(
        self, weights: np.ndarray, bias: np.ndarray, family: Family, member: Member, free: Free
    ) -> Entry | None:
        """The candidate with these parts that begins from these neurons, if it explains every row."""
        table, act = self.table, member.activation
        if not free.bias:
            if table.constant is None and np.any(bias):
                return None
            weights = weights + (0.0 if table.constant is None else np.outer(bias, table.constant))
        hidden = table.space(free.bias).hidden(weights, bias if free.bias else None)
        lengths = np.linalg.norm(hidden, axis=1)
        if not np.all(lengths > 0):
            return None
        hidden = hidden / lengths[:, None]
        # Even neurons have no sides.
        sides = patterns(len(hidden))[: 1 if act.parity == "even" else None]
        rows = table.separable(Shape.of(act, free), table.folds[0][0])
        values = [rows.at(hidden * side[:, None]).value for side in sides]
        paths = [self.path(family, fold) for fold in range(len(table.folds))]
        for side in sides[np.argsort(values, kind="stable")[:_TRIED]]:
            begin = hidden * side[:, None]
            first = paths[0].descended(member, free, begin)
            if first.loss > EXACT or passed():
                continue
            others = [path.descended(member, free, begin) for path in paths[1:]]
            entry = self.entered(family, member, free, [first, *others])
            if self.exact(entry):
                return entry
        return None
