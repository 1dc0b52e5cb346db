"""What every source of rows promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax

Block = dict[str, jax.Array]
"""Some rows: "x" (r, d), "y" (r,) and "weight" (r,), the weight of a padding row being zero."""


class Rows(ABC):
    """Rows of data, known only through sums over blocks of them.

    An empirical objective is a weighted mean over rows. It is written for one :data:`Block` and asks its
    rows for the sum, so it does not know whether they lie in memory, in files, or on other machines.
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of inputs d."""

    @property
    @abstractmethod
    def total_weight(self) -> Any:
        """Sum of the rows' weights: the number of rows when they are unweighted."""

    @abstractmethod
    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """Add up `function(block, *args)`, a pytree of arrays, over all blocks."""

    def mean(self, function: Callable[..., Any], *args: Any) -> Any:
        """Divide :meth:`sum` by the total weight."""
        total = self.sum(function, *args)
        return jax.tree.map(lambda leaf: leaf / self.total_weight, total)
