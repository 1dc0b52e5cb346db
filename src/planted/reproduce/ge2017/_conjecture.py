r"""The conjecture of section 7 of Ge et al. (2017): αf₂ + βf₄ has no spurious minima for reasonable α and β.

For a ReLU teacher of d inputs and k neurons the population loss is descended from random starts, kicked, descended
again and certified, over ratios α/β; f' is the ratio φ̂₂²/φ̂₄² = 12. An end that is not a global minimum is "spurious"
where its gradient vanishes, it is certified to be a local minimum, and its value is clearly above the least one; it is
"held" where it is critical and kicks lead back to it but the certificate is undecided (a line of such points), and
"unsettled" otherwise, as where a flat valley still leads down.

Two neurons of opposite outputs may share a direction: outputs 1 + t and −t at b*_1 while b*_k is missing. With
τ = ⟨b, b*_k⟩ of the two, a₁τ₁ + a₂τ₂ = s, and a₂ < 0, the second-order term 2α(s² − a₁τ₁² − a₂τ₂²) + 4βs² is
2α|a₂/a₁|(τ₂ − s)² + 4βs² > 0: a local minimum of value α + β, whatever α and β. So students are also taken whose
outputs are positive, as the lengths of their rows. Footnote 12's γ = ½|z| is searched in the same way, outputs ½ and
lengths free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.certificates import certify
from planted.networks import Network
from planted.objectives import Objective, Params, PopulationSquared, PopulationTensorSum
from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.solvers import lbfgs, newton_polish

POSITIVE, SIGNED, HALF = "positive outputs", "outputs of both signs", "γ = ½|z|"
ORTHONORMAL, GENERAL = "orthonormal", "general position"
GLOBAL, SPURIOUS, HELD, UNSETTLED = "global minimum", "spurious", "held", "unsettled"
REASONABLE = (0.1, 100.0)
_GRADIENT = 1e-8
_KICK = 0.03
_FALLS = 1e-7


def conjecture_teacher(kind: str, d: int, k: int, seed: int) -> Network:
    """Orthonormal rows and unit outputs, or uniform unit rows and outputs uniform on [½, 2].

    >>> conjecture_teacher(GENERAL, 3, 5, 0).weights.shape
    (5, 3)
    """
    if kind == ORTHONORMAL:
        return Network(np.eye(d)[:k], np.ones(k))
    rng = np.random.default_rng([seed, 0])
    rows = rng.standard_normal((k, d))
    return Network(rows / np.linalg.norm(rows, axis=1, keepdims=True), rng.uniform(0.5, 2.0, k))


def _loss(student: str, teacher: Network, ratio: float) -> Objective:
    if student == HALF:
        return PopulationSquared(teacher, output=np.full(teacher.n_hidden, 0.5), activation="abs")
    return PopulationTensorSum(teacher, ratio / (1 + ratio), 1 / (1 + ratio), positive=student == POSITIVE)


def _start(student: str, d: int, k: int, rng: np.random.Generator) -> Params:
    rows, output = rng.standard_normal((k, d)), rng.standard_normal(k)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {"weights": rows, "output": output} if student == SIGNED else np.abs(output)[:, None] * rows


def _kicked(params: Params, rng: np.random.Generator) -> Params:
    def moved(array: np.ndarray) -> np.ndarray:
        return np.asarray(array) + _KICK * rng.standard_normal(np.shape(array))

    return {name: moved(part) for name, part in params.items()} if isinstance(params, dict) else moved(params)


def end_of_search(loss: Objective, start: Params, rng: np.random.Generator, kicks: int) -> dict[str, Any]:
    """Where descent ends after `kicks` random moves, of which those that lead lower are kept, and what that is.

    >>> loss = PopulationTensorSum(Network(np.eye(2), np.ones(2)), 1.0, 1.0)
    >>> pair = {"weights": np.array([[1.0, 0.0], [1.0, 0.0]]), "output": np.array([2.0, -1.0])}
    >>> end = end_of_search(loss, pair, np.random.default_rng(0), 2)
    >>> end["kind"] in (SPURIOUS, HELD), round(end["value"], 6)
    (True, 2.0)
    """
    least = (loss.known_minimum() or (0.0, ""))[0]
    run = lbfgs(loss, start, steps=5000, tolerance=1e-11, target=-np.inf)
    for _ in range(kicks):
        # Near a global minimum the certificate decides; a kick would only cost time.
        if run.value - least < _FALLS:
            break
        other = lbfgs(loss, _kicked(run.params, rng), steps=5000, tolerance=1e-11, target=-np.inf)
        if other.value < run.value - _FALLS:
            run = other
    end = newton_polish(loss, run.params, tolerance=1e-11)
    certificate = certify(loss, end.params)
    critical = end.gradient_norm <= _GRADIENT * max(certificate.hessian_norm, 1.0)
    if certificate.kind == "global minimum":
        kind = GLOBAL
    elif not critical or certificate.kind in ("saddle", "not critical") or certificate.value - least < _FALLS:
        kind = UNSETTLED
    else:
        kind = SPURIOUS if certificate.kind == "local minimum" else HELD
    output = end.params["output"] if isinstance(end.params, dict) else np.ones(1)
    return {
        "kind": kind,
        "value": certificate.value - least,
        "gradient_norm": end.gradient_norm,
        "least_eigenvalue": certificate.min_eigenvalue / certificate.hessian_norm,
        "least_output": float(np.min(output)),
    }


def _cells(config: Config) -> list[Cell]:
    cells = []
    for student, settings in config["settings"].items():
        ratios = config["ratios"] if student != HALF else [-1.0]
        for kind, d, k in settings:
            cells += [{"student": student, "teacher": kind, "d": d, "k": k, "ratio": ratio} for ratio in ratios]
    return cells


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    """A new teacher in general position for every start, the same for every ratio."""
    rows = []
    for start in range(config["starts"] if cell["student"] != HALF else config["half_starts"]):
        teacher = conjecture_teacher(cell["teacher"], cell["d"], cell["k"], seed + start)
        rng = np.random.default_rng([seed + start, 1])
        begin = _start(cell["student"], cell["d"], cell["k"], rng)
        end = end_of_search(_loss(cell["student"], teacher, cell["ratio"]), begin, rng, config["kicks"])
        rows.append(cell | {"start": start} | end)
    return rows


def _reasonable(rows: Rows, **where: Any) -> Rows:
    return [row for row in select(rows, **where) if REASONABLE[0] <= row["ratio"] <= REASONABLE[1]]


def _counted(rows: Rows) -> str:
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in (SPURIOUS, HELD, UNSETTLED)}
    others = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{sum(row['kind'] == GLOBAL for row in rows)} of {len(rows)} global" + (f"; {others}" if others else "")


def _trapped(rows: Rows) -> Rows:
    return [row for row in rows if row["kind"] in (SPURIOUS, HELD)]


def _claims(config: Config, rows: Rows) -> list[Claim]:
    positive = select(rows, student=POSITIVE)
    few = [row for row in _reasonable(positive) if row["k"] <= row["d"]]
    many = [row for row in _reasonable(positive) if row["k"] > row["d"]]
    signed, half = _reasonable(rows, student=SIGNED), select(rows, student=HALF)
    low, high = (select(positive, ratio=edge) for edge in (min(config["ratios"]), max(config["ratios"])))
    traps = _trapped(signed)
    wrong = [row for row in traps if row["least_output"] < 0]
    return [
        claim(
            f"no spurious minima for α/β from {REASONABLE[0]:g} to {REASONABLE[1]:g}, positive outputs, k ≤ d",
            "conjectured (section 7)",
            _counted(few),
            all(row["kind"] == GLOBAL for row in few),
        ),
        claim(
            "nor with more neurons than inputs",
            "conjectured (section 7)",
            _counted(many),
            all(row["kind"] == GLOBAL for row in many),
        ),
        claim(
            "nor where outputs may have both signs, as in f'(a, B)",
            "conjectured (sections 2.1 and 7)",
            _counted(signed),
            all(row["kind"] == GLOBAL for row in signed),
            explanation=Explanation(
                "neurons of opposite outputs can share a direction while another is missing, a minimum for every α and "
                "β; see the errata",
                f"{len(wrong)} of {len(traps)} such ends have an output of the wrong sign",
                bool(traps) and len(wrong) == len(traps),
            ),
        ),
        claim(
            "α and β must be reasonable: at an end of the range there are spurious minima, positive outputs",
            '"reasonable constants" (section 7)',
            f"α/β = {low[0]['ratio']:g}: {_counted(low)}; α/β = {high[0]['ratio']:g}: {_counted(high)}",
            bool(_trapped(low) or _trapped(high)),
        ),
        claim(
            "γ = ½|z| has none either (footnote 12), outputs ½ and lengths free",
            "also works, not shown",
            _counted(half),
            all(row["kind"] == GLOBAL for row in half),
        ),
    ]


def _named(row: dict[str, Any]) -> str:
    return f"{row['teacher']}, d = {row['d']}, k = {row['k']}"


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    axes = figure.subplots(1, 2)
    for axis, student in zip(axes, (POSITIVE, SIGNED), strict=True):
        mine = select(rows, student=student)
        names = list(dict.fromkeys(map(_named, mine)))
        ratios = config["ratios"]
        share = np.zeros((len(names), len(ratios)))
        for i, name in enumerate(names):
            for j, ratio in enumerate(ratios):
                chosen = [row for row in mine if _named(row) == name and row["ratio"] == ratio]
                share[i, j] = len(_trapped(chosen)) / len(chosen)
                unsettled = sum(row["kind"] == UNSETTLED for row in chosen)
                text = f"{share[i, j]:.0%}" if share[i, j] else "none"
                axis.text(j, i, text + (f"\n({unsettled} open)" if unsettled else ""), ha="center", va="center",
                          fontsize=6, color="white" if share[i, j] > 0.5 else "black")  # fmt: skip
        axis.imshow(share, vmin=0, vmax=1, cmap="Reds", aspect="auto")
        axis.set(title=f"starts trapped, {student}", xlabel="α/β")
        axis.set_xticks(range(len(ratios)), [f"{ratio:g}" for ratio in ratios])
        axis.set_yticks(range(len(names)), names, fontsize=6)


_RATIOS = (0.0, 0.01, 0.1, 1.0, 12.0, 100.0, 1000.0)
ENTRIES = (
    Entry(
        "ge2017/conjecture",
        "where αf₂ + βf₄ has no spurious minima (section 7)",
        quick={
            "ratios": (0.0, 1.0, 100.0), "starts": 4, "half_starts": 2, "kicks": 3,
            "settings": {
                POSITIVE: ((ORTHONORMAL, 4, 4), (GENERAL, 3, 3), (GENERAL, 3, 4)),
                SIGNED: ((ORTHONORMAL, 3, 3),),
                HALF: ((ORTHONORMAL, 3, 3),),
            },
        },
        full={
            "ratios": _RATIOS, "starts": 40, "half_starts": 12, "kicks": 5,
            "settings": {
                POSITIVE: (
                    (ORTHONORMAL, 3, 3), (ORTHONORMAL, 6, 6), (ORTHONORMAL, 10, 10), (GENERAL, 4, 2), (GENERAL, 3, 3),
                    (GENERAL, 6, 6), (GENERAL, 10, 10), (GENERAL, 3, 5), (GENERAL, 6, 9),
                ),
                SIGNED: ((ORTHONORMAL, 3, 3), (ORTHONORMAL, 6, 6), (GENERAL, 3, 3), (GENERAL, 6, 6)),
                HALF: ((ORTHONORMAL, 3, 3), (ORTHONORMAL, 6, 6), (GENERAL, 3, 3)),
            },
        },
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
        seed_by=("teacher", "d", "k"),
        printed={
            "ratios": Printed("α/β", None, "the paper tries one, 12, in Figure 2"),
            "starts": Printed("starts a setting", None, "the paper states a conjecture"),
        },
    ),
)  # fmt: skip
