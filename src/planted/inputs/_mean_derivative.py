r"""E[φ^{(m)}(a·x)] by one-dimensional quadrature: what Stein's identity turns E[φ(a·x) S_m(x)] into.

    E[φ(a·x) S_m(x)] = (−1)^m E[φ^{(m)}(a·x)] a^{⊗m},      E[φ^{(m)}(u)] = (−1)^m ∫ φ(z) f_u^{(m)}(z) dz

where f_u is the density of u = a·x. φ itself is never differentiated, so that kinks do no harm. A component N(m, C) of
a mixture gives u ~ N(a·m, aᵀCa) and an expectation under N(0, 1); independent inputs give the characteristic function
ψ(t) = Π_j ψ_j(a_j t), and f_u^{(m)}(z) = (1/2π) ∫ (−it)^m ψ(t) e^{−itz} dt. A density that knows the law of a·x itself,
as every density of one input does, has a quadrature over that (`_marginal.py`). A bias b moves u to a·x + b.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.inputs._base import Density
from planted.inputs._gaussian import Gaussian
from planted.inputs._marginal import line_expectation
from planted.inputs._mixture import GaussianMixture
from planted.inputs._product import ProductDensity
from planted.numerics.precision import float64
from planted.numerics.quadrature import gaussian_expectation
from planted.numerics.validation import as_matrix

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HERMITE = {1: [0, 1], 2: [-1, 0, 1], 3: [0, -3, 0, 1], 4: [3, 0, -6, 0, 1]}
# In standard deviations of a·x: how far its density is followed, and where its characteristic function is taken to end.
_REACH, _FREQUENCY = 40.0, 45.0
_NEGLIGIBLE, _SMALLEST = -50.0, 1e-15


def one_dimensional(density: Density) -> bool:
    """Whether :func:`mean_derivative` has a quadrature for the density.

    >>> from planted.inputs import CustomDensity
    >>> one_dimensional(Gaussian([0.0])), one_dimensional(CustomDensity(lambda x: -(x @ x), 2))
    (True, False)
    """
    if isinstance(density, Gaussian | GaussianMixture) or density.has_marginals:
        return True
    return isinstance(density, ProductDensity) and density.smooth and np.isfinite(density.line_variance)


@float64
def mean_derivative(
    density: Density, direction: ArrayLike, activation: Activation, order: int = 4, *, bias: float = 0.0
) -> float:
    """E[φ^{(order)}(a·x + b)] by quadrature, for densities whose projections a·x have a known law.

    Parameters
    ----------
    density : Density
        Gaussian, mixture of Gaussians, independent inputs with a smooth density of finite variance, or a CustomDensity
        that knows its marginals; for others see :func:`planted.inputs.sampled_derivatives`.
    direction : array (d,)
        a, of any length.
    activation : Activation
        φ, with kinks as it may have them.
    order : 1, 2, 3 or 4
    bias : float
        b.

    Examples
    --------
    For ReLU φ'''' is δ'', so that the expectation is the second derivative of the density of a·x at zero:

    >>> from planted import activations
    >>> from planted.inputs import Logistic
    >>> round(mean_derivative(Logistic(2), [1.0, 0.0], activations.get("relu")), 9)
    -0.125
    """
    if order not in _HERMITE:
        raise ValueError(f"order must be 1, 2, 3 or 4, not {order!r}")
    a = as_matrix("direction", direction, 1)
    if len(a) != density.n_features or not np.any(a):
        raise ValueError(f"direction must be {density.n_features} numbers, not all zero")
    if not one_dimensional(density):
        raise ValueError(
            f"{type(density).__name__} has no one-dimensional form of E[φ^({order})(a·x)]; Gaussian, mixture and "
            "smooth product densities of finite variance have, and a CustomDensity with marginals; "
            "sampled_derivatives takes any that can be sampled"
        )
    if density.has_marginals:
        kinks = tuple(kink - bias for kink in activation.kinks)
        return line_expectation(density.marginal(a), lambda z: activation(z + bias), kinks, order)
    if isinstance(density, Gaussian):
        density = GaussianMixture([1.0], density.mean[None], density.cov[None])
    if isinstance(density, GaussianMixture):
        parts = zip(density.weights, density.means, density.covs, strict=True)
        laws = [(w, float(a @ m) + bias, float(a @ C @ a) ** 0.5) for w, m, C in parts]
        return float(sum(w * _gaussian(activation, mean, spread, order) for w, mean, spread in laws))
    return _product(density, a, activation, order, bias)


def _gaussian(activation: Activation, mean: float, spread: float, order: int) -> float:
    """E[φ^{(m)}(μ + σz)] = E[φ(μ + σz) He_m(z)] / σ^m."""
    hermite = np.polynomial.Polynomial(_HERMITE[order])
    kinks = tuple((kink - mean) / spread for kink in activation.kinks)
    return float(gaussian_expectation(lambda z: activation(mean + spread * z) * hermite(z), kinks)) / spread**order


def _product(density: Any, a: np.ndarray, activation: Activation, order: int, bias: float) -> float:
    live = np.flatnonzero(a)
    scale = np.abs(a[live]) * density.scale[live]
    mean, spread = float(a @ density.loc) + bias, float(np.sqrt(np.sum(scale**2) * density.line_variance))
    step = np.pi / (2 * _REACH * spread)
    t = step * np.arange(1, int(_FREQUENCY / spread / step) + 1)
    line = _line_characteristic(density, np.outer(np.sign(a[live]) * scale, t))
    psi = np.prod(line, axis=0)
    size = np.abs(psi) * t**order
    live_t = slice(0, int(np.flatnonzero(size > _SMALLEST * size.max())[-1]) + 1)
    t, psi = t[live_t], psi[live_t]
    edges = np.unique(np.concatenate([np.linspace(-_REACH, _REACH, 161) * spread + mean, activation.kinks]))
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half * (1 + _NODES)).ravel()
    weight = (half * _WEIGHTS).ravel()
    # The integrand at −t is the conjugate of that at t, and zero at t = 0.
    derivative = np.zeros(len(z))
    for rows in np.array_split(np.arange(len(z)), 16):
        phase = np.exp(-1j * np.outer(z[rows] - mean, t))
        derivative[rows] = (phase @ ((-1j * t) ** order * psi)).real * step / np.pi
    return float((-1) ** order * np.sum(weight * activation(z) * derivative))


def _line_characteristic(density: ProductDensity, t: np.ndarray) -> np.ndarray:
    """∫ p(z) e^{itz} dz for the line density p, loc 0 and scale 1, by the trapezoid rule, at an array of t."""
    spread, largest = density.line_variance**0.5, float(np.abs(t).max())
    step = min(0.05 * spread, np.pi / (2 * largest))
    end = 30 * spread
    # A density that is cut off has a characteristic function with a tail, which the m-th power of t makes large.
    while end < 1000 * spread and float(density.line_log_density(jnp.asarray(end))) > _NEGLIGIBLE:
        end *= 1.5
    z = step * np.arange(-int(end / step), int(end / step) + 1)
    mass = np.exp(np.asarray(density.line_log_density(jnp.asarray(z))))
    mass = mass / mass.sum()
    values, where = np.unique(np.round(t, 12), return_inverse=True)
    pieces = np.array_split(values, max(1, len(values) // 256))
    if np.allclose(mass, mass[::-1], rtol=1e-9, atol=0):
        middle = len(z) // 2
        half, right = np.r_[mass[middle], 2 * mass[middle + 1 :]], z[middle:]
        parts = [np.cos(np.outer(piece, right)) @ half for piece in pieces]
    else:
        parts = [np.exp(1j * np.outer(piece, z)) @ mass for piece in pieces]
    return np.concatenate(parts)[where].reshape(t.shape)
