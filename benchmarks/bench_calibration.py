"""Do 95 % intervals cover, and does the residual test have its level and power?

    bench_calibration.py [--intervals 1000] [--tests 600] [--first 5000000] [--json FILE] [PART …]

A PART is a part of a name of a setting or of a wrong model; all are measured without. FILE gets a line for each one
that is done, and those that it holds already for the same numbers are not measured again, so that a run goes on where
it was stopped. The exit status is 1 if a coverage is outside 93–97 %, a penalised fit does not say that it is biased,
or a level at 1 % outside 0.5–2 %, each by more than two standard errors. Intervals of one fit hit and miss together, so
that the standard error of a coverage is that between fits. Fits begin at the teacher: the search is the subject of
other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from planted import Network
from planted.methods import (
    Free,
    LabelProblem,
    Problem,
    Start,
    class_probabilities,
    label_uncertainty,
    observations,
    recover,
    refine,
    residual_p_value,
)
from planted.solvers import lbfgs

N = 600
NOTHING = Free()
PLAIN = Network([[1.5, 0.0, 0.5], [0.2, 1.2, -1.0]], [1.0, -0.8], "tanh")
BIASED = Network(PLAIN.weights, PLAIN.output, "tanh", bias=[0.5, -0.4])
SHIFTED = Network(PLAIN.weights, PLAIN.output, "tanh", bias=[0.5, -0.4], intercept=2.0)
PAIR = Network(PLAIN.weights, [[1.0, -0.8], [0.5, 1.0]], "tanh")
WIDE = Network(np.random.default_rng(5).standard_normal((6, 4)), [1.0, -1.0, 1.5, 2.0, -1.5, 1.0], "relu")
ODDS = Network(PLAIN.weights, [3.0, -2.5], "tanh", intercept=0.3)
RARE = Network(PLAIN.weights, [3.0, -2.5], "tanh", intercept=-2.5)
THREE = Network(PLAIN.weights, [[3.0, 0.0], [0.0, 3.0], [-2.0, -2.0]], "tanh", intercept=[0.2, 0.0, -0.2])
MEAN = Network([[3.0, 0.0, 0.5], [0.5, 2.5, 0.0]], [0.5, 0.5], "sigmoid")


@dataclass(frozen=True)
class Setting:
    """A teacher, how rows are drawn, and what is free."""

    name: str
    teacher: Network
    free: Free = NOTHING
    correlated: float = 0.0
    uneven: bool = False
    weighted: str = ""
    link: str = ""
    alpha: float = 0.0
    n: int = N


SETTINGS = (
    Setting("unweighted", PLAIN),
    Setting("weights unrelated to the noise", PLAIN, weighted="random"),
    Setting("weights 1/variance", PLAIN, weighted="precision"),
    Setting("several outputs", PAIR),
    Setting("biases", BIASED, Free(bias=True), n=1000),
    Setting("intercept and biases", SHIFTED, Free(bias=True, intercept=True), n=1000),
    Setting("noise that differs with x", PLAIN, uneven=True),
    Setting("correlated inputs", PLAIN, correlated=0.8, n=1000),
    Setting("6 relu neurons", WIDE, n=1500),
    Setting("labels, log-odds", ODDS, Free(intercept=True), link="logit", n=3000),
    Setting("labels, unbalanced", RARE, Free(intercept=True), link="logit", n=6000),
    Setting("labels, 3 classes", THREE, Free(intercept=True), link="logit", n=3000),
    Setting("labels, mean of neurons", MEAN, link="mean", n=6000),
    Setting("labels, penalised", ODDS, Free(intercept=True), link="logit", alpha=3e-3, n=1500),
)


def drawn(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows, targets and weights."""
    rng = np.random.default_rng(seed)
    n, d = setting.n, setting.teacher.n_features
    X = rng.standard_normal((n, d))
    if setting.correlated:
        X = math.sqrt(1 - setting.correlated) * X + math.sqrt(setting.correlated) * rng.standard_normal((n, 1))
    if setting.link:
        p = class_probabilities(setting.teacher, X, setting.link)
        y = np.sum(rng.random((n, 1)) > np.cumsum(p, axis=1)[:, :-1], axis=1)
        return X, y.astype(float), None
    f = setting.teacher.predict(X)
    noise = 0.3 * rng.standard_normal(f.shape) * np.std(f)
    weight = None
    if setting.uneven:
        noise = noise * np.exp(0.5 * X[:, 0])
    if setting.weighted:
        weight = rng.exponential(size=n) + 0.2
    if setting.weighted == "precision":
        noise = noise / np.sqrt(weight)
    return X, f + noise, weight


def fitted(setting: Setting, seed: int) -> tuple[Any, Any, float]:
    """Problem, uncertainty and p-value of the residual test of one data set."""
    X, y, weight = drawn(setting, seed)
    teacher = setting.teacher
    if not setting.link:
        problem = Problem.of(X, y, teacher.n_hidden, teacher.activation, free=setting.free, sample_weight=weight)
        result = recover(problem, Start(teacher, "squared"), time.perf_counter())
        return problem, result.uncertainty, result.verdict.p_value
    settings: dict[str, Any] = {"link": setting.link, "alpha": setting.alpha, "n_classes": max(teacher.n_outputs, 2)}
    labels = LabelProblem.of(X, y, teacher.n_hidden, teacher.activation, free=setting.free, **settings)
    run = lbfgs(labels.objective(), labels.params(teacher), steps=500, tolerance=1e-12)
    return labels, label_uncertainty(labels, run.params), math.nan


def covered(setting: Setting, problem: Any, errors: Any, level: float = 0.95) -> np.ndarray:
    """Whether the interval of each parameter with an error holds the teacher's."""
    truth = {name: np.array(value) for name, value in problem.model.canonical(problem.params(setting.teacher)).items()}
    estimate = errors.estimate
    sides = (1.0, -1.0) if setting.teacher.activation.parity == "odd" else (1.0,)
    gaps = np.stack(
        [np.linalg.norm(estimate["weights"][:, None] - side * truth["weights"][None], axis=2) for side in sides]
    )
    _, order = linear_sum_assignment(gaps.min(axis=0))
    sign = np.array([sides[int(np.argmin(gaps[:, i, j]))] for i, j in enumerate(order)])
    for name in truth:
        if name == "weights":
            truth[name] = truth[name][order] * sign[:, None]
        elif name in ("output", "bias"):
            truth[name] = truth[name][..., order] * sign
    hits = []
    for name, (low, high) in errors.intervals(level).items():
        known = errors.errors[name] > 0
        hits.append(((low <= truth[name]) & (truth[name] <= high))[known].ravel())
    return np.concatenate(hits)


def wrong_models() -> dict[str, tuple[Callable[[np.ndarray, np.random.Generator], np.ndarray], Network, Free]]:
    """Eight kinds of rows that are not from the network fitted to them, with where its fit begins."""
    two, one = PLAIN, Network(PLAIN.weights[:1], PLAIN.output[:1], "tanh")
    relu = Network(PLAIN.weights, PLAIN.output, "relu")
    return {
        "too few neurons": (lambda X, rng: two.predict(X), one, Free()),
        "wrong activation": (lambda X, rng: relu.predict(X), two, Free()),
        "missing intercept": (lambda X, rng: two.predict(X) + 0.3, two, Free()),
        "missing biases": (lambda X, rng: BIASED.predict(X), two, Free()),
        "missing linear part": (lambda X, rng: two.predict(X) + 0.3 * X[:, 2], two, Free()),
        "deeper network": (lambda X, rng: np.tanh(2 * two.predict(X)), two, Free()),
        "interaction": (lambda X, rng: two.predict(X) + 0.2 * X[:, 0] * X[:, 1], two, Free()),
        "outliers": (lambda X, rng: two.predict(X) + 2.0 * (rng.random(len(X)) < 0.02), two, Free()),
    }


def power(kind: str, seed: int) -> float:
    """p-value of one data set of a wrong model, noise a third of the signal."""
    signal, start, free = wrong_models()[kind]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    f = signal(X, rng)
    y = f + 0.3 * np.std(f) * rng.standard_normal(N)
    problem = Problem.of(X, y, start.n_hidden, "tanh", free=free)
    network = refine(problem, start).network
    return residual_p_value(observations(problem.survey), network, intercept=free.intercept, seed=seed)


def binomial_error(count: int, total: int) -> float:
    """Standard error of a share of independent events."""
    p = count / total
    return math.sqrt(max(p * (1 - p), 0.25 / total) / total)


def error_between_fits(runs: list[list[int]]) -> float:
    """Standard error of a share of events, given as pairs (how many came, of how many), one pair a fit."""
    count, total = np.sum(runs, axis=0)
    return math.sqrt(sum((hits - count / total * number) ** 2 for hits, number in runs)) / total


def share(count: int, total: int, error: float) -> str:
    """A share in percent with its standard error."""
    return f"{100 * count / total:5.1f} ± {100 * error:.1f} %  ({count} of {total})"


def outside(p: float, error: float, low: float, high: float) -> bool:
    """Whether a share lies outside an interval by more than two standard errors."""
    return p + 2 * error < low or p - 2 * error > high


def measured_setting(setting: Setting, intervals: int, tests: int, first: int) -> dict[str, Any]:
    """Intervals that hold the truth, of how many; p-values of the residual test; whether all fits say "biased"."""
    hits: list[np.ndarray] = []
    values: list[float] = []
    seed, biased, wanted = first + 100_000 * SETTINGS.index(setting), True, tests if setting.name in LEVELS else 0
    while sum(len(hit) for hit in hits) < intervals or len(values) < wanted:
        problem, errors, p_value = fitted(setting, seed)
        hits.append(covered(setting, problem, errors))
        biased = biased and errors.biased
        values.append(p_value)
        seed += 1
    return {"runs": [[int(hit.sum()), len(hit)] for hit in hits], "biased": biased, "p_values": values}


def measured_power(kind: str, tests: int, first: int) -> dict[str, Any]:
    """p-values of the residual test of a wrong model."""
    return {"p_values": [power(kind, first + seed) for seed in range(max(tests // 6, 20))]}


def coverage_line(name: str, record: dict[str, Any]) -> tuple[str, bool]:
    """What a setting came to, and whether it is outside its limits."""
    count, total = (int(number) for number in np.sum(record["runs"], axis=0))
    error = error_between_fits(record["runs"])
    penalised = next(setting for setting in SETTINGS if setting.name == name).alpha
    failed = not record["biased"] if penalised else outside(count / total, error, 0.93, 0.97)
    note = " says that it is biased" if record["biased"] else ""
    return f"coverage  {name:32s} {share(count, total, error)}{note}", failed


def level_line(name: str, record: dict[str, Any]) -> tuple[str, bool]:
    """Shares of p below 1 % and 10 % under the right model, and whether the first is outside its limits."""
    values = np.array(record["p_values"])
    n, counts = len(values), [int(np.sum(values < level)) for level in (0.01, 0.1)]
    low, more = (share(count, n, binomial_error(count, n)) for count in counts)
    failed = outside(counts[0] / n, binomial_error(counts[0], n), 0.005, 0.02)
    return f"level     {name:32s} p < 1 %: {low}, p < 10 %: {more}", failed


def main() -> int:
    """Print the tables; 1 if something is outside its limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    for name, default in (("intervals", 1000), ("tests", 600), ("first", 5_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", type=Path, default=None)
    given = parser.parse_args()
    asked = {"intervals": given.intervals, "tests": given.tests, "first": given.first}
    lines = given.json.read_text().splitlines() if given.json is not None and given.json.exists() else []
    done = {row["name"]: row for row in map(json.loads, lines) if asked.items() <= row["asked"].items()}

    def record(name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if name not in done:
            done[name] = {"name": name, "asked": asked} | measure()
            if given.json is not None:
                with given.json.open("a") as file:
                    file.write(json.dumps(done[name]) + "\n")
        return done[name]

    def chosen(names: Iterable[str]) -> list[str]:
        return [name for name in names if not given.parts or any(part in name for part in given.parts)]

    failed = 0
    settings = {setting.name: setting for setting in SETTINGS}
    for name in chosen(settings):
        made = record(name, partial(measured_setting, settings[name], given.intervals, given.tests, given.first))
        shown = [coverage_line(name, made)] + [level_line(name, made)] * (name in LEVELS)
        for line, wrong in shown:
            print(line, flush=True)
            failed += wrong
    for name in chosen(wrong_models()):
        values = record(name, partial(measured_power, name, given.tests, given.first))["p_values"]
        count = sum(p < 0.01 for p in values)
        shown = share(count, len(values), binomial_error(count, len(values)))
        print(f"power     {name:32s} p < 1 %: {shown}", flush=True)
    return int(failed > 0)


LEVELS = ("unweighted", "weights unrelated to the noise", "noise that differs with x", "several outputs")

if __name__ == "__main__":
    sys.exit(main())
