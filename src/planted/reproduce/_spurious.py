r"""Does descent on the population squared loss find an orthonormal ReLU teacher? (`planted reproduce spurious`)

For k = d neurons the loss ½ E (Σ relu(w_i·x) − Σ relu(x_i))² has minima that are not the teacher for 6 ≤ k ≤ 20 (Safran
and Shamir 2018). Random starts w_i ~ N(0, I/d) are descended by L-BFGS, polished by Newton's method until the gradient
norm is below 1e-9, and told apart by certificate; ends that are saddles are left and descended again. The same starts
run on the losses G and F of Ge et al. (2017), and, with neurons added, on the same squared loss: students with k + 1,
k + 2 or 2k neurons. Their minima are degenerate (the loss grows like a cube in some directions), where Newton's method
still halves the distance with every step. Neurons that coincide have an angle known to the root of the rounding error
only, 1e-8, and so have gradients at the global minima of wide students: those are told by their loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from planted.certificates import certify
from planted.networks import Network
from planted.objectives import Objective, PopulationFullRankLandscape, PopulationLandscape, PopulationSquared
from planted.reproduce._claims import Claim, claim
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.solvers import lbfgs, leave_saddles, newton_polish

GRADIENT_TOLERANCE = 1e-9
STUDENTS = ("squared", "G", "F", "k+1", "k+2", "2k")

_SAME_VALUE = 1e-7


def student_loss(student: str, k: int) -> tuple[Objective, int]:
    """The objective of a student of an orthonormal ReLU teacher with k = d neurons, and how many neurons it has.

    >>> student_loss("k+1", 3)[1]
    4
    """
    if student not in STUDENTS:
        raise ValueError(f"unknown student {student!r}; known: {', '.join(STUDENTS)}")
    teacher = Network(np.eye(k), np.ones(k))
    if student == "G":
        return PopulationLandscape(teacher), k
    if student == "F":
        return PopulationFullRankLandscape(teacher), k
    return PopulationSquared(teacher), {"squared": k, "k+1": k + 1, "k+2": k + 2, "2k": 2 * k}[student]


def end_of(loss: Objective, start: np.ndarray, steps: int = 5000) -> dict[str, Any]:
    """Where descent from `start` (k, d) ends: kind, value, gradient norm, and smallest eigenvalue over spectral norm.

    The kind is "unsettled" if no certificate is given, or one of a local minimum or saddle at a gradient above 1e-9.

    >>> end_of(PopulationLandscape(Network(np.eye(2), np.ones(2))), np.array([[0.5, 0.1], [0.2, 0.4]]))["kind"]
    'global minimum'
    """
    run = lbfgs(loss, start, steps=steps, tolerance=1e-8, target=-np.inf)
    end = newton_polish(loss, run.params, tolerance=0.1 * GRADIENT_TOLERANCE)
    left, params, slope = 0, end.params, end.gradient_norm
    certificate = certify(loss, params)
    if certificate.kind == "saddle":
        escaped = leave_saddles(loss, params, gradient_tolerance=GRADIENT_TOLERANCE)
        left, params, slope = escaped.escapes, escaped.params, escaped.gradient_norm
        certificate = certify(loss, params)
    settled = certificate.kind == "global minimum" or (
        certificate.kind in ("local minimum", "saddle") and slope <= GRADIENT_TOLERANCE
    )
    return {
        "kind": certificate.kind if settled else "unsettled",
        "value": certificate.value,
        "gradient_norm": slope,
        "least_eigenvalue": certificate.min_eigenvalue / certificate.hessian_norm,
        "saddles_left": left,
    }


def _cells(config: Config) -> list[Cell]:
    """One for every few starts of a student, at most `chunk` neurons × inputs × starts."""
    cells = []
    for k, counts in ((int(k), counts) for k, counts in config["starts"].items()):
        for student in STUDENTS:
            count = counts[STUDENTS.index(student)]
            size = max(1, min(count, config["chunk"] // k**2))
            cells += [
                {"k": k, "student": student, "first": i, "last": min(i + size, count)} for i in range(0, count, size)
            ]
    return cells


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    """Every student sees the same first k rows of a start; added neurons are drawn after them."""
    k, rows = cell["k"], []
    loss, neurons = student_loss(cell["student"], k)
    for index in range(cell["first"], cell["last"]):
        draw = np.random.default_rng([seed, index]).standard_normal((2 * k, k)) / k**0.5
        end = end_of(loss, draw[:neurons], config["steps"])
        rows.append({"student": cell["student"], "k": k, "start": index} | end)
    return rows


def _of(rows: Rows, students: Iterable[str], kind: str | None = None) -> Rows:
    return [row for row in rows if row["student"] in students and kind in (None, row["kind"])]


def distinct_values(rows: Rows) -> list[float]:
    """Distinct losses of `rows`, rising; equal within 1e-7.

    >>> distinct_values([{"value": 0.2}, {"value": 0.1}, {"value": 0.2}])
    [0.1, 0.2]
    """
    values = sorted(row["value"] for row in rows)
    return [v for i, v in enumerate(values) if i == 0 or v - values[i - 1] > _SAME_VALUE]


def _claims(config: Config, rows: Rows) -> list[Claim]:
    squared, designed, wide = _of(rows, ["squared"]), _of(rows, ["G", "F"]), _of(rows, ["2k"])
    traps = _of(squared, STUDENTS, "local minimum")
    first = min((row["k"] for row in traps), default=0)
    least = min((row["least_eigenvalue"] for row in traps), default=float("nan"))
    narrow = [row for row in squared if row["k"] in {other["k"] for other in wide}]
    exact = [row for row in rows if row["student"] in ("squared", "G", "F")]
    steep = max(row["gradient_norm"] for row in exact)
    loose = max((row["gradient_norm"] for row in rows if row["kind"] != "unsettled"), default=float("nan"))
    settled = sum(row["kind"] != "unsettled" for row in rows)

    def share(some: Rows) -> float:
        return sum(row["kind"] == "global minimum" for row in some) / max(len(some), 1)

    return [
        claim("squared loss has spurious minima, certified", "for 6 ≤ k ≤ 20",
              f"{len(traps)} of {len(squared)} starts, met from k = {first} on, {len(distinct_values(traps))} values",
              bool(traps) and min(row["value"] for row in traps) > 0 < least,
              f"smallest Hessian eigenvalue at least {least:.1e} of the spectral norm; rare at the smallest widths"),
        claim("G and F have none", "every start is global",
              f"{len(_of(designed, STUDENTS, 'global minimum'))} of {len(designed)}", share(designed) == 1.0),
        claim("students with 2k neurons are trapped less than those with k", "fewer",
              f"{share(wide):.0%} global against {share(narrow):.0%}", share(wide) > share(narrow)),
        claim("gradients at the ends of squared loss, G and F", "below 1e-9", f"at most {steep:.1e}",
              steep < GRADIENT_TOLERANCE, f"with over-parameterised students {loose:.1e}"),
        claim("every end is settled by its certificate", "all", f"{settled} of {len(rows)}", settled == len(rows)),
    ]  # fmt: skip


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    fractions, losses = figure.subplots(1, 2)
    widths = sorted({row["k"] for row in rows})
    for student, marker in zip(STUDENTS, "osd^v*", strict=True):
        mine = {k: [row for row in _of(rows, [student]) if row["k"] == k] for k in widths}
        shown = [k for k in widths if mine[k]]
        share = [sum(row["kind"] == "global minimum" for row in mine[k]) / len(mine[k]) for k in shown]
        fractions.semilogx(shown, share, f"{marker}-", label=student, markersize=5)
    fractions.set(
        xlabel="neurons of the teacher, k = d", ylabel="starts that end at a global minimum", ylim=(-0.05, 1.05)
    )
    for student, colour in (("squared", "C0"), ("k+1", "C3"), ("k+2", "C4"), ("2k", "C5")):
        traps = _of(rows, [student], "local minimum")
        losses.loglog([r["k"] for r in traps], [r["value"] for r in traps], "_", color=colour, label=student)
    losses.set(xlabel="neurons of the teacher, k = d", ylabel="loss of the spurious minima reached")
    for axis in (fractions, losses):
        axis.set_xticks(widths, [str(k) for k in widths])
        axis.minorticks_off()
        axis.legend(title="student", fontsize=7)


ENTRIES = (
    Entry(
        "spurious",
        "which random starts find an orthonormal ReLU teacher, and which are trapped",
        quick={
            "starts": {"6": [10, 5, 5, 5, 0, 5], "10": [10, 5, 5, 0, 0, 4], "20": [6, 0, 0, 0, 0, 0]},
            "steps": 5000, "chunk": 10_000,
        },
        full={
            "starts": {
                "6": [450, 40, 40, 40, 40, 40], "8": [250, 40, 40, 40, 40, 40], "10": [150, 40, 40, 40, 40, 40],
                "15": [80, 15, 15, 15, 15, 15], "20": [50, 12, 12, 12, 12, 12], "30": [20, 4, 4, 4, 4, 4],
                "50": [10, 2, 2, 2, 2, 2], "100": [3, 1, 1, 0, 0, 0],
            },
            "steps": 5000, "chunk": 40_000,
        },
        cells=_cells, run_cell=_run_cell, claims=_claims, draw=_draw, seed_by=("k",),
    ),
)  # fmt: skip
