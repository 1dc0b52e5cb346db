"""Figure 4 of Soltanolkotabi et al. (2017): random labels y ~ N(0, 1).

As printed, x ↦ 1ᵀφ(Wx), it cannot reach zero: softplus and z² are convex and positive, and
:func:`planted.certificates.least_loss` bounds from below what all weights leave. With both layers learned it can, and
both are shown.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import optax

from planted.certificates import least_loss
from planted.numerics.precision import float64, to_jax
from planted.objectives import Squared
from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.soltanolkotabi2017._sweep import PANELS, ROWS
from planted.solvers import FirstOrder, traced_descent

_AWAY = 0.2


@partial(jax.jit, static_argnames=("steps", "every"))
def losses_along(loss: Squared, starts: Any, rate: Any, steps: int, every: int) -> jax.Array:
    """Losses (starts, steps // every) along gradient descents from starts stacked along a leading axis.

    One start after another: products of small matrices are slower side by side.
    """
    solver = FirstOrder(optax.sgd(rate))
    return jax.lax.map(lambda start: traced_descent(loss, start, solver, steps=steps, record_every=every)[1], starts)


class RandomLabels(NamedTuple):
    """Curves of Figure 4: RMSE = √L (m, starts) at `iterations` (m,) on n random labels, d inputs.

    `floor` is a proved lower bound on the RMSE where outputs are fixed at one, else 0.
    """

    d: int
    n: int
    iterations: np.ndarray
    rmse: np.ndarray
    floor: float


@float64
def random_labels(
    activation: str, k: int, *, layers: str = "both", steps: int = 50_000, starts: int = 1, random_state: Any = 0
) -> RandomLabels:
    """Gradient descent on labels y ~ N(0, 1) that have nothing to do with x ~ N(0, I); n = 100.

    `layers` is "both", from outputs ±1 in turn, or "first" with all outputs one as the text says.

    >>> curve = random_labels("softplus", 5, steps=400)
    >>> bool(curve.rmse[-1, 0] < curve.rmse[0, 0])
    True
    """
    plan = PANELS["2a" if activation == "softplus" else "3a"]
    # With all outputs positive the start predicts far too much, and a long first step would silence every neuron.
    act, d, rate = plan.activation, plan.fixed, plan.rate / k / (10 if layers == "first" else 1)
    rng = np.random.default_rng(random_state)
    X, y = rng.standard_normal((ROWS, d)), rng.standard_normal(ROWS)
    params = {"weights": rng.standard_normal((starts, k, d)) / d**0.5}
    if layers == "both":
        # Signs in turn: those of a quadratic network stay, so that too few of one sign would decide the end.
        params["output"] = np.tile(np.where(np.arange(k) % 2 == 0, 1.0, -1.0), (starts, 1))
    loss = Squared(X, y, act, np.ones(k) if layers == "first" else None)
    every = max(steps // 200, 1)
    losses = np.asarray(losses_along(loss, to_jax(params), rate, steps, every)).T
    floor = float(np.sqrt(least_loss(X, y, act, np.ones(k)))) if layers == "first" else 0.0
    return RandomLabels(d, ROWS, every * np.arange(1, len(losses) + 1), np.sqrt(losses), floor)


def _cells(config: Config) -> list[Cell]:
    return [
        {"activation": activation, "layers": layers, "k": k}
        for layers, plan in config["widths"].items()
        for activation, widths in plan.items()
        for k in widths
    ]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    curve = random_labels(
        cell["activation"], cell["k"], layers=cell["layers"], steps=config["steps"], starts=config["starts"],
        random_state=seed,
    )  # fmt: skip
    fixed = cell | {"d": curve.d, "n": curve.n, "floor": curve.floor}
    return [
        fixed | {"start": start, "iteration": int(i), "rmse": float(r)}
        for start, path in enumerate(curve.rmse.T)
        for i, r in zip(curve.iterations, path, strict=True)
    ]


def _final(rows: Rows, activation: str, layers: str) -> dict[int, Rows]:
    """The last row of every start, by width."""
    mine = [row for row in rows if (row["activation"], row["layers"]) == (activation, layers)]
    last = {(row["k"], row["start"]): row for row in mine}
    return {k: [row for (width, _), row in last.items() if width == k] for k in sorted({k for k, _ in last})}


def _claims(config: Config, rows: Rows) -> list[Claim]:
    claims, zero = [], config["zero"]
    for activation in config["widths"]["both"]:
        ends = {k: [row["rmse"] for row in some] for k, some in _final(rows, activation, "both").items()}
        sizes = {row["k"]: row["k"] * row["d"] / row["n"] for row in select(rows, activation=activation)}
        wide = [end for k, some in ends.items() if sizes[k] > 1.5 for end in some]
        # At kd = n the output layer brings the parameters above n, so that nothing is said there.
        narrow = [end for k, some in ends.items() if sizes[k] < 1 for end in some]
        counts = ", ".join(
            f"{sum(r < zero for r in some)} of {len(some)} at {sizes[k]:.1f} n" for k, some in ends.items()
        )
        note = f"below {zero:g} after {config['steps']:,} steps: {counts}"
        claims += [
            claim(
                f"{activation}, both layers: RMSE goes to zero for kd > 1.5 n", "0", f"at most {max(wide):.1e}",
                max(wide) < zero, note,
            ),
            claim(
                f"{activation}, both layers: RMSE stays away from zero for kd < n", "away from 0",
                f"at least {min(narrow):.1e}", min(narrow) > _AWAY,
            ),
        ]  # fmt: skip
        fixed = [row for some in _final(rows, activation, "first").values() for row in some]
        floor, least = fixed[0]["floor"], min(row["rmse"] for row in fixed)
        claims.append(
            claim(
                f"{activation}, outputs fixed at one as printed: RMSE goes to zero", "0", f"{least:.2f}", least < zero,
                explanation=Explanation(
                    "sums of convex positive neurons cannot fit these labels; see the errata, Figure 4",
                    f"a proved bound is {floor:.3f}, and {least / floor:.3f} times that is left",
                    zero < floor <= least <= (1 + config["within"]) * floor,
                ),
            )
        )  # fmt: skip
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    for axis, activation in zip(figure.subplots(1, 2), config["widths"]["both"], strict=True):
        for layers, style in (("both", "-"), ("first", ":")):
            for k, ends in _final(rows, activation, layers).items():
                mine = [r for r in rows if (r["activation"], r["layers"], r["k"]) == (activation, layers, k)]
                paths = np.array([row["rmse"] for row in mine]).reshape(len(ends), -1)
                label = f"kd = {k * ends[0]['d'] / ends[0]['n']:.1f} n" + ("" if layers == "both" else ", v = 1 fixed")
                steps, colour = [row["iteration"] for row in mine[: paths.shape[1]]], f"C{len(axis.lines)}"
                axis.loglog(steps, np.median(paths, axis=0), style, color=colour, label=f"k = {k}, {label}")
                axis.fill_between(steps, paths.min(axis=0), paths.max(axis=0), color=colour, alpha=0.15, linewidth=0)
        title = f"{activation}, random labels, {config['starts']} starts"
        axis.set(xlabel="iteration", ylabel="RMSE = √L, median and range", title=title, ylim=(1e-8, 10))
        axis.legend(fontsize=6, loc="lower left")


_FEWER = "fewer, for a quick look"
ENTRIES = (
    Entry(
        "soltanolkotabi2017/fig4", "random labels",
        quick={
            "steps": 10_000, "starts": 2, "zero": 0.1, "within": 0.1,
            "widths": {"both": {"softplus": [5, 20], "quadratic": [3, 10]},
                       "first": {"softplus": [20], "quadratic": [10]}},
        },
        full={
            "steps": 200_000, "starts": 3, "zero": 1e-2, "within": 0.1,
            "widths": {"both": {"softplus": [5, 10, 13, 16, 20], "quadratic": [3, 5, 7, 8, 10]},
                       "first": {"softplus": [20], "quadratic": [10]}},
        },
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw, seed_by=("activation",),
        printed={
            "steps": Printed("steps of gradient descent", None, "the axis of Figure 4 has no numbers in the text"),
            "starts": Printed("starts", 1, "several: one is no evidence"),
            "zero": Printed("what counts as zero", None, "not stated"),
            "within": Printed("how near to a proved bound explains", None, "a tenth of what is left may be unproved"),
            "widths": Printed("networks", "outputs fixed at one", "outputs learned as well, as L(v, W) in the caption"),
        },
    ),
)  # fmt: skip
