"""Figures 2, 3 and 4 of Fu, Chi and Liang (2018).

The paper does not say which W* its figures use; here its K = 3 rows are orthogonal with norm 4, drawn anew for each
data set. Starts lie at 0.1 ‖W*‖_F from W*, as its section 6 has for Figure 4.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.activations import Activation
from planted.certificates import rho, slope_moments
from planted.names import ACTIVATIONS
from planted.reproduce._basin import asymptotic_error, minimisers, near, orthogonal_teacher, planted_labels
from planted.reproduce._study import Cell, Claim, Config, Entry, claim

K = 3
LENGTH = 4.0
RADIUS = 0.1
SAME = 1e-2
_PREDICTED_ROWS = 400
_CHUNK = 50

Rows = list[dict[str, Any]]

# Figure 2.


def _cells_2(config: Config) -> list[Cell]:
    return [{"activation": name} for name in config["activations"]]


def _run_2(config: Config, cell: Cell, seed: int) -> Rows:
    act, rows = activations.get(cell["activation"]), []
    for sigma in np.geomspace(0.05, 10.0, config["points"]).tolist():
        alpha, beta = slope_moments(act, sigma)
        moments = {f"alpha_{q}": alpha[q] for q in range(3)} | {"beta_0": beta[0], "beta_2": beta[1]}
        rows.append(cell | {"sigma": sigma, "rho": rho(act, sigma)} | moments)
    return rows


def _rho(rows: Rows, name: str) -> tuple[np.ndarray, np.ndarray]:
    own = [row for row in rows if row["activation"] == name]
    return np.array([row["sigma"] for row in own]), np.array([row["rho"] for row in own])


def _claims_2(config: Config, rows: Rows) -> list[Claim]:
    sigmas, sigmoid = _rho(rows, "sigmoid")
    peak = sigmas[int(np.argmax(sigmoid))]
    tanh, quadratic = _rho(rows, "tanh")[1], _rho(rows, "quadratic")[1]
    return [
        claim(
            "ρ(σ) > 0 for sigmoid",
            "for all σ > 0",
            f"least {sigmoid.min():.2g} for σ from 0.05 to 10, largest {sigmoid.max():.3g} near σ = {peak:.2g}",
            bool(sigmoid.min() > 0),
        ),
        claim("ρ(σ) > 0 for tanh", "yes", f"least {tanh.min():.2g}", bool(tanh.min() > 0)),
        claim("ρ = 0 for the quadratic", "—", f"{np.abs(quadratic).max():.1g}", bool(np.abs(quadratic).max() < 1e-9)),
    ]


def _draw_2(config: Config, rows: Rows, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    left.plot(*_rho(rows, "sigmoid"))
    left.set(xlabel="σ", ylabel="ρ(σ)", title="sigmoid")
    curves = {name: _rho(rows, name) for name in config["activations"]}
    for count, (name, (sigmas, values)) in enumerate(item for item in curves.items() if item[1][1].max() > 1e-12):
        right.loglog(sigmas, np.maximum(values, 1e-16), "-" if count < 6 else "--", color=f"C{count % 6}", label=name)
    right.set(xlabel="σ", ylim=(1e-10, None), title="every activation with ρ > 0")
    right.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


# Figures 3 and 4.


@partial(jax.jit, static_argnames=("n", "d", "starts", "activation"))
def _experiment(key: jax.Array, n: int, d: int, starts: int, activation: Activation) -> dict[str, jax.Array]:
    """SD_n over the starts on one data set, their mean distance from W*, and what the sandwich says it tends to."""
    teacher_key, data_key, start_key = jax.random.split(key, 3)
    teacher = orthogonal_teacher(teacher_key, K, d, LENGTH)
    X, y = planted_labels(data_key, n, teacher, activation)
    ends = minimisers(X, y, near(start_key, teacher, starts, RADIUS), activation=activation).weights
    few = min(n, _PREDICTED_ROWS * K * d)
    return {
        "spread": jnp.sqrt(jnp.mean(jnp.sum((ends - jnp.mean(ends, axis=0)) ** 2, axis=(1, 2)))),
        "error": jnp.mean(jnp.sqrt(jnp.sum((ends - teacher) ** 2, axis=(1, 2)))),
        "asymptotic_error": asymptotic_error(X[:few], y[:few], teacher, activation=activation) / n**0.5,
    }


def _cells(config: Config) -> list[Cell]:
    """Data sets in portions, so that a portion takes seconds."""
    sets = config["data_sets"]
    return [
        {"d": d, "n": d * ratio, "first": first, "count": min(_CHUNK, sets - first)}
        for d in config["inputs"]
        for ratio in config["ratios"]
        for first in range(0, sets, _CHUNK)
    ]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    sigmoid = activations.get("sigmoid")
    rows = []
    for index in range(cell["count"]):
        key = jax.random.fold_in(jax.random.key(seed), index)
        found = _experiment(key, cell["n"], cell["d"], config["starts"], sigmoid)
        numbers = {name: float(value) for name, value in found.items()}
        rows.append({"d": cell["d"], "n": cell["n"], "data_set": cell["first"] + index} | numbers)
    return rows


def points(rows: Rows) -> Rows:
    """One row for each (d, n): success rate, mean error with its standard error, and what the mean tends to.

    >>> found = [{"d": 2, "n": 9, "spread": s, "error": 2.0, "asymptotic_error": 1.0} for s in (0.0, 1.0)]
    >>> points(found)[0]["success"]
    0.5
    """
    out = []
    for d, n in dict.fromkeys((row["d"], row["n"]) for row in rows):
        own = [row for row in rows if (row["d"], row["n"]) == (d, n)]
        errors = np.array([row["error"] for row in own])
        out.append(
            {
                "d": d,
                "n": n,
                "success": float(np.mean([row["spread"] <= SAME for row in own])),
                "error": float(errors.mean()),
                "standard_error": float(errors.std() / len(errors) ** 0.5),
                "asymptotic_error": float(np.mean([row["asymptotic_error"] for row in own])),
            }
        )
    return out


def slope(rows: Rows) -> float:
    """Slope of log error against log n.

    >>> round(slope([{"n": 1, "error": 1.0}, {"n": 100, "error": 0.1}]), 6)
    -0.5
    """
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log([row["error"] for row in rows]), 1)[0])


def _larger_half(curve: Rows) -> Rows:
    return curve[(len(curve) - 1) // 2 :]


def _by_inputs(config: Config, rows: Rows) -> dict[int, Rows]:
    table = points(rows)
    return {d: [row for row in table if row["d"] == d] for d in config["inputs"]}


def half_way(curve: Rows) -> float:
    """The n/d at which half of the data sets succeed, by interpolation; infinite if they never do.

    >>> half_way([{"d": 2, "n": 2, "success": 0.0}, {"d": 2, "n": 4, "success": 1.0}])
    1.5
    """
    at = next((i for i, row in enumerate(curve) if row["success"] >= 0.5), None)
    if at is None:
        return float("inf")
    low, high = curve[max(at - 1, 0)], curve[at]
    share = (0.5 - low["success"]) / (high["success"] - low["success"]) if high is not low else 0.0
    return float(low["n"] + share * (high["n"] - low["n"])) / high["d"]


def _claims_3(config: Config, rows: Rows) -> list[Claim]:
    curves = list(_by_inputs(config, rows).values())

    def state(index: int) -> str:
        ends = [curve[index] for curve in curves]
        return ", ".join(f"d = {row['d']}: {row['success']:.2f} at n = {row['n']}" for row in ends)

    halves = {curve[0]["d"]: half_way(curve) for curve in curves}
    spread = max(halves.values()) / min(halves.values())
    proportional = claim(
        "the rows needed grow like d",
        "d log² d (Theorem 1)",
        "half of the data sets succeed from " + ", ".join(f"n = {half:.0f} d (d = {d})" for d, half in halves.items()),
        spread < 1.25,
    )
    return [
        claim(
            f"with enough rows all {config['starts']} starts reach one minimiser",
            "success rate near 1",
            state(-1),
            all(curve[-1]["success"] >= 0.9 for curve in curves),
        ),
        claim(
            "with too few they do not",
            "success rate near 0",
            state(0),
            all(curve[0]["success"] <= 0.5 for curve in curves),
            "their weights then run off to infinity instead, each start on its own way",
        ),
        *([proportional] if len(curves) > 1 else []),
    ]


def _claims_4(config: Config, rows: Rows) -> list[Claim]:
    curves = _by_inputs(config, rows)
    slopes = {d: (slope(curve), slope(_larger_half(curve))) for d, curve in curves.items()}
    ratios = {d: curve[-1]["error"] / curve[-1]["asymptotic_error"] for d, curve in curves.items()}
    return [
        claim(
            "the error falls like n^(−1/2) up to logarithms",
            "−1/2 (eq. 8)",
            ", ".join(f"d = {d}: −{-large:.3f} (−{-every:.3f} over all n)" for d, (every, large) in slopes.items()),
            all(abs(large + 0.5) < 0.1 for _, large in slopes.values()),
            "over the larger half of the n; at smaller ones the loss is not yet quadratic around its minimum",
        ),
        claim(
            "with the constant of the sandwich H⁻¹SH⁻¹/n",
            "not stated",
            ", ".join(f"d = {d}: {ratio:.3f} of it" for d, ratio in ratios.items()) + " at the largest n",
            all(abs(ratio - 1) < 0.1 for ratio in ratios.values()),
        ),
    ]


def _draw_3(config: Config, rows: Rows, figure: Any) -> None:
    axis = figure.subplots()
    for d, curve in _by_inputs(config, rows).items():
        axis.plot([row["n"] / d for row in curve], [row["success"] for row in curve], marker="o", label=f"d = {d}")
    axis.set(xlabel="rows for each input, n/d", ylabel=f"share of data sets with SD ≤ {SAME}")
    axis.legend(frameon=False)


def _draw_4(config: Config, rows: Rows, figure: Any) -> None:
    axis = figure.subplots()
    for d, curve in _by_inputs(config, rows).items():
        n, low = np.array([row["n"] for row in curve]), slope(_larger_half(curve))
        spread = [2 * row["standard_error"] for row in curve]
        line = axis.errorbar(
            n, [row["error"] for row in curve], spread, marker="o", markersize=3, label=f"d = {d}, slope −{-low:.2f}"
        )
        axis.plot(n, [row["asymptotic_error"] for row in curve], "--", color=line[0].get_color(), linewidth=1)
    axis.plot([], [], "k--", linewidth=1, label="sandwich, slope −1/2")
    axis.set(xscale="log", yscale="log", xlabel="rows n", ylabel="mean Frobenius norm of Ŵ − W*")
    axis.legend(frameon=False)


# The curves of the figure: more would not be told apart.
_SHOWN = ACTIVATIONS[: ACTIVATIONS.index("gelu")]
_SHARED = {"K": K, "length": LENGTH, "radius": RADIUS}
ENTRIES = (
    Entry(
        "fu2018/fig2",
        "ρ(σ) of Definition 1",
        quick={"activations": _SHOWN, "points": 20},
        full={"activations": _SHOWN, "points": 60},
        cells=_cells_2,
        run_cell=_run_2,
        claims=_claims_2,
        draw=_draw_2,
    ),
    Entry(
        "fu2018/fig3",
        "success rate of reaching the same minimiser",
        quick=_SHARED | {"inputs": (20,), "ratios": (50, 150, 250, 350), "data_sets": 25, "starts": 20},
        full=_SHARED
        | {
            "inputs": (20, 40, 60),
            "ratios": (50, 100, 150, 200, 250, 300, 350, 400, 500),
            "data_sets": 50,
            "starts": 20,
        },
        cells=_cells,
        run_cell=_run,
        claims=_claims_3,
        draw=_draw_3,
    ),
    Entry(
        "fu2018/fig4",
        "average estimation error against the number of rows",
        quick=_SHARED | {"inputs": (20,), "ratios": (800, 1600, 3200, 6400), "data_sets": 100, "starts": 1},
        full=_SHARED | {"inputs": (20, 40, 60), "ratios": (400, 800, 1600, 3200, 6400), "data_sets": 100, "starts": 1},
        cells=_cells,
        run_cell=_run,
        claims=_claims_4,
        draw=_draw_4,
    ),
)
