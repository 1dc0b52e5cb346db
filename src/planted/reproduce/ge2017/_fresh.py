"""Corollary 2.4 of Ge et al. (2017), and the same for F and L: stochastic descent with fresh samples at every step.

Each loss is an average over new rows that has the right expectation whatever their number: G and F for Gaussian inputs,
F with its norm from two independent halves of the batch, L for independent logistic inputs. Steps shrink in the end.
From y a quadratic is taken that was fitted once, on other rows, which leaves the expectation of G and L as it is; F
needs the quadratic part of y, and gets y itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted import activations
from planted.datasets import make_planted
from planted.inputs import Gaussian, Logistic
from planted.networks import Network
from planted.objectives import (
    Landscape,
    Objective,
    PopulationFullRankLandscape,
    PopulationLandscape,
    PopulationScoreLandscape,
    ScoreLandscape,
    TwoSampleFullRankLandscape,
    read_off,
    whitening,
)
from planted.reproduce._claims import Claim, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.ge2017._descents import RECOVERED
from planted.rows import FreshRows
from planted.solvers import FirstOrder, Monitor, descend
from planted.starts import random_rows

LOSSES = ("G", "F", "L")
RELU = activations.get("relu")
_QUADRATIC_ROWS = 20_000


def fresh_teacher(loss: str, d: int) -> Network:
    """Identity rows and unit outputs; for F, correlated rows and outputs between 1 and 2.

    >>> fresh_teacher("G", 2).weights
    array([[1., 0.],
           [0., 1.]])
    """
    if loss != "F":
        return Network(np.eye(d), np.ones(d))
    output = np.linspace(1.0, 2.0, d)
    return make_planted(10, d, d, weights="correlated", output=output, condition_number=1.5, random_state=0).teacher


def population(loss: str, teacher: Network) -> Any:
    """The expectation of a loss.

    >>> population("L", fresh_teacher("L", 2)).kappa.round(3)
    array([0.125, 0.125])
    """
    if loss == "L":
        return PopulationScoreLandscape(teacher, Logistic(teacher.n_features))
    return (PopulationLandscape if loss == "G" else PopulationFullRankLandscape)(teacher)


def _quadratic(loss: str, teacher: Network) -> np.ndarray:
    """Coefficients of 1, x and x_i x_j (i ≤ j) of the best quadratic of y on rows of its own; zero for F."""
    d = teacher.n_features
    law = Logistic(d) if loss == "L" else Gaussian(np.zeros(d))
    X = law.sample(_QUADRATIC_ROWS, random_state=1)
    fitted = np.linalg.lstsq(np.asarray(_features(jnp.asarray(X))), teacher.predict(X), rcond=None)[0]
    return np.zeros_like(fitted) if loss == "F" else fitted


def _features(x: jax.Array) -> jax.Array:
    above = np.triu_indices(x.shape[1])
    return jnp.concatenate([jnp.ones((len(x), 1), x.dtype), x, x[:, above[0]] * x[:, above[1]]], axis=1)


def _source(loss: str, teacher: Network, batch: int) -> FreshRows:
    weights, output = (jnp.asarray(part, jnp.float32) for part in (teacher.weights, teacher.output))
    taken = jnp.asarray(_quadratic(loss, teacher), jnp.float32)
    draw = jax.random.logistic if loss == "L" else jax.random.normal

    def sample(key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        x = draw(key, (n, teacher.n_features), jnp.float32)
        return x, RELU(x @ weights.T) @ output - _features(x) @ taken

    return FreshRows(sample, batch)


@cache
def _problem(loss: str, d: int, batch: int, steps: int, rate: float) -> tuple[Callable[..., Objective], FirstOrder]:
    """The loss of fresh samples and its solver, the same objects for every run: they are compiled once a process."""
    teacher = fresh_teacher(loss, d)
    fresh, exact = _source(loss, teacher, batch), population(loss, teacher)
    mu, lam = exact.constants.mu, exact.constants.lam

    def on(key: jax.Array) -> Objective:
        rows = fresh.draw(key)
        if loss == "L":
            return ScoreLandscape.on(rows, Logistic(d), mu, lam)
        if loss == "F":
            return TwoSampleFullRankLandscape.on(rows, RELU, mu, lam)
        return Landscape.on(rows, RELU, mu, lam, iterations=0)

    hold = steps // 2
    decay = optax.cosine_decay_schedule(rate / lam, steps - hold)
    return on, FirstOrder(optax.sgd(optax.join_schedules([optax.constant_schedule(rate / lam), decay], [hold])))


def direction_error(loss: str, teacher: Network, params: np.ndarray) -> float:
    """Largest 1 − |cosine| of a teacher row and the row nearest to it, or of a row and the teacher row nearest to it.

    >>> direction_error("G", fresh_teacher("G", 2), np.array([[0.0, -3.0], [1.0, 0.0]]))
    0.0
    """
    point = np.asarray(params, np.float64)
    if not np.all(np.isfinite(point)):
        return 1.0
    rows = read_off(point)[0] if loss == "F" else point / np.linalg.norm(point, axis=1, keepdims=True)
    cosine = np.abs(rows @ (teacher.weights / np.linalg.norm(teacher.weights, axis=1, keepdims=True)).T)
    return float(1 - min(cosine.max(axis=0).min(), cosine.max(axis=1).min()))


def _cells(config: Config) -> list[Cell]:
    return [{"loss": loss, "run": i} for loss in LOSSES for i in range(config["runs"])]


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    loss, d = cell["loss"], config["d"]
    teacher = fresh_teacher(loss, d)
    problem, solver = _problem(loss, d, config["batch"], config["steps"], config["rate"])
    start_key, run_key = jax.random.split(jax.random.key(seed))
    start = random_rows(start_key, d, d)
    if loss == "F":
        start = start @ whitening(np.asarray(population("F", teacher).T), d).T
    watch = Monitor(
        every=max(1, config["steps"] // 40),
        measure=lambda params: {"error": direction_error(loss, teacher, np.asarray(params))},
    )
    run = descend(problem, jnp.asarray(start, jnp.float32), solver, steps=config["steps"], key=run_key, monitor=watch)
    last = run.history.step[-1]
    pairs = zip(run.history.step, run.history.error, strict=True)
    return [cell | {"step": step, "error": measured["error"], "last": step == last} for step, measured in pairs]


def _claims(config: Config, rows: Rows) -> list[Claim]:
    paper = {
        "G": "Corollary 2.4",
        "F": "Theorem A.4 would give it",
        "L": "Theorem 2 of Gao et al. (2018) would give it",
    }
    claims = []
    for loss in LOSSES:
        errors = [row["error"] for row in select(rows, loss=loss, last=True)]
        right = sum(error < RECOVERED for error in errors)
        claims.append(
            claim(
                f"stochastic descent on {loss} with fresh samples comes close to the teacher",
                paper[loss],
                f"{right} of {len(errors)} runs, errors {min(errors):.2g} to {max(errors):.2g}",
                right == len(errors),
            )
        )
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    axis = figure.subplots()
    for number, loss in enumerate(LOSSES):
        for i in sorted({row["run"] for row in select(rows, loss=loss)}):
            mine = select(rows, loss=loss, run=i)
            label = loss if i == 0 else None
            axis.semilogy([r["step"] for r in mine], [max(r["error"], 1e-7) for r in mine], f"C{number}", label=label)
    axis.axhline(RECOVERED, color="grey", linestyle=":", label=f"{RECOVERED} counts as recovered")
    axis.set(xlabel="step", ylabel="largest 1 − |cosine| of a row")
    axis.legend(frameon=False)


ENTRIES = (
    Entry(
        "ge2017/corollary2.4",
        "fresh samples at every step, for G, F and L",
        quick={"d": 3, "batch": 16_384, "steps": 400, "rate": 0.08, "runs": 1},
        full={"d": 5, "batch": 131_072, "steps": 800, "rate": 0.08, "runs": 5},
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
        printed={
            "d": Printed("inputs and neurons d = m", None, "the corollary is about any"),
            "batch": Printed("rows a step", None, "poly(d, 1/ε)"),
            "steps": Printed("steps", None, "poly(d, 1/ε)"),
            "rate": Printed("first step size times λ", None, "not stated in the paper"),
        },
    ),
)
