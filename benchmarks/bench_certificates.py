"""Smallest Hessian eigenvalue without the Hessian, against the dense one (time, accuracy).

`pytest benchmarks/bench_certificates.py` runs a small size, `python benchmarks/bench_certificates.py 100 100 50000` the
k, d, n given. The dense Hessian is formed from its closed form by matrix products of one triangle, which is much faster
than column by column from Hessian-vector products, and only its smallest eigenvalue is asked for.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk

from planted import activations
from planted.objectives import Squared, smallest_curvature


def problem(k: int, d: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, noisy targets of a tanh teacher, and weights near it."""
    rng = np.random.default_rng(seed)
    X, teacher = rng.standard_normal((n, d)), rng.standard_normal((k, d)) / d**0.5
    y = np.tanh(X @ teacher.T).sum(axis=1) + rng.standard_normal(n)
    return X, y, teacher + 0.1 * rng.standard_normal((k, d)) / d**0.5


def dense_hessian(X: np.ndarray, y: np.ndarray, W: np.ndarray, block: int = 1000) -> np.ndarray:
    """Lower triangle of the Hessian (kd, kd) of ½ mean (Σ tanh(w·x) − y)².

    JᵀJ/n, and on the diagonal the blocks Xᵀ diag(r φ''_q) X / n.
    """
    act = activations.get("tanh")
    (n, d), k = X.shape, len(W)
    hessian = np.zeros((k * d, k * d), order="F")
    for start in range(0, n, block):
        x = X[start : start + block]
        z = x @ W.T
        residual = act(z).sum(axis=1) - y[start : start + block]
        jacobian = (act.derivative(z)[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        hessian = dsyrk(1.0, jacobian.T, beta=1.0, c=hessian, lower=1, overwrite_c=1)
        bends = act.derivative(z, 2) * residual[:, None]
        for q in range(k):
            part = slice(q * d, (q + 1) * d)
            hessian[part, part] += (x.T * bends[:, q]) @ x
    hessian /= n
    return hessian


def compare(k: int, d: int, n: int) -> dict[str, float]:
    """Time and smallest eigenvalue of both ways."""
    X, y, W = problem(k, d, n)
    loss = Squared(X, y, "tanh", output=np.ones(k))
    began = time.perf_counter()
    free = smallest_curvature(loss, W, dense_size=0)
    free_seconds = time.perf_counter() - began
    print(
        f"matrix-free: {free.eigenvalue:.10g}, residual {free.residual:.1e}, norm {free.norm:.6g}, "
        f"{free.products} products, {free_seconds:.1f} s",
        flush=True,
    )
    began = time.perf_counter()
    hessian = dense_hessian(X, y, W)
    formed = time.perf_counter() - began
    print(f"dense Hessian formed in {formed:.1f} s", flush=True)
    smallest = float(
        eigh(hessian, lower=True, eigvals_only=True, subset_by_index=[0, 0], overwrite_a=True, check_finite=False)[0]
    )
    dense_seconds = time.perf_counter() - began
    error = abs(free.eigenvalue - smallest) / free.norm
    print(f"dense: {smallest:.10g}, {dense_seconds:.1f} s ({formed:.1f} s to form it)")
    print(f"difference {error:.1e} of the spectral norm; {dense_seconds / free_seconds:.1f} times faster")
    return {"error": error, "speedup": dense_seconds / free_seconds}


def test_matrix_free_curvature(benchmark) -> None:
    X, y, W = problem(20, 20, 5000)
    loss = Squared(X, y, "tanh", output=np.ones(20))
    found = benchmark.pedantic(lambda: smallest_curvature(loss, W, dense_size=0), rounds=3, warmup_rounds=1)
    smallest = np.linalg.eigvalsh(dense_hessian(X, y, W), UPLO="L")[0]
    assert abs(found.eigenvalue - smallest) < 1e-6 * found.norm


if __name__ == "__main__":
    compare(*(int(value) for value in sys.argv[1:4]))
