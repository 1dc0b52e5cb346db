"""Weights of planted teachers, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ortho_group, random_correlation

from planted.names import unknown

WEIGHTS = ("orthogonal", "gaussian", "correlated")
OUTPUTS = ("ones", "positive", "mixed")


def teacher_weights(kind: Any, k: int, d: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """Hidden weights (k, d) by the name of their kind, or the array given; "correlated" has this condition number.

    >>> teacher_weights("gaussian", 2, 3, 1.0, np.random.default_rng(0)).shape
    (2, 3)
    """
    if not isinstance(kind, str):
        weights = np.array(kind, dtype=np.float64)
        if weights.shape != (k, d):
            raise ValueError(f"weights has shape {weights.shape}, expected ({k}, {d})")
        return weights
    if kind not in WEIGHTS:
        raise ValueError(unknown("weights", kind, WEIGHTS))
    if kind == "gaussian":
        weights = rng.standard_normal((k, d))
        return weights / np.linalg.norm(weights, axis=1, keepdims=True)
    if k > d:
        raise ValueError(f"{kind} weights need n_hidden ≤ n_features, but {k} > {d}; use weights='gaussian'")
    basis = ortho_group.rvs(d, random_state=rng)[:k] if d > 1 else np.ones((1, 1))
    if kind == "orthogonal" or k == 1:
        return basis
    # A Gram matrix with unit diagonal and this spectrum gives unit rows and the stated condition number.
    spectrum = np.geomspace(1.0, condition**2, k)
    gram = random_correlation.rvs(spectrum * k / spectrum.sum(), random_state=rng)
    return np.linalg.cholesky(gram) @ basis


def teacher_output(kind: Any, k: int, rng: np.random.Generator) -> np.ndarray:
    """Output weights (k,) by the name of their kind, or the array given.

    >>> teacher_output("ones", 2, np.random.default_rng(0))
    array([1., 1.])
    """
    if not isinstance(kind, str):
        output = np.array(kind, dtype=np.float64)
        if output.shape != (k,):
            raise ValueError(f"output has shape {output.shape}, expected ({k},)")
        return output
    if kind not in OUTPUTS:
        raise ValueError(unknown("output", kind, OUTPUTS))
    if kind == "ones":
        return np.ones(k)
    size = rng.uniform(1.0, 2.0, k)
    return size if kind == "positive" else size * rng.choice([-1.0, 1.0], k)
