r"""αf₂ + βf₄: a matrix and a fourth-order tensor decomposed at once (Ge et al. 2017, eq. 2.4 and section 7).

    f_k(a, B) = ‖T_k − Σ_i a_i b_i^{⊗k}‖²,    T_k = Σ_i a*_i b*_i^{⊗k},    unit rows b_i.

The paper conjectures that αf₂ + βf₄ has no spurious minima for reasonable α, β and teachers in general position. Its
f' is the case α = φ̂₂², β = φ̂₄². Other ratios cannot be had by choosing γ = c₂h₂ + c₄h₄ in eq. 2.5, which would give
‖φ̂_kT_k − c_k Σ a_i b_i^{⊗k}‖² (Theorem 4.4). But T_k is a Hermite moment of y, E[y h_k(b·x)] = φ̂_k T_k(b, …, b), so

    αf₂ + βf₄ = Σ_ij a_i a_j (α⟨b_i,b_j⟩² + β⟨b_i,b_j⟩⁴) − 2 Σ_i a_i E[y (α h₂(b_i·x)/φ̂₂ + β h₄(b_i·x)/φ̂₄)] + const,

which is linear in y and has no bias on rows, whatever α and β.
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
from planted.objectives._dense_models import check_layers
from planted.objectives._hermite24 import even_part
from planted.objectives._landscape import teacher_tensor
from planted.objectives._models import split
from planted.rows import ArrayRows, Block

_VANISHING = 1e-12


def _layers(params: Params, positive: bool) -> tuple[jax.Array, jax.Array]:
    """Unit rows (k, d) and outputs (k,): given, all one, or the rows' lengths."""
    weights, output = split(params, None)
    lengths = jnp.sqrt(jnp.sum(weights * weights, axis=1))
    return weights / lengths[:, None], lengths if positive else output


def _own(weights: jax.Array, output: jax.Array, alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """Σ_ij a_i a_j (α⟨b_i,b_j⟩² + β⟨b_i,b_j⟩⁴) of unit rows."""
    squares = (weights @ weights.T) ** 2
    return output @ (alpha * squares + beta * squares * squares) @ output


def _checked(alpha: float, beta: float) -> tuple[float, float]:
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a non-negative number, not {value!r}")
    if not alpha and not beta:
        raise ValueError("alpha and beta are both zero: nothing is left to minimise")
    return float(alpha), float(beta)


def _coefficients(activation: Activation, alpha: float, beta: float) -> tuple[float, float]:
    """φ̂₂ and φ̂₄, of which those that α and β ask for must not vanish."""
    pair = activation.hermite(2), activation.hermite(4)
    for order, weight, value in ((2, alpha, pair[0]), (4, beta, pair[1])):
        if weight and abs(value) < _VANISHING:
            raise ValueError(f"f{'₂' if order == 2 else '₄'} cannot be had: φ̂_{order} of {activation.name} is zero")
    return pair


class TensorSum(RowObjective):
    """αf₂ + βf₄ on rows, up to a constant, at the rows of `params` divided by their lengths.

    Parameters as in :class:`planted.objectives.Hermite24`: {"weights": …, "output": …}, or an array of weights where
    all outputs are one; with `positive`, an array of weights whose lengths are the outputs.

    Parameters
    ----------
    X : array (n, d)
        Standard Gaussian rows.
    y : array (n,)
    activation : str, Activation or callable
        φ of the teacher.
    alpha, beta : float, optional
        By default φ̂₂² and φ̂₄², those of f'.
    positive : bool
        Whether outputs are the rows' lengths. With outputs of both signs there are spurious minima for every α and β:
        two students (1 + t)b*_1 and −t b*_1 share a teacher neuron while another one is missing.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(50_000, 3, 3, random_state=0)
    >>> loss = TensorSum(data.X, data.y, "relu", 1.0, 1.0)
    >>> bool(loss.value(data.teacher.weights) < loss.value(np.ones((3, 3)) + np.eye(3)))
    True
    """

    _arrays = ("rows", "alpha", "beta")
    _static = ("second", "fourth", "positive")

    alpha: jax.Array
    beta: jax.Array
    second: float
    fourth: float
    positive: bool

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        alpha: float | None = None,
        beta: float | None = None,
        positive: bool = False,
    ) -> None:
        inputs, targets = as_rows(X, y)
        rows = ArrayRows(to_jax(inputs), to_jax(targets))
        made = self.on(rows, activations.get(activation), alpha, beta, positive)
        self.__dict__.update(made.__dict__)

    @classmethod
    def on(
        cls,
        rows: ArrayRows,
        activation: Activation,
        alpha: float | None = None,
        beta: float | None = None,
        positive: bool = False,
    ) -> TensorSum:
        """The same over given rows, traceable and unchecked, such as fresh ones at every step of a descent."""
        weights = _weights(activation, alpha, beta)
        second, fourth = _coefficients(activation, *weights)
        dtype = rows.blocks["x"].dtype
        given = {name: jnp.asarray(value, dtype) for name, value in zip(("alpha", "beta"), weights, strict=True)}
        return cls._build(rows=rows, second=second, fourth=fourth, positive=positive, **given)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless all are one or the rows' lengths."""
        check_layers(arrays, self.n_features, np.ones(len(arrays["weights"])) if self.positive else None)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """−2 Σ weight·y Σ_i a_i (α h₂/φ̂₂ + β h₄/φ̂₄)(b_i·x) over a block."""
        unit, output = _layers(params, self.positive)
        parts = (w / c if c else 0.0 for w, c in ((self.alpha, self.second), (self.beta, self.fourth)))
        student = even_part(block["x"] @ unit.T, *parts) @ output
        return -2 * jnp.sum(block["weight"] * block["y"] * student)

    def penalty(self, params: Params) -> jax.Array:
        """What needs no rows."""
        return _own(*_layers(params, self.positive), self.alpha, self.beta)


def _weights(activation: Activation, alpha: float | None, beta: float | None) -> tuple[float, float]:
    """α and β, those of f' where they are not given."""
    return _checked(
        activation.hermite(2) ** 2 if alpha is None else alpha, activation.hermite(4) ** 2 if beta is None else beta
    )


class PopulationTensorSum(PopulationObjective):
    """αf₂ + βf₄ for a teacher, constant included: zero where both tensors are those of the teacher.

    T_k is E[y H_k(x)]/φ̂_k in unit directions, Σ_i a*_i b*_i^{⊗k} for unit rows.

    Parameters
    ----------
    teacher : Network
        Without biases.
    alpha, beta, positive : float, float, bool
        As in :class:`TensorSum`.

    Examples
    --------
    >>> loss = PopulationTensorSum(Network(np.eye(2), np.ones(2)), 1.0, 1.0)
    >>> loss.value(2 * np.eye(2)), loss.value(np.array([[1.0, 0.0], [1.0, 0.0]]))
    (0.0, 4.0)
    """

    _arrays = ("directions", "second", "fourth", "alpha", "beta", "constant")
    _static = ("positive",)
    non_negative = True

    directions: jax.Array
    second: jax.Array
    fourth: jax.Array
    alpha: jax.Array
    beta: jax.Array
    constant: jax.Array

    @float64
    def __init__(
        self, teacher: Network, alpha: float | None = None, beta: float | None = None, positive: bool = False
    ) -> None:
        self.positive = bool(positive)
        weights = _weights(teacher.activation, alpha, beta)
        second, fourth = _coefficients(teacher.activation, *weights)
        directions, along = teacher_tensor(teacher, 2)
        self.directions = to_jax(directions)
        self.second = to_jax(along / second if weights[0] else np.zeros(len(along)))
        self.fourth = to_jax(teacher_tensor(teacher, 4)[1] / fourth if weights[1] else np.zeros(len(along)))
        self.alpha, self.beta = map(to_jax, weights)
        squares = (self.directions @ self.directions.T) ** 2
        self.constant = self.alpha * self.second @ squares @ self.second
        self.constant += self.beta * self.fourth @ squares**2 @ self.fourth

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless all are one or the rows' lengths."""
        check_layers(arrays, self.n_features, np.ones(len(arrays["weights"])) if self.positive else None)

    def traced_value(self, params: Params) -> jax.Array:
        """α‖T₂ − Σ a_i b_i^{⊗2}‖² + β‖T₄ − Σ a_i b_i^{⊗4}‖² at unit rows."""
        unit, output = _layers(params, self.positive)
        squares = (self.directions @ unit.T) ** 2
        cross = self.alpha * self.second @ squares + self.beta * self.fourth @ (squares * squares)
        return self.constant + _own(unit, output, self.alpha, self.beta) - 2 * cross @ output
