r"""The expectation of L for a known density and teacher (Gao et al. 2018, Theorem 4 and eq. 21).

    L(A) = s Σ_i κ*_i (Σ_{j≠l} ⟨a*_i,a_j⟩²⟨a*_i,a_l⟩² − μ Σ_j ⟨a*_i,a_j⟩⁴) + λ Σ_j (a_jᵀ T a_j − 1)²

with κ*_i = w*_i E[φ''''(a*_i·x)] by one-dimensional quadrature, s their common sign, and T = I, or
T = |Σ_i w*_i E[φ''(a*_i·x)] a*_i a*_iᵀ| in the full-rank form.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from planted.inputs import Density, mean_derivative
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Objective, Params
from planted.objectives._full_rank import whitening
from planted.objectives._landscape import landscape_minimum, orthonormal
from planted.objectives._pair_form import PairForm
from planted.objectives._score_landscape import score_constants
from planted.objectives._squared import check_teacher


def score_weights(teacher: Network, inputs: Density, order: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions (k, d) of the teacher and the weights (k,) of E[y S_order(x)] along them, order 2 or 4.

    E[y S₄] = Σ_i κ_i u_i^{⊗4} with κ_i = w*_i ‖a*_i‖⁴ E[φ''''(a*_i·x)], and E[y S₂] likewise.

    >>> from planted.inputs import Logistic
    >>> score_weights(Network(np.eye(2), np.ones(2)), Logistic(2))[1].round(9)
    array([-0.125, -0.125])
    """
    check_teacher(teacher)
    if inputs.n_features != teacher.n_features:
        raise ValueError(f"the teacher has {teacher.n_features} inputs, but the density has {inputs.n_features}")
    norms = np.linalg.norm(teacher.weights, axis=1)
    if np.any(norms == 0):
        raise ValueError("the teacher has a zero row")
    means = [mean_derivative(inputs, row, teacher.activation, order) for row in teacher.weights]
    return teacher.weights / norms[:, None], teacher.output * norms**order * np.array(means)


class PopulationScoreLandscape(Objective):
    """Expectation of :class:`ScoreLandscape` for x from a density and y from a teacher.

    Parameters
    ----------
    teacher : Network
        Without biases. κ*_i of both signs are allowed: `signs_agree` tells, and Theorem 2 does not apply then.
    inputs : Density
        Gaussian, mixture of Gaussians, or independent inputs with a smooth density.
    mu, lam : float, optional
        By default as Assumption 2(b) asks, from the κ*_i themselves.
    form : "orthogonal" or "full-rank"
        The norm ‖a‖², or aᵀTa.

    Attributes
    ----------
    kappa : array (k,)
        s κ*_i, by neuron.
    signs_agree : bool
        Assumption 2(a).

    Examples
    --------
    >>> from planted.inputs import Logistic
    >>> L = PopulationScoreLandscape(Network(np.eye(3), np.ones(3)), Logistic(3))
    >>> bool(np.linalg.norm(L.gradient(np.eye(3))) < 0.02), L.kappa.round(3)
    (True, array([0.125, 0.125, 0.125]))
    """

    _arrays = ("directions", "weights", "T", "mu", "lam")

    @float64
    def __init__(
        self,
        teacher: Network,
        inputs: Density,
        mu: float | None = None,
        lam: float | None = None,
        *,
        form: str = "orthogonal",
    ) -> None:
        if form not in ("orthogonal", "full-rank"):
            raise ValueError(f"form must be 'orthogonal' or 'full-rank', not {form!r}")
        directions, kappa = score_weights(teacher, inputs, 4)
        sign = np.sign(kappa[np.argmax(np.abs(kappa))])
        T = np.eye(teacher.n_features)
        scaled = sign * kappa
        if form == "full-rank":
            tau = score_weights(teacher, inputs, 2)[1]
            tau = np.sign(tau.sum()) * tau
            if np.any(tau <= 0):
                raise ValueError("the full-rank form needs E[φ''(a*·x)] times the output of one sign for all neurons")
            T = (directions.T * tau) @ directions
            # In coordinates that whiten T the weights are κ_i/τ_i².
            scaled = scaled / tau**2
        self.form, self.inputs = form, inputs
        self.kappa = sign * kappa
        self.signs_agree = bool(np.all(self.kappa > 0))
        self.constants = score_constants(scaled, mu, lam, exact=True)
        self.directions, self.weights, self.T = to_jax(directions), to_jax(sign * kappa), to_jax(T)
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.directions.shape[1]

    @property
    def teacher_rows(self) -> np.ndarray:
        """The teacher's directions."""
        return np.asarray(self.directions)

    def pair_form(self) -> PairForm | None:
        """That of Theorem 2, for an orthonormal teacher, or one of full rank in the full-rank form."""
        rows, T = np.asarray(self.directions), np.asarray(self.T)
        fits = orthonormal(rows) if self.form == "orthogonal" else len(rows) == np.linalg.matrix_rank(T) == len(T)
        if not fits:
            return None
        return PairForm.of(
            "L", self.constants, 1.0, whitening(T, len(T)) if self.form == "full-rank" else np.eye(len(T))
        )

    def known_minimum(self) -> tuple[float, str] | None:
        """That of Theorem 2, for an orthonormal teacher, or one of full rank in the full-rank form."""
        if self.pair_form() is None:
            return None
        rows, kappa, T = (np.asarray(part) for part in (self.directions, self.weights, self.T))
        tau = 1 / np.sum((rows @ np.linalg.inv(T)) * rows, axis=1)
        least = landscape_minimum(kappa / tau**2, 12 * float(self.mu), float(self.lam))
        return None if least is None else (least, "every local minimum of L is global (Theorem 2 of Gao et al. 2018)")

    def traced_value(self, params: Params) -> jax.Array:
        """L at weights (k, d)."""
        squares = (self.directions @ params.T) ** 2
        fourth = jnp.sum(squares * squares, axis=1)
        pairs = self.weights @ (jnp.sum(squares, axis=1) ** 2 - (1 + self.mu) * fourth)
        excess = jnp.sum((params @ self.T) * params, axis=1) - 1
        return pairs + self.lam * jnp.sum(excess * excess)
