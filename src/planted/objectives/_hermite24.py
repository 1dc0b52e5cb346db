"""The loss f' with the second and fourth Hermite parts of the activation only (Ge et al. 2017, eq. 2.5–2.7)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.activations.kernels import gaussian_kernel
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_rows
from planted.objectives._base import Params, PopulationObjective, RowObjective
from planted.objectives._dense_models import check_layers
from planted.objectives._models import split
from planted.objectives._squared import check_teacher
from planted.rows import ArrayRows, Block


def even_part(z: jax.Array, second: float | jax.Array, fourth: float | jax.Array) -> jax.Array:
    """γ(z) = second · h₂(z) + fourth · h₄(z), h₂ = (z² − 1)/√2 and h₄ = (z⁴ − 6z² + 3)/√24.

    >>> even_part(jnp.ones(()), 2.0**0.5, 0.0)
    Array(0., dtype=float32)
    """
    z2 = z * z
    return (second / 2**0.5) * (z2 - 1) + (fourth / 24**0.5) * (z2 * z2 - 6 * z2 + 3)


def coefficients(activation: Activation) -> tuple[float, float]:
    """φ̂₂ and φ̂₄; a ValueError if both vanish, for then γ = 0.

    >>> coefficients(activations.get("tanh"))
    Traceback (most recent call last):
    ValueError: the 2nd and 4th Hermite coefficients of tanh are zero: f' does not depend on the weights
    """
    second, fourth = activation.hermite(2), activation.hermite(4)
    if second == 0 and fourth == 0:
        raise ValueError(
            f"the 2nd and 4th Hermite coefficients of {activation.name} are zero: f' does not depend on the weights"
        )
    return second, fourth


class Hermite24(RowObjective):
    """f'(a, B) = mean (Σ_i a_i γ(b_i·x) − y)², γ = φ̂₂h₂ + φ̂₄h₄.

    Minimised over unit rows (:func:`planted.solvers.unit_rows`), where it decomposes a matrix and a
    fourth-order tensor at once (Theorem 2.2). Parameters as in :class:`planted.objectives.Squared`: a plain
    array of weights stands for outputs that are all one.

    Parameters
    ----------
    X : array (n, d)
        Standard Gaussian rows.
    y : array (n,)
    activation : str, Activation or callable
        φ.

    Examples
    --------
    >>> loss = Hermite24([[1.0, 0.0]], [2.0], "quadratic")
    >>> round(loss.value(np.eye(2)), 12)
    9.0
    """

    _arrays = ("rows", "output")
    _static = ("activation", "second", "fourth")
    non_negative = True

    @float64
    def __init__(self, X: ArrayLike, y: ArrayLike, activation: Any = "relu", output: ArrayLike | None = None) -> None:
        inputs, targets = as_rows(X, y)
        self.rows = ArrayRows(to_jax(inputs), to_jax(targets))
        self.activation: Activation = activations.get(activation)
        self.second, self.fourth = coefficients(self.activation)
        self.output = None if output is None else to_jax(output)

    @classmethod
    def on(cls, rows: ArrayRows, activation: Activation, output: jax.Array | None = None) -> Hermite24:
        """The same over given rows, traceable and unchecked."""
        second, fourth = coefficients(activation)
        return cls._build(rows=rows, output=output, activation=activation, second=second, fourth=fourth)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless fixed."""
        check_layers(arrays, self.n_features, self.output)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """Σ weight (ŷ' − y)² over a block."""
        weights, output = split(params, self.output)
        residual = even_part(block["x"] @ weights.T, self.second, self.fourth) @ output - block["y"]
        return jnp.sum(block["weight"] * residual * residual)


class PopulationHermite24(PopulationObjective):
    """Expectation of :class:`Hermite24` under x ~ N(0, I) and y from a teacher, for rows of any length.

    For unit rows it is φ̂₂²‖T₂ − Σ a_i b_i^{⊗2}‖² + φ̂₄²‖T₄ − Σ a_i b_i^{⊗4}‖² plus a constant (eq. 2.7).
    Otherwise γ(s z) = c₀(s) + c₂(s) h₂(z) + c₄(s) h₄(z) with the c_j of a row of length s.

    Examples
    --------
    >>> teacher = Network(np.eye(2), np.ones(2), "quadratic")
    >>> round(PopulationHermite24(teacher).value(np.eye(2)), 9)
    4.0
    """

    _arrays = ("directions", "moments", "energy", "output")
    _static = ("second", "fourth")
    non_negative = True

    @float64
    def __init__(self, teacher: Network, output: ArrayLike | None = None) -> None:
        check_teacher(teacher)
        self.second, self.fourth = coefficients(teacher.activation)
        norms = np.linalg.norm(teacher.weights, axis=1)
        if np.any(norms == 0):
            raise ValueError("the teacher has a zero row")
        self.directions = to_jax(teacher.weights / norms[:, None])
        self.moments = {
            j: to_jax([a * teacher.activation.hermite(j, s) for a, s in zip(teacher.output, norms, strict=True)])
            for j in (0, 2, 4)
        }
        kernel = gaussian_kernel(teacher.activation, to_jax(teacher.weights), to_jax(teacher.weights))
        self.energy = to_jax(teacher.output) @ kernel @ to_jax(teacher.output)
        self.output = None if output is None else to_jax(output)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless fixed."""
        check_layers(arrays, self.n_features, self.output)

    def traced_value(self, params: Params) -> jax.Array:
        """E (ŷ' − y)²."""
        weights, output = split(params, self.output)
        square = jnp.sum(weights * weights, axis=1)
        # Hermite coefficients of γ(s z) times s^-j, so that the powers of ⟨b_i, ·⟩ need no normalisation:
        # H₂(sz) = s²H₂ + (s² − 1) and H₄(sz) = s⁴H₄ + 6s²(s² − 1)H₂ + 3(s² − 1)².
        excess = square - 1
        second, fourth = self.second / 2**0.5, self.fourth / 24**0.5
        profile = {
            0: output * (second * excess + 3 * fourth * excess**2),
            2: output * (second + 6 * fourth * excess) * 2**0.5,
            4: output * fourth * 24**0.5,
        }
        own, cross = weights @ weights.T, weights @ self.directions.T
        value = self.energy
        for j, c in profile.items():
            value = value + c @ own**j @ c - 2 * c @ cross**j @ self.moments[j]
        return value
