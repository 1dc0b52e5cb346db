r"""Which kind of network? Activation, width and parts that a caller leaves open, chosen by rows held out.

1. A constant and a linear function are the first candidates. One that explains held-out rows to rounding is chosen.
2. Every family of activations (:mod:`planted.methods._families`) is fitted with a few neurons and all parts free. One
   that explains held-out rows to rounding ends the comparison; otherwise those that are far behind drop out.
3. Families that are left become wider while held-out rows gain by it, and narrower while they lose nothing.
4. Of all candidates whose held-out loss ties with the lowest one, that with the fewest numbers wins: its squared
   residuals exceed the others' by at most one standard error of the mean difference.
5. Its parts (biases, intercept, linear part) go one after the other, and its relatives in the family are tried, by the
   same rule; a part also stays if an F-test on all rows says that it is there.
6. A candidate whose residuals show structure gives way to one whose residuals show none.

All of it is spared where few rows confirm the network of fewest parts (:mod:`planted.methods._plainest`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import f as fisher

from planted.activations import Activation
from planted.methods._choice import Candidate, Choice
from planted.methods._comparison import STANDARD_ERRORS, Comparison, Entry
from planted.methods._families import Family, Member, families
from planted.methods._observations import Observations
from planted.methods._plainest import plainest
from planted.methods._problem import Free, Problem
from planted.methods._question import Question
from planted.methods._residual_test import residual_p_value
from planted.methods._screen import Path, on_all_rows
from planted.methods._screen_rows import Fitted, Table
from planted.methods._verdict import EXACT, LEVEL
from planted.methods._wider import wider_network
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.precision import float64

_FIRST_WIDTH, _AFFORDABLE = 8, 600
# A family stays while its held-out loss is below this multiple of the lowest, or so few standard errors above it.
_BEHIND, _ERRORS, _MOST_FAMILIES = 1.3, 3.0, 3
# Starts of a width before it is given up, and rows an input weight of the first networks.
_ATTEMPTS, _SPARE = 2, 10
_PART_LEVEL = 0.01
_WIDER = 1.5


@float64
def choose(problem: Problem, question: Question) -> Choice:
    """Compare candidates on the problem's sample; see the module.

    Parameters
    ----------
    problem : Problem
        Its own activation, width and parts play no part.
    question : Question
        What is open.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(1000, 3, 2, activation="tanh", output="mixed", random_state=0)
    >>> choose(Problem.of(data.X, data.y, 1), Question()).chosen.name
    '2 tanh neurons'
    """
    return plainest(problem, question) or _Contest(problem, question).choice()


class _Contest(Comparison):
    def __init__(self, problem: Problem, question: Question) -> None:
        self.problem, self.question = problem, question
        table_key, self.key = random.split(problem.key)
        self.table = Table(problem, table_key)
        rows = np.concatenate([test for _, test in self.table.folds])
        self.share = self.table.share[rows] / np.sum(self.table.share[rows])
        self.paths: dict[tuple[str, int], Path] = {}
        self.entries: dict[Any, Entry] = {}
        self.dropped: list[Candidate] = []
        self.d, self.m = self.table.X.shape[1], self.table.n_outputs

    # Entries.

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
        squares = np.concatenate([fit.squares for fit in fits])
        numbers = self.numbers(member.activation, width, free)
        return self._enter(member.activation, Entry(family, member, width, free, numbers, squares, fits))

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

    # Comparisons.

    def simplest(self, entries: Iterable[Entry]) -> Entry:
        """Of those that tie with the best the one with the fewest numbers; of these the best."""
        pool = list(entries)
        best = min(pool, key=self.loss)
        tying = [entry for entry in pool if self.ties(entry, best)]
        order = [family.name for family in families(self.question.activation)]
        return min(
            tying,
            key=lambda entry: (
                entry.numbers,
                -1 if entry.family is None else order.index(entry.family.name),
                self.loss(entry),
            ),
        )

    # Stages.

    def choice(self) -> Choice:
        question = self.question
        if question.n_hidden is None:
            for free in question.parts(self.d):
                if not free.bias and (free.intercept or free.skip):
                    self.linear(free)
        finalists = self.linear_finalists()
        if not any(self.exact(entry) for entry in finalists):
            alive = self.compare_families()
            wide = self.wider(alive)
            if wide is not None:
                return wide
            for family in self.sized(alive):
                best = self.simplest_of(family)
                finalists.append(best if passed() else self.pruned(best))
        chosen = self.simplest(finalists)
        if question.n_hidden is None and not passed():
            chosen = self.without_structure(chosen)
        return self.table_of(chosen)

    def linear_finalists(self) -> list[Entry]:
        """Of a constant and linear functions those that lack nothing, by an F-test on all rows."""
        entries = sorted(self.entries.values(), key=lambda entry: entry.numbers)
        losses = [self.table.linear(entry.free, self.table.whole)[0] for entry in entries]
        made = []
        for entry, loss in zip(entries, losses, strict=True):
            missing = entries[-1].numbers - entry.numbers
            p_value = self.needed(loss, losses[-1], missing, entries[-1].numbers)
            if self.exact(entry) or p_value >= _PART_LEVEL:
                made.append(entry)
            else:
                entry.why = f"a part is missed (p = {p_value:.1g})"
        return made

    def most(self, family: Family) -> int:
        """The widest network that the rows bear and that is affordable."""
        path = self.path(family, 0)
        widest = min(path.widest, _AFFORDABLE // max(path.n_inputs, 1))
        if family.name == "quadratic":
            # More squares than inputs are no other function.
            widest = min(widest, self.m * path.n_inputs)
        return max(1, widest)

    def compare_families(self) -> list[Family]:
        """Fit every family at a first width; those that are not far behind."""
        given = self.question.n_hidden
        alive: list[Family] = []
        for family in self.question.families(self.d):
            if passed() and alive:
                break
            path = self.path(family, 0)
            width = given or max(1, min(_FIRST_WIDTH, self.most(family), len(path.fold[0]) // (_SPARE * path.n_inputs)))
            if given is not None:
                for fold in range(len(self.table.folds)):
                    self.path(family, fold).fresh(max(given, min(math.ceil(_WIDER * given), self.most(family))))
            if self.hopeless(family, width):
                continue
            alive.append(family)
            entry = self.wide(family, width)
            if not self.exact(entry) and any(fit.loss <= EXACT for fit in entry.fits):
                entry = self.again(family, width, _ATTEMPTS)
            if self.exact(entry):
                # A smooth neuron with steep weights is a kink: where it explains all, one that has a kink may as well.
                kinked = alive[0] if alive[0].name == "relu" and not family.representative.homogeneity else family
                retried = kinked is not family and self.exact(self.again(kinked, width, _ATTEMPTS))
                alive = [kinked if retried else family]
                break
        return self.near_best(alive)

    def wider(self, alive: list[Family]) -> Choice | None:
        """The answer of the width search, where the best candidate cannot be doubled at a bearable cost."""
        leader = min((self.best_of(family) for family in alive), key=self.loss)
        assert leader.family is not None
        double, bearable = 2 * leader.width, self.most(leader.family)
        if self.question.n_hidden is not None or self.exact(leader):
            return None
        if not bearable < double <= self.path(leader.family, 0).widest:
            return None
        made = wider_network(self.problem, self.question, self.loss(leader))
        if made is None:
            return None
        table = self.table_of(leader)
        others = tuple(replace(one, chosen=False, why="") if one.chosen else one for one in table.candidates)
        reason = "wider than the comparison of all candidates could afford; it explains held-out rows far better"
        return replace(table, candidates=(*others, made), reason=reason, network=None)

    def sized(self, alive: list[Family]) -> list[Family]:
        """Families at the widths that rows held out ask for; those that are left."""
        if self.question.n_hidden is None:
            for family in alive:
                self.narrow(family)
                self.widen(family)
            for family in alive:
                self.borrow(family, alive)
        return self.near_best(alive)

    def borrow(self, family: Family, others: list[Family]) -> None:
        """Neurons with a kink at the width of smooth ones that look alike, from theirs: kinks stop descents early."""
        mine = self.simplest_of(family).width
        if family.representative.homogeneity is None:
            return
        for other in others:
            width = self.simplest_of(other).width
            act = other.representative
            alike = act.centred_parity == "even" and act.tilt and act.homogeneity is None
            if not alike or width >= mine or passed():
                continue
            for fold in range(len(self.table.folds)):
                self.path(family, fold).borrow(self.path(other, fold), width)
            self.forget(family, width)
            self.wide(family, width)

    def simplest_of(self, family: Family) -> Entry:
        return self.simplest(e for e in self.entries.values() if e.family and e.family.name == family.name)

    def forget(self, family: Family, width: int) -> None:
        """Let go of the entries of a width, whose networks have become better."""
        for member in self.members(family):
            self.entries.pop((member.activation, width, self.question.allowed), None)

    def hopeless(self, family: Family, width: int) -> bool:
        """Whether the first fold tells already that a family is far behind; it is noted then."""
        fitted = self.path(family, 0).at(width)
        held = len(fitted.squares)
        share = self.share[:held] / np.sum(self.share[:held])
        loss = float(share @ fitted.squares)
        if not any(entry.family for entry in self.entries.values()):
            return False
        best = min(
            (entry.squares[:held] for entry in self.entries.values()), key=lambda squares: float(share @ squares)
        )
        excess = fitted.squares - best
        mean = float(share @ excess)
        error = float(np.sqrt(np.sum(share**2 * (excess - mean) ** 2)))
        if mean <= _ERRORS * error or loss <= _BEHIND * float(share @ best):
            return False
        act, free = family.representative, self.question.allowed
        spread = float(np.sqrt(np.sum(share**2 * (fitted.squares - loss) ** 2)))
        self.dropped.append(
            Candidate(act, width, free, self.numbers(act, width, free), loss, spread, why="far behind on some rows")
        )
        return True

    def near_best(self, alive: list[Family]) -> list[Family]:
        """Families whose best candidate is not far behind the best of all."""
        best = {family.name: self.best_of(family) for family in alive}
        leader = min(best.values(), key=self.loss)
        if self.exact(leader):
            return [family for family in alive if best[family.name] is leader]
        close = []
        for family in alive:
            mean, error = self.excess(best[family.name], leader)
            if mean <= _ERRORS * error or self.loss(best[family.name]) <= _BEHIND * self.loss(leader):
                close.append(family)
        return sorted(close, key=lambda family: self.loss(best[family.name]))[:_MOST_FAMILIES]

    def best_of(self, family: Family) -> Entry:
        mine = [entry for entry in self.entries.values() if entry.family and entry.family.name == family.name]
        return min(mine, key=self.loss)

    def widen(self, family: Family) -> None:
        """Twice as wide while residuals have structure and held-out rows gain by it."""
        best, most = self.best_of(family), self.most(family)
        while best.width < most and not passed() and self.structured(best):
            wider = self.wide(family, min(2 * best.width, most))
            mean, error = self.excess(wider, best)
            gains = self.exact(wider) or mean < -STANDARD_ERRORS * error
            if gains or wider.width >= 2 * _FIRST_WIDTH:
                self.narrow(family)
            if not gains:
                return
            best = wider

    def narrow(self, family: Family) -> None:
        """Narrower, by bisection, while held-out rows lose nothing."""
        best = self.best_of(family)
        tried = [e.width for e in self.entries.values() if e.family and e.family.name == family.name]
        low = max((w for w in tried if w < best.width and not self.ties(self.of_width(family, w), best)), default=0)
        high = best.width
        step = max(1, best.width // 4)
        while high - low > 1 and not passed():
            width = max(low + 1, high - step)
            entry = self.wide(family, width)
            attempts = _ATTEMPTS
            while not self.ties(entry, self.best_of(family)) and attempts and not passed():
                entry, attempts = self.again(family, width, attempts), attempts - 1
            if self.ties(entry, self.best_of(family)):
                high = width
            else:
                low, step = width, max(1, (high - width) // 2)

    def of_width(self, family: Family, width: int) -> Entry:
        mine = [e for e in self.entries.values() if e.family and e.family.name == family.name and e.width == width]
        return min(mine, key=self.loss)

    def again(self, family: Family, width: int, number: int) -> Entry:
        """The same width from other starts: half as wide again, joined down; the better one stays."""
        for fold in range(len(self.table.folds)):
            self.path(family, fold).retry(width, math.ceil(_WIDER * width), number)
        self.forget(family, width)
        return self.wide(family, width)

    def pruned(self, full: Entry) -> Entry:
        """Members and parts that are simpler, at the same width."""
        assert full.family is not None
        question, family, width = self.question, full.family, full.width
        whole = self.on_all(full).loss
        options = [
            (self.numbers(member.activation, width, free), place, member, free)
            for free in question.parts(self.d)
            for place, member in enumerate(family.members)
            if question.admits(member.activation, width, free)
        ]
        for _, _, member, free in sorted(options, key=lambda option: option[:2]):
            if passed():
                break
            if member.activation == full.member.activation and free == full.free:  # type: ignore[union-attr]
                return full
            entry = self.entry(family, member, width, free)
            if not self.ties(entry, full):
                entry.why = "explains held-out rows less well"
                continue
            if self.exact(entry):
                return entry
            p_value = self.needed(self.on_all(entry).loss, whole, full.numbers - entry.numbers, full.numbers)
            if p_value >= _PART_LEVEL:
                return entry
            entry.why = f"a part is missed (p = {p_value:.1g})"
        return full

    def on_all(self, entry: Entry) -> Fitted:
        assert entry.family is not None
        assert entry.member is not None
        path, fitted = self.path(entry.family, 0), entry.fits[0]
        if fitted.shape.centred:
            fitted = path.member(entry.width, entry.member, entry.free)
        fitted = on_all_rows(path, fitted)
        entry.network = self.table.network(fitted)
        return fitted

    def needed(self, small: float, large: float, parts: int, numbers: int) -> float:
        """p-value of the F-test that parts which a candidate lacks are zero, from the losses with and without them."""
        freedom = len(self.table.y) * self.m - numbers
        if parts <= 0 or small <= large or freedom <= 0 or large <= 0:
            return 1.0
        return float(fisher.sf((small - large) / parts / (large / freedom), parts, freedom))

    # Structure.

    def structured(self, entry: Entry) -> bool:
        """Whether the residuals of a candidate, fitted to all rows of the table, have structure."""
        if self.exact(entry):
            return False
        if np.isnan(entry.p_value):
            network = self.network(entry)
            y = self.table.y * self.table.scale
            y = y if self.table.several else y[:, 0]
            data = Observations(self.table.X, y, self.table.share if self.table.weighted else None)
            entry.p_value = residual_p_value(data, network, intercept=entry.free.intercept)
        return bool(entry.p_value < LEVEL)

    def network(self, entry: Entry) -> Network:
        if entry.network is None:
            if entry.family is None:
                entry.network = self.table.linear_network(entry.free)
            else:
                self.on_all(entry)
        assert entry.network is not None
        return entry.network

    def without_structure(self, chosen: Entry) -> Entry:
        """The chosen one, or the simplest better one whose residuals show no structure."""
        if not self.structured(chosen):
            return chosen
        better = [entry for entry in self.entries.values() if self.loss(entry) < self.loss(chosen)]
        for entry in sorted(better, key=lambda entry: entry.numbers):
            if not self.structured(entry):
                chosen.why = f"residuals have structure (p = {chosen.p_value:.1g})"
                return entry
        return chosen

    # What is said.

    def table_of(self, chosen: Entry) -> Choice:
        rivals = self.rivals(chosen)
        made = []
        for (act, _, _), entry in self.entries.items():
            this = entry is chosen
            made.append(
                Candidate(
                    act, entry.width, entry.free, entry.numbers, self.loss(entry), self.error(entry), this,
                    "chosen" if this else entry.why,
                )
            )  # fmt: skip
        reason = self.reason(chosen, rivals)
        return Choice((*made, *self.dropped), reason, self.network(chosen), passed())

    def rivals(self, chosen: Entry) -> list[str]:
        """Activations that explain held-out rows as well."""
        names = []
        for family in families(self.question.activation):
            mine = [e for e in self.entries.values() if e.family is not None and e.family.name == family.name]
            other = chosen.family is None or family.name != chosen.family.name
            if other and mine and self.ties(min(mine, key=self.loss), chosen):
                names.append(family.name)
        return names

    def reason(self, chosen: Entry, rivals: list[str]) -> str:
        if self.exact(chosen):
            return "it explains held-out rows to rounding, and nothing simpler does"
        words = "nothing simpler explains held-out rows as well"
        if chosen.family is not None and rivals:
            words += f"; these rows do not tell it from {', '.join(rivals)} with more numbers"
        return words
