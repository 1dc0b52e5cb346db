"""Rows in memory, cut into blocks that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planted.numerics.pytrees import Pytree
from planted.rows._base import Block, Rows

BLOCK_SIZE = 8192
"""Rows in a block, at most."""
_LEAST_BLOCK = 1024
_NUMBERS = 3 << 17
# Blocks in one turn of a compiled loop. Nothing of one waits for another, so that cores take one each where a block has
# little to share out between them: what is done entry by entry, and products with few inputs.
_AT_ONCE = 2


def rounded(count: int) -> int:
    """The next number with at most four leading bits: few sizes share few compiled programs, at most an eighth is idle.

    >>> [rounded(n) for n in (7, 17, 1000, 5000)]
    [7, 18, 1024, 5120]
    """
    step = 1 << max(count.bit_length() - 4, 0)
    return -(-count // step) * step


def rows_in_a_block(numbers: int) -> int:
    """A power of two that makes 200,000 to 400,000 numbers, which stay in the cache between two products with them.

    >>> [rows_in_a_block(d) for d in (10, 50, 100, 200, 1000)]
    [8192, 4096, 2048, 1024, 1024]
    """
    return min(max(1 << (_NUMBERS // max(numbers, 1)).bit_length() - 1, _LEAST_BLOCK), BLOCK_SIZE)


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
    block_size : int, optional
        Rows in a block, by default :func:`rows_in_a_block` of the numbers in a row. Blocks are padded with rows of
        weight zero, to a size that many numbers of rows share.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> rows = ArrayRows(jnp.ones((5, 2)), jnp.arange(5.0), block_size=2)
    >>> float(rows.mean(lambda block: jnp.sum(block["weight"] * block["y"])))
    2.0
    """

    _arrays = ("blocks",)
    traceable = True

    def __init__(self, x: Any, y: Any, weight: Any = None, block_size: int | None = None) -> None:
        n = x.shape[0]
        block_size = block_size or rows_in_a_block(int(np.prod(x.shape[1:])))
        # Arrays on the host are cut there, so that a number of rows that has not been met compiles nothing.
        host = not any(isinstance(array, jax.core.Tracer) for array in (x, y, weight))
        place: Any = np if host else jnp
        if weight is None:
            weight = place.ones(n, x.dtype)
        n_blocks = rounded(-(-n // block_size))
        n_blocks += n_blocks % _AT_ONCE if n_blocks > 1 else 0
        size = min(rounded(-(-n // n_blocks)), max(block_size, -(-n // n_blocks)))
        padding = n_blocks * size - n

        def cut(array: Any) -> jax.Array:
            array = np.asarray(array) if host else array
            if padding:
                array = place.concatenate([array, place.zeros((padding, *array.shape[1:]), array.dtype)])
            array = array.reshape(n_blocks, size, *array.shape[1:])
            return jax.device_put(array) if host else array

        self.blocks = {"x": cut(x), "y": cut(y), "weight": cut(weight)}

    @property
    def size(self) -> int:
        """Number of rows, padding included."""
        return int(np.prod(self.blocks["weight"].shape))

    @cached_property
    def on_host(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows x (n, d), targets (n, m) and weights (n,) that sum to one, as NumPy arrays, padding left out."""
        x, y, weight = (np.asarray(self.blocks[name]) for name in ("x", "y", "weight"))
        x, weight = x.reshape(-1, *x.shape[2:]), weight.reshape(-1)
        y = y.reshape(len(weight), -1)
        counts = weight > 0
        if not counts.all():
            x, y, weight = x[counts], y[counts], weight[counts]
        return x, y, weight / weight.sum()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's inputs."""
        return self.blocks["x"].shape[2:]

    @property
    def total_weight(self) -> Any:
        """Sum of the rows' weights."""
        weight = self.blocks["weight"]
        return jnp.sum(weight) if isinstance(weight, jax.core.Tracer) else self._sum_of_weights

    @cached_property
    def _sum_of_weights(self) -> Any:
        """That of weights which are not traced."""
        return np.sum(np.asarray(self.blocks["weight"]))

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

        return lax.scan(step, start, rest, unroll=_AT_ONCE)[0]

    def map(self, function: Callable[..., Block], *args: Any, shape: tuple[int, ...] | None = None) -> Self:
        """Rows whose blocks are `function(block, *args)`."""
        return type(self)._build(blocks=lax.map(lambda block: function(block, *args), self.blocks))

    def astype(self, dtype: Any) -> Self:
        """Rows in another floating-point type."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype), self)
