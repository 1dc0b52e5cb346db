"""Figures 2, 3 and 4 of Fu, Chi and Liang (2018).

The paper does not say which W* its figures use; here its K = 3 rows are orthogonal with norm 4, drawn anew for each
data set. Starts lie at 0.1 ‖W*‖_F from W*, as its section 6 has for Figure 4.

Gradient descent of Algorithm 1 takes about κ_H log(1/ε) steps, κ_H the condition number of the Hessian. L-BFGS in the
metric of the Gauss–Newton matrix at the middle of the starts takes a few dozen and ends in the same minimiser of a
strongly convex region (a test compares them). One matrix product serves all starts on a data set. Float32: distances
are judged at 1e-2.
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
from planted.datasets import draw_planted, teacher_weights
from planted.names import ACTIVATIONS
from planted.objectives import Squared, curvature_matrix
from planted.reproduce._claims import Claim, claim
from planted.reproduce._study import Cell, Config, Entry
from planted.rows import ArrayRows
from planted.solvers import TracedEnd, traced_lbfgs
from planted.starts import near

K = 3
LENGTH = 4.0
RADIUS = 0.1
SAME = 1e-2
_PREDICTED_ROWS = 400
_METRIC_ROWS = 50
_RIDGE = 1e-4
_TOLERANCE = 5e-4
_LONGEST = 0.1
_FARTHEST = 3.0
_BLOCK = 4096
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
        claim("ρ(σ) > 0 for sigmoid", "for all σ > 0",
              f"least {sigmoid.min():.2g} for σ from 0.05 to 10, largest {sigmoid.max():.3g} near σ = {peak:.2g}",
              bool(sigmoid.min() > 0)),
        claim("ρ(σ) > 0 for tanh", "yes", f"least {tanh.min():.2g}", bool(tanh.min() > 0)),
        claim("ρ = 0 for the quadratic", "—", f"{np.abs(quadratic).max():.1g}", bool(np.abs(quadratic).max() < 1e-9)),
    ]  # fmt: skip


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


def quadratic_loss(
    X: jax.Array, y: jax.Array, k: int, activation: Activation, weight: jax.Array | None = None
) -> Squared:
    """The loss of eq. 2, :func:`planted.objectives.label_loss`, traceable.

    >>> loss = quadratic_loss(jnp.ones((2, 1)), jnp.ones(2), 2, activations.get("sigmoid"))
    >>> float(loss.traced_value(jnp.zeros((2, 1))))
    0.125
    """
    return Squared.on(ArrayRows(X, y, weight, block_size=_BLOCK), activation, jnp.full(k, 1 / k, X.dtype))


def minimisers(X: jax.Array, y: jax.Array, starts: jax.Array, activation: Activation) -> TracedEnd:
    """Descend from `starts` (L, k, d) side by side until every next step is short or a point far off, traceable.

    With too few rows a neuron's best length is infinite: beyond three times the norm of the middle of the starts
    nothing is left to reach.
    """
    _, k, d = starts.shape
    centre = jnp.mean(starts, axis=0)
    few, size = _METRIC_ROWS * k * d, jnp.linalg.norm(centre)
    metric, _ = curvature_matrix(quadratic_loss(X[:few], y[:few], k, activation), centre)
    inverse = jnp.linalg.inv(metric + _RIDGE * jnp.trace(metric) / (k * d) * jnp.eye(k * d, dtype=metric.dtype))
    loss = quadratic_loss(X, y, k, activation)

    def descend(start: jax.Array) -> TracedEnd:
        return traced_lbfgs(
            loss, start, first=inverse, tolerance=_TOLERANCE, longest=_LONGEST * size, farthest=_FARTHEST * size
        )

    return jax.vmap(descend)(starts)


def asymptotic_error(X: jax.Array, teacher: jax.Array, activation: Activation) -> jax.Array:
    """√(n E‖Ŵ − W*‖²) as n grows: √tr(H⁻¹SH⁻¹), where at the teacher H = E∇p∇pᵀ and S = E p(1 − p)∇p∇pᵀ; traceable.

    >>> teacher = 2 * jnp.eye(1, 3)
    >>> X = jax.random.normal(jax.random.key(0), (4000, 3))
    >>> bool(3.0 < asymptotic_error(X, teacher, activations.get("sigmoid")) < 30.0)
    True
    """
    p = jnp.mean(activation(X @ teacher.T), axis=1)
    variance = p * (1 - p)
    H, S = (
        curvature_matrix(quadratic_loss(X, p, len(teacher), activation, weight), teacher)[0]
        for weight in (None, variance)
    )
    bread = jnp.linalg.inv(H)
    return jnp.sqrt(jnp.mean(variance) * jnp.trace(bread @ S @ bread))


@partial(jax.jit, static_argnames=("n", "starts", "activation"))
def _experiment(
    key: jax.Array, teacher: jax.Array, n: int, starts: int, activation: Activation
) -> dict[str, jax.Array]:
    """SD_n over the starts on one data set, their mean distance from W*, and what the sandwich says it tends to."""
    data_key, start_key = jax.random.split(key)
    X, y = draw_planted(data_key, n, teacher, activation, "classification")
    ends = minimisers(X, y, near(start_key, teacher, RADIUS * jnp.linalg.norm(teacher), starts), activation).params
    return {
        "spread": jnp.sqrt(jnp.mean(jnp.sum((ends - jnp.mean(ends, axis=0)) ** 2, axis=(1, 2)))),
        "error": jnp.mean(jnp.sqrt(jnp.sum((ends - teacher) ** 2, axis=(1, 2)))),
        "asymptotic_error": asymptotic_error(X[: _PREDICTED_ROWS * teacher.size], teacher, activation) / n**0.5,
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
        teacher = LENGTH * teacher_weights("orthogonal", K, cell["d"], 1.0, np.random.default_rng([seed, index]))
        key = jax.random.fold_in(jax.random.key(seed), index)
        measured = _experiment(key, jnp.asarray(teacher, jnp.float32), cell["n"], config["starts"], sigmoid)
        numbers = {name: float(value) for name, value in measured.items()}
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
    needed = ", ".join(f"n = {half:.0f} d (d = {d})" for d, half in halves.items())
    claims = [
        claim(f"with enough rows all {config['starts']} starts reach one minimiser", "success rate near 1", state(-1),
              all(curve[-1]["success"] >= 0.9 for curve in curves)),
        claim("with too few they do not", "success rate near 0", state(0),
              all(curve[0]["success"] <= 0.5 for curve in curves),
              "their weights then run off to infinity instead, each start on its own way"),
        claim("the rows needed grow like d", "d log² d (Theorem 1)", f"half of the data sets succeed from {needed}",
              max(halves.values()) / min(halves.values()) < 1.25),
    ]  # fmt: skip
    return claims if len(curves) > 1 else claims[:2]


def _claims_4(config: Config, rows: Rows) -> list[Claim]:
    curves = _by_inputs(config, rows)
    slopes = {d: (slope(curve), slope(_larger_half(curve))) for d, curve in curves.items()}
    ratios = {d: curve[-1]["error"] / curve[-1]["asymptotic_error"] for d, curve in curves.items()}
    return [
        claim("the error falls like n^(−1/2) up to logarithms", "−1/2 (eq. 8)",
              ", ".join(f"d = {d}: −{-large:.3f} (−{-every:.3f} over all n)" for d, (every, large) in slopes.items()),
              all(abs(large + 0.5) < 0.1 for _, large in slopes.values()),
              "over the larger half of the n; at smaller ones the loss is not yet quadratic around its minimum"),
        claim("with the constant of the sandwich H⁻¹SH⁻¹/n", "not stated",
              ", ".join(f"d = {d}: {ratio:.3f} of it" for d, ratio in ratios.items()) + " at the largest n",
              all(abs(ratio - 1) < 0.1 for ratio in ratios.values())),
    ]  # fmt: skip


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
        "fu2018/fig2", "ρ(σ) of Definition 1",
        quick={"activations": _SHOWN, "points": 20}, full={"activations": _SHOWN, "points": 60},
        cells=_cells_2, run_cell=_run_2, claims=_claims_2, draw=_draw_2,
    ),
    Entry(
        "fu2018/fig3", "success rate of reaching the same minimiser",
        quick=_SHARED | {"inputs": (20,), "ratios": (50, 150, 250, 350), "data_sets": 25, "starts": 20},
        full=_SHARED | {
            "inputs": (20, 40, 60), "ratios": (50, 100, 150, 200, 250, 300, 350, 400, 500), "data_sets": 50,
            "starts": 20,
        },
        cells=_cells, run_cell=_run, claims=_claims_3, draw=_draw_3,
    ),
    Entry(
        "fu2018/fig4", "average estimation error against the number of rows",
        quick=_SHARED | {"inputs": (20,), "ratios": (800, 1600, 3200, 6400), "data_sets": 100, "starts": 1},
        full=_SHARED | {"inputs": (20, 40, 60), "ratios": (400, 800, 1600, 3200, 6400), "data_sets": 100, "starts": 1},
        cells=_cells, run_cell=_run, claims=_claims_4, draw=_draw_4,
    ),
)  # fmt: skip
