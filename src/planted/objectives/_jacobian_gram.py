"""Inner products of the rows' gradients of the prediction: the tangent kernel of a network."""

from __future__ import annotations

import jax

from planted.objectives._base import Params
from planted.objectives._squared import Squared, split


def jacobian_gram(objective: Squared, params: Params, x: jax.Array) -> jax.Array:
    """JJᵀ (n, n) for rows x (n, d), where J is the Jacobian of the predictions in all that `params` holds, traceable.

    By Lemma 5.4 of Soltanolkotabi et al. (2017), without forming J: (Σ_q v_q² φ'(z_iq) φ'(z_jq)) (x_i·x_j), z = Wx,
    with one more than x_i·x_j if there are biases; plus φ(z_i)·φ(z_j) if outputs are learned; plus one for an
    intercept.

    >>> import jax.numpy as jnp
    >>> from planted import objectives
    >>> loss = objectives.Squared([[2.0]], [0.0], "quadratic")
    >>> jacobian_gram(loss, {"weights": jnp.ones((1, 1)), "output": jnp.ones(1)}, jnp.array([[2.0]]))
    Array([[80.]], dtype=float32)
    """
    weights, output = split(params, objective.output)
    z, inner = x @ weights.T, x @ x.T
    if objective.bias:
        z, inner = z + params["bias"], inner + 1
    slopes = objective.activation.derivative(z) * output
    gram = (slopes @ slopes.T) * inner
    if isinstance(params, dict) and "output" in params:
        features = objective.activation(z)
        gram = gram + features @ features.T
    return gram + 1 if objective.intercept else gram
