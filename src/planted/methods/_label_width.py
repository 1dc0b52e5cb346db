"""How many neurons binary labels can tell apart."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from planted.methods._recovery import Recovery

_TEST_FRACTION = 0.3
_STANDARD_ERRORS = 2.0


def cross_entropies(probability: np.ndarray, y: np.ndarray) -> np.ndarray:
    """−log P(y) of each row, for labels y in {0, 1}.

    >>> cross_entropies(np.array([0.5]), np.array([1.0])).round(4)
    array([0.6931])
    """
    own = np.where(y > 0.5, probability, 1 - probability)
    return -np.log(np.maximum(own, 1e-15))


def choose_label_width(
    fit: Callable[[np.ndarray, np.ndarray, int, jax.Array], Recovery],
    X: np.ndarray,
    y: np.ndarray,
    key: jax.Array,
    largest: int,
) -> tuple[int, dict[int, float]]:
    """The largest width that still lowers the held-out cross-entropy, and that loss of each width tried.

    A neuron is added as long as it lowers the mean over held-out rows by more than two standard errors of the paired
    difference.

    >>> from planted import activations, datasets, methods
    >>> data = datasets.make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                              random_state=0)
    >>> fit = lambda X, y, k, key: methods.classification(X, y, k, activations.get("sigmoid"), key=key)
    >>> choose_label_width(fit, data.X, data.y.astype(float), jax.random.key(0), largest=3)[0]
    1
    """
    order = np.asarray(jax.random.permutation(jax.random.fold_in(key, 0), len(X)))
    held = max(1, int(_TEST_FRACTION * len(X)))
    test, train = order[:held], order[held:]

    def rows(k: int) -> np.ndarray:
        found = fit(X[train], y[train], k, jax.random.fold_in(key, k))
        return cross_entropies(found.network.predict(X[test]), y[test])

    best = rows(1)
    width, losses = 1, {1: float(np.mean(best))}
    for k in range(2, largest + 1):
        own = rows(k)
        losses[k] = float(np.mean(own))
        gain = best - own
        if np.mean(gain) <= _STANDARD_ERRORS * np.std(gain) / np.sqrt(held):
            break
        width, best = k, own
    return width, losses
