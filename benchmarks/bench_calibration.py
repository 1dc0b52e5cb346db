"""Do 95 % intervals cover, and does the residual test have its level and power?

    bench_calibration.py [--intervals 1000] [--tests 600] [--first 5000000] [--json FILE] [PART …]

A PART is a part of a name of a setting or of a wrong model; all are measured without. FILE gets a line for each one
that is done, and those that it holds already for the same numbers are not measured again, so that a run goes on where
it was stopped. Fits are those of the estimators, which know the activation, the number of neurons and what is free, and
search from no start. Coverage is that of intervals that are shown as such: the answer is "estimated" or "recovered" and
does not say that intervals are approximate. Those of the other answers stand beside it. Intervals of one fit hit and
miss together, so that the standard error of a coverage is that between fits.

The exit status is 1 if a coverage is outside 93–97 %, a penalised fit does not say that it is biased, or a level at 1 %
outside 0.5–2 %, each by more than two standard errors.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import kstest
from sklearn.exceptions import ConvergenceWarning

from planted import Network, PlantedClassifier, PlantedRegressor
from planted.methods import METHODS, Free, LabelProblem, Problem, class_probabilities, observations, residual_p_value

N = 600
NOTHING = Free()
PLAIN = Network([[1.5, 0.0, 0.5], [0.2, 1.2, -1.0]], [1.0, -0.8], "tanh")
BIASED = Network(PLAIN.weights, PLAIN.output, "tanh", bias=[0.5, -0.4])
SHIFTED = Network(PLAIN.weights, PLAIN.output, "tanh", bias=[0.5, -0.4], intercept=2.0)
PAIR = Network(PLAIN.weights, [[1.0, -0.8], [0.5, 1.0]], "tanh")
WIDE = Network(np.random.default_rng(5).standard_normal((6, 4)), [1.0, -1.0, 1.5, 2.0, -1.5, 1.0], "relu")
APART = Network([[1.0, 0.2, 0.0], [-0.3, 1.0, 0.5], [0.2, -0.8, 1.0]], [1.5, -1.0, 1.2], "relu")
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
    class_weight: tuple[float, ...] = ()
    noise: Any = 0.3
    n: int = N


SETTINGS = (
    Setting("unweighted", PLAIN),
    Setting("weights unrelated to the noise", PLAIN, weighted="random"),
    Setting("weights 1/variance", PLAIN, weighted="precision"),
    Setting("several outputs", PAIR),
    Setting("several outputs, noise of one a hundredth", PAIR, noise=(0.003, 0.3)),
    Setting("several outputs, weights, noise that differs", PAIR, uneven=True, weighted="random"),
    Setting("biases", BIASED, Free(bias=True), n=1000),
    Setting("intercept and biases", SHIFTED, Free(bias=True, intercept=True), n=1000),
    Setting("noise that differs with x", PLAIN, uneven=True),
    Setting("correlated inputs", PLAIN, correlated=0.8, n=1000),
    Setting("3 relu neurons", APART, n=1000),
    Setting("6 relu neurons", WIDE, n=1500),
    Setting("labels, log-odds", ODDS, Free(intercept=True), link="logit", n=3000),
    Setting("labels, unbalanced", RARE, Free(intercept=True), link="logit", n=6000),
    Setting("labels, weighted classes", RARE, Free(intercept=True), link="logit", class_weight=(1.0, 4.0), n=6000),
    Setting("labels, 3 classes", THREE, Free(intercept=True), link="logit", n=3000),
    Setting("labels, mean of neurons", MEAN, link="mean", n=6000),
    Setting("labels, penalised", ODDS, Free(intercept=True), link="logit", alpha=3e-3, n=1500),
    Setting("6 relu neurons, a third of the noise", WIDE, noise=0.1, n=1500),
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
    noise = np.asarray(setting.noise) * rng.standard_normal(f.shape) * np.std(f)
    weight = None
    if setting.uneven:
        noise = (noise.T * np.exp(0.5 * X[:, 0])).T
    if setting.weighted:
        weight = rng.exponential(size=n) + 0.2
    if setting.weighted == "precision":
        noise = (noise.T / np.sqrt(weight)).T
    return X, f + noise, weight


class Fitted(NamedTuple):
    """The problem that was posed, and the estimator that answered."""

    problem: Any
    estimator: Any

    @property
    def kind(self) -> str:
        """The status, or "approximate" where intervals are said to be that."""
        result = self.estimator.result_
        return "approximate" if "intervals are approximate" in result.reason else str(result.status)


def fitted(setting: Setting, seed: int) -> Fitted:
    """A fit to one data set."""
    X, y, weight = drawn(setting, seed)
    teacher, free = setting.teacher, setting.free
    given: dict[str, Any] = {"n_hidden": teacher.n_hidden, "activation": teacher.activation, "random_state": seed}
    problem: Any
    estimator: Any
    if setting.link:
        asked: dict[str, Any] = {"link": setting.link, "alpha": setting.alpha}
        problem = LabelProblem.of(
            X, y, teacher.n_hidden, teacher.activation, free=free, n_classes=max(teacher.n_outputs, 2), **asked
        )
        estimator = PlantedClassifier(
            **given | asked, fit_intercept=free.intercept, class_weight=dict(enumerate(setting.class_weight)) or None
        )
    else:
        problem = Problem.of(X, y, teacher.n_hidden, teacher.activation, free=free, sample_weight=weight)
        estimator = PlantedRegressor(**given, fit_bias=free.bias, fit_intercept=free.intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y, sample_weight=weight)
    return Fitted(problem, estimator)


def true_network(setting: Setting) -> Network:
    """What weights tend to: classes with factors have other log-odds, by the logarithm of these."""
    teacher = setting.teacher
    if not setting.class_weight:
        return teacher
    first, second = setting.class_weight
    return teacher.replace(intercept=teacher.intercept + math.log(second / first))


def covered(setting: Setting, problem: Any, errors: Any, level: float = 0.95) -> np.ndarray:
    """Whether the interval of each parameter with an error holds the teacher's."""
    own = problem.model.canonical(problem.params(true_network(setting)))
    truth = {name: np.array(value) for name, value in own.items()}
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
        known = (errors.errors[name] > 0) & np.isfinite(errors.errors[name])
        hits.append(((low <= truth[name]) & (truth[name] <= high))[known].ravel())
    return np.concatenate(hits)


def wrong_models() -> dict[str, tuple[Callable[[np.ndarray, np.random.Generator], np.ndarray], int]]:
    """Eight kinds of rows that are not from a network of tanh neurons alone, with how many are fitted to them."""
    relu = Network(PLAIN.weights, PLAIN.output, "relu")
    return {
        "too few neurons": (lambda X, rng: PLAIN.predict(X), 1),
        "wrong activation": (lambda X, rng: relu.predict(X), 2),
        "missing intercept": (lambda X, rng: PLAIN.predict(X) + 0.3, 2),
        "missing biases": (lambda X, rng: BIASED.predict(X), 2),
        "missing linear part": (lambda X, rng: PLAIN.predict(X) + 0.3 * X[:, 2], 2),
        "deeper network": (lambda X, rng: np.tanh(2 * PLAIN.predict(X)), 2),
        "interaction": (lambda X, rng: PLAIN.predict(X) + 0.2 * X[:, 0] * X[:, 1], 2),
        "outliers": (lambda X, rng: PLAIN.predict(X) + 2.0 * (rng.random(len(X)) < 0.02), 2),
    }


def power(kind: str, seed: int) -> float:
    """p-value of one data set of a wrong model, noise a third of the signal."""
    signal, n_hidden = wrong_models()[kind]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    f = signal(X, rng)
    y = f + 0.3 * np.std(f) * rng.standard_normal(N)
    problem = Problem.of(X, y, n_hidden, "tanh", random_state=seed)
    return residual_p_value(observations(problem.survey), METHODS["auto"].begin(problem).network)


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
    """By kind of answer, intervals that hold the truth, of how many; p-values; whether all fits say "biased"."""
    runs: dict[str, list[list[int]]] = {}
    values: list[float] = []
    seed, biased, wanted = first + 100_000 * SETTINGS.index(setting), True, tests if setting.name in LEVELS else 0
    count = 0
    while count < intervals or len(values) < wanted:
        fit = fitted(setting, seed)
        errors = fit.estimator.standard_errors_
        hits = covered(setting, fit.problem, errors)
        runs.setdefault(fit.kind, []).append([int(hits.sum()), len(hits)])
        biased = biased and errors.biased
        values.append(fit.estimator.verdict_.p_value)
        seed, count = seed + 1, count + len(hits)
    return {"runs": runs, "biased": biased, "p_values": values}


def measured_power(kind: str, tests: int, first: int) -> dict[str, Any]:
    """p-values of the residual test of a wrong model."""
    return {"p_values": [power(kind, first + seed) for seed in range(max(tests // 6, 20))]}


def coverage_line(name: str, record: dict[str, Any]) -> tuple[str, bool]:
    """What a setting came to, and whether it is outside its limits."""
    words, failed = [], False
    penalised = next(setting for setting in SETTINGS if setting.name == name).alpha
    shown = [run for kind in SHOWN for run in record["runs"].get(kind, ())]
    others = {kind: runs for kind, runs in record["runs"].items() if kind not in SHOWN}
    for kind, runs in (({"shown": shown} if shown else {}) | others).items():
        count, total = (int(number) for number in np.sum(runs, axis=0))
        error = error_between_fits(runs)
        words.append(f"{'' if kind == 'shown' else kind + ' '}{share(count, total, error)} in {len(runs)} fits")
        failed = failed or (kind == "shown" and not penalised and outside(count / total, error, 0.93, 0.97))
    if penalised:
        failed = not record["biased"]
    note = ", says that it is biased" if record["biased"] else ""
    return f"coverage  {name:44s} {'; '.join(words)}{note}", failed


def level_line(name: str, record: dict[str, Any]) -> tuple[str, bool]:
    """Shares of p below 1 %, 10 % and 50 % under the right model, and whether the first is outside its limits."""
    values = np.array(record["p_values"])
    n, words = len(values), []
    for level in (0.01, 0.1, 0.5):
        count = int(np.sum(values < level))
        words.append(f"p < {100 * level:.0f} %: {share(count, n, binomial_error(count, n))}")
    count = int(np.sum(values < 0.01))
    failed = outside(count / n, binomial_error(count, n), 0.005, 0.02)
    return f"level     {name:44s} {', '.join(words)}, uniform with p = {kstest(values, 'uniform').pvalue:.2g}", failed


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
        print(f"power     {name:44s} p < 1 %: {shown}", flush=True)
    return int(failed > 0)


SHOWN = ("estimated", "recovered")
LEVELS = (
    "unweighted",
    "weights unrelated to the noise",
    "weights 1/variance",
    "noise that differs with x",
    "several outputs",
    "several outputs, noise of one a hundredth",
    "several outputs, weights, noise that differs",
    "labels, log-odds",
    "labels, weighted classes",
    "labels, 3 classes",
    "labels, mean of neurons",
)

if __name__ == "__main__":
    sys.exit(main())
