"""Local likelihood, degree 2, 20,000 points and queries, d = 10: time, memory and error beside the alternatives.

Run as `python benchmarks/bench_scores.py`, `python benchmarks/bench_scores.py recovery FIRST_SEED [FAMILY …]` for ten
recoveries a family alone, or under pytest-benchmark with the other benchmarks.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import ortho_group
from sklearn.mixture import GaussianMixture as SklearnMixture
from sklearn.neighbors import KernelDensity

from planted.datasets import make_planted
from planted.inputs import Density, Gaussian, GaussianMixture, LocalLikelihood, Logistic
from planted.objectives import ScoreLandscape
from planted.solvers import lbfgs

POINTS = QUERIES = 20_000
INPUTS = 10
LOOP_QUERIES = 300


def per_query_loop(X: np.ndarray, queries: np.ndarray, h: float) -> np.ndarray:
    """S_1 by eq. 14, the plain way."""
    found = []
    for x in queries:
        offset = X - x
        weight = np.exp(-np.sum(offset**2, axis=1) / (2 * h**2))
        total = weight.sum()
        mean = weight @ offset / total
        second = (offset * weight[:, None]).T @ offset / total
        found.append(np.linalg.solve(second - np.outer(mean, mean), mean))
    return np.array(found)


def kernel_score(X: np.ndarray, queries: np.ndarray, h: float) -> np.ndarray:
    """∇ log of a Gaussian kernel density estimate."""
    found = np.empty_like(queries)
    for start in range(0, len(queries), 500):
        block = queries[start : start + 500]
        log_weight = (block @ X.T - 0.5 * np.sum(X**2, axis=1)) / h**2
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        found[start : start + 500] = (weight @ X / weight.sum(axis=1, keepdims=True) - block) / h**2
    return found


def mixture_score(fitted: SklearnMixture, queries: np.ndarray) -> np.ndarray:
    return GaussianMixture(fitted.weights_, fitted.means_, fitted.covariances_).score(queries, 1)


def speed(repeats: int = 3) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(POINTS, INPUTS)), rng.normal(size=(QUERIES, INPUTS))
    h = 1.0
    estimate = LocalLikelihood(bandwidth=h, min_neighbours=1.0).fit(X)
    estimate.local_fit(queries)
    fast, slow = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        fit = estimate.local_fit(queries)
        fast.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        reference = per_query_loop(X, queries[:LOOP_QUERIES], h)
        slow.append((time.perf_counter() - begin) * QUERIES / LOOP_QUERIES)
    gap = np.nanmax(np.abs(fit.derivatives[0][:LOOP_QUERIES] - reference))
    return {
        "local likelihood (s)": min(fast),
        "per-query loop (s, extrapolated)": min(slow),
        "ratio": min(slow) / min(fast),
        "largest difference": float(gap),
        "peak memory (MB)": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def errors(n: int = 20_000, d: int = 10) -> dict[str, float]:
    """Relative root mean square error of S_1 on a two-component mixture; bandwidths by held-out rows."""
    density = GaussianMixture.symmetric(d, 2.0)
    X, queries = density.sample(n, random_state=0), density.sample(1000, random_state=1)
    held = density.sample(1000, random_state=2)
    truth = density.score(queries, 1)
    local = LocalLikelihood(bandwidth="held-out", random_state=0).fit(X)
    fit = local.local_fit(queries)
    widths = np.geomspace(0.2, 1.2, 7)
    likelihood = [KernelDensity(bandwidth=h).fit(X[:4000]).score(held[:300]) for h in widths]
    width = float(widths[int(np.argmax(likelihood))])
    candidates = [SklearnMixture(c, random_state=0).fit(X) for c in (1, 2, 5)]
    best = min(candidates, key=lambda fitted: fitted.bic(X))
    found = {
        f"local likelihood, h = {local.bandwidth_:.2f}": fit.derivatives[0],
        f"kernel density, h = {width:.2f}": kernel_score(X, queries, width),
        "one fitted Gaussian": Gaussian.fit(X).score(queries, 1),
        f"fitted mixture, {best.n_components} by BIC": mixture_score(best, queries),
    }
    scale = np.sqrt(np.mean(truth**2))
    return {name: float(np.sqrt(np.nanmean((score - truth) ** 2)) / scale) for name, score in found.items()}


def drawn_mixture(seed: int, d: int = 5) -> GaussianMixture:
    """A mixture of two Gaussians, equally likely, drawn by a law that was fixed before anything was run.

    Means have entries uniform on [−½, ½]; covariances are s² Q diag(u) Qᵀ with s² = 0.3 and 1, random rotations Q and u
    uniform on [0.7, 1.3]. The scales alone make E‖z‖⁴ of whitened rows 1.29 times that of a Gaussian.
    """
    rng = np.random.default_rng(seed)
    means = rng.uniform(-0.5, 0.5, (2, d))
    covs = []
    for square in (0.3, 1.0):
        rotation = ortho_group.rvs(d, random_state=rng)
        covs.append(square * (rotation * rng.uniform(0.7, 1.3, d)) @ rotation.T)
    return GaussianMixture([0.5, 0.5], means, np.stack(covs))


def _of_spreads(seed: int, squares: tuple[float, float], shares: tuple[float, float], d: int) -> GaussianMixture:
    """Two Gaussians of covariance s² Q diag(u) Qᵀ, Q a random rotation, u uniform on [0.7, 1.3], near each other.

    Means are s times uniform on [−½, ½]: a·x of a unit a is rarely a standard deviation from zero, so that all κ* have
    one sign.
    """
    rng = np.random.default_rng(seed)
    means, covs = [], []
    for square in squares:
        rotation = ortho_group.rvs(d, random_state=rng)
        covs.append(square * (rotation * rng.uniform(0.7, 1.3, d)) @ rotation.T)
        means.append(square**0.5 * rng.uniform(-0.5, 0.5, d))
    return GaussianMixture(shares, np.stack(means), np.stack(covs))


def two_spreads(seed: int, d: int = 5) -> GaussianMixture:
    """Two Gaussians, equally likely, with s² = 0.1 and 1.

    The scales alone make E‖z‖⁴ of whitened rows 1.67 times that of a Gaussian.
    """
    return _of_spreads(seed, (0.1, 1.0), (0.5, 0.5), d)


def contaminated(seed: int, d: int = 5) -> GaussianMixture:
    """Tukey's contaminated normal: nine rows in ten with s² = 1, the tenth of three times the spread.

    The scales alone make E‖z‖⁴ of whitened rows 2.78 times that of a Gaussian.
    """
    return _of_spreads(seed, (1.0, 9.0), (0.9, 0.1), d)


def cellwise(seed: int, d: int = 5) -> GaussianMixture:
    """Contamination cell by cell: each input by itself is N(0, 1) nine times in ten and N(0, 9) the tenth.

    A mixture of 2^d Gaussians, the same for every seed, and not elliptical.
    """
    wide = np.array(list(itertools.product((False, True), repeat=d)))
    covs = np.stack([np.diag(row) for row in np.where(wide, 9.0, 1.0)])
    return GaussianMixture(np.where(wide, 0.1, 0.9).prod(axis=1), np.zeros((2**d, d)), covs)


def crossed(seed: int, d: int = 5) -> GaussianMixture:
    """A mixture of two Gaussians, equally likely, elongated in directions that cross: not elliptical.

    Covariances are Q diag(u) Qᵀ with random rotations Q and u log-uniform on [0.1, 1]; means are entries uniform on
    [−½, ½] times the square root of the covariance.
    """
    rng = np.random.default_rng(seed)
    means, covs = [], []
    for _ in range(2):
        rotation = ortho_group.rvs(d, random_state=rng)
        spread = np.exp(rng.uniform(np.log(0.1), 0.0, d))
        covs.append((rotation * spread) @ rotation.T)
        means.append((rotation * spread**0.5) @ rng.uniform(-0.5, 0.5, d))
    return GaussianMixture([0.5, 0.5], np.stack(means), np.stack(covs))


DENSITIES: dict[str, Callable[[int, int], Density]] = {
    "logistic product": lambda seed, d: Logistic(d),
    "contaminated normal": contaminated,
    "cellwise contamination": cellwise,
    "crossed mixture": crossed,
    "mixture of two spreads": two_spreads,
    "drawn mixture": drawn_mixture,
    "the paper's mixture": lambda seed, d: GaussianMixture.symmetric(d),
    "the paper's mixture, half the length": lambda seed, d: GaussianMixture.symmetric(d, d**0.5 / 2),
}


def parameter_error(weights: np.ndarray, teacher: np.ndarray) -> float:
    """Eq. 22 of the paper with its outer min made a max, so that repeated rows count as errors."""
    cosine = np.abs(weights / np.linalg.norm(weights, axis=1, keepdims=True) @ np.linalg.inv(teacher))
    return float(max(1 - cosine.max(axis=0).min(), 1 - cosine.max(axis=1).min()))


def kappas(density: GaussianMixture, weights: np.ndarray) -> np.ndarray:
    """κ*_i = E[φ⁗(a·x)] of ReLU neurons: the second derivative at zero of the density of a·x, a mixture as well."""
    centre = weights @ density.means.T
    deviation = np.sqrt(np.einsum("ki,cij,kj->kc", weights, density.covs, weights))
    z = centre / deviation
    return (np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / deviation**3 * (z**2 - 1)) @ density.weights


def recovery(family: str, seed: int, n: int = 200_000, d: int = 5) -> dict[str, float]:
    """Errors of L with the known density and of the Gaussian-only loss, d = k, random orthogonal teacher, one start.

    No refinement, the best quadratic taken out of y for all. The Gaussian loss sees the rows as they are, with L's
    constants, and as a fitted Gaussian. The last
    entry, from the density and the teacher alone, is the least κ* over the largest: Assumption 2(a) of the paper wants
    it positive, and Theorem 2 well above zero.
    """
    density = DENSITIES[family](seed, d)
    data = make_planted(n, d, d, inputs=density, random_state=seed)
    start = np.random.default_rng(seed).normal(size=(d, d))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    L = ScoreLandscape(data.X, data.y, density, variance_reduction=2)
    losses = {
        "L": L,
        "G, rows as they are": ScoreLandscape(
            data.X,
            data.y,
            Gaussian(np.zeros(d)),
            L.constants.mu,
            L.constants.lam,
            form="orthogonal",
            variance_reduction=2,
        ),
        "G, fitted Gaussian": ScoreLandscape(
            data.X, data.y, Gaussian.fit(data.X), form="orthogonal", variance_reduction=2
        ),
    }
    found = {
        name: parameter_error(lbfgs(loss, start, steps=500, tolerance=1e-7).params, data.teacher.weights)
        for name, loss in losses.items()
    }
    kappa = kappas(density, data.teacher.weights) if isinstance(density, GaussianMixture) else -L.kappa
    kappa = kappa * np.sign(kappa[np.argmax(np.abs(kappa))])
    return found | {"least κ* / largest": float(kappa.min() / kappa.max())}


def test_local_likelihood_speed(benchmark):
    rng = np.random.default_rng(0)
    estimate = LocalLikelihood(bandwidth=1.0, min_neighbours=1.0).fit(rng.normal(size=(POINTS, INPUTS)))
    queries = rng.normal(size=(QUERIES, INPUTS))
    benchmark.pedantic(estimate.local_fit, (queries,), rounds=2, warmup_rounds=1)


def print_recovery(first: int, families: list[str]) -> None:
    print(f"parameter error before refinement, d = k = 5, seeds {first} to {first + 9}, 200,000 rows")
    for family in families:
        for seed in range(first, first + 10):
            shown = ", ".join(f"{name} {value:.4f}" for name, value in recovery(family, seed).items())
            print(f"  {family}, seed {seed}: {shown}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["recovery"]:
        families = sys.argv[3:] or list(DENSITIES)
        if len(sys.argv) < 3 or not set(families) <= set(DENSITIES):
            sys.exit(f"usage: bench_scores.py recovery FIRST_SEED [FAMILY …], families: {', '.join(DENSITIES)}")
        print_recovery(int(sys.argv[2]), families)
    else:
        for title, table in (("speed", speed()), ("relative error of S_1", errors())):
            print(title)
            for name, value in table.items():
                print(f"  {name:40s} {value:.4g}")
        print_recovery(0, list(DENSITIES))
