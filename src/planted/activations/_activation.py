"""An activation φ: values, derivatives, Gaussian moments, Hermite coefficients, symmetries and bounds."""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from planted.activations._host import ORDERS, Orders
from planted.numerics.quadrature import gaussian_expectation, hermite_polynomials

Parity = Literal["even", "odd"] | None
_INF = math.inf
MAX_DERIVATIVE = 4


@dataclass(frozen=True, repr=False)
class Activation:
    """An elementwise activation φ and what is known about it.

    Made by `get`, by `softplus`, `sigmoid` and `leaky_relu`, or by `custom`. Equal and hashable by what it
    computes (name, parameters, and for a caller's own function that function), so it can be a static argument
    of `jax.jit`.

    Attributes:
        name: the name that `get` knows, or that of the caller's function.
        parameters: pairs (name, value), such as (("b", 10.0),).
        function: φ itself, elementwise and JAX-traceable.
        slope: φ' by itself, where `jax.grad` of `function` takes it from the value of φ and loses digits; or None.
        kinks: places where φ or one of its derivatives jumps.
        centred_parity: parity of φ(z) − offset − tilt·z: "even", "odd" or None.
        offset: 1/2 for the sigmoids, which are odd about it; otherwise 0.
        centre: 3 for relu6, which is odd about the point (3, 3): φ(6 − z) = 6 − φ(z); otherwise 0.
        tilt: 1/2 for ReLU and softplus, which are z/2 plus an even function; otherwise 0, but for leaky ReLU.
        homogeneity: the degree p with φ(cz) = c^p φ(z) for every c > 0, or None.
        bounds: suprema of |φ^(0)|, …, |φ^(4)| where known in closed form, or None.
        image: (inf φ, sup φ) where known in closed form, or None.
        coefficients: closed form (j, σ) ↦ E[φ(σz) h_j(z)], or None.

    >>> from planted.activations import get
    >>> relu = get("relu")
    >>> relu([-1.0, 2.0]), relu.derivative([-1.0, 2.0])
    (array([0., 2.]), array([0., 1.]))
    >>> relu.hermite(1), relu.homogeneity, relu.range
    (0.5, 1.0, (0.0, inf))
    >>> get("tanh").parity, relu.parity
    ('odd', None)
    """

    name: str
    parameters: tuple[tuple[str, float], ...]
    function: Callable[[Any], Any]
    kinks: tuple[float, ...] = ()
    centred_parity: Parity = None
    offset: float = 0.0
    tilt: float = 0.0
    homogeneity: float | None = None
    bounds: tuple[float, ...] | None = None
    image: tuple[float, float] | None = None
    coefficients: Callable[[int, float], float] | None = None
    centre: float = 0.0
    slope: Callable[[Any], Any] | None = None

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters)})"

    def __reduce__(self) -> tuple[Callable[..., "Activation"], tuple[Any, ...]]:
        # Known activations hold closures, which cannot be pickled; their name and parameters can.
        from planted.activations._library import FACTORIES, make

        if self.name in FACTORIES and self == make(self.name, self.parameters):
            return make, (self.name, self.parameters)
        return Activation, tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, z: Any) -> Any:
        """φ(z), of the shape of z.

        A `jax.Array`, traced or not, is evaluated by JAX in its own precision; anything else is evaluated in
        float64 and returned as NumPy, whatever the process's setting of `jax_enable_x64`.

        >>> from planted.activations import get
        >>> get("squared_relu")([-1.0, 3.0])
        array([0., 9.])
        """
        return self.derivative(z, order=0)

    def derivative(self, z: Any, order: int = 1) -> Any:
        """φ^(order)(z) almost everywhere, for order 0 (the value) to 4; arguments and result as for a call.

        Where the one-sided derivatives differ, the one smaller in magnitude is given, and 0 if they are
        opposite: relu'(0) = 0, leaky_relu'(0) = slope, abs'(0) = 0, squared_relu''(0) = 0. `jax.grad` of
        `function` agrees. The convention for a `custom` function is that of JAX's own derivative of it.

        >>> from planted.activations import get, softplus
        >>> get("quadratic").derivative([1.0, 3.0])
        array([2., 6.])
        >>> float(softplus(b=100.0).derivative(0.0, order=2))
        25.0
        """
        order = _checked_order(order)
        if order > MAX_DERIVATIVE:
            raise ValueError(f"derivatives of activations go up to order {MAX_DERIVATIVE}, not {order}.")
        if isinstance(z, jax.Array):
            if not jnp.issubdtype(z.dtype, jnp.floating):
                z = z.astype(float)
            return _derivative(self, order)(z)
        return _evaluate(self, order, np.asarray(z, dtype=np.float64))

    @property
    def on_host(self) -> bool:
        """Whether values and two derivatives of arrays on the host need no compilation."""
        return self._orders is not None

    @cached_property
    def _orders(self) -> Orders | None:
        """φ, φ' and φ'' of an activation of the library in NumPy."""
        from planted.activations._library import make

        if self.name not in ORDERS or self != make(self.name, self.parameters):
            return None
        return ORDERS[self.name](**dict(self.parameters))

    @property
    def parity(self) -> Parity:
        """Parity of φ itself: "even" if φ(−z) = φ(z), "odd" if φ(−z) = −φ(z), else None.

        >>> from planted.activations import get
        >>> get("abs").parity, get("sigmoid").parity, get("sigmoid").centred_parity
        ('even', None, 'odd')
        """
        shift = self.tilt if self.centred_parity == "even" else self.offset
        return self.centred_parity if shift == 0.0 else None

    @property
    def range(self) -> tuple[float, float]:
        """(inf φ, sup φ), exact for known activations and found numerically for a `custom` function.

        >>> from planted.activations import get
        >>> get("sigmoid").range, get("softplus").range
        ((0.0, 1.0), (0.0, inf))
        """
        return self.image if self.image is not None else _extremes(self, 0)

    def derivative_bound(self, order: int) -> float:
        """Supremum of |φ^(order)| for order 0 to 4; inf if unbounded or if a lower derivative jumps.

        For order ≥ 1 this is the Lipschitz constant of φ^(order−1), which is what theorems ask for: relu'
        jumps, so the bound of order 2 is inf for ReLU although relu'' = 0 almost everywhere. Exact for known
        activations; maximised numerically for a `custom` function, where jumps are looked for at its kinks.

        Examples
        --------
        >>> from planted.activations import get
        >>> [get("relu").derivative_bound(order) for order in range(3)]
        [inf, 1.0, inf]
        >>> get("sigmoid").derivative_bound(1)
        0.25
        """
        order = _checked_order(order)
        if order > MAX_DERIVATIVE:
            raise ValueError(f"derivatives of activations go up to order {MAX_DERIVATIVE}, not {order}.")
        if self.bounds is not None:
            return self.bounds[order]
        if any(_jumps(self, lower) for lower in range(order)):
            return _INF
        low, high = _extremes(self, order)
        return max(abs(low), abs(high))

    def hermite(self, j: int, sigma: float = 1.0) -> float:
        """Hermite coefficient E[φ(σz) h_j(z)], z ~ N(0, 1), with h_j the normalised probabilists' polynomial.

        Closed form for relu, leaky_relu, abs, quadratic, squared_relu and the three erf's; otherwise
        quadrature, with absolute error below 1e-12 max(1, E|φ(σz)|) for j ≤ 20. Exactly 0 where symmetry
        says so.
        For ReLU, E[φ h_0] = 1/√(2π), E[φ h_1] = 1/2, and (−1)^{j/2+1} (j−3)!!/√(2π j!) for even j ≥ 2.

        >>> from planted.activations import get
        >>> math.isclose(get("relu").hermite(4), -1 / math.sqrt(48 * math.pi))
        True
        >>> get("softplus").hermite(3)
        0.0
        >>> round(get("tanh").hermite(1), 6)
        0.605706
        """
        j, sigma = _checked_order(j), _checked_scale(sigma)
        if self.coefficients is not None:
            return self.coefficients(j, sigma)
        if self._vanishes(j):
            return {0: self.offset, 1: self.tilt * sigma}.get(j, 0.0)
        return float(_hermite_block(self, sigma, 32 * (j // 32 + 1))[j])

    def moment(self, j: int, sigma: float = 1.0) -> float:
        """E[φ(σz) z^j], z ~ N(0, 1), by quadrature, to a relative error near 1e-14 of E|φ(σz) z^j|.

        >>> from planted.activations import get
        >>> round(get("quadratic").moment(2, sigma=2.0), 12)    # 4 E[z⁴]
        12.0
        """
        j, sigma = _checked_order(j), _checked_scale(sigma)
        if self._vanishes(j):
            shift, power = (self.offset, j) if j % 2 == 0 else (self.tilt * sigma, j + 1)
            return shift * math.prod(range(power - 1, 0, -2))
        return _moment(self, j, sigma)

    def second_moment(self, sigma: float = 1.0) -> float:
        """E[φ(σz)²], z ~ N(0, 1), by quadrature; the sum over j of the squares of `hermite(j, sigma)`.

        >>> from planted.activations import get
        >>> round(get("relu").second_moment(sigma=2.0), 12)
        2.0
        """
        return _second_moment(self, _checked_scale(sigma))

    def _vanishes(self, j: int) -> bool:
        """Whether symmetry makes φ(z) − offset − tilt·z orthogonal to every polynomial of the parity of j."""
        return self.centred_parity == ("odd" if j % 2 == 0 else "even")


def custom(
    function: Callable[[Any], Any],
    name: str | None = None,
    kinks: Iterable[float] = (),
    parity: Parity = None,
    homogeneity: float | None = None,
) -> Activation:
    """An activation from the caller's own function, which must be elementwise and JAX-traceable.

    Parameters
    ----------
    function : callable
        φ, from an array to an array of the same shape.
    name : str, optional
        How to call it; the function's own name unless given.
    kinks : iterable of float
        Places where φ or one of its derivatives jumps.
    parity : "even", "odd" or None
        Checked on a few points.
    homogeneity : float, optional
        Degree p with φ(cz) = c^p φ(z) for every c > 0; checked on a few points.

    Examples
    --------
    >>> shifted = custom(lambda z: jnp.maximum(z - 0.5, 0.0), name="shifted", kinks=[0.5])
    >>> round(shifted.hermite(1), 6)    # P(z > 1/2)
    0.308538
    """
    if not callable(function):
        raise ValueError(f"an activation is a name or a function, not {function!r}.")
    name = name or str(getattr(function, "__name__", "custom"))
    try:
        shape = jax.eval_shape(function, jnp.ones(3))
    except Exception as error:
        raise ValueError(f"JAX cannot trace the activation {name!r}; write it with jax.numpy.") from error
    if getattr(shape, "shape", None) != (3,) or not jnp.issubdtype(shape.dtype, jnp.floating):
        raise ValueError(f"the activation {name!r} must map an array to a real array of the same shape.")
    if parity not in ("even", "odd", None):
        raise ValueError(f"parity must be 'even', 'odd' or None, not {parity!r}.")
    places = tuple(sorted({float(kink) for kink in kinks}))
    if not all(map(math.isfinite, places)):
        raise ValueError("the kinks of an activation must be finite numbers.")
    degree = None if homogeneity is None else float(homogeneity)
    made = Activation(name, (), function, places, parity, homogeneity=degree)
    z = np.array([0.13, 0.71, 1.9, 3.3])
    if parity is not None and not np.allclose(made(-z), made(z) if parity == "even" else -made(z), atol=1e-9):
        raise ValueError(f"the activation {name!r} is not {parity}.")
    if degree is not None and not all(np.allclose(made(2 * s), 2**degree * made(s)) for s in (z, -z)):
        raise ValueError(f"the activation {name!r} is not homogeneous of degree {degree:g}.")
    return made


# Evaluation and differentiation.


def _differentiate(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    """Elementwise derivative of this order of an elementwise function."""
    if order == 0:
        return function
    lower = _differentiate(function, order - 1)
    return lambda z: jax.jvp(lower, (z,), (jnp.ones_like(z),))[1]


def _derivative(activation: Activation, order: int) -> Callable[[Any], Any]:
    if order == 0 or activation.slope is None:
        return _differentiate(activation.function, order)
    return _differentiate(activation.slope, order - 1)


@lru_cache(maxsize=256)
def _compiled(activation: Activation, order: int) -> Callable[[Any], Any]:
    return jax.jit(_derivative(activation, order))


def _evaluate(activation: Activation, order: int, z: NDArray[np.float64]) -> Any:
    """φ^(order)(z) in float64 for a NumPy array, also while JAX is tracing something else."""
    orders = activation._orders if order < 3 else None
    if orders is not None:
        return np.asarray(orders[order](z), dtype=np.float64)[()]
    flat = z.ravel()
    # Adaptive quadrature asks for many different small sizes; padding lets them share a compilation.
    size = next((size for size in (1024, 8192, 65536) if size >= flat.size), flat.size)
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        padded = np.concatenate([flat, np.zeros(size - flat.size)])
        values = np.asarray(_compiled(activation, order)(padded), dtype=np.float64)
    return values[: flat.size].reshape(z.shape).copy()[()]


# Expectations, each computed once.


@lru_cache(maxsize=1024)
def _hermite_block(activation: Activation, sigma: float, count: int) -> NDArray[np.float64]:
    """E[φ(σz) h_j(z)] for j < count: one set of nodes serves all orders."""
    return gaussian_expectation(
        lambda z: activation(sigma * z)[:, None] * hermite_polynomials(z, count - 1).T,
        kinks=[kink / sigma for kink in activation.kinks],
        tolerance=1e-13,
    )


@lru_cache(maxsize=4096)
def _moment(activation: Activation, j: int, sigma: float) -> float:
    kinks = [kink / sigma for kink in activation.kinks]
    return float(gaussian_expectation(lambda z: activation(sigma * z) * z**j, kinks))


@lru_cache(maxsize=4096)
def _second_moment(activation: Activation, sigma: float) -> float:
    kinks = [kink / sigma for kink in activation.kinks]
    return float(gaussian_expectation(lambda z: activation(sigma * z) ** 2, kinks))


# Bounds of a function about which nothing is known.


def _jumps(activation: Activation, order: int) -> bool:
    """Whether φ^(order) has different limits on the two sides of a declared kink."""
    if not activation.kinks:
        return False
    kinks = np.asarray(activation.kinks)
    step = 1e-7 * np.maximum(1.0, np.abs(kinks))
    sides = activation.derivative(np.stack([kinks - step, kinks + step]), order)
    return bool(np.any(np.abs(sides[1] - sides[0]) > 1e-5 * np.maximum(1.0, np.abs(sides).max(axis=0))))


@lru_cache(maxsize=1024)
def _extremes(activation: Activation, order: int) -> tuple[float, float]:
    """(inf, sup) of φ^(order), from a grid to |z| = 1e8 and a local search beside the best grid point."""
    tail = np.geomspace(30.0, 1e8, 200)[1:]
    z = np.concatenate([-tail[::-1], np.linspace(-30.0, 30.0, 6001), tail])
    values = activation.derivative(z, order)
    return -_supremum(activation, order, z, -values, -1.0), _supremum(activation, order, z, values, 1.0)


def _supremum(
    activation: Activation, order: int, z: NDArray[np.float64], values: NDArray[np.float64], sign: float
) -> float:
    near, middle, far = (np.nanmax(values[np.abs(z) <= reach]) for reach in (1.0, 1e4, _INF))
    # A function that saturates gains almost nothing beyond 1e4; one that grows even like log |z| gains as
    # much between 1e4 and 1e8 as between 1 and 1e4.
    if not np.isfinite(far) or far - middle > 0.1 * (middle - near) + 1e-9 * abs(far):
        return _INF
    best = int(np.nanargmax(values))
    bracket = z[max(best - 1, 0)], z[min(best + 1, len(z) - 1)]
    minimum = minimize_scalar(
        lambda s: -sign * activation.derivative(s, order),
        bounds=bracket,
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(max(far, -minimum.fun))


# Arguments.


def _checked_order(order: Any) -> int:
    try:
        index = operator.index(order)
    except TypeError:
        raise ValueError(f"the order must be a non-negative integer, not {order!r}.") from None
    if index < 0:
        raise ValueError(f"the order must be a non-negative integer, not {order!r}.")
    return index


def _checked_scale(sigma: Any) -> float:
    if not 0.0 < sigma < _INF:
        raise ValueError(f"sigma must be a positive finite number, not {sigma!r}.")
    return float(sigma)
