"""Certificates on points whose kind is known by construction, and each part against a second computation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from planted import activations
from planted.certificates import (
    KINDS,
    certify,
)
from planted.networks import Network
from planted.objectives import (
    Objective,
    PopulationFullRankLandscape,
    PopulationLandscape,
    PopulationPairs,
    PopulationSquared,
    Squared,
    appendix_d,
)
from planted.precision import float64, to_jax

Point = tuple[Objective, Any, str]


class Conv(Objective):
    """Population loss of a convolutional ReLU network with normalised filter, written here a second time."""

    _arrays = ("filter", "output")
    non_negative = True

    @float64
    def __init__(self, direction: np.ndarray, output: np.ndarray) -> None:
        self.filter, self.output = to_jax(direction / np.linalg.norm(direction)), to_jax(output)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self.filter.shape[0]

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        assert arrays["filter"].shape == self.filter.shape

    def traced_value(self, params: Any) -> jax.Array:
        w, a, b = params["filter"] / jnp.sqrt(params["filter"] @ params["filter"]), params["output"], self.output
        cosine = w @ self.filter
        pole = 1 - cosine**2 < 1e-15
        safe = jnp.where(pole, 0.0, cosine)
        inner = (jnp.sqrt(1 - safe**2) + safe * (jnp.pi - jnp.arccos(safe))) / (2 * jnp.pi)
        same = jnp.where(pole, jnp.where(cosine > 0, 0.5 * cosine, 0.0), inner)

        def mean_product(u: jax.Array, v: jax.Array, diagonal: Any) -> jax.Array:
            return diagonal * (u @ v) + (jnp.sum(u) * jnp.sum(v) - u @ v) / (2 * jnp.pi)

        return 0.5 * (mean_product(a, a, 0.5) + mean_product(b, b, 0.5) - 2 * mean_product(a, b, same))


def conv_output(output: np.ndarray, angle: float) -> np.ndarray:
    """The outputs that are best for a filter at `angle` from the teacher's."""
    k, ones = len(output), np.ones((len(output), len(output)))
    g = (np.pi - angle) * np.cos(angle) + np.sin(angle)
    return np.linalg.solve(ones + (np.pi - 1) * np.eye(k), (ones + (g - 1) * np.eye(k)) @ output)


# Constructions. Each yields (objective, point, kind).


def teacher_points() -> Iterator[Point]:
    """Zero loss of a ReLU teacher: permuted, rescaled, split; and points off it."""
    rng = np.random.default_rng(0)
    loss = PopulationSquared(Network(np.eye(3), np.ones(3)))
    for _ in range(8):
        order, scale = rng.permutation(3), rng.uniform(0.3, 3.0, 3)
        yield loss, np.eye(3)[order], "global minimum"
        yield loss, {"weights": np.eye(3)[order] * scale[:, None], "output": 1 / scale}, "global minimum"
        share = rng.uniform(0.1, 0.9)
        split = {"weights": np.eye(3)[[0, 0, 1, 2]], "output": np.array([share, 1 - share, 1.0, 1.0])}
        yield loss, split, "global minimum"
        yield loss, np.eye(3) + 0.3 * rng.standard_normal((3, 3)), "not critical"


def landscape_points() -> Iterator[Point]:
    """G: its minima are DP, and whatever else is critical is a strict saddle (Theorem 5.1 of Ge et al. 2017)."""
    rng = np.random.default_rng(1)
    for outputs in (np.ones(3), np.array([1.0, 1.5, 2.0])):
        loss = PopulationLandscape(Network(np.eye(3), outputs))
        beta = 6**0.5 * np.asarray(loss.weights) / 12
        lengths = 1 / np.sqrt(1 - float(loss.mu) * beta / float(loss.lam))
        for _ in range(8):
            order = rng.permutation(3)
            minimum = (np.diag(lengths) * rng.choice([-1.0, 1.0], 3))[order]
            yield loss, minimum, "global minimum"
            # G is even in every row, so a row at zero is critical beside any critical others.
            zeroed = minimum * (np.arange(3) != rng.integers(3))[:, None]
            yield loss, zeroed, "saddle"
            yield loss, minimum + 0.1 * rng.standard_normal((3, 3)), "not critical"
        yield loss, np.zeros((3, 3)), "saddle"
    equal = PopulationLandscape(Network(np.eye(3), np.ones(3)))
    beta, lam, mu = float(6**0.5 * equal.weights[0] / 12), float(equal.lam), float(equal.mu)
    for axes in (2, 3):
        # One row with m equal entries t, the others zero: −4μβt³ + 4λ(mt² − 1)t = 0.
        t = np.sqrt(lam / (axes * lam - mu * beta))
        row = np.where(np.arange(3) < axes, t, 0.0)
        yield equal, np.vstack([row, np.zeros((2, 3))]), "saddle"


def full_rank_points() -> Iterator[Point]:
    """F: G after whitening."""
    rng = np.random.default_rng(2)
    weights = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])
    loss = PopulationFullRankLandscape(Network(weights, [1.0, 2.0, 1.5]))
    basis = np.linalg.inv(np.sqrt([1.0, 2.0, 1.5])[:, None] * weights).T
    alpha = 6**0.5 * abs(activations.get("relu").hermite(4)) / np.array([1.0, 2.0, 1.5])
    minimum = basis / np.sqrt(1 - float(loss.mu) * alpha / 12 / float(loss.lam))[:, None]
    for _ in range(6):
        signed = (minimum * rng.choice([-1.0, 1.0], (3, 1)))[rng.permutation(3)]
        yield loss, signed, "global minimum"
        yield loss, signed * (np.arange(3) != rng.integers(3))[:, None], "saddle"
        yield loss, signed * 1.1, "not critical"


def pair_points() -> Iterator[Point]:
    """Appendix D of Ge et al. (2017): minima of P' that are not the teacher, at any length of the rows."""
    rng = np.random.default_rng(3)
    for excess in np.linspace(0.1, 3.0, 12):
        teacher, spurious = appendix_d(float(excess))
        loss = PopulationPairs(teacher)
        yield loss, spurious * rng.uniform(0.5, 2.0, (4, 1)), "local minimum"
        yield loss, np.eye(4)[rng.permutation(4)] * rng.uniform(0.5, 2.0, (4, 1)), "global minimum"


def conv_points() -> Iterator[Point]:
    """Lemma 4.1 of Du et al. (2017): the teacher, the trap opposite to it, and saddles where a·a* = 0."""
    rng = np.random.default_rng(4)
    for _ in range(8):
        direction, output = rng.standard_normal(3), rng.standard_normal(4)
        output -= 0.95 * output.mean()
        loss = Conv(direction, output)
        yield loss, {"filter": rng.uniform(0.5, 2) * direction, "output": output}, "global minimum"
        trap = conv_output(output, np.pi)
        assert trap @ output < 0
        yield loss, {"filter": -rng.uniform(0.5, 2) * direction, "output": trap}, "local minimum"
        angle = brentq(lambda t, b=output: conv_output(b, t) @ b, 1e-6, np.pi - 1e-6, xtol=1e-15)
        unit = direction / np.linalg.norm(direction)
        other = np.linalg.qr(np.column_stack([unit, rng.standard_normal(3)]))[0][:, 1]
        turned = np.cos(angle) * unit + np.sin(angle) * other
        # The filter's gradient is proportional to a·a*, whose own slope in the outputs is not zero.
        yield loss, {"filter": turned, "output": conv_output(output, angle)}, "saddle"
        yield loss, {"filter": turned, "output": output}, "not critical"
        # With a large sum of outputs a·a* > 0 also opposite to the teacher, and the loss falls like |δ|³.
        positive = np.abs(output) + 1
        assert conv_output(positive, np.pi) @ positive > 0
        yield Conv(direction, positive), {"filter": -direction, "output": conv_output(positive, np.pi)}, "saddle"


def with_residual_matrix(
    rng: np.random.Generator, weights: np.ndarray, output: np.ndarray, S: np.ndarray, n: int = 40
) -> Squared:
    """Data for which 1/n Σ rᵢ xᵢxᵢᵀ is S at `weights`; S = 0 still leaves residuals that are not zero."""
    X = rng.standard_normal((n, weights.shape[1]))
    products = np.einsum("ni,nj->ijn", X, X).reshape(-1, n)
    free = rng.standard_normal(n)
    wanted = n * S.reshape(-1) - products @ free
    residual = free + np.linalg.lstsq(products, wanted, rcond=None)[0]
    predictions = (X @ weights.T) ** 2 @ output
    return Squared(X, predictions - residual, "quadratic", output=output)


def quadratic_points() -> Iterator[Point]:
    """Theorems 2.1 and 2.2 of Soltanolkotabi et al. (2017), any data, loss above zero."""
    rng = np.random.default_rng(5)
    mixed, positive = np.array([1.0, 0.5, 2.0, -1.0, -0.5, -2.0]), np.array([1.0, 0.5, 2.0, 1.0, 0.7, 1.5])
    for _ in range(6):
        basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        up, weights = np.outer(basis[0], basis[0]), rng.standard_normal((6, 2)) @ basis[1:]
        indefinite = up - 0.5 * np.outer(basis[1], basis[1])
        flat = rng.standard_normal((6, 1)) @ basis[2:]
        full = rng.standard_normal((6, 3))
        yield with_residual_matrix(rng, full, mixed, np.zeros((3, 3))), full, "global minimum"
        yield with_residual_matrix(rng, weights, mixed, up), weights, "saddle"
        yield with_residual_matrix(rng, weights, mixed, -up), weights, "saddle"
        yield with_residual_matrix(rng, full, mixed, indefinite), full, "not critical"
        yield with_residual_matrix(rng, weights, positive, up), weights, "global minimum"
        yield with_residual_matrix(rng, weights, positive, -up), weights, "saddle"
        yield with_residual_matrix(rng, flat, positive, indefinite), flat, "saddle"
        yield with_residual_matrix(rng, weights, -positive, -up), weights, "global minimum"
        yield with_residual_matrix(rng, 0 * full, mixed, indefinite), 0 * full, "saddle"
        yield with_residual_matrix(rng, 0 * full, positive, up), 0 * full, "global minimum"


def narrow_quadratic_points() -> Iterator[Point]:
    """One neuron, three inputs: the Hessian 2S + 4 mean (w·x)² xxᵀ, here with S = −sP on the complement of w."""
    rng = np.random.default_rng(6)
    for _ in range(8):
        w = rng.standard_normal((1, 3))
        complement = np.eye(3) - w.T @ w / (w @ w.T)
        seed = int(rng.integers(2**31))
        X = np.random.default_rng(seed).standard_normal((40, 3))
        stiff = 4 * (X.T * (X @ w[0]) ** 2) @ X / 40
        for share, kind in ((0.5, "local minimum"), (2.0, "saddle")):
            # At s: λ_min(stiff) / 2 the Hessian is still positive; beyond λ_max / 2 it is not.
            s = share * (np.linalg.eigvalsh(stiff)[0] if share < 1 else np.linalg.eigvalsh(stiff)[-1]) / 2
            loss = with_residual_matrix(np.random.default_rng(seed), w, np.ones(1), -s * complement)
            yield loss, w, kind


def smooth_points() -> Iterator[Point]:
    """Networks with both layers learned: interpolation (flat global minima) and the saddle at zero."""
    rng = np.random.default_rng(7)
    for name in ("tanh", "softplus"):
        for _ in range(6):
            params = {"weights": rng.standard_normal((5, 3)), "output": rng.standard_normal(5)}
            X = rng.standard_normal((10, 3))
            y = Network(params["weights"], params["output"], name).predict(X)
            yield Squared(X, y, name), params, "global minimum"
            yield Squared(X, y + rng.standard_normal(10), name), params, "not critical"
            if name == "tanh":
                # ∂²/∂output∂weights = −mean(y x) ≠ 0 beside zero blocks.
                yield Squared(X, y, name), {"weights": np.zeros((5, 3)), "output": np.zeros(5)}, "saddle"


def linear_piece_points() -> Iterator[Point]:
    """ReLU neurons that all samples activate fit a line: least squares, flat in how the neurons share it."""
    rng = np.random.default_rng(8)
    for _ in range(8):
        X = rng.uniform(0.5, 1.5, (30, 2))
        y = X @ np.array([1.0, 2.0]) + 0.1 * rng.standard_normal(30)
        best = np.linalg.lstsq(X, y, rcond=None)[0]
        assert np.all(best > 0)
        share = rng.uniform(0.2, 0.8)
        both = np.vstack([share * best, (1 - share) * best])
        yield Squared(X, y), both, "local minimum"
        yield Squared(X, y), {"weights": both, "output": np.ones(2)}, "local minimum"
        # A neuron that no sample activates changes nothing nearby.
        yield Squared(X, y), np.vstack([best, -best]), "local minimum"


FAMILIES: dict[str, Callable[[], Iterator[Point]]] = {
    function.__name__: function
    for function in (
        teacher_points, landscape_points, full_rank_points, pair_points, conv_points, quadratic_points,
        narrow_quadratic_points, smooth_points, linear_piece_points,
    )
}  # fmt: skip


@cache
def points(family: str) -> list[Point]:
    return list(FAMILIES[family]())


COUNTS = {
    "teacher_points": 32, "landscape_points": 52, "full_rank_points": 18, "pair_points": 24, "conv_points": 40,
    "quadratic_points": 60, "narrow_quadratic_points": 16, "smooth_points": 30, "linear_piece_points": 24,
}  # fmt: skip


@pytest.mark.parametrize(("family", "index"), [(f, i) for f, count in COUNTS.items() for i in range(count)])
def test_kind_known_by_construction(family: str, index: int) -> None:
    objective, params, kind = points(family)[index]
    found = certify(objective, params)
    assert found.kind == kind, str(found)
    assert np.isfinite(found.residual)
    if kind in ("saddle", "not critical"):
        assert found.decrease > 0
        assert jax.tree.map(np.shape, found.direction) == jax.tree.map(np.shape, params)


def test_constructions_are_all_used_and_enough() -> None:
    assert {family: len(points(family)) for family in FAMILIES} == COUNTS
    assert sum(COUNTS.values()) >= 200
    kinds = {kind for family in FAMILIES for _, _, kind in points(family)}
    assert kinds == set(KINDS) - {"undecided"}
