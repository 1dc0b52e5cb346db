r"""Hermite moment tensors of the targets, contracted from rows without being built (Fu et al. 2018, section 4.1).

For x ~ N(0, I) and y = c + Σ_i a_i φ(w_i·x),

    M_j = E[y H_j(x)] = Σ_i a_i m_j(‖w_i‖) w̄_i^{⊗j},    m_j(σ) = E[φ(σz) He_j(z)] = √(j!) E[φ(σz) h_j(z)],

with H_j the Hermite tensor, so that M₁ = E[yx], M₂ = E[y(xxᵀ − I)] and so on (Definition 2). All contractions are
means over rows. The largest arrays are (d, k²) and, from rows projected to the span of the neurons, (k, k, k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from planted.activations import Activation
from planted.rows import Block, Rows

MAX_ORDER = 4
_SCALES = (0.5, 1.0, 2.0, 4.0)
_ZERO = 1e-9


class Orders(NamedTuple):
    """j₂ of the span, j₃ of the decomposition, l₁ of the lengths (Definition 3), and all orders that do not vanish."""

    subspace: int
    decomposition: int
    magnitude: int
    nonzero: tuple[int, ...]


def neuron_moment(activation: Activation, order: int, sigma: float) -> float:
    """m_j(σ) = E[φ(σz) He_j(z)], z ~ N(0, 1), of Definition 2.

    >>> from planted import activations
    >>> neuron_moment(activations.get("relu"), 1, 3.0)    # σ/2
    1.5
    """
    return math.sqrt(math.factorial(order)) * activation.hermite(order, sigma)


def choose_orders(activation: Activation) -> Orders:
    """j₂ = min{j ≥ 2: M_j ≠ 0}, j₃ = min{j ≥ 3: M_j ≠ 0}, l₁ = min{j ≥ 1: M_j ≠ 0}, from the Gaussian moments of φ.

    Sigmoid and tanh lose the even orders, ReLU and softplus the third.

    >>> from planted import activations
    >>> choose_orders(activations.get("sigmoid"))[:3], choose_orders(activations.get("relu"))[:3]
    ((3, 3, 1), (2, 4, 1))
    >>> choose_orders(activations.get("quadratic"))
    Traceback (most recent call last):
    ValueError: M₃ and M₄ vanish for quadratic: the tensor start has nothing to decompose
    """
    nonzero = tuple(
        order
        for order in range(1, MAX_ORDER + 1)
        if max(abs(neuron_moment(activation, order, scale)) for scale in _SCALES) > _ZERO
    )
    higher = [order for order in nonzero if order >= 3]
    if not higher:
        raise ValueError(f"M₃ and M₄ vanish for {activation.name}: the tensor start has nothing to decompose")
    return Orders(min(order for order in nonzero if order >= 2), higher[0], nonzero[0], nonzero)


def contracted_matrix(rows: Rows, order: int, alpha: jax.Array, V: jax.Array) -> jax.Array:
    """P₂V for P₂ = M_j(I, I, α, …) with j = 3 or 4 and V (d, m): one pass over the rows, no (d, d) array.

    >>> import jax.numpy as jnp
    >>> from planted.rows import ArrayRows
    >>> x = jnp.array([[1.0, 2.0]])
    >>> contracted_matrix(ArrayRows(x, jnp.ones(1)), 3, jnp.array([1.0, 0.0]), jnp.eye(2))    # H₃(x)(·, ·, e₁)
    Array([[-2.,  0.],
           [ 0.,  3.]], dtype=float32)
    """
    overlap = V.T @ alpha
    size = alpha @ alpha

    full, total, along, linear, mean, plain = rows.mean(_Contraction(order), alpha, V)
    if order == 3:
        return full - total * V - jnp.outer(alpha, along) - jnp.outer(linear, overlap)
    return (
        full
        - total * V
        - 2 * jnp.outer(alpha, along)
        - 2 * jnp.outer(linear, overlap)
        - size * plain
        + mean * (size * V + 2 * jnp.outer(alpha, overlap))
    )


def unfolded(rows: Rows, V: jax.Array) -> jax.Array:
    """M₃(I, V, V) as a matrix (d, k²) for V (d, k): what one step of the higher-order power method needs.

    >>> import jax.numpy as jnp
    >>> from planted.rows import ArrayRows
    >>> unfolded(ArrayRows(jnp.array([[2.0]]), jnp.ones(1)), jnp.ones((1, 1)))    # 2³ − 3·2
    Array([[2.]], dtype=float32)
    """
    k = V.shape[1]
    full, mean = rows.mean(block_unfolded, V)
    along = V.T @ mean
    lower = (
        mean[:, None, None] * (V.T @ V) + V[:, :, None] * along[None, None, :] + V[:, None, :] * along[None, :, None]
    )
    return full - lower.reshape(-1, k * k)


def projected_tensor(rows: Rows, order: int, V: jax.Array, alphas: jax.Array) -> jax.Array:
    """R₃ = P₃(V, V, V), (m, k, k, k), one for each row of `alphas` (m, k), from rows projected to V (d, k).

    V has orthonormal columns. P₃ = M₃ for order 3, whose `alphas` count but do not matter; M₄(·, ·, ·, Vα) for 4. An
    array (rows in a block, k²) holds the products of pairs of projections.

    >>> import jax.numpy as jnp
    >>> from planted.rows import ArrayRows
    >>> rows = ArrayRows(jnp.array([[2.0]]), jnp.ones(1))
    >>> projected_tensor(rows, 4, jnp.ones((1, 1)), jnp.ones((1, 1))).ravel()    # 2⁴ − 6·2² + 3
    Array([-5.], dtype=float32)
    """
    k = V.shape[1]
    eye = jnp.eye(k, dtype=V.dtype)

    def spread(vector: jax.Array) -> jax.Array:
        """Sym(v ⊗ I) of three terms."""
        first = jnp.einsum("i,jl->ijl", vector, eye)
        return first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0)

    cubes, vectors, second, mean = rows.mean(_Projection(order), V, alphas)
    tensors = cubes - jax.vmap(spread)(vectors)
    if order == 3:
        return tensors

    def fourth(tensor: jax.Array, alpha: jax.Array) -> jax.Array:
        first = jnp.einsum("i,jl->ijl", alpha, second)
        return tensor - first - first.transpose(1, 0, 2) - first.transpose(1, 2, 0) + mean * spread(alpha)

    return jax.vmap(fourth)(tensors, alphas)


@dataclass(frozen=True)
class _Contraction:
    """The sums over a block that :func:`contracted_matrix` is made of."""

    order: int

    def __call__(self, block: Block, alpha: jax.Array, V: jax.Array) -> tuple[jax.Array, ...]:
        x, y = block["x"], block["weight"] * block["y"]
        t, s = x @ alpha, x @ V
        high = y * t if self.order == 3 else y * t * t
        low = y if self.order == 3 else y * t
        return (x * high[:, None]).T @ s, jnp.sum(high), low @ s, low @ x, jnp.sum(y), (x * y[:, None]).T @ s


def block_unfolded(block: Block, V: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Σ y x ⊗ Vᵀx ⊗ Vᵀx, as a matrix, and Σ y x over a block."""
    x, y = block["x"], block["weight"] * block["y"]
    return (x * y[:, None]).T @ _pairs(x @ V), y @ x


def _pairs(s: jax.Array) -> jax.Array:
    return (s[:, :, None] * s[:, None, :]).reshape(len(s), -1)


@dataclass(frozen=True)
class _Projection:
    """The sums over a block that :func:`projected_tensor` is made of."""

    order: int

    def __call__(self, block: Block, V: jax.Array, alphas: jax.Array) -> tuple[jax.Array, ...]:
        y = block["weight"] * block["y"]
        s = block["x"] @ V
        k, pairs = s.shape[1], _pairs(s)

        def along(alpha: jax.Array) -> tuple[jax.Array, jax.Array]:
            high = y if self.order == 3 else y * (s @ alpha)
            return (pairs.T @ (s * high[:, None])).reshape(k, k, k), high @ s

        return (*jax.vmap(along)(alphas), (s * y[:, None]).T @ s, jnp.sum(y))
