"""Rows in memory, cut into blocks that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planted.numerics.pytrees import Pytree
from planted.rows._base import Block, Rows

BLOCK_SIZE = 8192


class ArrayRows(Pytree, Rows):
    """Rows held as arrays; sums run as one compiled loop over blocks and may be traced by JAX.

    Parameters
    ----------
    x : array (n, ...)
        Inputs.
    y : array (n,) or (n, m)
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
    traceable = True

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
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's inputs."""
        return self.blocks["x"].shape[2:]

    @property
    def total_weight(self) -> jax.Array:
        """Sum of the rows' weights."""
        return jnp.sum(self.blocks["weight"])

    def in_memory(self) -> dict[str, np.ndarray]:
        """All rows as one block."""
        blocks = {name: np.asarray(leaf) for name, leaf in self.blocks.items()}
        return {name: leaf.reshape(-1, *leaf.shape[2:]) for name, leaf in blocks.items()}

    def fold(self, combine: str, function: Callable[..., Any], *args: Any) -> Any:
        """Combine `function(block, *args)` over the blocks, one block in flight at a time."""
        first = jax.tree.map(lambda leaf: leaf[0], self.blocks)
        n_blocks = self.blocks["y"].shape[0]
        if n_blocks == 1:
            return function(first, *args)
        operation = getattr(jnp, combine)
        if combine == "add":
            shapes = jax.eval_shape(function, first, *args)
            start, rest = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes), self.blocks
        else:
            start, rest = function(first, *args), jax.tree.map(lambda leaf: leaf[1:], self.blocks)

        def step(total: Any, block: Any) -> tuple[Any, None]:
            return jax.tree.map(operation, total, function(block, *args)), None

        return lax.scan(step, start, rest)[0]

    def map(self, function: Callable[..., Block], *args: Any, shape: tuple[int, ...] | None = None) -> Self:
        """Rows whose blocks are `function(block, *args)`."""
        return type(self)._build(blocks=lax.map(lambda block: function(block, *args), self.blocks))

    def astype(self, dtype: Any) -> Self:
        """Rows in another floating-point type."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype), self)
