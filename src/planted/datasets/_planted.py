"""Planted data with a known teacher."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from planted import activations
from planted.datasets._laws import sampled, units
from planted.datasets._teachers import teacher_output, teacher_weights
from planted.names import unknown
from planted.networks import Network
from planted.numerics import random
from planted.numerics.precision import float64
from planted.numerics.seeding import words_from
from planted.numerics.validation import count, non_negative

TASKS = ("regression", "classification")


@float64
def make_planted(
    n_samples: int,
    n_features: int,
    n_hidden: int,
    *,
    activation: Any = "relu",
    weights: Any = "orthogonal",
    output: Any = "ones",
    bias: Any = False,
    inputs: Any = "gaussian",
    noise: float = 0.0,
    task: str = "regression",
    condition_number: float = 3.0,
    random_state: Any = None,
) -> Bunch:
    """Data from a planted network: y = Σ_i output_i φ(weights_i·x + bias_i) + noise·ξ.

    Parameters
    ----------
    n_samples, n_features, n_hidden : int
        n, d and k.
    activation : str, Activation or callable
        φ.
    weights : "orthogonal", "gaussian", "correlated" or array (k, d)
        Rows have unit norm. "gaussian" rows are uniform on the sphere; "correlated" rows have the
        condition number `condition_number`.
    output : "ones", "positive", "mixed" or array (k,)
        "positive" is uniform on [1, 2], "mixed" has random signs besides.
    bias : bool or array (k,)
        True draws biases from N(0, 1/4).
    inputs : str or an object with `sample(n_samples, random_state)`
        Law of x. "gaussian" is N(0, I); "mixture" is ½N(m, I) + ½N(−m, I) with m = (1, …, 1); "laplace" has independent
        entries with density ½exp(−|x|), "uniform" on [−√3, √3], "binary" 0 or 1, "counts" Poisson with mean 2, "sparse"
        zeros but for a fifth of them, "heavy" Student's t with 2.5 degrees of freedom. "correlated" is Gaussian with a
        covariance of condition number 10⁴; "scales" has standard deviations from 10⁻⁶ to 10⁶, and weights that are
        divided by them; in "repeated" the last three columns (half of them, if fewer) are copies of the first ones, so
        that no rows determine the weights.
    noise : float
        Standard deviation of Gaussian noise (regression only).
    task : "regression" or "classification"
        For classification y is 0 or 1 with P(y = 1 | x) = (1/k) Σ_i φ(weights_i·x + bias_i).
    random_state : None, int, RandomState or Generator

    Returns
    -------
    Bunch with X (n, d), y (n,) and teacher (:class:`planted.Network`).

    Examples
    --------
    >>> data = make_planted(100, 5, 3, output="mixed", random_state=0)
    >>> data.X.shape, data.y.shape, data.teacher
    ((100, 5), (100,), Network(3 relu neurons, 5 inputs))
    """
    n, d, k = (
        count(name, value)
        for name, value in (("n_samples", n_samples), ("n_features", n_features), ("n_hidden", n_hidden))
    )
    if task not in TASKS:
        raise ValueError(unknown("task", task, TASKS))
    non_negative("noise", noise)
    if not (np.isfinite(condition_number) and condition_number >= 1):
        raise ValueError(f"condition_number must be at least 1, not {condition_number!r}")
    act = activations.get(activation)
    key = words_from(random_state)
    teacher_key, input_key, noise_key = random.split(key, 3)
    rng = np.random.default_rng(random.bits(teacher_key, (4,)))
    rows = teacher_weights(weights, k, d, condition_number, rng)
    out = teacher_output(output, k, rng)
    biases = (rng.normal(0.0, 0.5, k) if bias else None) if isinstance(bias, bool) else np.asarray(bias, float)
    if task == "classification":
        low, high = act.range
        if low < 0 or high > 1:
            raise ValueError(f"classification needs an activation into [0, 1], such as sigmoid, not {act.name}")
        out = np.full(k, 1.0 / k)
    teacher = Network(rows / units(inputs, d), out, act, biases)
    X = sampled(inputs, n, d, int(random.bits(input_key, ())))
    y = teacher.predict(X)
    if task == "classification":
        y = (random.uniform(noise_key, (n,)) < y).astype(np.int64)
    elif noise:
        y = y + noise * random.normal(noise_key, (n,))
    return Bunch(X=X, y=y, teacher=teacher)
