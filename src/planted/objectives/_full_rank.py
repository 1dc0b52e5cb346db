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
from planted.objectives._base import Params, RowObjective
from planted.objectives._landscape import (
    SMALL,
    AssumptionError,
    Constants,
    _fourth_contraction,
    _moments,
    _without_lower_parts,
    constants,
    fourth_coefficient,
    lower_part,
    quartic_sum,
    row_parts,
    teacher_tensor,
    tensor_pairs,
)
from planted.objectives._pair_form import PairForm
from planted.rows import ArrayRows, Block, Rows

# The accuracy ε₀ for which Theorem A.5 gives δ.
_ACCURACY = 0.1


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


@dataclass(frozen=True)
class Outputs:
    """Largest and smallest output weight, and whether they are a teacher's own or estimated."""

    largest: float
    smallest: float
    exact: bool = False


def full_rank_constants(
    fourth: float, outputs: Outputs, mu: float | None, lam: float | None, delta: float | None, T: np.ndarray, k: int
) -> Constants:
    """μ and λ for outputs 1/a*_i, and δ by Theorem A.5 for an accuracy of 0.1 where it is None.

    δ is at most half of the τ₀ of Theorem A.4 with its factor β_min = |σ̂₄|/(2√6 a_max), which the paper leaves out:
    c min{μβ_min/(κd), λ} σ_min(T).

    >>> full_rank_constants(0.1, Outputs(2.0, 1.0), None, None, 0.0, np.eye(2), 2).mu
    0.06
    """
    largest, smallest = outputs.largest, outputs.smallest
    base = constants(fourth, 1 / smallest, 1 / largest, mu, lam, outputs.exact)
    if delta is None:
        spectrum = np.sort(np.linalg.eigvalsh(T))[::-1][:k]
        d = len(T)
        kappa = spectrum[0] / spectrum[-1]
        least_beta = abs(fourth) / (2 * 6**0.5 * largest)
        saddle = SMALL * min(base.mu * least_beta * smallest / (largest * d), base.lam) * spectrum[-1]
        delta = min(SMALL * abs(fourth) * _ACCURACY / (largest * k * d**0.5 * kappa**0.5), saddle / 2)
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
        self.second, self.n_hidden = second, min(n_hidden or m, m)
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
        return full_rank_constants(fourth, Outputs(largest, smallest), mu, lam, delta, T, k)

    def pair_form(self) -> Any:
        """That of Theorem A.4 for as many neurons as (projected) inputs; None with an ℓ2 term."""
        T = np.asarray(self.T)
        if self.constants.delta or self.n_hidden < len(T) or np.linalg.eigvalsh(T)[0] <= 0:
            return None
        return PairForm.of("F", self.constants, 1 / 12, whitening(T, len(T)))

    @float64
    def on_parts(self, count: int) -> list[FullRankLandscape] | None:
        """F on disjoint parts of its rows, T too; None if they are not in memory."""
        pieces = row_parts(self.rows, count)
        if pieces is None:
            return None
        arrays = {name: getattr(self, name) for name in self._arrays}
        whole = self.fit.second - self.fit.zeroth * jnp.eye(self.T.shape[0])
        objectives = []
        for rows in pieces:
            fit = _moments(rows)
            # What the part's second moment has more than that of all rows is the sampling error of its T.
            more = fit.second - fit.zeroth * jnp.eye(self.T.shape[0]) - whole
            T = self.T + more / (2**0.5 * self.second)
            objectives.append(FullRankLandscape._build(**arrays | {"rows": rows, "fit": fit, "T": T}))
        return objectives

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
