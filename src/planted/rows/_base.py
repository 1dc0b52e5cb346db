"""What every source of rows promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

import jax

Block = dict[str, jax.Array]
"""Some rows: "x" (r, d), "y" (r,) or (r, m), and "weight" (r,), the weight of a padding row being zero."""


class Rows(ABC):
    """Rows of data, known only through sums over blocks of them.

    An empirical objective is a weighted mean over rows. It is written for one :data:`Block` and asks its
    rows for the sum, so it does not know whether they lie in memory, in files, or on other machines.
    """

    traceable: ClassVar[bool]
    """Whether sums are JAX programs, to be compiled with what is around them. Otherwise they run when called, and
    `function` is a module-level function (or an object that is equal to its copies), since it may travel."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's inputs: (d,), or (patches, d)."""

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.shape[-1]

    @property
    @abstractmethod
    def total_weight(self) -> Any:
        """Sum of the rows' weights: the number of rows when they are unweighted."""

    @abstractmethod
    def fold(self, combine: str, function: Callable[..., Any], *args: Any) -> Any:
        """Combine `function(block, *args)`, a pytree of arrays, over all blocks by "add" or "minimum"."""

    @abstractmethod
    def map(self, function: Callable[..., Block], *args: Any, shape: tuple[int, ...] | None = None) -> Self:
        """Rows whose blocks are `function(block, *args)`; `shape` is that of a row's inputs where it changes."""

    def in_memory(self) -> dict[str, Any] | None:
        """All rows as one block of NumPy arrays, in their order and with padding at the end; None if not in memory."""
        return None

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """Add up `function(block, *args)`, a pytree of arrays, over all blocks."""
        return self.fold("add", function, *args)

    def minimum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The entrywise minimum of `function(block, *args)` over all blocks."""
        return self.fold("minimum", function, *args)

    def mean(self, function: Callable[..., Any], *args: Any) -> Any:
        """Divide :meth:`sum` by the total weight."""
        total = self.sum(function, *args)
        return jax.tree.map(lambda leaf: leaf / self.total_weight, total)


def over_rows(function: Callable[..., Any], static_argnums: tuple[int, ...] = ()) -> Callable[..., Any]:
    """Compile a function whose first argument is rows, or an object with `traceable`, if it can be traced.

    Where it cannot, the function runs as it is, and each of its sums is compiled by the rows.

    >>> import jax.numpy as jnp
    >>> from planted.rows import ArrayRows
    >>> float(over_rows(lambda rows: rows.total_weight)(ArrayRows(jnp.ones((5, 2)), jnp.ones(5))))
    5.0
    """
    compiled = jax.jit(function, static_argnums=static_argnums)

    @wraps(function)
    def run(subject: Any, *args: Any) -> Any:
        return (compiled if subject.traceable else function)(subject, *args)

    return run
