"""Rows in memory, cut into blocks that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
from jax import lax

from planted.pytrees import Pytree
from planted.rows._base import Rows

BLOCK_SIZE = 8192


class ArrayRows(Pytree, Rows):
    """Rows held as arrays; sums run as one compiled loop over blocks and may be traced by JAX.

    Parameters
    ----------
    x : array (n, ...)
        Inputs.
    y : array (n,)
        Targets.
    weight : array (n,), optional
        Row weights, one each unless given.
    block_size : int
        Rows in a block. The last block is padded with rows of weight zero.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> rows = ArrayRows(jnp.ones((5, 2)), jnp.arange(5.0), block_size=2)
    >>> float(rows.mean(lambda block: jnp.sum(block["weight"] * block["y"])))
    2.0
    """

    _arrays = ("blocks",)

    def __init__(
        self, x: jax.Array, y: jax.Array, weight: jax.Array | None = None, block_size: int = BLOCK_SIZE
    ) -> None:
        n = x.shape[0]
        if weight is None:
            weight = jnp.ones(n, x.dtype)
        n_blocks = -(-n // block_size)
        size = -(-n // n_blocks)
        padding = n_blocks * size - n

        def cut(array: jax.Array) -> jax.Array:
            if padding:
                array = jnp.concatenate([array, jnp.zeros((padding, *array.shape[1:]), array.dtype)])
            return array.reshape(n_blocks, size, *array.shape[1:])

        self.blocks = {"x": cut(x), "y": cut(y), "weight": cut(weight)}

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.blocks["x"].shape[-1]

    @property
    def total_weight(self) -> jax.Array:
        """Sum of the rows' weights."""
        return jnp.sum(self.blocks["weight"])

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """Add up `function(block, *args)` over the blocks, one block in flight at a time."""
        first = jax.tree.map(lambda leaf: leaf[0], self.blocks)
        if self.blocks["y"].shape[0] == 1:
            return function(first, *args)
        shapes = jax.eval_shape(function, first, *args)
        zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

        def add(total: Any, block: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, function(block, *args)), None

        return lax.scan(add, zero, self.blocks)[0]

    def with_targets(self, function: Callable[..., jax.Array], *args: Any) -> Self:
        """Rows whose targets are `function(block, *args)`, all else unchanged."""
        y = lax.map(lambda block: function(block, *args), self.blocks)
        return type(self)._build(blocks=self.blocks | {"y": y})

    def astype(self, dtype: Any) -> Self:
        """Rows in another floating-point type."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype), self)
