"""The expectation of F under Gaussian inputs and a teacher (Ge et al. 2017, appendix A.2 and A.3)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Params, PopulationObjective
from planted.objectives._full_rank import Outputs, _norms, full_rank_constants, second_coefficient, whitening
from planted.objectives._landscape import fourth_coefficient, landscape_minimum, teacher_tensor, tensor_pairs
from planted.objectives._pair_form import PairForm


class PopulationFullRankLandscape(PopulationObjective):
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
        exact = Outputs(float(outputs.max()), float(outputs.min()), exact=True)
        self.constants = full_rank_constants(fourth, exact, mu, lam, delta, T, k)
        self.directions, self.weights, self.T = (
            to_jax(directions),
            to_jax(np.sign(fourth) * weights),
            to_jax(T),
        )
        self.mu, self.lam = to_jax(self.constants.mu), to_jax(self.constants.lam)
        self.delta = to_jax(self.constants.delta)

    def pair_form(self) -> Any:
        """That of Theorem A.4, for a teacher of full rank and as many neurons as inputs; None with an ℓ2 term."""
        rows, T = np.asarray(self.directions), np.asarray(self.T)
        if float(self.delta) or rows.shape[0] != rows.shape[1] or np.linalg.matrix_rank(T) < len(T):
            return None
        return PairForm.of("F", self.constants, 1 / 12, whitening(T, len(T)))

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
