r"""F from two independent samples, as eq. A.1 of Ge et al. (2017) means it: unbiased, and traceable on fresh rows.

    F(B) = s E[y Σ_{j≠k} ϕ(b_j, b_k, x)] − μ s E[y Σ_j φ(b_j, x)] + λ Σ_j (b_jᵀ T₁ b_j − 1)(b_jᵀ T₂ b_j − 1)

With one T in both places, as in :class:`FullRankLandscape`, the norm term is too large by λ times the variance of bᵀTb;
with T₁ and T₂ from different rows it has the right mean.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_rows
from planted.objectives._base import Params, RowObjective
from planted.objectives._full_rank import second_coefficient
from planted.objectives._landscape import fourth_coefficient, lower_part, quartic_sum
from planted.rows import ArrayRows, Block
from planted.rows.moments import Moments, moments


class TwoSampleFullRankLandscape(RowObjective):
    """The unbiased empirical loss F over B (k, d): rows of even and of odd place give the two factors of its norm term.

    Parameters
    ----------
    X : array (n, d)
        Standard Gaussian rows, independent of each other.
    y : array (n,)
    activation : str, Activation or callable
        With σ̂₂ ≠ 0 and σ̂₄ ≠ 0.
    mu, lam : float
        Given: estimates from the same rows would bring a bias back.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 2, 2, random_state=0)
    >>> F = TwoSampleFullRankLandscape(data.X, data.y, mu=0.1, lam=1.0)
    >>> bool(F.value(data.teacher.weights) < F.value(np.ones((2, 2)) / 2**0.5))
    True
    """

    _arrays = ("rows", "fit", "first", "second", "sign", "mu", "lam")

    fit: Moments
    first: jax.Array
    second: jax.Array
    sign: jax.Array
    mu: jax.Array
    lam: jax.Array

    @float64
    def __init__(self, X: ArrayLike, y: ArrayLike, activation: Any = "relu", *, mu: float, lam: float) -> None:
        for name, value in (("mu", mu), ("lam", lam)):
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a non-negative number, not {value!r}")
        inputs, targets = as_rows(X, y)
        if len(inputs) < 2:
            raise ValueError("two samples need at least two rows")
        made = self.on(ArrayRows(to_jax(inputs), to_jax(targets)), activations.get(activation), mu, lam)
        self.__dict__.update(made.__dict__)

    @classmethod
    def on(cls, rows: ArrayRows, activation: Activation, mu: float, lam: float) -> TwoSampleFullRankLandscape:
        """The same over given rows, traceable and unchecked, such as fresh ones at every step of a descent."""
        dtype, weight = rows.blocks["x"].dtype, rows.blocks["weight"]
        even = (jnp.arange(weight.shape[1]) % 2 == 0).astype(weight.dtype)
        scale = 2**0.5 * second_coefficient(activation)
        halves = [ArrayRows._build(blocks=rows.blocks | {"weight": weight * part}) for part in (even, 1 - even)]
        first, second = (_centred(moments(half)) / scale for half in halves)
        return cls._build(
            rows=rows, fit=moments(rows), first=first, second=second,
            sign=jnp.asarray(np.sign(fourth_coefficient(activation)), dtype),
            mu=jnp.asarray(mu, dtype), lam=jnp.asarray(lam, dtype),
        )  # fmt: skip

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """The quartic part over a block."""
        return self.sign * quartic_sum(params, block, self.mu)

    def penalty(self, params: Params) -> jax.Array:
        """The part known from moments, and the norm term."""
        one, other = (jnp.sum((params @ T) * params, axis=1) - 1 for T in (self.first, self.second))
        return self.sign * lower_part(params, self.fit, self.mu) + self.lam * jnp.sum(one * other)


def _centred(fit: Moments) -> jax.Array:
    """E[y (xxᵀ − I)]."""
    return fit.second - fit.zeroth * jnp.eye(fit.second.shape[0], dtype=fit.second.dtype)
