"""Planted data whose teacher was trained, on real data or made data, and not drawn."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from planted.datasets._laws import sampled, units
from planted.names import SKLEARN_ACTIVATIONS, unknown
from planted.networks import Network
from planted.numerics import random
from planted.numerics.precision import float64
from planted.numerics.seeding import words_from
from planted.numerics.validation import as_matrix, count, non_negative

_ITERATIONS = 3000
_REAL = {
    "diabetes": "load_diabetes",
    "wine": "load_wine",
    "cancer": "load_breast_cancer",
    "iris": "load_iris",
    "digits": "load_digits",
    "linnerud": "load_linnerud",
}
_MADE = {
    "friedman1": "make_friedman1",
    "friedman2": "make_friedman2",
    "friedman3": "make_friedman3",
    "linear": "make_regression",
    "sparse": "make_sparse_uncorrelated",
}
_MADE_ROWS = 500
SOURCES = (*_REAL, *_MADE)


@float64
def make_trained(
    n_samples: int,
    n_hidden: int,
    *,
    source: Any = "diabetes",
    activation: str = "relu",
    inputs: Any = "gaussian",
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Rows labelled by a network that scikit-learn trained: y = Σ_i output_i φ(weights_i·x + bias_i) + intercept.

    Trained networks are harder to recover than drawn ones: neurons of very different strengths, correlated directions,
    biases, smooth neurons that hardly leave their linear part.

    Parameters
    ----------
    n_samples, n_hidden : int
        n and k.
    source : str or pair of arrays (rows, d), (rows,)
        What the network learns, columns and targets being standardised: a data set that comes with scikit-learn
        ("diabetes", "wine", "cancer", "iris", "digits", "linnerud"; classes are numbers, and the first of several
        targets is used), one of 500 rows that is made ("friedman1", "friedman2", "friedman3", "linear", "sparse"), or
        your own.
    activation : "relu", "tanh" or "sigmoid"
        φ.
    inputs : str or an object with `sample(n_samples, random_state)`
        Law of x, as for :func:`make_planted`; the rows that the network learnt from play no part any more.
    noise : float
        Standard deviation of Gaussian noise.
    random_state : None, int, RandomState or Generator
        An integer is the `random_state` of :class:`sklearn.neural_network.MLPRegressor` too.

    Returns
    -------
    Bunch with X (n, d), y (n,) and teacher (:class:`planted.Network`).

    Examples
    --------
    >>> data = make_trained(100, 3, source="iris", activation="tanh", random_state=0)
    >>> data.X.shape, data.teacher
    ((100, 4), Network(3 tanh neurons, 4 inputs, biases, intercept))
    """
    n, k = count("n_samples", n_samples), count("n_hidden", n_hidden)
    non_negative("noise", noise)
    if activation not in SKLEARN_ACTIVATIONS:
        raise ValueError(unknown("activation", activation, SKLEARN_ACTIVATIONS))
    seed_key, input_key, noise_key = random.split(words_from(random_state), 3)
    given = isinstance(random_state, Integral)
    seed = int(random_state) if given else int(random.bits(seed_key, ())) % 2**31
    from sklearn.neural_network import MLPRegressor

    rows, targets = _learnt(source, seed)
    model = MLPRegressor(
        hidden_layer_sizes=(k,), activation=SKLEARN_ACTIVATIONS[activation], max_iter=_ITERATIONS, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, targets)
    d = rows.shape[1]
    teacher = Network.from_sklearn(model)
    teacher = teacher.replace(weights=teacher.weights / units(inputs, d))
    X = sampled(inputs, n, d, int(random.bits(input_key, ())))
    y = teacher.predict(X)
    return Bunch(X=X, y=y + noise * random.normal(noise_key, (n,)) if noise else y, teacher=teacher)


def _learnt(source: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The standardised rows (n, d) and targets (n,) of a source."""
    from sklearn.preprocessing import StandardScaler

    if isinstance(source, str):
        if source not in SOURCES:
            raise ValueError(unknown("source", source, SOURCES))
        from sklearn import datasets as examples

        if source in _REAL:
            rows, targets = getattr(examples, _REAL[source])(return_X_y=True)
        else:
            rows, targets = getattr(examples, _MADE[source])(n_samples=_MADE_ROWS, random_state=seed)
        targets = targets if targets.ndim == 1 else targets[:, 0]
    else:
        rows, targets = source
    rows, targets = as_matrix("source", rows, 2), as_matrix("source's targets", targets, 1)
    if len(rows) != len(targets):
        raise ValueError(f"source has {len(rows)} rows but {len(targets)} targets")
    return StandardScaler().fit_transform(rows), StandardScaler().fit_transform(targets[:, None])[:, 0]
