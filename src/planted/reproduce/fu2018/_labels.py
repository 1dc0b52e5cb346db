"""Figures 3 and 4 of Fu, Chi and Liang (2018).

The paper does not say which W* its figures use; here its K = 3 rows are orthogonal with norm 4, drawn anew for each
data set. Starts lie at 0.1 ‖W*‖_F from W*, as its section 6 has for Figure 4.

Two minimisers run from the same starts. Gradient descent as printed, 2,000 steps of size 1/λ_max (the paper states
none), λ_max of the Gauss–Newton matrix at W*. And L-BFGS in the metric of that matrix at the middle of the starts,
which takes a few dozen evaluations. Where the loss has one minimiser nearby both end there (a test compares them). With
too few rows there is none: the loss falls while a neuron grows without end. L-BFGS sees that; gradient descent, which
moves slowly there, may stand close together after 2,000 steps and count as a success. Float32: distances are judged at
1e-2.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted import activations
from planted.activations import Activation
from planted.datasets import draw_planted, teacher_weights
from planted.objectives import Squared, curvature_matrix
from planted.reproduce._claims import Claim, Explanation, claim
from planted.reproduce._printed import Printed
from planted.reproduce._study import Cell, Config, Entry
from planted.rows import ArrayRows
from planted.solvers import FirstOrder, TracedEnd, traced_descent, traced_lbfgs
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
_GONE = 2.5
"""Norms this many times that of W* have run off: L-BFGS is stopped at three times."""
_BLOCK = 4096
_CHUNK = 25

Rows = list[dict[str, Any]]


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


def _spread(ends: jax.Array) -> jax.Array:
    """SD_n of section 6 over ends (L, k, d)."""
    return jnp.sqrt(jnp.mean(jnp.sum((ends - jnp.mean(ends, axis=0)) ** 2, axis=(1, 2))))


@partial(jax.jit, static_argnames=("n", "starts", "activation", "descents", "steps"))
def _experiment(
    key: jax.Array, teacher: jax.Array, n: int, starts: int, activation: Activation, descents: int, steps: int
) -> dict[str, jax.Array]:
    """SD_n over the starts on one data set, their mean distance from W*, and what the sandwich says it tends to.

    The first `descents` starts are also descended by `steps` steps of gradient descent.
    """
    data_key, start_key = jax.random.split(key)
    X, y = draw_planted(data_key, n, teacher, activation, "classification")
    size = jnp.linalg.norm(teacher)
    begins = near(start_key, teacher, RADIUS * size, starts)
    ends = minimisers(X, y, begins, activation).params
    measured = {
        "spread": _spread(ends),
        "error": jnp.mean(jnp.sqrt(jnp.sum((ends - teacher) ** 2, axis=(1, 2)))),
        "asymptotic_error": asymptotic_error(X[: _PREDICTED_ROWS * teacher.size], teacher, activation) / n**0.5,
        "largest": jnp.max(jnp.linalg.norm(ends, axis=(1, 2))) / size,
    }
    if descents:
        loss = quadratic_loss(X, y, len(teacher), activation)
        solver = FirstOrder(optax.sgd(1 / jnp.linalg.norm(curvature_matrix(loss, teacher)[0], 2)))

        def descend(start: jax.Array) -> jax.Array:
            return traced_descent(loss, start, solver, steps=steps, record_every=steps)[0]

        measured["descent_spread"] = _spread(jax.vmap(descend)(begins[:descents]))
        measured["same_spread"] = _spread(ends[:descents])
    return measured


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
        place = cell["first"] + index
        printed = cell["d"] in config["descent_inputs"] and place < config["descent_sets"]
        arm = (config["descents"] if printed else 0, config["steps"])
        measured = _experiment(key, jnp.asarray(teacher, jnp.float32), cell["n"], config["starts"], sigmoid, *arm)
        numbers = {name: float(value) for name, value in measured.items()}
        rows.append({"d": cell["d"], "n": cell["n"], "data_set": place} | numbers)
    return rows


def with_descent(rows: Rows) -> Rows:
    """The rows on which gradient descent ran too, judged by it: its spread takes the place of the other."""
    own = [row for row in rows if row.get("descent_spread") is not None]
    return [row | {"spread": row["descent_spread"]} for row in own]


def points(rows: Rows) -> Rows:
    """One row for each (d, n): success rate, mean error with its standard error, and what the mean tends to.

    >>> rows = [{"d": 2, "n": 9, "spread": s, "error": 2.0, "asymptotic_error": 1.0} for s in (0.0, 1.0)]
    >>> points(rows)[0]["success"]
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


def _curves(rows: Rows) -> list[Rows]:
    """The points of each d."""
    table = points(rows)
    return [[row for row in table if row["d"] == d] for d in dict.fromkeys(row["d"] for row in table)]


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


def _halves(curves: list[Rows]) -> str:
    return ", ".join(f"n = {half_way(curve):.0f} d (d = {curve[0]['d']})" for curve in curves)


def _ends_of(curves: list[Rows], index: int) -> str:
    ends = [curve[index] for curve in curves]
    return ", ".join(f"d = {row['d']}: {row['success']:.2f} at n = {row['n']}" for row in ends)


def _agreement(printed: Rows) -> Claim:
    """Whether both ways to descend find one minimiser in the same data sets."""
    disputed = [row for row in printed if (row["spread"] <= SAME) != (row["same_spread"] <= SAME)]
    gone = [row for row in disputed if row["largest"] >= _GONE and row["spread"] <= SAME]
    return claim(
        "where gradient descent counts as a success there is one minimiser: L-BFGS from the same starts agrees",
        "converges to the same local minima", f"on {len(printed) - len(disputed)} of {len(printed)} data sets",
        len(disputed) <= 0.02 * len(printed),
        explanation=Explanation(
            "there is no finite minimiser: a neuron runs off, too slowly for 2,000 steps to show it",
            f"in {len(gone)} of {len(disputed)} disputed data sets L-BFGS leaves {_GONE:g} ‖W*‖ while descent "
            "counts as a success", len(gone) >= 0.9 * len(disputed)),
    )  # fmt: skip


def _claims_3(config: Config, rows: Rows) -> list[Claim]:
    """Claims on what ran: where gradient descent did not, nothing is said of it."""
    printed = with_descent(rows)
    arms = {f"gradient descent, {config['steps']:,} steps": printed, "L-BFGS": rows}
    claims = []
    for name, curves in [(name, _curves(own)) for name, own in arms.items() if own]:
        claims += [
            claim(f"{name}: with enough rows all starts reach one minimiser", "success rate near 1",
                  _ends_of(curves, -1), all(curve[-1]["success"] >= 0.9 for curve in curves),
                  f"half of the data sets succeed from {_halves(curves)}"),
            claim(f"{name}: with too few they do not", "success rate near 0", _ends_of(curves, 0),
                  all(curve[0]["success"] <= 0.1 for curve in curves)),
        ]  # fmt: skip
    claims += [_agreement(printed)] if printed else []
    curves = _curves(rows)
    if len(curves) > 1:
        halves = [half_way(curve) for curve in curves]
        claims.append(
            claim("the rows needed grow like d, by L-BFGS", "d log² d (Theorem 1)",
                  f"half of the data sets succeed from {_halves(curves)}", max(halves) / min(halves) < 1.25)
        )  # fmt: skip
    return claims


def _claims_4(config: Config, rows: Rows) -> list[Claim]:
    curves = {curve[0]["d"]: curve for curve in _curves(rows)}
    slopes = {d: (slope(curve), slope(_larger_half(curve))) for d, curve in curves.items()}
    first, last = (
        {d: curve[end]["error"] / curve[end]["asymptotic_error"] for d, curve in curves.items()} for end in (0, -1)
    )
    ratios = ", ".join(f"d = {d}: {first[d]:.3f} at the smallest n, {last[d]:.3f} at the largest" for d in curves)
    return [
        claim("the error falls like n^(−1/2) up to logarithms, over all n", "−1/2 (eq. 8)",
              ", ".join(f"d = {d}: {every:.3f}" for d, (every, _) in slopes.items()),
              all(abs(every + 0.5) < 0.1 for every, _ in slopes.values()),
              explanation=Explanation(
                  "at small n the loss is not yet quadratic around its minimiser, and the error exceeds the sandwich",
                  f"over the larger half of the n {', '.join(f'{large:.3f}' for _, large in slopes.values())}; error "
                  f"over sandwich {ratios}",
                  all(abs(large + 0.5) < 0.1 for _, large in slopes.values())
                  and all(first[d] > 1.1 and abs(last[d] - 1) < 0.1 for d in curves))),
        claim("with the constant of the sandwich H⁻¹SH⁻¹/n at the largest n", "not stated",
              ", ".join(f"d = {d}: {ratio:.3f} of it" for d, ratio in last.items()),
              all(abs(ratio - 1) < 0.1 for ratio in last.values())),
    ]  # fmt: skip


def _draw_3(config: Config, rows: Rows, figure: Any) -> None:
    axis = figure.subplots()
    for name, some, style in (("L-BFGS", rows, "o-"), ("gradient descent", with_descent(rows), "s:")):
        for index, curve in enumerate(_curves(some)):
            d = curve[0]["d"]
            axis.plot(
                [row["n"] / d for row in curve], [row["success"] for row in curve], style, color=f"C{index}",
                label=f"d = {d}, {name}",
            )  # fmt: skip
    axis.set(xlabel="rows for each input, n/d", ylabel=f"share of data sets with SD ≤ {SAME}")
    axis.legend(frameon=False)


def _draw_4(config: Config, rows: Rows, figure: Any) -> None:
    axis = figure.subplots()
    for curve in _curves(rows):
        n, every = np.array([row["n"] for row in curve]), slope(curve)
        spread = [2 * row["standard_error"] for row in curve]
        label = f"d = {curve[0]['d']}, slope −{-every:.2f}"
        line = axis.errorbar(n, [row["error"] for row in curve], spread, marker="o", markersize=3, label=label)
        axis.plot(n, [row["asymptotic_error"] for row in curve], "--", color=line[0].get_color(), linewidth=1)
    axis.plot([], [], "k--", linewidth=1, label="sandwich, slope −1/2")
    axis.set(xscale="log", yscale="log", xlabel="rows n", ylabel="mean Frobenius norm of Ŵ − W*")
    axis.legend(frameon=False)


_SHARED = {"K": K, "length": LENGTH, "radius": RADIUS, "steps": 2000}
_NO_DESCENT = {"descent_inputs": (), "descent_sets": 0, "descents": 0}
_LONG = "gradient descent for d = 20, 40, 60 with 20 starts on 50 data sets would take about 7 core-hours"
_PRINTED = {
    "K": Printed("neurons K", 3),
    "length": Printed("length of the rows of W*", None, "W* is not stated; orthogonal rows"),
    "inputs": Printed("inputs d", (20, 40, 60), "fewer, for a quick look"),
}
ENTRIES = (
    Entry(
        "fu2018/fig3", "success rate of reaching the same minimiser, by gradient descent and by L-BFGS",
        quick=_SHARED | {
            "inputs": (20,), "ratios": (25, 150, 250, 350), "data_sets": 10, "starts": 10, "descent_inputs": (20,),
            "descent_sets": 10, "descents": 5,
        },
        full=_SHARED | {
            "inputs": (20, 40, 60), "ratios": (25, 50, 100, 150, 200, 250, 300, 350, 400), "data_sets": 25,
            "starts": 20, "descent_inputs": (20,), "descent_sets": 25, "descents": 10,
        },
        cells=_cells, run_cell=_run, claims=_claims_3, draw=_draw_3,
        printed=_PRINTED | {
            "steps": Printed("steps of gradient descent", 2000),
            "starts": Printed("starts of L-BFGS", 20, "fewer, for a quick look"),
            "data_sets": Printed("data sets", 50, "half as many"),
            "descent_inputs": Printed("inputs d with gradient descent", (20, 40, 60), _LONG),
            "descents": Printed("starts of gradient descent", 20, _LONG),
        },
    ),
    Entry(
        "fu2018/fig4", "average estimation error against the number of rows",
        quick=_SHARED | _NO_DESCENT | {
            "inputs": (20,), "ratios": (800, 1600, 3200, 6400), "data_sets": 50, "starts": 1,
        },
        full=_SHARED | _NO_DESCENT | {
            "inputs": (20, 40, 60), "ratios": (400, 800, 1600, 3200, 6400), "data_sets": 50, "starts": 1,
        },
        cells=_cells, run_cell=_run, claims=_claims_4, draw=_draw_4,
        printed=_PRINTED | {
            "data_sets": Printed("simulations", 100, "half as many, and a data set each instead of a start each"),
            "radius": Printed("distance of the starts over ‖W*‖", 0.1),
        },
    ),
)  # fmt: skip
