r"""Sums over pairs of neurons of the fourth score moment, at the price of one forward pass.

Every class here is the objective

    Q(A) = E[y (Σ_{i,j} S₄(x)(a_i,a_i,a_j,a_j) − (1 + μ) Σ_i S₄(x)(a_i,a_i,a_i,a_i))],

which equals E[y (Σ_{i≠j} t₁(x,a_i,a_j) − μ Σ_i t₂(x,a_i))] of eq. 19 of Gao et al. (2018). With its pair sum
written in M = AᵀA, the gradient of Q at μ = −1 is 4 A 𝒮(AᵀA), where 𝒮(P) = E[y S₄(x)(·,·,P)]: one gradient
gives the contraction that the default μ and λ need.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.inputs import Gaussian, GaussianMixture, LocalLikelihood, ProductDensity
from planted.numerics.precision import to_jax
from planted.objectives._base import Objective, Params, RowObjective
from planted.objectives._landscape import lower_part, quartic_sum
from planted.rows import ArrayRows, Block
from planted.rows.moments import Moments, moments

LARGEST_TENSOR = 40


class MixturePairs(RowObjective):
    r"""Q for a mixture of Gaussians: S₄ = Σ_c r_c(x) S₄^{(c)}, so it is G's collapse once a component.

    With p_c = cov_c⁻¹(x − m_c), only (Σ_i s_i²)² and Σ_i s_i⁴, s = A p_c, need the rows; all else is quadratic
    in p_c and known from E[y r_c] and E[y r_c p_c p_cᵀ]. The targets in `rows` are y r_c(x), an array (n, c).
    A gradient costs O(rows × components × neurons × inputs).
    """

    _arrays = ("rows", "means", "precisions", "inverse_factors", "fits", "mu")

    rows: ArrayRows
    means: jax.Array
    precisions: jax.Array
    inverse_factors: jax.Array
    fits: list[Moments]
    mu: jax.Array

    @classmethod
    def of(cls, x: jax.Array, y: jax.Array, inputs: GaussianMixture) -> MixturePairs:
        """Q over rows x (n, d), y (n,), with μ = −1."""
        rows = ArrayRows(x, y[:, None] * inputs.posterior(x))
        identity = jnp.eye(x.shape[1])
        inverse = jax.vmap(lambda factor: jax.scipy.linalg.solve_triangular(factor, identity, lower=True))
        inverse_factors = inverse(jnp.asarray(inputs._factors))
        means = jnp.asarray(inputs.means)
        fits = [_whitened_moments(rows, c, means[c], inverse_factors[c]) for c in range(inputs.n_components)]
        precisions = jnp.einsum("cji,cjk->cik", inverse_factors, inverse_factors)
        return cls._build(
            rows=rows, means=means, precisions=precisions, inverse_factors=inverse_factors, fits=fits,
            mu=jnp.asarray(-1.0),
        )  # fmt: skip

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """The part quartic in x over a block."""
        total = jnp.zeros(())
        for c in range(self.means.shape[0]):
            one = {"x": block["x"] - self.means[c], "y": block["y"][:, c], "weight": block["weight"]}
            total = total + 2 * quartic_sum(params @ self.precisions[c], one, 12 * self.mu)
        return total

    def penalty(self, params: Params) -> jax.Array:
        """The part known from moments."""
        total = jnp.zeros(())
        for factor, fit in zip(self.inverse_factors, self.fits, strict=True):
            total = total + 2 * lower_part(params @ factor.T, fit, 12 * self.mu)
        return total


def _whitened_moments(rows: ArrayRows, component: int, mean: jax.Array, inverse_factor: jax.Array) -> Moments:
    """E[y r_c], E[y r_c z], E[y r_c zzᵀ] for z = L_c⁻¹(x − m_c)."""
    blocks = rows.blocks
    whitened = {"x": (blocks["x"] - mean) @ inverse_factor.T, "y": blocks["y"][..., component]}
    return moments(ArrayRows._build(blocks=blocks | whitened))


class ProductPairs(RowObjective):
    r"""Q for independent inputs, whose log density has diagonal derivatives g, ℓ₂, ℓ₃, ℓ₄ (n, d each).

    With s = A g, w = Aᵀs, T = Σ_i s_i², c_j = Σ_i A_ij²,

        Σ_{ij} S₄ = T² + 2T ℓ₂·c + 4 Σ_j ℓ₂ w_j² + (ℓ₂·c)² + 2‖A diag(ℓ₂) Aᵀ‖² + 4 Σ_j ℓ₃ w_j c_j + ℓ₄·c²,
        Σ_i S₄    = Σ_i s_i⁴ + 6 s_i² (ℓ₂·a_i²) + 3(ℓ₂·a_i²)² + 4 s_i (ℓ₃·a_i³) + ℓ₄·a_i⁴.

    All but the first three and first two terms are known from E[y ℓ₂ℓ₂ᵀ], E[y ℓ₃gᵀ] and E[y ℓ₄]. `rows` holds
    (g, ℓ₂) as an array (n, 2, d); a gradient costs three products rows × neurons × inputs each way.
    """

    _arrays = ("rows", "second", "mixed", "fourth", "mu")

    rows: ArrayRows
    second: jax.Array
    mixed: jax.Array
    fourth: jax.Array
    mu: jax.Array

    @classmethod
    def of(cls, x: jax.Array, y: jax.Array, inputs: ProductDensity) -> ProductPairs:
        """Q over rows x (n, d), y (n,), with μ = −1."""

        def block_moments(block: Block) -> tuple[jax.Array, jax.Array, jax.Array]:
            first, second, third, fourth = inputs.log_derivatives(block["x"])
            target = block["weight"] * block["y"]
            weighted = target[:, None] * second
            return weighted.T @ second, (target[:, None] * third).T @ first, target @ fourth

        second, mixed, fourth = ArrayRows(x, y).mean(block_moments)
        rows = ArrayRows(jnp.stack(inputs.log_derivatives(x)[:2], axis=1), y)
        return cls._build(rows=rows, second=second, mixed=mixed, fourth=fourth, mu=jnp.asarray(-1.0))

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """The part that moments do not give, over a block."""
        g, second = block["x"][:, 0], block["x"][:, 1]
        squares = params * params
        s = g @ params.T
        s2, w = s * s, s @ params
        total = jnp.sum(s2, axis=1)
        pairs = total * (total + 2 * second @ jnp.sum(squares, axis=0)) + 4 * jnp.sum(second * w * w, axis=1)
        singles = jnp.sum(s2 * (s2 + 6 * second @ squares.T), axis=1)
        return jnp.sum(block["weight"] * block["y"] * (pairs - (1 + self.mu) * singles))

    def penalty(self, params: Params) -> jax.Array:
        """The part known from moments."""
        gram, squares = params.T @ params, params * params
        c = jnp.diagonal(gram)
        pairs = (
            c @ self.second @ c
            + 2 * jnp.sum(self.second * gram * gram)
            + 4 * jnp.sum(c[:, None] * gram * self.mixed)
            + self.fourth @ (c * c)
        )
        singles = (
            3 * jnp.sum((squares @ self.second) * squares)
            + 4 * jnp.sum(((squares * params) @ self.mixed) * params)
            + jnp.sum(squares * squares @ self.fourth)
        )
        return pairs - (1 + self.mu) * singles


class PolynomialPairs(Objective):
    r"""Q of y as Q of what a polynomial q leaves of y, over rows, plus that of the constant tensor ∇⁴q."""

    _arrays = ("rest", "polynomial")

    rest: Any
    polynomial: TensorPairs

    @classmethod
    def of(cls, rest: Any, fourth: np.ndarray) -> PolynomialPairs:
        """From Q over the residuals of y and ∇⁴q (d, d, d, d), with μ = −1."""
        return cls._build(rest=rest, polynomial=TensorPairs._build(tensor=to_jax(fourth), mu=jnp.asarray(-1.0)))

    @property
    def mu(self) -> jax.Array:
        """μ of both parts."""
        value: jax.Array = self.rest.mu
        return value

    @mu.setter
    def mu(self, value: jax.Array) -> None:
        self.rest.mu = self.polynomial.mu = value

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.polynomial.n_features

    def traced_value(self, params: Params) -> jax.Array:
        """The sum of both."""
        return self.rest.traced_value(params) + self.polynomial.traced_value(params)

    def traced_value_and_gradient(self, params: Params) -> tuple[jax.Array, Params]:
        """The rows' part block by block."""
        value, gradient = self.rest.traced_value_and_gradient(params)
        other, slope = self.polynomial.traced_value_and_gradient(params)
        return value + other, gradient + slope

    def traced_hvp(self, params: Params, direction: Params) -> Params:
        """The rows' part block by block."""
        return self.rest.traced_hvp(params, direction) + self.polynomial.traced_hvp(params, direction)


class TensorPairs(Objective):
    r"""Q from the average tensor E[y S₄(x)] (d, d, d, d), for densities without a cheaper form.

    The tensor is an average over rows, taken once; afterwards Q costs O(k d⁴) whatever the number of rows. It
    is kept because local likelihood and user-written densities have a full d × d matrix or more a row, so that
    any sum over rows costs at least O(n k d²) a gradient. At most 40 inputs (20 MB).
    """

    _arrays = ("tensor", "mu")

    tensor: jax.Array
    mu: jax.Array

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, inputs: Any, fourth: np.ndarray | None = None) -> TensorPairs:
        """Q over rows X (n, d), y (n,), with μ = −1; `fourth` (d, d, d, d) is added to the tensor."""
        if X.shape[1] > LARGEST_TENSOR:
            raise ValueError(
                f"{type(inputs).__name__} needs a tensor of d⁴ entries, which is too much for {X.shape[1]} inputs; "
                f"use at most {LARGEST_TENSOR}, or a Gaussian, mixture or product density"
            )
        tensor = inputs.mean_score(query_points(X, inputs), y, 4)
        whole = tensor if fourth is None else tensor + fourth
        return cls._build(tensor=to_jax(whole), mu=jnp.asarray(-1.0))

    @classmethod
    def absolute(
        cls, X: np.ndarray, y: np.ndarray, inputs: Any, basis: np.ndarray, fourth: np.ndarray | None = None
    ) -> TensorPairs:
        """The same for |M|, the unfolding M (k², k²) of the tensor in coordinates where the teacher is orthonormal.

        `basis` is W (d, k) with orthonormal o_i = Wᵀ√τ_i a*_i. The k largest eigenvalues of M are κ*_i/τ_i², with
        eigenvectors o_i ⊗ o_i, so that |M| = Σ_i |κ*_i|/τ_i² (o_i o_iᵀ) ⊗ (o_i o_iᵀ) whatever the signs; W† takes
        it back. For orthonormal a*_i, W = I and τ_i = 1.
        """
        single, k = cls.of(X, y, inputs, fourth), basis.shape[1]
        values, vectors = np.linalg.eigh(_in_frame(np.asarray(single.tensor), basis).reshape(k * k, k * k))
        leading = np.argsort(-np.abs(values))[:k]
        matrix = (vectors[:, leading] * np.abs(values[leading])) @ vectors[:, leading].T
        tensor = _in_frame(matrix.reshape(k, k, k, k), np.linalg.pinv(basis))
        return cls._build(tensor=to_jax(tensor), mu=single.mu)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.tensor.shape[0]

    def traced_value(self, params: Params) -> jax.Array:
        """Σ_ij G_ij − (1 + μ) tr G with G_ij = E[y S₄(a_i,a_i,a_j,a_j)]."""
        k, d = params.shape
        outer = (params[:, :, None] * params[:, None, :]).reshape(k, d * d)
        each = outer @ self.tensor.reshape(d * d, d * d)
        return jnp.sum(jnp.sum(each, axis=0) * jnp.sum(outer, axis=0)) - (1 + self.mu) * jnp.sum(each * outer)


def _in_frame(tensor: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """T(W, W, W, W), an array (k, k, k, k), from T (d, d, d, d) and W (d, k).

    >>> float(_in_frame(np.ones((2, 2, 2, 2)), np.ones((2, 1)))[0, 0, 0, 0])
    16.0
    """
    for _ in range(4):
        tensor = np.tensordot(tensor, basis, axes=(0, 0))
    return tensor


def query_points(X: np.ndarray, inputs: Any) -> np.ndarray | None:
    """Where scores are wanted: None, for leave-one-out, if a local likelihood was fitted to these very rows.

    >>> query_points(np.eye(2), Gaussian(np.zeros(2))).shape
    (2, 2)
    """
    return None if isinstance(inputs, LocalLikelihood) and inputs.knows(X) else X


def pairs_for(X: np.ndarray, y: np.ndarray, inputs: Any, fourth: np.ndarray | None = None) -> Any:
    """Q in the cheapest form that the density allows (call under float64); `fourth` is ∇⁴q of what was taken off y.

    >>> from planted.numerics.precision import float64
    >>> Q = float64(pairs_for)(np.array([[2.0]]), np.ones(1), Gaussian([0.0]))
    >>> Q.value(np.array([[1.0]]))          # x⁴ − 6x² + 3
    -5.0
    """
    if not isinstance(inputs, Gaussian | GaussianMixture | ProductDensity):
        return TensorPairs.of(X, y, inputs, fourth)
    rest = row_pairs(to_jax(X), to_jax(y), inputs)
    return rest if fourth is None else PolynomialPairs.of(rest, fourth)


def row_pairs(x: jax.Array, y: jax.Array, inputs: Any) -> MixturePairs | ProductPairs:
    """Q over rows x (n, d), y (n,) of a Gaussian, a mixture or a product density, traceable.

    >>> row_pairs(jnp.ones((1, 1)), jnp.ones(1), Gaussian([0.0])).n_features
    1
    """
    if isinstance(inputs, Gaussian):
        inputs = GaussianMixture([1.0], inputs.mean[None], inputs.cov[None])
    if isinstance(inputs, GaussianMixture):
        return MixturePairs.of(x, y, inputs)
    if isinstance(inputs, ProductDensity):
        return ProductPairs.of(x, y, inputs)
    raise ValueError(f"{type(inputs).__name__} inputs have no loss over rows: use a Gaussian, a mixture or a product")
