r"""Lemmas 3 and 4 of Fu, Chi and Liang (2018): how far gradient and Hessian are from their means, over a whole ball.

    sup ‖∇²f_n(W) − ∇²f(W)‖ ≤ C (L² + L) √(d log n/(nK)),     sup ‖∇f_n(W) − ∇f(W)‖ ≤ C L √(d log n/n)

over ‖W − W*‖_F ≤ r with the r of Theorem 1. Population derivatives are exact up to quadrature
(:class:`planted.objectives.PopulationSquared`: the noise of the labels adds a constant to f). The supremum is taken
over the centre and points uniform on the sphere of radius r, and over a ball ten times as large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.certificates import local_geometry, uniform_deviation
from planted.datasets import make_planted, teacher_weights
from planted.networks import Network
from planted.objectives import PopulationSquared, label_loss
from planted.reproduce._claims import Claim, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry

_WIDE = 10.0
QUANTITIES = {"hessian": "Lemma 3, Hessian", "slope": "Lemma 4, gradient"}


def _cells(config: Config) -> list[Cell]:
    base = config["base"]
    cells = [{**base, "n": n} for n in config["rows"]] + [{**base, "d": d} for d in config["inputs"]]
    return list({tuple(cell.items()): cell for cell in cells}.values())


def deviations(weights: np.ndarray, n: int, points: int, seed: Any) -> dict[str, float]:
    """Suprema over the ball of Theorem 1 and one ten times as large, and r; one data set.

    >>> suprema = deviations(2 * np.eye(2, 3), 2000, 2, 0)
    >>> 0 < suprema["hessian"] <= suprema["wide_hessian"]
    True
    """
    rng = np.random.default_rng(seed)
    k, _ = weights.shape
    data = make_planted(n, weights.shape[1], k, activation="sigmoid", weights=weights, task="classification",
                        random_state=rng)  # fmt: skip
    share = np.full(k, 1 / k)
    mean = PopulationSquared(Network(weights, share, "sigmoid"), output=share)
    sample, r = label_loss(data.X, data.y, k), local_geometry(weights, "sigmoid").radius()
    suprema = {"radius": r}
    for prefix, radius in (("", r), ("wide_", _WIDE * r)):
        both = uniform_deviation(sample, mean, weights, radius, points, rng)
        suprema |= {f"{prefix}hessian": both.of_hessian, f"{prefix}slope": both.of_gradient}
    # The smaller ball is part of the larger one.
    return suprema | {f"wide_{name}": max(suprema[name], suprema[f"wide_{name}"]) for name in QUANTITIES}


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    rows = []
    for trial in range(config["trials"]):
        rng = np.random.default_rng([seed, trial])
        weights = config["length"] * teacher_weights("orthogonal", cell["K"], cell["d"], 1.0, rng)
        rows.append(cell | {"trial": trial} | deviations(weights, cell["n"], config["points"], rng))
    return rows


def exponent(rows: Rows, name: str, quantity: str) -> float:
    """Slope of the mean logarithm of `quantity` against that of the column `name`.

    >>> round(exponent([{"n": 1, "hessian": 1.0}, {"n": 4, "hessian": 0.5}], "n", "hessian"), 6)
    -0.5
    """
    x = sorted({row[name] for row in rows})
    y = [np.mean([np.log(row[quantity]) for row in rows if row[name] == value]) for value in x]
    return float(np.polyfit(np.log(x), y, 1)[0])


def _sweeps(config: Config, rows: Rows) -> tuple[Rows, Rows]:
    base = config["base"]
    return select(rows, d=base["d"]), select(rows, n=base["n"])


def _claims(config: Config, rows: Rows) -> list[Claim]:
    by_rows, by_inputs = _sweeps(config, rows)
    claims = []
    for quantity, name in QUANTITIES.items():
        n, d = exponent(by_rows, "n", quantity), exponent(by_inputs, "d", quantity)
        shares = np.array([row["K"] if quantity == "hessian" else 1 for row in rows])
        scale = np.sqrt([row["d"] * np.log(row["n"]) / row["n"] for row in rows] / shares)
        constants = np.array([row[quantity] for row in rows]) / scale
        growth = max(row[f"wide_{quantity}"] / row[quantity] for row in rows)
        claims += [
            claim(f"{name}: the supremum falls like n^(−1/2) up to logarithms", "√(log n/n)", f"n^{n:.3f}",
                  abs(n + 0.5) < 0.1),
            claim(f"{name}: it grows like √d", "√d", f"d^{d:.3f}", abs(d - 0.5) < 0.15,
                  f"constants C (with L) {constants.min():.3g} to {constants.max():.3g}"),
            claim(f"{name}: uniformly over the ball", "sup over ‖W − W*‖ ≤ r",
                  f"at most {growth:.2f} times as much in a ball ten times as large", growth < 2,
                  f"r = {min(row['radius'] for row in rows):.2g}, {config['points']} points on the sphere"),
        ]  # fmt: skip
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    by_rows, by_inputs = _sweeps(config, rows)
    for axis, (mine, name) in zip(figure.subplots(1, 2), ((by_rows, "n"), (by_inputs, "d")), strict=True):
        for index, (quantity, label) in enumerate(QUANTITIES.items()):
            x = sorted({row[name] for row in mine})
            y = [np.mean([row[quantity] for row in mine if row[name] == value]) for value in x]
            axis.loglog([row[name] for row in mine], [row[quantity] for row in mine], ".", color=f"C{index}")
            slope = exponent(mine, name, quantity)
            axis.loglog(x, y, color=f"C{index}", label=f"{label}: {name}^{slope:.2f}")
        axis.set(xlabel=name, ylabel="supremum over the ball")
        axis.legend(fontsize=7)


ENTRIES = (
    Entry(
        "fu2018/lemmas", "gradient and Hessian against their means over a ball (Lemmas 3 and 4)",
        quick={
            "base": {"K": 2, "d": 8, "n": 2000}, "rows": [1000, 2000, 8000], "inputs": [8, 16, 32], "points": 3,
            "trials": 6, "length": 4.0,
        },
        full={
            "base": {"K": 3, "d": 20, "n": 8000}, "rows": [4000, 8000, 32_000, 128_000], "inputs": [10, 20, 40],
            "points": 3, "trials": 8, "length": 4.0,
        },
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw,
        printed={"base": Printed("sizes", None, "any, by the lemmas"),
                 "length": Printed("length of the rows of W*", None, "W* is not stated; orthogonal rows")},
    ),
)  # fmt: skip
