"""What a caller leaves open: activation, width, parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product

from planted.activations import Activation
from planted.methods._families import Family, families
from planted.methods._problem import Free


@dataclass(frozen=True)
class Question:
    """What a caller leaves open: None stands for open, anything else is given.

    Attributes
    ----------
    activation : Activation or None
    n_hidden : int or None
    bias, intercept, skip : bool or None
    admits : callable
        Whether a network of an activation, a width and free parts may be asked of the method.

    Examples
    --------
    >>> Question(n_hidden=3).allowed
    Free(bias=True, intercept=True, skip=True)
    >>> Question(bias=False).parts(2)[0]
    Free(bias=False, intercept=False, skip=False)
    """

    activation: Activation | None = None
    n_hidden: int | None = None
    bias: bool | None = None
    intercept: bool | None = None
    skip: bool | None = None
    admits: Callable[[Activation, int, Free], bool] = field(default=lambda *_: True)

    @property
    def open(self) -> bool:
        """Whether anything is open."""
        return None in (self.activation, self.n_hidden, self.bias, self.intercept, self.skip)

    @property
    def allowed(self) -> Free:
        """All parts that a candidate may have."""
        return Free(*(part is not False for part in (self.bias, self.intercept, self.skip)))

    def parts(self, n_features: int) -> list[Free]:
        """All combinations of parts that a candidate may have, fewest numbers first."""
        options = [(False, True) if part is None else (part,) for part in (self.bias, self.intercept, self.skip)]
        made = [Free(*flags) for flags in product(*options)]
        return sorted(made, key=lambda free: free.unknowns(n_features, self.n_hidden or 2))

    def families(self, n_features: int) -> list[Family]:
        """The families of activations that candidates may have, with the members that the method admits."""
        made = []
        for family in families(self.activation):
            inside = tuple(
                member
                for member in family.members
                if any(self.admits(member.activation, self.n_hidden or 1, free) for free in self.parts(n_features))
            )
            if inside:
                made.append(replace(family, members=inside))
        return made
