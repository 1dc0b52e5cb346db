r"""Models: what a network predicts from its parameters, and what its parameters leave open.

A model is the only place where networks become parameters and back. Its parameters are arrays by name,
{"weights": (k, d), "output": (k,) or (m, k), …}; a plain array stands for the weights alone. Of the parameters that
stand for the same function one is canonical; `normalised` is the part of that choice which can be differentiated, and
`gauge` has the directions that it takes out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.activations import Activation
from planted.networks import ConvNetwork, Network
from planted.numerics.decompositions import svd
from planted.numerics.precision import float64
from planted.numerics.pytrees import Pytree
from planted.objectives._host_filters import FilterCoordinates
from planted.objectives._paths import Arrays, Candidates

# A share of a length that rounding explains.
_BESIDE = 1e-6

Params = Any
"""An array (k, d) of weights, or a dict of arrays such as {"weights": (k, d), "output": (k,)}."""


def named(params: Params) -> dict[str, Any]:
    """`params` by name: a plain array is that of the weights.

    >>> named([[1.0]])
    {'weights': [[1.0]]}
    """
    return params if isinstance(params, dict) else {"weights": params}


def flatten(tree: Params) -> np.ndarray:
    """All arrays of `tree` end to end (p,), in the order of `jax.flatten_util.ravel_pytree`: a dict by sorted names.

    >>> flatten({"weights": np.ones((1, 2)), "output": np.zeros(1)})
    array([0., 1., 1.])
    """
    return np.concatenate([np.asarray(leaf, dtype=np.float64).ravel() for leaf in jax.tree.leaves(tree)])


def lengths(rows: Any) -> Any:
    """‖row‖ along the last axis, and one with derivative zero for a row of zeros.

    >>> lengths(jnp.array([[3.0, 4.0], [0.0, 0.0]]))
    Array([5., 1.], dtype=float32)
    """
    place: Any = np if isinstance(rows, np.ndarray) else jnp
    square = place.sum(rows * rows, axis=-1)
    return place.sqrt(place.where(square > 0, square, 1.0))


def unit(rows: Any) -> Any:
    """Rows divided by their lengths; zero, with derivative one, for a row of zeros.

    >>> unit(jnp.array([3.0, 4.0]))
    Array([0.6, 0.8], dtype=float32)
    """
    return rows / lengths(rows)[..., None]


def part_beside(row: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """l (d,) with l·row = 1 that sees none of `directions` (d, q); row/‖row‖² where these leave nothing of it.

    It is the derivative of the log of the length of the row's part that is orthogonal to them.

    >>> part_beside(np.array([0.6, 0.8]), np.array([[1.0], [0.0]]))
    array([0.  , 1.25])
    """
    size = np.linalg.norm(directions, axis=0)
    there = size > _BESIDE * size.max(initial=0.0)
    left, values, _ = svd(directions[:, there] / size[there])
    basis = left[:, values > _BESIDE]
    part = row - basis @ (basis.T @ row)
    part = row if np.linalg.norm(part) <= _BESIDE * np.linalg.norm(row) else part
    return np.asarray(part / (part @ row))


def split(params: Params, output: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    """Weights (k, d) and outputs (k,) or (m, k) of `params`; outputs are `output` or one where `params` has none.

    >>> weights, output = split(jnp.ones((2, 3)), None)
    >>> output
    Array([1., 1.], dtype=float32)
    """
    params = named(params)
    weights = params["weights"]
    if "output" in params:
        return weights, params["output"]
    return weights, jnp.ones(weights.shape[0], weights.dtype) if output is None else output.astype(weights.dtype)


def check_weights(weights: np.ndarray, n_features: int) -> None:
    """Raise a ValueError unless `weights` is (k, n_features) with k ≥ 1.

    >>> check_weights(np.ones((2, 3)), 4)
    Traceback (most recent call last):
    ValueError: weights has shape (2, 3), expected (k, 4)
    """
    if weights.ndim != 2 or weights.shape[1] != n_features or not len(weights):
        raise ValueError(f"weights has shape {weights.shape}, expected (k, {n_features})")


def check_names(arrays: Arrays, wanted: dict[str, tuple[int, ...]], optional: str = "") -> None:
    """Raise a ValueError unless `arrays` has the shapes `wanted`, of which one may be left out.

    >>> check_names({"filter": np.ones(2), "output": np.ones(3)}, {"filter": (2,), "output": (4,)})
    Traceback (most recent call last):
    ValueError: output has shape (3,), expected (4,)
    """
    if not wanted.keys() - {optional} <= arrays.keys() <= wanted.keys():
        raise ValueError(f"params has {sorted(arrays)}, expected {sorted(wanted)}")
    for name in sorted(arrays):
        if arrays[name].shape != wanted[name]:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {wanted[name]}")


class Model(Pytree):
    """A network as a function of its parameters.

    Attributes
    ----------
    activation : Activation
        φ.
    output : array or None
        Fixed output weights, or None where they are parameters or there is no choice.
    bias, intercept, skip : bool
        Which of these parameters there are.
    n_outputs : int or None
        m where a prediction has m entries, None where it is a number.
    """

    activation: Activation
    output: Any = None
    bias: bool = False
    intercept: bool = False
    skip: bool = False
    n_outputs: int | None = None

    @property
    def free_output(self) -> bool:
        """Whether the output weights are parameters."""
        return self.output is None

    @abstractmethod
    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Predictions (r,) or (r, m) for rows x, traceable."""

    def linearised(
        self, params: Params, direction: Params, x: jax.Array
    ) -> tuple[jax.Array, jax.Array, Callable[[jax.Array], Params]]:
        """Predictions for rows x, their derivative along `direction` and the derivative's transpose; traceable."""
        value, linear = jax.linearize(lambda at: self.predict(at, x), params)
        transposed = jax.linear_transpose(linear, params)
        return value, linear(direction), lambda change: transposed(change)[0]

    @abstractmethod
    def preactivations(self, params: Params, x: jax.Array) -> jax.Array:
        """What φ is applied to: (r, k) for neurons, (r, patches) or (r, patches, f) for filters; traceable."""

    @abstractmethod
    def reach(self, params: Params, x: jax.Array) -> jax.Array:
        """A bound ‖w‖‖x‖ + |b| on the size of the pre-activations, of their shape."""

    @abstractmethod
    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
        """Raise a ValueError unless `arrays` are parameters for rows of this shape."""

    @abstractmethod
    def params(self, network: Any) -> dict[str, np.ndarray]:
        """The parameters of a network; a ValueError if it has a part that this model has not."""

    @abstractmethod
    def network(self, params: Params) -> Network | ConvNetwork:
        """The network that parameters stand for."""

    @abstractmethod
    def symmetries(self, arrays: Arrays, silent: np.ndarray) -> Candidates:
        """Paths that may leave the predictions as they are; `silent` (k,) are neurons zero on every sample."""

    def feature(self, z: jax.Array) -> jax.Array:
        """φ(z), traceable."""
        return self.activation(z)

    def complement(self, params: Params, x: jax.Array) -> jax.Array:
        """1 − prediction, traceable."""
        return 1 - self.predict(params, x)

    def linear_between_kinks(self, arrays: Arrays) -> bool:
        """Whether predictions are linear in these parameters wherever no pre-activation crosses a kink."""
        return False

    def filter_coordinates(self, params: Params) -> FilterCoordinates | None:
        """The filters that patches share, for the host; None for a model without."""
        return None

    on_host: bool = False
    """Whether the host knows its sums in NumPy; see :mod:`planted.objectives._host`."""
    symmetric: bool = False
    """Whether neurons are φ without its constant and linear parts."""

    def normalised(self, params: dict[str, Any]) -> dict[str, Any]:
        """The same network, with scales that are free choices set to one; traceable."""
        return params

    def gauge(self, arrays: Arrays) -> np.ndarray:
        """Directions (s, p) of the flattened parameters that change the network not at all and `normalised` takes out.

        They are the kernel of the derivative of :meth:`normalised`.
        """
        return np.zeros((0, len(flatten(arrays))))

    def n_parameters(self, arrays: Arrays) -> int:
        """How many of the parameters' numbers are free, those not counted that :meth:`normalised` takes out."""
        return len(flatten(arrays)) - len(self.gauge(arrays))

    def canonical(self, params: Params) -> dict[str, np.ndarray]:
        """Parameters of the canonical form of the network, in the order of its neurons."""
        return {name: np.asarray(value, dtype=np.float64) for name, value in named(params).items()}

    @float64
    def canonical_slope(self, arrays: Arrays, open_: np.ndarray | None = None) -> np.ndarray:
        """Derivative (p, p) of the canonical parameters by the parameters, at canonical ones, flattened.

        Where rows leave directions `open_` (p, q) open, scales that depend on them are those of what is determined, as
        far as there is such a part: what is open would make every number so that the scale divides.
        """
        if not len(self.gauge(arrays)):
            return np.eye(len(flatten(arrays)))
        leaves = _normalised_slope(self, dict(arrays))
        names, size = sorted(arrays), {name: value.size for name, value in arrays.items()}
        rows = [[np.asarray(leaves[a][b]).reshape(size[a], size[b]) for b in names] for a in names]
        return np.concatenate([np.concatenate(row, axis=1) for row in rows])


@jax.jit
def _normalised_slope(model: Model, params: dict[str, jax.Array]) -> Any:
    return jax.jacfwd(model.normalised)(params)
