"""Figures 1 and 2 of Gao et al. (2018): the error of the degree-2 score estimator against the number of points.

A trial draws n points and one query point from the density, d = 2. The paper states no bandwidth, so several fixed ones
and that of Remark 1 are run; docs/errata.md says what follows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planted.inputs import GaussianMixture, rule_of_remark, score_tensor
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from
from planted.reproduce._claims import Claim
from planted.reproduce._study import Cell, Config, Entry

PERCENTILES = (5, 25, 50, 75, 95)
PAPER_SLOPES = {"gaussian": (-0.5143, -0.4984), "mixture": (-0.2587, -0.1343)}
NAMES = {2: "S₂ (spectral)", 4: "S₄ (Frobenius)"}
_POINTS_AT_ONCE = 2**17
_RESAMPLES = 50
_SLOPE = 0.05

Rows = list[dict[str, Any]]


def _quadratic_scores(points: jax.Array, query: jax.Array, h: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Ŝ₂ (d, d) and Ŝ₄ (d, d, d, d) of eq. 14, 15 and 9 at one query."""
    offset = points - query
    weight = jax.nn.softmax(-0.5 * jnp.sum(offset * offset, axis=1) / h**2)
    mean = weight @ offset
    precision = jnp.linalg.inv((offset * weight[:, None]).T @ offset - jnp.outer(mean, mean))
    derivatives = [(precision @ mean)[None], (jnp.eye(len(query)) / h**2 - precision)[None]]
    return score_tensor(derivatives, 2)[0], score_tensor(derivatives, 4)[0]


@partial(jax.jit, static_argnames=("n", "trials"))
def _errors(density: GaussianMixture, h: jax.Array, key: jax.Array, n: int, trials: int) -> jax.Array:
    """Spectral error of Ŝ₂ and Frobenius error of Ŝ₄ (trials, 2), each from n new points at a new query point."""
    d = density.means.shape[1]

    def trial(key: jax.Array) -> jax.Array:
        which_key, normal_key = jax.random.split(key)
        which = jax.random.categorical(which_key, jnp.log(jnp.asarray(density.weights)), shape=(n + 1,))
        rows = jnp.asarray(density.means)[which] + jax.random.normal(normal_key, (n + 1, d), jnp.float64)
        second, fourth = _quadratic_scores(rows[1:], rows[0], h)
        true_second, true_fourth = (density.traced_score(rows[:1], order)[0] for order in (2, 4))
        spectral = jnp.max(jnp.abs(jnp.linalg.eigvalsh(second - true_second)))
        return jnp.stack([spectral, jnp.sqrt(jnp.sum((fourth - true_fourth) ** 2))])

    return lax.map(trial, jax.random.split(key, trials), batch_size=max(1, min(trials, _POINTS_AT_ONCE // n)))


def _mean_log(errors: np.ndarray) -> float:
    """Average over the percentiles of the log of the error."""
    return float(np.mean(np.log(np.percentile(errors, PERCENTILES))))


@float64
def score_errors(inputs: str, n: int, h: float, trials: int, random_state: int = 0) -> Rows:
    """Error percentiles of the degree-2 estimator from n points, "gaussian" or "mixture" inputs, d = 2.

    A row an order (2, 4) and percentile. `mean_log` is the average over percentiles of the log-error, whose slope
    against log n is the average slope that the paper reports, with its bootstrap standard error `mean_log_se`.

    >>> rows = score_errors("gaussian", 200, 1.0, 20)
    >>> [row["order"] for row in rows[::5]], rows[0]["percentile"]
    ([2, 4], 5)
    """
    density = GaussianMixture([1.0], np.zeros((1, 2))) if inputs == "gaussian" else GaussianMixture.symmetric(2)
    errors = np.asarray(_errors(density, jnp.asarray(h), key_from(random_state), n, trials))
    rng = np.random.default_rng(0)
    rows: Rows = []
    for order, found in zip(NAMES, errors.T, strict=True):
        resampled = [_mean_log(found[rng.integers(trials, size=trials)]) for _ in range(_RESAMPLES)]
        summary = {"mean_log": _mean_log(found), "mean_log_se": float(np.std(resampled))}
        for percentile, error in zip(PERCENTILES, np.percentile(found, PERCENTILES), strict=True):
            rows.append({"order": order, "percentile": percentile, "error": float(error)} | summary)
    return rows


def _cells(config: Config) -> list[Cell]:
    return [{"bandwidth": h, "n": n} for h in [*config["fixed"], "rule"] for n in config["sizes"]]


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    n, rule = cell["n"], cell["bandwidth"] == "rule"
    h = rule_of_remark(n, 2, 2) if rule else cell["bandwidth"]
    named = {"rule": rule, "bandwidth": h, "n": n}
    return [named | row for row in score_errors(config["inputs"], n, h, config["trials"], seed)]


def slope(rows: Rows, order: int) -> tuple[float, float]:
    """Least-squares slope of the averaged log-error against log n, and its standard error.

    >>> made = {"order": 2, "percentile": 50, "mean_log_se": 0.0}
    >>> value, error = slope([made | {"n": n, "mean_log": -0.5 * np.log(n)} for n in (1, 9)], 2)
    >>> round(value, 9), error
    (-0.5, 0.0)
    """
    chosen = [row for row in rows if row["order"] == order and row["percentile"] == 50]
    x = np.log([row["n"] for row in chosen])
    lever = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    value = lever @ [row["mean_log"] for row in chosen]
    return float(value), float(np.linalg.norm(lever * [row["mean_log_se"] for row in chosen]))


def slope_claim(name: str, paper: float, slopes: dict[float, tuple[float, float]]) -> Claim:
    """Whether a printed log–log slope is that of h = 1, lies between those of other fixed bandwidths, or neither.

    `slopes` holds a slope and its standard error by bandwidth; two standard errors are allowed, and 0.05 at h = 1.

    >>> slope_claim("S₂", -0.51, {0.5: (-0.58, 0.01), 1.0: (-0.52, 0.01)}).verdict
    'holds'
    >>> slope_claim("S₂", -0.26, {0.5: (-0.55, 0.01), 1.0: (-0.17, 0.01)}).verdict
    'explained'
    >>> slope_claim("S₂", -0.9, {0.5: (-0.55, 0.01), 1.0: (-0.17, 0.01)}).verdict
    'fails'
    """
    ours = ", ".join(f"{value:.4f} ± {error:.2g} with h = {h:g}" for h, (value, error) in slopes.items())
    low = min(value - 2 * error for value, error in slopes.values())
    high = max(value + 2 * error for value, error in slopes.values())
    near = abs(slopes[1.0][0] - paper) <= _SLOPE + 2 * slopes[1.0][1]
    verdict = "holds" if near else "explained" if low <= paper <= high else "fails"
    note = "the paper does not state its bandwidth; one in between gives its slope" if verdict == "explained" else ""
    return Claim(f"slope of the error of {name}", f"{paper}", ours, verdict, note)


def _claims(config: Config, rows: Rows) -> list[Claim]:
    fixed = {h: [row for row in rows if not row["rule"] and row["bandwidth"] == h] for h in config["fixed"]}
    claims = [
        slope_claim(NAMES[order], paper, {h: slope(found, order) for h, found in fixed.items()})
        for order, paper in zip(NAMES, PAPER_SLOPES[config["inputs"]], strict=True)
    ]
    falling = [slope(found, order)[0] < 0 for found in fixed.values() for order in NAMES]
    claims.append(
        Claim(
            "the error falls as n grows",
            "all percentiles",
            f"for {sum(falling)} of {len(falling)} pairs of a fixed bandwidth and an order",
            "holds" if all(falling) else "explained",
            "" if all(falling) else "at a fixed bandwidth the bias stays; see the errata",
        )
    )
    rule = [slope([row for row in rows if row["rule"]], order) for order in NAMES]
    claims.append(
        Claim(
            "Remark 1's bandwidth h = n^(−1/8) gives these slopes",
            "not said",
            " and ".join(f"{value:.4f} ± {error:.2g}" for value, error in rule),
            "explained",
            "the printed ones are those of a bandwidth that does not shrink; see the errata",
        )
    )
    return claims


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    curves = [(f"h = {h:g}", [r for r in rows if not r["rule"] and r["bandwidth"] == h]) for h in config["fixed"]]
    curves.append(("h = n^(−1/8)", [row for row in rows if row["rule"]]))
    axes = figure.subplots(1, 2)
    for axis, (order, name) in zip(axes, NAMES.items(), strict=True):
        for label, found in curves:
            by = {p: [r["error"] for r in found if r["order"] == order and r["percentile"] == p] for p in PERCENTILES}
            color = axis.loglog(config["sizes"], by[50], label=f"{label}: {slope(found, order)[0]:.2f}")[0].get_color()
            if label == "h = 1":
                for low, high in ((5, 95), (25, 75)):
                    axis.fill_between(config["sizes"], by[low], by[high], color=color, alpha=0.15, linewidth=0)
        printed = PAPER_SLOPES[config["inputs"]][0 if order == 2 else 1]
        sizes = np.array(config["sizes"], float)
        top = max(row["error"] for row in rows if row["order"] == order and row["percentile"] == 50)
        axis.loglog(sizes, top * (sizes / sizes[0]) ** printed, "k--", label=f"the paper's slope: {printed:.2f}")
        axis.set(xlabel="n", ylabel=f"error of {name}", title="medians; for h = 1 also 25–75 % and 5–95 %")
        axis.set_ylim(bottom=axis.get_ylim()[0] / 8)
        axis.legend(
            frameon=False, fontsize=7, title="slope of the average", title_fontsize=7, loc="lower left", ncols=2
        )


def _entry(figure: str, title: str, inputs: str) -> Entry:
    return Entry(
        f"gao2018/{figure}",
        title,
        quick={"inputs": inputs, "fixed": (0.5, 1.0, 2.0), "sizes": (128, 1024, 8192), "trials": 200},
        full={
            "inputs": inputs,
            "fixed": (0.5, 0.7, 1.0, 1.4, 2.0),
            "sizes": (128, 256, 512, 1024, 2048, 4096, 8192),
            "trials": 2000,
        },
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
    )


ENTRIES = (
    _entry("fig1", "score estimation, Gaussian inputs", "gaussian"),
    _entry("fig2", "score estimation, a mixture of two Gaussians", "mixture"),
)
