"""The spurious minimum of P' in appendix D of Ge et al. (2017), and how G removes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.certificates import certify
from planted.objectives import PopulationLandscape, PopulationPairs, appendix_d
from planted.reproduce._claims import Claim, claim
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.ge2017._descents import RECOVERED, row_error
from planted.solvers import lbfgs


def _points(config: Config) -> list[Cell]:
    return [{"from": "spurious minimum of P'"}]


def _escape(config: Config, cell: Cell, seed: int) -> Rows:
    teacher, B = appendix_d(config["excess"])
    pairs, G = PopulationPairs(teacher), PopulationLandscape(teacher)
    rng = np.random.default_rng(seed)
    nearby = min(pairs.value(B + 1e-3 * rng.standard_normal(B.shape)) for _ in range(config["trials"]))
    run = lbfgs(G, B + 1e-3 * rng.standard_normal(B.shape), steps=2000, tolerance=1e-10)
    measured = {
        "kind under P'": certify(pairs, B).kind,
        "kind under G": certify(G, B).kind,
        "lowest nearby P'": nearby,
        "error": row_error(run.params),
    }
    points = (("before", B), ("after", run.params))
    return [
        {"point": name, "row": i, "column": j, "weight": float(matrix[i, j])} | measured
        for name, matrix in points
        for i, j in np.ndindex(*matrix.shape)
    ]


def _claims(config: Config, rows: Rows) -> list[Claim]:
    measured = rows[0]
    kind, nearby = measured["kind under P'"], measured["lowest nearby P'"]
    return [
        claim(
            "P' has a spurious local minimum",
            "no nearby point is lower",
            f"{kind}; lowest of {config['trials']} nearby points {nearby - 2:+.2e}",
            kind == "local minimum" and nearby >= 2 - 1e-9,
            "P' = 2 there, as each pair is counted in both orders; the paper prints 1",
        ),
        claim(
            "G does not",
            "no spurious minima",
            measured["kind under G"],
            measured["kind under G"] in {"saddle", "not critical"},
        ),
        claim(
            "descent on G from there recovers", "yes", f"error {measured['error']:.2g}", measured["error"] < RECOVERED
        ),
    ]


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    names = ("before", "after"), ("spurious minimum of P'", "after descent on G")
    for axis, point, title in zip(figure.subplots(1, 2), *names, strict=True):
        mine = [row for row in rows if row["point"] == point]
        matrix = np.zeros((1 + mine[-1]["row"], 1 + mine[-1]["column"]))
        for row in mine:
            matrix[row["row"], row["column"]] = abs(row["weight"])
        axis.imshow(matrix, vmin=0, vmax=1, cmap="viridis")
        axis.set(title=title, xlabel="teacher neuron", ylabel="student row")
        axis.set(xticks=range(matrix.shape[1]), yticks=range(matrix.shape[0]))


ENTRIES = (
    Entry(
        "ge2017/appendix-d",
        "the spurious minimum of P', and how G removes it",
        quick={"excess": 0.5, "trials": 200},
        full={"excess": 0.5, "trials": 2000},
        cells=_points,
        run_cell=_escape,
        claims=_claims,
        draw=_draw,
        printed={
            "excess": Printed("how much the doubled row is longer", None, "any; the paper states a range"),
            "trials": Printed("nearby points", None, "the paper proves it; here it is tried and certified"),
        },
    ),
)
