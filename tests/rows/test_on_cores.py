"""Sums that cores share out are those of one compiled loop, whatever the sizes, and the same at every call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from planted import activations
from planted.numerics import threads
from planted.objectives import Penalised, Squared, SquaredError, curvature_product, evaluate_with_gradient
from planted.objectives import _base as base
from planted.rows import ArrayRows
from planted.rows import _on_cores as shared


def sums(block, factor):
    """Two sums over a block: of different shapes."""
    return jnp.sum(block["weight"] * block["y"]), factor * (block["weight"] @ block["x"])


def lowest(block):
    return jnp.min(jnp.where(block["weight"] > 0, block["y"], jnp.inf))


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.setattr(shared, "cores", lambda: 4)
    threads._pool.cache_clear()
    yield
    threads._pool.cache_clear()


@pytest.mark.parametrize(("n", "size"), [(1, None), (7, 2), (1000, 8), (5001, 1024), (20_000, 4096)])
def test_sums_and_minima(four_cores, n, size):
    rng = np.random.default_rng(n)
    x, y, weight = rng.standard_normal((n, 3)), rng.standard_normal(n), rng.random(n)
    with jax.enable_x64(True):
        rows = shared.RowsOnCores(ArrayRows(x, y, weight, block_size=size), 3)
    total, product = rows.sum(sums, 2.0)
    assert total == pytest.approx(weight @ y, abs=1e-12 * n)
    assert product == pytest.approx(2 * weight @ x, abs=1e-12 * n)
    assert rows.minimum(lowest) == y.min()
    assert all(np.array_equal(a, b) for a, b in zip(rows.sum(sums, 2.0), (total, product), strict=True))


def test_derivatives_with_a_penalty(four_cores, monkeypatch):
    monkeypatch.setattr(shared, "_MUCH", 0)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        rows = ArrayRows(rng.standard_normal((9000, 4)), rng.standard_normal(9000), rng.random(9000), block_size=1024)
        plain = Squared.on(rows, activations.get("tanh"))
        params = {"weights": rng.standard_normal((3, 4)), "output": rng.standard_normal(3)}
        direction = {name: rng.standard_normal(value.shape) for name, value in params.items()}
        monkeypatch.setattr(base, "is_small", lambda *args: False)
        for loss in (plain, Penalised(rows, plain.model, SquaredError(), 0.3, np.ones(4))):
            assert not loss.on_cores(params).traceable
            for ours, other in (
                (evaluate_with_gradient(loss, params), loss.traced_value_and_gradient(params)),
                (base.hessian_product(loss, params, direction), loss.traced_hvp(params, direction)),
            ):
                for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(other), strict=True):
                    assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-12, abs=1e-14)
        whole = plain.curvature(params) @ np.concatenate([np.ravel(direction[name]) for name in sorted(direction)])
        product = curvature_product(plain, params, direction)
        flat = np.concatenate([np.ravel(product[name]) for name in sorted(product)])
        assert flat == pytest.approx(np.asarray(whole), rel=1e-10)


def test_an_error_on_another_thread_is_raised(four_cores):
    def wrong():
        raise ValueError("a part failed")

    with pytest.raises(ValueError, match="a part failed"):
        threads.side_by_side([lambda: 1, wrong, lambda: 3])
    assert threads.side_by_side([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]
