"""What Soltanolkotabi, Javanmard and Lee (2017) report, run again: Figures 2, 3, 4 and Theorem 2.5."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.reproduce._local_convergence import LocalConvergence, local_convergence
from planted.reproduce._over_parameterised import PAPER, RandomLabels, Sweep, random_labels, sweep
from planted.solvers import silent
from planted.solvers._result import Progress

_FEW = {"figure 2a": (9, 11, 13), "figure 2b": (9, 11, 13), "figure 3a": (4, 6, 8), "figure 3b": (20, 25, 30)}
_WIDTHS = {"softplus": (5, 10, 15, 20), "quadratic": (3, 5, 8, 10)}


@dataclass(frozen=True)
class Soltanolkotabi2017:
    """All panels: `sweeps` (Figures 2 and 3), `labels` (Figure 4), `local` (Theorem 2.5)."""

    sweeps: tuple[Sweep, ...]
    labels: tuple[RandomLabels, ...]
    local: tuple[LocalConvergence, ...]
    seconds: float

    def __str__(self) -> str:
        lines = [str(part) for part in (*self.sweeps, *self.labels, *self.local)]
        return "\n".join([*lines, f"{self.seconds:.0f} s"])

    def as_dict(self) -> dict[str, Any]:
        """Numbers for JSON."""
        return {
            "crossings": {panel.name: {"found": panel.crossing, "paper": panel.paper} for panel in self.sweeps},
            "random_labels": [
                {"activation": c.activation, "layers": c.layers, "k": c.k, "rmse": float(c.rmse[-1]), "floor": c.floor}
                for c in self.labels
            ],
            "local": [
                {"activation": r.activation, "n": r.n, "rate": r.rate, "predicted": r.predicted, "c": r.constant}
                for r in self.local
            ],
            "seconds": self.seconds,
        }


def run(quick: bool = False, random_state: Any = 0, progress: Progress = silent) -> Soltanolkotabi2017:
    """All figures; `quick` with fewer problems, starts, values and steps.

    The full version takes minutes: 10 problems × 10 starts × 9 sizes in each of four panels.
    """
    began = time.perf_counter()
    panels, curves, runs = [], [], []
    for name in PAPER:
        if quick:
            few: dict[str, Any] = {"problems": 5, "starts": 4, "steps": 1000, "polish": 120, "values": _FEW[name]}
        else:
            few = {}
        panels.append(sweep(name, random_state=random_state, progress=progress, **few))
    for activation, widths in _WIDTHS.items():
        for k in widths[::2] if quick else widths:
            for layers in ("both", "first") if k == widths[-1] or not quick else ("both",):
                steps = 5000 if quick else 100_000
                curves.append(random_labels(activation, k, layers=layers, steps=steps, random_state=random_state))
                progress(len(curves), 0, f"figure 4: {activation}, k = {k}")
    for activation in ("softplus",) if quick else ("softplus", "tanh", "sigmoid"):
        for n in (20, 40) if quick else (20, 40, 80, 160):
            runs.append(
                local_convergence(activation, n=n, steps=10_000 if quick else 40_000, random_state=random_state)
            )
    return Soltanolkotabi2017(tuple(panels), tuple(curves), tuple(runs), time.perf_counter() - began)


def plot(result: Soltanolkotabi2017) -> Any:
    """A figure with the four panels of Figures 2 and 3, and the curves of Figure 4, both layers learned."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(2, 3)
    for axis, panel in zip((axes[0, 0], axes[0, 1], axes[1, 0], axes[1, 1]), result.sweeps, strict=True):
        line = np.linspace(panel.values[0], panel.values[-1], 200)
        axis.plot(panel.values, panel.fraction, "o")
        axis.plot(line, 1 / (1 + np.exp(-panel.slope * (line - panel.crossing))))
        axis.axvline(panel.crossing, linestyle="--", color="C1", label=f"here {panel.crossing:.1f}")
        axis.axvline(panel.paper, linestyle=":", color="C2", label=f"paper {panel.paper:.1f}")
        axis.set(xlabel=panel.varied, ylabel="all starts reach zero", title=panel.name)
        axis.legend()
    for axis, activation in zip(axes[:, 2], _WIDTHS, strict=True):
        for curve in result.labels:
            if curve.activation == activation:
                style = "-" if curve.layers == "both" else ":"
                axis.semilogy(curve.iterations, curve.rmse, style, label=f"k = {curve.k}, {curve.layers}")
        axis.set(xlabel="iteration", ylabel="RMSE", title=f"figure 4: {activation}")
        axis.legend()
    return figure
