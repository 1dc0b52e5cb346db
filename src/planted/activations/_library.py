"""The activations known by name, with their closed forms."""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from planted import names
from planted.activations._activation import MAX_DERIVATIVE, Activation, custom
from planted.activations._orders import erf_bounds, erf_orders, logistic_bounds, logistic_orders
from planted.activations._sigmoids import tanh

_INF = math.inf


def get(activation: str | Activation | Callable[[Any], Any], **parameters: float) -> Activation:
    """The activation of this name; an `Activation` as it is; a callable as a `custom` activation.

    >>> get("leaky_relu", slope=0.2)
    leaky_relu(slope=0.2)
    >>> get("rellu")
    Traceback (most recent call last):
    ValueError: unknown activation 'rellu'; did you mean 'relu'? Known: relu, leaky_relu, ...
    """
    if isinstance(activation, str):
        if activation not in FACTORIES:
            raise ValueError(names.unknown("activation", activation, names.ACTIVATIONS))
        return make(activation, tuple(parameters.items()))
    if parameters:
        raise ValueError(f"parameters ({', '.join(parameters)}) go with the name of an activation only.")
    return activation if isinstance(activation, Activation) else custom(activation)


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


def _chain(*orders: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """φ from (φ, φ', φ'', …): JAX differentiates each by taking the next, and the last one by itself."""
    if len(orders) == 1:
        return orders[0]
    function, slope = jax.custom_jvp(orders[0]), _chain(*orders[1:])

    @function.defjvp
    def rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        return function(*primals), slope(*primals) * tangents[0]

    return function


def _step(z: Any) -> Any:
    return jnp.where(z > 0, jnp.ones_like(z), jnp.zeros_like(z))


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
        _chain(lambda z: jnp.square(jnp.maximum(z, 0)), lambda z: 2 * jnp.maximum(z, 0), lambda z: 2 * _step(z)),
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
        _chain(lambda z: jnp.logaddexp(b * z, 0.0) / b, *logistic_orders(b)),
        centred_parity="even",
        tilt=0.5,
        bounds=(_INF, *logistic_bounds(b)[:MAX_DERIVATIVE]),
        image=(0.0, _INF),
    )


@cache
def _sigmoid(b: float) -> Activation:
    return Activation(
        "sigmoid",
        (("b", b),),
        _chain(*logistic_orders(b)),
        centred_parity="odd",
        offset=0.5,
        bounds=logistic_bounds(b),
        image=(0.0, 1.0),
    )


@cache
def _tanh() -> Activation:
    return Activation(
        "tanh",
        (),
        tanh,
        centred_parity="odd",
        bounds=(1.0, *logistic_bounds(2.0, scale=2.0)[1:]),
        image=(-1.0, 1.0),
        slope=_chain(*logistic_orders(2.0, scale=2.0)[1:]),
    )


@cache
def _tanh_probability() -> Activation:
    return Activation(
        "tanh_probability",
        (),
        _chain(*logistic_orders(2.0)),
        centred_parity="odd",
        offset=0.5,
        bounds=logistic_bounds(2.0),
        image=(0.0, 1.0),
    )


@cache
def _scaled_erf(name: str, height: float, rate: float) -> Activation:
    return Activation(
        name,
        (),
        _chain(lambda z: height * jax.lax.erf(rate * z), *erf_orders(height, rate)),
        centred_parity="odd",
        bounds=erf_bounds(height, rate),
        image=(-height, height),
        coefficients=partial(_erf_coefficient, 0.0, height, rate),
    )


@cache
def _erf_probability() -> Activation:
    return Activation(
        "erf_probability",
        (),
        _chain(lambda z: 0.5 * jax.lax.erfc(-z), *erf_orders(0.5, 1.0)),
        centred_parity="odd",
        offset=0.5,
        bounds=(1.0, *erf_bounds(0.5, 1.0)[1:]),
        image=(0.0, 1.0),
        coefficients=partial(_erf_coefficient, 0.5, 0.5, 1.0),
    )


def _gelu_orders() -> list[Callable[[Any], Any]]:
    """z Φ(z) and its derivatives to order 4: Φ + zφ, then polynomials times the density φ."""

    def density(z: Any) -> Any:
        # φ(z) is 0 long before |z| = 60; the clip keeps polynomial × 0 from becoming ∞ × 0.
        u = jnp.clip(z, -60.0, 60.0)
        return jnp.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)

    def times(polynomial: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda z: polynomial(jnp.clip(z, -60.0, 60.0)) * density(z)

    def distribution(z: Any) -> Any:
        return 0.5 * jax.lax.erfc(-z / math.sqrt(2))

    return [
        lambda z: z * distribution(z),
        lambda z: distribution(z) + times(lambda u: u)(z),
        times(lambda u: 2 - u * u),
        times(lambda u: (u * u - 4) * u),
        times(lambda u: (7 - u * u) * u * u - 4),
    ]


@cache
def _gelu() -> Activation:
    return Activation("gelu", (), _chain(*_gelu_orders()), centred_parity="even", tilt=0.5)


@cache
def _silu() -> Activation:
    logistic = logistic_orders(1.0)

    def order(n: int) -> Callable[[Any], Any]:
        # (z s)^(n) = n s^(n−1) + z s^(n); z is bounded where s^(n) is not 0.
        return lambda z: n * logistic[n - 1](z) + jnp.clip(z, -800.0, 800.0) * logistic[n](z)

    return Activation(
        "silu",
        (),
        _chain(lambda z: z * logistic[0](z), *(order(n) for n in range(1, MAX_DERIVATIVE + 1))),
        centred_parity="even",
        tilt=0.5,
    )


@cache
def _clipped(
    name: str, kinks: tuple[float, float], image: tuple[float, float], parity: Any, offset: float, centre: float = 0.0
) -> Activation:
    """Constant, linear, constant: between the kinks it goes through its image."""
    (low, high), (bottom, top) = kinks, image
    slope = (top - bottom) / (high - low)
    return Activation(
        name,
        (),
        _chain(
            lambda z: bottom + slope * (jnp.clip(z, low, high) - low),
            lambda z: jnp.where((z > low) & (z < high), jnp.full_like(z, slope), jnp.zeros_like(z)),
        ),
        kinks=kinks,
        centred_parity=parity,
        offset=offset,
        bounds=(max(abs(bottom), abs(top)), slope, _INF, _INF, _INF),
        image=image,
        centre=centre,
    )


FACTORIES: dict[str, Callable[..., Activation]] = {
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
    "gelu": _gelu,
    "silu": _silu,
    "relu6": partial(_clipped, "relu6", (0.0, 6.0), (0.0, 6.0), None, 0.0, 3.0),
    "hard_tanh": partial(_clipped, "hard_tanh", (-1.0, 1.0), (-1.0, 1.0), "odd", 0.0),
    "hard_sigmoid": partial(_clipped, "hard_sigmoid", (-3.0, 3.0), (0.0, 1.0), "odd", 0.5),
}


def make(name: str, parameters: tuple[tuple[str, float], ...]) -> Activation:
    """The known activation of this name with these parameters."""
    accepted = [key for key, _ in FACTORIES[name]().parameters]
    for key, _ in parameters:
        if key not in accepted:
            takes = f"takes {', '.join(accepted)}" if accepted else "takes no parameters"
            raise ValueError(f"the activation {name} {takes}, not {key!r}.")
    return FACTORIES[name](**dict(parameters))
