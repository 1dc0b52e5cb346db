"""Sums over rows in memory, shared out between the cores.

A compiled loop over blocks uses one core where a block has little to share out: what is done entry by entry, and
products with few inputs. Here every core runs the loop over a part of the rows, on a thread of its own, and the parts
are combined on the host. The loop takes pieces that stay in a core's own cache between two products with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from planted.numerics.precision import float64
from planted.numerics.threads import cores, side_by_side
from planted.rows._base import Block, Rows
from planted.rows._chunks import combined
from planted.rows._memory import ArrayRows

# Numbers in all rows, times what is multiplied with each, from which threads pay for themselves.
_MUCH = 30_000_000
_PIECE_BYTES = 1 << 18
# A piece and what is computed of it, some four numbers a neuron and row, leave room in a core's own cache of 1 MB.
_WORKING_BYTES = 5 << 17
_NUMBERS_A_NEURON = 4
_LEAST_PIECE = 256
_COMPILED: set[Any] = set()
"""Of what loops there are compiled programs."""


def piece_rows(rows: int, row_bytes: int, neuron_bytes: int = 0) -> int:
    """Rows in a piece: `rows` halved until a piece fits, or would have fewer than 256 rows.

    A piece fits if its inputs have at most 256 kB, and at most 640 kB together with what is computed of them.
    `row_bytes` and `neuron_bytes` are those of a row's inputs and of one number for each neuron.

    >>> piece_rows(8192, 160), piece_rows(4096, 400), piece_rows(1024, 1600), piece_rows(5000, 80)
    (1024, 512, 256, 2500)
    >>> piece_rows(4096, 200), piece_rows(4096, 200, 200)
    (1024, 512)
    """
    working_bytes = row_bytes + _NUMBERS_A_NEURON * neuron_bytes

    def fits(size: int) -> bool:
        return size * row_bytes <= _PIECE_BYTES and size * working_bytes <= _WORKING_BYTES

    while not fits(rows) and rows % 2 == 0 and rows // 2 >= _LEAST_PIECE:
        rows //= 2
    return rows


# Every core has a loop of its own: cutting its element-wise work up for the other cores would make them wait for it.
_ONE_CORE = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}


@partial(jax.jit, static_argnums=(0, 1, 2, 3), compiler_options=_ONE_CORE)
def _part(combine: str, function: Any, size: int, structure: Any, leaves: list[Any], start: Any, stop: Any) -> Any:
    """`function(piece, *args)` combined over the pieces of `size` rows from `start` up to `stop`.

    `leaves` and `structure` are those of (blocks, args): taken apart once for all parts.
    """
    blocks, args = jax.tree.unflatten(structure, leaves)
    rows = {name: leaf.reshape(-1, *leaf.shape[2:]) for name, leaf in blocks.items()}

    def piece(i: Any) -> Any:
        cut = {name: lax.dynamic_slice_in_dim(leaf, i * size, size) for name, leaf in rows.items()}
        return function(cut, *args)

    def step(i: Any, total: Any) -> Any:
        return jax.tree.map(getattr(jnp, combine), total, piece(i))

    fill = {"add": 0.0, "minimum": jnp.inf}[combine]
    none = jax.tree.map(lambda leaf: jnp.full(leaf.shape, fill, leaf.dtype), jax.eval_shape(piece, 0))
    return lax.fori_loop(start, stop, step, none)


class RowsOnCores(Rows):
    """Rows in memory whose sums run when they are asked for, each core on a part of the rows.

    Parameters
    ----------
    rows : ArrayRows
        Arrays, not traced.
    neurons : int
        How many numbers every number of a row is multiplied with.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowsOnCores(ArrayRows(np.ones((50, 2)), np.arange(50.0), block_size=8), 3)
    >>> float(rows.mean(_first_moment))
    24.5
    """

    traceable = False

    def __init__(self, rows: ArrayRows, neurons: int) -> None:
        self.rows = rows
        self.neurons = neurons

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's inputs."""
        return self.rows.shape

    @property
    def total_weight(self) -> float:
        """Sum of the rows' weights."""
        return float(self.rows.total_weight)

    @float64
    def fold(self, combine: str, function: Callable[..., Any], *args: Any) -> Any:
        """Combine `function(piece, *args)` over all rows."""
        blocks = self.rows.blocks
        number = blocks["x"].dtype.itemsize
        size = piece_rows(blocks["x"].shape[1], number * math.prod(self.shape), number * self.neurons)
        pieces = self.rows.size // size
        parts = min(cores(), pieces)
        leaves, structure = jax.tree.flatten((blocks, args))

        @float64
        def part(start: int, stop: int) -> Any:
            return jax.block_until_ready(_part(combine, function, size, structure, leaves, start, stop))

        kinds = [(getattr(leaf, "shape", ()), getattr(leaf, "dtype", type(leaf))) for leaf in leaves]
        key = (combine, function, size, structure, *kinds)
        calls = [partial(part, *ends) for ends in pairwise(pieces * i // parts for i in range(parts + 1))]
        # One thread compiles, or each of them would.
        results = side_by_side(calls) if key in _COMPILED else [calls[0](), *side_by_side(calls[1:])]
        _COMPILED.add(key)
        return combined(combine, iter(results))

    def map(self, function: Callable[..., Block], *args: Any, shape: tuple[int, ...] | None = None) -> RowsOnCores:
        """Rows whose blocks are `function(block, *args)`."""
        return RowsOnCores(self.rows.map(function, *args, shape=shape), self.neurons)


def _first_moment(block: Block) -> jax.Array:
    return jnp.sum(block["weight"] * block["y"])


def on_cores(rows: Any, neurons: int) -> Any:
    """The same rows with sums shared out between the cores, where they are arrays, not traced, and there is much to do.

    `neurons` is how many numbers every number of a row is multiplied with.

    >>> import numpy as np
    >>> rows = ArrayRows(np.ones((60_000, 20)), np.ones(60_000))
    >>> on_cores(rows, 5).traceable, on_cores(rows, 50).traceable
    (True, False)
    """
    if not isinstance(rows, ArrayRows) or isinstance(rows.blocks["x"], jax.core.Tracer):
        return rows
    return RowsOnCores(rows, neurons) if rows.blocks["x"].size * neurons >= _MUCH else rows
