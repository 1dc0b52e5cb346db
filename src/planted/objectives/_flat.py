"""An objective as a function of one vector, for solvers and spectra that are written for vectors."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from planted.numerics.precision import float64
from planted.objectives._base import Objective, Params, evaluate_with_gradient, hessian_product
from planted.objectives._host import is_small
from planted.objectives._host import value_and_gradient as host_value_and_gradient
from planted.objectives._models import flatten

_evaluated = float64(evaluate_with_gradient)


def unflatten(vector: Any, like: Params) -> Params:
    """A vector (p,) cut into arrays of the shapes of `like`: the inverse of :func:`flatten`, traceable.

    >>> unflatten(np.arange(3.0), {"weights": np.ones((1, 2)), "output": np.zeros(1)})
    {'output': array([0.]), 'weights': array([[1., 2.]])}
    """
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves]).tolist()
    parts = [vector[end - leaf.size : end].reshape(leaf.shape) for end, leaf in zip(ends, leaves, strict=True)]
    return jax.tree.unflatten(structure, parts)


def units_of(params: Params) -> np.ndarray:
    """For every entry of the flattened parameters the Frobenius norm of its array; one for an array of zeros.

    >>> units_of({"weights": np.full((1, 4), 2.0), "output": np.zeros(1)})
    array([1., 4., 4., 4., 4.])
    """
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    return np.concatenate([np.full(leaf.size, float(np.linalg.norm(leaf)) or 1.0) for leaf in leaves])


class Flat:
    """u (p,) ↦ f(s∘u), the arrays of the parameters laid end to end.

    A change of units s is a congruence of the Hessian: signs of eigenvalues, and with them the kind of a critical
    point, stay. All calls go through the programs that the objective compiles for its own shapes.

    Parameters
    ----------
    objective : Objective
    params : Params
        Gives the shapes, and `start`.
    units : array (p,), optional
        s; ones if omitted.
    dtype : numpy dtype
        Precision in which the objective is evaluated; vectors are float64.

    Attributes
    ----------
    start : array (p,)
        u of `params`.
    evaluations : int
        Gradients and Hessian-vector products so far.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> flat = Flat(Squared([[1.0]], [0.0], "quadratic"), np.ones((1, 1)), np.array([2.0]))
    >>> flat.start, flat.value_and_gradient(flat.start), flat.hessian(flat.start)
    (array([0.5]), (0.5, array([4.])), array([[24.]]))
    """

    def __init__(
        self, objective: Objective, params: Params, units: np.ndarray | None = None, dtype: Any = np.float64
    ) -> None:
        self._like = jax.tree.map(np.asarray, params, is_leaf=lambda node: not isinstance(node, dict))
        flat = flatten(self._like)
        self.objective, self.evaluations, self.dtype = objective, 0, dtype
        self.units = np.ones(len(flat)) if units is None else units
        self.start = flat / self.units
        # Asked once: shapes stay, and on small problems the question takes a fifth of an evaluation.
        self._on_host = is_small(objective, self._like)

    @property
    def traceable(self) -> bool:
        """Whether the objective is one JAX program."""
        return self.objective.traceable

    def params(self, vector: np.ndarray, dtype: Any = np.float64) -> Params:
        """The parameters s∘u."""
        scaled = self.units * np.asarray(vector, dtype=np.float64).ravel()
        return unflatten(scaled.astype(dtype), self._like)

    def vector(self, params: Params) -> np.ndarray:
        """The u of given parameters, or of a direction."""
        return flatten(params) / self.units

    def value(self, vector: np.ndarray) -> float:
        """f(s∘u)."""
        return self.value_and_gradient(vector)[0]

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """f(s∘u) and s∘∇f(s∘u)."""
        self.evaluations += 1
        evaluated = host_value_and_gradient if self._on_host else _evaluated
        value, gradient = evaluated(self.objective, self.params(vector, self.dtype))
        return float(value), self.units * flatten(gradient)

    @float64
    def product(self, vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """s∘H(s∘direction)."""
        self.evaluations += 1
        product: Any = hessian_product(self.objective, self.params(vector), self.params(direction))
        return self.units * flatten(product)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """s∘H∘s (p, p)."""
        return self.units[:, None] * self.objective.hessian(self.params(vector)) * self.units
