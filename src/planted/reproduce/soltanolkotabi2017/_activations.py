"""Figure 1 of Soltanolkotabi, Javanmard and Lee (2017): the activations of Example 2.4, and what Assumption 2.3 asks.

The assumption is about the mean slope μ(σ) = E φ'(σg) and the mean curvature γ(σ) = E φ''(σg), g ~ N(0, 1): each must
vanish for every σ or for none.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from planted import activations
from planted.activations import Activation
from planted.numerics.quadrature import gaussian_expectation
from planted.reproduce._claims import Claim, claim
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry

_ZERO = 1e-12
_CURVED = ("softplus",)
_ODD = ("sigmoid", "erf", "tanh")


def _activation(name: str, b: float) -> Activation:
    return activations.get(name, b=b) if name in ("softplus", "sigmoid") else activations.get(name)


def _scaled(act: Activation, sigma: float, order: int, z: np.ndarray) -> np.ndarray:
    return act.derivative(sigma * z, order)


def _cells(config: Config) -> list[Cell]:
    return [{"activation": name} for name in (*_CURVED, *_ODD, "relu")]


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    act = _activation(cell["activation"], config["b"])
    z = np.linspace(-config["range"], config["range"], config["points"])
    rows = [cell | {"curve": "value", "at": float(x), "value": float(y)} for x, y in zip(z, act(z), strict=True)]
    if cell["activation"] == "relu":
        return rows
    for sigma in np.geomspace(0.1, 3.0, config["scales"]):
        for curve, order in (("slope", 1), ("curvature", 2)):
            mean = float(gaussian_expectation(partial(_scaled, act, sigma, order)))
            rows.append(cell | {"curve": curve, "at": float(sigma), "value": mean})
    return rows


def _of(rows: Rows, activation: str, curve: str) -> tuple[np.ndarray, np.ndarray]:
    mine = [row for row in rows if row["activation"] == activation and row["curve"] == curve]
    return np.array([row["at"] for row in mine]), np.array([row["value"] for row in mine])


def _claims(config: Config, rows: Rows) -> list[Claim]:
    slopes = {name: _of(rows, name, "slope")[1].min() for name in (*_CURVED, *_ODD)}
    curved = _of(rows, "softplus", "curvature")[1].min()
    odd = max(float(np.abs(_of(rows, name, "curvature")[1]).max()) for name in _ODD)
    gap = _of(rows, "softplus", "value")[1] - _of(rows, "relu", "value")[1]
    return [
        claim(
            "μ(σ) > 0 for all four",
            "strictly increasing",
            "least " + ", ".join(f"{value:.3f} ({name})" for name, value in slopes.items()),
            min(slopes.values()) > 0,
            "σ from 0.1 to 3",
        ),
        claim("softplus: γ(σ) vanishes nowhere (a)", "strictly convex", f"least {curved:.3f}", curved > 0),
        claim(
            "sigmoid, erf, tanh: γ(σ) vanishes everywhere (b)",
            "φ'' is odd",
            f"at most {odd:.0e}" if odd else "exactly zero",
            odd < _ZERO,
            "erf as printed is √2 times the usual erf at z/√2; see the errata",
        ),
        claim(
            "softplus is a smooth ReLU, above it by at most log 2 / b",
            f"{np.log(2) / config['b']:.4f}",
            f"{gap.min():.1e} to {gap.max():.4f}",
            gap.min() >= 0 and abs(gap.max() - np.log(2) / config["b"]) < _ZERO,
        ),
    ]


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for name in (*_CURVED, *_ODD, "relu"):
        left.plot(*_of(rows, name, "value"), label=name, linestyle="--" if name == "relu" else "-")
    for i, name in enumerate((*_CURVED, *_ODD)):
        right.plot(*_of(rows, name, "slope"), color=f"C{i}", label=f"{name}, slope")
        right.plot(*_of(rows, name, "curvature"), color=f"C{i}", linestyle=":")
    left.set(xlabel="z", ylabel="φ(z)", ylim=(-2, 2.5))
    right.set(xlabel="σ", ylabel="mean slope (solid), mean curvature (dotted)")
    left.legend(frameon=False)
    right.legend(frameon=False, fontsize=8)


ENTRIES = (
    Entry(
        "soltanolkotabi2017/fig1",
        "the activations of Example 2.4, their mean slopes and curvatures",
        quick={"b": 4.0, "range": 3.0, "points": 61, "scales": 15},
        full={"b": 4.0, "range": 3.0, "points": 121, "scales": 30},
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
    ),
)
