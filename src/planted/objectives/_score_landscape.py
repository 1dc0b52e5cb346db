r"""The loss L, the landscape of G for inputs with any smooth density (Gao et al. 2018, eq. 19–21).

    L(A) = s E[y Σ_{i≠j} S₄(x)(a_i,a_i,a_j,a_j)] − μ s E[y Σ_i S₄(x)(a_i,a_i,a_i,a_i)] + λ Σ_i (‖a_i‖² − 1)²

By Stein's identity E[y S₄] = Σ_i κ*_i a*_i^{⊗4} with κ*_i = w*_i E[φ''''(a*_i·x)]; s is the common sign of the
κ*_i, which the paper leaves out although it is −1 for ReLU on Gaussian inputs. For x ~ N(0, I),

    L(A; μ, λ) = 2 G(A; 12μ, λ/2).

For full-rank weights (appendix B.3) the norm is the one that T = ±E[y S₂] = Σ_i τ_i a*_i a*_iᵀ defines, with
τ_i = |w*_i E[φ''(a*_i·x)]|: λ Σ_i (a_iᵀ T a_i − 1)² + δ/2 ‖A‖²; at a minimum the rows of (A†)ᵀ are ±√τ_i a*_i.

With fewer neurons than inputs L is nearly flat, up to sampling error, on what is orthogonal to the teacher. The span
of the a*_i is that of E[y S₂], so with its projector P the rows' part is evaluated at A P, the norm is taken there,
and λ‖A(I − P)‖² keeps A inside.

Where the κ*_i have both signs (a ReLU neuron on a mixture has κ* > 0 far from the middle and κ* < 0 near it) L has
no good landscape. For orthonormal rows the unfolding of E[y S₄] to a d² × d² matrix has eigenvalues κ*_i, and its
absolute value has the weights |κ*_i| instead; L over it is the "mixed-sign" form. For other full-rank rows the same
holds in coordinates that whiten T, where the rows √τ_i a*_i are orthonormal: the "full-rank, mixed-sign" form. It
needs τ_i of one sign, as ReLU neurons with positive outputs have whatever the density, since E[φ''(a·x)] is the
density of a·x at zero. With outputs of both signs T is indefinite and defines no norm.

Variance reduction. Any polynomial q has E[q(x) S₄(x)] = E[∇⁴q], so that the polynomial of degree 4 that fits y best is
subtracted from y and its constant ∇⁴q added to E[(y − q) S₄] (`_polynomial.py`): the expectation stays, most of the
variance goes, and an estimated S₄ does harm in proportion to what q leaves of y only. (The score functions S_1, S_2
themselves would not do: unless x is Gaussian they are not orthogonal to S_4.)
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.inputs import LocalLikelihood, LowDegreeWarning, SingularScoreWarning, polynomial_fit
from planted.names import unknown
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Objective, Params
from planted.objectives._full_rank import Outputs, full_rank_constants, whitening
from planted.objectives._pair_form import SMALL, Constants, PairForm
from planted.objectives._score_pairs import TensorPairs, pairs_for, query_points, row_pairs
from planted.rows import ArrayRows

_LEAST_RATIO = 0.05
FORMS = ("auto", "orthogonal", "mixed-sign", "full-rank")
# An eigenvalue of the other sign counts when it is this many standard errors below zero.
_SIGNIFICANT = 4.0
_FOURTH = 4


def score_constants(kappa: np.ndarray, mu: float | None, lam: float | None, exact: bool = False) -> Constants:
    """μ = c κ_min/κ_max and λ = 4 κ_max unless given: those of G (Theorem 5.1 of Ge et al. 2017) in units of L.

    Estimated κ are noisy, so that the default μ takes their ratio to be at least 0.05; `exact` ones are a teacher's.

    >>> score_constants(np.array([2.0, 1.0]), None, None).lam
    8.0
    """
    for name, value in (("mu", mu), ("lam", lam)):
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a non-negative number, not {value!r}")
    largest, smallest = float(kappa.max()), float(kappa.min())
    if largest <= 0:
        raise ValueError("the fourth score moment of y is zero, so no fourth-order loss can see the weights")
    ratio = smallest / largest
    chosen = SMALL * (ratio if exact and ratio > 0 else max(ratio, _LEAST_RATIO)) if mu is None else float(mu)
    return Constants(
        mu=chosen,
        lam=4 * largest * max(1.0, chosen) if lam is None else float(lam),
        largest_output=largest,
        smallest_output=smallest,
        largest_mu=SMALL * max(ratio, 0.0),
        smallest_lam=4 * largest * max(1.0, chosen),
    )


class ScoreLandscape(Objective):
    """The empirical loss L over weights A (k, d), for inputs with a known or estimated density.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    inputs : density of planted.inputs, or a fitted LocalLikelihood
        The law of the rows of X. Gaussian, mixture and product densities cost O(rows × neurons × inputs) a
        gradient; for others the tensor E[y S₄] is averaged once. A LocalLikelihood that was fitted to X itself
        leaves each row out of its own fit.
    mu, lam : float, optional
        μ and λ, by default from estimates of the κ*_i.
    form : "auto", "orthogonal", "mixed-sign" or "full-rank"
        "full-rank" regularises with the norm of T; the others with ‖a‖, for teachers with orthonormal rows.
        "auto" is "orthogonal". Where an estimated κ*_i of the other sign is four standard errors from zero,
        "auto" and "full-rank" take their mixed-sign forms (at most 40 inputs).
    delta : float or None
        Weight of the ℓ2 term of the full-rank form, needed where there are fewer neurons than inputs; None
        takes the value of Theorem A.5 of Ge et al. (2017).
    n_hidden : int, optional
        Number of teacher neurons k ≤ d, d if omitted. For k < d their span is estimated from E[y S₂], which
        needs E[φ''(a*_i·x)] ≠ 0.
    variance_reduction : bool or int
        Take the polynomial of this degree, at most 4, that fits y best out of y, and add its fourth derivative to
        E[y S₄]. True is 4, or less where there are fewer than 20 rows a coefficient or more than 1,001 coefficients.
    sample_weight : array (n,), optional
        Row weights in every average; the law of the inputs is taken as given.

    Attributes
    ----------
    constants : Constants
        μ, λ, δ; `largest_output` and `smallest_output` are those of s·κ (of |κ| in the mixed-sign form).
    form : str
        The form that is used: "orthogonal", "mixed-sign", "full-rank" or "full-rank, mixed-sign".
    kappa : array (k,)
        Estimates of s κ*_i (of s κ*_i/τ_i² in the full-rank form), largest first.
    inputs : Density or LocalLikelihood
        The law of the rows, as it was given.
    signs_agree : bool
        Whether no κ*_i has significantly the other sign, as Assumption 2(a) asks; only the mixed-sign forms
        recover where it is False.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> from planted.inputs import Logistic
    >>> data = make_planted(20_000, 3, 3, inputs=Logistic(3), random_state=0)
    >>> L = ScoreLandscape(data.X, data.y, Logistic(3))
    >>> bool(L.value(data.teacher.weights) < L.value(np.ones((3, 3)) / 3**0.5))
    True
    """

    _arrays = ("pairs", "T", "projector", "sign", "lam", "delta")

    pairs: Any
    T: jax.Array
    projector: jax.Array
    sign: jax.Array
    lam: jax.Array
    delta: jax.Array

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        inputs: Any,
        mu: float | None = None,
        lam: float | None = None,
        *,
        form: str = "auto",
        delta: float | None = 0.0,
        n_hidden: int | None = None,
        variance_reduction: bool | int = True,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        rows, targets = as_rows(X, y)
        self._check(rows, inputs, form)
        most = _degree(variance_reduction)
        k = min(n_hidden or rows.shape[1], rows.shape[1])
        weight = _relative(sample_weight, len(rows))

        # Every average below is linear in y, so that weighting y weights its row.
        factor = 1.0 if weight is None else weight
        polynomial = polynomial_fit(rows, targets, most, weight) if most else None
        reduced = factor * (targets if polynomial is None else polynomial.residual)
        fourth = None if polynomial is None else polynomial.fourth
        self.pairs = pairs_for(rows, reduced, inputs, fourth)
        basis, T = np.eye(rows.shape[1]), np.eye(rows.shape[1])
        if form == "full-rank" or k < rows.shape[1]:
            T, basis = _teacher_span(_second_moment(rows, targets, inputs, min(most, 2), weight), k)
        if form == "full-rank":
            basis = whitening(T, k)
        else:
            T = basis @ basis.T
        self.T, self.projector = to_jax(T), to_jax(basis @ np.linalg.pinv(basis))
        spectrum, directions = self._spectrum(basis)
        sign = np.sign(spectrum[np.argmax(np.abs(spectrum))])
        order = np.argsort(-sign * spectrum)
        least = order[-1]
        self.signs_agree = bool(sign * spectrum[least] >= 0) or not self._significant(
            rows, reduced, inputs, basis, directions[:, least], abs(spectrum[least])
        )
        self.form = "orthogonal" if form == "auto" else form
        if form in ("auto", "full-rank") and not self.signs_agree:
            self.form = "mixed-sign" if form == "auto" else "full-rank, mixed-sign"
        if self.form.endswith("mixed-sign"):
            self.pairs = TensorPairs.absolute(rows, reduced, inputs, basis, fourth)
            self.kappa = sign * spectrum[np.argsort(-np.abs(spectrum))[:k]]
            sign, weights = 1.0, np.abs(self.kappa)
        else:
            self.kappa = weights = sign * spectrum[order][:k]
        self.constants = score_constants(weights, mu, lam)
        if form == "full-rank":
            self.constants = self._with_delta(self.constants, delta, k)
        self.sign = to_jax(sign)
        self.lam, self.delta = to_jax(self.constants.lam), to_jax(self.constants.delta)
        self.pairs.mu = to_jax(self.constants.mu)
        self.inputs = inputs
        self._sample = rows, reduced, inputs, fourth

    @classmethod
    def on(cls, rows: ArrayRows, inputs: Any, mu: float, lam: float, sign: float = -1.0) -> ScoreLandscape:
        """L for orthonormal teachers over given rows, traceable and unchecked, such as fresh ones at every step.

        For Gaussian, mixture and product densities. `sign` is s, the sign of the κ*_i, −1 for ReLU near the middle of
        the density. Nothing is estimated from the rows, so that the mean over draws is the expectation of L.
        """
        blocks = rows.blocks
        x = blocks["x"].reshape(-1, blocks["x"].shape[-1])
        weight = blocks["weight"].reshape(-1)
        # Rows that fill up the last block have weight zero, and averages below count all.
        y = blocks["y"].reshape(-1) * weight * (weight.shape[0] / jnp.sum(weight))
        pairs = row_pairs(x, y, inputs)
        identity = jnp.eye(x.shape[1], dtype=x.dtype)
        pairs.mu = jnp.asarray(mu, x.dtype)
        given = {"sign": sign, "lam": lam, "delta": 0.0}
        scalars = {name: jnp.asarray(value, x.dtype) for name, value in given.items()}
        return cls._build(pairs=pairs, T=identity, projector=identity, **scalars)

    def pair_form(self) -> Any:
        """That of Theorem 2 for as many neurons as inputs; None with an ℓ2 term or κ*_i of both signs."""
        T = np.asarray(self.T)
        if self.form.endswith("mixed-sign") or self.constants.delta or np.linalg.eigvalsh(T)[0] <= 1e-9:
            return None
        frame = whitening(T, len(T)) if self.form == "full-rank" else np.eye(len(T))
        return PairForm.of("L", self.constants, 1.0, frame)

    @float64
    def on_parts(self, count: int) -> list[ScoreLandscape] | None:
        """L on disjoint parts of its rows, T that of all; None for estimated scores, which need all rows."""
        X, y, inputs, fourth = self._sample
        if self.form.endswith("mixed-sign") or isinstance(inputs, LocalLikelihood):
            return None
        held = {name: getattr(self, name) for name in self._arrays}
        objectives = []
        for i in range(count):
            pairs = pairs_for(X[i::count], y[i::count], inputs, fourth)
            pairs.mu = self.pairs.mu
            objectives.append(ScoreLandscape._build(**held | {"pairs": pairs}))
        return objectives

    @staticmethod
    def _check(rows: np.ndarray, inputs: Any, form: str) -> None:
        if form not in FORMS:
            raise ValueError(unknown("form", form, FORMS))
        if not hasattr(inputs, "mean_score"):
            raise TypeError(f"inputs must be a density of planted.inputs, not {type(inputs).__name__}")
        if inputs.n_features != rows.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns, but the density has {inputs.n_features} inputs")
        if not getattr(inputs, "smooth", True):
            warnings.warn(
                f"{type(inputs).__name__} inputs have no fourth score function: L then measures the coordinate axes, "
                "not the teacher; HyperbolicSecant has a similar shape and a smooth density",
                SingularScoreWarning,
                stacklevel=4,
            )
        if isinstance(inputs, LocalLikelihood) and inputs.degree < _FOURTH:
            warnings.warn(
                f"S₄ comes from local polynomials of degree {inputs.degree}, below the 4 of Assumption 1(a) of Gao et "
                "al. (2018): however many rows there are, what they leave out of it stays",
                LowDegreeWarning,
                stacklevel=4,
            )

    def _spectrum(self, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of Wᵀ 𝒮(WWᵀ) W for W = `basis` (d, k).

        They are the κ*_i and the whitened rows of the teacher when these are orthonormal.
        """
        matrix = self.pairs.gradient(basis.T) @ basis / 4
        return np.linalg.eigh((matrix + matrix.T) / 2)

    @staticmethod
    def _significant(
        X: np.ndarray, y: np.ndarray, inputs: Any, basis: np.ndarray, direction: np.ndarray, eigenvalue: float
    ) -> bool:
        """Whether the average of y Σ_j S₄(Wv, Wv, w_j, w_j) is many standard errors from zero."""
        points, u = query_points(X, inputs), basis @ direction
        rows = y * sum(inputs.contract(points, u, w) for w in basis.T)
        rows = rows[np.isfinite(rows)]
        return eigenvalue > _SIGNIFICANT * np.std(rows) / len(rows) ** 0.5

    def _with_delta(self, chosen: Constants, delta: float | None, k: int) -> Constants:
        """δ of F for outputs 1/(s κ*_i/τ_i²), in units of L = 2F."""
        if delta is None:
            largest = chosen.largest_output
            smallest = max(chosen.smallest_output, _LEAST_RATIO * largest)
            outputs = Outputs(1 / smallest, 1 / largest)
            base = full_rank_constants(24**-0.5, outputs, 12 * chosen.mu, chosen.lam / 2, None, np.asarray(self.T), k)
            delta = 2 * base.delta
        if not (np.isfinite(delta) and delta >= 0):
            raise ValueError(f"delta must be a non-negative number, not {delta!r}")
        return replace(chosen, delta=float(delta))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.T.shape[0]

    def penalty(self, params: Params) -> jax.Array:
        """λ Σ_i (a_iᵀTa_i − 1)² + λ‖A(I − P)‖² + δ/2 ‖A‖², with T = P = I where k = d and rows are orthonormal."""
        excess = jnp.sum((params @ self.T) * params, axis=1) - 1
        outside = params - params @ self.projector
        return self.lam * (jnp.sum(excess * excess) + jnp.sum(outside * outside)) + self.delta / 2 * jnp.sum(
            params * params
        )

    def traced_value(self, params: Params) -> jax.Array:
        """L at weights (k, d)."""
        return self.sign * self.pairs.traced_value(params @ self.projector) + self.penalty(params)

    def traced_value_and_gradient(self, params: Params) -> tuple[jax.Array, Params]:
        """Value and gradient, the rows' part block by block."""
        value, gradient = self.pairs.traced_value_and_gradient(params @ self.projector)
        rest, slope = jax.value_and_grad(self.penalty)(params)
        return self.sign * value + rest, self.sign * gradient @ self.projector + slope

    def traced_hvp(self, params: Params, direction: Params) -> Params:
        """Hessian-vector product, the rows' part block by block."""
        rest = jax.jvp(jax.grad(self.penalty), (params,), (direction,))[1]
        product = self.pairs.traced_hvp(params @ self.projector, direction @ self.projector)
        return self.sign * product @ self.projector + rest


def _degree(variance_reduction: bool | int) -> int:
    """The degree that `variance_reduction` asks for.

    >>> _degree(True), _degree(False), _degree(2)
    (4, 0, 2)
    """
    degree = _FOURTH * variance_reduction if isinstance(variance_reduction, bool) else variance_reduction
    if degree not in range(_FOURTH + 1):
        raise ValueError(f"variance_reduction must be True, False or a degree up to 4, not {variance_reduction!r}")
    return int(degree)


def _relative(sample_weight: ArrayLike | None, n: int) -> np.ndarray | None:
    """Row weights (n,) with mean one, or None.

    >>> _relative([1.0, 3.0], 2)
    array([0.5, 1.5])
    """
    if sample_weight is None:
        return None
    weight = as_matrix("sample_weight", sample_weight, 1)
    if len(weight) != n or np.any(weight < 0) or weight.sum() == 0:
        raise ValueError(f"sample_weight must be {n} non-negative numbers, not all zero")
    return weight / weight.mean()


def _second_moment(X: np.ndarray, y: np.ndarray, inputs: Any, degree: int, weight: np.ndarray | None) -> np.ndarray:
    """E[y S₂] (d, d) as ∇²q + E[(y − q) S₂] for the best polynomial q of degree ≤ 2."""
    fit = polynomial_fit(X, y, degree, weight)
    left = fit.residual if weight is None else weight * fit.residual
    moment: np.ndarray = inputs.mean_score(query_points(X, inputs), left, 2) + fit.second
    return moment


def score_span(
    X: np.ndarray, y: np.ndarray, inputs: Any, n_hidden: int, sample_weight: ArrayLike | None = None
) -> np.ndarray:
    """Orthonormal columns (d, k) that span the k neurons' weights: leading eigenvectors of E[y S₂].

    Needs E[φ''(a*_i·x)] ≠ 0. y is a function of Xᵀ's projection on the span but for noise, so that the law of the
    projected rows, in k dimensions, does in place of that of all d inputs.

    >>> from planted.datasets import make_planted
    >>> from planted.inputs import Logistic
    >>> data = make_planted(20_000, 4, 2, inputs=Logistic(4), random_state=0)
    >>> span = score_span(data.X, data.y, Logistic(4), 2)
    >>> bool(np.linalg.norm(data.teacher.weights @ span, axis=1).min() > 0.99)
    True
    """
    rows, targets = as_rows(X, y)
    return _teacher_span(_second_moment(rows, targets, inputs, 2, _relative(sample_weight, len(rows))), n_hidden)[1]


def _teacher_span(moment: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """±E[y S₂] cut to its k dominant eigenvectors, positive where they agree in sign, and these (d, k).

    >>> T, basis = _teacher_span(np.diag([-2.0, 0.1]), 1)
    >>> T + 0.0
    array([[2., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    leading = np.argsort(-np.abs(values))[:k]
    values, vectors = values[leading], vectors[:, leading]
    return (vectors * (np.sign(values.sum()) * values)) @ vectors.T, vectors
