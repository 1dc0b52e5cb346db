"""Planted data as a JAX program, for many data sets side by side."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from planted.activations import Activation


def draw_planted(
    key: jax.Array, n_samples: int, weights: jax.Array, activation: Activation, task: str = "regression"
) -> tuple[jax.Array, jax.Array]:
    """Rows X (n, d) ~ N(0, I) and what a teacher with `weights` (k, d) makes of them, in their dtype, traceable.

    y is Σ_i φ(w_i·x), or for classification a label that is 1 with probability (1/k) Σ_i φ(w_i·x), as in
    :func:`make_planted`.

    >>> from planted import activations
    >>> X, y = draw_planted(jax.random.key(0), 8, jnp.eye(2, 3), activations.get("sigmoid"), "classification")
    >>> X.shape, y.shape, set(y.tolist()) <= {0.0, 1.0}
    ((8, 3), (8,), True)
    """
    input_key, label_key = jax.random.split(key)
    X = jax.random.normal(input_key, (n_samples, weights.shape[1]), weights.dtype)
    features = activation(X @ weights.T)
    if task == "regression":
        return X, jnp.sum(features, axis=1)
    label = jax.random.uniform(label_key, (n_samples,), weights.dtype) < jnp.mean(features, axis=1)
    return X, label.astype(weights.dtype)
