r"""Losses of one row: its value at a prediction, its slope there, and its curvature.

The curvature is that of Gauss–Newton and of Fisher scoring, E_y ∂²loss/∂prediction² with y drawn from the prediction:
with J the Jacobian of the predictions, JᵀCJ is positive semi-definite, and the Hessian of the mean loss wherever the
residuals average out.

| loss | value | slope s | curvature C |
|---|---|---|---|
| squared | ½‖ŷ − y‖² | ŷ − y | I |
| Bernoulli by its mean p | −y log p − (1 − y) log(1 − p) | (p − y)/(p(1 − p)) | 1/(p(1 − p)) |
| Bernoulli by its log-odds t | log(1 + eᵗ) − y t | p − y | p(1 − p), p = 1/(1 + e⁻ᵗ) |
| softmax of log-odds t | log Σ_c e^{t_c} − Σ_c y_c t_c | p − y | diag(p) − ppᵀ, p = softmax(t) |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.numerics.precision import float64
from planted.rows import ArrayRows

if TYPE_CHECKING:
    from planted.objectives._models import Model
    from planted.rows import Block, Rows

# A probability below this counts as this: the row's loss is then 345 and its gradient zero. Its square, which second
# derivatives divide by, is still a float64.
SMALLEST = 1e-150


@dataclass(frozen=True)
class Loss(ABC):
    """A convex function of predictions (r,) or (r, m) and targets y, row by row.

    Attributes
    ----------
    noisy : bool
        Whether the rows' noise has a variance of its own, to be estimated from the residuals.
    """

    noisy = False

    @abstractmethod
    def value(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """Loss (r,) of each row."""

    @abstractmethod
    def slope(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """Its derivative by the prediction, (r,) or (r, m)."""

    @abstractmethod
    def curvature(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """C (r,), or (r, m, m) for m outputs."""

    def of(self, model: Model, params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        """Loss (r,) of a model's rows x."""
        return self.value(model.predict(params, x), y)

    def of_constant(self, rows: Rows) -> float:
        """The mean loss over rows of the best constant, where it is known; infinite otherwise."""
        return float("inf")


def _target_sums(block: Block, centre: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Sums over a block of weights, and of targets beside a centre and their squares times these."""
    weight, away = block["weight"], block["y"] - centre
    return jnp.sum(weight), jnp.tensordot(weight, away, 1), jnp.sum(jnp.tensordot(weight, away**2, 1))


def _over_outputs(value: jax.Array) -> jax.Array:
    """(r,) as it is, and the sum over the outputs of (r, m)."""
    return jnp.sum(value, axis=1) if value.ndim > 1 else value


def _diagonal(curvature: jax.Array) -> jax.Array:
    """(r,) as it is, and diagonal matrices (r, m, m) of (r, m)."""
    if curvature.ndim == 1:
        return curvature
    return curvature[..., None] * jnp.eye(curvature.shape[-1], dtype=curvature.dtype)


@dataclass(frozen=True)
class SquaredError(Loss):
    """½‖ŷ − y‖², summed over outputs.

    >>> loss = SquaredError()
    >>> loss.value(jnp.array([1.0, 2.0]), jnp.zeros(2)), loss.curvature(jnp.zeros(2), jnp.zeros(2))
    (Array([0.5, 2. ], dtype=float32), Array([1., 1.], dtype=float32))
    """

    noisy = True

    def value(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """½‖ŷ − y‖²."""
        residual = prediction - y
        return 0.5 * _over_outputs(residual * residual)

    @float64
    def of_constant(self, rows: Rows) -> float:
        """That of the mean of the targets; nothing is compiled for rows in memory."""
        if isinstance(rows, ArrayRows):
            weight = np.asarray(rows.blocks["weight"]).ravel()
            y = np.asarray(rows.blocks["y"]).reshape(len(weight), -1)
            away = y - np.average(y, axis=0, weights=weight)
            return 0.5 * float(np.average(np.sum(away**2, axis=1), weights=weight))
        total, first, _ = rows.sum(_target_sums, 0.0)
        total, _, second = rows.sum(_target_sums, first / total)
        return 0.5 * float(second / total)

    def slope(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """ŷ − y."""
        return prediction - y

    def curvature(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """One, or the identity."""
        return _diagonal(jnp.ones_like(prediction))


@dataclass(frozen=True)
class BernoulliMean(Loss):
    """−y log p − (1 − y) log(1 − p) for predicted probabilities p.

    >>> BernoulliMean().value(jnp.array([0.5]), jnp.array([1.0]))
    Array([0.6931472], dtype=float32)
    """

    def value(self, prediction: jax.Array, y: jax.Array, complement: jax.Array | None = None) -> jax.Array:
        """Cross-entropy; `complement` is 1 − p where it is known with more digits than the subtraction keeps."""
        log = lambda p: jnp.log(jnp.maximum(p, SMALLEST))  # noqa: E731
        no = 1 - prediction if complement is None else complement
        return -_over_outputs(y * log(prediction) + (1 - y) * log(no))

    def slope(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """(p − y)/(p(1 − p))."""
        return (prediction - y) / self._variance(prediction)

    def curvature(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """1/(p(1 − p))."""
        return _diagonal(1 / self._variance(prediction))

    @staticmethod
    def _variance(p: jax.Array) -> jax.Array:
        """p(1 − p), where 1 − p is at least what rounding leaves of it."""
        return jnp.maximum(p * jnp.maximum(1 - p, jnp.finfo(p.dtype).eps / 2), SMALLEST)

    def of(self, model: Model, params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        """Loss (r,) of a model's rows x."""
        return self.value(model.predict(params, x), y, model.complement(params, x))


@dataclass(frozen=True)
class BernoulliLogit(Loss):
    """log(1 + eᵗ) − y t for predicted log-odds t.

    >>> BernoulliLogit().value(jnp.array([0.0, 1000.0]), jnp.array([1.0, 1.0]))
    Array([0.6931472, 0.       ], dtype=float32)
    """

    def value(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """Cross-entropy."""
        # y log(1 + e⁻ᵗ) + (1 − y) log(1 + eᵗ): nothing large cancels where label and sign of t agree.
        return _over_outputs(y * jax.nn.softplus(-prediction) + (1 - y) * jax.nn.softplus(prediction))

    def slope(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """p − y."""
        return jax.nn.sigmoid(prediction) - y

    def curvature(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """p(1 − p)."""
        return _diagonal(jax.nn.sigmoid(prediction) * jax.nn.sigmoid(-prediction))


@dataclass(frozen=True)
class Softmax(Loss):
    """log Σ_c e^{t_c} − Σ_c y_c t_c for predicted log-odds t (r, m), y shares (r, m) that sum to one, or classes (r,).

    >>> Softmax().value(jnp.zeros((1, 2)), jnp.array([1.0]))
    Array([0.6931472], dtype=float32)
    """

    @staticmethod
    def shares(prediction: jax.Array, y: jax.Array) -> jax.Array:
        """Targets (r, m), one-hot where y holds the number of a class."""
        return y if y.ndim > 1 else jax.nn.one_hot(y.astype(int), prediction.shape[-1], dtype=prediction.dtype)

    def value(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """Cross-entropy."""
        return -jnp.sum(self.shares(prediction, y) * jax.nn.log_softmax(prediction), axis=1)

    def slope(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """p − y."""
        return jax.nn.softmax(prediction) - self.shares(prediction, y)

    def curvature(self, prediction: jax.Array, y: jax.Array) -> jax.Array:
        """diag(p) − ppᵀ."""
        p = jax.nn.softmax(prediction)
        return _diagonal(p) - p[:, :, None] * p[:, None, :]
