"""What every objective promises: value, gradient, Hessian-vector product, Hessian.

A subclass writes one traceable function: `traced_value(params)` for a closed form, or for an empirical
objective `block_sum(params, block)`, its sum over one block of rows, and `penalty(params)`, what does not
depend on rows. Derivatives come from automatic differentiation, block by block, so memory stays bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from planted.activations import Activation
from planted.networks import ConvNetwork, Network
from planted.numerics.precision import float64, to_jax, to_numpy
from planted.numerics.pytrees import Pytree
from planted.objectives._host import HESSIAN_WORK, LARGEST_WORK, is_small
from planted.objectives._host import hessian as host_hessian
from planted.objectives._host import value as host_value
from planted.objectives._host import value_and_gradient as host_value_and_gradient
from planted.objectives._models import Model, Params, check_weights, named
from planted.objectives._paths import Arrays, Candidates, length_paths, neuron_paths, rotation_paths, unseen_paths
from planted.rows import ArrayRows, Block, Rows, on_cores, over_rows

_HESSIAN_COLUMNS = 64


class Objective(Pytree, ABC):
    """A function to minimise over parameters, with exact derivatives in float64.

    Attributes
    ----------
    n_features : int
        Number of inputs d.
    non_negative, convex : bool
        What is known of the values, and of the function as a whole.
    shared_filter : bool
        Whether this is a squared loss of one filter shared by patches, as in Du et al. (2017).
    rows : Rows or None
        Of an empirical objective.
    model : Model or None
        Of a fit, which applies a model to samples.
    activation : Activation or None
        φ, where the parameters are those of its neurons.
    output : array or None
        Fixed output weights, if any.
    teacher_rows : array (m, d) or None
        Directions of the inputs that a population objective knows of.
    constants : Any
        μ, λ and what they rest on, for the objectives that have them.
    """

    n_features: int
    non_negative: bool = False
    convex: bool = False
    shared_filter: bool = False
    rows: Rows | None = None
    model: Model | None = None
    activation: Activation | None = None
    output: Any = None
    constants: Any = None

    @property
    def teacher_rows(self) -> np.ndarray | None:
        """Directions (m, d) of the inputs that the objective knows of; None where it is made of samples."""
        return None

    on_host: bool = False
    """Whether it is computed in NumPy where rows are few; see :mod:`planted.objectives._host`."""

    @property
    def traceable(self) -> bool:
        """Whether values and derivatives are JAX programs as a whole; see :class:`planted.rows.Rows`."""
        return True

    def on_cores(self, params: Params) -> Self:
        """The objective, with sums over rows shared out between the cores where that pays."""
        return self

    @abstractmethod
    def traced_value(self, params: Params) -> jax.Array:
        """The objective as a JAX-traceable function."""

    def traced_value_and_gradient(self, params: Params) -> tuple[jax.Array, Params]:
        """Value and gradient, traceable."""
        return jax.value_and_grad(self.traced_value)(params)

    def traced_hvp(self, params: Params, direction: Params) -> Params:
        """Hessian times `direction`, traceable: forward mode over reverse mode."""
        return jax.jvp(jax.grad(self.traced_value), (params,), (direction,))[1]

    def traced_hvps(self, params: Params, directions: Params) -> Params:
        """Hessian times each of `directions`, stacked along a leading axis."""
        return jax.vmap(lambda direction: self.traced_hvp(params, direction))(directions)

    def checked(self, params: Params) -> Params:
        """`params` as float64 arrays of NumPy, or a ValueError that says what is wrong with them."""
        arrays = {}
        for name, value in named(params).items():
            if getattr(value, "dtype", np.float64) == np.float32:
                raise ValueError(f"{name} is float32; objectives are evaluated in float64, so pass float64")
            try:
                arrays[name] = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(f"{name} must be an array of numbers") from None
            if not np.all(np.isfinite(arrays[name])):
                raise ValueError(f"{name} holds NaN or infinite values")
        self.check_shapes(arrays)
        return arrays if isinstance(params, dict) else arrays["weights"]

    @float64
    def check(self, params: Params) -> Params:
        """The same as arrays of JAX."""
        return to_jax(self.checked(params))

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Raise a ValueError unless `arrays`, by name, have the shapes this objective takes."""
        if set(arrays) != {"weights"}:
            raise ValueError(f"{type(self).__name__} takes an array (k, {self.n_features}) of weights")
        check_weights(arrays["weights"], self.n_features)

    def known_minimum(self) -> tuple[float, str] | None:
        """The least value and why it is the least, where a theorem gives it."""
        return (0.0, "the loss is never negative, and here it is zero") if self.non_negative else None

    def constant_loss(self) -> float:
        """The loss of the best constant, where targets have one; infinite otherwise."""
        return float("inf")

    def pair_form(self) -> Any:
        """The :class:`PairForm` of G, F and L with as many neurons as inputs, otherwise None."""
        return None

    def on_parts(self, count: int) -> list[Any] | None:
        """The same objective on `count` disjoint parts of its rows, for its sampling error, where that is possible."""
        return None

    def network(self, params: Params) -> Network | ConvNetwork | None:
        """The network that `params` stand for, if they do."""
        arrays = named(params)
        if self.activation is None or "weights" not in arrays:
            return None
        output = np.ones(len(arrays["weights"])) if self.output is None else self.output
        return Network(**{"output": output, **arrays}, activation=self.activation)

    def convex_between_kinks(self, arrays: Arrays) -> bool:
        """Whether the objective is convex in these parameters wherever no pre-activation crosses a kink."""
        return False

    def quadratic_problem(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """(X, y, W, v) of an unweighted squared loss of a quadratic network with fixed outputs, otherwise None."""
        return None

    def symmetries(self, arrays: Arrays) -> Candidates:
        """Paths from `arrays` along which the objective may stay the same."""
        yield from length_paths(arrays)
        if self.teacher_rows is not None:
            yield from rotation_paths(arrays, self.teacher_rows)
        if "weights" in arrays:
            k, act = len(arrays["weights"]), self.activation
            fixed = np.ones(k) if np.shape(self.output) != (k,) else np.asarray(self.output)
            degree, parity = (None, None) if act is None else (act.homogeneity, act.parity)
            yield from neuron_paths(arrays, arrays.get("output", fixed), degree, parity, np.zeros(k, bool))

    @float64
    def value(self, params: Params) -> float:
        """The objective at `params`."""
        return float(evaluate(self, self.checked(params)))

    @float64
    def gradient(self, params: Params) -> Params:
        """Its gradient, of the same structure as `params`."""
        return to_numpy(evaluate_with_gradient(self, self.checked(params))[1])

    @float64
    def value_and_gradient(self, params: Params) -> tuple[float, Params]:
        """Both at the cost of the gradient."""
        value, gradient = evaluate_with_gradient(self, self.checked(params))
        return float(value), to_numpy(gradient)

    @float64
    def hvp(self, params: Params, direction: Params) -> Params:
        """Hessian at `params` times `direction`, which has the structure of `params`."""
        params, direction = self.checked(params), self.checked(direction)
        if jax.tree.map(jnp.shape, params) != jax.tree.map(jnp.shape, direction):
            raise ValueError("direction must have the same shapes as params")
        return to_numpy(hessian_product(self, params, direction))

    @float64
    def hessian(self, params: Params) -> np.ndarray:
        """Hessian (p, p) over the p parameters, flattened in the order of `jax.flatten_util.ravel_pytree`.

        A dict is flattened by sorted names, each array row by row.
        """
        checked = self.checked(params)
        if is_small(self, checked, HESSIAN_WORK):
            matrix = host_hessian(self, checked)
            return (matrix + matrix.T) / 2
        leaves, structure = jax.tree.flatten(checked)
        shapes, cuts = [leaf.shape for leaf in leaves], np.cumsum([leaf.size for leaf in leaves])
        params, size = jax.tree.unflatten(structure, leaves), int(cuts[-1])
        # Blocks of equal size share one program; the last is filled up with zeros.
        width = min(size, _HESSIAN_COLUMNS)
        columns = []
        for start in range(0, size, width):
            block = np.eye(width, size, start)
            parts = [part.reshape(-1, *s) for part, s in zip(np.split(block, cuts[:-1], axis=1), shapes, strict=True)]
            products = jax.tree.leaves(hessian_products(self, params, jax.tree.unflatten(structure, parts)))
            columns.append(np.concatenate([np.asarray(leaf).reshape(width, -1) for leaf in products], axis=1))
        matrix = np.concatenate(columns)[:size]
        return (matrix + matrix.T) / 2


class PopulationObjective(Objective):
    """An expectation over the inputs of a teacher, whose rows (k, d) are one of its arrays."""

    teacher_array: ClassVar[str] = "directions"
    """The array that holds the teacher's rows."""

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return int(getattr(self, self.teacher_array).shape[1])

    @property
    def teacher_rows(self) -> np.ndarray:
        """The teacher's rows."""
        return np.asarray(getattr(self, self.teacher_array))


class RowObjective(Objective):
    """A weighted mean over rows plus a penalty: additive over blocks of rows."""

    rows: Rows

    @property
    def traceable(self) -> bool:
        """Whether the rows' sums can be traced."""
        return self.rows.traceable

    def parts(self) -> dict[str, Any]:
        """What the objective is made of, by name: see :meth:`planted.numerics.pytrees.Pytree._build`."""
        return {name: getattr(self, name) for name in (*self._arrays, *self._static)}

    @property
    def bare(self) -> Self:
        """The objective without its rows: what a block needs to know of it."""
        return type(self)._build(**self.parts() | {"rows": None})

    def on_cores(self, params: Params) -> Self:
        """The objective with its sums shared out between the cores, where that pays: not to be traced then."""
        numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(params))
        rows = on_cores(self.rows, numbers // int(np.prod(self.rows.shape)))
        return self if rows is self.rows else type(self)._build(**self.parts() | {"rows": rows})

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.rows.n_features

    @abstractmethod
    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """Sum of the weighted row losses over one block."""

    @property
    def has_penalty(self) -> bool:
        """Whether anything does not depend on rows."""
        return type(self).penalty is not RowObjective.penalty

    def penalty(self, params: Params) -> jax.Array | float:
        """What does not depend on rows."""
        return 0.0

    def unseen(self, arrays: Arrays) -> Candidates:
        """Weights along directions in which no sample varies."""
        if "weights" in arrays and len(self.rows.shape) == 1:
            yield from unseen_paths(arrays, _gram_of(self))

    def symmetries(self, arrays: Arrays) -> Candidates:
        """Paths from `arrays` along which the objective may stay the same."""
        yield from super().symmetries(arrays)
        yield from self.unseen(arrays)

    def traced_value(self, params: Params) -> jax.Array:
        """Mean over rows plus penalty."""
        return self.rows.mean(block_value, self.bare, params) + self.penalty(params)

    def traced_value_and_gradient(self, params: Params) -> tuple[jax.Array, Params]:
        """Value and gradient, accumulated block by block."""
        bare = self.bare
        rows = self.rows.mean(block_value_and_gradient, bare, params)
        return _add_penalty(bare, params, rows) if self.has_penalty else rows

    def traced_hvp(self, params: Params, direction: Params) -> Params:
        """Hessian-vector product, accumulated block by block."""
        bare = self.bare
        rows = self.rows.mean(block_hvp, bare, params, direction)
        return _add_penalty_hvp(bare, params, direction, rows) if self.has_penalty else rows

    def traced_hvps(self, params: Params, directions: Params) -> Params:
        """Hessian times each of `directions`, in one pass over the rows."""
        bare = self.bare
        rows = self.rows.mean(block_hvps, bare, params, directions)
        return _add_penalty_hvps(bare, params, directions, rows) if self.has_penalty else rows


def block_value(block: Block, objective: RowObjective, params: Params) -> jax.Array:
    """What a block adds to the value."""
    return objective.block_sum(params, block)


def block_value_and_gradient(block: Block, objective: RowObjective, params: Params) -> tuple[jax.Array, Params]:
    """What a block adds to value and gradient."""
    return jax.value_and_grad(objective.block_sum)(params, block)


def block_hvp(block: Block, objective: RowObjective, params: Params, direction: Params) -> Params:
    """What a block adds to the Hessian times `direction`."""
    return jax.jvp(lambda p: jax.grad(objective.block_sum)(p, block), (params,), (direction,))[1]


def block_hvps(block: Block, objective: RowObjective, params: Params, directions: Params) -> Params:
    """What a block adds to the Hessian times each of `directions`."""
    return jax.vmap(lambda direction: block_hvp(block, objective, params, direction))(directions)


# Compiled, as rows that are not traced leave the rest to be done operation by operation.
@jax.jit
def _add_penalty(objective: RowObjective, params: Params, rows: Params) -> tuple[jax.Array, Params]:
    penalty = jax.value_and_grad(lambda p: jnp.asarray(objective.penalty(p)) + 0.0)(params)
    total: tuple[jax.Array, Params] = jax.tree.map(jnp.add, rows, penalty)
    return total


@jax.jit
def _add_penalty_hvp(objective: RowObjective, params: Params, direction: Params, rows: Params) -> Params:
    slope = jax.grad(lambda p: jnp.asarray(objective.penalty(p)) + 0.0)
    return jax.tree.map(jnp.add, rows, jax.jvp(slope, (params,), (direction,))[1])


@jax.jit
def _add_penalty_hvps(objective: RowObjective, params: Params, directions: Params, rows: Params) -> Params:
    return jax.vmap(lambda direction, part: _add_penalty_hvp(objective, params, direction, part))(directions, rows)


def evaluate(objective: Objective, params: Params) -> Any:
    """The value, computed on the host where rows are few, by a compiled program otherwise."""
    return (
        host_value(objective, params) if is_small(objective, params) else _evaluate(objective.on_cores(params), params)
    )


def evaluate_with_gradient(objective: Objective, params: Params) -> tuple[Any, Params]:
    """Value and gradient, computed on the host where rows are few, by a compiled program otherwise."""
    if is_small(objective, params):
        return host_value_and_gradient(objective, params)
    return _evaluate_with_gradient(objective.on_cores(params), params)


@over_rows
def _evaluate(objective: Objective, params: Params) -> jax.Array:
    return objective.traced_value(params)


@over_rows
def _evaluate_with_gradient(objective: Objective, params: Params) -> tuple[jax.Array, Params]:
    return objective.traced_value_and_gradient(params)


def hessian_product(objective: Objective, params: Params, direction: Params) -> Params:
    return _hessian_product(objective.on_cores(params), params, direction)


@over_rows
def _hessian_product(objective: Objective, params: Params, direction: Params) -> Params:
    return objective.traced_hvp(params, direction)


@over_rows
def hessian_products(objective: Objective, params: Params, directions: Params) -> Params:
    return objective.traced_hvps(params, directions)


def block_gram(block: Block) -> jax.Array:
    """Σ xxᵀ over the rows of a block that count."""
    x = jnp.where(block["weight"][:, None] > 0, block["x"], 0.0)
    return x.T @ x


def _gram_of(objective: RowObjective) -> np.ndarray:
    """Σ xxᵀ (d, d), on the host where rows are few."""
    rows = objective.rows
    if isinstance(rows, ArrayRows) and rows.size * int(np.prod(rows.shape)) ** 2 <= LARGEST_WORK:
        x = rows.on_host[0]
        return np.asarray(x.T @ x)
    return np.asarray(_gram(objective))


@over_rows
def _gram(objective: RowObjective) -> jax.Array:
    return objective.rows.sum(block_gram)
