r"""A model and a loss, composed once: f(θ) = mean over rows of loss(model(θ, x), y), and its curvature.

With J (r, p) or (r, m, p) the Jacobian of the predictions, s the slope of the loss and C its curvature
(:mod:`planted.objectives._losses`),

    ∇f = mean Jᵀs,        A = mean JᵀCJ,        S = mean (Jᵀs)(Jᵀs)ᵀ.

A is the Gauss–Newton matrix of a squared loss and the Fisher information of a likelihood. The sums run over blocks of
rows and over pieces of a block, so memory is bounded by p² and by (rows in a piece) × outputs × p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.networks import ConvNetwork, Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Params, RowObjective
from planted.objectives._host import at as host_point
from planted.objectives._host import curvature as host_curvature
from planted.objectives._host import is_small
from planted.objectives._host import noise_scores as host_noise_scores
from planted.objectives._host import residual_products as host_residual_products
from planted.objectives._host import scores as host_scores
from planted.objectives._host_losses import KNOWN
from planted.objectives._losses import Loss
from planted.objectives._models import Model
from planted.objectives._paths import Arrays, Candidates, length_paths
from planted.rows import ArrayRows, Block, Rows, over_rows

_JACOBIAN_ENTRIES = 4_000_000


class Fit(RowObjective):
    """mean loss(model.predict(params, x), y) over rows.

    Parameters
    ----------
    rows : Rows
        Of inputs x and targets y (n,) or (n, m).
    model : Model
    loss : Loss

    Examples
    --------
    >>> from planted.objectives import Dense, SquaredError
    >>> rows = ArrayRows(jnp.ones((3, 2)), jnp.ones(3))
    >>> Fit(rows, Dense("relu"), SquaredError()).value({"weights": np.eye(2), "output": np.zeros(2)})
    0.5
    """

    _arrays: ClassVar[tuple[str, ...]] = ("rows", "model")
    _static = ("loss",)
    non_negative = True
    model: Model
    loss: Loss
    ridge: Any = None
    """Factors of ½θ² in the penalty by the names of the parameters, or None: see :class:`Penalised`."""

    def flat_ridge(self, params: Params) -> Any:
        """Factors (p,) of ½θ² in the penalty, the parameters flattened by sorted name."""
        return np.zeros(sum(np.size(leaf) for leaf in jax.tree.leaves(params)))

    def canonical_ridge(self, arrays: Arrays) -> np.ndarray:
        """The same at the canonical parameters of a minimum."""
        return self.flat_ridge(arrays)

    def __init__(self, rows: Rows, model: Model, loss: Loss) -> None:
        self.rows, self.model, self.loss = rows, model, loss

    @classmethod
    def composed(cls, rows: Rows, model: Model, loss: Loss) -> Self:
        """An instance of a subclass over given rows, traceable and unchecked."""
        return cls._build(rows=rows, model=model, loss=loss)

    @property
    def on_host(self) -> bool:  # type: ignore[override]
        """Whether the host has the model and the loss in NumPy, and the rows are arrays."""
        known = isinstance(self.loss, KNOWN) and self.model.on_host and self.model.activation.on_host
        return known and isinstance(self.rows, ArrayRows)

    @property
    def activation(self) -> Activation:  # type: ignore[override]
        """φ of the model."""
        return self.model.activation

    @property
    def output(self) -> Any:
        """Fixed output weights, or None."""
        return self.model.output

    @property
    def bias(self) -> bool:
        """Whether there are hidden biases."""
        return self.model.bias

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.model.intercept

    @property
    def skip(self) -> bool:
        """Whether there is a linear part."""
        return self.model.skip

    def check_shapes(self, arrays: Arrays) -> None:
        """The shapes that the model asks for."""
        self.model.check_shapes(arrays, self.rows.shape)

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Predictions (r,) or (r, m) for rows x, traceable."""
        return self.model.predict(params, x)

    def feature(self, z: jax.Array) -> jax.Array:
        """What the model's neurons make of their pre-activations, traceable."""
        return self.model.feature(z)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """Σ weight · loss over a block."""
        return jnp.sum(block["weight"] * self.loss.of(self.model, params, block["x"], block["y"]))

    def constant_loss(self) -> float:
        """That of the mean of the targets, for squared errors."""
        return self.loss.of_constant(self.rows)

    def network(self, params: Params) -> Network | ConvNetwork:
        """The network that `params` stand for."""
        return self.model.network(params)

    def curvature(self, params: Params) -> Any:
        """The Gauss–Newton or Fisher matrix (p, p), see :func:`curvature_matrix`."""
        return curvature_matrix(self, params)[0]

    def convex_between_kinks(self, arrays: Arrays) -> bool:
        """Whether the loss is convex in these parameters wherever no pre-activation crosses a kink."""
        return self.model.linear_between_kinks(arrays)

    def symmetries(self, arrays: Arrays) -> Candidates:
        """Those of the model at this point, lengths of rows, and inputs that no sample shows."""
        # Dense neurons are not normalised: their length is free only where every row has them at an end of φ.
        yield from length_paths(arrays, *["length of saturated neurons"] * ("weights" in arrays))
        silent = _silent(self, arrays) if "weights" in arrays else np.zeros(0, bool)
        yield from self.model.symmetries(arrays, silent)
        yield from self.unseen(arrays)


def targets_of(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, ndim: int = 2) -> ArrayRows:
    """Rows in memory of inputs X, targets y (n,) or (n, m) and weights, checked and in float64.

    >>> targets_of([[1.0]], [[1.0, 2.0]]).shape
    (1,)
    """
    inputs, targets = as_rows(X, y, ndim, several=True)
    weight = None if sample_weight is None else to_jax(as_matrix("sample_weight", sample_weight, 1))
    # Patches are cut into blocks of as many numbers.
    size = None if ndim == 2 else max(1, (1 << 18) // int(np.prod(inputs.shape[1:])))
    return ArrayRows(to_jax(inputs), to_jax(targets), weight, block_size=size)


def outputs_of(rows: ArrayRows) -> int | None:
    """m for targets (n, m), None for targets (n,)."""
    return (None, *rows.blocks["y"].shape[2:])[-1]


def fixed_output(output: ArrayLike | None) -> jax.Array | None:
    """Fixed output weights (k,) or (m, k) in float64, or None.

    >>> fixed_output([[[1.0]]])
    Traceback (most recent call last):
    ValueError: output must have 1 dimension, not 3
    """
    return None if output is None else to_jax(as_matrix("output", output, 2 if np.ndim(output) == 2 else 1))


def check_outputs(model: Model, rows: ArrayRows) -> None:
    """Raise a ValueError unless the model has an output for each column of the targets."""
    wanted = outputs_of(rows)
    if model.n_outputs != wanted:
        raise ValueError(f"y has {wanted or 1} columns but the fixed output has {model.n_outputs or 1} rows")


def row_jacobian(objective: Fit, params: Params, x: jax.Array) -> jax.Array:
    """Derivative (r, p) or (r, m, p) of the predictions for rows x by the flattened parameters, traceable."""

    def one(row: jax.Array) -> jax.Array:
        jacobian = jax.jacrev(lambda at: objective.predict(at, row[None])[0])(params)
        pairs = zip(jax.tree.leaves(jacobian), jax.tree.leaves(params), strict=True)
        return jnp.concatenate([leaf.reshape(*leaf.shape[: leaf.ndim - like.ndim], -1) for leaf, like in pairs], -1)

    return jax.vmap(one)(x)


def _add_pieces(block: Block, params: Params, outputs: int, function: Callable[[Block], Any]) -> Any:
    """Σ function(piece) over pieces of a block whose Jacobians are of bounded size; padded by rows of weight zero."""
    n, size = block["y"].shape[0], sum(leaf.size for leaf in jax.tree.leaves(params))
    rows = max(1, min(n, _JACOBIAN_ENTRIES // (size * outputs)))
    pieces = -(-n // rows)
    if pieces == 1:
        return function(block)

    def cut(array: jax.Array) -> jax.Array:
        padding = jnp.zeros((pieces * rows - n, *array.shape[1:]), array.dtype)
        return jnp.concatenate([array, padding]).reshape(pieces, rows, *array.shape[1:])

    def one(total: Any, piece: Block) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, function(piece)), None

    cuts = jax.tree.map(cut, block)
    shapes = jax.eval_shape(function, jax.tree.map(lambda leaf: leaf[0], cuts))
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return jax.lax.scan(one, zero, cuts)[0]


def _curved(curvature: jax.Array, jacobian: jax.Array) -> jax.Array:
    """C J, or C times a change of predictions (r,) or (r, m)."""
    if curvature.ndim == 1:
        return curvature.reshape(-1, *[1] * (jacobian.ndim - 1)) * jacobian
    return jnp.einsum("rab,rb...->ra...", curvature, jacobian)


def block_curvature(block: Block, objective: Fit, params: Params) -> tuple[jax.Array, jax.Array]:
    """Σ weight JᵀCJ (p, p) and Σ weight Jᵀs (p,) over a block, a piece of it at a time."""

    def add(piece: Block) -> tuple[jax.Array, jax.Array]:
        J = row_jacobian(objective, params, piece["x"])
        value = objective.predict(params, piece["x"])
        weight = piece["weight"]
        weighted = weight.reshape(-1, *[1] * (J.ndim - 1)) * _curved(objective.loss.curvature(value, piece["y"]), J)
        gradient = jax.grad(objective.block_sum)(params, piece)
        size = J.shape[-1]
        flat = jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(gradient)])
        return weighted.reshape(-1, size).T @ J.reshape(-1, size), flat

    return _add_pieces(block, params, objective.model.n_outputs or 1, add)


def block_scores(block: Block, objective: Fit, params: Params) -> jax.Array:
    """Σ weight (Jᵀs)(Jᵀs)ᵀ (p, p) over a block, a piece of it at a time."""

    def add(piece: Block) -> jax.Array:
        J = row_jacobian(objective, params, piece["x"])
        slope = objective.loss.slope(objective.predict(params, piece["x"]), piece["y"])
        scores = jnp.einsum("rp,r->rp", J, slope) if slope.ndim == 1 else jnp.einsum("rmp,rm->rp", J, slope)
        return (scores * piece["weight"][:, None]).T @ scores

    return _add_pieces(block, params, objective.model.n_outputs or 1, add)


def block_residuals(block: Block, objective: Fit, params: Params) -> jax.Array:
    """Σ weight s sᵀ (m, m) over a block, s (m,) the slopes of a row's loss."""
    slope = objective.loss.slope(objective.predict(params, block["x"]), block["y"])
    return (slope * block["weight"][:, None]).T @ slope


def block_noise(block: Block, objective: Fit, params: Params, covariance: jax.Array) -> jax.Array:
    """Σ weight JᵀSJ (p, p) over a block for the covariance S (m, m) of its noise, a piece of it at a time."""

    def add(piece: Block) -> jax.Array:
        J = row_jacobian(objective, params, piece["x"])
        weighted = jnp.einsum("ab,rbp,r->rap", covariance, J, piece["weight"])
        return weighted.reshape(-1, J.shape[-1]).T @ J.reshape(-1, J.shape[-1])

    return _add_pieces(block, params, objective.model.n_outputs or 1, add)


def block_curvature_product(block: Block, objective: Fit, params: Params, direction: Params) -> Params:
    """Σ weight JᵀCJ·direction over a block, without its Jacobian."""
    value, change, transposed = objective.model.linearised(params, direction, block["x"])
    bent = _curved(objective.loss.curvature(value, block["y"]), change)
    return transposed(block["weight"].reshape(-1, *[1] * (bent.ndim - 1)) * bent)


def block_energy(block: Block) -> jax.Array:
    """½ Σ weight ‖y‖² over a block."""
    weight = block["weight"].reshape(-1, *[1] * (block["y"].ndim - 1))
    return 0.5 * jnp.sum(weight * block["y"] ** 2)


def block_loudness(block: Block, objective: Fit, params: Params) -> jax.Array:
    """−max |φ(w_i·x + b_i)| over a block, for each neuron."""
    size = jnp.abs(objective.activation(objective.model.preactivations(params, block["x"])))
    return -jnp.max(jnp.where(block["weight"][:, None] > 0, size, 0.0), axis=0)


def _silent(objective: Fit, arrays: Arrays) -> np.ndarray:
    """Whether a neuron is zero at every row (k,)."""
    if is_small(objective, arrays):
        return np.all(objective.activation(host_point(objective, arrays).z) == 0, axis=0)
    return np.asarray(_loudness(objective, to_jax(arrays))) == 0


@over_rows
def _loudness(objective: Fit, params: Params) -> jax.Array:
    return objective.rows.minimum(block_loudness, objective.bare, params)


@over_rows
def _curvature_matrix(objective: Fit, params: Params) -> tuple[jax.Array, jax.Array]:
    return objective.rows.mean(block_curvature, objective.bare, params)


@float64
def curvature_matrix(objective: Any, params: Params) -> tuple[Any, Any]:
    """A = mean JᵀCJ (p, p) and the gradient mean Jᵀs (p,) of a fit, the parameters flattened by sorted name.

    A is the Gauss–Newton matrix of a squared loss and the Fisher information of a likelihood. A penalty adds its own
    curvature and gradient.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0], "quadratic", output=[1.0])
    >>> A, g = curvature_matrix(loss, np.ones((1, 1)))
    >>> A, g
    (Array([[34.]], dtype=float64), Array([16.], dtype=float64))
    """
    if is_small(objective, params):
        return host_curvature(objective, params)
    matrix, gradient = _curvature_matrix(objective, params)
    if objective.ridge is None:
        return matrix, gradient
    ridge = objective.flat_ridge(params)
    return matrix + jnp.diag(ridge), gradient + ridge * jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(params)])


@over_rows
def _score_matrix(objective: Fit, params: Params) -> jax.Array:
    return objective.rows.sum(block_scores, objective.bare, params)


def block_class_weighted(block: Block, factors: jax.Array) -> Block:
    """The block with the weight of each row multiplied by the factor of its class."""
    return block | {"weight": block["weight"] * factors[block["y"].astype(int)]}


@float64
def score_matrix(objective: Any, params: Params, class_weight: Any = None) -> Any:
    """S = mean of the outer products of the rows' gradients (p, p): the meat of the sandwich.

    Where the rows' weights contain factors `class_weight` (m,) of their classes, these do not repeat rows: their
    squares belong into S, so that the outer products count once more by them.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0], "quadratic", output=[1.0])
    >>> score_matrix(loss, np.ones((1, 1)))
    Array([[512.]], dtype=float64)
    """
    if is_small(objective, params):
        return host_scores(objective, params, class_weight)
    rows = objective.rows
    if class_weight is not None:
        rows = rows.map(block_class_weighted, to_jax(np.asarray(class_weight, dtype=np.float64)))
    weighted = type(objective)._build(**objective.parts() | {"rows": rows})
    return _score_matrix(weighted, params) / objective.rows.total_weight


@over_rows
def _residual_products(objective: Fit, params: Params) -> jax.Array:
    return objective.rows.mean(block_residuals, objective.bare, params)


@float64
def residual_products(objective: Any, params: Params) -> Any:
    """Mean of r rᵀ (m, m) over the rows of a squared loss of several targets, r their residuals.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [[1.0, 0.0], [0.0, 0.0]])
    >>> residual_products(loss, {"weights": np.ones((1, 1)), "output": np.ones((2, 1))}).shape
    (2, 2)
    """
    if is_small(objective, params):
        return host_residual_products(objective, params)
    return _residual_products(objective, params)


@over_rows
def _noise_scores(objective: Fit, params: Params, covariance: jax.Array) -> jax.Array:
    return objective.rows.mean(block_noise, objective.bare, params, covariance)


@float64
def noise_scores(objective: Any, params: Params, covariance: ArrayLike) -> Any:
    """Mean of JᵀSJ (p, p): the meat of the sandwich for noise whose covariance between targets is S (m, m).

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [[1.0, 0.0], [0.0, 0.0]])
    >>> noise_scores(loss, {"weights": np.ones((1, 1)), "output": np.ones((2, 1))}, np.eye(2)).shape
    (3, 3)
    """
    between = np.asarray(covariance, dtype=np.float64)
    if is_small(objective, params):
        return host_noise_scores(objective, params, between)
    return _noise_scores(objective, params, to_jax(between))


@over_rows
def _curvature_product(objective: Fit, params: Params, direction: Params) -> Params:
    return objective.rows.mean(block_curvature_product, objective.bare, params, direction)


@float64
def curvature_product(objective: Fit, params: Params, direction: Params) -> Params:
    """A·direction, in the structure of the parameters, without forming A or a Jacobian.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0], "quadratic", output=[1.0])
    >>> curvature_product(loss, np.ones((1, 1)), np.ones((1, 1)))
    Array([[34.]], dtype=float64)
    """
    return _curvature_product(objective.on_cores(params), params, direction)


@float64
def energy(objective: RowObjective) -> Any:
    """½ mean ‖y‖², the squared loss of a network that is zero.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> float(energy(Squared([[1.0], [2.0]], [1.0, 3.0])))
    2.5
    """
    rows = objective.rows
    if isinstance(rows, ArrayRows) and not isinstance(rows.blocks["y"], jax.core.Tracer):
        _, y, weight = rows.on_host
        return 0.5 * float(np.sum(weight[:, None] * y**2))
    return _energy(objective)


@over_rows
def _energy(objective: RowObjective) -> jax.Array:
    return objective.rows.mean(block_energy)
