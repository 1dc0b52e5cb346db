"""What Soltanolkotabi, Javanmard and Lee (2017) report, run again: Figures 2, 3, 4 and Theorem 2.5."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from planted.reproduce._local_convergence import LocalConvergence, local_convergence
from planted.reproduce._over_parameterised import RandomLabels, Sweep, random_labels, sweep
from planted.reproduce._study import Claim, Study, claim
from planted.reproduce._study import WholeEntry as Entry
from planted.solvers._result import Progress

_QUICK: dict[str, tuple[int, ...]] = {
    "figure 2a": (9, 11, 13), "figure 2b": (9, 11, 13), "figure 3a": (5, 6, 8), "figure 3b": (20, 24, 28),
}  # fmt: skip
_WIDTHS = {"softplus": (5, 10, 15, 20), "quadratic": (3, 5, 8, 10)}
_WITHIN = 0.15
_READING = {
    2: "both layers learned from v = ±1 as the text says",
    3: "outputs fixed at one; from v = ±1 the signs of a quadratic network cannot change and both crossings are larger",
}


def _draw_sweeps(figure: Any, panels: list[Sweep]) -> None:
    for axis, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
        line = np.linspace(panel.values[0], panel.values[-1], 200)
        axis.plot(panel.values, panel.fraction, "o")
        axis.plot(line, 1 / (1 + np.exp(-panel.slope * (line - panel.crossing))))
        axis.axvline(panel.crossing, linestyle="--", color="C1", label=f"here {panel.crossing:.1f}")
        axis.axvline(panel.paper, linestyle=":", color="C2", label=f"paper {panel.paper:.1f}")
        axis.set(xlabel=panel.varied, ylabel="every start reaches zero", title=panel.name)
        axis.legend()


def _figure(number: int, title: str) -> Entry:
    def run(quick: bool, seed: int, progress: Progress) -> Study:
        began = time.perf_counter()
        panels, claims = [], []
        for name in (f"figure {number}a", f"figure {number}b"):
            few: dict[str, Any] = {}
            if quick:
                few = {"problems": 5, "starts": 4, "steps": 1000, "polish": 120, "values": _QUICK[name]}
            panels.append(sweep(name, random_state=seed, progress=progress, **few))
            panel = panels[-1]
            near = abs(panel.difference) <= _WITHIN
            between = (panel.paper - panel.starts_crossing) * (panel.paper - panel.crossing) <= 0
            claims.append(
                Claim(
                    f"{name}: half of the problems have no spurious minimum at this {panel.varied}",
                    f"{panel.paper:.2f}", f"{panel.crossing:.2f}",
                    "holds" if near else "explained" if between else "fails",
                    f"{panel.difference:+.0%}, allowed 15 %; half of the single starts succeed at "
                    f"{panel.starts_crossing:.2f}; {_READING[number]}",
                )
            )  # fmt: skip
        table = [
            {"panel": p.name, p.varied: int(v), "problems": float(f), "starts": float(s)}
            for p in panels
            for v, f, s in zip(p.values, p.fraction, p.starts_fraction, strict=True)
        ]
        config = {"n": 100, "runs": sum(p.runs for p in panels), "seed": seed, "quick": quick}
        return Study(
            f"soltanolkotabi2017/fig{number}", title, config, table, claims,
            lambda figure: _draw_sweeps(figure, panels), time.perf_counter() - began,
        )  # fmt: skip

    return Entry(f"soltanolkotabi2017/fig{number}", title, run)


def _draw_labels(figure: Any, curves: list[RandomLabels]) -> None:
    for axis, activation in zip(figure.subplots(1, 2), _WIDTHS, strict=True):
        for curve in curves:
            if curve.activation == activation:
                style = "-" if curve.layers == "both" else ":"
                axis.semilogy(curve.iterations, curve.rmse, style, label=f"k = {curve.k}, {curve.layers}")
        axis.set(xlabel="iteration", ylabel="RMSE", title=activation)
        axis.legend(fontsize=7)


def _random_labels(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    steps = 10_000 if quick else 200_000
    curves: list[RandomLabels] = []
    for activation, widths in _WIDTHS.items():
        for k in widths[1:4:2] if quick else widths:
            for layers in ("both", "first"):
                curves.append(random_labels(activation, k, layers=layers, steps=steps, random_state=seed))
                progress(len(curves), 8 if quick else 16, str(curves[-1]))
    claims = []
    for activation in _WIDTHS:
        learned = [c for c in curves if c.activation == activation and c.layers == "both"]
        fixed = [c for c in curves if c.activation == activation and c.layers == "first"]
        wide = [c for c in learned if c.k * c.d > 1.5 * c.n]
        narrow = [c for c in learned if c.k * c.d <= c.n]
        worst, best = max(c.rmse[-1] for c in wide), min((c.rmse[-1] for c in narrow), default=np.inf)
        claims.append(
            claim(
                f"{activation}, both layers: RMSE goes to zero for kd > 1.5 n and not for kd ≤ n", "0",
                f"{worst:.1e} against {best:.1e}", worst < 0.1 * best, f"after {steps} steps",
            )
        )  # fmt: skip
        floor = min(c.rmse.min() - c.floor for c in fixed)
        claims.append(
            Claim(
                f"{activation}, outputs fixed at one as printed: RMSE goes to zero", "0",
                f"at least {fixed[0].floor:.2f}", "explained" if floor >= 0 else "fails",
                "positive activations cannot fit negative labels; see the errata",
            )
        )  # fmt: skip
    table = [
        {"activation": c.activation, "layers": c.layers, "k": c.k, "rmse": float(c.rmse[-1]), "floor": c.floor}
        for c in curves
    ]
    return Study(
        "soltanolkotabi2017/fig4", "random labels", {"n": 100, "steps": steps, "seed": seed, "quick": quick}, table,
        claims, lambda figure: _draw_labels(figure, curves), time.perf_counter() - began,
    )  # fmt: skip


def _draw_local(figure: Any, runs: list[LocalConvergence]) -> None:
    axis = figure.subplots()
    for run in runs:
        axis.semilogy(run.every * np.arange(1, len(run.losses) + 1), run.losses, label=f"{run.activation}, n = {run.n}")
    axis.set(xlabel="iteration", ylabel="loss")
    axis.legend(fontsize=7)


def _theorem(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    runs: list[LocalConvergence] = []
    for activation in ("softplus",) if quick else ("softplus", "tanh", "sigmoid"):
        for n in (20, 40) if quick else (20, 40, 80, 160):
            runs.append(local_convergence(activation, n=n, steps=10_000 if quick else 40_000, random_state=seed))
            progress(len(runs), 2 if quick else 12, str(runs[-1]))
    worst = max(abs((1 - r.rate) / (1 - r.predicted) - 1) for r in runs if r.n <= 80)
    claims = [
        claim("gradient descent converges linearly near the teacher", "rate 1 − cαd/n",
              f"c from {min(r.constant for r in runs):.2g} to {max(r.constant for r in runs):.2g}",
              all(r.rate < 1 for r in runs)),
        claim("the fitted rate is that of the Jacobian's least singular value, n ≤ 80", "(1 − ασ²/n)²",
              f"1 − rate within {worst:.1%}", worst < 0.1),
    ]  # fmt: skip
    table = [
        {"activation": r.activation, "n": r.n, "rate": r.rate, "predicted": r.predicted, "c": r.constant,
         "sigma_min": r.smallest, "sigma_max": r.largest}
        for r in runs
    ]  # fmt: skip
    return Study(
        "soltanolkotabi2017/theorem2.5", "local convergence of both layers", {"d": 20, "k": 20, "seed": seed}, table,
        claims, lambda figure: _draw_local(figure, runs), time.perf_counter() - began,
    )  # fmt: skip


ENTRIES = (
    _figure(2, "spurious minima of over-parameterised softplus networks"),
    _figure(3, "spurious minima of over-parameterised quadratic networks"),
    Entry("soltanolkotabi2017/fig4", "random labels", _random_labels),
    Entry("soltanolkotabi2017/theorem2.5", "local convergence of both layers", _theorem),
)
