"""Networks behind labels, as people train them: log-odds of two classes, softmax of up to ten, with biases.

Teachers have k = 3 neurons on d = 5 Gaussian inputs. Of every fit: whether it is in the right basin (its likelihood is
that of a descent from the teacher), its distance to the teacher beside the Cramér–Rao bound at the teacher, and which
95 % intervals cover. Weights with biases count for the distance, neurons matched up to order and turns; intervals are
those of weights, biases and outputs.

Run as `python benchmarks/bench_log_odds.py [--runs 20] [--first 100] [--json FILE] [CASE …]`, or with pytest-benchmark.
A CASE is a part of a name: `tanh`, `10 classes`. Fits that FILE already has are read, not computed.
"""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from planted import Network, PlantedClassifier, activations, objectives
from planted.certificates import uncertainty
from planted.solvers import lbfgs

D, K = 5, 3


class Case(NamedTuple):
    """What is drawn: classes, activation, rows, and the size of the outputs of a neuron."""

    classes: int
    activation: str
    rows: int
    size: float = 3.0

    @property
    def name(self):
        """Such as "3 classes, tanh"."""
        return f"{self.classes} classes, {self.activation}"


CASES = {
    case.name: case
    for case in (
        *(Case(classes, "tanh", rows) for classes, rows in ((2, 60_000), (3, 40_000), (5, 30_000), (10, 30_000))),
        Case(4, "sigmoid", 60_000, 6.0),
        Case(3, "relu", 100_000),
        Case(3, "erf", 30_000),
        Case(6, "gelu", 60_000),
        Case(4, "softplus", 100_000),
    )
}


def drawn_teacher(case, rng):
    """Orthogonal rows of length 2, biases, outputs of one size a neuron that sum to zero over the classes."""
    weights = 2 * np.linalg.qr(rng.standard_normal((D, K)))[0].T
    bias = 0.5 * rng.standard_normal(K)
    if case.classes == 2:
        return Network(weights, case.size * rng.choice([-1.0, 1.0], K), case.activation, bias=bias, intercept=0.3)
    output = rng.standard_normal((case.classes, K))
    output -= output.mean(axis=0)
    output *= case.size / np.linalg.norm(output, axis=0)
    intercept = 0.3 * rng.standard_normal(case.classes)
    return Network(weights, output, case.activation, bias=bias, intercept=intercept - intercept.mean())


def drawn_labels(teacher, n, rng):
    X = rng.standard_normal((n, D))
    scores = teacher.predict(X)
    if scores.ndim == 1:
        return X, (rng.random(n) < expit(scores)).astype(float)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(float)


def neurons(network, errors):
    """Weights with biases (k, d + 1) of a canonical network, outputs (k, m), and the standard errors of both."""
    rows, outputs = np.column_stack([network.weights, network.bias]), np.atleast_2d(network.output).T
    return rows, outputs, np.column_stack([errors["weights"], errors["bias"]]), np.atleast_2d(errors["output"]).T


def aligned(mine, true, turns):
    """Which of my neurons is each true one (k,), and whether it is turned around (k,), at least squared error."""
    signs = (1.0, -1.0) if turns else (1.0,)
    gaps = np.array([np.sum((true[:, None] - sign * mine[None]) ** 2, axis=2) for sign in signs])
    places = linear_sum_assignment(gaps.min(axis=0))[1]
    best = gaps.argmin(axis=0)[np.arange(len(true)), places]
    return places, np.array(signs)[best]


def fit(case, seed):
    """One fit beside the descent that begins at the teacher."""
    rng = np.random.default_rng([case.classes, seed])
    teacher = drawn_teacher(case, rng)
    X, y = drawn_labels(teacher, case.rows, rng)
    began = time.process_time()
    est = PlantedClassifier(K, case.activation, True, link="logit", random_state=seed).fit(X, y)
    seconds = time.process_time() - began
    loss = (objectives.LogisticLikelihood if case.classes == 2 else objectives.SoftmaxLikelihood)(
        X, y if case.classes == 2 else np.eye(case.classes)[y.astype(int)], case.activation, bias=True, intercept=True
    )
    best = lbfgs(loss, loss.model.params(teacher), steps=500, tolerance=1e-9)
    gap = float(loss.value(loss.model.params(est.network_))) - best.value
    bound = uncertainty(loss, loss.model.params(teacher))
    rows, outputs, row_errors, output_errors = neurons(est.standard_errors_.network, est.standard_errors_.errors)
    true_rows, true_outputs, row_bounds, _ = neurons(bound.network, bound.errors)
    places, signs = aligned(rows, true_rows, activations.get(case.activation).centred_parity == "odd")
    off = signs[:, None] * rows[places] - true_rows
    off_outputs = signs[:, None] * outputs[places] - true_outputs
    inside = np.concatenate([np.abs(off) <= 1.959964 * row_errors[places],
                             np.abs(off_outputs) <= 1.959964 * output_errors[places]], axis=1)  # fmt: skip
    size = np.linalg.norm(true_rows)
    return {
        "case": case.name, "seed": seed, "rows": case.rows, "same": bool(gap <= 1e-7), "gap": gap,
        "status": est.result_.status, "error": float(np.linalg.norm(off) / size),
        "bound": float(np.linalg.norm(row_bounds) / size), "covered": int(inside.sum()), "intervals": inside.size,
        "seconds": seconds,
    }  # fmt: skip


def report(case, fits):
    """One line of the table; the standard error of the ratio is over fits."""
    right = [one for one in fits if one["same"]]
    squares = np.array([(one["error"] / one["bound"]) ** 2 for one in right])
    ratio = np.sqrt(squares.mean())
    error = squares.std() / max(len(squares) - 1, 1) ** 0.5 / (2 * ratio)
    share = sum(one["covered"] for one in right) / sum(one["intervals"] for one in right)
    print(
        f"| {case.classes} | {case.activation} | {case.rows:,} | {len(right)} of {len(fits)} | "
        f"{np.sqrt(np.mean([one['bound'] ** 2 for one in right])):.4f} | {ratio:.3f} ± {error:.3f} | {share:.1%} | "
        f"{np.median([one['seconds'] for one in fits]):.0f} s |",
        flush=True,
    )


def test_log_odds(benchmark):
    benchmark.pedantic(fit, args=(CASES["3 classes, tanh"], 0), rounds=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument(
        "--json", type=Path, help="a file that gets a line for every fit, and has those of earlier runs"
    )
    options = parser.parse_args()
    lines = options.json.read_text().splitlines() if options.json is not None and options.json.exists() else []
    there = {(one["case"], one["seed"], one["rows"]): one for one in map(json.loads, lines)}
    print("| classes | activation | rows | right basin | bound | error over bound | covered | processor |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES.values():
        if options.cases and not any(part in case.name for part in options.cases):
            continue
        fits = []
        for seed in range(options.first, options.first + options.runs):
            one = there.get((case.name, seed, case.rows)) or fit(case, seed)
            fits.append(one)
            if options.json is not None and (case.name, seed, case.rows) not in there:
                with options.json.open("a") as file:
                    file.write(json.dumps(one) + "\n")
        report(case, fits)


if __name__ == "__main__":
    main()
