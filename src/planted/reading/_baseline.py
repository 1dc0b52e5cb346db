r"""Where rounding is coarse: a neuron's hyperplane measured over a long distance.

Around one point of its hyperplane, at a distance R from the centre, the weights of a neuron are known to the relative
error ε|w|R of an argument, and its bias only to ε(|w|R)². In float32 that is more than one. So the neuron is asked
again at points of its hyperplane that are further and further apart, where others have other plateaus: three values,
on the slope and on either side of it, say where the argument is, and whether the neuron turns alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planted.reading._steps import Profile

_GROWTH = 20.0
_ASIDE = 14.0
_ALONE = 0.01
_INSIDE = 0.01
_SPARE = 2.0


def lengthen(
    function: Callable[[np.ndarray], np.ndarray],
    centre: np.ndarray,
    weights: np.ndarray,
    rise: np.ndarray,
    profile: Profile,
    tolerance: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float] | None:
    """Weights (d,) and bias of the neuron that turns at `centre` (d,), over distances up to that of the centre.

    Parameters
    ----------
    function : callable
        From (n, d) to (n, m).
    centre, weights : array (d,)
        A point of the hyperplane, and what is known of the weights there.
    rise : array (m,)
        How far each output goes up.
    profile : Profile
        The step from 0 to 1.
    tolerance : float
        Values that differ by less are on one plateau.
    rng : numpy.random.Generator
        Draws the points.

    Returns
    -------
    tuple of array (d,) and float, or None
        None where too few points are on the slope of this neuron alone.

    Examples
    --------
    >>> from planted.reading._steps import PROFILES
    >>> step = PROFILES["sigmoid"]
    >>> centre = np.array([60.0, -29.0])  # on the hyperplane x₁ + 2 x₂ − 2 = 0
    >>> lengthen(
    ...     lambda X: step.step(X @ np.array([[1.0], [2.0]]) - 2),
    ...     centre,
    ...     np.array([1.001, 2.0]),
    ...     np.ones(1),
    ...     step,
    ...     1e-9,
    ...     np.random.default_rng(0),
    ... )[0].round(4)
    array([1., 2.])
    """
    d, whole = len(centre), float(np.linalg.norm(centre))
    bias = -float(weights @ centre)
    count = int(_SPARE * (d + 1)) + 4
    length = _GROWTH / float(np.linalg.norm(weights))
    while True:
        length = min(length, whole)
        size = float(np.linalg.norm(weights))
        normal = weights / size
        along = rng.standard_normal((count, d))
        along -= np.outer(along @ normal, normal)
        along *= length / np.linalg.norm(along, axis=1, keepdims=True)
        middle = centre + along
        middle += np.outer(rng.uniform(-1, 1, count) - middle @ weights - bias, weights / size**2)
        aside = _ASIDE / size * normal
        low, at, high = function(np.concatenate([middle - aside, middle, middle + aside])).reshape(3, count, -1)
        alone = np.linalg.norm(high - low - rise, axis=1) <= _ALONE * np.linalg.norm(rise) + tolerance
        share = (at - low) @ rise / (rise @ rise)
        held = alone & (share > _INSIDE) & (share < 1 - _INSIDE)
        if held.sum() < d + 2:
            return None
        z = profile.inverse(share[held])
        weight = profile.slope(z)
        # From the centre, in units of the distance: otherwise the columns differ by orders of magnitude.
        basis = _basis(normal, size, length)
        columns = np.column_stack([(middle[held] - centre) @ basis, np.ones(held.sum())])
        solution = np.linalg.lstsq(columns * weight[:, None], z * weight, rcond=1e-12)[0]
        weights = basis @ solution[:-1]
        bias = float(solution[-1] - weights @ centre)
        if length >= whole:
            return weights, bias
        length *= _GROWTH


def _basis(normal: np.ndarray, size: float, length: float) -> np.ndarray:
    """Columns (d, d): directions in the hyperplane of length 1/length, and its normal of length `size`."""
    flat = np.eye(len(normal)) - np.outer(normal, normal)
    return flat / length + size * np.outer(normal, normal)
