"""How wide must a family be? Wider while held-out rows gain by it, narrower while they lose nothing."""

from __future__ import annotations

import math

import numpy as np

from planted.activations import Activation
from planted.methods._choice import Candidate
from planted.methods._comparison import STANDARD_ERRORS, Entry
from planted.methods._entries import Entries
from planted.methods._facts import EXACT, HELD_OUT_FLOOR
from planted.methods._families import Family, Member
from planted.methods._problem import Free
from planted.methods._screen_rows import MANY_INPUTS
from planted.numerics.deadline import passed

FIRST_WIDTH, _AFFORDABLE = 8, 600
BEHIND, ERRORS = 1.3, 3.0
"""A family stays while its held-out loss is below this multiple of the lowest, or so few standard errors above it."""
ATTEMPTS = 2
"""Starts of a width before it is given up."""
WIDER = 1.5
"""How much wider another start is than what it is joined down to."""
LESS = "explains held-out rows less well"
"""Why a candidate is not chosen."""
# Widths in a row that explain held-out rows less well before narrower ones are given up.
_HOPELESS = 3
# The same for new starts of narrower ones where neurons are few, and how many starts each of them gets. A start of many
# neurons takes long, and how many of them there are says little.
_GIVEN_UP, _STARTS = 2, 3


class Sizes(Entries):
    """Families at the widths that rows held out ask for."""

    def most(self, family: Family) -> int:
        """The widest network that the rows bear and that is affordable."""
        path = self.path(family, 0)
        # Products with the curvature cost as many passes as there are neurons, whatever the number of inputs.
        products = FIRST_WIDTH if path.n_inputs >= MANY_INPUTS else 0
        widest = min(path.widest, max(products, _AFFORDABLE // max(path.n_inputs, 1)))
        if family.name == "quadratic":
            # More squares than inputs are no other function.
            widest = min(widest, self.m * path.n_inputs)
        return max(1, widest)

    def widen(self, family: Family) -> None:
        """Twice as wide while residuals have structure and held-out rows gain by it, then narrower again."""
        best, most, wide = self.best_of(family), self.most(family), False
        while best.width < most and not passed() and self.structured(best):
            wider = self.wide(family, min(2 * best.width, most))
            mean, error = self.excess(wider, best)
            gains = self.exact(wider) or mean < -STANDARD_ERRORS * error
            wide = wide or gains or wider.width >= 2 * FIRST_WIDTH
            if not gains:
                break
            best = wider
            if self.too_wide(family, best):
                break
        if wide:
            self.narrow(family)

    def too_wide(self, family: Family, entry: Entry) -> bool:
        """Whether fewer neurons, joined from those of an entry, clearly explain held-out rows better."""
        if entry.width < 2 * FIRST_WIDTH or self.exact(entry) or passed():
            return False
        mean, error = self.excess(self.wide(family, 3 * entry.width // 4), entry)
        return mean < -ERRORS * error

    def narrow(self, family: Family) -> None:
        """Narrower while held-out rows lose nothing."""
        best = self.best_of(family)
        if self.exact(best):
            self.bisect(family, best)
            return
        width, behind = best.width, 0
        # In noise a width may fail where a narrower one, joined from it, does not.
        while width > 1 and behind < _HOPELESS and not passed():
            width = width - 1 if width <= FIRST_WIDTH else max(FIRST_WIDTH, 3 * width // 4)
            tied = not self.outside(family, width) and self.ties(self.wide(family, width), self.best_of(family))
            behind = 0 if tied else behind + 1
        width, behind, few = self.simplest_of(family).width, 0, True
        while width > 1 and behind < (_GIVEN_UP if few else 1) and not passed() and not self.outside(family, width - 1):
            width, tied, few = width - 1, False, width <= FIRST_WIDTH
            for attempt in range(_STARTS if few else ATTEMPTS, 0, -1):
                tied = tied or self.ties(self.again(family, width, attempt), self.best_of(family))
            behind = 0 if tied else behind + 1

    def bisect(self, family: Family, best: Entry) -> None:
        """Narrower by bisection while held-out rows are explained to rounding."""
        tried = [e.width for e in self.entries.values() if e.family and e.family.name == family.name]
        low = max((w for w in tried if w < best.width and not self.ties(self.of_width(family, w), best)), default=0)
        high = best.width
        step = max(1, best.width // 4)
        while high - low > 1 and not passed():
            width = max(low + 1, high - step)
            if self.outside(family, width):
                low, step = width, max(1, (high - width) // 2)
                continue
            entry = self.wide(family, width)
            attempts = ATTEMPTS
            while not self.exact(entry) and attempts and not passed():
                entry, attempts = self.again(family, width, attempts), attempts - 1
            if not self.exact(entry):
                # Beside the linear part of a search neurons may be idle that are needed without it.
                entry = self.spared(self.of_width(family, high), width)
            if self.exact(entry):
                high = width
            else:
                low, step = width, max(1, (high - width) // 2)

    def behind(
        self, family: Family, width: int, squares: np.ndarray, why: str = "far behind on some rows",
        kind: tuple[Activation, Free] | None = None,
    ) -> bool:  # fmt: skip
        """Whether a family, or one kind of it, with these squares in the first rows held out is far behind.

        It is noted then.
        """
        held = len(squares)
        share = self.share[:held] / np.sum(self.share[:held])
        loss = float(share @ squares)
        if not any(entry.family for entry in self.entries.values()):
            return False
        best = min((entry.squares[:held] for entry in self.entries.values()), key=lambda other: float(share @ other))
        excess = squares - best
        mean = float(share @ excess)
        error = float(np.sqrt(np.sum(share**2 * (excess - mean) ** 2)))
        if mean <= ERRORS * error or loss <= BEHIND * float(share @ best):
            return False
        self.drop(family, width, squares, why, kind)
        return True

    def plainly_less(self, family: Family, member: Member, width: int, free: Free) -> bool:
        """Whether the first of several folds tells already that a candidate is far behind; it is noted then."""
        act = member.activation
        if len(self.table.folds) == 1 or (act, width, free) in self.entries:
            return False
        squares = self.path(family, 0).member(width, member, free).squares
        return float(np.mean(squares)) > EXACT and self.behind(family, width, squares, LESS, (act, free))

    def drop(
        self, family: Family, width: int, squares: np.ndarray, why: str, kind: tuple[Activation, Free] | None = None
    ) -> None:
        """Note a family, or one kind of it, that is compared no further, by its squares in the first rows held out.

        Its loss is that of the best one in all of them and its excess in these: some rows are easier than others.
        """
        act, free = kind or (family.representative, self.question.allowed)
        held = len(squares)
        share = self.share[:held] / np.sum(self.share[:held])
        best = min(self.entries.values(), key=lambda entry: float(share @ entry.squares[:held]))
        excess = squares - best.squares[:held]
        mean = float(share @ excess)
        spread = math.hypot(self.error(best), float(np.linalg.norm(share * (excess - mean))))
        numbers = (self.numbers(act, width, free), self.loss(best) + mean, spread)
        self.dropped.append(Candidate(act, width, free, *numbers, why=why))

    def outside(self, family: Family, width: int) -> bool:
        """Whether fewer neurons of many inputs are far behind where those of the family's best network lie.

        They are not fitted in all inputs then, and noted.
        """
        path, best = self.path(family, 0), self.best_of(family)
        if path.n_inputs < MANY_INPUTS or len(self.table.folds) > 1 or width >= best.width:
            return False
        act, why = family.representative, f"far behind where {best.width} of them lie"
        if any((one.activation, one.n_hidden, one.why) == (act, width, why) for one in self.dropped):
            return True
        squares = path.glimpse(path.at(best.width), width)[1]
        explained = float(self.share @ squares) <= HELD_OUT_FLOOR
        return not explained and self.behind(family, width, squares, why)

    def again(self, family: Family, width: int, number: int) -> Entry:
        """The same width from other starts: half as wide again, joined down; the better one stays."""
        for fold in range(len(self.table.folds)):
            self.path(family, fold).retry(width, math.ceil(WIDER * width), number)
        self.forget(family, width)
        return self.wide(family, width)
