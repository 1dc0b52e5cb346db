"""The squared loss and its population form (Theorems 2.1 and 4.4 of Ge et al. 2017)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.activations.kernels import (
    SERIES_ORDER,
    cross_kernel,
    gaussian_kernel,
    series_coefficients,
    truncation_error,
)
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix
from planted.objectives._base import Params, PopulationObjective
from planted.objectives._dense_models import Dense, check_layers
from planted.objectives._fit import Fit, check_outputs, fixed_output, outputs_of, targets_of
from planted.objectives._losses import SquaredError
from planted.objectives._models import named, split
from planted.objectives._paths import Arrays
from planted.rows import Rows

_VANISHING = 1e-12


class Squared(Fit):
    """½ mean ‖intercept + skip·x + Σ_i output_i φ(weights_i·x + bias_i) − y‖².

    Parameters
    ----------
    X : array (n, d)
    y : array (n,), or (n, m) for m outputs
    activation : str, Activation or callable
    output : array (k,) or (m, k), optional
        Fixed output weights. If omitted they are parameters, {"weights": …, "output": …}; a plain array
        of weights then stands for a network whose outputs are all one.
    bias : bool
        Whether there are hidden biases, {"weights": …, "bias": …, …}.
    sample_weight : array (n,), optional
    intercept : bool
        Whether there is an intercept, {"intercept": () or (m,), …}; zero otherwise.
    skip : bool
        Whether there is a linear part, {"skip": (d,) or (m, d), …}; zero otherwise.

    Examples
    --------
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> loss.value({"weights": np.array([[1.0]]), "output": np.array([1.0])})
    1.0
    """

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        output: ArrayLike | None = None,
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
        intercept: bool = False,
        skip: bool = False,
    ) -> None:
        rows = targets_of(X, y, sample_weight)
        model = Dense(activation, fixed_output(output), bias, intercept, skip, n_outputs=outputs_of(rows))
        check_outputs(model, rows)
        super().__init__(rows, model, SquaredError())

    @classmethod
    def on(
        cls,
        rows: Rows,
        activation: Activation,
        output: ArrayLike | None = None,
        bias: bool = False,
        intercept: bool = False,
        skip: bool = False,
        n_outputs: int | None = None,
    ) -> Squared:
        """The same over given rows, traceable and unchecked; `n_outputs` is m where targets are (n, m)."""
        return cls.composed(rows, Dense(activation, output, bias, intercept, skip, n_outputs), SquaredError())

    def quadratic_problem(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """(X, y, W, v), of rows in memory."""
        block = self.rows.in_memory()
        if self.activation.name != "quadratic" or set(arrays) != {"weights"} or block is None or block["y"].ndim > 1:
            return None
        live = block["weight"] > 0
        if not np.all(block["weight"][live] == 1):
            return None
        W = np.asarray(arrays["weights"])
        return (
            block["x"][live],
            block["y"][live],
            W,
            np.ones(len(W)) if self.output is None else np.asarray(self.output),
        )


class PopulationSquared(PopulationObjective):
    """Expectation of :class:`Squared` under x ~ N(0, I) and y from a teacher.

    ½ (E[y²] − 2 Σ_ij a_i a*_j K(b_i, b*_j) + Σ_ij a_i a_j K(b_i, b_j)) with the Gaussian kernel K of the
    activation: closed for the arc-cosine family, the quadratic and the error functions, otherwise its
    Hermite series (eq. 2.3) up to `order`; `truncation_error` bounds what that leaves out.

    A student with another activation γ has its own coefficients (Theorem 4.4): on unit rows, but for what γ̂_k = 0
    leaves out, ½ Σ_k ‖φ̂_k Σ_i a*_i b*_i^{⊗k} − γ̂_k Σ_i a_i b_i^{⊗k}‖². Its least value is then not zero;
    `unreachable` is the part of it that no weights can fit, ½ Σ_{k: γ̂_k = 0} ‖Σ_i a*_i c_k(‖b*_i‖) b*_i^{⊗k}‖².

    Parameters
    ----------
    teacher : Network
        Without biases.
    output : array (k,), optional
        Fixed output weights of the student, as in :class:`Squared`.
    activation : str, Activation or callable, optional
        γ of the student; the teacher's φ if omitted. On rows, ``Squared(X, y, γ)``.

    Examples
    --------
    >>> teacher = Network(np.eye(2), np.ones(2))
    >>> PopulationSquared(teacher).value(np.eye(2))
    0.0

    A ReLU is ½z + ½|z|, so that ½|z| fits all but the linear part (footnote 12 of Ge et al. 2017):

    >>> half = PopulationSquared(teacher, activation="abs")
    >>> point = {"weights": np.eye(2), "output": np.full(2, 0.5)}
    >>> round(half.value(point), 12), round(float(half.unreachable), 12)
    (0.25, 0.25)
    """

    teacher_array = "weights"
    _arrays = ("weights", "targets", "energy", "output", "unreachable")
    _static = ("activation", "taught", "order")
    non_negative = True
    activation: Activation

    @float64
    def __init__(
        self,
        teacher: Network,
        output: ArrayLike | None = None,
        order: int = SERIES_ORDER,
        activation: Any = None,
    ) -> None:
        check_teacher(teacher)
        self.weights, self.targets = to_jax(teacher.weights), to_jax(teacher.output)
        self.taught, self.order = teacher.activation, int(order)
        self.activation = self.taught if activation is None else activations.get(activation)
        kernel = gaussian_kernel(self.taught, self.weights, self.weights, self.order)
        self.energy = self.targets @ kernel @ self.targets
        same = self.activation == self.taught
        self.unreachable = to_jax(0.0 if same else _unreachable(teacher, self.activation, self.order))
        self.output = None if output is None else to_jax(as_matrix("output", output, 1))

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless fixed."""
        check_layers(arrays, self.n_features, self.output)

    def known_minimum(self) -> tuple[float, str] | None:
        """Zero, or what the student's activation cannot fit."""
        least = float(self.unreachable)
        return (least, self._why) if least else super().known_minimum()

    @property
    def _why(self) -> str:
        return f"the loss is what no student with {self.activation.name} neurons can fit"

    def traced_value(self, params: Params) -> jax.Array:
        """½ E (prediction − y)²."""
        weights, output = split(params, self.output)
        cross = cross_kernel(self.activation, self.taught, weights, self.weights, self.order)
        own = gaussian_kernel(self.activation, weights, weights, self.order)
        return 0.5 * (self.energy - 2 * output @ cross @ self.targets + output @ own @ output)

    def truncation_error(self, params: Params) -> float:
        """Bound on |error| of the value from cutting the Hermite series; zero for closed forms.

        >>> teacher = Network(np.eye(2), np.ones(2), "softplus")
        >>> PopulationSquared(teacher).truncation_error(np.eye(2)) < 1e-6
        True
        """
        arrays = named(params)
        weights = np.vstack([np.asarray(arrays["weights"]), np.asarray(self.weights)])
        fixed = np.ones(len(np.asarray(arrays["weights"]))) if self.output is None else np.asarray(self.output)
        mass = np.sum(np.abs(arrays.get("output", fixed))) + np.sum(np.abs(np.asarray(self.targets)))
        pairs = (self.activation, None), (self.taught, None), (self.activation, self.taught)
        tails = [truncation_error(act, weights, self.order, other) for act, other in pairs]
        return 0.5 * float(mass) ** 2 * max(tails)


def _unreachable(teacher: Network, activation: Activation, order: int) -> float:
    """½ Σ_{k ≤ order: γ̂_k = 0} ‖Σ_i a*_i c_k(‖b*_i‖) u_i^{⊗k}‖² for unit directions u_i: a lower bound of the loss."""
    norms = np.linalg.norm(teacher.weights, axis=1)
    live = norms > 0
    unit = teacher.weights[live] / norms[live, None]
    own = np.asarray(series_coefficients(activation, to_jax(np.ones(1)), order))[0]
    taught = teacher.output[live] * np.asarray(series_coefficients(teacher.activation, to_jax(norms[live]), order)).T
    cosine = unit @ unit.T
    # Those of a student of another length vanish with these only where its activation is even, odd or homogeneous.
    absent = np.abs(own) < _VANISHING if activation.homogeneity is not None else _of_other_parity(activation, order)
    return 0.5 * float(sum(taught[k] @ cosine**k @ taught[k] for k in np.flatnonzero(absent)))


def _of_other_parity(activation: Activation, order: int) -> np.ndarray:
    """Which orders 0 … order an even or odd function of any length lacks."""
    k = np.arange(order + 1)
    if activation.parity is None:
        return np.zeros(len(k), bool)
    return k % 2 == (1 if activation.parity == "even" else 0)


def check_teacher(teacher: Any) -> None:
    """Raise unless `teacher` is a network whose population losses are known in closed form.

    >>> check_teacher(Network([[1.0]], [1.0], bias=[1.0]))
    Traceback (most recent call last):
    ValueError: population objectives need a teacher without biases and intercept
    """
    if not isinstance(teacher, Network):
        raise TypeError(f"teacher must be a planted.Network, not {type(teacher).__name__}")
    if teacher.bias is not None or np.any(teacher.intercept):
        raise ValueError("population objectives need a teacher without biases and intercept")
    if teacher.output.ndim > 1 or teacher.skip is not None:
        raise ValueError("population objectives need a teacher with one output and without a linear part")
