"""Figures 2 and 3 of Soltanolkotabi, Javanmard and Lee (2017): how often descent finds a global minimum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.soltanolkotabi2017._crossing import crossing_error, logistic_crossing
from planted.reproduce.soltanolkotabi2017._sweep import PANELS, READINGS, ROWS, ZERO, sweep

_TOLERANCES = (1e-2, 1e-3, 1e-4)
_DESCENT, _FINISHED = "gradient descent", "Levenberg–Marquardt after it"


def _cells(config: Config) -> list[Cell]:
    return [
        {"panel": panel, "reading": reading, "value": value}
        for panel, values in config["panels"].items()
        for reading in config["readings"]
        for value in values
    ]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    ends = sweep(
        cell["panel"], cell["value"], reading=cell["reading"], problems=config["problems"], starts=config["starts"],
        steps=config["steps"], polish=config["polish"], random_state=seed,
    )  # fmt: skip
    k, d = PANELS[cell["panel"]].sizes(cell["value"])
    return [
        cell
        | {"k": k, "d": d, "problem": i, "start": j, "positive": int(ends.positive[i, j])}
        | {"verdict": str(ends.verdict[i, j]), "loss": float(ends.loss[i, j]), "finished": float(ends.finished[i, j])}
        for i, j in np.ndindex(ends.loss.shape)
    ]


def by_descent(row: dict[str, Any]) -> bool:
    """Whether gradient descent itself is at zero; what had not settled is not.

    >>> by_descent({"verdict": "not settled", "finished": 0.0})
    False
    """
    return row["verdict"] == "zero"


def by_polish(row: dict[str, Any]) -> bool:
    """Whether Levenberg–Marquardt from where descent was ends at zero.

    >>> by_polish({"verdict": "not settled", "finished": 0.0})
    True
    """
    return row["finished"] < ZERO


class Curve:
    """Successes by value for one panel and reading: whole problems ("all") or single starts ("single")."""

    def __init__(
        self, rows: Rows, panel: str, reading: str, success: Callable[[dict[str, Any]], bool], starts: str = "all",
        least: int = 0,
    ) -> None:  # fmt: skip
        mine = [r for r in select(rows, panel=panel, reading=reading) if r["k"] * r["d"] >= least]
        self.values = np.array(sorted({row["value"] for row in mine}), dtype=np.float64)
        hits: dict[tuple[int, int], list[bool]] = {}
        for row in mine:
            hits.setdefault((row["value"], row["problem"]), []).append(success(row))
        trials = 1 if starts == "all" else max(map(len, hits.values()))
        count = all if starts == "all" else sum
        problems = sorted({problem for _, problem in hits})
        counts = np.array([[int(count(hits[int(v), p])) for p in problems] for v in self.values])
        self.fraction = counts.mean(axis=1) / trials
        self.paper = PANELS[panel].paper
        self.slope, self.crossing, self.error = 0.0, float("inf"), float("nan")
        if self.fraction.max() >= 0.5:
            self.crossing, self.slope = logistic_crossing(self.values, self.fraction, counts.shape[1] * trials)
            self.error = crossing_error(self.values, counts, trials)

    @property
    def difference(self) -> float:
        """Of the crossing from the paper's, relative."""
        return self.crossing / self.paper - 1

    def agrees(self, within: float) -> bool:
        """Whether the crossing is that near to the paper's."""
        return abs(self.difference) <= within

    def __str__(self) -> str:
        if not np.isfinite(self.crossing):
            return f"beyond {self.values[-1]:g}, where it is {self.fraction[-1]:.0%}"
        return f"{self.crossing:.2f} ± {self.error:.2f} ({self.difference:+.0%})"


def _claim(curve: Curve, statement: str, within: float, note: str = "", why: Explanation | None = None) -> Claim:
    return claim(
        statement, f"{curve.paper:.2f}", str(curve), curve.agrees(within),
        f"allowed {within:.0%}" + (f"; {note}" if note else ""), why,
    )  # fmt: skip


def _open(rows: Rows) -> str:
    """How many starts settled."""
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in ("zero", "stuck", "not settled")]
    return f"{counts[0]} at zero, {counts[1]} stuck, {counts[2]} not settled of {len(rows)}"


def _tolerant(rows: Rows, panel: str, reading: str) -> str:
    """What the crossing is if losses below other bounds counted as zero: the paper states none."""
    curves = [(bound, Curve(rows, panel, reading, partial(_below, bound))) for bound in _TOLERANCES]
    return "; ".join(f"with losses below {bound:g} taken for zero {curve}" for bound, curve in curves)


def _below(bound: float, row: dict[str, Any]) -> bool:
    return bool(row["loss"] < bound)


def _undecided(config: Config, rows: Rows, panel: str, polished: Explanation | None = None) -> Explanation:
    """That most descents not at zero had not settled, and that what they were converging to agrees, or is explained."""
    finished = Curve(rows, panel, "signs", by_polish)
    lost = [row for row in select(rows, panel=panel, reading="signs") if not by_descent(row)]
    pending = [row for row in lost if row["verdict"] == "not settled"]
    agrees = finished.agrees(config["within"])
    explained = polished is not None and not agrees
    ends = "has the explanation below" if explained else "agrees"
    return Explanation(
        f"within the budget its own loss does not decide, and what it was converging to {ends}",
        f"{len(pending)} of {len(lost)} starts not at zero had not settled; {_FINISHED} {finished}",
        2 * len(pending) >= len(lost) > 0 and (agrees or (polished is not None and polished.holds)),
    )


def _softplus_claims(config: Config, rows: Rows) -> list[Claim]:
    claims = []
    for panel in config["panels"]:
        plan, mine = PANELS[panel], select(rows, panel=panel, reading="signs")
        descent, finished = (Curve(rows, panel, "signs", success) for success in (by_descent, by_polish))
        single = Curve(rows, panel, "signs", by_polish, "single")
        text = f"figure {panel}: in half of the problems every start reaches zero loss at this {plan.varied}"
        claims.append(
            _claim(
                descent, f"{text}, by {_DESCENT}", config["within"],
                f"{_open(mine)} within {config['steps']:,} steps; {_tolerant(rows, panel, 'signs')}",
                _undecided(config, rows, panel),
            )
        )  # fmt: skip
        note = f"half of the single starts do at {single}"
        claims.append(_claim(finished, f"{text}, by {_FINISHED}", config["within"], note))
        late = [row for row in mine if row["value"] >= (plan.always or 0)]
        ends = sum(map(by_polish, late))
        claims.append(
            claim(
                f"figure {panel}: for {plan.varied} ≥ {plan.always} {_DESCENT} always finds a global minimiser",
                "always",
                f"{_open(late)}; {ends} at zero after Levenberg–Marquardt",
                all(map(by_descent, late)),
                explanation=Explanation(
                    "the others had not settled, and all end at zero",
                    f"{sum(row['verdict'] == 'stuck' for row in late)} stuck, {len(late) - ends} not at zero at last",
                    ends == len(late) and not any(row["verdict"] == "stuck" for row in late),
                ),
            )
        )
    return claims


def together(single: Curve, starts: int) -> float:
    """Where all of `starts` starts succeed in half of the problems if each does so by itself: p^starts = 1/2.

    >>> rows = [{"panel": "3a", "reading": "signs", "value": v, "k": v, "d": 20, "problem": 0, "start": s,
    ...          "verdict": "zero" if s < v - 3 else "stuck"} for v in (4, 5, 6) for s in range(4)]
    >>> curve = Curve(rows, "3a", "signs", by_descent, "single")
    >>> curve.crossing < together(curve, 2) < together(curve, 4)
    True
    """
    share = 0.5 ** (1 / starts)
    return single.crossing + float(np.log(share / (1 - share))) / single.slope if single.slope > 0 else float("inf")


def _signs_decide(config: Config, rows: Rows, panel: str) -> Explanation:
    """That outputs keep their signs, so that each start succeeds by its own luck, and single starts agree.

    Then how late every start of a problem succeeds follows from the single ones.
    """
    mine = select(rows, panel=panel, reading="signs")
    every, single = (Curve(rows, panel, "signs", by_polish, starts) for starts in ("all", "single"))
    shares = {
        good: np.array([row["positive"] / row["k"] for row in mine if by_polish(row) is good]) for good in (True, False)
    }
    gap = error = float("nan")
    if min(map(len, shares.values())) > 1:
        gap = float(shares[True].mean() - shares[False].mean())
        error = float(np.hypot(*(share.std(ddof=1) / len(share) ** 0.5 for share in shares.values())))
    late = together(single, config["starts"])
    return Explanation(
        "outputs keep their signs, so that each start succeeds by its own luck, single starts cross where the paper "
        "says, and all of a problem as late as that makes it; see the errata, Figure 3",
        f"single starts {single}; by themselves all would at {late:.2f}; the share of positive outputs is larger by "
        f"{gap:.3f} ± {error:.3f} in starts that end at zero",
        single.agrees(config["within"]) and abs(every.crossing / late - 1) <= config["within"] and gap > 3 * error,
    )


def _quadratic_claims(config: Config, rows: Rows) -> list[Claim]:
    claims = []
    for panel in config["panels"]:
        varied, within = PANELS[panel].varied, config["within"]
        mine, signs = select(rows, panel=panel, reading="signs"), _signs_decide(config, rows, panel)
        descent, finished = (Curve(rows, panel, "signs", success) for success in (by_descent, by_polish))
        single = Curve(rows, panel, "signs", by_polish, "single")
        ones = Curve(rows, panel, "ones", by_polish, "all", ROWS)
        text = f"figure {panel}: in half of the problems every start reaches zero loss at this {varied}"
        note = f"{_open(mine)} within {config['steps']:,} steps; {_tolerant(rows, panel, 'signs')}"
        claims += [
            _claim(descent, f"{text}, by {_DESCENT}", within, note, _undecided(config, rows, panel, signs)),
            _claim(finished, f"{text}, by {_FINISHED}", within, "", signs),
            _claim(single, f"figure {panel}: half of the single starts do, by {_FINISHED}", within),
            _claim(
                ones, f"figure {panel}, outputs fixed at one, kd ≥ n: in half of the problems every start does, by "
                f"{_FINISHED}", within, "not what the text says",
            ),
        ]  # fmt: skip
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    curves: list[tuple[str, str, Callable[[dict[str, Any]], bool], str, int]] = [
        ("every start, descent alone", "signs", by_descent, "all", 0),
        ("every start", "signs", by_polish, "all", 0),
        ("single starts", "signs", by_polish, "single", 0),
    ]
    if "ones" in config["readings"]:
        curves.append(("every start, v = 1 fixed", "ones", by_polish, "all", ROWS))
    axes = figure.subplots(1, len(config["panels"]), squeeze=False)[0]
    for axis, panel in zip(axes, config["panels"], strict=True):
        for index, (name, reading, success, starts, least) in enumerate(curves):
            curve = Curve(rows, panel, reading, success, starts, least)
            colour = f"C{index}"
            axis.plot(curve.values, curve.fraction, "o", color=colour, markersize=4, label=f"{name}: {curve}")
            if np.isfinite(curve.crossing):
                line = np.linspace(min(config["panels"][panel]), max(config["panels"][panel]), 200)
                odds = np.clip(curve.slope * (line - curve.crossing), -500, 500)
                axis.plot(line, 1 / (1 + np.exp(-odds)), color=colour)
        axis.axvline(curve.paper, linestyle=":", color="black", label=f"paper: {curve.paper:.1f}")
        plan = PANELS[panel]
        other = "d" if plan.varied == "k" else "k"
        title = f"({panel[-1]}) {plan.activation.name}, {other} = {plan.fixed}, n = {ROWS}"
        axis.set(xlabel=plan.varied, ylabel="reach zero loss", title=title, ylim=(-0.05, 1.05))
        axis.legend(fontsize=6)


_FEWER = "fewer, for a quick look"
_LONG = "of one size, step size and number not stated"
_PRINTED = {
    "problems": Printed("problems a point", 10, _FEWER),
    "starts": Printed("starts a problem", 10, _FEWER),
    "steps": Printed("steps of gradient descent", None, f"{_LONG}; what has not settled is counted as such"),
    "polish": Printed("steps of Levenberg–Marquardt after them", None, "not in the paper; named wherever it decides"),
}
_TRIALS = {"problems": 10, "starts": 10, "polish": 200, "within": 0.15}
_FEW = {"problems": 5, "starts": 4, "steps": 2000, "polish": 120, "within": 0.3}

ENTRIES = (
    Entry(
        "soltanolkotabi2017/fig2", "spurious minima of over-parameterised softplus networks",
        quick=_FEW | {"readings": ["signs"], "panels": {"2a": [9, 11, 13], "2b": [9, 11, 13]}},
        full=_TRIALS | {
            "steps": 20_000, "readings": ["signs"],
            "panels": {"2a": [9, 10, 11, 12, 13], "2b": [9, 10, 11, 12, 13]},
        },
        cells=_cells, run_cell=_run, claims=_softplus_claims, draw=_draw, seed_by=("panel", "value"), printed=_PRINTED,
    ),
    Entry(
        "soltanolkotabi2017/fig3", "spurious minima of over-parameterised quadratic networks",
        quick=_FEW | {"readings": list(READINGS), "panels": {"3a": [4, 5, 6, 8], "3b": [16, 20, 24, 28]}},
        full=_TRIALS | {
            "steps": 30_000, "readings": list(READINGS),
            "panels": {"3a": [3, 4, 5, 6, 7, 8, 9, 10], "3b": [16, 20, 22, 24, 26, 28, 30, 32, 36]},
        },
        cells=_cells, run_cell=_run, claims=_quadratic_claims, draw=_draw, seed_by=("panel", "value"),
        printed=_PRINTED,
    ),
)  # fmt: skip
