"""How candidates are compared: squared residuals of the same rows held out, pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planted.methods._facts import EXACT, SURE
from planted.methods._families import Family, Member
from planted.methods._problem import Free
from planted.methods._screen_rows import Fitted
from planted.networks import Network

STANDARD_ERRORS = 1.0
"""Standard errors of the mean difference up to which two candidates tie."""
INDIFFERENT = 2.0
"""A difference of −2 log-likelihood that says nothing."""
_LINEAR_ERRORS = 2.5
# The same from which on one is said to be clearly worse or better.
_CLEAR_ERRORS = 2.0
# A share of a held-out loss that rounding, or the end of a descent, makes of candidates that are one function.
_SAME = 1e-6


@dataclass(eq=False)
class Entry:
    """A candidate with its fits by fold, the squares of all rows held out, and its fit to all rows, if it was made."""

    family: Family | None
    member: Member | None
    width: int
    free: Free
    numbers: int
    squares: np.ndarray
    fits: list[Fitted]
    why: str = ""
    p_value: float = np.nan
    network: Network | None = None
    on_all: Fitted | None = None
    before: Fitted | None = None

    def refit(self, fits: list[Fitted]) -> None:
        """Take other fits by fold; the fit to all rows is made anew, and stays as it was if that was better."""
        self.fits, self.squares = fits, np.concatenate([fit.squares for fit in fits])
        self.before, self.p_value, self.network, self.on_all = self.on_all, np.nan, None, None


class Comparison:
    """Comparisons of entries by the rows held out, `share` (t,) being their weights, which sum to one.

    `count` is the number of targets in all rows.

    >>> made = Comparison()
    >>> made.share = np.full(2, 0.5)
    >>> made.loss(Entry(None, None, 0, Free(), 0, np.array([1.0, 3.0]), []))
    2.0
    """

    share: np.ndarray
    count: int

    def loss(self, entry: Entry) -> float:
        """The held-out loss."""
        return float(self.share @ entry.squares)

    def error(self, entry: Entry) -> float:
        """Standard error of the held-out loss."""
        return float(np.sqrt(np.sum(self.share**2 * (entry.squares - self.loss(entry)) ** 2)))

    def exact(self, entry: Entry) -> bool:
        """Whether held-out rows are explained to rounding."""
        return self.loss(entry) <= EXACT

    def excess(self, entry: Entry, best: Entry) -> tuple[float, float]:
        """Mean excess of the squares over those of another candidate, and its standard error."""
        excess = entry.squares - best.squares
        mean = float(self.share @ excess)
        return mean, float(np.sqrt(np.sum(self.share**2 * (excess - mean) ** 2)))

    def price(self, entry: Entry, best: Entry) -> float:
        """What the numbers that an entry does without have to bring: BIC's price less the 2/n of leaving rows out."""
        extra = max(best.numbers - entry.numbers, 0)
        return self.loss(best) * extra * max(math.log(self.count) - 2, 0.0) / self.count

    def ties(self, entry: Entry, best: Entry, errors: float = STANDARD_ERRORS) -> bool:
        """Whether an entry explains held-out rows as well as the best one, up to chance."""
        if self.exact(entry) or self.exact(best):
            return self.exact(entry)
        mean, error = self.excess(entry, best)
        # The best of many networks is better than a linear function by chance alone.
        reach = _LINEAR_ERRORS if entry.family is None else errors
        if mean <= reach * error and not self.worse_on_most(entry, best):
            return True
        return entry.family is not None and mean <= self.price(entry, best)

    def worse_on_most(self, entry: Entry, best: Entry) -> bool:
        """Whether more rows than chance would have it are explained less well; a few rows may make most of a mean."""
        signs = self.share * np.sign(entry.squares - best.squares)
        return float(np.sum(signs)) > SURE * float(np.linalg.norm(signs))

    def as_good(self, entry: Entry, other: Entry) -> bool:
        """Whether an entry explains held-out rows no worse than another one that has as many numbers."""
        return other.numbers >= entry.numbers and self.loss(other) >= self.loss(entry) / (1 + _SAME)

    def beside(self, entry: Entry, chosen: Entry) -> str:
        """How an entry that was not chosen explains held-out rows beside the chosen one, in words."""
        more = entry.numbers > chosen.numbers
        if self.exact(entry) and self.exact(chosen):
            return "no better, with more numbers" if more else "explains held-out rows to rounding, too"
        mean, error = self.excess(entry, chosen)
        if mean > 0:
            clear = mean > _CLEAR_ERRORS * error or self.exact(chosen)
            return f"explains held-out rows less well{'' if clear else ', not clearly'}"
        reach = _LINEAR_ERRORS if chosen.family is None else _CLEAR_ERRORS
        if -mean <= reach * error:
            return f"not clearly better{', with more numbers' if more else ''}"
        return f"explains held-out rows better, by {-mean / error:.1f} standard errors"
