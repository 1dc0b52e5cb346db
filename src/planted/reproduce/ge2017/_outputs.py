"""The output layer of Ge et al. (2017), appendix B: Algorithms 1 and 2 beside least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.datasets import make_planted
from planted.reproduce._claims import Claim, claim
from planted.reproduce._printed import Printed
from planted.reproduce._study import Entry
from planted.starts.output_layer import ALGORITHMS, recover_outputs

_KINDS = ("orthogonal", "correlated")


def _errors(kind: str, activation: str, n: int, closeness: float, seed: int) -> dict[str, tuple[float, bool, float]]:
    """Largest output error, whether all signs are right, and Lemma B.2's bound with four standard errors, by algorithm.

    The rows given are δ-close to the teacher's, with random signs.
    """
    data = make_planted(n, 6, 4, activation=activation, weights=kind, output="positive", random_state=seed)
    rng = np.random.default_rng(seed)
    shift = rng.standard_normal(data.teacher.weights.shape)
    near = data.teacher.weights + closeness * shift / np.linalg.norm(shift, axis=1, keepdims=True)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    flipped = rng.choice([-1.0, 1.0], 4)[:, None] * near
    errors = {}
    spread = np.linalg.svd(near)[1][-1] ** 2
    bias = 2 * 2**0.5 * data.teacher.output.max() * 4**0.5 * closeness / spread
    terms = data.y[:, None] * (data.X @ np.linalg.solve(near @ near.T, near).T) / data.teacher.activation.hermite(1)
    bound = float(bias + 4 * np.max(np.std(terms, axis=0)) / n**0.5)
    for algorithm in ALGORITHMS:
        layer = recover_outputs(data.X, data.y, flipped, activation, algorithm)
        right = bool(np.all(np.sum(layer.weights * data.teacher.weights, axis=1) > 0))
        errors[algorithm] = float(np.abs(layer.output - data.teacher.output).max()), right, bound
    return errors


def _cells(config: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"weights": kind, "activation": act} for kind in _KINDS for act in config["activations"]]


def _run_cell(config: dict[str, Any], cell: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    rows = []
    for trial, child in enumerate(np.random.SeedSequence(seed).generate_state(config["trials"])):
        errors = _errors(cell["weights"], cell["activation"], config["rows"], config["closeness"], int(child))
        for algorithm, (error, right, bound) in errors.items():
            measured = {"error": error, "signs_right": right, "bound": bound}
            rows.append(cell | {"trial": trial, "algorithm": algorithm} | measured)
    return rows


def _of(rows: list[dict[str, Any]], kind: str, algorithm: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["weights"] == kind and row["algorithm"] == algorithm]


def _signs(statement: str, paper: str, rows: list[dict[str, Any]]) -> Claim:
    right = sum(row["signs_right"] for row in rows)
    ours = f"{right} of {len(rows)}, largest error {max(row['error'] for row in rows):.2g}"
    return claim(statement, paper, ours, right == len(rows))


def _claims(config: dict[str, Any], rows: list[dict[str, Any]]) -> list[Claim]:
    first, second = _of(rows, "orthogonal", "correlation"), _of(rows, "correlated", "general_correlation")
    squares = [row for row in rows if row["algorithm"] == "least_squares"]
    ratio = max(row["error"] / row["bound"] for row in first + second)
    return [
        _signs("Algorithm 1 finds all signs (orthogonal rows)", "all", first),
        _signs("Algorithm 2 finds all signs (any rows)", "all", second),
        _signs("least squares finds all signs", "not stated", squares),
        claim(
            "their outputs are as close as Lemma B.2 says, up to sampling error",
            "2√2 a_max √m δ / σ_min²",
            f"largest ratio to the bound and four standard errors {ratio:.2f}",
            ratio <= 1,
            "Lemma 2.5 prints δ a_max, see the errata",
        ),
    ]


def _draw(config: dict[str, Any], rows: list[dict[str, Any]], figure: Any) -> None:
    axis = figure.subplots()
    pairs = [(kind, algorithm) for kind in _KINDS for algorithm in ALGORITHMS]
    labels = [f"{kind}\n{algorithm.replace('_', ' ')}" for kind, algorithm in pairs]
    axis.boxplot([[row["error"] for row in _of(rows, *pair)] for pair in pairs], tick_labels=labels)
    axis.set(yscale="log", ylabel="largest error of an output")
    axis.tick_params(axis="x", labelsize=7)


_PROVED = "the paper proves it and runs no experiment"
_ACTIVATIONS = ("relu", "softplus", "sigmoid")
ENTRIES = (
    Entry(
        "ge2017/output-layer",
        "outputs and signs by Algorithms 1 and 2 and by least squares",
        quick={"trials": 4, "rows": 50_000, "closeness": 0.02, "activations": _ACTIVATIONS},
        full={"trials": 20, "rows": 200_000, "closeness": 0.02, "activations": _ACTIVATIONS},
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
        printed={
            "trials": Printed("trials a kind and activation", None, _PROVED),
            "rows": Printed("rows", None, _PROVED),
            "closeness": Printed("δ, how far the given rows are off", None, "any up to 1/(2κ*) in Lemma 2.5"),
            "activations": Printed("activations", "relu", "Claim B.1 is for ReLU only; with σ̂₁ for ½ others work too"),
        },
    ),
)
