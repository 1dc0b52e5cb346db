r"""Does descent on the population squared loss find an orthonormal ReLU teacher? (`planted reproduce spurious`)

For k = d neurons the loss ½ E (Σ relu(w_i·x) − Σ relu(x_i))² has minima that are not the teacher from k = 6 on (Safran
and Shamir 2018). Random starts w_i ~ N(0, I/d) are descended by L-BFGS, polished by Newton's method until the gradient
norm is below 1e-9, and told apart by certificate. The same starts run on the losses G and F of Ge et al. (2017), and,
with neurons added, on the same squared loss: students with k + 1, k + 2 or 2k neurons.

Over-parameterised minima are degenerate (the loss grows like a cube in some directions), so descent towards them is
slower than any exponential and their gradients do not reach 1e-9: for those students a loss below 1e-6 of the start's
counts as global, and what is left at the step limit as not converged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.certificates import certify
from planted.networks import Network
from planted.objectives import Objective, PopulationFullRankLandscape, PopulationLandscape, PopulationSquared
from planted.reproduce._study import Study, claim
from planted.reproduce._study import WholeEntry as Entry
from planted.solvers import lbfgs, newton_polish, silent
from planted.solvers._result import Progress

GRADIENT_TOLERANCE = 1e-9
STUDENTS = ("squared", "G", "F", "k+1", "k+2", "2k")

_TITLE = "which random starts find an orthonormal ReLU teacher, and which are trapped"
_SAME_VALUE = 1e-7
_SMALL_LOSS = 1e-6
_PLAN = {6: 300, 8: 200, 10: 200, 15: 100, 20: 100, 30: 50, 50: 30, 100: 10}
_QUICK = {6: 10, 10: 10, 20: 6}


@dataclass(frozen=True)
class Ends:
    """Where the starts of one student ended.

    Attributes
    ----------
    student : str
        One of :data:`STUDENTS`.
    k, starts : int
    global_, spurious, saddle, unsettled : int
        Starts that ended at a global minimum, at a minimum certified not to be global, at a saddle, or at neither.
    values : tuple of float
        Distinct losses of the spurious minima, rising.
    largest_gradient : float
        Largest gradient norm among the ends that were certified.
    least_eigenvalue : float
        Smallest Hessian eigenvalue among the spurious minima, relative to the spectral norm.
    seconds : float
    """

    student: str
    k: int
    starts: int
    global_: int
    spurious: int
    saddle: int
    unsettled: int
    values: tuple[float, ...]
    largest_gradient: float
    least_eigenvalue: float
    seconds: float

    @property
    def fraction(self) -> float:
        """Share of starts that reached a global minimum."""
        return self.global_ / self.starts

    def __str__(self) -> str:
        trap = f"; losses {self.values[0]:.4g} to {self.values[-1]:.4g}" if self.values else ""
        return (
            f"k = {self.k:3d} {self.student:8s} {self.global_:4d} of {self.starts} global, {self.spurious} spurious, "
            f"{self.saddle} saddles, {self.unsettled} unsettled ({self.seconds:.0f} s{trap})"
        )


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


def _kind(loss: Objective, start: np.ndarray, exact: bool, steps: int) -> tuple[str, float, float, float]:
    """Kind of the end reached from `start`, its loss, gradient norm and relative smallest eigenvalue."""
    first = loss.value(start)
    run = lbfgs(loss, start, steps=steps, tolerance=1e-11)
    if not exact:
        if run.value < _SMALL_LOSS * first:
            return "global minimum", run.value, run.gradient_norm, 0.0
        if run.gradient_norm > 1e-4:
            return "unsettled", run.value, run.gradient_norm, 0.0
    run = newton_polish(loss, run.params, tolerance=0.01 * GRADIENT_TOLERANCE)
    if run.gradient_norm > GRADIENT_TOLERANCE:
        return "unsettled", run.value, run.gradient_norm, 0.0
    found = certify(loss, run.params)
    kind = "unsettled" if found.kind in ("undecided", "not critical") else found.kind
    return kind, run.value, run.gradient_norm, found.min_eigenvalue / found.hessian_norm


def ends(
    student: str, k: int, starts: int, *, steps: int = 5000, random_state: int = 0, progress: Progress = silent
) -> Ends:
    """Run `starts` random starts of one student.

    Every student sees the same first k rows of a start; added neurons are drawn after them.

    >>> row = ends("G", 3, 2)
    >>> row.global_, row.spurious
    (2, 0)
    """
    began = time.perf_counter()
    loss, neurons = student_loss(student, k)
    rng = np.random.default_rng([random_state, k])
    draws = rng.standard_normal((starts, 2 * k, k)) / k**0.5
    results = []
    for index, draw in enumerate(draws):
        results.append(_kind(loss, draw[:neurons], neurons == k, steps))
        progress(index + 1, starts, f"k = {k}, {student}: {results[-1][0]}")
    kinds = [kind for kind, *_ in results]
    traps = sorted(value for kind, value, *_ in results if kind == "local minimum")
    distinct = [v for i, v in enumerate(traps) if i == 0 or v - traps[i - 1] > _SAME_VALUE]
    settled = [norm for kind, _, norm, _ in results if kind != "unsettled" and neurons == k]
    least = [ratio for kind, _, _, ratio in results if kind == "local minimum"]
    return Ends(
        student, k, starts, kinds.count("global minimum"), kinds.count("local minimum"), kinds.count("saddle"),
        kinds.count("unsettled"), tuple(distinct), max(settled, default=float("nan")), min(least, default=float("nan")),
        time.perf_counter() - began,
    )  # fmt: skip


def _draw(figure: Any, rows: list[Ends]) -> None:
    axis = figure.subplots()
    for student in STUDENTS:
        mine = [row for row in rows if row.student == student]
        if mine:
            axis.semilogx([row.k for row in mine], [row.fraction for row in mine], "o-", label=student)
    axis.set(xlabel="k = d", ylabel="reach a global minimum", ylim=(-0.05, 1.05))
    axis.legend(title="student")


def _study(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    rows: list[Ends] = []
    for k, starts in (_QUICK if quick else _PLAN).items():
        for student in STUDENTS:
            count = starts if student == "squared" else max(starts // 5, 2)
            steps = 5000 if student in ("squared", "G", "F") else 1000
            rows.append(ends(student, k, count, steps=steps, random_state=seed, progress=progress))
    squared = [row for row in rows if row.student == "squared"]
    designed = [row for row in rows if row.student in ("G", "F")]
    trapped, first = sum(row.spurious for row in squared), min((r.k for r in squared if r.spurious), default=0)
    norm = max(row.largest_gradient for row in squared)
    claims = [
        claim("squared loss has spurious minima, certified", "from k = 6 on", f"{trapped} starts, from k = {first} on",
              trapped > 0, f"gradient norms at most {norm:.1e}"),
        claim("G and F have none", "every start is global",
              f"{sum(row.global_ for row in designed)} of {sum(row.starts for row in designed)}",
              all(row.global_ == row.starts for row in designed)),
        claim("every end of the squared loss is settled by its certificate", "all",
              f"{sum(row.starts - row.unsettled for row in squared)} of {sum(row.starts for row in squared)}",
              all(row.unsettled == 0 for row in squared)),
    ]  # fmt: skip
    names = ("student", "k", "starts", "global_", "spurious", "saddle", "unsettled", "largest_gradient", "values")
    table = [{name.rstrip("_"): getattr(row, name) for name in names} for row in rows]
    return Study(
        "spurious", _TITLE, {"seed": seed, "quick": quick, "gradient": GRADIENT_TOLERANCE}, table, claims,
        lambda figure: _draw(figure, rows), time.perf_counter() - began,
    )  # fmt: skip


ENTRIES = (Entry("spurious", _TITLE, _study),)
