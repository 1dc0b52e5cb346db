"""Figures 2, 3 and 4 of Fu, Chi and Liang (2018).

The paper does not say which W* its figures use; here its K = 3 rows are orthogonal with norm 2, drawn anew for each
data set. Starts lie at 0.1 ‖W*‖_F from W*, as its section 6 has for Figure 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.activations import Activation
from planted.certificates import slope_moments
from planted.certificates._assumptions import rho
from planted.reproduce._basin import accelerated, near, orthogonal_teacher, planted_labels
from planted.reproduce._study import Study, claim
from planted.reproduce._study import WholeEntry as Entry
from planted.solvers._result import Progress

K = 3
LENGTH = 2.0
RADIUS = 0.1
SAME = 1e-2
STEP = 20.0
MAX_STEPS = 300


@dataclass(frozen=True)
class Sizes:
    """Inputs, rows for each input, data sets at each point, starts on each data set."""

    inputs: tuple[int, ...]
    ratios: tuple[int, ...]
    data_sets: int
    starts: int


FIGURE_3 = (
    Sizes((20, 40, 60), (50, 100, 200, 400, 600), 50, 20),
    Sizes((10,), (50, 200, 800), 10, 10),
)
FIGURE_4 = (
    Sizes((20, 40, 60), (800, 1600, 3200, 6400), 50, 1),
    Sizes((10,), (800, 1600, 3200, 6400), 30, 1),
)


@partial(jax.jit, static_argnames=("n", "d", "starts", "activation"))
def _experiment(key: jax.Array, n: int, d: int, starts: int, activation: Activation) -> tuple[jax.Array, jax.Array]:
    """SD_n over the starts on one data set, and their mean distance from W*."""
    teacher_key, data_key, start_key = jax.random.split(key, 3)
    teacher = orthogonal_teacher(teacher_key, K, d, LENGTH)
    X, y = planted_labels(data_key, n, teacher, activation)
    ends = accelerated(
        X, y, near(start_key, teacher, starts, RADIUS), STEP, activation=activation, max_steps=MAX_STEPS,
        tolerance=3e-6,
    ).weights  # fmt: skip
    spread = jnp.sqrt(jnp.mean(jnp.sum((ends - jnp.mean(ends, axis=0)) ** 2, axis=(1, 2))))
    return spread, jnp.mean(jnp.sqrt(jnp.sum((ends - teacher) ** 2, axis=(1, 2))))


def _points(sizes: Sizes, seed: int, progress: Progress) -> list[dict[str, Any]]:
    """One row for each (d, n): success rate, and mean and standard error of the distance from W*."""
    sigmoid = activations.get("sigmoid")
    table: list[dict[str, Any]] = []
    total = len(sizes.inputs) * len(sizes.ratios)
    for d in sizes.inputs:
        for ratio in sizes.ratios:
            n = d * ratio
            keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), n * 1000 + d), sizes.data_sets)
            found = np.array([[float(v) for v in _experiment(key, n, d, sizes.starts, sigmoid)] for key in keys])
            errors = found[:, 1]
            table.append(
                {
                    "d": d,
                    "n": n,
                    "success": float(np.mean(found[:, 0] <= SAME)),
                    "error": float(np.mean(errors)),
                    "standard_error": float(np.std(errors) / np.sqrt(len(errors))),
                }
            )
            progress(len(table), total, f"d = {d}, n = {n}")
    return table


def _lines(table: list[dict[str, Any]], name: str, label: str, log: bool) -> Callable[[Any], None]:
    def draw(figure: Any) -> None:
        axis = figure.subplots()
        for d in sorted({row["d"] for row in table}):
            rows = [row for row in table if row["d"] == d]
            axis.plot([row["n"] for row in rows], [row[name] for row in rows], marker="o", label=f"d = {d}")
        axis.set(xlabel="rows n", ylabel=label)
        axis.set_xscale("log")
        if log:
            axis.set_yscale("log")
        axis.legend(frameon=False)

    return draw


def _figure_2(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    names = ("sigmoid", "tanh", "erf", "softplus", "relu", "squared_relu", "quadratic")
    sigmas = np.geomspace(0.05, 10.0, 20 if quick else 60)
    table = []
    for count, name in enumerate(names):
        act = activations.get(name)
        for sigma in sigmas:
            alpha, beta = slope_moments(act, float(sigma))
            row = {f"alpha_{q}": alpha[q] for q in range(3)} | {"beta_0": beta[0], "beta_2": beta[1]}
            table.append({"activation": name, "sigma": float(sigma), "rho": rho(act, float(sigma))} | row)
        progress(count + 1, len(names), name)
    of = lambda name: np.array([row["rho"] for row in table if row["activation"] == name])  # noqa: E731
    sigmoid = of("sigmoid")
    peak = float(sigmas[int(np.argmax(sigmoid))])
    claims = [
        claim(
            "ρ(σ) > 0 for sigmoid",
            "for all σ > 0",
            f"least {sigmoid.min():.2g} for σ from 0.05 to 10, largest {sigmoid.max():.3g} near σ = {peak:.2g}",
            bool(sigmoid.min() > 0),
        ),
        claim("ρ(σ) > 0 for tanh", "yes", f"least {of('tanh').min():.2g}", bool(of("tanh").min() > 0)),
        claim(
            "ρ = 0 for the quadratic", "—", f"{np.abs(of('quadratic')).max():.1g}", bool(of("quadratic").max() < 1e-9)
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(sigmas, sigmoid)
        left.set(xlabel="σ", ylabel="ρ(σ)", title="sigmoid")
        for name in names:
            right.loglog(sigmas, np.maximum(of(name), 1e-16), label=name)
        right.set(xlabel="σ", ylabel="ρ(σ)", ylim=(1e-10, None))
        right.legend(frameon=False)

    config = {"activations": names, "points": len(sigmas), "quick": quick}
    return Study("fu2018/fig2", "ρ(σ)", config, table, claims, draw, time.perf_counter() - began)


def _figure_3(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    sizes = FIGURE_3[quick]
    table = _points(sizes, seed, progress)
    most = [[row for row in table if row["d"] == d] for d in sizes.inputs]
    rises = all(rows[-1]["success"] > rows[0]["success"] for rows in most)
    last = [rows[-1] for rows in most]
    claims = [
        claim(
            "with enough rows all starts reach one minimiser",
            "success rate near 1",
            ", ".join(f"d = {row['d']}: {row['success']:.2f} at n = {row['n']}" for row in last),
            all(row["success"] >= 0.9 for row in last),
        ),
        claim(
            "with too few they do not",
            "success rate near 0",
            ", ".join(f"d = {rows[0]['d']}: {rows[0]['success']:.2f} at n = {rows[0]['n']}" for rows in most),
            rises and all(rows[0]["success"] <= 0.5 for rows in most),
        ),
    ]
    title = "success rate of reaching the same minimiser"
    config = asdict(sizes) | {"K": K, "length": LENGTH, "radius": RADIUS, "seed": seed, "quick": quick}
    draw = _lines(table, "success", f"share with SD ≤ {SAME}", log=False)
    return Study("fu2018/fig3", title, config, table, claims, draw, time.perf_counter() - began)


def slope(rows: list[dict[str, Any]]) -> float:
    """Slope of log error against log n.

    >>> round(slope([{"n": 1, "error": 1.0}, {"n": 100, "error": 0.1}]), 6)
    -0.5
    """
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log([row["error"] for row in rows]), 1)[0])


def _figure_4(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    sizes = FIGURE_4[quick]
    table = _points(sizes, seed, progress)
    slopes = {d: slope([row for row in table if row["d"] == d][-2:]) for d in sizes.inputs}
    claims = [
        claim(
            "the error falls like n^(−1/2) up to logarithms",
            "−1/2 (eq. 8)",
            ", ".join(f"d = {d}: {value:.3f}" for d, value in slopes.items()),
            all(abs(value + 0.5) < 0.1 for value in slopes.values()),
            "between the two largest n; at smaller ones it falls faster",
        )
    ]
    title = "average estimation error against the number of rows"
    config = asdict(sizes) | {"K": K, "length": LENGTH, "radius": RADIUS, "seed": seed, "quick": quick}
    draw = _lines(table, "error", "mean ‖Ŵ − W*‖_F", log=True)
    return Study("fu2018/fig4", title, config, table, claims, draw, time.perf_counter() - began)


ENTRIES = (
    Entry("fu2018/fig2", "ρ(σ) of Definition 1", _figure_2),
    Entry("fu2018/fig3", "success rate of reaching the same minimiser", _figure_3),
    Entry("fu2018/fig4", "average estimation error against the number of rows", _figure_4),
)
