r"""The loss F for any full-rank weights, and its ℓ2-regularised form (Ge et al. 2017, appendices A.2 and A.3).

F replaces the norm ‖b_j‖ in G by the norm that the teacher itself defines,

    F(B) = s E[y Σ_{j≠k} ϕ(b_j, b_k, x)] − μ s E[y Σ_j φ(b_j, x)] + λ Σ_j (b_jᵀ T b_j − 1)² + δ/2 ‖B‖²_F,

    T = Σ_i a*_i b*_i b*_iᵀ = E[y (xxᵀ − I)] / (√2 σ̂₂), estimated by a least-squares quadratic fit.

In coordinates that whiten T, F is G for the orthonormal vectors o_i = T^{-1/2} √a*_i b*_i and outputs 1/a*_i, so
the rows of B^{-T} at a minimum are ±√a*_i b*_i up to a factor near one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Objective, Params, RowObjective
from planted.objectives._landscape import (
    SMALL,
    AssumptionError,
    Constants,
    _fourth_contraction,
    _moments,
    _without_lower_parts,
    constants,
    fourth_coefficient,
    landscape_minimum,
    lower_part,
    quartic_sum,
    teacher_tensor,
    tensor_pairs,
)
from planted.rows import ArrayRows, Block, Rows


def second_coefficient(activation: Activation) -> float:
    """σ̂₂, or a ValueError where it vanishes and T cannot be estimated.

    >>> round(second_coefficient(activations.get("quadratic")), 12)
    1.414213562373
    """
    second = activation.hermite(2)
    if abs(second) < 1e-12:
        raise ValueError(f"the 2nd Hermite coefficient of {activation.name} is zero, so F is not defined")
    return second


def read_off(B: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Unit weights (k, d) and outputs (k,) from a minimiser B (k, d) of F, through the pseudo-inverse.

    The rows of (B†)ᵀ are ±√a*_i b*_i (Theorems A.4 and A.5); their signs are not determined by F.

    >>> weights, output = read_off(np.diag([1.0, 0.5]))
    >>> output
    array([1., 4.])
    """
    rows = np.linalg.pinv(np.asarray(B, dtype=np.float64)).T
    norms = np.linalg.norm(rows, axis=1)
    return rows / norms[:, None], norms**2


def _outputs_from(whitened: np.ndarray) -> tuple[float, float]:
    """Largest and smallest output weight, from the eigenvalues 1/a*_i."""
    inverse = np.sort(np.linalg.eigvalsh(whitened))
    if inverse[-1] <= 0:
        raise AssumptionError(
            "the estimated output weights are not positive, so μ and λ do not follow from the theorem"
        )
    return 1 / max(inverse[0], 0.05 * inverse[-1]), 1 / inverse[-1]


def full_rank_constants(
    fourth: float, largest: float, smallest: float, mu: float | None, lam: float | None, delta: float | None,
    T: np.ndarray, k: int, accuracy: float = 0.1,
) -> Constants:  # fmt: skip
    """μ and λ for outputs 1/a*_i, and δ by Theorem A.5 for the given accuracy where it is None.

    >>> full_rank_constants(0.1, 2.0, 1.0, None, None, 0.0, np.eye(2), 2).mu
    0.06
    """
    base = constants(fourth, 1 / smallest, 1 / largest, mu, lam)
    if delta is None:
        spectrum = np.sort(np.linalg.eigvalsh(T))[::-1][:k]
        d = len(T)
        kappa = spectrum[0] / spectrum[-1]
        curvature = SMALL * min(base.mu * smallest / (largest**2 * d), base.lam) * spectrum[-1]
        delta = min(SMALL * abs(fourth) * accuracy / (largest * k * d**0.5 * kappa**0.5), curvature / 2)
    if not (np.isfinite(delta) and delta >= 0):
        raise ValueError(f"delta must be a non-negative number, not {delta!r}")
    return Constants(
        base.mu, base.lam, float(largest), float(smallest), float(delta), base.largest_mu, base.smallest_lam
    )


class FullRankLandscape(RowObjective):
    """The empirical loss F over B (k, d), for any full-rank teacher with positive outputs.

    Parameters
    ----------
    X : array (n, d)
        Standard Gaussian rows.
    y : array (n,)
    activation : str, Activation or callable
        With σ̂₂ ≠ 0 and σ̂₄ ≠ 0.
    mu, lam : float, optional
        By default from estimates of the outputs: with P = T⁺ the eigenvalues of E[y H₄(P)] in coordinates
        that whiten T are 1/a*_i.
    delta : float or None
        Weight of the ℓ2 term; None takes the value of Theorem A.5.
    n_hidden : int, optional
        Number of teacher neurons, d if omitted.
    variance_reduction : bool
        As in :class:`planted.objectives.Landscape`.
    subspace : array (d, m), optional
        Orthonormal columns that span the neurons; B is then (k, m) and acts on the coordinates X @ subspace.
    baseline : Network, optional
        A first guess f̂ of the network, used as a control variate: averages of y are taken as averages of
        y − f̂(x) plus the exact expectation of f̂(x). The expectation of F stays; the nearer the guess, the
        smaller its variance.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(50_000, 3, 3, weights="correlated", output="positive", random_state=0)
    >>> F = FullRankLandscape(data.X, data.y, "relu")
    >>> good = np.linalg.inv(np.sqrt(data.teacher.output)[:, None] * data.teacher.weights).T
    >>> bool(F.value(good) < F.value(np.eye(3)))
    True
    """

    _arrays = ("rows", "fit", "T", "sign", "mu", "lam", "delta", "directions", "weights")

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        mu: float | None = None,
        lam: float | None = None,
        delta: float | None = 0.0,
        *,
        n_hidden: int | None = None,
        variance_reduction: bool = True,
        subspace: ArrayLike | None = None,
        baseline: Network | None = None,
    ) -> None:
        inputs, targets = as_rows(X, y)
        rows = ArrayRows(to_jax(inputs), to_jax(targets))
        self._prepare(rows, activation, mu, lam, delta, n_hidden, variance_reduction, subspace, baseline)

    @classmethod
    @float64
    def over(
        cls,
        rows: Rows,
        activation: Any,
        mu: float | None = None,
        lam: float | None = None,
        *,
        n_hidden: int | None = None,
        subspace: ArrayLike | None = None,
        baseline: Network | None = None,
    ) -> FullRankLandscape:
        """The same over given rows, wherever they are."""
        self = object.__new__(cls)
        self._prepare(rows, activation, mu, lam, 0.0, n_hidden, True, subspace, baseline)
        return self

    def _prepare(
        self,
        rows: Rows,
        activation: Any,
        mu: float | None,
        lam: float | None,
        delta: float | None,
        n_hidden: int | None,
        variance_reduction: bool,
        subspace: ArrayLike | None,
        baseline: Network | None,
    ) -> None:
        act = activations.get(activation)
        fourth, second = fourth_coefficient(act), second_coefficient(act)
        basis = np.eye(rows.n_features) if subspace is None else as_matrix("subspace", subspace)
        m = basis.shape[1]
        directions, weights, T = np.zeros((0, m)), np.zeros(0), np.zeros((m, m))
        if baseline is not None:
            known = baseline.bias is None and not baseline.intercept
            assert known, "a control variate has neither biases nor an intercept"
            rows = _mapped(rows, _WithoutBaseline(baseline.activation), baseline.weights, baseline.output)
            directions, weights = teacher_tensor(baseline, 4)
            directions = directions @ basis
            T = (directions.T * (teacher_tensor(baseline, 2)[1] / second)) @ directions
        if subspace is not None:
            rows = rows.map(block_projected, to_jax(basis), shape=(m,))
        self.directions, self.weights = to_jax(directions), to_jax(np.sign(fourth) * weights)
        reduced, fit = _without_lower_parts(rows)
        self.T = fit.quadratic / (2**0.5 * second) + to_jax(T)
        self.rows = reduced if variance_reduction else rows
        self.fit = _moments(self.rows)
        self.constants = self._defaults(fourth, mu, lam, delta, min(n_hidden or m, m))
        self.sign = to_jax(np.sign(fourth))
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)
        self.delta = to_jax(self.constants.delta)

    def _defaults(self, fourth: float, mu: float | None, lam: float | None, delta: float | None, k: int) -> Constants:
        T = np.asarray(self.T)
        W = whitening(T, k)
        contraction = np.asarray(_fourth_contraction(self.rows, to_jax(W @ W.T), self.fit))
        guess, weights = np.asarray(self.directions), np.asarray(self.weights) * np.sign(fourth)
        contraction = contraction + 24**0.5 * (guess.T * (weights * np.sum((guess @ W) ** 2, axis=1))) @ guess
        largest, smallest = _outputs_from(W.T @ contraction @ W / (24**0.5 * fourth))
        return full_rank_constants(fourth, largest, smallest, mu, lam, delta, T, k)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """The quartic part over a block."""
        return self.sign * quartic_sum(params, block, self.mu)

    def penalty(self, params: Params) -> jax.Array:
        """The part known from moments, the baseline's, λ Σ (b_jᵀTb_j − 1)² and δ/2 ‖B‖²."""
        known = tensor_pairs(params, self.directions, self.weights, self.mu)
        moments = self.sign * lower_part(params, self.fit, self.mu)
        return moments + known + _norms(params, self.T, self.lam, self.delta)


@dataclass(frozen=True)
class _WithoutBaseline:
    """Takes a network's output off the targets of a block."""

    activation: Activation

    def __call__(self, block: Block, weights: jax.Array, output: jax.Array) -> Block:
        return block | {"y": block["y"] - self.activation(block["x"] @ weights.T) @ output}


def block_projected(block: Block, basis: jax.Array) -> Block:
    """The block in coordinates x @ basis."""
    return block | {"x": block["x"] @ basis}


def _mapped(rows: Rows, function: Any, *args: Any) -> Rows:
    return rows.map(function, *(to_jax(arg) for arg in args))


def whitening(T: np.ndarray, k: int) -> np.ndarray:
    """W (d, k) with WᵀTW = I on the span of T's k leading eigenvectors.

    >>> whitening(np.diag([4.0, 1.0, 0.0]), 2)
    array([[0.5, 0. ],
           [0. , 1. ],
           [0. , 0. ]])
    """
    values, vectors = np.linalg.eigh(T)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    if values[-1] <= 0:
        raise AssumptionError(
            f"the second Hermite moment has fewer than {k} positive eigenvalues: the outputs are not all positive, "
            "or there are fewer neurons, or too few rows"
        )
    vectors = vectors * np.where(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(k)] < 0, -1.0, 1.0)
    return vectors / np.sqrt(values)


def _norms(B: jax.Array, T: jax.Array, lam: jax.Array, delta: jax.Array) -> jax.Array:
    excess = jnp.sum((B @ T) * B, axis=1) - 1
    return lam * jnp.sum(excess * excess) + delta / 2 * jnp.sum(B * B)


class PopulationFullRankLandscape(Objective):
    """Expectation of :class:`FullRankLandscape` under x ~ N(0, I) and y from a teacher.

    Examples
    --------
    >>> teacher = Network([[1.0, 0.0], [0.6, 0.8]], [1.0, 2.0])
    >>> F = PopulationFullRankLandscape(teacher)
    >>> B = np.linalg.inv(np.sqrt(teacher.output)[:, None] * teacher.weights).T
    >>> bool(np.linalg.norm(F.gradient(B)) < 0.02)
    True
    """

    _arrays = ("directions", "weights", "T", "mu", "lam", "delta")

    @float64
    def __init__(
        self, teacher: Network, mu: float | None = None, lam: float | None = None, delta: float | None = 0.0
    ) -> None:
        fourth, second = fourth_coefficient(teacher.activation), second_coefficient(teacher.activation)
        directions, weights = teacher_tensor(teacher, 4)
        scale = teacher_tensor(teacher, 2)[1] / second
        T = (directions.T * scale) @ directions
        # In whitened coordinates the fourth-order coefficients are w_i / (σ̂₄ scale_i²), 1/a*_i for unit rows.
        outputs = fourth * scale**2 / weights
        if np.any(scale <= 0) or np.any(outputs <= 0):
            raise ValueError("F needs a teacher with positive output weights")
        k = min(teacher.n_hidden, teacher.n_features)
        self.constants = full_rank_constants(fourth, outputs.max(), outputs.min(), mu, lam, delta, T, k)
        self.directions, self.weights, self.T = (
            to_jax(directions),
            to_jax(np.sign(fourth) * weights),
            to_jax(T),
        )
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)
        self.delta = to_jax(self.constants.delta)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.directions.shape[1]

    @property
    def teacher_rows(self) -> np.ndarray:
        """The teacher's directions."""
        return np.asarray(self.directions)

    def known_minimum(self) -> tuple[float, str] | None:
        """That of Theorem A.4, for a teacher of full rank."""
        rows, weights, T = (np.asarray(part) for part in (self.directions, self.weights, self.T))
        if float(self.delta) or rows.shape[0] != rows.shape[1] or np.linalg.matrix_rank(T) < len(T):
            return None
        # o_i = T^{-1/2} √s_i u_i is orthonormal, and ⟨u_i, b⟩⁴ = ⟨o_i, T^{1/2}b⟩⁴ / s_i².
        inverse = 1 / np.sum((rows @ np.linalg.inv(T)) * rows, axis=1)
        least = landscape_minimum(6**0.5 * weights / inverse**2, float(self.mu), float(self.lam))
        return None if least is None else (least, "every local minimum of F is global (Theorem A.4 of Ge et al. 2017)")

    def traced_value(self, params: Params) -> jax.Array:
        """F at B (k, d)."""
        pairs = tensor_pairs(params, self.directions, self.weights, self.mu)
        return pairs + _norms(params, self.T, self.lam, self.delta)
