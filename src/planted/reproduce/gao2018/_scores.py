"""Figures 1 and 2 of Gao et al. (2018): the error of the degree-2 score estimator against the number of points.

A trial draws n points and one query point from the density, d = 2. The paper states no bandwidth, so several fixed ones
and that of Remark 1 are run, and beside the error stands what is left of it with infinitely many points, the bias;
docs/errata.md says what follows.
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
from planted.reproduce._claims import Claim, Explanation, claim, select
from planted.reproduce._printed import Printed
from planted.reproduce._study import Cell, Config, Entry

PERCENTILES = (5, 25, 50, 75, 95)
PAPER_SLOPES = {"gaussian": (-0.5143, -0.4984), "mixture": (-0.2587, -0.1343)}
NAMES = {2: "S₂ (spectral)", 4: "S₄ (Frobenius)"}
_POINTS_AT_ONCE = 2**17
_RESAMPLES = 50
# Slopes agree within this, and an error has come down to its bias within this factor.
_SLOPE = 0.05
_FLAT = 1.5

Rows = list[dict[str, Any]]


def _quadratic_scores(points: jax.Array, query: jax.Array, h: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Ŝ₂ (d, d) and Ŝ₄ (d, d, d, d) of eq. 14, 15 and 9 at one query."""
    offset = points - query
    weight = jax.nn.softmax(-0.5 * jnp.sum(offset * offset, axis=1) / h**2)
    mean = weight @ offset
    precision = jnp.linalg.inv((offset * weight[:, None]).T @ offset - jnp.outer(mean, mean))
    derivatives = [(precision @ mean)[None], (jnp.eye(len(query)) / h**2 - precision)[None]]
    return score_tensor(derivatives, 2)[0], score_tensor(derivatives, 4)[0]


def _limit_scores(density: GaussianMixture, query: jax.Array, h: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What :func:`_quadratic_scores` tends to as n grows, for a mixture with unit covariances: a kernel times a
    component N(m, I) is a Gaussian about m + (x − m)/(1 + h²) with variance h²/(1 + h²)."""
    away = jnp.asarray(density.means) - query
    share = jnp.log(jnp.asarray(density.weights)) - 0.5 * jnp.sum(away * away, axis=1) / (1 + h**2)
    weight, shrink = jax.nn.softmax(share), h**2 / (1 + h**2)
    offset, identity = shrink * away, jnp.eye(len(query))
    mean = weight @ offset
    precision = jnp.linalg.inv((offset * weight[:, None]).T @ offset + shrink * identity - jnp.outer(mean, mean))
    derivatives = [(precision @ mean)[None], (identity / h**2 - precision)[None]]
    return score_tensor(derivatives, 2)[0], score_tensor(derivatives, 4)[0]


@partial(jax.jit, static_argnames=("n", "trials"))
def _errors(density: GaussianMixture, h: jax.Array, key: jax.Array, n: int, trials: int) -> jax.Array:
    """Spectral error of Ŝ₂ and Frobenius error of Ŝ₄, from n new points at a new query point and in the limit of many.

    An array (trials, 2, 2): by trial, order, and n points or infinitely many.
    """
    d = density.means.shape[1]

    def trial(key: jax.Array) -> jax.Array:
        which_key, normal_key = jax.random.split(key)
        which = jax.random.categorical(which_key, jnp.log(jnp.asarray(density.weights)), shape=(n + 1,))
        rows = jnp.asarray(density.means)[which] + jax.random.normal(normal_key, (n + 1, d), jnp.float64)
        true_second, true_fourth = (density.traced_score(rows[:1], order)[0] for order in (2, 4))
        estimates = _quadratic_scores(rows[1:], rows[0], h), _limit_scores(density, rows[0], h)
        spectral = [jnp.max(jnp.abs(jnp.linalg.eigvalsh(second - true_second))) for second, _ in estimates]
        frobenius = [jnp.sqrt(jnp.sum((fourth - true_fourth) ** 2)) for _, fourth in estimates]
        return jnp.stack([jnp.stack(spectral), jnp.stack(frobenius)])

    return lax.map(trial, jax.random.split(key, trials), batch_size=max(1, min(trials, _POINTS_AT_ONCE // n)))


def _mean_log(errors: np.ndarray) -> float:
    """Average over the percentiles of the log of the error."""
    return float(np.mean(np.log(np.percentile(errors, PERCENTILES))))


@float64
def score_errors(inputs: str, n: int, h: float, trials: int, random_state: int = 0) -> Rows:
    """Error percentiles of the degree-2 estimator from n points, "gaussian" or "mixture" inputs, d = 2.

    A row an order (2, 4) and percentile; `bias` is the same percentile of the error with infinitely many points.
    `mean_log` is the average over percentiles of the log-error, whose slope against log n is the average slope that the
    paper reports; `mean_log_se` and `log_se` are bootstrap standard errors of it and of the percentile's own log.

    >>> rows = score_errors("gaussian", 200, 1.0, 20)
    >>> [row["order"] for row in rows[::5]], rows[0]["percentile"]
    ([2, 4], 5)
    """
    density = GaussianMixture([1.0], np.zeros((1, 2))) if inputs == "gaussian" else GaussianMixture.symmetric(2)
    errors = np.asarray(_errors(density, jnp.asarray(h), key_from(random_state), n, trials))
    rng = np.random.default_rng(0)
    rows: Rows = []
    for index, order in enumerate(NAMES):
        sample, limit = errors[:, index, 0], errors[:, index, 1]
        resampled = np.array(
            [np.log(np.percentile(sample[rng.integers(trials, size=trials)], PERCENTILES)) for _ in range(_RESAMPLES)]
        )
        summary = {"mean_log": _mean_log(sample), "mean_log_se": float(np.std(resampled.mean(axis=1)))}
        for percentile, spread in zip(PERCENTILES, np.std(resampled, axis=0), strict=True):
            values = {"error": float(np.percentile(sample, percentile)), "log_se": float(spread)}
            values["bias"] = float(np.percentile(limit, percentile))
            rows.append({"order": order, "percentile": percentile} | values | summary)
    return rows


def _cells(config: Config) -> list[Cell]:
    return [{"bandwidth": h, "n": n} for h in [*config["fixed"], "rule"] for n in config["sizes"]]


def _run_cell(config: Config, cell: Cell, seed: int) -> Rows:
    n, rule = cell["n"], cell["bandwidth"] == "rule"
    h = rule_of_remark(n, 2, 2) if rule else cell["bandwidth"]
    named = {"rule": rule, "bandwidth": h, "n": n}
    return [named | row for row in score_errors(config["inputs"], n, h, config["trials"], seed)]


def slope(rows: Rows, order: int, percentile: int | None = None) -> tuple[float, float]:
    """Least-squares slope against log n of the averaged log-error, or of one percentile's, and its standard error.

    >>> made = {"order": 2, "percentile": 50, "mean_log_se": 0.0}
    >>> value, error = slope([made | {"n": n, "mean_log": -0.5 * np.log(n)} for n in (1, 9)], 2)
    >>> round(value, 9), error
    (-0.5, 0.0)
    """
    chosen = select(rows, order=order, percentile=50 if percentile is None else percentile)
    x = np.log([row["n"] for row in chosen])
    lever = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    if percentile is None:
        values, errors = ([row[name] for row in chosen] for name in ("mean_log", "mean_log_se"))
    else:
        values, errors = [np.log(row["error"]) for row in chosen], [row["log_se"] for row in chosen]
    return float(lever @ values), float(np.linalg.norm(lever * errors))


def _fixed(config: Config, rows: Rows) -> dict[float, Rows]:
    return {h: select(rows, rule=False, bandwidth=h) for h in config["fixed"]}


def _nearest(config: Config, rows: Rows) -> tuple[float, dict[int, tuple[float, float]], bool]:
    """The fixed bandwidth whose slopes are nearest to both printed ones, these slopes, and whether they agree."""
    paper = dict(zip(NAMES, PAPER_SLOPES[config["inputs"]], strict=True))
    slopes = {h: {order: slope(part, order) for order in NAMES} for h, part in _fixed(config, rows).items()}
    h = min(slopes, key=lambda h: max(abs(slopes[h][order][0] - paper[order]) for order in NAMES))
    agree = all(abs(value - paper[order]) <= _SLOPE for order, (value, _) in slopes[h].items())
    return h, slopes[h], agree


def _shown(slopes: dict[int, tuple[float, float]]) -> str:
    return " and ".join(f"{value:.3f} ± {error:.2g} for {NAMES[order]}" for order, (value, error) in slopes.items())


def _rising(config: Config, rows: Rows) -> list[Rows]:
    """Curves of a fixed bandwidth, an order and a percentile that do not fall by more than two standard errors."""
    curves = []
    for part in _fixed(config, rows).values():
        for order in NAMES:
            for percentile in PERCENTILES:
                value, error = slope(part, order, percentile)
                if value + 2 * error >= 0:
                    curves.append(select(part, order=order, percentile=percentile))
    return curves


def _claims(config: Config, rows: Rows) -> list[Claim]:
    paper = dict(zip(NAMES, PAPER_SLOPES[config["inputs"]], strict=True))
    h, slopes, agree = _nearest(config, rows)
    printed = " and ".join(f"{value} for {NAMES[order]}" for order, value in paper.items())
    fixed = f"nearest with h = {h:g}: {_shown(slopes)}"
    rising = _rising(config, rows)
    total = len(config["fixed"]) * len(NAMES) * len(PERCENTILES)
    above = [curve[-1]["error"] / curve[-1]["bias"] if curve[-1]["bias"] else np.inf for curve in rising]
    rule = {order: slope(select(rows, rule=True), order) for order in NAMES}
    theory = -(2 + 1 - 2) / (2 * 2 + 2 + 2)
    fits = all(abs(value - paper[order]) <= _SLOPE for order, (value, _) in rule.items())
    return [
        claim("one fixed bandwidth has both printed slopes", printed, fixed, agree),
        claim(
            "the error falls as n grows",
            "all percentiles",
            f"{total - len(rising)} of {total} curves, one a fixed bandwidth, order and percentile, fall by more "
            "than two standard errors",
            not rising,
            explanation=Explanation(
                "at a fixed bandwidth the bias stays; see the errata",
                f"with {config['sizes'][-1]} points the others are at most {max(above, default=0):.2f} times the error "
                "with infinitely many",
                max(above, default=0.0) <= _FLAT,
            ),
        ),
        claim(
            "with Remark 1's bandwidth h = n^(−1/8) the error of Ŝ₂ falls at least as fast as Theorem 1 says",
            f"{theory:.3f}",
            f"{rule[2][0]:.3f} ± {rule[2][1]:.2g}",
            rule[2][0] - 2 * rule[2][1] <= theory,
        ),
        claim(
            "the printed slopes are those of Remark 1's bandwidth",
            printed,
            _shown(rule),
            fits,
            explanation=Explanation("they are those of a bandwidth that does not shrink; see the errata", fixed, agree),
        ),
    ]


def _draw(config: Config, rows: Rows, figure: Any) -> None:
    curves = [(f"h = {h:g}", [r for r in rows if not r["rule"] and r["bandwidth"] == h]) for h in config["fixed"]]
    curves.append(("h = n^(−1/8)", [row for row in rows if row["rule"]]))
    axes = figure.subplots(1, 2)
    for axis, (order, name) in zip(axes, NAMES.items(), strict=True):
        for label, part in curves:
            by = {p: [r["error"] for r in part if r["order"] == order and r["percentile"] == p] for p in PERCENTILES}
            color = axis.loglog(config["sizes"], by[50], label=f"{label}: {slope(part, order)[0]:.2f}")[0].get_color()
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


_SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)


def _entry(figure: str, title: str, inputs: str, apart: str = "") -> Entry:
    """A figure; apart, with the printed number of trials and fewer bandwidths."""
    fixed, trials = ((0.7, 1.0, 1.4), 50_000) if apart else ((0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0), 10_000)
    return Entry(
        f"gao2018/{figure}",
        title,
        quick={"inputs": inputs, "fixed": (0.5, 1.0, 2.0), "sizes": (128, 1024, 8192), "trials": 200},
        full={"inputs": inputs, "fixed": fixed, "sizes": _SIZES, "trials": trials},
        cells=_cells,
        run_cell=_run_cell,
        claims=_claims,
        draw=_draw,
        printed={
            "trials": Printed(
                "trials a point",
                "10,000 for S₂, 50,000 for S₄",
                "the same trials for both, with standard errors"
                + (
                    ""
                    if figure.endswith("-printed")
                    else f"; 50,000 are run by planted reproduce gao2018/{figure}-printed"
                ),
            ),
            "inputs": Printed("law of the two inputs", inputs),
            "sizes": Printed("points n", None, "the axis of the paper's figure has no numbers in the text"),
            "fixed": Printed("bandwidths", None, "several, as the paper states none, and that of Remark 1"),
        },
        apart=apart,
    )


_TITLES = {
    "gaussian": "score estimation, Gaussian inputs",
    "mixture": "score estimation, a mixture of two Gaussians",
}
_LONG = "about 15 minutes of one core"
ENTRIES = (
    _entry("fig1", _TITLES["gaussian"], "gaussian"),
    _entry("fig2", _TITLES["mixture"], "mixture"),
    _entry("fig1-printed", f"{_TITLES['gaussian']}, 50,000 trials", "gaussian", apart=_LONG),
    _entry("fig2-printed", f"{_TITLES['mixture']}, 50,000 trials", "mixture", apart=_LONG),
)
