"""A stream of new rows from a known source: every step of a solver sees samples it has never seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax

from planted.rows._memory import ArrayRows


@dataclass(frozen=True)
class FreshRows:
    """Rows drawn anew from a key.

    Parameters
    ----------
    sample : callable
        `sample(key, n) -> (x, y)`, traceable by JAX.
    batch_size : int
        Rows in a draw.

    Examples
    --------
    >>> import jax
    >>> fresh = FreshRows(lambda key, n: (jax.random.normal(key, (n, 3)), jax.random.normal(key, (n,))), 10)
    >>> fresh.draw(jax.random.key(0)).n_features
    3
    """

    sample: Callable[[jax.Array, int], tuple[jax.Array, jax.Array]]
    batch_size: int
    block_size: int | None = None

    def draw(self, key: jax.Array) -> ArrayRows:
        """`batch_size` new rows."""
        x, y = self.sample(key, self.batch_size)
        return ArrayRows(x, y, block_size=self.block_size)
