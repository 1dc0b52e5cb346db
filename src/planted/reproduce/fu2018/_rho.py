"""Figure 2 of Fu, Chi and Liang (2018): ρ(σ) of Definition 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted import activations
from planted.certificates import rho, slope_moments
from planted.names import ACTIVATIONS
from planted.reproduce._claims import Claim, claim
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry


def _cells(config: Config) -> list[Cell]:
    return [{"activation": name} for name in config["activations"]]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    act, rows = activations.get(cell["activation"]), []
    for sigma in np.geomspace(0.05, 10.0, config["points"]).tolist():
        alpha, beta = slope_moments(act, sigma)
        moments = {f"alpha_{q}": alpha[q] for q in range(3)} | {"beta_0": beta[0], "beta_2": beta[1]}
        rows.append(cell | {"sigma": sigma, "rho": rho(act, sigma)} | moments)
    return rows


def _rho(rows: Rows, name: str) -> tuple[np.ndarray, np.ndarray]:
    own = [row for row in rows if row["activation"] == name]
    return np.array([row["sigma"] for row in own]), np.array([row["rho"] for row in own])


def _claims(config: Config, rows: Rows) -> list[Claim]:
    sigmas, sigmoid = _rho(rows, "sigmoid")
    peak = sigmas[int(np.argmax(sigmoid))]
    tanh, quadratic = _rho(rows, "tanh")[1], _rho(rows, "quadratic")[1]
    return [
        claim("ρ(σ) > 0 for sigmoid", "for all σ > 0",
              f"least {sigmoid.min():.2g} for σ from 0.05 to 10, largest {sigmoid.max():.3g} near σ = {peak:.2g}",
              bool(sigmoid.min() > 0)),
        claim("ρ(σ) > 0 for tanh", "yes", f"least {tanh.min():.2g}", bool(tanh.min() > 0)),
        claim("ρ = 0 for the quadratic", "Assumption 2 excludes it", f"{np.abs(quadratic).max():.1g}",
              bool(np.abs(quadratic).max() < 1e-9)),
    ]  # fmt: skip


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    left.plot(*_rho(rows, "sigmoid"))
    left.set(xlabel="σ", ylabel="ρ(σ)", title="sigmoid")
    curves = {name: _rho(rows, name) for name in config["activations"]}
    for count, (name, (sigmas, values)) in enumerate(item for item in curves.items() if item[1][1].max() > 1e-12):
        right.loglog(sigmas, np.maximum(values, 1e-16), "-" if count < 6 else "--", color=f"C{count % 6}", label=name)
    right.set(xlabel="σ", ylim=(1e-10, None), title="every activation with ρ > 0")
    right.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


# The curves of the figure: more would not be told apart.
_SHOWN = ACTIVATIONS[: ACTIVATIONS.index("gelu")]
ENTRIES = (
    Entry(
        "fu2018/fig2", "ρ(σ) of Definition 1",
        quick={"activations": _SHOWN, "points": 20}, full={"activations": _SHOWN, "points": 60},
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw,
    ),
)  # fmt: skip
