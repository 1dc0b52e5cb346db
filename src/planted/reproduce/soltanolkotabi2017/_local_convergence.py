r"""Theorem 2.5 of Soltanolkotabi et al. (2017): gradient descent on both layers near an over-parameterised teacher.

Teachers have unit outputs and weights of chosen singular values: one large one along 1/√k, so that rows have about unit
length, and all others equal to σ_min. Constants of section 7.3 are measured on the rows
(:func:`planted.certificates.local_constants`): the step is α = 1/β, starts lie inside the radii. From a random start
the loss is held to (1 − α m_L/2)^t in every step. From the slowest start inside the radii, whose residuals lie along
the eigenvector of the least eigenvalue of JJᵀ, the rate shows from the first step on; it is what the theorem bounds:

    1 − rate ≥ c α d/n   as printed,      1 − rate ≥ c α σ_min²(W*) d²/n   as equation 7.44 gives.

With n/d² fixed the first falls like 1/d and the second does not depend on d; only the second falls with σ_min.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from planted.certificates import local_constants, local_theorem, slowest_direction
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.objectives import Squared
from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._store import Rows
from planted.reproduce._study import Cell, Config, Entry
from planted.reproduce.soltanolkotabi2017._random_labels import losses_along

_POINTS = 50
_RESAMPLES = 200
_ROUNDED = 1e-3
"""Residuals of which rounding is a larger share do not show a rate."""


def spiked_teacher(d: int, k: int, sigma: float, activation: str, rng: np.random.Generator) -> Network:
    """Unit outputs; weights (k, d), k ≥ d, with d − 1 singular values σ and one that makes the rows' mean square one.

    >>> teacher = spiked_teacher(4, 6, 0.5, "softplus", np.random.default_rng(0))
    >>> np.linalg.svd(teacher.weights, compute_uv=False).round(6).tolist()
    [2.291288, 0.5, 0.5, 0.5]
    """
    left = rng.standard_normal((k, d))
    left[:, 0] = 1.0
    values = np.full(d, float(sigma))
    values[0] = max(k - (d - 1) * sigma**2, sigma**2) ** 0.5
    right = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Network((np.linalg.qr(left)[0] * values) @ right.T, np.ones(k), activation)


def _inside(direction: dict[str, np.ndarray], weights: float, output: float) -> dict[str, np.ndarray]:
    """`direction` scaled to lie inside the radii 2.4 and 2.5."""
    scale = min(weights / np.linalg.norm(direction["weights"]), output / np.max(np.abs(direction["output"])))
    return {name: scale * part for name, part in direction.items()}


@float64
def local_rates(activation: str, d: int, k: int, n: int, sigma: float, steps: int, random_state: Any) -> dict[str, Any]:
    """One teacher and one set of rows: constants, the rate from the slowest start, the bound from a random one.

    >>> row = local_rates("softplus", 6, 6, 8, 1.0, 500, 0)
    >>> row["bounded"], abs((1 - row["rate"]) / (1 - row["predicted"]) - 1) < 0.05
    (True, True)
    """
    rng = np.random.default_rng(random_state)
    teacher = spiked_teacher(d, k, sigma, activation, rng)
    X = rng.standard_normal((n, d))
    loss = Squared(X, teacher.predict(X), teacher.activation)
    constants, theorem = local_constants(X, teacher), local_theorem(teacher, n)
    step, centre = 1 / constants.smoothness, {"weights": teacher.weights, "output": teacher.output}
    radii = constants.weights_radius, constants.output_radius
    slowest = slowest_direction(X, teacher)
    random = {name: rng.standard_normal(part.shape) for name, part in centre.items()}
    starts = [
        {name: part + inside[name] for name, part in centre.items()}
        for inside in (_inside(direction, *radii) for direction in (slowest, random))
    ]
    stacked = {name: np.stack([start[name] for start in starts]) for name in centre}
    every = max(steps // _POINTS, 1)
    along = np.asarray(losses_along(loss, to_jax(stacked), step, steps, every))
    times = every * np.arange(1, along.shape[1] + 1)
    first = np.array([loss.value(start) for start in starts])
    bound = first[1] * (1 - step * constants.lower / 2) ** times
    # Residuals of the slowest start are J times the change; ‖Jᵀu‖² is the least eigenvalue of JJᵀ.
    least = sum(float(np.sum(part**2)) for part in slowest.values())
    live = along[0] > 1e-8 * first[0]
    slope = np.polyfit(times[live], np.log(along[0][live]), 1)[0]
    return {
        "activation": activation, "d": d, "k": k, "n": n, "sigma": sigma, "step": step, "rate": float(np.exp(slope)),
        "predicted": float((1 - step * least / n) ** 2), "bounded": bool(np.all(along[1] <= bound * (1 + 1e-6))),
        "printed": theorem.printed_rate, "corrected": theorem.rate, "limit": theorem.sample_limit,
        "weights_radius": constants.weights_radius, "output_radius": constants.output_radius,
        "rounding": float(np.finfo(np.float64).eps * np.max(np.abs(teacher.predict(X))) / np.sqrt(2 * first[0])),
    }  # fmt: skip


def _cells(config: Config) -> list[Cell]:
    """A base setting, and others that change one thing: σ_min, k, n, and d with n/d² fixed."""
    base = config["base"]
    cells = [{"sweep": "sigma", **base, "sigma": sigma} for sigma in config["sigmas"]]
    cells += [{"sweep": "k", **base, "k": k} for k in config["widths"]]
    cells += [{"sweep": "n", **base, "n": n} for n in config["rows"]]
    cells += [{"sweep": "d", **base, "d": d, "k": d, "n": round(config["density"] * d**2)} for d in config["inputs"]]
    return [{"activation": name} | cell for name in config["activations"] for cell in cells]


def _run(config: Config, cell: Cell, seed: int) -> Rows:
    sizes = {name: value for name, value in cell.items() if name != "sweep"}
    return [
        {"sweep": cell["sweep"], "trial": trial}
        | local_rates(**sizes, steps=config["steps"], random_state=[seed, trial])
        for trial in range(config["trials"])
    ]


def constants_of(rows: Rows, rate: str) -> dict[tuple[Any, ...], float]:
    """c = (1 − rate)/(α · d/n) or over σ²d²/n, the median over trials, by setting.

    >>> row = {"d": 1, "k": 1, "n": 1, "sigma": 1.0, "rate": 0.5, "step": 0.25, "printed": 2.0}
    >>> constants_of([row], "printed")
    {(1, 1, 1, 1.0): 1.0}
    """
    constants: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        setting = row["d"], row["k"], row["n"], row["sigma"]
        constants.setdefault(setting, []).append((1 - row["rate"]) / (row["step"] * row[rate]))
    return {setting: float(np.median(values)) for setting, values in constants.items()}


def exponent(rows: Rows, name: str) -> float:
    """Slope of log (1 − rate)/α, its median over trials, against the logarithm of a column.

    >>> rows = [{"d": 1, "rate": 0.0, "step": 1.0}, {"d": 2, "rate": 0.75, "step": 1.0}]
    >>> round(exponent(rows, "d"), 6)
    -2.0
    """
    x = sorted({row[name] for row in rows})
    y = [np.median([(1 - row["rate"]) / row["step"] for row in rows if row[name] == value]) for value in x]
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


class Power:
    """The exponent of (1 − rate)/α in a column, with its standard error from resampling the trials.

    >>> rows = [{"d": d, "rate": 1 - d**-2.0, "step": 1.0, "trial": t} for d in (2, 4) for t in range(3)]
    >>> power = Power(rows, "d")
    >>> str(power), power.agrees(-2, -1), power.agrees(-1, -2)
    ('d^−2.00 ± 0.00', True, False)
    """

    def __init__(self, rows: Rows, name: str) -> None:
        self.name, self.value = name, exponent(rows, name)
        by_trial: dict[int, Rows] = {}
        for row in rows:
            by_trial.setdefault(row["trial"], []).append(row)
        trials, rng = list(by_trial.values()), np.random.default_rng(0)
        picks = rng.integers(len(trials), size=(_RESAMPLES, len(trials)))
        self.error = float(np.std([exponent([row for i in pick for row in trials[i]], name) for pick in picks]))

    def agrees(self, stated: int, other: int) -> bool:
        """Whether it is less than half-way from the `stated` power to the `other`, with two standard errors to spare.

        Two formulas differ in a power; nothing else says how near is near enough.
        """
        return abs(self.value - stated) + 2 * self.error < abs(stated - other) / 2

    def at_least(self, stated: int) -> bool:
        """Whether it is less than half-way to the next whole power below, with two standard errors to spare."""
        return self.value - 2 * self.error > stated - 0.5

    def __str__(self) -> str:
        return f"{self.name}^{self.value:.2f} ± {self.error:.2f}".replace("-", "−")


def _spread(rows: Rows, rate: str) -> str:
    values = constants_of(rows, rate).values()
    return f"c from {min(values):.2g} to {max(values):.2g}"


def _claims(config: Config, rows: Rows) -> list[Claim]:
    claims = []
    clear = [row for row in rows if row["rounding"] < _ROUNDED]
    worst = max((abs((1 - row["rate"]) / (1 - row["predicted"]) - 1) for row in clear), default=np.inf)
    bounded = sum(row["bounded"] for row in rows)
    radii = [row["weights_radius"] for row in rows]
    claims += [
        claim("from a random start inside the radii the loss falls at least like (1 − α m_L/2)^t, α = 1/β",
              "every step", f"{bounded} of {len(rows)} descents, {config['steps']:,} steps each", bounded == len(rows),
              f"constants of section 7.3 measured on the rows; radii of weights {min(radii):.1e} to {max(radii):.1e}"),
        claim("the slowest start's rate is that of the least singular value of the Jacobian, all n", "(1 − ασ²/n)²",
              f"1 − rate within {worst:.2%} in {len(clear)} of {len(rows)} descents",
              worst < 0.05 and len(clear) >= 0.95 * len(rows),
              "in the others the residuals inside the radii are rounding"),
    ]  # fmt: skip
    for name in config["activations"]:
        mine = select(rows, activation=name)
        sweeps = {kind: select(mine, sweep=kind) for kind in ("sigma", "k", "n", "d")}
        by_sigma, by_inputs, by_rows, by_width = (Power(sweeps[column], column) for column in ("sigma", "d", "n", "k"))
        claims += [
            claim(f"{name}: the rate is 1 − c α d/n with one c, whatever σ_min(W*)", "Theorem 2.5, Remark 2.6",
                  _spread(sweeps["sigma"], "printed"), by_sigma.agrees(0, 2),
                  explanation=Explanation(
                      "equation 7.44 has σ_min²(W*), which 7.59 drops; see the errata",
                      f"1 − rate goes like {by_sigma}; with σ_min² {_spread(sweeps['sigma'], 'corrected')}",
                      by_sigma.agrees(2, 0))),
            claim(f"{name}: with n/d² fixed the rate does not depend on d", "d²/n (eq. 7.44), not d/n",
                  str(by_inputs), by_inputs.agrees(0, -1), "as printed it would be d^−1"),
            claim(f"{name}: more neurons do not slow it down, k ≥ d", "σ_min² d²/n whatever k", str(by_width),
                  by_width.at_least(0), _spread(sweeps["k"], "corrected")),
            claim(f"{name}: at fixed d the rate falls like 1/n", "d ≤ n ≤ c₀d²", str(by_rows), by_rows.agrees(-1, 0),
                  explanation=Explanation(
                      "c₀ of equation 2.3 is smaller than n/d² here: c falls as n/d² grows, whatever d",
                      _by_density(mine), _falls_with_density(mine) and by_inputs.agrees(0, -1))),
        ]  # fmt: skip
    return claims


def _densities(rows: Rows) -> dict[float, list[float]]:
    """Constants of the corrected rate at σ_min = 1 and k = d, by n/d²."""
    plain = [row for row in rows if row["sigma"] == 1 and row["k"] == row["d"]]
    out: dict[float, list[float]] = {}
    for (d, _, n, _), value in constants_of(plain, "corrected").items():
        out.setdefault(round(n / d**2, 2), []).append(value)
    return dict(sorted(out.items()))


def _by_density(rows: Rows) -> str:
    return "c = " + ", ".join(
        f"{'/'.join(f'{value:.2g}' for value in values)} at n = {density:g} d²"
        for density, values in _densities(rows).items()
    )


def _falls_with_density(rows: Rows) -> bool:
    """Whether every c at a larger n/d² is below every c at a smaller one."""
    groups = list(_densities(rows).values())
    return len(groups) > 1 and all(max(after) < min(before) for before, after in itertools.pairwise(groups))


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    labels = {"sigma": "σ_min(W*)", "k": "k", "n": "n", "d": "d, n/d² fixed"}
    for axis, (sweep, label) in zip(figure.subplots(1, len(labels)), labels.items(), strict=True):
        for index, name in enumerate(config["activations"]):
            mine = select(rows, activation=name, sweep=sweep)
            speed = [(1 - row["rate"]) / row["step"] for row in mine]
            axis.loglog([row[sweep] for row in mine], speed, "o", color=f"C{index}", markersize=3, label=name)
            for rate, style in (("corrected", "-"), ("printed", ":")):
                x = sorted({(row[sweep], row[rate]) for row in mine})
                scale = np.exp(np.mean(np.log(speed)) - np.mean(np.log([row[rate] for row in mine])))
                axis.loglog([a for a, _ in x], [scale * b for _, b in x], style, color=f"C{index}", linewidth=1)
        ticks = sorted({row[sweep] for row in select(rows, sweep=sweep)})
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.set(xlabel=label)
    figure.axes[0].set(ylabel="(1 − rate)/α")
    figure.axes[0].plot([], [], "k-", linewidth=1, label="σ_min² d²/n")
    figure.axes[0].plot([], [], "k:", linewidth=1, label="d/n as printed")
    figure.axes[0].legend(fontsize=7)


_BASE = {"d": 20, "k": 20, "n": 30, "sigma": 1.0}
ENTRIES = (
    Entry(
        "soltanolkotabi2017/theorem2.5", "local convergence of both layers: the rate against σ_min²(W*) d²/n",
        quick={
            "base": {"d": 15, "k": 15, "n": 18, "sigma": 1.0}, "sigmas": [1.0, 0.3, 0.1], "widths": [15, 30],
            "rows": [18, 34], "inputs": [15, 30], "density": 0.15, "activations": ["softplus"], "trials": 8,
            "steps": 300,
        },
        full={
            "base": _BASE, "sigmas": [1.0, 0.5, 0.25, 0.1], "widths": [20, 40, 80], "rows": [30, 60, 120],
            "inputs": [20, 40, 60], "density": 0.15, "activations": ["softplus", "tanh", "sigmoid"], "trials": 20,
            "steps": 500,
        },
        cells=_cells, run_cell=_run, claims=_claims, draw=_draw, seed_by=("activation",),
        printed={
            "base": Printed("sizes", None, "the theorem is for d ≤ n ≤ c₀d², k ≥ d, c₀ not stated"),
            "steps": Printed("steps", None, "enough to see the rate of the slowest start"),
        },
    ),
)  # fmt: skip
