"""Gaussian kernels against an integral in polar coordinates, which shares no code with the package's series."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from planted import activations, names
from planted.activations.kernels import SERIES_ORDER, closed_form, gaussian_kernel, truncation_error
from planted.numerics.precision import float64

ACTS = [act for act in map(activations.get, names.ACTIVATIONS) if all(kink == 0 for kink in act.kinks)] + [
    activations.leaky_relu(slope=0.3),
    activations.softplus(b=10.0),
    activations.sigmoid(b=5.0),
]
SERIES = [act for act in ACTS if closed_form(act) is None]
each = pytest.mark.parametrize("act", ACTS, ids=repr)
# Second derivatives of the series take seconds to compile; one activation stands for its kind.
DERIVED = [act for act in ACTS if closed_form(act) is not None or act.name in {"tanh", "softplus"}]
each_derived = pytest.mark.parametrize("act", DERIVED, ids=repr)
each_series = pytest.mark.parametrize("act", SERIES, ids=repr)

# Pairs with lengths other than one, at all kinds of angles.
LEFT = np.array([[1.0, 0.0], [0.6, 0.8], [0.3, -0.2], [-1.5, 0.4]])
RIGHT = np.array([[0.0, 1.0], [0.6, 0.8], [-0.5, 1.1], [1.5, -0.4], [2.0, 0.1]])


def graded(start, stop, levels=14, points=10):
    """Gauss–Legendre nodes and weights on panels that shrink towards both ends of an interval."""
    halves = np.concatenate([[0.0], 2.0 ** np.arange(-levels, 0)])
    edges = start + (stop - start) * np.concatenate([halves, 1 - halves[-2::-1]])
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def polar_kernel(act, u, v):
    """E[φ(u·x)φ(v·x)] over the plane; φ bends only at zero, so along the rays where u·x or v·x changes sign."""
    kinks = [np.arctan2(w[1], w[0]) + turn for w in (u, v) for turn in (-np.pi / 2, np.pi / 2)]
    rays = np.unique(np.round(np.mod(kinks, 2 * np.pi), 12))
    arcs = [graded(a, b) for a, b in zip(rays, [*rays[1:], rays[0] + 2 * np.pi], strict=True)]
    angle, angle_weight = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
    radius, radius_weight = graded(0.0, 12.0)
    radius_weight = radius_weight * radius * np.exp(-(radius**2) / 2) / (2 * np.pi)
    x = np.stack([np.cos(angle), np.sin(angle)])
    values = act(np.multiply.outer(radius, u @ x)) * act(np.multiply.outer(radius, v @ x))
    return radius_weight @ values @ angle_weight


def kernel(act, left, right, order=SERIES_ORDER):
    return np.asarray(float64(lambda: gaussian_kernel(act, jnp.asarray(left), jnp.asarray(right), order))())


@cache
def _compiled(act):
    def one(w, v):
        return gaussian_kernel(act, w[None], v[None])[0, 0]

    return jax.jit(jax.vmap(lambda w, v: (jax.grad(one)(w, v), jax.hessian(one)(w, v))))


@float64
def derivatives(act, u, others):
    """Gradients (m, d) and Hessians (m, d, d) of K(·, v) at u for every row v of `others` (m, d)."""
    right = jnp.asarray(others)
    left = jnp.broadcast_to(jnp.asarray(u), right.shape)
    return tuple(np.asarray(derivative) for derivative in _compiled(act)(left, right))


def test_the_integral_in_polar_coordinates_knows_simple_answers():
    quadratic, relu = activations.get("quadratic"), activations.get("relu")
    assert polar_kernel(quadratic, LEFT[0], 2 * LEFT[1]) == pytest.approx(4 * (1 + 2 * 0.36), rel=1e-11)
    assert polar_kernel(relu, LEFT[0], LEFT[0]) == pytest.approx(0.5, rel=1e-11)
    assert polar_kernel(relu, LEFT[0], RIGHT[0]) == pytest.approx(1 / (2 * np.pi), rel=1e-11)


@each
def test_kernel_against_quadrature(act):
    expected = np.array([[polar_kernel(act, u, v) for v in RIGHT] for u in LEFT])
    cut = truncation_error(act, np.vstack([LEFT, RIGHT]))
    np.testing.assert_allclose(kernel(act, LEFT, RIGHT), expected, rtol=1e-10, atol=1e-11 + cut)
    assert cut == 0.0 if closed_form(act) is not None else cut < 1e-3


@each_series
def test_truncation_error_is_a_bound_and_is_reached(act):
    rows = np.vstack([LEFT[1:], RIGHT[-1:]])
    exact = np.array([[polar_kernel(act, u, v) for v in rows] for u in rows])
    for order in (2, 5, 12, SERIES_ORDER):
        error = np.abs(kernel(act, rows, rows, order) - exact)
        bound = truncation_error(act, rows, order)
        assert error.max() <= bound + 1e-11
        # On the diagonal ρ = 1 and the bound is the tail itself.
        assert np.diagonal(error).max() >= bound - 1e-11


@pytest.mark.parametrize("act", [act for act in DERIVED if act != activations.softplus(b=10.0)], ids=repr)
def test_derivatives_where_vectors_coincide_or_oppose(act):
    """The kernel's derivatives are E[φ'(u·x)φ(v·x)x] and E[φ''(u·x)φ(v·x)xxᵀ], here integrals along one line.

    Where φ' jumps, at zero, the mass of φ'' there meets φ(v·x) = φ(0) = 0. Not for steep softplus, whose series of
    order 60 has not converged: its derivatives are off by up to 5 %.
    """
    direction, normal = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    factors = np.array([1.0, 0.4, 2.5, -1.0, -0.7, -2.0])
    gradients, hessians = derivatives(act, direction, factors[:, None] * direction)
    z, weight = (np.concatenate(p) for p in zip(graded(-12.0, 0.0), graded(0.0, 12.0), strict=True))
    weight = weight * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    along, across = np.outer(direction, direction), np.outer(normal, normal)
    cut = 0.0 if closed_form(act) is not None else 1e-5
    for factor, gradient, hessian in zip(factors, gradients, hessians, strict=True):
        first, second = (weight * act.derivative(z, j) * act(factor * z) for j in (1, 2))
        np.testing.assert_allclose(gradient, first @ z * direction, rtol=1e-9, atol=1e-10 + cut)
        expected = second @ z**2 * along + second.sum() * across
        np.testing.assert_allclose(hessian, expected, rtol=1e-9, atol=1e-8 + 100 * cut)


@each_derived
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_derivatives_stay_finite_and_continuous_near_the_poles(act, sign):
    u = np.array([0.6, 0.8])
    tilts = np.array([0.0, 1e-9, 3e-8, 1e-7, 1e-6, 1e-4])
    gradients, hessians = derivatives(act, u, sign * (u + tilts[:, None] * np.array([-0.8, 0.6])))
    # Hessians of the arc-cosine family change by O(angle); rounding of the cosine costs about 1e-16/angle.
    steepness = dict(act.parameters).get("b", 1.0)
    for tilt, gradient, hessian in zip(tilts, gradients, hessians, strict=True):
        np.testing.assert_allclose(gradient, gradients[0], atol=1e-12 + 10 * steepness * tilt)
        np.testing.assert_allclose(hessian, hessians[0], atol=1e-7 + 10 * steepness**2 * tilt)


@each_derived
def test_zero_rows_give_finite_derivatives(act):
    for derivative in derivatives(act, np.zeros(2), np.tile([1.0, 2.0], (6, 1))):
        assert np.isfinite(derivative).all()
    value = kernel(act, np.zeros((1, 2)), LEFT)
    expected = [act(0.0) * act.moment(0, sigma=float(np.linalg.norm(v))) for v in LEFT]
    np.testing.assert_allclose(value[0], expected, atol=1e-10)


def test_series_refuses_kinks_away_from_zero():
    act = activations.custom(lambda z: jnp.maximum(z - 0.5, 0.0), name="shifted", kinks=[0.5])
    with pytest.raises(ValueError, match="kinks at zero only"):
        gaussian_kernel(act, jnp.eye(2), jnp.eye(2))
