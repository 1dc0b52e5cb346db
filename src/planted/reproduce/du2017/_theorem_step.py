r"""Theorem 3.1 of Du et al. (2017) with the step that it asks for: both phases beside T₁ and T₂.

From starts with its premises Algorithm 1 runs on the population loss with the largest step for which the proof holds
(:func:`planted.methods.step_size_bound`), some hundred times shorter than a stable one. When phase I ends
(cos φ ≥ 1/2 and aᵀa* ≥ ‖a*‖²/2) and when the loss is at ε‖a*‖² is measured and compared with T₁ and T₁ + T₂
(:func:`planted.methods.phase_bounds`).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted.methods import leads_to_teacher, phase_bounds, step_size_bound, typical_step
from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax
from planted.numerics.seeding import key_from
from planted.objectives import PopulationConv
from planted.reproduce._claims import Claim, claim
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.du2017._shared_filter import draw_target
from planted.solvers import FirstOrder, traced_descent
from planted.starts import sign_restarts, uniform_start

_STRETCH = 5000


@jax.jit
def _advance(losses: PopulationConv, params: Any, steps: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
    """`_STRETCH` iterations of every draw; loss, cos φ and aᵀa* after each of them."""

    def one(loss: PopulationConv, start: Any, eta: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        def measure(point: Any) -> tuple[jax.Array, ...]:
            v = point["filter"]
            return loss.traced_value(point), v @ loss.filter / jnp.linalg.norm(v), point["output"] @ loss.output

        solver = FirstOrder(optax.sgd(eta))
        return traced_descent(loss, start, solver, steps=_STRETCH, measure=measure)

    return jax.vmap(one)(losses, params, steps)


@float64
def measured_phases(
    patch_size: int, n_patches: int, ratio: float, draws: int, budget: int, epsilon: float, random_state: Any = 0
) -> Rows:
    """One row a draw: the step, T₁ and T₂, and after how many iterations each phase was over, −1 if not within budget.

    >>> row = measured_phases(2, 2, 1.0, 1, 5000, 0.1)[0]
    >>> row["first"] <= row["T1"], row["second"] <= row["T1"] + row["T2"]
    (True, True)
    """
    nets, starts, rows = [], [], []
    for key in jax.random.split(key_from(random_state), draws):
        target_key, start_key = jax.random.split(key)
        w, a = draw_target(target_key, patch_size, n_patches, ratio)
        net = ConvNetwork(np.asarray(w), np.asarray(a))
        four = sign_restarts(uniform_start(start_key, patch_size, n_patches, np.sqrt(ratio / n_patches)))
        pairs = zip(np.asarray(four["filter"]), np.asarray(four["output"]), strict=True)
        v, b = next(pair for pair in pairs if leads_to_teacher(net, *pair))
        step = step_size_bound(net, v, b)
        bounds = phase_bounds(net, v, b, step, epsilon)
        longer = float(typical_step(ratio**0.5, 1.0, n_patches)) / step
        nets.append(net)
        starts.append({"filter": v, "output": b})
        rows.append({"step": step, "stable_over_step": longer, "T1": bounds.first, "T2": bounds.second})
    losses = jax.tree.map(lambda *leaves: np.stack(leaves), *(PopulationConv(net) for net in nets))
    params = to_jax({name: np.stack([start[name] for start in starts]) for name in starts[0]})
    steps, done = jnp.asarray([row["step"] for row in rows]), 0
    first, second = np.full(draws, -1), np.full(draws, -1)
    square = np.array([float(net.output @ net.output) for net in nets])
    while done < budget and np.any(second < 0):
        params, records = _advance(losses, params, steps)
        value, cosine, signal = (np.asarray(record) for record in records)
        turned = (cosine >= 0.5) & (signal >= 0.5 * square[:, None])
        for times, reached in ((first, turned), (second, value <= epsilon * square[:, None])):
            new = (times < 0) & reached.any(axis=1)
            times[new] = done + 1 + reached.argmax(axis=1)[new]
        done += _STRETCH
    return [row | {"first": int(one), "second": int(two)} for row, one, two in zip(rows, first, second, strict=True)]


def _cells(config: Config) -> list[Cell]:
    return [{"p": p, "k": k, "ratio": ratio} for p, k in config["sizes"] for ratio in config["ratios"]]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    rows = measured_phases(
        cell["p"], cell["k"], cell["ratio"], config["draws"], config["budget"], config["epsilon"], seed
    )
    return [cell | {"draw": draw} | row for draw, row in enumerate(rows)]


def _claims(config: Config, rows: Rows) -> list[Claim]:
    claims, factor = [], [row["stable_over_step"] for row in rows]
    for name, when, bound in (
        ("phase I is over by T₁", "first", lambda row: row["T1"]),
        (f"the loss is at {config['epsilon']:g} ‖a*‖² by T₁ + T₂", "second", lambda row: row["T1"] + row["T2"]),
    ):
        due = [row for row in rows if bound(row) <= config["budget"] or row[when] >= 0]
        punctual = [row for row in due if 0 <= row[when] <= bound(row)]
        shares = [row[when] / bound(row) for row in punctual]
        median = float(np.median(shares)) if shares else float("nan")
        claims.append(
            claim(
                f"{name}, with the step of Theorem 3.1",
                "always",
                f"{len(punctual)} of {len(due)} descents, after {median:.2g} of it in the median",
                2 * len(due) >= len(rows) and len(punctual) == len(due),
                f"{len(rows) - len(due)} of {len(rows)} neither done nor due within {config['budget']:,} iterations; "
                f"stable steps are {np.median(factor):.0f} times as long in the median",
            )
        )
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    bounds = {"first": ("T₁", lambda row: row["T1"]), "second": ("T₁ + T₂", lambda row: row["T1"] + row["T2"])}
    for axis, (when, (name, bound)) in zip(figure.subplots(1, 2), bounds.items(), strict=True):
        for index, (p, k) in enumerate(config["sizes"]):
            mine = [row for row in rows if (row["p"], row["k"]) == (p, k) and row[when] > 0]
            axis.loglog(
                [bound(row) for row in mine], [row[when] for row in mine], "o", color=f"C{index}", markersize=4,
                label=f"p = {p}, k = {k}",
            )  # fmt: skip
        limits = np.array([1e2, 1e8])
        axis.loglog(limits, limits, ":", color="grey")
        axis.set(xlabel=f"{name} of the theorem", ylabel="iterations taken")
        axis.legend(fontsize=7)


_FEW = "small ones: with the theorem's step p = 20, k = 25 has T₁ of some 10⁷ iterations"
ENTRIES = (
    Entry(
        "du2017/theorem3.1", "both phases with the step of Theorem 3.1, beside T₁ and T₂",
        quick={"sizes": [[2, 2]], "ratios": [1.0], "draws": 8, "budget": 100_000, "epsilon": 0.01},
        full={
            "sizes": [[2, 2], [3, 3], [5, 4]], "ratios": [0.1, 1.0], "draws": 20, "budget": 500_000, "epsilon": 0.01,
        },
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw,
        printed={
            "sizes": Printed("patch sizes and patches", None, _FEW),
            "epsilon": Printed("ε", None, "any, by the theorem"),
        },
    ),
)  # fmt: skip
