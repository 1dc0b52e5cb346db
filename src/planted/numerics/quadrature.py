"""Expectations under z ~ N(0, 1), and the polynomials orthonormal with respect to it."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

# The density beyond |z| = 15.9 is below 1e-55. The edges avoid 0 and simple fractions: a narrow feature sits
# most often at such a point, and would go unseen if a panel happened to end exactly there.
_EDGES = np.linspace(-15.9371, 16.2817, 33)
_MAX_LEVELS = 60
_MAX_PANELS = 20_000


def gaussian_expectation(
    function: Callable[[NDArray[np.float64]], ArrayLike],
    kinks: Iterable[float] = (),
    tolerance: float = 1e-14,
) -> Any:
    """E[f(z)] for z ~ N(0, 1), by adaptive composite Gauss-Legendre quadrature.

    The line is cut into panels, at the `kinks` among other places. A panel whose 20-point estimate differs
    from the sum of the estimates of its two halves is bisected, all such panels at once, so that kinks nobody
    declared, jumps, and near-kinks such as log(1 + exp(100 z)) are resolved too. A bump much narrower than
    0.01 that leaves no trace on either side can be missed unless a kink is declared at it.

    Parameters
    ----------
    function : callable
        Vectorised f, from an array (q,) to an array (q, ...).
    kinks : iterable of float
        Places where f or a derivative of f jumps.
    tolerance : float
        Error aimed at, in units of max(1, E|f|), for each component of f.

    Returns
    -------
    array (...)
        Expectations; a scalar when f returns (q,).

    Raises
    ------
    ArithmeticError
        If f is not finite somewhere, or the estimates do not settle.

    Examples
    --------
    >>> round(float(gaussian_expectation(lambda z: z**4)), 12)
    3.0
    >>> gaussian_expectation(lambda z: np.abs(z)[:, None] ** [1, 3], kinks=[0.0]).round(6)
    array([0.797885, 1.595769])
    """
    inner = [float(kink) for kink in kinks if _EDGES[0] < kink < _EDGES[-1]]
    edges = np.unique(np.concatenate([_EDGES, inner]))
    left, right = edges[:-1], edges[1:]
    coarse, _ = _integrate(function, left, right)
    total, mass = np.zeros(coarse.shape[1:]), np.zeros(coarse.shape[1:])
    for _ in range(_MAX_LEVELS):
        middle = 0.5 * (left + right)
        left, right = np.stack([left, middle]), np.stack([middle, right])
        halves, sizes = _integrate(function, left.ravel(), right.ravel())
        halves = halves.reshape(left.shape + total.shape)
        size = sizes.reshape(halves.shape).sum(axis=0)
        fine = halves.sum(axis=0)
        scale = np.maximum(1.0, mass + size.sum(axis=0))
        # Errors relative to each panel's own share of E|f| add up to at most the tolerance; the floor spares
        # panels that hardly matter, few enough (about a hundred) that they add up to less than that.
        settled = np.abs(fine - coarse) <= tolerance * np.maximum(size, scale / 256)
        settled = settled.reshape(len(fine), -1).all(axis=1)
        total = total + fine[settled].sum(axis=0)
        mass = mass + size[settled].sum(axis=0)
        if settled.all():
            return total[()]
        left, right = left[:, ~settled].ravel(), right[:, ~settled].ravel()
        coarse = halves[:, ~settled].reshape((-1, *total.shape))
        if len(left) > _MAX_PANELS:
            break
    raise ArithmeticError(
        f"the Gaussian expectation did not converge to {tolerance:g} near z = {left[0]:.6g}; "
        "the function may not be integrable there, or may be too noisy for this tolerance"
    )


def _integrate(
    function: Callable[[NDArray[np.float64]], ArrayLike],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Integrals of f·density and of |f|·density over each panel [left, right], each (panels, ...)."""
    half = 0.5 * (right - left)[:, None]
    z = 0.5 * (right + left)[:, None] + half * _NODES
    weights = half * _WEIGHTS * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    values = np.asarray(function(z.ravel()), dtype=np.float64)
    if values.shape[:1] != (z.size,):
        raise ValueError(f"the function must map ({z.size},) to ({z.size}, ...), not to {values.shape}.")
    finite = np.isfinite(values).reshape(z.size, -1).all(axis=1)
    if not finite.all():
        raise ArithmeticError(f"the function is not finite at z = {z.ravel()[~finite][0]:.6g}")
    values = values.reshape(z.shape + values.shape[1:])
    return np.einsum("pq,pq...->p...", weights, values), np.einsum("pq,pq...->p...", weights, np.abs(values))


def hermite_polynomials(z: ArrayLike, order: int) -> NDArray[np.float64]:
    """Normalised probabilists' Hermite polynomials h_0(z), …, h_order(z), with E[h_i(z) h_j(z)] = δ_ij.

    By the recursion √(n+1) h_{n+1}(z) = z h_n(z) − √n h_{n−1}(z), with h_0 = 1 and h_1 = z.

    Parameters
    ----------
    z : array of any shape
    order : int
        The highest order, not negative.

    Returns
    -------
    array (order + 1, *z.shape)

    Examples
    --------
    >>> hermite_polynomials([0.0, 1.0], 2)[2] * np.sqrt(2)    # z² − 1
    array([-1.,  0.])
    """
    if order < 0:
        raise ValueError(f"the order of a Hermite polynomial must be non-negative, not {order}.")
    z = np.asarray(z, dtype=np.float64)
    h = np.ones((order + 1, *z.shape))
    if order > 0:
        h[1] = z
    for n in range(1, order):
        h[n + 1] = (z * h[n] - np.sqrt(n) * h[n - 1]) / np.sqrt(n + 1)
    return h
