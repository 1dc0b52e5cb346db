"""The output layer of Ge et al. (2017), appendix B: Algorithms 1 and 2 beside least squares."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from planted.datasets import make_planted
from planted.output_layer import ALGORITHMS, recover_outputs
from planted.reproduce._study import Claim, Entry, Study, claim
from planted.solvers._result import Progress

_TITLE = "outputs and signs by Algorithms 1 and 2 and by least squares"
_CLOSENESS = 0.02


def _errors(kind: str, activation: str, n: int, seed: int) -> dict[str, tuple[float, bool, float]]:
    """Largest output error, whether all signs are right, and Lemma B.2's bound with four standard errors, by algorithm.

    The rows given are δ-close to the teacher's, with random signs.
    """
    data = make_planted(n, 6, 4, activation=activation, weights=kind, output="positive", random_state=seed)
    rng = np.random.default_rng(seed)
    shift = rng.standard_normal(data.teacher.weights.shape)
    near = data.teacher.weights + _CLOSENESS * shift / np.linalg.norm(shift, axis=1, keepdims=True)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    flipped = rng.choice([-1.0, 1.0], 4)[:, None] * near
    found = {}
    spread = np.linalg.svd(near)[1][-1] ** 2
    bias = 2 * 2**0.5 * data.teacher.output.max() * 4**0.5 * _CLOSENESS / spread
    terms = data.y[:, None] * (data.X @ np.linalg.solve(near @ near.T, near).T) / data.teacher.activation.hermite(1)
    bound = float(bias + 4 * np.max(np.std(terms, axis=0)) / n**0.5)
    for algorithm in ALGORITHMS:
        layer = recover_outputs(data.X, data.y, flipped, activation, algorithm)
        right = bool(np.all(np.sum(layer.weights * data.teacher.weights, axis=1) > 0))
        found[algorithm] = float(np.abs(layer.output - data.teacher.output).max()), right, bound
    return found


def _run(quick: bool, seed: int, progress: Progress) -> Study:
    began = time.perf_counter()
    trials, n = (4, 50_000) if quick else (20, 200_000)
    cells = [(kind, act) for kind in ("orthogonal", "correlated") for act in ("relu", "softplus", "sigmoid")]
    table: list[dict[str, Any]] = []
    for done, (kind, act) in enumerate(cells):
        for trial in range(trials):
            for algorithm, (error, right, bound) in _errors(kind, act, n, seed + trial).items():
                row = {"weights": kind, "activation": act, "trial": trial, "algorithm": algorithm}
                table.append(row | {"error": error, "signs_right": right, "bound": bound})
        progress(done + 1, len(cells), f"{kind} {act}")

    def cell(kind: str, algorithm: str) -> list[dict[str, Any]]:
        return [row for row in table if row["weights"] == kind and row["algorithm"] == algorithm]

    first, second = cell("orthogonal", "correlation"), cell("correlated", "general_correlation")
    squares = [row for row in table if row["algorithm"] == "least_squares"]

    def signs(statement: str, paper: str, rows: list[dict[str, Any]]) -> Claim:
        right = sum(row["signs_right"] for row in rows)
        ours = f"{right} of {len(rows)}, largest error {max(row['error'] for row in rows):.2g}"
        return claim(statement, paper, ours, right == len(rows))

    ratio = max(row["error"] / row["bound"] for row in first + second)
    claims = [
        signs("Algorithm 1 finds all signs (orthogonal rows)", "all", first),
        signs("Algorithm 2 finds all signs (any rows)", "all", second),
        signs("least squares finds all signs", "not stated", squares),
        claim(
            "their outputs are as close as Lemma B.2 says, up to sampling error",
            "2√2 a_max √m δ / σ_min²",
            f"largest ratio to the bound and four standard errors {ratio:.2f}",
            ratio <= 1,
            "Lemma 2.5 prints δ a_max, see the errata",
        ),
    ]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        labels = [f"{kind}\n{algorithm}" for kind in ("orthogonal", "correlated") for algorithm in ALGORITHMS]
        groups = [
            [row["error"] for row in cell(kind, algorithm)]
            for kind in ("orthogonal", "correlated")
            for algorithm in ALGORITHMS
        ]
        axis.boxplot(groups, tick_labels=labels)
        axis.set(yscale="log", ylabel="largest error of an output")
        axis.tick_params(axis="x", labelsize=7)

    config = {"closeness": _CLOSENESS, "rows": n, "trials": trials, "seed": seed, "quick": quick}
    return Study("ge2017/output-layer", _TITLE, config, table, claims, draw, time.perf_counter() - began)


ENTRIES = (Entry("ge2017/output-layer", _TITLE, _run),)
