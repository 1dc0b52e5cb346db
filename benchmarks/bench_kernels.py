"""Do other degrees and other kernels of local likelihood help the loss L? Logistic inputs, estimated scores.

Run with `python benchmarks/bench_kernels.py [--cases 3,3 5,3 5,2] [--rows 4000] [--seeds 4] [--first 9300]`. A case is
inputs, neurons. With fewer neurons than inputs rows are projected on the span of E[y Ŝ₂] first; the arm "not projected"
leaves that out. A line is an arm: medians over teachers (orthonormal rows, positive outputs) of the largest angle of a
neuron to its direction at the minimum of L, before any refinement, of the part of E[y Ŝ₄] that is not along the neurons
over the part that is, and of the bandwidth, chosen for every arm by the error of E[g Ŝ₄] on smooth neurons g
(`planted.inputs.moment_error`).

The local density K(t) exp(θ·φ(t)), t = u/h, is fitted by Newton's method on a grid that integrates polynomials times
the product kernel K, as `planted.inputs.LocalLikelihood` does for the Gaussian one; `--check` compares the two.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Any

import numpy as np
from scipy.special import roots_hermitenorm, roots_jacobi
from scipy.stats import ortho_group

from planted import datasets
from planted.inputs import InputLaw, LocalLikelihood, Logistic, moment_error, polynomial_fit, score_tensor
from planted.methods import METHODS, Problem, turned
from planted.numerics.precision import float64
from planted.objectives import score_span

FIRST_SEED = 9300
WIDTHS = (1.0, 1.4, 2.0, 2.8, 4.0, 8.0)
# Kernels of compact support reach less far at the same h: this many times the widths of the Gaussian.
STRETCH = {"gaussian": 1.0, "epanechnikov": 2.5, "wide": 0.7}
COMPARED = 3000
NEIGHBOURS_PER_COEFFICIENT = 5
STEPS, TOLERANCE, EDGE_MASS = 40, 1e-8, 1e-3


def kernel(name: str, t: np.ndarray) -> np.ndarray:
    """Product kernel K at t (..., d), up to a constant; "wide" is half a Gaussian and half one twice as wide."""
    if name == "gaussian":
        return np.exp(-0.5 * np.sum(t * t, axis=-1))
    if name == "epanechnikov":
        return np.prod(np.maximum(1 - t * t, 0.0), axis=-1)
    return np.prod(0.5 * np.exp(-0.5 * t * t) + 0.25 * np.exp(-t * t / 8), axis=-1)


def line(name: str, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of ∫ p(t) K(t) dt for one coordinate."""
    count = {1: 40, 2: 20, 3: 14}[d]
    if name == "epanechnikov":
        return roots_jacobi(count, 1, 1)
    nodes, weights = roots_hermitenorm(count if name == "gaussian" else count + 6)
    if name == "gaussian":
        return nodes, weights
    # Nodes of the wider Gaussian; the ratio of the kernel to it is smooth.
    return 2 * nodes, 2 * weights * (0.5 * np.exp(-1.5 * nodes**2) + 0.25)


class GridLikelihood:
    """Local likelihood of a degree with a kernel, at its own rows, each left out of its own fit."""

    def __init__(self, name: str, degree: int, h: float) -> None:
        self.name, self.degree, self.h = name, degree, h

    def fit(self, X: np.ndarray) -> GridLikelihood:
        """Derivatives of log f̂ at the rows of X (n, d), d ≤ 3; NaN where there are too few neighbours."""
        n, self.n_features = X.shape
        d = self.n_features
        chosen = [c for total in range(1, self.degree + 1) for c in combinations_with_replacement(range(d), total)]
        nodes, weights = line(self.name, d)
        grid = np.array(list(product(nodes, repeat=d)))
        mass = np.array([prod(w) for w in product(weights, repeat=d)])
        outermost = np.any(np.abs(grid) >= np.abs(nodes).max() - 1e-9, axis=1)

        def monomials(t: np.ndarray) -> np.ndarray:
            return np.stack([np.prod(t[..., list(c)], axis=-1) for c in chosen], axis=-1)

        features = monomials(grid)
        squares = (features[:, :, None] * features[:, None, :]).reshape(len(grid), -1)
        coefficients = np.full((n, len(chosen)), np.nan)
        for some in np.array_split(np.arange(n), max(1, n // 250)):
            t = (X[None] - X[some, None]) / self.h
            weight = kernel(self.name, t)
            weight[np.arange(len(some)), some] = 0.0
            total = weight.sum(axis=1)
            enough = total**2 >= NEIGHBOURS_PER_COEFFICIENT * comb(d + self.degree, d) * np.sum(weight**2, axis=1)
            enough &= total > 0
            moments = np.stack([np.sum(weight * np.prod(t[..., list(c)], axis=-1), axis=1) for c in chosen], axis=1)
            target = moments[enough] / total[enough, None]
            coefficients[some[enough]] = solve(target, features, squares, mass, outermost, self.name != "epanechnikov")
        self.derivatives = []
        for order in range(1, self.degree + 1):
            tensor = np.zeros((n, *(d,) * order))
            for column, c in zip(coefficients.T, chosen, strict=True):
                if len(c) == order:
                    value = column * prod(factorial(c.count(j)) for j in set(c)) / self.h**order
                    for place in product(range(d), repeat=order):
                        if sorted(place) == list(c):
                            tensor[(slice(None), *place)] = value
            self.derivatives.append(tensor)
        self.scores: dict[int, np.ndarray] = {}
        return self

    @float64
    def score(self, order: int) -> np.ndarray:
        """Ŝ_order (n, d, …, d) at the rows."""
        if order not in self.scores:
            self.scores[order] = np.asarray(score_tensor(self.derivatives[:order], order))
        return self.scores[order]

    def contract(self, x: Any, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ŝ₄(u, u, v, v) (n,) at the rows, whatever x."""
        return np.einsum("nijkl,i,j,k,l->n", self.score(4), u, u, v, v)

    def mean_score(self, x: Any, y: np.ndarray, order: int) -> np.ndarray:
        """Average of y Ŝ_order over the rows that have a fit."""
        score = self.score(order)
        usable = np.isfinite(score.reshape(len(score), -1)).all(axis=1)
        return np.tensordot(y[usable], score[usable], axes=1) / usable.sum()


def solve(
    target: np.ndarray, features: np.ndarray, squares: np.ndarray, mass: np.ndarray, edge: np.ndarray, unbounded: bool
) -> np.ndarray:
    """θ (q, M) with E_θ[φ] = target by damped Newton steps; NaN where there is none, or its density is at the edge."""
    theta = np.zeros_like(target)

    def state(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        exponent = theta @ features.T
        top = exponent.max(axis=1, keepdims=True)
        weight = mass * np.exp(exponent - top)
        total = weight.sum(axis=1, keepdims=True)
        value = np.sum(theta * target, axis=1) - top[:, 0] - np.log(total[:, 0])
        return value, weight / total, target - weight @ features / total

    value, weight, slope = state(theta)
    lost = np.zeros(len(target), bool)
    for _ in range(STEPS):
        # Where all mass is on one node of the grid there is no solution.
        lost |= weight.max(axis=1) > 1 - 1e-9
        live = np.flatnonzero((np.abs(slope).max(axis=1) > TOLERANCE) & ~lost)
        if not len(live):
            break
        mean = target[live] - slope[live]
        hessian = (weight[live] @ squares).reshape(len(live), target.shape[1], -1) - mean[:, :, None] * mean[:, None, :]
        ridge = 1e-10 * np.trace(hessian, axis1=1, axis2=2)[:, None, None] * np.eye(target.shape[1])
        step = np.linalg.solve(hessian + ridge, slope[live][..., None])[..., 0]
        size = np.ones(len(live))
        for _ in range(6):
            tried = theta[live] + size[:, None] * step
            new = state_of(tried, target[live], features, mass)
            worse = ~(new >= value[live] - 1e-12)
            if not worse.any():
                break
            size[worse] /= 4
        theta[live] = theta[live] + size[:, None] * step
        value, weight, slope = state(theta)
    bad = lost | ~(np.abs(slope).max(axis=1) < 1e-5)
    if unbounded:
        bad |= weight[:, edge].sum(axis=1) > EDGE_MASS
    theta[bad] = np.nan
    return theta


def state_of(theta: np.ndarray, target: np.ndarray, features: np.ndarray, mass: np.ndarray) -> np.ndarray:
    exponent = theta @ features.T
    top = exponent.max(axis=1, keepdims=True)
    value: np.ndarray = np.sum(theta * target, axis=1) - top[:, 0] - np.log(np.exp(exponent - top) @ mass)
    return value


def chosen_bandwidth(name: str, degree: int, Z: np.ndarray, seed: int) -> float:
    """The h of the least error of E[g Ŝ₄], on at most 3,000 rows."""
    d = Z.shape[1]
    rows = Z[:COMPARED]
    frame = ortho_group.rvs(d, random_state=seed) if d > 1 else np.eye(1)
    spread = float(np.sqrt(np.mean(np.var(Z, axis=0)))) * STRETCH[name]
    errors = {}
    for h in (spread * width for width in WIDTHS):
        fitted = GridLikelihood(name, degree, h).fit(rows)
        errors[h] = moment_error(lambda u, v, law=fitted: law.contract(None, u, v), rows, frame)
    return min(errors, key=lambda h: errors[h])


def off_the_neurons(law: Any, Z: np.ndarray, y: np.ndarray, rows: np.ndarray) -> float:
    """What E[y Ŝ₄] has beside Σ κ_i a_i^{⊗4} of orthonormal rows a_i (k, k), relative to it."""
    fit = polynomial_fit(Z, y, 4)
    moment = law.mean_score(None, fit.residual, 4) + (0 if fit.fourth is None else fit.fourth)
    kappa = [np.einsum("ijkl,i,j,k,l", moment, a, a, a, a) for a in rows]
    model = sum(k * np.einsum("i,j,k,l->ijkl", a, a, a, a) for a, k in zip(rows, kappa, strict=True))
    return float(np.linalg.norm(moment - model) / np.linalg.norm(model))


def one(name: str, degree: int, project: bool, data: Any, seed: int) -> tuple[float, float, float]:
    """Largest angle to the teacher's rows, part of E[y Ŝ₄] off the neurons, bandwidth."""
    X, y, weights = data.X, data.y, data.teacher.weights
    k, d = weights.shape
    span, law, off = np.eye(d), None, np.nan
    if project and k < d:
        span = score_span(X, y, LocalLikelihood("moment", random_state=0).fit(X), k)
    Z = X @ span
    if project:
        h = chosen_bandwidth(name, degree, Z, seed)
        law = GridLikelihood(name, degree, h).fit(Z)
        left, _, right = np.linalg.svd(weights @ span)
        off = off_the_neurons(law, Z, y, left @ right)
    else:
        law = LocalLikelihood("moment", random_state=0).fit(X)
        h = law.bandwidth_
    problem = replace(Problem.of(Z, y, k, random_state=seed), inputs=InputLaw(law, False, "benchmark"))
    start = METHODS["score"].start(problem)
    return float(turned(start.network.weights @ span.T, weights).max()), off, h


def check() -> None:
    """The grid against the library, Gaussian kernel."""
    X = Logistic(2).sample(600, random_state=0)
    for degree in (2, 4):
        mine = GridLikelihood("gaussian", degree, 2.0).fit(X).contract(None, np.eye(2)[0], np.eye(2)[1])
        theirs = LocalLikelihood(2.0, degree, min_neighbours=NEIGHBOURS_PER_COEFFICIENT * comb(2 + degree, 2)).fit(X)
        other = theirs.contract(None, np.eye(2)[0], np.eye(2)[1])
        both = np.isfinite(mine) & np.isfinite(other)
        worst = float(np.abs(mine - other)[both].max())
        print(f"degree {degree}: {both.sum()} rows, largest difference {worst:.2g} of {np.abs(other[both]).max():.2g}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=["3,3", "5,3", "5,2"], help="inputs,neurons")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--degrees", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--kernels", nargs="+", choices=list(STRETCH), default=list(STRETCH))
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.check:
        check()
        return
    print(f"{'d':>2} {'k':>2} {'arm':<34} {'angle':>6} {'E[y S4]':>8} {'h':>6}   angles")
    for case in asked.cases:
        d, k = map(int, case.split(","))
        arms = [(name, degree, True) for degree in asked.degrees for name in asked.kernels]
        if k < d:
            arms.insert(0, ("gaussian", 2, False))
        for name, degree, project in arms:
            outcomes = []
            for seed in range(asked.first, asked.first + asked.seeds):
                data = datasets.make_planted(
                    asked.rows, d, k, inputs=Logistic(d), weights="orthogonal", output="positive", random_state=seed
                )
                outcomes.append(one(name, degree, project, data, seed))
            angle, error, h = np.median(np.array(outcomes), axis=0)
            label = f"{name}, degree {degree}" + ("" if project else ", not projected")
            angles = ", ".join(f"{row[0]:.1f}" for row in outcomes)
            print(f"{d:>2} {k:>2} {label:<34} {angle:5.1f}° {error:>8.3f} {h:>6.2f}   {angles}", flush=True)


if __name__ == "__main__":
    main()
