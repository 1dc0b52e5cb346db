"""What Du et al. (2017) report, run again: Figure 1b, and how often descent from random starts succeeds."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted.methods import (
    FATES,
    Trajectory,
    conv_descent,
    fate_code,
    leads_to_spurious_minimum,
    leads_to_teacher,
    typical_step,
)
from planted.networks import ConvNetwork
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from
from planted.objectives import PopulationConv, stationary_points, threshold
from planted.plots import plot_two_phases
from planted.reproduce._claims import Claim, claim
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.solvers import FirstOrder, traced_descent
from planted.starts import SIGNS, sign_restarts, uniform_start

_CHUNK = 100
_LABELS = {
    "single": "success, one start",
    "restarts": "success, four signs",
    "trapped": "a sign fails",
    "premises_33": "premises of Theorem 3.3",
}
_SMALL = "small, for a quick look; --full has the printed value"


def draw_target(key: jax.Array, patch_size: int, n_patches: int, ratio: Any) -> tuple[jax.Array, jax.Array]:
    """A unit filter (p,) and outputs (k,) with ‖a*‖ = 1 and (1ᵀa*)² = ratio, otherwise uniform, traceable.

    >>> w, a = draw_target(jax.random.key(0), 3, 4, 2.0)
    >>> round(float(jnp.sum(a) ** 2), 5), round(float(a @ a), 5)
    (2.0, 1.0)
    """
    first, second = jax.random.split(key)
    w = jax.random.normal(first, (patch_size,))
    u = jax.random.normal(second, (n_patches,))
    u = u - jnp.mean(u)
    share = ratio / n_patches
    a = jnp.sqrt(share / n_patches) + jnp.sqrt(jnp.maximum(1 - share, 0.0)) * u / jnp.linalg.norm(u)
    return w / jnp.linalg.norm(w), a


@dataclass(frozen=True)
class Figure1b:
    """A success and a failure of Algorithm 1 from one draw with other signs.

    `trajectory` holds all four restarts; `success` and `failure` index them. `rate` is the factor by which the loss
    falls in an iteration of phase II, `predicted` what the Hessian at the teacher says, `phase_one_end` its first
    iteration. The curves are of the first draw that has both; `fates` are those of every draw, four a draw.
    """

    fates: list[list[str]]
    trajectory: Trajectory
    success: int
    failure: int
    phase_one_end: int
    rate: float
    predicted: float

    def __str__(self) -> str:
        curve = self.trajectory.loss
        rows = [f"{'iteration':>9} {'success':>12} {'failure':>12}"]
        marks = [t for t in (0, 10, 25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000) if t < len(curve)]
        rows += [f"{t:9d} {curve[t, self.success]:12.4e} {curve[t, self.failure]:12.4e}" for t in marks]
        rows.append(
            f"signs of (filter, output): success {SIGNS[self.success]}, failure {SIGNS[self.failure]}; phase I ends "
            f"at iteration {self.phase_one_end}; in phase II the loss falls by a factor {self.rate:.4f} an iteration "
            f"(predicted {self.predicted:.4f})"
        )
        return "\n".join(rows)


@float64
def figure_1b(
    patch_size: int = 20,
    n_patches: int = 25,
    ratio: float = 0.25,
    n_iterations: int = 600,
    step_size: float | None = None,
    random_state: Any = 0,
    draws: int = 10,
) -> Figure1b:
    """Figure 1b: the population loss along Algorithm 1 for p = 20 and k = 25, a success and a failure.

    `draws` draws follow each other from `random_state`, four signs each; the first that ends in both minima is shown.
    `ratio` is (1ᵀa*)²/‖a*‖², which the paper does not state.

    >>> figure_1b(draws=3).phase_one_end > 10
    True
    """
    shown, ends = None, []
    for key in jax.random.split(key_from(random_state), draws):
        target_key, start_key = jax.random.split(key)
        w, a = draw_target(target_key, patch_size, n_patches, ratio)
        teacher = ConvNetwork(w, a)
        radius = jnp.sqrt(ratio / n_patches)
        starts = sign_restarts(uniform_start(start_key, patch_size, n_patches, radius))
        eta = float(typical_step(ratio**0.5, 1.0, n_patches)) if step_size is None else float(step_size)
        run = conv_descent(PopulationConv(teacher), starts, eta, n_iterations, teacher)
        ends.append(run.fates)
        if shown is None and {"global minimum", "spurious minimum"} <= set(run.fates):
            shown = run
    if shown is None:
        raise ValueError(
            f"no draw out of {draws} ends in both minima within {n_iterations} iterations at the ratio {ratio:g}; take "
            "a smaller ratio or more iterations"
        )
    good, bad = (shown.fates.index(fate) for fate in FATES[:2])
    rate, predicted = shown.phase_two_rate(good), shown.predicted_rate(good)
    return Figure1b(ends, shown, good, bad, int(shown.phase_one_end[good]), rate, predicted)


@dataclass(frozen=True)
class Frequencies:
    """How descents from `draws` random teachers and starts ended, at one (p, k) and ratio (1ᵀa*)²/‖a*‖².

    `single` is the frequency of success of the first start alone and `restarts` that of the best of its four signs;
    `spurious` is the frequency of the spurious minimum for a single start, `trapped` that at least one of the four
    signs ends there; `moving` counts descents that had not ended after `iterations`. `premises_31` and `premises_33`
    are the frequencies with which one of the four signs has the premises of Theorem 3.1 and 3.3, `broken_31` and
    `broken_33` how many starts that have them end elsewhere than the theorem says.
    """

    patch_size: int
    n_patches: int
    ratio: float
    draws: int
    single: float
    restarts: float
    spurious: float
    trapped: float
    premises_31: float
    premises_33: float
    broken_31: int
    broken_33: int
    moving: int
    iterations: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"p={self.patch_size:4d} k={self.n_patches:4d} ratio={self.ratio:<8.4g} success: single {self.single:.3f}, "
            f"four signs {self.restarts:.3f}; spurious: single {self.spurious:.3f}, any sign {self.trapped:.3f}; "
            f"moving {self.moving} ({self.iterations} iterations, {self.seconds:.1f} s)"
        )


@partial(jax.jit, static_argnames=("patch_size", "n_patches"))
def _draw(keys: jax.Array, patch_size: int, n_patches: int, ratio: jax.Array) -> tuple[Any, Any]:
    def one(key: jax.Array) -> tuple[Any, Any]:
        target_key, start_key = jax.random.split(key)
        start = uniform_start(start_key, patch_size, n_patches, jnp.sqrt(ratio / n_patches))
        return draw_target(target_key, patch_size, n_patches, ratio), sign_restarts(start)

    return jax.vmap(one)(keys)


@jax.jit
def _advance(losses: PopulationConv, params: Any, eta: jax.Array) -> tuple[Any, jax.Array]:
    """`_CHUNK` iterations of every restart of every draw, and where each is then."""

    def one(loss: PopulationConv, start: Any) -> tuple[Any, jax.Array]:
        w, b = loss.filter, loss.output
        opposite = (jnp.pi * jnp.sum(b) / (b.shape[0] + jnp.pi - 1) - b) / (jnp.pi - 1)
        last, _ = traced_descent(loss, start, FirstOrder(optax.sgd(eta)), steps=_CHUNK, record_every=_CHUNK)
        return last, fate_code(last["filter"], last["output"], w, b, opposite)

    return jax.vmap(lambda loss, four: jax.vmap(lambda start: one(loss, start))(four))(losses, params)


@float64
def success_frequencies(
    patch_size: int,
    n_patches: int,
    ratio: float,
    draws: int = 1000,
    max_iterations: int = 20_000,
    random_state: Any = 0,
) -> Frequencies:
    """Theorems 3.1 to 3.3 counted: Algorithm 1 on the population loss from many starts, four signs each, side by side.

    >>> study = success_frequencies(5, 4, 0.5, draws=50)
    >>> study.restarts, study.moving
    (1.0, 0)
    """
    if not 0 < ratio <= n_patches:
        raise ValueError(f"the ratio (1ᵀa*)²/‖a*‖² lies between 0 and k = {n_patches}, not {ratio!r}")
    if n_patches < 2:
        raise ValueError("with one patch the ratio is always 1: take n_patches of at least 2")
    began = time.perf_counter()
    targets, params = _draw(
        jax.random.split(key_from(random_state), draws), patch_size, n_patches, jnp.asarray(float(ratio))
    )
    nets = [ConvNetwork(w, a) for w, a in zip(*map(np.asarray, targets), strict=True)]
    fours = list(zip(np.asarray(params["filter"]), np.asarray(params["output"]), strict=True))
    losses = [PopulationConv(net) for net in nets]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *losses)
    eta = typical_step(ratio**0.5, 1.0, n_patches)
    done, codes = 0, np.full((draws, len(SIGNS)), FATES.index("still moving"))
    while done < max_iterations and np.any(codes == FATES.index("still moving")):
        params, fate = _advance(stacked, params, eta)
        codes, done = np.asarray(fate), done + _CHUNK
    good, bad, moving = (codes == index for index in range(len(FATES)))
    to_teacher, to_spurious = (
        np.array(
            [[holds(net, v, a) for v, a in zip(*four, strict=True)] for net, four in zip(nets, fours, strict=True)]
        )
        for holds in (leads_to_teacher, leads_to_spurious_minimum)
    )
    return Frequencies(
        patch_size, n_patches, float(ratio), draws, single=float(good[:, 0].mean()),
        restarts=float(good.any(axis=1).mean()), spurious=float(bad[:, 0].mean()),
        trapped=float(bad.any(axis=1).mean()), premises_31=float(to_teacher.any(axis=1).mean()),
        premises_33=float(to_spurious.any(axis=1).mean()), broken_31=int(np.sum(to_teacher & ~good)),
        broken_33=int(np.sum(to_spurious & ~bad)), moving=int(moving.sum()), iterations=done,
        seconds=time.perf_counter() - began,
    )  # fmt: skip


def _one(config: Config) -> list[Cell]:
    return [{"p": config["p"], "k": config["k"]}]


def _two_phases(config: Config, cell: Cell, seed: int) -> Rows:
    sizes = config["p"], config["k"], config["ratio"], config["iterations"]
    figure = figure_1b(*sizes, random_state=seed, draws=config["draws"])
    run = figure.trajectory
    summary = {
        "draws": len(figure.fates),
        "draws_with_both": sum(set(FATES[:2]) <= set(four) for four in figure.fates),
        "still_moving": sum(four.count("still moving") for four in figure.fates),
        "step_size": float(run.step_size),
        "phase_one_end": figure.phase_one_end,
        "rate": figure.rate,
        "predicted_rate": figure.predicted,
        "spurious_loss": float(stationary_points(run.teacher)[-1].value),
    }
    return [
        {
            "outcome": outcome,
            "signs": str(SIGNS[index]),
            "fate": run.fates[index],
            "iteration": t,
            "loss": float(run.loss[t, index]),
            "angle": float(np.degrees(run.angle[t, index])),
        }
        | summary
        for outcome, index in (("success", figure.success), ("failure", figure.failure))
        for t in range(len(run.loss))
    ]


def _outcomes(rows: Rows) -> tuple[Rows, Rows]:
    good, bad = ([row for row in rows if row["outcome"] == outcome] for outcome in ("success", "failure"))
    return good, bad


def _two_phase_claims(config: Config, rows: Rows) -> list[Claim]:
    good, bad = _outcomes(rows)
    end, rate, predicted = good[0]["phase_one_end"], good[0]["rate"], good[0]["predicted_rate"]
    slow = (good[end]["loss"] / good[0]["loss"]) ** (1 / max(end, 1))
    gap = bad[-1]["loss"] / bad[0]["spurious_loss"] - 1
    draws, both, moving = (good[0][name] for name in ("draws", "draws_with_both", "still_moving"))
    return [
        claim("signs of one draw decide between success and failure", "one of each",
              f"both in {both} of {draws} draws, {moving} of {4 * draws} descents still moving",
              2 * both > draws and moving == 0,
              f"shown are signs {good[0]['signs']} and {bad[0]['signs']} of the first of them"),
        claim("a slow first phase", "the loss hardly falls at first",
              f"a factor {slow:.4f} an iteration until phase I ends at iteration {end}",
              math.log(slow) > math.log(rate) / 4),
        claim("a linear second phase", "a straight line on a logarithmic axis",
              f"a factor {rate:.4f} an iteration, fitted; the Hessian at the teacher says {predicted:.4f}",
              abs(math.log(rate) / math.log(predicted) - 1) < 0.05),
        claim("the failure stays at the spurious minimum", "the loss stays away from zero",
              f"{100 * gap:.2f} % above the loss of Lemma 4.1's point", 0 < gap < 0.1,
              "it nears that point like 1/t in the angle, not linearly; see the errata"),
    ]  # fmt: skip


def _draw_two_phases(config: Config, rows: Rows, picture: Any) -> None:
    left, right = picture.subplots(1, 2)
    good, bad = _outcomes(rows)
    steps = np.array([row["iteration"] for row in good])
    losses, angles = (np.array([[row[name] for row in curve] for curve in (good, bad)]).T for name in ("loss", "angle"))
    plot_two_phases(steps, losses, ["success", "failure"], left, phase_one_end=good[0]["phase_one_end"])
    right.plot(steps, angles, label=["success", "failure"])
    right.set(xlabel="iteration", ylabel="angle to the teacher's filter (degrees)")
    right.legend(frameon=False)


def _settings(config: Config) -> list[Cell]:
    """One cell a size and ratio; a ratio of None stands for k, the largest there is."""
    return [
        {"p": p, "k": k, "ratio": float(k if ratio is None else ratio)}
        for p, k in config["sizes"]
        for ratio in config["ratios"]
    ]


def _frequencies(config: Config, cell: Cell, seed: int) -> Rows:
    frequencies = asdict(success_frequencies(cell["p"], cell["k"], cell["ratio"], config["draws"], random_state=seed))
    return [{name: value for name, value in frequencies.items() if name != "seconds"}]


def _of_size(rows: Rows, k: int) -> Rows:
    return [row for row in rows if row["n_patches"] == k]


def _frequency_claims(config: Config, rows: Rows) -> list[Claim]:
    draws, sizes = config["draws"], config["sizes"]
    # Two standard errors of a frequency of one quarter, and of a difference of two frequencies of any size.
    slack, difference = 2 * math.sqrt(0.25 * 0.75 / draws), 2 * math.sqrt(0.5 / draws)
    single, restarts = min(row["single"] for row in rows), min(row["restarts"] for row in rows)
    trapped = [[row["trapped"] for row in _of_size(rows, k)] for _, k in sizes]
    falling = all(one >= two - difference for row in trapped for one, two in itertools.pairwise(row))
    absent = max(row["trapped"] for row in rows if row["ratio"] > threshold(row["n_patches"]))
    shares = [f"k = {k}: " + ", ".join(f"{x:.2f}" for x in row) for (_, k), row in zip(sizes, trapped, strict=True)]
    small = [row for row in rows if row["ratio"] == min(config["ratios"], key=lambda ratio: ratio or math.inf)]
    least, allowed = min(row["premises_33"] for row in small), min(row["premises_31"] for row in rows)
    broken = [sum(row[name] for row in rows) for name in ("broken_31", "broken_33")]
    return [
        claim("a random start succeeds (Theorem 3.2)", "with probability at least 1/4",
              f"frequency {single:.3f} in the worst of {len(rows)} settings, {draws} draws each",
              single >= 0.25 - slack,
              f"{0.25 - slack:.3f} would do, two standard errors less"),
        claim("one of four signs succeeds (Theorem 3.2)", "always", f"frequency {restarts:.3f}", restarts == 1.0),
        claim("one of four signs has the premises of Theorem 3.1, and all that have them succeed", "always",
              f"frequency {allowed:.3f}; {broken[0]} end elsewhere", allowed == 1.0 and broken[0] == 0,
              "with a typical step; du2017/theorem3.1 takes the theorem's"),
        claim("failure grows likely as (1ᵀa*)²/‖a*‖² shrinks (Theorem 3.3)", "probability towards 1 that a sign fails",
              "; ".join(shares), falling and min(row[0] for row in trapped) > 0.9),
        claim("there a sign has the premises of Theorem 3.3, and all that have them fail", "probability towards 1",
              f"frequency {least:.3f} at the smallest ratio; {broken[1]} end elsewhere",
              least > 0.9 and broken[1] == 0),
        claim("no start fails above the ratio (k + π − 1)/π", "Lemma 4.1 corrected", f"frequency {absent:g}",
              absent == 0.0),
    ]  # fmt: skip


def _draw_frequencies(config: Config, rows: Rows, picture: Any) -> None:
    panels = np.atleast_1d(picture.subplots(1, len(config["sizes"])))
    for axis, (p, k) in zip(panels, config["sizes"], strict=True):
        mine = _of_size(rows, k)
        for name, label in _LABELS.items():
            axis.semilogx([row["ratio"] for row in mine], [row[name] for row in mine], "o-", label=label)
        axis.axvline(threshold(k), color="grey", linestyle=":", label="(k + π − 1)/π")
        axis.set(title=f"p = {p}, k = {k}", xlabel="(1ᵀa*)²/‖a*‖²", ylim=(-0.05, 1.05))
        axis.legend(frameon=False, fontsize=7)


ENTRIES = (
    Entry(
        "du2017/fig1", "two phases of descent, and the spurious minimum (Figure 1b)",
        quick={"p": 8, "k": 10, "ratio": 0.25, "iterations": 600, "draws": 4},
        full={"p": 20, "k": 25, "ratio": 0.25, "iterations": 1000, "draws": 20},
        cells=_one, run_cell=_two_phases, claims=_two_phase_claims, draw=_draw_two_phases, seed_by=(),
        printed={
            "p": Printed("inputs of a patch", 20, _SMALL), "k": Printed("patches", 25, _SMALL),
            "ratio": Printed("(1ᵀa*)²/‖a*‖²", None, "not stated"),
            "iterations": Printed("iterations", None, "the axis of Figure 1b has no numbers in the text"),
            "draws": Printed("draws", 1, "several, so that having both fates can fail"),
        },
    ),
    Entry(
        "du2017/theorems", "how often descent succeeds, with and without four restarts (Theorems 3.2 and 3.3)",
        quick={"sizes": [[6, 8]], "ratios": [0.001, 1.0, None], "draws": 400},
        full={"sizes": [[5, 4], [20, 25], [100, 50]], "ratios": [1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, None], "draws": 1000},
        cells=_settings, run_cell=_frequencies, claims=_frequency_claims, draw=_draw_frequencies,
    ),
)  # fmt: skip
