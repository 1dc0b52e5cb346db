r"""The loss G, whose local minima all recover an orthogonal network (Ge et al. 2017, eq. 2.8).

    G(B) = s E[y Σ_{j≠k} ϕ(b_j, b_k, x)] − μ s E[y Σ_j φ(b_j, x)] + λ Σ_j (‖b_j‖² − 1)²,   s = sign(σ̂₄)

    φ(v, x)    = ⅛‖v‖⁴ − ¼(v·x)²‖v‖² + (v·x)⁴/24
    ϕ(v, w, x) = ½‖v‖²‖w‖² + ⟨v,w⟩² − ½‖w‖²(v·x)² − ½‖v‖²(w·x)² − 2(v·x)(w·x)⟨v,w⟩ + ½(v·x)²(w·x)²

Sums over pairs collapse. ϕ(v, v, x) = 12 φ(v, x), so Σ_{j≠k} ϕ − μ Σ φ = Σ_{j,k} ϕ − (12 + μ) Σ φ; with
s = Bx every term but ½(Σ s_j²)² and Σ s_j⁴/24 is at most quadratic in x, and its average needs only E[y] and
E[y xxᵀ]. A gradient therefore costs two products (rows × neurons × inputs), as for the squared loss.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_rows
from planted.objectives._base import Params, PopulationObjective, RowObjective
from planted.objectives._pair_form import SMALL, Constants, PairForm
from planted.objectives._squared import check_teacher
from planted.rows import ArrayRows, Block, over_rows
from planted.rows.moments import Moments, fourth_contraction, moments, without_lower_parts

_LEAST_RATIO = 0.05


class AssumptionError(ValueError):
    """The data contradict what the loss's theorem assumes of the teacher.

    >>> isinstance(AssumptionError("outputs of both signs"), ValueError)
    True
    """


def fourth_coefficient(activation: Activation) -> float:
    """σ̂₄, or a ValueError where it vanishes and no fourth-order method can see the weights.

    >>> fourth_coefficient(activations.get("tanh"))
    Traceback (most recent call last):
    ValueError: the 4th Hermite coefficient of tanh is zero, so a fourth-order loss cannot see the weights...
    """
    fourth = activation.hermite(4)
    if abs(fourth) < 1e-12:
        raise ValueError(
            f"the 4th Hermite coefficient of {activation.name} is zero, so a fourth-order loss cannot see the "
            "weights; use method='squared'"
        )
    return fourth


def constants(
    fourth: float, largest: float, smallest: float, mu: float | None, lam: float | None, exact: bool = False
) -> Constants:
    """μ = 12c/κ* and λ = 4√6|σ̂₄| a_max unless given.

    Theorem 5.1 asks for μ β_max ≤ c α_min and λ ≥ 4 max(μ β_max, α_max), where G has
    α = √6|σ̂₄|a* and β = |σ̂₄|a*/(2√6), hence α/β = 12. Estimated outputs are noisy, so that the default μ takes κ* to
    be at most 20; `exact` outputs are a teacher's own.

    >>> constants(0.1, 2.0, 1.0, None, None).mu
    0.06
    >>> estimated = constants(0.1, 200.0, 1.0, None, None)
    >>> estimated.mu, estimated.largest_mu, constants(0.1, 200.0, 1.0, None, None, exact=True).mu
    (0.006, 0.0006, 0.0006)
    """
    if largest <= 0:
        raise AssumptionError(
            "the estimated output weights are not positive, so μ and λ do not follow from the theorem"
        )
    for name, value in (("mu", mu), ("lam", lam)):
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a non-negative number, not {value!r}")
    ratio = smallest / largest
    allowed = 12 * SMALL * max(ratio, 0.0)
    chosen = allowed if exact and ratio > 0 else 12 * SMALL * max(ratio, _LEAST_RATIO)
    chosen = float(chosen if mu is None else mu)
    smallest_lam = float(4 * 6**0.5 * abs(fourth) * largest * max(1.0, chosen / 12))
    return Constants(
        mu=chosen,
        lam=smallest_lam if lam is None else float(lam),
        largest_output=float(largest),
        smallest_output=float(smallest),
        largest_mu=float(allowed),
        smallest_lam=smallest_lam,
    )


def quartic_sum(B: jax.Array, block: Block, mu: jax.Array) -> jax.Array:
    """Σ_rows weight·y·(½(Σ_j s_j²)² − (12 + μ) Σ_j s_j⁴/24), the part of the pair sums that is quartic in x.

    >>> block = {"x": jnp.ones((1, 1)), "y": jnp.ones(1), "weight": jnp.ones(1)}
    >>> quartic_sum(jnp.ones((1, 1)), block, 0.0)
    Array(0., dtype=float32)
    """
    s = block["x"] @ B.T
    s2 = s * s
    pairs = jnp.sum(s2, axis=1)
    row = 0.5 * pairs * pairs - (12 + mu) / 24 * jnp.sum(s2 * s2, axis=1)
    return jnp.sum(block["weight"] * block["y"] * row)


def lower_part(B: jax.Array, fit: Moments, mu: jax.Array) -> jax.Array:
    """What is left of the pair sums once :func:`quartic_sum` is taken out: it needs E[y] and E[y xxᵀ] only.

    >>> fit = Moments(jnp.array(1.0), jnp.zeros(1), jnp.zeros((1, 1)))
    >>> lower_part(jnp.ones((1, 1)), fit, 0.0)
    Array(0., dtype=float32)
    """
    gram, cross = B @ B.T, B @ fit.second @ B.T
    square, q = jnp.diagonal(gram), jnp.diagonal(cross)
    total = jnp.sum(square)
    pairs = fit.zeroth * (0.5 * total**2 + jnp.sum(gram * gram)) - total * jnp.sum(q) - 2 * jnp.sum(gram * cross)
    singles = fit.zeroth * jnp.sum(square * square) / 8 - jnp.sum(square * q) / 4
    return pairs - (12 + mu) * singles


class Landscape(RowObjective):
    """The empirical loss G over weights B (k, d), for teachers with orthonormal rows and positive outputs.

    Parameters
    ----------
    X : array (n, d)
        Standard Gaussian rows.
    y : array (n,)
    activation : str, Activation or callable
        With σ̂₄ ≠ 0.
    mu, lam : float, optional
        μ and λ. By default as Theorem 5.1 asks, from estimates of the teacher's outputs; `constants` holds
        both.
    n_hidden : int, optional
        Number of teacher neurons, used for the default μ; d if omitted.
    variance_reduction : bool
        Subtract from y its fitted constant, linear and quadratic Hermite parts first: the expectation stays,
        the variance falls.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 3, 3, random_state=0)
    >>> G = Landscape(data.X, data.y, "relu")
    >>> bool(G.value(data.teacher.weights) < G.value(np.ones((3, 3)) / 3**0.5))
    True
    """

    _arrays = ("rows", "fit", "sign", "mu", "lam")

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        mu: float | None = None,
        lam: float | None = None,
        *,
        n_hidden: int | None = None,
        variance_reduction: bool = True,
    ) -> None:
        inputs, targets = as_rows(X, y)
        fourth = fourth_coefficient(activations.get(activation))
        rows = ArrayRows(to_jax(inputs), to_jax(targets))
        if variance_reduction:
            rows, _ = _without_lower_parts(rows)
        self.rows = rows
        self.fit = _moments(rows)
        self.constants = self._defaults(fourth, mu, lam, n_hidden or inputs.shape[1])
        self.sign = to_jax(np.sign(fourth))
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)

    def _defaults(self, fourth: float, mu: float | None, lam: float | None, k: int) -> Constants:
        """Eigenvalues of E[y H₄(I)] / (√24 σ̂₄) = Σ a*_i b*_i b*_iᵀ are the outputs when rows are orthonormal."""
        contraction = _fourth_contraction(self.rows, jnp.eye(self.n_features), self.fit)
        outputs = np.linalg.eigvalsh(np.asarray(contraction)) / (24**0.5 * fourth)
        outputs = np.sort(outputs)[::-1]
        return constants(fourth, outputs[0], outputs[min(k, len(outputs)) - 1], mu, lam)

    @classmethod
    def on(cls, rows: ArrayRows, activation: Activation, mu: float, lam: float, iterations: int = 8) -> Landscape:
        """The same over given rows, traceable and unchecked, with μ and λ given.

        `iterations` of :func:`fit_quadratic` reduce the variance; zero leaves the targets as they are.
        """
        if iterations:
            rows, _ = without_lower_parts(rows, iterations)
        dtype = rows.blocks["x"].dtype
        return cls._build(
            rows=rows,
            fit=moments(rows),
            sign=jnp.asarray(np.sign(fourth_coefficient(activation)), dtype),
            mu=jnp.asarray(mu, dtype),
            lam=jnp.asarray(lam, dtype),
        )

    def pair_form(self) -> Any:
        """That of Theorem 2.3, with estimated outputs; None for given constants without such estimates."""
        if self.constants is None:
            return None
        return PairForm.of("G", self.constants, 1 / 12, np.eye(self.n_features))

    @float64
    def on_parts(self, count: int) -> list[Landscape] | None:
        """G on disjoint parts of its rows; None if they are not in memory."""
        pieces = row_parts(self.rows, count)
        if pieces is None:
            return None
        return [
            Landscape._build(rows=rows, fit=_moments(rows), sign=self.sign, mu=self.mu, lam=self.lam) for rows in pieces
        ]

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """The quartic part over a block."""
        return self.sign * quartic_sum(params, block, self.mu)

    def penalty(self, params: Params) -> jax.Array:
        """The part known from E[y] and E[y xxᵀ], and λ Σ (‖b_j‖² − 1)²."""
        excess = jnp.sum(params * params, axis=1) - 1
        return self.sign * lower_part(params, self.fit, self.mu) + self.lam * jnp.sum(excess * excess)


def row_parts(rows: Any, count: int) -> list[ArrayRows] | None:
    """Every `count`-th row of rows in memory, from the first, the second, …: disjoint parts; None if not in memory.

    >>> len(row_parts(ArrayRows(jnp.ones((10, 2)), jnp.ones(10)), 2))
    2
    """
    whole = rows.in_memory()
    if whole is None:
        return None
    live = whole["weight"] > 0
    x, y, weight = (whole[name][live] for name in ("x", "y", "weight"))
    # Rows of weight w count as w rows: y carries it, as every average is linear in y.
    y = y * (weight / weight.mean()).reshape(-1, *(1,) * (y.ndim - 1))
    return [ArrayRows(to_jax(x[i::count]), to_jax(y[i::count])) for i in range(count)]


_moments = over_rows(moments)
_fourth_contraction = over_rows(fourth_contraction)
_without_lower_parts = over_rows(without_lower_parts, static_argnums=(1,))


def teacher_tensor(teacher: Network, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions (k, d) and coefficients a*_i E[φ(‖b*_i‖z) h_order(z)] (k,) of the teacher's Hermite tensor.

    >>> teacher_tensor(Network(2 * np.eye(2), np.ones(2), "quadratic"), 2)[1].round(9)
    array([5.65685425, 5.65685425])
    """
    check_teacher(teacher)
    norms = np.linalg.norm(teacher.weights, axis=1)
    if np.any(norms == 0):
        raise ValueError("the teacher has a zero row")
    scaled = [a * teacher.activation.hermite(order, s) for a, s in zip(teacher.output, norms, strict=True)]
    return teacher.weights / norms[:, None], np.array(scaled)


def tensor_pairs(B: jax.Array, directions: jax.Array, weights: jax.Array, mu: jax.Array) -> jax.Array:
    """√6 Σ_i w_i Σ_{j≠k} ⟨u_i,b_j⟩²⟨u_i,b_k⟩² − μ/(2√6) Σ_i w_i Σ_j ⟨u_i,b_j⟩⁴ for w_i = a*_i σ̂₄.

    The constants follow from E[H₄(u·x) φ(v,x)] = ⟨u,v⟩⁴ and h₄ = H₄/√24.

    >>> tensor_pairs(jnp.eye(2), jnp.eye(2), jnp.ones(2), 0.0)
    Array(0., dtype=float32)
    """
    p2 = (directions @ B.T) ** 2
    fourth = jnp.sum(p2 * p2, axis=1)
    return 6**0.5 * weights @ (jnp.sum(p2, axis=1) ** 2 - fourth) - mu / (2 * 6**0.5) * weights @ fourth


def orthonormal(rows: np.ndarray) -> bool:
    """Whether rows (k, d) are an orthonormal basis.

    >>> orthonormal(np.eye(2)), orthonormal(np.eye(2)[:1])
    (True, False)
    """
    return rows.shape[0] == rows.shape[1] and bool(np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-9))


def landscape_minimum(alpha: np.ndarray, mu: float, lam: float) -> float | None:
    """The least value of G_{α,β,μ} with β = α/12, or None where Theorem 5.1 of Ge et al. (2017) does not apply.

    Its minima are signed permutations with squared norms D² = 1/(1 − μβ_i/λ).

    >>> landscape_minimum(np.ones(2), 0.0, 4.0)
    0.0
    >>> landscape_minimum(np.ones(2), 1.0, 4.0) is None
    True
    """
    beta = alpha / 12
    if np.any(alpha <= 0):
        return None
    slack = 1 + 1e-9
    small = mu * beta.max() <= SMALL * alpha.min() * slack
    large = lam * slack >= 4 * max(mu * beta.max(), alpha.max())
    if not (small and large):
        return None
    square = 1 / (1 - mu * beta / lam)
    return float(np.sum(-mu * beta * square**2 + lam * (square - 1) ** 2))


class PopulationLandscape(PopulationObjective):
    """Expectation of :class:`Landscape` under x ~ N(0, I) and y from a teacher (Theorem 2.6, corrected).

    G(B) = √6|σ̂₄| Σ_i a*_i Σ_{j≠k} ⟨b*_i,b_j⟩²⟨b*_i,b_k⟩² − μ|σ̂₄|/(2√6) Σ_ij a*_i ⟨b*_i,b_j⟩⁴ + λ Σ_j (‖b_j‖² − 1)²

    Parameters
    ----------
    teacher : Network
    mu, lam : float, optional
        As in :class:`Landscape`, from the teacher's own outputs.

    Examples
    --------
    >>> G = PopulationLandscape(Network(np.eye(3), np.ones(3)))
    >>> bool(np.linalg.norm(G.gradient(np.eye(3))) < 0.02)
    True
    """

    _arrays = ("directions", "weights", "mu", "lam")

    @float64
    def __init__(self, teacher: Network, mu: float | None = None, lam: float | None = None) -> None:
        fourth = fourth_coefficient(teacher.activation)
        directions, weights = teacher_tensor(teacher, 4)
        outputs = weights / fourth
        self.constants = constants(fourth, outputs.max(), outputs.min(), mu, lam, exact=True)
        self.directions = to_jax(directions)
        self.weights = to_jax(np.sign(fourth) * weights)
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)

    def pair_form(self) -> Any:
        """That of Theorem 2.3, for an orthonormal teacher of as many neurons as inputs."""
        if not orthonormal(np.asarray(self.directions)):
            return None
        return PairForm.of("G", self.constants, 1 / 12, np.eye(self.n_features))

    def known_minimum(self) -> tuple[float, str] | None:
        """That of Theorem 2.3, for an orthonormal teacher."""
        rows, weights = np.asarray(self.directions), np.asarray(self.weights)
        if not orthonormal(rows):
            return None
        least = landscape_minimum(6**0.5 * weights, float(self.mu), float(self.lam))
        return None if least is None else (least, "every local minimum of G is global (Theorem 2.3 of Ge et al. 2017)")

    def traced_value(self, params: Params) -> jax.Array:
        """G at weights (k, d)."""
        excess = jnp.sum(params * params, axis=1) - 1
        pairs = tensor_pairs(params, self.directions, self.weights, self.mu)
        return pairs + self.lam * jnp.sum(excess * excess)
