r"""Score functions S_m = ∇^m f / f from the derivatives of log f: one recursion for every density.

With 𝒢_j = ∇^j log f, differentiating f = exp(log f) m times gives one term for every way of splitting the m
slots into blocks (Faà di Bruno):

    S_m[i_1 … i_m] = Σ_π Π_{B ∈ π} 𝒢_{|B|}[i_B],        π over the set partitions of {1, …, m}.

Summing over set partitions symmetrises every term, among them 3 sym(𝒢₂ ⊗ 𝒢₂), which eq. 7 of Gao et al.
(2018) prints without its sym. The sign is that of eq. 2 (none), so Stein's identity reads
E[g(x) S_m(x)] = (−1)^m E[∇^m g(x)].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from operator import add, mul

import jax

MAX_ORDER = 4

Partition = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=MAX_ORDER + 1)
def set_partitions(order: int) -> tuple[Partition, ...]:
    """All partitions of {0, …, order − 1} into blocks, each block sorted.

    >>> [len(set_partitions(order)) for order in range(1, 5)]
    [1, 2, 5, 15]
    >>> set_partitions(2)
    (((0, 1),), ((0,), (1,)))
    """
    if order == 0:
        return ((),)
    last, partitions = order - 1, []
    for partition in set_partitions(order - 1):
        for i in range(len(partition)):
            partitions.append((*partition[:i], (*partition[i], last), *partition[i + 1 :]))
        partitions.append((*partition, (last,)))
    return tuple(partitions)


def from_log_derivatives(order: int, derivative: Callable[[tuple[int, ...]], jax.Array | None]) -> jax.Array:
    """Σ_π Π_{B ∈ π} derivative(B) over the set partitions π of `order` slots.

    Parameters
    ----------
    order : int
        1 to 4.
    derivative : callable
        For a block of slots, the derivative of log f along them, or None where it is zero. Factors are
        multiplied with broadcasting: numbers a row give a contraction, tensors with length-one axes at the
        slots of other blocks give the tensor S_m.

    Examples
    --------
    The standard normal at x = 2 has log-density derivatives −2, −1, 0, 0 and S₄ = x⁴ − 6x² + 3.

    >>> values = {1: -2.0, 2: -1.0}
    >>> from_log_derivatives(4, lambda block: values.get(len(block)))
    -5.0
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"the order of a score function must be 1, 2, 3 or 4, not {order!r}")
    terms: list[jax.Array] = []
    for partition in set_partitions(order):
        factors = [factor for block in partition if (factor := derivative(block)) is not None]
        if len(factors) == len(partition):
            terms.append(reduce(mul, factors))
    if not terms:
        raise ValueError("a density needs at least its first log-density derivative")
    return reduce(add, terms)


def score_tensor(derivatives: Sequence[jax.Array | None], order: int) -> jax.Array:
    """S_order, an array (n, d, …, d), from symmetric tensors 𝒢_j (n, d, …, d), j = 1, 2, …; None is zero.

    >>> import jax.numpy as jnp
    >>> x = jnp.array([[1.0, 2.0]])
    >>> print(score_tensor([-x, -jnp.eye(2)[None]], 2)[0])
    [[0. 2.]
     [2. 3.]]
    """

    def placed(block: tuple[int, ...]) -> jax.Array | None:
        tensor = derivatives[len(block) - 1] if len(block) <= len(derivatives) else None
        if tensor is None:
            return None
        d = tensor.shape[1]
        return tensor.reshape(tensor.shape[0], *(d if slot in block else 1 for slot in range(order)))

    return from_log_derivatives(order, placed)


def score_contraction(directional: Callable[[str], jax.Array | None]) -> jax.Array:
    """S₄(u, u, v, v) from the derivatives of log f along u and v.

    Parameters
    ----------
    directional : callable
        For one of "u", "v", "uu", "uv", "vv", "uuv", "uvv", "uuvv" the derivative of log f along these
        directions, one number a row, or None where it is zero. Called once for each.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> u, v, x = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]), jnp.array([2.0, 3.0])
    >>> normal = {"u": -x @ u, "v": -x @ v, "uu": -u @ u, "uv": -u @ v, "vv": -v @ v}
    >>> float(score_contraction(normal.get))      # (x₁² − 1)(x₂² − 1)
    24.0
    """
    known: dict[str, jax.Array | None] = {}

    def along(block: tuple[int, ...]) -> jax.Array | None:
        name = "".join("uuvv"[slot] for slot in block)
        if name not in known:
            known[name] = directional(name)
        return known[name]

    return from_log_derivatives(4, along)
