r"""The squared loss of a shared filter over non-overlapping patches (Du et al. 2017), on data and in expectation.

    ℓ(v, a) = ½ E (Σ_i a_i φ(w·Z_i) − y)²,    w = v/‖v‖,    patches Z_1, …, Z_k.

For y = Σ_i a*_i φ(w*·Z_i) and independent patches Z_i ~ N(0, I) only two functions of the filters enter, the mean
m(w) = E φ(w·z) and the kernel K(w, w') = E φ(w·z) φ(w'·z); with κ(w, w') = K(w, w') − m(w) m(w'),

    ℓ = ½ [(m(w) 1ᵀa − m(w*) 1ᵀa*)² + κ(w, w)‖a‖² − 2 κ(w, w*) aᵀa* + κ(w*, w*)‖a*‖²].

For ReLU and ‖w‖ = ‖w*‖ = 1, m = 1/√(2π), K(w, w) = 1/2 and K(w, w*) = g(φ)/(2π) with
g(φ) = (π − φ) cos φ + sin φ, φ the angle of w and w*: Theorem 2.1 with the cross term of eq. 3 put right.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.activations.kernels import SERIES_ORDER, gaussian_kernel, series_coefficients
from planted.inputs import RadialLaw
from planted.networks import ConvNetwork, as_patches
from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Objective, Params
from planted.objectives._filter_models import Filters, SharedFilter
from planted.objectives._fit import Fit, targets_of
from planted.objectives._losses import SquaredError
from planted.objectives._models import check_names, unit
from planted.rows import ArrayRows


def patch_rows(Z: ArrayLike, y: ArrayLike, n_patches: int | None, sample_weight: ArrayLike | None) -> ArrayRows:
    """Rows of patches (k, p) in memory.

    >>> patch_rows(np.ones((5, 6)), np.ones(5), 3, None).shape
    (3, 2)
    """
    return targets_of(as_patches("Z", Z, n_patches), y, sample_weight, ndim=3)


class ConvSquared(Fit):
    """½ mean (Σ_i output_i φ(filter·Z_i/‖filter‖) − y)², over params {"filter": (p,), "output": (k,)}.

    The filter is normalised where φ is positively homogeneous, so that its length is a free choice; for other φ,
    whose filters have a length that matters, it is used as it is.

    Parameters
    ----------
    Z : array (n, k, p), or flat rows (n, k·p) together with n_patches
    y : array (n,)
    activation : str, Activation or callable
    n_patches : int, optional
        k, for flat rows.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = ConvSquared([[[3.0, 4.0], [0.0, -1.0]]], [5.0])
    >>> loss.value({"filter": np.array([6.0, 8.0]), "output": np.array([1.0, 1.0])})
    0.0
    """

    shared_filter = True
    model: SharedFilter

    @float64
    def __init__(
        self,
        Z: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        n_patches: int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        rows = patch_rows(Z, y, n_patches, sample_weight)
        super().__init__(rows, SharedFilter(activation), SquaredError())

    @property
    def n_patches(self) -> int:
        """Number of patches k."""
        return self.rows.shape[-2]

    @property
    def normalised(self) -> bool:
        """Whether the filter's length is a free choice."""
        return self.model.normalised_filter

    def network(self, params: Params) -> ConvNetwork:
        """The network that `params` stand for, in canonical form."""
        return self.model.network(params).canonical()


class ConvFilters(Fit):
    """½ mean (Σ_f Σ_i output_fi φ(filters_f·Z_i) − y)² over {"filters": (f, p), "output": (f, k)}.

    A block holds activations (rows, k, f), as many numbers as the fully connected network has neurons.

    Parameters
    ----------
    Z : array (n, k, p), or flat rows (n, k·p) together with n_patches
    y : array (n,)
    activation : str, Activation or callable
    n_patches : int, optional
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = ConvFilters([[[3.0], [-1.0]]], [3.0])
    >>> loss.value({"filters": np.ones((1, 1)), "output": np.ones((1, 2))})
    0.0
    """

    model: Filters

    @float64
    def __init__(
        self,
        Z: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        n_patches: int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        rows = patch_rows(Z, y, n_patches, sample_weight)
        super().__init__(rows, Filters(activation, rows.shape[0]), SquaredError())


class PopulationConv(Objective):
    """Expectation of :class:`ConvSquared` for independent patches Z_i ~ N(0, I) and y from a teacher.

    Closed for the arc-cosine family, the quadratic and the error functions; otherwise the kernel's Hermite series
    up to `order` (see :func:`planted.activations.kernels.gaussian_kernel`).

    Parameters
    ----------
    teacher : ConvNetwork
    order : int
        Of the series.
    radial : RadialLaw, optional
        Another rotation-invariant law of the patches (Remark 2), for φ that is homogeneous of degree one: K is then its
        Gaussian value times E[ρ²]/p, and m² that times the law's factor.
    normalise : bool
        Whether filter/‖filter‖ takes the filter's place where φ is homogeneous, as in Algorithm 1; without it the
        gradient is that of Σ_i output_i φ(filter·Z_i) itself.

    Examples
    --------
    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, 2.0])
    >>> loss = PopulationConv(teacher)
    >>> abs(loss.value({"filter": np.array([5.0, 0.0]), "output": teacher.output})) < 1e-15
    True
    """

    _arrays = ("filter", "output")
    _static = ("activation", "order", "normalised", "second", "factor")
    non_negative = True
    activation: Activation
    shared_filter = True

    @float64
    def __init__(
        self, teacher: ConvNetwork, order: int = SERIES_ORDER, radial: RadialLaw | None = None, normalise: bool = True
    ) -> None:
        if not isinstance(teacher, ConvNetwork):
            raise TypeError(f"teacher must be a planted.ConvNetwork, not {type(teacher).__name__}")
        if not np.any(teacher.filter):
            raise ValueError("the teacher's filter is zero")
        teacher = teacher.canonical()
        self.filter, self.output = to_jax(teacher.filter), to_jax(teacher.output)
        self.activation, self.order = teacher.activation, int(order)
        self.normalised = self.activation.homogeneity is not None and bool(normalise)
        self.second, self.factor = (1.0, 1.0) if radial is None else (radial.second, radial.factor)
        if radial is not None and self.activation.homogeneity != 1:
            raise ValueError(f"a radial law is for activations of degree one, such as relu, not {self.activation.name}")
        if radial is not None and radial.n_features != len(teacher.filter):
            raise ValueError(f"the radial law has {radial.n_features} inputs, the filter {len(teacher.filter)}")

    @property
    def mean_square(self) -> float:
        """m² of ReLU for patches of second moment one."""
        return self.factor / (2 * math.pi)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs p in a patch."""
        return self.filter.shape[0]

    @property
    def teacher(self) -> ConvNetwork:
        """The teacher in canonical form."""
        return ConvNetwork(self.filter, self.output, self.activation)

    @property
    def teacher_rows(self) -> np.ndarray:
        """The teacher's filter (1, p)."""
        return np.asarray(self.filter)[None]

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Filter (p,) and output (k,)."""
        check_names(arrays, {"filter": (self.n_features,), "output": self.output.shape})

    def mean_and_kernel(self, direction: jax.Array) -> tuple[jax.Array, jax.Array]:
        """m(w), m(w*) as (2,) and K over (w, w*) as (2, 2), traceable."""
        both = jnp.stack([direction, self.filter])
        kernel = gaussian_kernel(self.activation, both, both, self.order)
        degree = self.activation.homogeneity
        if degree is not None:
            mean = self.activation.hermite(0) * self.factor**0.5 * jnp.sum(both * both, axis=1) ** (degree / 2)
        else:
            mean = series_coefficients(self.activation, jnp.sqrt(jnp.sum(both * both, axis=1)), 0)[:, 0]
        return mean, kernel

    def traced_value(self, params: Params) -> jax.Array:
        """½ E (prediction − y)²."""
        direction = unit(params["filter"]) if self.normalised else params["filter"]
        output, target = params["output"], self.output
        mean, kernel = self.mean_and_kernel(direction)
        shared = kernel - mean[:, None] * mean[None, :]
        totals = mean[0] * jnp.sum(output) - mean[1] * jnp.sum(target)
        # Written in output − target, so that nothing large cancels near the teacher.
        change = output - target
        squares = (
            shared[0, 0] * jnp.sum(change * change)
            + 2 * (shared[0, 0] - shared[0, 1]) * jnp.sum(change * target)
            + (shared[0, 0] - 2 * shared[0, 1] + shared[1, 1]) * jnp.sum(target * target)
        )
        return 0.5 * self.second * (totals * totals + squares)
