"""Certificates on points whose kind is known by construction, and each part against a second computation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import planted
from planted import activations
from planted.certificates import (
    KINDS,
    assumptions,
    average_curvature,
    average_slope,
    certify,
    find_kinks,
    flat_symmetries,
    rho,
    smallest_curvature,
)
from planted.certificates._degenerate import _measured
from planted.certificates._symmetries import kernel_direction
from planted.networks import ConvNetwork, Network
from planted.numerics.precision import float64, to_jax
from planted.objectives import (
    Flat,
    Landscape,
    Objective,
    PopulationConv,
    PopulationFullRankLandscape,
    PopulationLandscape,
    PopulationPairs,
    PopulationSquared,
    Squared,
    appendix_d,
    smallest_eigenpair,
)
from planted.rows import ArrayRows
from planted.solvers import lbfgs, leave_saddles, newton_polish

Point = tuple[Objective, Any, str]


class Conv(Objective):
    """Population loss of a shared ReLU filter, written here a second time: `certify` does not recognise its points."""

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
    beta, lam, mu = float(6**0.5 * np.asarray(equal.weights)[0] / 12), float(equal.lam), float(equal.mu)
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

    def known(direction: np.ndarray, output: np.ndarray) -> PopulationConv:
        return PopulationConv(ConvNetwork(direction / np.linalg.norm(direction), output))

    for build in [Conv] * 2 + [known] * 6:
        direction, output = rng.standard_normal(3), rng.standard_normal(4)
        output -= 0.95 * output.mean()
        loss = build(direction, output)
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
        yield build(direction, positive), {"filter": -direction, "output": conv_output(positive, np.pi)}, "saddle"


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


# Parts, each against a second computation.


def test_minima_that_descent_converges_to_are_told_apart() -> None:
    """Ten neurons: one random start ends in a trap, another at the teacher (found by the study of spurious minima)."""
    loss = PopulationSquared(Network(np.eye(10), np.ones(10)))
    draws = np.random.default_rng([0, 10]).standard_normal((2, 20, 10))[:, :10] / 10**0.5
    for index, kind in ((1, "local minimum"), (0, "global minimum")):
        end = newton_polish(loss, lbfgs(loss, draws[index], steps=2000, tolerance=1e-10).params, tolerance=1e-11)
        found = certify(loss, end.params)
        assert found.gradient_norm < 1e-9
        assert found.kind == kind, str(found)
        if kind == "local minimum":
            assert found.value > 1e-3
            # Central differences of the gradient along random directions see no negative curvature either.
            for direction in np.random.default_rng(0).standard_normal((20, 10, 10)):
                ahead, behind = (loss.gradient(end.params + s * direction) for s in (1e-5, -1e-5))
                assert np.sum(direction * (ahead - behind)) > 0


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_verdict_does_not_depend_on_the_units_of_the_targets(factor: float) -> None:
    rng = np.random.default_rng(0)
    X, W, v = rng.standard_normal((20, 3)), rng.standard_normal((4, 3)), factor * np.ones(4)
    y = (np.maximum(X @ W.T, 0)) @ v
    loss = Squared(X, y)
    assert certify(loss, {"weights": W, "output": v}).kind == "global minimum"
    assert certify(loss, {"weights": W + 0.05, "output": v}).kind == "not critical"


def test_float32_and_bad_tolerances_are_refused() -> None:
    loss = PopulationSquared(Network(np.eye(2), np.ones(2)))
    with pytest.raises(ValueError, match="float32"):
        certify(loss, np.eye(2, dtype=np.float32))
    with pytest.raises(ValueError, match="float32"):
        certify(loss, jnp.eye(2, dtype=jnp.float32))
    single = Squared.on(ArrayRows(jnp.ones((3, 2), jnp.float32), jnp.ones(3, jnp.float32)), activations.get("relu"))
    with pytest.raises(ValueError, match="objective holds float32"):
        certify(single, np.eye(2))
    with pytest.raises(ValueError, match="tolerance"):
        certify(loss, np.eye(2), tolerance=0.0)


def test_top_level_name_and_report() -> None:
    found = planted.certify(PopulationSquared(Network(np.eye(2), np.ones(2))), np.eye(2))
    assert str(found).startswith("global minimum")
    assert found.as_dict()["kind"] == "global minimum"
    assert found.is_minimum
    assert planted.certify(PopulationSquared(Network(np.eye(2), np.ones(2))), [[0.0, 1.0], [1.0, 0.0]]).is_minimum


def test_a_vector_of_the_kernel_spares_lanczos_and_another_does_not() -> None:
    values = np.append(0.0, np.linspace(1.0, 2.0, 99))
    found, other, plain = (
        smallest_eigenpair(lambda vector: values * vector, 100, null=null)
        for null in (np.eye(100)[0], np.ones(100), None)
    )
    assert found.products < plain.products <= other.products
    assert found.norm == plain.norm
    for one in (found, other, plain):
        assert one.eigenvalue == pytest.approx(0.0, abs=1e-7)


def test_a_symmetry_gives_the_kernel_where_nothing_is_left() -> None:
    rng = np.random.default_rng(0)
    network = Network(rng.standard_normal((4, 5)), rng.standard_normal(4))
    X = rng.standard_normal((300, 5))
    params = {"weights": network.weights, "output": network.output}
    loss = Squared(X, network.predict(X))
    tangent = kernel_direction(loss, params, 0.0)
    assert tangent is not None
    hessian = loss.hessian(params)
    assert np.linalg.norm(hessian @ tangent) < 1e-9 * np.linalg.norm(hessian, 2)
    found = certify(loss, params, dense_size=0)
    assert found.kind == "global minimum"
    assert abs(found.min_eigenvalue) < 1e-9 * found.hessian_norm
    # Elsewhere a negative eigenvalue may lie beside the kernel.
    other = Squared(X, network.predict(X) + X[:, 0])
    assert kernel_direction(other, params, other.value(params)) is None


@pytest.mark.parametrize("seed", range(3))
def test_lanczos_agrees_with_the_dense_spectrum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 6)), rng.standard_normal(50)
    loss, params = Squared(X, y, "tanh"), {"weights": rng.standard_normal((10, 6)), "output": rng.standard_normal(10)}
    values = np.linalg.eigvalsh(loss.hessian(params))
    norm = np.abs(values).max()
    free = smallest_curvature(loss, params, dense_size=0)
    assert free.method == "lanczos"
    assert free.eigenvalue == pytest.approx(values[0], abs=1e-6 * norm)
    assert free.norm == pytest.approx(norm, rel=1e-2)
    assert free.residual <= 1e-5 * norm
    assert smallest_curvature(loss, params).eigenvalue == pytest.approx(values[0], abs=1e-12 * norm)


@pytest.mark.parametrize("lift", [0, 3])
def test_the_smallest_eigenpair_alone_is_that_of_the_whole_spectrum(lift: int) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((40, 40))
    matrix = matrix + matrix.T
    lifted = np.linalg.qr(rng.standard_normal((40, lift)))[0] if lift else None
    whole, alone = (smallest_eigenpair(matrix, 40, lifted, whole=whole) for whole in (True, False))
    assert whole.values is not None
    assert alone.values is None
    assert alone.eigenvalue == pytest.approx(whole.eigenvalue, rel=1e-10)
    assert abs(alone.vector @ whole.vector) == pytest.approx(1.0, abs=1e-10)
    assert alone.norm == pytest.approx(whole.norm, rel=1e-2)
    if lifted is not None:
        assert np.abs(lifted.T @ alone.vector).max() < 1e-10


@pytest.mark.parametrize("dense_size", [0, 600])
def test_lifted_directions_are_left_out(dense_size: int) -> None:
    rng = np.random.default_rng(0)
    loss = Squared(rng.standard_normal((30, 4)), rng.standard_normal(30), "tanh")
    W = rng.standard_normal((3, 4))
    values, vectors = np.linalg.eigh(loss.hessian(W))
    rest = smallest_curvature(loss, W, lifted=vectors[:, :2], dense_size=dense_size)
    assert rest.eigenvalue == pytest.approx(values[2], abs=1e-6 * np.abs(values).max())
    assert np.abs(vectors[:, :2].T @ rest.vector).max() < 1e-3


def test_large_problems_get_the_same_kinds_without_the_hessian() -> None:
    for family, index in (
        ("landscape_points", 0),
        ("landscape_points", 1),
        ("quadratic_points", 1),
        ("pair_points", 1),
    ):
        objective, params, kind = points(family)[index]
        found = certify(objective, params, dense_size=0)
        assert found.method == "lanczos"
        assert found.kind == kind, str(found)


def test_symmetries_are_found_and_only_those() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    W, v = rng.standard_normal((4, 3)), rng.standard_normal(4)
    names = lambda loss, params: {s.name: s.tangents.shape[1] for s in flat_symmetries(loss, params)}  # noqa: E731
    assert names(Squared(X, y), {"weights": W, "output": v}) == {"scale between the layers": 4}
    assert names(Squared(X, y, "tanh"), {"weights": W, "output": v}) == {}
    assert names(Squared(X, y), W) == {}
    twice = W[[0, 0, 1, 2]]
    assert names(Squared(X, y, "tanh"), {"weights": twice, "output": v}) == {"equal neurons share their output": 1}
    silent = {"weights": W, "output": v * (np.arange(4) > 0)}
    assert names(Squared(X, y, "tanh"), silent)["neurons that contribute nothing"] == 3
    assert names(Squared(X, y, "quadratic", output=v), W) == {"factorisations of the same matrix": 6}
    assert names(Squared(X * [1, 1, 0], y, "tanh"), W) == {"inputs that do not vary": 4}
    half = PopulationSquared(Network(np.eye(4)[:2], np.ones(2)))
    assert names(half, rng.standard_normal((2, 4))) == {"rotation of inputs that the teacher does not see": 1}


@pytest.mark.parametrize("units", [[1.0, 1.0, 1.0], [1e-4, 1.0, 1e6]])
def test_units_of_inputs_and_small_parts_make_nothing_flat(units: list[float]) -> None:
    """A minimum with a linear part that is next to zero is one with a positive Hessian, in any units of the inputs."""
    rng = np.random.default_rng(1)
    X, W, v = rng.standard_normal((300, 3)), np.array([[1.0, 0.5, -1.0], [-0.5, 1.0, 1.0]]), np.array([1.0, -2.0])
    y = np.tanh(X @ W.T + 0.5) @ v + 3.0 + 1e-3 * rng.standard_normal(300)
    parts = {"bias": True, "intercept": True, "skip": True}
    loss = Squared(X, y, "tanh", **parts)
    start = {"weights": W, "output": v, "bias": np.full(2, 0.5), "intercept": np.array(3.0), "skip": np.zeros(3)}
    end = newton_polish(loss, start).params
    assert np.linalg.norm(end["skip"]) < 0.01
    moved = {name: value / units if name in ("weights", "skip") else value for name, value in end.items()}
    found = certify(Squared(X * units, y, "tanh", **parts), moved)
    assert (found.kind, found.flat) == ("local minimum", ())
    assert found.reason == "the gradient vanishes and the Hessian is positive definite"


def test_saturated_neurons_are_named_as_such() -> None:
    X, y = np.random.default_rng(0).standard_normal((30, 2)) * [1.0, 1e-8] + [10.0, 0.0], np.arange(30.0)
    params = {"weights": np.array([[9.0, 1.0]]), "output": np.array([y.mean()])}
    names = {symmetry.name for symmetry in flat_symmetries(Squared(X, y, "tanh"), params)}
    assert names == {"length of saturated neurons"}


def test_symmetry_tangents_are_flat_at_critical_points() -> None:
    for family in ("teacher_points", "pair_points", "conv_points"):
        for objective, params, kind in points(family)[:6]:
            if kind == "not critical":
                continue
            hessian = objective.hessian(params)
            for symmetry in flat_symmetries(objective, params):
                assert np.abs(hessian @ symmetry.tangents).max() < 1e-8 * max(np.abs(hessian).max(), 1e-3)


def test_kinks_are_found_and_said() -> None:
    X = np.array([[1.0, 1.0], [2.0, -1.0], [0.3, 0.4]])
    on, off = np.array([[1.0, -1.0]]), np.array([[1.0, -0.9]])
    loss = Squared(X, np.ones(3))
    assert find_kinks(loss, on).count == 1
    assert (find_kinks(loss, on).sample, find_kinks(loss, on).neuron) == (0, 0)
    assert not find_kinks(loss, off).present
    assert not find_kinks(Squared(X, np.ones(3), "softplus"), on).present
    assert find_kinks(Squared(X, np.ones(3), "squared_relu"), on).jump == 2
    assert "non-smooth" in certify(loss, on).reason
    zero = certify(loss, {"weights": np.zeros((1, 2)), "output": np.zeros(1)})
    assert zero.kind == "undecided"
    assert "non-smooth" in zero.reason


def test_zero_rows_of_population_losses_are_said_to_be_not_smooth() -> None:
    found = certify(PopulationPairs(Network(np.eye(2), np.ones(2))), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert found.kind == "undecided"
    assert "non-smooth" in found.reason


@pytest.mark.parametrize("name", ["G with a zero row", "conv", "quadratic"])
def test_saddles_are_left_along_the_direction_given(name: str) -> None:
    family, index = {"G with a zero row": ("landscape_points", 1), "conv": ("conv_points", 2),
                     "quadratic": ("quadratic_points", 1)}[name]  # fmt: skip
    objective, params, kind = points(family)[index]
    assert kind == "saddle"
    end = leave_saddles(objective, params, gradient_tolerance=1e-8)
    assert end.converged, str(end)
    assert end.value < objective.value(params)
    assert certify(objective, end.params).is_minimum


def test_only_population_losses_have_a_minimum_known_by_theorem() -> None:
    data = planted.datasets.make_planted(400, 3, 3, random_state=0)
    assert Landscape(data.X, data.y, "relu").known_minimum() is None
    assert PopulationLandscape(data.teacher).known_minimum() is not None


# Assumptions.


@pytest.mark.parametrize("name", ["relu", "softplus", "sigmoid", "tanh", "quadratic", "erf"])
def test_average_slope_and_curvature_against_quadrature(name: str) -> None:
    act, sigma = activations.get(name), 1.7
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    if name != "relu":
        assert average_slope(act, sigma) == pytest.approx(w @ act.derivative(sigma * z), abs=1e-5)
        assert average_curvature(act, sigma) == pytest.approx(w @ act.derivative(sigma * z, 2), abs=1e-4)
    else:
        # E[relu''(σg)] is the density of σg at zero.
        assert average_slope(act, sigma) == pytest.approx(0.5, abs=1e-12)
        assert average_curvature(act, sigma) == pytest.approx(1 / (sigma * np.sqrt(2 * np.pi)), rel=1e-9)


def test_rho_against_closed_forms() -> None:
    # relu': α = (1/2, 1/√2π, 1/2), β = (1/2, 1/2), so ρ = 1/4 − 1/2π; φ = z²: α = (0, 2σ, 0), β = (4σ², 12σ²).
    assert rho(activations.get("relu"), 2.0) == pytest.approx(0.25 - 1 / (2 * np.pi), abs=1e-10)
    assert rho(activations.get("quadratic"), 1.5) == pytest.approx(0.0, abs=1e-9)


def test_table_of_assumptions() -> None:
    data = planted.datasets.make_planted(500, 4, 3, weights="correlated", output="positive", random_state=0)
    table = {row.name: row for row in assumptions(data.X, data.teacher, mu=0.01, lam=10.0)}
    assert table["inputs are Gaussian"].status == "holds"
    assert table["weights are orthogonal"].status == "fails"
    assert table["weights have full rank k ≤ d"].number == pytest.approx(3.0, rel=1e-6)
    assert table["μ β_max ≤ c α_min"].status == "holds"
    assert table["φ' and φ'' are bounded"].status == "fails"
    assert table["n ≥ poly(d)"].status == "unknown"
    # The theorems name no polynomial: only fewer rows than inputs are surely too few.
    few = {n: {row.name: row for row in assumptions(data.X[:n], data.teacher)} for n in (3, 7)}
    assert [few[n]["n ≥ poly(d)"].status for n in (3, 7)] == ["fails", "unknown"]
    skewed = {row.name: row for row in assumptions(np.random.default_rng(0).exponential(size=(500, 4)))}
    assert skewed["inputs are Gaussian"].status == "fails"
    assert skewed["inputs have mean zero and covariance I"].status == "fails"
    wide = Network(np.random.default_rng(0).standard_normal((8, 4)), [1.0] * 4 + [-1.0] * 4, "quadratic")
    square = {row.name: row.status for row in assumptions(data.X[:9], wide)}
    assert square["d positive and d negative outputs (k ≥ 2d)"] == "holds"
    assert square["n ≤ d(d+1)/2"] == "holds"
    assert square["μ(σ) is zero everywhere or nowhere"] == "holds"
    assert square["outputs are positive"] == "fails"


def test_weights_that_cancel_do_not_make_a_loss_zero() -> None:
    """Two neurons of length 500 that cancel: the scale of the Hessian is beyond 1e11, the loss that of no network."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    W = 500 * np.array([[1.0, 0.0], [1.0, 0.0]])
    y = rng.standard_normal(12)
    certificate = certify(Squared(X, y, "quadratic", np.array([1.0, -1.0])), W)
    assert certificate.value == pytest.approx(np.mean(y**2) / 2)
    assert certificate.kind != "global minimum"


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e5])
def test_targets_far_from_zero_do_not_make_a_loss_zero(mean: float) -> None:
    """What noise leaves is little beside the mean, and most of what the network leaves beside that."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    clean = np.tanh(X[:, 0])
    loss = Squared(X, mean + clean + 1e-3 * rng.standard_normal(200), "tanh", intercept=True)
    params = {"weights": np.array([[1.0, 0.0]]), "output": np.ones(1), "intercept": np.array(mean)}
    assert loss.constant_loss() == pytest.approx(np.var(loss.rows.on_host[1]) / 2, rel=1e-4)
    assert certify(loss, params).kind != "global minimum"
    exact = Squared(X, mean + clean, "tanh", intercept=True)
    assert "here it is zero" in certify(exact, params).reason


def test_a_neuron_of_a_length_that_rounds_to_zero_is_no_error() -> None:
    for length in (0.0, 1e-14):
        table = assumptions(network=Network([[1.0, 0.0], [0.0, length]], [1.0, 1.0], "quadratic"))
        assert "every neuron has a third or fourth moment" in {row.name for row in table}


def test_assumptions_3_and_4_of_fu2018_are_in_the_table() -> None:
    """Sigmoid has a third moment and m₁ grows; z² has neither a third nor a fourth; of cos z, m₂ turns at σ² = 2."""
    names = (
        "every neuron has a third or fourth moment",
        "the first moment that there is grows or falls with a neuron's length",
    )

    def statuses(activation: object, length: float) -> list[str]:
        table = assumptions(network=Network(length * np.eye(2), np.ones(2), activation))
        return [row.status for name in names for row in table if row.name == name]

    assert statuses("sigmoid", 2.0) == ["holds", "holds"]
    assert statuses("quadratic", 2.0) == ["fails", "holds"]
    assert statuses(jnp.cos, 2.0**0.5) == ["holds", "fails"]
    table = assumptions(np.zeros((3, 2)), Network(np.eye(2), np.ones(2), "sigmoid"))
    assert [row.status for row in table if row.theorem == "fu2018 3"] == ["fails"]


@pytest.mark.parametrize(
    ("target", "second", "kind", "words"),
    [
        (-1.0, 2.0, "local minimum", "the loss rises off a kink"),
        (-1.0, 1.5, "not critical", "along which the gradient does not vanish"),
        (1.0, 2.0, "not critical", "off which the loss falls"),
    ],
)
def test_points_on_kinks_are_told_by_both_sides(target: float, second: float, kind: str, words: str) -> None:
    """½(|w₁| − target)² + ½(|w₂| − 2)², whose kink w₁ = 0 is a valley for a negative target and a ridge otherwise."""
    loss = Squared([[1.0, 0.0], [0.0, 1.0]], [target, 2.0], "abs", output=[1.0])
    found = certify(loss, np.array([[0.0, second]]))
    assert (found.kind, words in found.reason) == (kind, True), str(found)
    assert (found.decrease > 0) == (kind == "not critical")


def test_the_minimum_of_a_noisy_relu_fit_is_one() -> None:
    """Found where gradients of both sides balance along a kink; no random step of 1e-4 leads down from there."""
    rng = np.random.default_rng(4)
    data = planted.datasets.make_planted(600, 4, 2, activation="leaky_relu", noise=0.2, random_state=1)
    est = planted.PlantedRegressor(2, "leaky_relu", fit_bias=False, fit_intercept=False, random_state=0)
    est.fit(data.X, data.y)
    loss = Squared(data.X, data.y, "leaky_relu")
    params = loss.model.params(est.network_)
    found = certify(loss, params)
    assert find_kinks(loss, params).present
    assert (found.kind, "rises off" in found.reason) == ("local minimum", True), str(found)
    for _ in range(200):
        moved = {name: value + 1e-4 * rng.standard_normal(value.shape) for name, value in params.items()}
        assert loss.value(moved) > found.value


def test_a_step_beyond_all_numbers_is_no_way_down_and_no_warning():
    X, y = np.ones((3, 1)), np.zeros(3)
    flat = Flat(Squared(X, y, "quadratic"), {"weights": np.zeros((1, 1)), "output": np.ones(1)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured = _measured(flat, np.array([[0.0, 1.0]]), np.full((2, 2), 1e200), 1.0, 1.0)
    assert measured.kind == "local minimum"


def test_one_direction_is_counted_in_the_singular():
    flat = Flat(Squared([[1.0]], [0.0], "quadratic"), np.zeros((1, 1)))
    assert "measured in 1 direction to" in _measured(flat, np.ones((1, 1)), np.zeros((1, 1)), 1.0, 1.0).reason


def test_the_direction_along_which_the_loss_falls_is_printed():
    X = np.random.default_rng(0).standard_normal((200, 2))
    found = certify(Squared(X, np.maximum(X[:, 0], 0), "relu"), {"weights": np.ones((1, 2)), "output": np.zeros(1)})
    assert found.decrease > 0
    largest = max(
        ((abs(value), name, place) for name, part in found.direction.items() for place, value in np.ndenumerate(part))
    )
    line = next(line for line in str(found).splitlines() if "the loss falls by" in line)
    assert f"along a direction that changes {largest[1]}{list(largest[2])} by " in line
