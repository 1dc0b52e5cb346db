r"""The expectation of L for any density with score functions and any teacher (Gao et al. 2018, Theorem 4 and eq. 21).

    L(A) = s Σ_i κ*_i (Σ_{j≠l} ⟨a*_i,a_j⟩²⟨a*_i,a_l⟩² − μ Σ_j ⟨a*_i,a_j⟩⁴) + λ Σ_j (a_jᵀ T a_j − 1)²

with κ*_i = w*_i E[φ''''(a*_i·x + b*_i)], s their common sign, and T = I, or in the full-rank form
T = |Σ_i w*_i E[φ''(a*_i·x + b*_i)] a*_i a*_iᵀ|. So k or 2k numbers are all that L sees of density and teacher. They
come from one-dimensional quadrature where the laws of the a*_i·x are known, and otherwise from draws of the density,
with standard errors.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.inputs import DRAWS, Density, draws_of, mean_derivative, one_dimensional, sampled_derivatives
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Params, PopulationObjective
from planted.objectives._full_rank import whitening
from planted.objectives._landscape import landscape_minimum, orthonormal
from planted.objectives._pair_form import PairForm
from planted.objectives._score_landscape import score_constants


def score_weights(
    teacher: Network, inputs: Density, order: int = 4, draws: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions (k, d) of the teacher and the weights (k,) of E[y S_order(x)] along them, order 2 or 4.

    E[y S₄] = Σ_i κ_i u_i^{⊗4} with κ_i = w*_i ‖a*_i‖⁴ E[φ''''(a*_i·x + b*_i)], and E[y S₂] likewise; the teacher's
    intercept and linear part do not enter. With `draws` (n, d) the weights are estimates (100, k), from parts of them.

    >>> from planted.inputs import Logistic
    >>> score_weights(Network(np.eye(2), np.ones(2)), Logistic(2))[1].round(9)
    array([-0.125, -0.125])
    """
    if not isinstance(teacher, Network):
        raise TypeError(f"teacher must be a planted.Network, not {type(teacher).__name__}")
    if teacher.output.ndim > 1:
        raise ValueError("the expected loss L needs a teacher with one output")
    if inputs.n_features != teacher.n_features:
        raise ValueError(f"the teacher has {teacher.n_features} inputs, but the density has {inputs.n_features}")
    norms = np.linalg.norm(teacher.weights, axis=1)
    if np.any(norms == 0):
        raise ValueError("the teacher has a zero row")
    bias = teacher.shift
    if draws is None:
        neurons = zip(teacher.weights, bias, strict=True)
        means = np.array([mean_derivative(inputs, row, teacher.activation, order, bias=float(b)) for row, b in neurons])
    else:
        means = sampled_derivatives(inputs, teacher.weights, teacher.activation, order, bias=bias, draws=draws).parts
    return teacher.weights / norms[:, None], teacher.output * norms**order * means


class PopulationScoreLandscape(PopulationObjective):
    """Expectation of :class:`ScoreLandscape` for x from a density and y from a teacher.

    Parameters
    ----------
    teacher : Network
        With one output. κ*_i of both signs are allowed: `signs_agree` tells, and Theorem 2 does not apply then.
    inputs : Density
        Any density with score functions. Those that :func:`planted.inputs.mean_derivative` takes have κ*_i by
        quadrature; others must have a sampler.
    mu, lam : float, optional
        By default as Assumption 2(b) asks, from the κ*_i themselves.
    form : "orthogonal" or "full-rank"
        The norm ‖a‖², or aᵀTa.
    n_samples : int
        Draws of a density without a quadrature.
    random_state : None, int, RandomState or Generator
        Of these draws.

    Attributes
    ----------
    kappa : array (k,)
        s κ*_i, by neuron.
    kappa_error : array (k,)
        Their standard errors: zero by quadrature.
    signs_agree : bool
        Assumption 2(a).

    Examples
    --------
    >>> from planted.inputs import CustomDensity, Logistic
    >>> teacher = Network(np.eye(2), np.ones(2))
    >>> L = PopulationScoreLandscape(teacher, Logistic(2))
    >>> bool(np.linalg.norm(L.gradient(np.eye(2))) < 0.02), L.kappa.round(3)
    (True, array([0.125, 0.125]))

    A density of your own, with draws:

    >>> law = CustomDensity(lambda x: -0.5 * x @ x, 2, lambda n, seed: np.random.default_rng(seed).normal(size=(n, 2)))
    >>> L = PopulationScoreLandscape(teacher, law, n_samples=20_000)
    >>> bool(np.all(np.abs(L.kappa - (2 * np.pi) ** -0.5) < 4 * L.kappa_error)), bool(L.kappa_error.max() < 0.01)
    (True, True)
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
        n_samples: int = DRAWS,
        random_state: Any = 0,
    ) -> None:
        if form not in ("orthogonal", "full-rank"):
            raise ValueError(f"form must be 'orthogonal' or 'full-rank', not {form!r}")
        if not isinstance(inputs, Density) or not inputs.smooth:
            raise ValueError(f"the expected loss L needs a density with score functions, not {inputs!r}")
        draws = None if one_dimensional(inputs) else draws_of(inputs, n_samples, random_state)
        directions, weights = score_weights(teacher, inputs, 4, draws)
        # One row where quadrature gave them, otherwise one a part of the draws.
        fourth = np.atleast_2d(weights)
        kappa = fourth.mean(axis=0)
        sign = np.sign(kappa[np.argmax(np.abs(kappa))])
        second, scaled = None, sign * kappa
        if form == "full-rank":
            second = np.atleast_2d(score_weights(teacher, inputs, 2, draws)[1])
            second = np.sign(second.sum()) * second
            tau = second.mean(axis=0)
            if np.any(tau <= 0):
                raise ValueError("the full-rank form needs E[φ''(a*·x)] times the output of one sign for all neurons")
            # In coordinates that whiten T the weights are κ_i/τ_i².
            scaled = scaled / tau**2
        self.form, self.inputs = form, inputs
        self.kappa = sign * kappa
        spread = fourth.std(axis=0, ddof=1) if len(fourth) > 1 else np.zeros(len(kappa))
        self.kappa_error = spread / len(fourth) ** 0.5
        self.signs_agree = bool(np.all(self.kappa > 0))
        self.constants = score_constants(scaled, mu, lam, exact=True)
        self._estimates = sign * fourth, second
        self.directions, self.weights = to_jax(directions), to_jax(self.kappa)
        self.T = to_jax(_norm_matrix(directions, second))
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)

    @float64
    def on_parts(self, count: int) -> list[PopulationScoreLandscape] | None:
        """The same with κ*_i and T from disjoint parts of the draws; None where quadrature leaves no sampling error."""
        fourth, second = self._estimates
        if not 1 < count <= len(fourth):
            return None
        held = {name: getattr(self, name) for name in self._arrays}
        directions, objectives = np.asarray(self.directions), []
        for i in range(count):
            T = _norm_matrix(directions, None if second is None else second[i::count])
            part = {"weights": to_jax(fourth[i::count].mean(axis=0)), "T": to_jax(T)}
            objectives.append(PopulationScoreLandscape._build(**held | part))
        return objectives

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


def _norm_matrix(directions: np.ndarray, second: np.ndarray | None) -> np.ndarray:
    """T = Σ_i τ_i u_i u_iᵀ with τ the mean of the rows of `second` (n, k); the identity where there is none.

    >>> _norm_matrix(np.eye(2), np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([[2., 0.],
           [0., 2.]])
    """
    if second is None:
        return np.eye(directions.shape[1])
    matrix: np.ndarray = (directions.T * second.mean(axis=0)) @ directions
    return matrix
