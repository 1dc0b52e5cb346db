"""The figures of Gao et al. (2018): score estimation (1, 2) and the loss L (3, 4), as data.

Every function returns plain arrays in dictionaries; what differs from the paper and why is in docs/errata.md.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.stats import ortho_group

from planted.datasets import make_planted
from planted.inputs import Density, Gaussian, GaussianMixture, HyperbolicSecant, Laplace, LocalLikelihood
from planted.inputs._bandwidth import rule_of_remark
from planted.inputs._scores import score_tensor
from planted.objectives import Landscape, Objective, ScoreLandscape, Squared
from planted.precision import float64, to_jax
from planted.seeding import key_from

PERCENTILES = (5, 25, 50, 75, 95)
PAPER_SLOPES = {"gaussian": (-0.5143, -0.4984), "mixture": (-0.2587, -0.1343)}
SIZES = (128, 256, 512, 1024, 2048, 4096, 8192)
_POINTS_AT_ONCE = 2**19
_RESAMPLES = 50


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


def _slopes(sizes: tuple[int, ...], curves: np.ndarray) -> tuple[float, ...]:
    """Log–log slopes against n of curves (sizes, percentiles, 2), averaged over percentiles."""
    return tuple(float(np.polyfit(np.log(sizes), np.log(curves[:, :, i]), 1)[0].mean()) for i in (0, 1))


@float64
def score_errors(
    inputs: str = "gaussian",
    sizes: tuple[int, ...] = SIZES,
    trials: int = 1000,
    bandwidth: str | float = "rule",
    random_state: Any = 0,
) -> dict[str, Any]:
    """Figures 1 ("gaussian") and 2 ("mixture"): error percentiles of the degree-2 estimator against n, d = 2.

    A trial draws n points and one query point from the density. `bandwidth` is h, or "rule" for Remark 1's
    h = n^{−1/8}. Returned: `percentiles` (5,), `s2` and `s4` (sizes, 5), and `slopes`, the fitted log–log slopes
    averaged over the percentiles, with bootstrap `standard_errors`, beside `paper_slopes`.

    >>> found = score_errors(sizes=(100, 400), trials=20, bandwidth=1.0)
    >>> found["s2"].shape, bool(found["slopes"][0] < 0)
    ((2, 5), True)
    """
    density = GaussianMixture([1.0], np.zeros((1, 2))) if inputs == "gaussian" else GaussianMixture.symmetric(2)
    keys = jax.random.split(key_from(random_state), len(sizes))
    errors, bandwidths = [], []
    for n, key in zip(sizes, keys, strict=True):
        h = rule_of_remark(n, 2, 2) if bandwidth == "rule" else float(bandwidth)
        bandwidths.append(h)
        errors.append(np.asarray(_errors(density, jnp.asarray(h), key, n, trials)))
    curves = np.percentile(errors, PERCENTILES, axis=1).swapaxes(0, 1)
    rng = np.random.default_rng(0)
    drawn = [[each[rng.integers(trials, size=trials)] for each in errors] for _ in range(_RESAMPLES)]
    resampled = [_slopes(sizes, np.percentile(draw, PERCENTILES, axis=1).swapaxes(0, 1)) for draw in drawn]
    return {
        "sizes": np.array(sizes),
        "percentiles": np.array(PERCENTILES),
        "bandwidths": np.array(bandwidths),
        "s2": curves[:, :, 0],
        "s4": curves[:, :, 1],
        "slopes": _slopes(sizes, curves),
        "standard_errors": tuple(np.std(resampled, axis=0).tolist()),
        "paper_slopes": PAPER_SLOPES[inputs],
    }


def figure_1(trials: int = 1000, bandwidth: str | float = "rule", random_state: Any = 0) -> dict[str, Any]:
    """Figure 1, Gaussian inputs; see :func:`score_errors`.

    >>> sorted(figure_1(trials=2))[:2]
    ['bandwidths', 'paper_slopes']
    """
    return score_errors("gaussian", SIZES, trials, bandwidth, random_state)


def figure_2(trials: int = 1000, bandwidth: str | float = "rule", random_state: Any = 0) -> dict[str, Any]:
    """Figure 2, the two-component mixture; see :func:`score_errors`.

    >>> figure_2(trials=2)["s4"].shape
    (7, 5)
    """
    return score_errors("mixture", SIZES, trials, bandwidth, random_state)


@partial(jax.jit, static_argnames=("steps", "every"))
def _descend(
    objective: Objective, start: jax.Array, inverse: jax.Array, rate: jax.Array, steps: int, every: int
) -> tuple[jax.Array, jax.Array]:
    def step(weights: jax.Array, _: Any) -> tuple[jax.Array, None]:
        return weights - rate * objective.traced_value_and_gradient(weights)[1], None

    def stretch(weights: jax.Array, _: Any) -> tuple[jax.Array, jax.Array]:
        weights = lax.scan(step, weights, None, length=every)[0]
        unit = weights / jnp.linalg.norm(weights, axis=1, keepdims=True)
        cosine = jnp.abs(unit @ inverse)
        by_row, by_column = 1 - jnp.min(jnp.max(cosine, axis=1)), 1 - jnp.min(jnp.max(cosine, axis=0))
        return weights, jnp.stack([jnp.minimum(by_row, by_column), jnp.maximum(by_row, by_column)])

    return lax.scan(stretch, start, None, length=steps // every)


@float64
def learning_curve(
    objective: Objective, start: np.ndarray, teacher: np.ndarray, rate: float, steps: int, every: int = 10
) -> dict[str, np.ndarray]:
    """Full-batch gradient descent: e(A) of eq. 22 every few steps, and the same with its outer min made a max.

    Eq. 22 takes the better of "every row is near some teacher row" and "every teacher row has a row near it", so
    that repeated rows cost nothing; `strict` asks for both.

    >>> from planted import Network
    >>> from planted.objectives import PopulationLandscape
    >>> G = PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> found = learning_curve(G, np.array([[0.9, 0.3], [0.2, 1.0]]), np.eye(2), 0.1, 200)
    >>> bool(found["strict"][-1] < 1e-3)
    True
    """
    weights, errors = _descend(objective, to_jax(start), to_jax(np.linalg.inv(teacher)), to_jax(rate), steps, every)
    curve = np.asarray(errors)
    return {
        "iterations": every * np.arange(1, len(curve) + 1),
        "error": curve[:, 0],
        "strict": curve[:, 1],
        "weights": np.asarray(weights),
    }


def _start(k: int, d: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(k, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def figure_3(
    rotated: bool = False,
    inputs: Density | None = None,
    d: int = 50,
    n_samples: int = 8192,
    steps: int = 2000,
    sign: float = -1.0,
    random_state: int = 0,
) -> dict[str, dict[str, np.ndarray]]:
    """Figure 3: error curves of the squared loss, G and L on Laplace inputs, k = d, ReLU, μ = 30.

    Section 4.1 has A* = I; `rotated` draws a random rotation instead. `inputs` is the density (Laplace if
    omitted, with the printed S₄ = sgn(x)^{⊗4}). `sign` is s in L, which the paper leaves out. λ, which it does not
    state, must bound the losses below: 9μd/8 for L, 12d² for G, whose quartic part grows when
    all rows align. Rates: 5·10⁻³ for the squared loss, 5·10⁻⁵·50/d for L, 0.01/d² for G.

    >>> sorted(figure_3(d=3, n_samples=500, steps=20))
    ['G', 'L', 'squared']
    """
    density = Laplace(d) if inputs is None else inputs
    teacher = ortho_group.rvs(d, random_state=random_state) if rotated else np.eye(d)
    data = make_planted(n_samples, d, d, weights=teacher, inputs=density, random_state=random_state)
    mu, lam, rate = 30.0, 9 * 30.0 * d / 8, 5e-5 * 50 / d
    start = _start(d, d, random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        L = ScoreLandscape(data.X, data.y, density, mu, lam, form="orthogonal", variance_reduction=False)
    L.sign = float64(to_jax)(sign)
    losses: dict[str, tuple[Objective, float]] = {
        "squared": (Squared(data.X, data.y, "relu", output=np.ones(d)), 5e-3),
        "G": (_gaussian_loss(data.X, data.y, mu, 12.0 * d**2), 0.01 / d**2),
        "L": (L, rate),
    }
    return {name: learning_curve(loss, start, teacher, eta, steps) for name, (loss, eta) in losses.items()}


@float64
def _gaussian_loss(X: np.ndarray, y: np.ndarray, mu: float, lam: float) -> Objective:
    """G with given constants; unlike the constructor it estimates nothing that non-Gaussian inputs would upset."""
    from planted import activations
    from planted.rows import ArrayRows

    return Landscape.on(ArrayRows(to_jax(X), to_jax(y)), activations.get("relu"), mu, lam, iterations=0)


def smooth_figure_3(d: int = 5, n_samples: int = 100_000, steps: int = 4000, random_state: int = 0) -> dict[str, Any]:
    """L for a rotated A* under the hyperbolic-secant density with Laplace tails, default constants.

    >>> smooth_figure_3(d=2, n_samples=2000, steps=10)["iterations"]
    array([10])
    """
    density = HyperbolicSecant(d, scale=np.pi / 2)
    teacher = ortho_group.rvs(d, random_state=random_state)
    data = make_planted(n_samples, d, d, weights=teacher, inputs=density, random_state=random_state)
    L = ScoreLandscape(data.X, data.y, density)
    return learning_curve(L, _start(d, d, random_state), teacher, 0.02 / L.constants.lam, steps)


def figure_4(
    inputs: str = "gaussian",
    length: float | None = None,
    degree: int = 2,
    bandwidth: float | str = "rule",
    n_samples: int = 8192,
    steps: int = 2000,
    random_state: int = 0,
) -> dict[str, Any]:
    """Figure 4: G against L with estimated scores, k = d = 2, A* = I, ReLU.

    `inputs` is "gaussian" or "mixture"; `length` is the norm of the mixture's means, √2 in the paper, for which
    E[y S₄] = 0. Besides both curves, `L known` is L with the true density, `kappa` what it estimates for κ*_i.

    >>> sorted(figure_4(n_samples=500, steps=20))
    ['G', 'L', 'L known', 'kappa']
    """
    density: Density = Gaussian(np.zeros(2)) if inputs == "gaussian" else GaussianMixture.symmetric(2, length)
    data = make_planted(n_samples, 2, 2, weights=np.eye(2), inputs=density, random_state=random_state)
    start = _start(2, 2, random_state)
    estimate = LocalLikelihood(bandwidth, degree, random_state=random_state).fit(data.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        known = ScoreLandscape(data.X, data.y, density)
        estimated = ScoreLandscape(data.X, data.y, estimate)
    gaussian = _gaussian_loss(data.X, data.y, 12 * known.constants.mu, 30.0)
    curves: dict[str, Any] = {"kappa": known.kappa}
    for name, loss, lam in (("G", gaussian, 30.0), ("L", estimated, estimated.lam), ("L known", known, known.lam)):
        curves[name] = learning_curve(loss, start, np.eye(2), 0.02 / float(lam), steps)
    return curves
