"""Candidates with their fits: made once, compared by rows held out, fitted to all rows where that is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import f as fisher

from planted.activations import Activation
from planted.methods._choice import Candidate
from planted.methods._comparison import Comparison, Entry
from planted.methods._facts import EXACT, LEVEL
from planted.methods._families import Family, Member, families
from planted.methods._observations import Observations
from planted.methods._problem import Free, Problem
from planted.methods._question import Question
from planted.methods._residual_test import residual_p_value
from planted.methods._screen import Path, on_all_rows
from planted.methods._screen_rows import Fitted, Table
from planted.networks import Network
from planted.numerics import random


class Entries(Comparison):
    """The candidates of a problem and a question by activation, width and free parts."""

    def __init__(self, problem: Problem, question: Question) -> None:
        self.problem, self.question = problem, question
        table_key, self.key = random.split(problem.key)
        self.table = Table(problem, table_key)
        rows = np.concatenate([test for _, test in self.table.folds])
        self.share = self.table.share[rows] / np.sum(self.table.share[rows])
        self.count = self.table.y.size
        self.paths: dict[tuple[str, int], Path] = {}
        self.entries: dict[Any, Entry] = {}
        self.dropped: list[Candidate] = []
        self.d, self.m = self.table.X.shape[1], self.table.n_outputs

    def linear(self, free: Free) -> Entry:
        fits = [self.table.linear(free, fold) for fold in self.table.folds]
        squares = np.concatenate([held for _, held in fits])
        numbers = self.m * (self.table.space(True).rank * free.skip + free.intercept)
        return self._enter(None, Entry(None, None, 0, free, numbers, squares, []))

    def path(self, family: Family, fold: int) -> Path:
        if (family.name, fold) not in self.paths:
            near = self.paths.get((family.near, fold))
            key = random.fold_in(random.fold_in(self.key, fold), len(self.paths))
            made = Path(self.table, self.table.folds[fold], family, self.question.allowed, key, near)
            self.paths[family.name, fold] = made
        return self.paths[family.name, fold]

    def wide(self, family: Family, width: int) -> Entry:
        """The family's candidate with every allowed part, of its first member that explains rows best."""
        made = [self.entry(family, member, width, self.question.allowed) for member in self.members(family)]
        return min(made, key=self.loss)

    def members(self, family: Family) -> Iterable[Member]:
        """Members that differ when every allowed part is there."""
        free = self.question.allowed
        same = free.intercept and (free.skip or not family.representative.tilt) and free.bias
        return family.members[:1] if same else family.members

    def entry(self, family: Family, member: Member, width: int, free: Free) -> Entry:
        known = self.entries.get((member.activation, width, free))
        if known is not None:
            return known
        paths = [self.path(family, fold) for fold in range(len(self.table.folds))]
        # With every part free the search itself has the candidate, and neurons too many do it no harm.
        whole = member is family.members[0] and free == Free(True, True, True) and family.biased
        fits = [path.at(width) if whole else path.member(width, member, free) for path in paths]
        return self.entered(family, member, free, fits)

    def entered(self, family: Family, member: Member, free: Free, fits: list[Fitted]) -> Entry:
        """The candidate of these fits by fold, kept."""
        squares, width = np.concatenate([fit.squares for fit in fits]), fits[0].width
        numbers = self.numbers(member.activation, width, free)
        return self._enter(member.activation, Entry(family, member, width, free, numbers, squares, fits))

    def spared(self, wider: Entry, width: int) -> Entry:
        """A candidate of fewer neurons that begins from those of a wider one; it is kept if it is exact."""
        assert wider.family is not None
        assert wider.member is not None
        paths = [self.path(wider.family, fold) for fold in range(len(self.table.folds))]
        fits = [path.spared(fit, width) for path, fit in zip(paths, wider.fits, strict=True)]
        squares = np.concatenate([fit.squares for fit in fits])
        act, free = wider.member.activation, wider.free
        entry = Entry(wider.family, wider.member, width, free, self.numbers(act, width, free), squares, fits)
        return self._enter(act, entry) if self.exact(entry) else entry

    def numbers(self, act: Activation, width: int, free: Free) -> int:
        """Numbers of a network, scales and rotations that change nothing taken off."""
        rank = self.table.space(free.bias).rank
        count = free.unknowns(rank, width, self.m)
        if act.homogeneity is not None:
            count -= width
        if act.name == "quadratic" and self.m == 1:
            count -= min(width, rank) * (min(width, rank) - 1) // 2
        return count

    def _enter(self, act: Activation | None, entry: Entry) -> Entry:
        self.entries[act, entry.width, entry.free] = entry
        self.problem.progress(len(self.entries), 2 * len(self.entries), "comparing candidates")
        return entry

    def simplest(self, entries: Iterable[Entry]) -> Entry:
        """Of those that tie with the best the one with the fewest numbers; of these the best."""
        pool = list(entries)
        best = min(pool, key=self.loss)
        return self.fewest(entry for entry in pool if self.ties(entry, best))

    def fewest(self, entries: Iterable[Entry]) -> Entry:
        """The one with the fewest numbers; of these the commonest, then the best."""
        order = [family.name for family in families(self.question.activation)]
        return min(
            entries,
            key=lambda entry: (
                entry.numbers,
                -1 if entry.family is None else order.index(entry.family.name),
                self.loss(entry),
            ),
        )

    def simplest_of(self, family: Family) -> Entry:
        return self.simplest(e for e in self.entries.values() if e.family and e.family.name == family.name)

    def best_of(self, family: Family) -> Entry:
        mine = [entry for entry in self.entries.values() if entry.family and entry.family.name == family.name]
        return min(mine, key=self.loss)

    def of_width(self, family: Family, width: int) -> Entry:
        mine = [e for e in self.entries.values() if e.family and e.family.name == family.name and e.width == width]
        return min(mine, key=self.loss)

    def forget(self, family: Family, width: int) -> None:
        """Let go of the entries of a width, whose networks have become better."""
        for member in self.members(family):
            self.entries.pop((member.activation, width, self.question.allowed), None)

    def on_all(self, entry: Entry) -> Fitted:
        if entry.on_all is not None:
            return entry.on_all
        assert entry.family is not None
        assert entry.member is not None
        path, fitted = self.path(entry.family, 0), entry.fits[0]
        if fitted.shape.centred:
            fitted = path.member(entry.width, entry.member, entry.free)
        made = on_all_rows(path, fitted)
        entry.on_all = made if entry.before is None or made.loss <= entry.before.loss else entry.before
        entry.network = self.table.network(entry.on_all)
        return entry.on_all

    def on_more_rows(self, entry: Entry) -> Entry:
        """A candidate of the search itself, fitted to as many rows as those with fewer parts beside it."""
        if not entry.fits[0].shape.centred or self.exact(entry):
            return entry
        assert entry.family is not None
        assert entry.member is not None
        paths = [self.path(entry.family, fold) for fold in range(len(self.table.folds))]
        entry.fits = [path.member(entry.width, entry.member, entry.free) for path in paths]
        entry.squares = np.concatenate([fit.squares for fit in entry.fits])
        return entry

    def needed(self, small: float, large: float, parts: int, numbers: int) -> float:
        """p-value of the F-test that parts which a candidate lacks are zero, from the losses with and without them.

        One that explains every row to rounding lacks nothing.
        """
        freedom = len(self.table.y) * self.m - numbers
        if small <= EXACT or parts <= 0 or small <= large or freedom <= 0 or large <= 0:
            return 1.0
        return float(fisher.sf((small - large) / parts / (large / freedom), parts, freedom))

    def structured(self, entry: Entry) -> bool:
        """Whether the residuals of a candidate, fitted to all rows of the table, have structure."""
        return not self.exact(entry) and self.p_value(entry) < LEVEL

    def p_value(self, entry: Entry) -> float:
        """Of the residual test of a candidate, fitted to all rows of the table; one where only rounding is left."""
        if np.isnan(entry.p_value) and entry.family is not None and self.on_all(entry).loss <= EXACT:
            entry.p_value = 1.0
        if np.isnan(entry.p_value):
            network = self.network(entry)
            y = self.table.y * self.table.scale
            y = y if self.table.several else y[:, 0]
            data = Observations(self.table.X, y, self.table.share if self.table.weighted else None)
            entry.p_value = residual_p_value(data, network, intercept=entry.free.intercept)
        return entry.p_value

    def network(self, entry: Entry) -> Network:
        if entry.network is None:
            if entry.family is None:
                entry.network = self.table.linear_network(entry.free)
            else:
                self.on_all(entry)
        assert entry.network is not None
        return entry.network
