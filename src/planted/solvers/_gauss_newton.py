r"""Gauss–Newton for squared losses without ever forming a Jacobian, for networks too large for normal equations.

A step solves (A + νM) s = −g with A = mean JᵀJ and g the gradient, by conjugate gradients preconditioned by M. The
metric M is Kronecker-factored: over the weights it is

    mean Σ_o(u_o u_oᵀ) ⊗ mean(x xᵀ),   u_oi = output_oi φ'(w_i·x) for output o,

which keeps the strong coupling of neurons through their common linear part and drops only how u depends on x. Values
and gradients are float64; products with A may be taken in float32, since an inexact step only means another one.
Only those and the means are compiled: inside one program with the conjugate gradients they take two to three times as
long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.numerics.threads import one_thread
from planted.objectives import Squared, SymmetricPart, curvature_product, energy, flatten, split
from planted.rows import Block
from planted.solvers._damped import Damped
from planted.solvers._iterate import Ending, Point, iterate
from planted.solvers._result import Descent

_RIDGE = 1e-5
_ACCURACY = 1e-3
# A decrease that a step promises, relative to the value, which is rounding.
_ROUNDING = 1e-14


def _moments(objective: Squared | SymmetricPart) -> jax.Array:
    """Mean over rows of x̃ x̃ᵀ, where x̃ is x, followed by one: the same at every point."""

    def add(block: Block) -> jax.Array:
        wide = jnp.column_stack([block["x"], jnp.ones(len(block["x"]), block["x"].dtype)])
        return (block["weight"][:, None] * wide).T @ wide

    return objective.rows.mean(add)


def _metric(objective: Squared | SymmetricPart, params: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Means over rows of Σ_o u_o u_oᵀ (k, k) and φ φᵀ (k, k)."""
    weights, output = split(params, objective.output)

    def add(block: Block) -> dict[str, jax.Array]:
        x, weight = block["x"], block["weight"][:, None]
        z = x @ weights.T + (params["bias"] if objective.bias else 0.0)
        feature, slope = jax.jvp(objective.feature, (z,), (jnp.ones_like(z),))
        return {name: (weight * part).T @ part for name, part in {"slopes": slope, "outputs": feature}.items()}

    means = objective.rows.mean(add)
    layer = jnp.atleast_2d(output)
    return means | {"slopes": means["slopes"] * (layer.T @ layer)}


_means, _moments_of = jax.jit(_metric), jax.jit(_moments)


class _Factored(NamedTuple):
    """A mean of squares with a small ridge, and its Cholesky factor."""

    matrix: np.ndarray
    factor: Any

    @classmethod
    def of(cls, mean: np.ndarray) -> _Factored:
        matrix = mean + _RIDGE * np.mean(np.diagonal(mean)) * np.eye(len(mean))
        return cls(matrix, cho_factor(matrix))


class _Metric:
    """M at a point, from means by name: products with it and with its inverse, in NumPy."""

    def __init__(self, parts: dict[str, _Factored], bias: bool) -> None:
        self.parts, self.bias = parts, bias

    def _over_layers(self, apply: Callable[[str, np.ndarray], np.ndarray], tree: dict[str, Any]) -> dict[str, Any]:
        """`apply(name, matrix)`, which multiplies by one factor or its inverse, on every layer."""
        joint = np.column_stack([tree["weights"], tree["bias"]]) if self.bias else tree["weights"]
        joint = apply("inputs", apply("slopes", joint).T).T
        applied = dict(tree)
        applied["weights"] = joint[:, : tree["weights"].shape[1]]
        if self.bias:
            applied["bias"] = joint[:, -1]
        for name, factor in (("output", "outputs"), ("linear", "moments"), ("skip", "moments")):
            if name in tree:
                applied[name] = apply(factor, tree[name].T).T
        return applied

    def times(self, tree: dict[str, Any]) -> dict[str, Any]:
        """M times `tree`."""
        return self._over_layers(lambda name, array: self.parts[name].matrix @ array, tree)

    def solved(self, tree: dict[str, Any]) -> dict[str, Any]:
        """M⁻¹ times `tree`."""
        return self._over_layers(lambda name, array: cho_solve(self.parts[name].factor, array), tree)


@float64
def gauss_newton(
    objective: Squared | SymmetricPart,
    params: dict[str, Any],
    *,
    steps: int = 50,
    inner: int = 40,
    tolerance: float = 1e-13,
    dtype: Any = np.float32,
    progress: Progress = silent,
) -> Descent:
    """Minimise a squared loss by damped Gauss–Newton steps from a start that is already near.

    Parameters
    ----------
    objective : Squared or SymmetricPart
    params : dict of arrays
    steps : int
        Largest number of steps, accepted or rejected; each costs one value and gradient.
    inner : int
        Largest number of conjugate gradients a step, each a product with JᵀJ.
    tolerance : float
        Stop when a step changes the parameters by less than this, relative to their norm, or when the loss
        is this fraction squared of ½ E[y²]; also when a step promises a decrease that is rounding.
    dtype : numpy dtype
        Precision of the products with JᵀJ. Values and gradients have the precision of the objective's arrays.

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> loss = objectives.Squared(data.X, data.y)
    >>> start = {"weights": data.teacher.weights + 0.1, "output": data.teacher.output}
    >>> gauss_newton(loss, start).value < 1e-24
    True
    """
    floor = float(energy(objective)) * tolerance**2
    return iterate(_GaussNewton(tolerance, floor, inner, dtype), objective, params, steps=steps, progress=progress)


class _GaussNewton(Damped):
    dampings = (1e-3, 1e-6, 1e6)

    def __init__(self, tolerance: float, floor: float, inner: int, rough: Any) -> None:
        super().__init__(tolerance, floor)
        self.inner, self.rough, self.promised = inner, rough, np.inf

    def init(self, problem: Any, params: Any) -> Point:
        self.objective, self.dtype = self.cast(problem), jax.tree.leaves(problem.rows)[0].dtype
        mean = np.asarray(_moments_of(self.objective), dtype=np.float64)
        inputs = mean if self.objective.bias else mean[:-1, :-1]
        self.inputs = {"inputs": _Factored.of(inputs), "moments": _Factored.of(mean[:-1, :-1])}
        return super().init(problem, params)

    def cast(self, tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, self.rough), tree)

    def solve(self, state: Point) -> np.ndarray:
        flat, point = state.flat, self.cast(self.params(state))
        means = {name: np.asarray(mean, dtype=np.float64) for name, mean in _means(self.objective, point).items()}
        at_point = {name: _Factored.of(mean) for name, mean in means.items()}
        metric = _Metric(self.inputs | at_point, self.objective.bias)

        def product(vector: np.ndarray) -> np.ndarray:
            tree = flat.params(vector)
            curved = flatten(curvature_product(self.objective, point, self.cast(tree)))
            return curved + state.damping * flatten(metric.times(tree))

        # A gradient of unit size, as small ones would vanish in float32.
        unit = state.gradient / state.gradient_norm
        shape = (len(unit), len(unit))
        with one_thread():
            step, _ = cg(
                LinearOperator(shape, product),
                unit,
                rtol=_ACCURACY,
                maxiter=self.inner,
                M=LinearOperator(shape, lambda vector: flatten(metric.solved(flat.params(vector)))),
            )
        self.promised = 0.5 * state.gradient_norm * float(state.gradient @ step)
        return -state.gradient_norm * step

    def terminate(self, state: Point) -> Ending | None:
        """As every damped solver, and where the last step promised only rounding."""
        ending = super().terminate(state)
        return Ending.STEP if ending is None and self.promised <= _ROUNDING * state.value else ending
