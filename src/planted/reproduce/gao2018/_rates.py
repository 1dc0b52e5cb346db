r"""Theorem 1 and Remark 1 of Gao et al. (2018): the rates of local likelihood of degree p = 1 … 4 for S_m, m = 1 … 4.

With h = c n^{−1/(2p+2+d)} the error of Ŝ_m falls like n^{−(p+1−m)/(2p+2+d)} for m ≤ p: bias h^{p+1−m} and spread
(n h^{d+2m})^{−1/2} have the same exponent there. Where p − m is even a symmetric kernel has the smaller bias h^{p+2−m}:
the error falls faster as long as bias prevails, and then the spread keeps the exponent. For m > p, against Assumption
1(a), the error tends to what the polynomial leaves out of S_m.

One logistic input, whose log density has derivatives of all orders; root mean square errors at fixed points.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from planted.inputs import LocalLikelihood, Logistic, rule_of_remark, score_tensor
from planted.numerics.precision import float64
from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry

ORDERS = DEGREES = (1, 2, 3, 4)
POINTS = np.array([[-2.0], [-1.2], [0.4], [1.0], [2.5]])
_LAW = Logistic(1)
# A slope may be this much above the theorem's, and this much away from it, beside two standard errors.
_ABOVE, _AWAY = 0.03, 0.06
# Errors with m > p must be this share of what is left out at the largest n.
_STAYS = 0.5


def theorem_slope(degree: int, order: int, d: int = 1) -> float:
    """−(p + 1 − m)/(2p + 2 + d).

    >>> theorem_slope(2, 2)
    -0.14285714285714285
    """
    return -(degree + 1 - order) / (2 * degree + 2 + d)


@float64
def left_out(degree: int, order: int) -> float:
    """Root mean square over the points of S_order less what derivatives of log f up to `degree` give of it.

    >>> left_out(4, 4), left_out(2, 4) > 0.1
    (0.0, True)
    """
    derivatives = [
        part.reshape(-1, *(1,) * (j + 1)) for j, part in enumerate(_LAW.log_derivatives(jnp.asarray(POINTS)))
    ]
    cut = [part if j < degree else 0 * part for j, part in enumerate(derivatives)]
    gap = score_tensor(derivatives[:order], order) - score_tensor(cut[:order], order)
    return float(jnp.sqrt(jnp.mean(gap**2)))


def _cells(config: Config) -> list[Cell]:
    return [{"degree": degree, "n": n} for degree in DEGREES for n in config["sizes"]]


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    """Squared errors (trials, orders), of which the root of the mean and its standard error are kept."""
    n, degree = cell["n"], cell["degree"]
    h = rule_of_remark(n, 1, degree, config["width"] * _LAW.line_variance**0.5)
    squares = []
    for child in np.random.SeedSequence(seed).generate_state(config["trials"]):
        X = _LAW.sample(n, random_state=int(child))
        with warnings.catch_warnings():
            # A point without a fit is not left out: it counts below, as infinitely far off.
            warnings.simplefilter("ignore", UserWarning)
            fit = LocalLikelihood(h, degree).fit(X).local_fit(POINTS)
        squares.append([_square(fit.score(order) - _LAW.score(POINTS, order)) for order in ORDERS])
    rows = []
    for order, values in zip(ORDERS, np.array(squares).T, strict=True):
        mean = float(np.mean(values))
        spread = float(np.std(values, ddof=1) / len(values) ** 0.5)
        rows.append(cell | {"order": order, "h": h, "error": mean**0.5, "log_se": spread / (2 * mean)})
    return rows


def _square(gap: np.ndarray) -> float:
    value = np.mean(gap**2)
    return float(value) if np.isfinite(value) else float("inf")


def rate(rows: Rows, degree: int, order: int) -> tuple[float, float]:
    """Least-squares slope of log error against log n, and its standard error.

    >>> table = [{"degree": 1, "order": 1, "n": n, "error": n**-0.2, "log_se": 0.0} for n in (10, 100)]
    >>> round(rate(table, 1, 1)[0], 9)
    -0.2
    """
    chosen = select(rows, degree=degree, order=order)
    x = np.log([row["n"] for row in chosen])
    lever = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    errors = np.array([row["error"] for row in chosen])
    return float(lever @ np.log(errors)), float(np.linalg.norm(lever * [row["log_se"] for row in chosen]))


def _claims(config: Config, rows: Rows) -> list[Claim]:
    inside = [(p, m) for p in DEGREES for m in ORDERS if m <= p]
    outside = [(p, m) for p in DEGREES for m in ORDERS if m > p]
    slopes = {pair: rate(rows, *pair) for pair in inside}
    shown = ", ".join(f"p = {p}, m = {m}: {slopes[p, m][0]:.2f} ± {slopes[p, m][1]:.2g}" for p, m in inside)
    theory = ", ".join(f"{theorem_slope(p, m):.2f}" for p, m in inside)
    away = {pair: slopes[pair][0] - theorem_slope(*pair) for pair in inside}
    off = [pair for pair in inside if abs(away[pair]) > _AWAY + 2 * slopes[pair][1]]
    faster = [(p, m) for p, m in off if away[p, m] < 0 and (p - m) % 2 == 0]
    last = max(row["n"] for row in rows)
    stays = {(p, m): select(rows, degree=p, order=m, n=last)[0]["error"] / left_out(p, m) for p, m in outside}
    return [
        claim(
            "for m ≤ p the error falls at least as fast as Theorem 1 says",
            theory,
            shown,
            all(value - 2 * se <= theorem_slope(*pair) + _ABOVE for pair, (value, se) in slopes.items()),
        ),
        claim(
            "and no faster: the exponents are those of Remark 1",
            theory,
            shown,
            not off,
            explanation=Explanation(
                "where p − m is even a symmetric kernel has the smaller bias h^(p+2−m)",
                f"{len(faster)} of {len(off)} exponents that differ are larger and have an even p − m",
                len(faster) == len(off),
            ),
        ),
        claim(
            "for m > p it stays (Assumption 1(a))",
            "p ≥ m is assumed",
            f"with {last:,} points, in units of what the polynomial leaves out: "
            + ", ".join(f"p = {p}, m = {m}: {value:.2f}" for (p, m), value in stays.items()),
            all(value > _STAYS for value in stays.values()),
        ),
    ]


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    axes = figure.subplots(1, len(ORDERS))
    for axis, order in zip(axes, ORDERS, strict=True):
        for degree in DEGREES:
            mine = select(rows, degree=degree, order=order)
            n = np.array([row["n"] for row in mine], float)
            errors = np.array([row["error"] for row in mine])
            label = f"p = {degree}" + (f": {rate(rows, degree, order)[0]:.2f}" if order <= degree else "")
            axis.loglog(n, errors, f"C{degree}", label=label)
            if order <= degree:
                axis.loglog(n, errors[0] * (n / n[0]) ** theorem_slope(degree, order), f"C{degree}:")
        axis.set(title=f"S_{order}", xlabel="n")
        axis.legend(frameon=False, fontsize=6)
    axes[0].set(ylabel="root mean square error")


ENTRIES = (
    Entry(
        "gao2018/theorem1",
        "the rates of local likelihood, degrees 1 to 4, for S₁ to S₄",
        quick={"sizes": (1000, 8000), "trials": 8, "width": 2.0},
        full={"sizes": (1000, 4000, 16_000, 64_000), "trials": 60, "width": 2.0},
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
        printed={
            "sizes": Printed("points n", None, "the paper proves rates; its figures have p = 2 and d = 2"),
            "trials": Printed("trials a size", None, "the paper proves rates"),
            "width": Printed("h over n^(−1/(2p+2+d)), in standard deviations", 1.0, "smaller spread at the same rate"),
        },
    ),
)
