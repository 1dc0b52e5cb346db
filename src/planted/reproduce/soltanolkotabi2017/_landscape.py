r"""Theorems 2.1 and 2.2 of Soltanolkotabi et al. (2017): no spurious minima of quadratic networks, all saddles strict.

Outputs v are fixed and the weights learned, φ(z) = z². Theorem 2.1: k = 2d, d outputs of each sign, any labels; here
y ~ N(0, 1) and labels of a planted network. Theorem 2.2: k = d or d + 1 outputs of one sign, labels of a teacher with
outputs of that sign.

Descents (L-BFGS, then Newton's method, and again from a saddle by its negative curvature) start at random. A neuron at
zero stays there, so that starts with some neurons silent end in critical points of a narrower network, which are
critical for the whole one: this is how saddles are met, and these are not left.
What a point is follows from numbers that know nothing of the theorems: its value beside the optimum of the convex
problem over all symmetric matrices (ordinary least squares in the products x_i x_j), and the least eigenvalue of its
Hessian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.certificates import certify
from planted.objectives import Squared, energy
from planted.reproduce._claims import Claim, claim, select
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.solvers import lbfgs, leave_saddles, newton_polish

BOTH, ONE, NARROW = "both signs, k = 2d", "one sign", "both signs, k = 2"
RANDOM, PLANTED = "random", "planted"
KINDS = ("global", "strict saddle", "neither", "not settled")

_SAME = 1e-9
_STRICT = 1e-10
_ROUNDING = 1e-14
_ATTAINED = 1e-12
_NEAR = 1e-5
"""Ten times the relative tolerance of certificates: an eigenvalue nearer to zero is too near for them to call."""


def optimum(X: np.ndarray, y: np.ndarray) -> float:
    """The least of ½ mean (xᵀMx − y)² over symmetric matrices M, by ordinary least squares.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> round(optimum(X, np.array([1.0, 2.0, 0.0, 2.0])), 6)
    0.25
    """
    rows, columns = np.triu_indices(X.shape[1])
    products = X[:, rows] * X[:, columns]
    fit = products @ np.linalg.lstsq(products, y, rcond=None)[0]
    return float(np.mean((fit - y) ** 2) / 2)


def kind_of(excess: float, slope: float, eigenvalue: float, settled: float) -> str:
    """One of :data:`KINDS`, from numbers of the point alone.

    `excess` is the value above the optimum and `slope` the gradient norm, both over the mean square of the targets;
    `eigenvalue` is the least one of the Hessian over its norm, which dense algebra knows to 1e-14. A descent whose
    slope is above `settled` has not reached a critical point.

    >>> kind_of(0.5, 0.0, -0.1, 1e-7), kind_of(0.5, 0.0, 0.0, 1e-7), kind_of(0.5, 0.1, -0.1, 1e-7)
    ('strict saddle', 'neither', 'not settled')
    """
    if excess > _ATTAINED and slope > settled:
        return "not settled"
    if excess > _ATTAINED and eigenvalue < -_STRICT:
        return "strict saddle"
    return "global" if excess <= _SAME else "neither"


def _outputs(family: str, d: int, sign: float) -> np.ndarray:
    if family == ONE:
        return np.full(d + 1, sign)
    half = d if family == BOTH else 1
    return np.concatenate([np.ones(half), -np.ones(half)])


def _labels(family: str, labels: str, X: np.ndarray, sign: float, rng: np.random.Generator) -> np.ndarray:
    n, d = X.shape
    if labels == RANDOM:
        return np.asarray(rng.standard_normal(n))
    teacher = rng.standard_normal((d, d)) / d**0.5
    signs = np.full(d, sign) if family == ONE else rng.choice([-1.0, 1.0], d)
    return np.asarray(np.sum(signs * (X @ teacher.T) ** 2, axis=1))


def _cells(config: Config) -> list[Cell]:
    families = [(BOTH, RANDOM, 1.0), (BOTH, PLANTED, 1.0), (ONE, PLANTED, 1.0), (ONE, PLANTED, -1.0)]
    families.append((NARROW, RANDOM, 1.0))
    return [
        {"family": family, "labels": labels, "sign": sign, "d": d, "n": round(share * d * (d + 1) / 2)}
        for family, labels, sign in families
        for d in config["inputs"]
        for share in config["shares"]
    ]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    rows, d = [], cell["d"]
    output = _outputs(cell["family"], d, cell["sign"])
    k = len(output)
    for problem in range(config["problems"]):
        rng = np.random.default_rng([seed, problem])
        X = rng.standard_normal((cell["n"], d))
        y = _labels(cell["family"], cell["labels"], X, cell["sign"], rng)
        loss, least = Squared(X, y, "quadratic", output), optimum(X, y)
        for start in range(config["starts"]):
            # Half of the starts have neurons silent, from one to all of them.
            silent = 0 if start % 2 == 0 else int(rng.integers(1, k + 1))
            weights = rng.standard_normal((k, d)) / d**0.5
            weights[rng.permutation(k)[:silent]] = 0.0
            end = _settled(loss, weights, least, config["settled"])
            escapes = 0
            # Newton's method ends at saddles too; a descent of all neurons goes on from there.
            while silent == 0 and end["kind"] == "strict saddle" and escapes < config["escapes"]:
                escapes += 1
                end = _settled(
                    loss,
                    leave_saddles(loss, end["weights"], curvature_tolerance=_STRICT).params,
                    least,
                    config["settled"],
                )
            del end["weights"]
            made = {"k": k, "problem": problem, "start": start, "silent": silent, "optimum": least, "escapes": escapes}
            rows.append(made | end)
    return [cell | row for row in rows]


def _settled(loss: Squared, weights: Any, least: float, settled: float) -> dict[str, Any]:
    """Where a descent ends, and what kind of point that is."""
    run = lbfgs(loss, weights, steps=5000, tolerance=1e-11, target=-np.inf)
    end = newton_polish(loss, run.params, tolerance=1e-13)
    # Neurons that shrank to rounding are at zero.
    point = certify(loss, np.where(np.abs(end.params) < _ROUNDING, 0.0, end.params))
    size, eigenvalue = 2 * float(energy(loss)), float(point.min_eigenvalue / max(point.hessian_norm, 1e-300))
    return {
        "kind": kind_of((point.value - least) / size, end.gradient_norm / size, eigenvalue, settled),
        "value": float(point.value),
        "gradient_norm": float(end.gradient_norm),
        "certified": point.kind,
        "least_eigenvalue": eigenvalue,
        "weights": end.params,
    }


def _count(rows: Rows, kind: str) -> int:
    return sum(row["kind"] == kind for row in rows)


def _counts(rows: Rows) -> str:
    return ", ".join(f"{_count(rows, kind)} {kind}" for kind in KINDS) + f" of {len(rows)}"


def _most_settled(rows: Rows) -> bool:
    return _count(rows, "not settled") <= 0.01 * len(rows)


def _claims(config: Config, rows: Rows) -> list[Claim]:
    claims = []
    for theorem, family in (("2.1", BOTH), ("2.2", ONE)):
        mine = select(rows, family=family)
        free, silenced = ([row for row in mine if (row["silent"] > 0) is silent] for silent in (False, True))
        saddles = [row for row in silenced if row["kind"] in ("strict saddle", "neither")]
        shallow = max((row["least_eigenvalue"] for row in saddles), default=float("nan"))
        steep = max(row["gradient_norm"] for row in mine)
        claims += [
            claim(f"Theorem {theorem}: random starts end at the optimum of the convex problem, {family}",
                  "no spurious minima", _counts(free), _count(free, "global") == len(free),
                  f"random and planted labels, gradients at most {steep:.0e}" if family == BOTH else "both signs"),
            claim(f"Theorem {theorem}: every other critical point that is met curves down, {family}",
                  "all saddles are strict", _counts(silenced),
                  len(saddles) > 0 and _count(silenced, "neither") == 0 and _most_settled(silenced),
                  f"least eigenvalue at most {shallow:.1e} of the Hessian's norm"),
        ]  # fmt: skip
    arbitrary = [row for row in select(rows, family=BOTH, labels=RANDOM) if row["silent"] == 0]
    few, many = (
        [row for row in arbitrary if (row["n"] > row["d"] * (row["d"] + 1) / 2) is more] for more in (False, True)
    )
    planted = [row for row in select(rows, family=ONE, labels=PLANTED) if row["silent"] == 0]
    largest, smallest = (agg(row["value"] for row in some) for agg, some in ((max, few), (min, many)))
    narrow = select(rows, family=NARROW)
    # Saddles that curve down by less than certificates resolve are left out.
    decided = [
        row for row in rows
        if row["kind"] == "global" or (row["kind"] == "strict saddle" and row["least_eigenvalue"] < -_NEAR)
    ]  # fmt: skip
    names = {"global": "global minimum", "strict saddle": "saddle"}
    own = sum(names[row["kind"]] == row["certified"] for row in decided)
    claims += [
        claim("Theorem 2.1: the optimum is zero for random labels, d ≤ n ≤ c d²", "some c",
              f"loss at most {largest:.0e} for n ≤ d(d + 1)/2, at least {smallest:.2g} above",
              largest < _SAME < 1e-3 < smallest),
        claim("Theorem 2.2: planted labels of one sign are fitted, all n", "zero",
              f"loss at most {max(row['value'] for row in planted):.0e}", max(row["value"] for row in planted) < _SAME),
        claim("the width matters: with k = 2 minima lie above that optimum", "k ≥ 2d is asked for", _counts(narrow),
              _count(narrow, "neither") > 0),
        claim("planted.certify says the same", "not in the paper", f"{own} of {len(decided)}",
              own == len(decided) and 2 * len(decided) > len(rows),
              f"of {len(rows)}: others are neither, not settled, or curve down by less than {_NEAR:g} of the norm"),
    ]  # fmt: skip
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    families = (BOTH, ONE, NARROW)
    for axis, family in zip(figure.subplots(1, len(families), sharey=True), families, strict=True):
        for kind, colour in zip(KINDS, ("C2", "C0", "C3", "C7"), strict=True):
            mine = [row for row in select(rows, family=family) if row["kind"] == kind]
            excess = [max(row["value"] - row["optimum"], 1e-32) for row in mine]
            axis.semilogy([row["least_eigenvalue"] for row in mine], excess, ".", color=colour, label=kind, alpha=0.6)
        axis.set(xlabel="least eigenvalue / norm of the Hessian", title=family)
    figure.axes[0].set(ylabel="loss above the optimum of the convex problem")
    figure.axes[0].legend(fontsize=7)


ENTRIES = (
    Entry(
        "soltanolkotabi2017/theorem2.1",
        "quadratic networks: every minimum is global, every saddle strict (Theorems 2.1 and 2.2)",
        quick={"inputs": [4], "shares": [0.8, 2.0], "problems": 2, "starts": 12, "settled": 1e-7, "escapes": 5},
        full={
            "inputs": [4, 7, 10], "shares": [0.5, 1.0, 2.0], "problems": 5, "starts": 20, "settled": 1e-7, "escapes": 5,
        },
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw,
    ),
)  # fmt: skip
