"""How many neurons? Widen until held-out rows are explained, then narrow while they stay so."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from planted.methods._recovery import EXACT, Recovery

_GAIN = 0.9
_TEST_FRACTION = 0.2


def choose_width(
    fit: Callable[[np.ndarray, np.ndarray, int, jax.Array], Recovery],
    X: np.ndarray,
    y: np.ndarray,
    key: jax.Array,
    largest: int,
) -> tuple[int, dict[int, float]]:
    """The smallest number of neurons that explains held-out rows, and the held-out relative loss of each tried.

    Widths grow by half as much again from one until the held-out loss is zero to rounding or no longer falls by a
    tenth; then every width between the last two is tried from below.

    Parameters
    ----------
    fit : callable
        `fit(X, y, n_hidden, key)` returns a Recovery.
    largest : int
        Largest width to try.

    Examples
    --------
    >>> from planted import activations, datasets, methods
    >>> data = datasets.make_planted(400, 3, 2, random_state=0)
    >>> relu = activations.get("relu")
    >>> fit = lambda X, y, k, key: methods.squared(X, y, k, relu, key=key)
    >>> choose_width(fit, data.X, data.y, jax.random.key(0), largest=4)[0]
    2
    """
    n = len(X)
    order = np.asarray(jax.random.permutation(jax.random.fold_in(key, 0), n))
    held = max(1, int(_TEST_FRACTION * n))
    test, train = order[:held], order[held:]
    variance = float(np.var(y))
    losses: dict[int, float] = {}

    def held_out(k: int) -> float:
        if k not in losses:
            found = fit(X[train], y[train], k, jax.random.fold_in(key, k))
            residual = y[test] - found.network.predict(X[test])
            losses[k] = float(np.mean(residual**2)) / variance
        return losses[k]

    previous, width = 0, 1
    while True:
        worse = previous and held_out(width) > _GAIN * losses[previous]
        if worse or held_out(width) <= 1e3 * EXACT or width >= largest:
            break
        previous, width = width, min(largest, max(width + 1, (3 * width) // 2))
    if worse:
        width = previous
        previous = max((k for k in losses if k < width), default=0)
    goal = max(losses[width] / _GAIN, 1e3 * EXACT)
    for candidate in range(previous + 1, width):
        if held_out(candidate) <= goal:
            width = candidate
            break
    return width, dict(sorted(losses.items()))
