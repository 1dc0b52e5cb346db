"""Cost of G beside the squared loss, its growth, and what variance reduction buys.

Run with `make bench`, or `python -m pytest benchmarks/bench_landscape.py -s` to see the ratios. Every claim is a ratio
of two times taken in turns in the same process.
"""

from __future__ import annotations

import time

import jax
import numpy as np
import pytest

from planted import activations, datasets, objectives
from planted.numerics.precision import to_jax
from planted.objectives import evaluate_with_gradient
from planted.rows import ArrayRows


def _pair(n: int, d: int) -> tuple[objectives.Squared, objectives.Landscape, jax.Array]:
    data = datasets.make_planted(n, d, d, random_state=0)
    relu = activations.get("relu")
    rows = ArrayRows(to_jax(data.X), to_jax(data.y))
    B = to_jax(np.random.default_rng(0).standard_normal((d, d)) / d**0.5)
    return objectives.Squared.on(rows, relu), objectives.Landscape.on(rows, relu, 0.1, 1.0), B


def _times(objectives_: list, B: jax.Array, repeats: int = 9) -> np.ndarray:
    """Median seconds of value and gradient of each objective, taken in turns."""
    spent = np.zeros((repeats + 1, len(objectives_)))
    for row in spent:
        for i, objective in enumerate(objectives_):
            begin = time.perf_counter()
            jax.block_until_ready(evaluate_with_gradient(objective, B))
            row[i] = time.perf_counter() - begin
    return np.median(spent[1:], axis=0)


def test_g_costs_at_most_three_squared_losses():
    with jax.enable_x64(True):
        squared, G, B = _pair(65_536, 50)
        a, b = _times([squared, G], B)
    print(f"\nG / squared loss at n = 65,536, d = m = 50: {b / a:.2f}")
    assert b <= 3 * a


def test_g_grows_linearly_in_rows():
    with jax.enable_x64(True):
        _, small, B = _pair(32_768, 50)
        _, large, _ = _pair(131_072, 50)
        a, b = _times([small, large], B)
    print(f"\nG at 4 × the rows: {b / a:.2f} × the time")
    assert b / a < 4 * 1.3


def test_g_grows_no_worse_than_linearly_in_neurons_times_inputs():
    with jax.enable_x64(True):
        times = {d: _times([_pair(16_384, d)[1]], to_jax(np.eye(d)), 5)[0] for d in (25, 50, 100, 200)}
    unit = times[25] / 25**2
    print(
        "\ntime per row, neuron and input, relative to d = m = 25:",
        {d: round(t / d**2 / unit, 2) for d, t in times.items()},
    )
    assert times[200] / 200**2 <= 1.3 * unit


@pytest.mark.parametrize("d", [10, 50])
def test_variance_reduction(d):
    """Variance of G's value over independent batches, with and without the quadratic part of y."""
    B = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    values: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(20):
        data = datasets.make_planted(16_384, d, d, random_state=seed)
        for reduced, list_ in values.items():
            G = objectives.Landscape(data.X, data.y, "relu", 0.1, 1.0, variance_reduction=reduced)
            list_.append(G.value(B))
    ratio = np.var(values[False]) / np.var(values[True])
    print(f"\nd = {d}: variance of G falls by a factor {ratio:.0f}")
    assert ratio > 5
