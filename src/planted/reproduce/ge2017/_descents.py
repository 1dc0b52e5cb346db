"""Section 6 of Ge et al. (2017), Figures 1 to 3: descent on fresh samples from random unit rows.

Teacher: identity weights, unit outputs, ReLU, no noise. Errors are those of eq. 6.1 on row-normalised weights, see
:func:`row_error`; losses are expectations minus their minimum, in closed form. A study has arms, each with its own
settings: the main one is the configuration itself, the others change some of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted import activations
from planted.networks import Network
from planted.objectives import (
    Hermite24,
    Landscape,
    Objective,
    PopulationHermite24,
    PopulationLandscape,
    PopulationSquared,
    Squared,
)
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config
from planted.rows import ArrayRows, FreshRows
from planted.rows.moments import without_linear_part
from planted.solvers import (
    Descent,
    FirstOrder,
    Monitor,
    descend,
    lbfgs,
    step_size_cuts,
    traced_descent,
    unit_rows,
)
from planted.starts import random_rows

RECOVERED = 0.02
OUTPUTS_RECOVERED = 0.1
MAIN = "main"
BOTH, WEIGHTS = "both layers", "hidden weights, outputs one"
NONE, LINEAR, QUADRATIC = "none", "constant and linear part of y", "Hermite parts of y up to the second"
RELU = activations.get("relu")


def row_error(B: np.ndarray, signed: bool = False) -> float:
    """Error of eq. 6.1 for the identity teacher, on row-normalised weights, by rows and by columns.

    The larger of the two: as printed, with the smaller, rows that are all equal would have error zero. With
    `signed`, a row that points the wrong way is wrong, as it is for ReLU and the squared loss; f' and G see no signs.

    >>> row_error(np.diag([2.0, -1.0])), row_error(np.array([[1.0, 0.0], [1.0, 0.0]]))
    (0.0, 1.0)
    >>> row_error(np.diag([2.0, -1.0]), signed=True)
    1.0
    """
    rows = np.asarray(B, dtype=np.float64)
    if not np.all(np.isfinite(rows)):
        return 1.0
    Q = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    Q = np.maximum(Q, 0) if signed else np.abs(Q)
    return max(float(1 - Q.max(axis=0).min()), float(1 - Q.max(axis=1).min()))


def _sample(d: int) -> Callable[[jax.Array, int], tuple[jax.Array, jax.Array]]:
    def sample(key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        x = jax.random.normal(key, (n, d), jnp.float32)
        return x, jnp.sum(jnp.maximum(x, 0), axis=1)

    return sample


def _empirical(setting: Config, rows: ArrayRows) -> Objective:
    """The loss of an arm on a batch."""
    if setting["reduction"] == LINEAR:
        rows = without_linear_part(rows)
    match setting["loss"]:
        case "squared":
            return Squared.on(rows, RELU)
        case "f'":
            return Hermite24.on(rows, RELU)
        case "½|z|":
            return Squared.on(rows, activations.get("abs"))
    iterations = 2 if setting["reduction"] == QUADRATIC else 0
    return Landscape.on(rows, RELU, mu=setting["mu"], lam=setting["lam"], iterations=iterations)


def expected_loss(setting: Config) -> tuple[Objective, float]:
    """The expectation of an arm's loss in closed form, up to a constant, and its least value.

    >>> objective, least = expected_loss({"loss": "½|z|", "d": 2})
    >>> round(objective.value({"weights": np.eye(2), "output": np.full(2, 0.5)}) - least, 12)
    0.0
    """
    d = setting["d"]
    teacher, population = Network(np.eye(d), np.ones(d)), PopulationSquared
    match setting["loss"]:
        case "f'":
            hermite = PopulationHermite24(teacher)
            return hermite, hermite.value(np.eye(d))
        case "G":
            G = PopulationLandscape(teacher, setting["mu"], setting["lam"])
            known = G.known_minimum()
            if known is None:
                raise ValueError(f"Theorem 5.1 does not cover μ = {setting['mu']:g}, λ = {setting['lam']:g}")
            return G, known[0]
        case "½|z|":
            # ReLU is ½z + ½|z|, and odd functions of x are orthogonal to even ones.
            return population(Network(np.eye(d), np.full(d, 0.5), "abs")), 0.0
    return population(teacher), 0.0


def _solver(setting: Config) -> FirstOrder:
    rate, steps = setting["rate"], setting["steps"]
    match setting["loss"]:
        case "squared":
            return FirstOrder(optax.sgd(step_size_cuts(rate, setting["first_cut"], setting["cut_every"])))
        case "G":
            hold = 4 * steps // 5
            decay = optax.cosine_decay_schedule(rate, steps - hold)
            return FirstOrder(optax.sgd(optax.join_schedules([optax.constant_schedule(rate), decay], [hold])))
    return FirstOrder(optax.sgd(optax.cosine_decay_schedule(rate, steps)), project=unit_rows)


@cache
def _problem(items: tuple[tuple[str, Any], ...]) -> tuple[Callable[[jax.Array], Objective], FirstOrder]:
    """The loss of fresh samples and its solver, the same objects for every run: they are compiled once a process."""
    setting = dict(items)
    fresh = FreshRows(_sample(setting["d"]), setting["batch"])
    return lambda key: _empirical(setting, fresh.draw(key)), _solver(setting)


def arm(config: Config, name: str) -> Config:
    """The settings of an arm: the configuration, with what the arm changes.

    >>> arm({"d": 50, "others": {"few": {"d": 3}}}, "few")
    {'d': 3}
    """
    plain = {key: value for key, value in config.items() if key != "others"}
    return plain | ({} if name == MAIN else config["others"][name])


def _start(setting: Config, key: jax.Array) -> Any:
    """Random unit rows; learned outputs begin at one, those of f' at random, signs included."""
    d = setting["d"]
    row_key, output_key = jax.random.split(key)
    rows = random_rows(row_key, d, d).astype(jnp.float32)
    if setting["learned"] == WEIGHTS:
        return rows
    random = setting["loss"] == "f'"
    output = jax.random.normal(output_key, (d,), jnp.float32) if random else jnp.ones(d, jnp.float32)
    return {"weights": rows, "output": output}


def measures(setting: Config, params: Any) -> dict[str, float]:
    """Errors of weights and outputs, and the expected loss minus its minimum.

    >>> setting = {"loss": "f'", "d": 2}
    >>> measures(setting, np.eye(2))
    {'error': 0.0, 'output_error': 0.0, 'loss': 0.0}
    """
    objective, least = expected_loss(setting)
    point = jax.tree.map(lambda leaf: np.asarray(leaf, dtype=np.float64), params)
    weights, output = (point["weights"], point["output"]) if isinstance(point, dict) else (point, None)
    unit = 0.5 if setting["loss"] == "½|z|" else 1.0
    off = 0.0 if output is None else float(np.max(np.abs(output / unit - 1)))
    if setting["loss"] == "squared" and output is not None:
        # ReLU keeps a positive factor: an output is known together with its row's length.
        off = float(np.max(np.abs(output * np.linalg.norm(weights, axis=1) - 1)))
        weights = np.sign(output)[:, None] * weights
    error = row_error(weights, signed=setting["loss"] == "squared")
    value = objective.value(point) - least if np.all(np.isfinite(weights)) else np.inf
    return {"error": error, "output_error": off, "loss": float(value)}


def run_arm(setting: Config, seed: int) -> Descent:
    """One descent on fresh samples; `history.error` holds what :func:`measures` says, forty times.

    >>> setting = {"loss": "f'", "d": 4, "batch": 1024, "steps": 200, "rate": 1.0, "learned": WEIGHTS,
    ...            "reduction": LINEAR}
    >>> len(run_arm(setting, 0).history.error)
    40
    """
    start_key, run_key = jax.random.split(jax.random.key(seed))
    problem, solver = _problem(tuple(sorted(setting.items())))
    every = max(1, setting["steps"] // 40)
    watch = Monitor(every=every, measure=partial(measures, setting))
    return descend(problem, _start(setting, start_key), solver, steps=setting["steps"], key=run_key, monitor=watch)


def arms(config: Config) -> list[Cell]:
    """A cell a run of every arm."""
    names = {MAIN: config["runs"]} | {name: changes["runs"] for name, changes in config["others"].items()}
    return [{"arm": name, "run": i} for name, runs in names.items() for i in range(runs)]


def run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    """The rows of one run: step, loss, errors; after the squared loss, what is left when its expectation is minimised.

    >>> from planted.reproduce import find
    >>> entry = find("ge2017/fig2")[0]
    >>> config = entry.config(quick=True) | {"d": 3, "batch": 256, "steps": 40}
    >>> run_cell(config, {"arm": "main", "run": 0}, 0)[-1]["step"]
    40
    """
    setting = arm(config, cell["arm"])
    run = run_arm(setting, seed)
    pairs = zip(run.history.step, run.history.error, strict=True)
    rows = [cell | {"step": step} | measured | {"last": step == run.history.step[-1]} for step, measured in pairs]
    if setting["loss"] == "squared":
        objective, least = expected_loss(setting)
        settled = lbfgs(objective, jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), run.params), steps=3000)
        rows[-1]["settled_loss"] = float(settled.value) - least
    return rows


def gradient_noise(setting: Config, seed: int, batches: int) -> dict[str, float]:
    """How much of a batch's gradient at random unit rows is noise: norms of the error and of the expectation.

    A gradient is the step that descent of rate one takes; of it, what turns the rows.

    >>> setting = {"loss": "G", "d": 3, "batch": 4096, "reduction": NONE, "mu": 0.12, "lam": 0.8}
    >>> noise = gradient_noise(setting, 0, 2)
    >>> noise["noise"] > 0, noise["signal"] > 0
    (True, True)
    """
    d, key = setting["d"], jax.random.key(seed)
    rows = jnp.asarray(random_rows(key, d, d), jnp.float32)
    fresh, unit_step = FreshRows(_sample(d), setting["batch"]), FirstOrder(optax.sgd(1.0))

    def turn(loss: Objective, start: jax.Array) -> jax.Array:
        step = start - traced_descent(loss, start, unit_step, steps=1)[0]
        return step - jnp.sum(step * start, axis=1, keepdims=True) * start

    objective, _ = expected_loss(setting)
    with jax.enable_x64(True):
        true = np.asarray(turn(objective, jnp.asarray(rows, jnp.float64)))
    of_batch = jax.jit(lambda batch_key: turn(_empirical(setting, fresh.draw(batch_key)), rows))
    errors = [np.asarray(of_batch(part), np.float64) - true for part in jax.random.split(key, batches)]
    return {
        "noise": float(np.sqrt(np.mean([np.sum(error**2) for error in errors]))),
        "signal": float(np.linalg.norm(true)),
    }
