"""Activations φ: values, derivatives, Gaussian moments, Hermite coefficients, symmetries and bounds."""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache, lru_cache, partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from planted import names
from planted.quadrature import gaussian_expectation, hermite_polynomials

Parity = Literal["even", "odd"] | None
_INF = math.inf
_MAX_DERIVATIVE = 4


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
        kinks: places where φ or one of its derivatives jumps.
        centred_parity: parity of φ(z) − offset − tilt·z: "even", "odd" or None.
        offset: 1/2 for the sigmoids, which are odd about it; otherwise 0.
        tilt: 1/2 for ReLU and softplus, which are z/2 plus an even function; otherwise 0, but for leaky ReLU.
        homogeneity: the degree p with φ(cz) = c^p φ(z) for every c > 0, or None.
        bounds: suprema of |φ^(0)|, …, |φ^(4)| where known in closed form, or None.
        image: (inf φ, sup φ) where known in closed form, or None.
        coefficients: closed form (j, σ) ↦ E[φ(σz) h_j(z)], or None.

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

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters)})"

    def __reduce__(self) -> tuple[Callable[..., "Activation"], tuple[Any, ...]]:
        # Known activations hold closures, which cannot be pickled; their name and parameters can.
        if self.name in _FACTORIES and self == _make(self.name, self.parameters):
            return _make, (self.name, self.parameters)
        return Activation, tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, z: Any) -> Any:
        """φ(z), of the shape of z.

        A `jax.Array`, traced or not, is evaluated by JAX in its own precision; anything else is evaluated in
        float64 and returned as NumPy, whatever the process's setting of `jax_enable_x64`.

        >>> get("squared_relu")([-1.0, 3.0])
        array([0., 9.])
        """
        return self.derivative(z, order=0)

    def derivative(self, z: Any, order: int = 1) -> Any:
        """φ^(order)(z) almost everywhere, for order 0 (the value) to 4; arguments and result as for a call.

        Where the one-sided derivatives differ, the one smaller in magnitude is given, and 0 if they are
        opposite: relu'(0) = 0, leaky_relu'(0) = slope, abs'(0) = 0, squared_relu''(0) = 0. `jax.grad` of
        `function` agrees. The convention for a `custom` function is that of JAX's own derivative of it.

        >>> get("quadratic").derivative([1.0, 3.0])
        array([2., 6.])
        >>> float(softplus(b=100.0).derivative(0.0, order=2))
        25.0
        """
        order = _checked_order(order)
        if order > _MAX_DERIVATIVE:
            raise ValueError(f"derivatives of activations go up to order {_MAX_DERIVATIVE}, not {order}.")
        if isinstance(z, jax.Array):
            if not jnp.issubdtype(z.dtype, jnp.floating):
                z = z.astype(float)
            return _differentiate(self.function, order)(z)
        return _evaluate(self, order, np.asarray(z, dtype=np.float64))

    @property
    def parity(self) -> Parity:
        """Parity of φ itself: "even" if φ(−z) = φ(z), "odd" if φ(−z) = −φ(z), else None.

        >>> get("abs").parity, get("sigmoid").parity, get("sigmoid").centred_parity
        ('even', None, 'odd')
        """
        shift = self.tilt if self.centred_parity == "even" else self.offset
        return self.centred_parity if shift == 0.0 else None

    @property
    def range(self) -> tuple[float, float]:
        """(inf φ, sup φ), exact for known activations and found numerically for a `custom` function.

        >>> get("sigmoid").range, get("softplus").range
        ((0.0, 1.0), (0.0, inf))
        """
        return self.image if self.image is not None else _extremes(self, 0)

    def derivative_bound(self, order: int) -> float:
        """Supremum of |φ^(order)| for order 0 to 4; inf if unbounded or if a lower derivative jumps.

        For order ≥ 1 this is the Lipschitz constant of φ^(order−1), which is what theorems ask for: relu'
        jumps, so the bound of order 2 is inf for ReLU although relu'' = 0 almost everywhere. Exact for known
        activations; maximised numerically for a `custom` function, where jumps are looked for at its kinks.

        >>> [get("relu").derivative_bound(order) for order in range(3)]
        [inf, 1.0, inf]
        >>> get("sigmoid").derivative_bound(1)
        0.25
        """
        order = _checked_order(order)
        if order > _MAX_DERIVATIVE:
            raise ValueError(f"derivatives of activations go up to order {_MAX_DERIVATIVE}, not {order}.")
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

        >>> round(get("relu").second_moment(sigma=2.0), 12)
        2.0
        """
        return _second_moment(self, _checked_scale(sigma))

    def _vanishes(self, j: int) -> bool:
        """Whether symmetry makes φ(z) − offset − tilt·z orthogonal to every polynomial of the parity of j."""
        return self.centred_parity == ("odd" if j % 2 == 0 else "even")


def get(activation: str | Activation | Callable[[Any], Any], **parameters: float) -> Activation:
    """The activation of this name; an `Activation` as it is; a callable as a `custom` activation.

    >>> get("leaky_relu", slope=0.2)
    leaky_relu(slope=0.2)
    >>> get("rellu")
    Traceback (most recent call last):
    ValueError: unknown activation 'rellu'; did you mean 'relu'? Known: relu, leaky_relu, ...
    """
    if isinstance(activation, str):
        if activation not in _FACTORIES:
            raise ValueError(names.unknown("activation", activation, names.ACTIVATIONS))
        return _make(activation, tuple(parameters.items()))
    if parameters:
        raise ValueError(f"parameters ({', '.join(parameters)}) go with the name of an activation only.")
    return activation if isinstance(activation, Activation) else custom(activation)


def custom(
    function: Callable[[Any], Any],
    name: str | None = None,
    kinks: Iterable[float] = (),
    parity: Parity = None,
    homogeneity: float | None = None,
) -> Activation:
    """An activation from the caller's own function, which must be elementwise and JAX-traceable.

    Args:
        function: φ, from an array to an array of the same shape.
        name: how to call it; by default the function's own name.
        kinks: places where φ or one of its derivatives jumps.
        parity: "even", "odd" or None; checked on a few points.
        homogeneity: degree p with φ(cz) = c^p φ(z) for every c > 0, or None; checked on a few points.

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


def softplus(b: float = 1.0) -> Activation:
    """log(1 + exp(bz))/b, a smooth ReLU that tends to it as b grows.

    >>> softplus(b=10.0)
    softplus(b=10.0)
    >>> softplus(b=2.0)([-1e3, 1e3])
    array([   0., 1000.])
    """
    return _softplus(_checked_steepness(b))


def sigmoid(b: float = 1.0) -> Activation:
    """1/(1 + exp(−bz)).

    >>> sigmoid(b=5.0)([-1e3, 0.0, 1e3])
    array([0. , 0.5, 1. ])
    """
    return _sigmoid(_checked_steepness(b))


def leaky_relu(slope: float = 0.01) -> Activation:
    """max(z, 0) + slope·min(z, 0), with 0 ≤ slope < 1.

    >>> leaky_relu(slope=0.5)([-1.0, 1.0])
    array([-0.5,  1. ])
    """
    if not 0.0 <= slope < 1.0:
        raise ValueError(f"the slope of leaky_relu must be at least 0 and below 1, not {slope!r}.")
    return _leaky_relu(float(slope))


# Evaluation and differentiation.


def _chain(*orders: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """φ from (φ, φ', φ'', …): JAX differentiates each by taking the next, and the last one by itself."""
    if len(orders) == 1:
        return orders[0]
    function, slope = jax.custom_jvp(orders[0]), _chain(*orders[1:])

    @function.defjvp
    def rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        return function(*primals), slope(*primals) * tangents[0]

    return function


def _differentiate(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    """Elementwise derivative of this order of an elementwise function."""
    if order == 0:
        return function
    lower = _differentiate(function, order - 1)
    return lambda z: jax.jvp(lower, (z,), (jnp.ones_like(z),))[1]


@lru_cache(maxsize=256)
def _compiled(activation: Activation, order: int) -> Callable[[Any], Any]:
    return jax.jit(_differentiate(activation.function, order))


def _evaluate(activation: Activation, order: int, z: NDArray[np.float64]) -> Any:
    """φ^(order)(z) in float64 for a NumPy array, also while JAX is tracing something else."""
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
    found = minimize_scalar(
        lambda s: -sign * activation.derivative(s, order),
        bounds=bracket,
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(max(far, -found.fun))


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


def _checked_steepness(b: Any) -> float:
    if not 0.0 < b < _INF:
        raise ValueError(f"the steepness b must be a positive finite number, not {b!r}.")
    return float(b)


# Closed-form Hermite coefficients. With h_n' = √n h_{n−1}, integration by parts gives
# E[φ h_n] = E[φ' h_{n−1}]/√n, which leads from each activation to a step, a delta or a Gaussian.


def _at_zero(m: int) -> float:
    """h_m(0): (−1)^{m/2} (m−1)!!/√m! for even m, 0 for odd m."""
    if m % 2:
        return 0.0
    return (-1.0) ** (m // 2) * math.sqrt(math.prod((2 * i - 1) / (2 * i) for i in range(1, m // 2 + 1)))


def _relu_coefficient(j: int, sigma: float = 1.0) -> float:
    density = sigma / math.sqrt(2 * math.pi)
    if j < 2:
        return density if j == 0 else sigma / 2
    return density * _at_zero(j - 2) / math.sqrt(j * (j - 1))


def _leaky_relu_coefficient(slope: float, j: int, sigma: float) -> float:
    return (1 - slope) * _relu_coefficient(j, sigma) + (slope * sigma if j == 1 else 0.0)


def _abs_coefficient(j: int, sigma: float) -> float:
    return 2 * _relu_coefficient(j, sigma) if j % 2 == 0 else 0.0


def _quadratic_coefficient(j: int, sigma: float) -> float:
    return {0: 1.0, 2: math.sqrt(2)}.get(j, 0.0) * sigma**2


def _squared_relu_coefficient(j: int, sigma: float) -> float:
    return sigma**2 * (0.5 if j == 0 else 2 * _relu_coefficient(j - 1) / math.sqrt(j))


def _erf_coefficient(offset: float, height: float, rate: float, j: int, sigma: float) -> float:
    """Coefficient of offset + height·erf(rate·z).

    Its derivative is a Gaussian: with a = rate·σ and τ² = 1/(1 + 2a²),
    E[exp(−a²z²) h_m(z)] = τ E[h_m(τz)] = τ (1 − τ²)^{m/2} h_m(0).
    """
    if j % 2 == 0:
        return offset if j == 0 else 0.0
    a = rate * sigma
    tau = 1 / math.hypot(1.0, math.sqrt(2) * a)
    shrink = (math.sqrt(2) * a * tau) ** (j - 1)
    return height * a * 2 / math.sqrt(math.pi) * tau * shrink * _at_zero(j - 1) / math.sqrt(j)


# Known activations. Each is built once for given parameters, so equal ones are the same object.


def _step(z: Any) -> Any:
    return jnp.where(z > 0, jnp.ones_like(z), jnp.zeros_like(z))


def _logistic_orders(b: float, scale: float = 1.0) -> list[Callable[[Any], Any]]:
    """s = scale·logistic(bz) and its derivatives to order 4, through t = 1 − s without cancellation."""

    def parts(z: Any) -> tuple[Any, Any]:
        s, t = jax.lax.logistic(b * z), jax.lax.logistic(-b * z)
        return s * t, t - s

    def order2(z: Any) -> Any:
        product, difference = parts(z)
        return scale * b**2 * product * difference

    def order3(z: Any) -> Any:
        product, _ = parts(z)
        return scale * b**3 * product * (1 - 6 * product)

    def order4(z: Any) -> Any:
        product, difference = parts(z)
        return scale * b**4 * product * difference * (1 - 12 * product)

    return [
        lambda z: scale * jax.lax.logistic(b * z),
        lambda z: scale * b * parts(z)[0],
        order2,
        order3,
        order4,
    ]


def _logistic_bounds(b: float, scale: float = 1.0) -> tuple[float, ...]:
    """Suprema of scale·|logistic(bz)^(n)|, n = 0..4; the last is of |u(1−u²)(3u²−2)|/4 in u = tanh(bz/2)."""
    u = math.sqrt((15 - math.sqrt(105)) / 30)
    last = u * (1 - u**2) * (2 - 3 * u**2) / 4
    peaks = 1.0, 1 / 4, 1 / (6 * math.sqrt(3)), 1 / 8, last
    return tuple(scale * b**n * peak for n, peak in enumerate(peaks))


def _erf_orders(height: float, rate: float) -> list[Callable[[Any], Any]]:
    """Derivatives of height·erf(rate·z) of order 1 to 4: polynomials in u = rate·z times exp(−u²)."""

    def gaussian(polynomial: Callable[[Any], Any], factor: float) -> Callable[[Any], Any]:
        def derivative(z: Any) -> Any:
            # exp(−u²) is 0 long before |u| = 40; the clip keeps polynomial × 0 from becoming ∞ × 0.
            u = jnp.clip(rate * z, -40.0, 40.0)
            return factor * polynomial(u) * jnp.exp(-u * u)

        return derivative

    polynomials = jnp.ones_like, lambda u: -2 * u, lambda u: 4 * u * u - 2, lambda u: (12 - 8 * u * u) * u
    top = height * 2 / math.sqrt(math.pi)
    return [gaussian(polynomial, top * rate ** (n + 1)) for n, polynomial in enumerate(polynomials)]


def _erf_bounds(height: float, rate: float) -> tuple[float, ...]:
    u = math.sqrt((3 - math.sqrt(6)) / 2)
    peaks = 1.0, math.sqrt(2 / math.e), 2.0, (12 - 8 * u**2) * u * math.exp(-(u**2))
    top = height * 2 / math.sqrt(math.pi)
    return (height, *(top * rate ** (n + 1) * peak for n, peak in enumerate(peaks)))


@cache
def _relu() -> Activation:
    return Activation(
        "relu",
        (),
        _chain(lambda z: jnp.maximum(z, 0), _step),
        kinks=(0.0,),
        centred_parity="even",
        tilt=0.5,
        homogeneity=1.0,
        bounds=(_INF, 1.0, _INF, _INF, _INF),
        image=(0.0, _INF),
        coefficients=_relu_coefficient,
    )


@cache
def _leaky_relu(slope: float) -> Activation:
    return Activation(
        "leaky_relu",
        (("slope", slope),),
        _chain(lambda z: jnp.maximum(z, slope * z), lambda z: slope + (1 - slope) * _step(z)),
        kinks=(0.0,),
        centred_parity="even",
        tilt=(1 + slope) / 2,
        homogeneity=1.0,
        bounds=(_INF, 1.0, _INF, _INF, _INF),
        image=(-_INF if slope > 0 else 0.0, _INF),
        coefficients=partial(_leaky_relu_coefficient, slope),
    )


@cache
def _abs() -> Activation:
    return Activation(
        "abs",
        (),
        _chain(jnp.abs, jnp.sign),
        kinks=(0.0,),
        centred_parity="even",
        homogeneity=1.0,
        bounds=(_INF, 1.0, _INF, _INF, _INF),
        image=(0.0, _INF),
        coefficients=_abs_coefficient,
    )


@cache
def _quadratic() -> Activation:
    return Activation(
        "quadratic",
        (),
        jnp.square,
        centred_parity="even",
        homogeneity=2.0,
        bounds=(_INF, _INF, 2.0, 0.0, 0.0),
        image=(0.0, _INF),
        coefficients=_quadratic_coefficient,
    )


@cache
def _squared_relu() -> Activation:
    return Activation(
        "squared_relu",
        (),
        _chain(
            lambda z: jnp.square(jnp.maximum(z, 0)), lambda z: 2 * jnp.maximum(z, 0), lambda z: 2 * _step(z)
        ),
        kinks=(0.0,),
        homogeneity=2.0,
        bounds=(_INF, _INF, 2.0, _INF, _INF),
        image=(0.0, _INF),
        coefficients=_squared_relu_coefficient,
    )


@cache
def _softplus(b: float) -> Activation:
    return Activation(
        "softplus",
        (("b", b),),
        _chain(lambda z: jnp.logaddexp(b * z, 0.0) / b, *_logistic_orders(b)),
        centred_parity="even",
        tilt=0.5,
        bounds=(_INF, *_logistic_bounds(b)[:_MAX_DERIVATIVE]),
        image=(0.0, _INF),
    )


@cache
def _sigmoid(b: float) -> Activation:
    return Activation(
        "sigmoid",
        (("b", b),),
        _chain(*_logistic_orders(b)),
        centred_parity="odd",
        offset=0.5,
        bounds=_logistic_bounds(b),
        image=(0.0, 1.0),
    )


@cache
def _tanh() -> Activation:
    return Activation(
        "tanh",
        (),
        _chain(jnp.tanh, *_logistic_orders(2.0, scale=2.0)[1:]),
        centred_parity="odd",
        bounds=(1.0, *_logistic_bounds(2.0, scale=2.0)[1:]),
        image=(-1.0, 1.0),
    )


@cache
def _tanh_probability() -> Activation:
    return Activation(
        "tanh_probability",
        (),
        _chain(*_logistic_orders(2.0)),
        centred_parity="odd",
        offset=0.5,
        bounds=_logistic_bounds(2.0),
        image=(0.0, 1.0),
    )


@cache
def _scaled_erf(name: str, height: float, rate: float) -> Activation:
    return Activation(
        name,
        (),
        _chain(lambda z: height * jax.lax.erf(rate * z), *_erf_orders(height, rate)),
        centred_parity="odd",
        bounds=_erf_bounds(height, rate),
        image=(-height, height),
        coefficients=partial(_erf_coefficient, 0.0, height, rate),
    )


@cache
def _erf_probability() -> Activation:
    return Activation(
        "erf_probability",
        (),
        _chain(lambda z: 0.5 * jax.lax.erfc(-z), *_erf_orders(0.5, 1.0)),
        centred_parity="odd",
        offset=0.5,
        bounds=(1.0, *_erf_bounds(0.5, 1.0)[1:]),
        image=(0.0, 1.0),
        coefficients=partial(_erf_coefficient, 0.5, 0.5, 1.0),
    )


_FACTORIES: dict[str, Callable[..., Activation]] = {
    "relu": _relu,
    "leaky_relu": leaky_relu,
    "abs": _abs,
    "quadratic": _quadratic,
    "squared_relu": _squared_relu,
    "softplus": softplus,
    "sigmoid": sigmoid,
    "tanh": _tanh,
    # (2/√π) ∫_0^z exp(−t²/2) dt, as in Soltanolkotabi, Javanmard and Lee (2017).
    "erf": partial(_scaled_erf, "erf", math.sqrt(2), math.sqrt(0.5)),
    "standard_erf": partial(_scaled_erf, "standard_erf", 1.0, 1.0),
    "tanh_probability": _tanh_probability,
    "erf_probability": _erf_probability,
}


def _make(name: str, parameters: tuple[tuple[str, float], ...]) -> Activation:
    """The known activation of this name with these parameters."""
    accepted = [key for key, _ in _FACTORIES[name]().parameters]
    for key, _ in parameters:
        if key not in accepted:
            takes = f"takes {', '.join(accepted)}" if accepted else "takes no parameters"
            raise ValueError(f"the activation {name} {takes}, not {key!r}.")
    return _FACTORIES[name](**dict(parameters))
