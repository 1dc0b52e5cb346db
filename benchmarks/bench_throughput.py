"""Gradients and Gauss–Newton products of the squared loss beside the matrix products that they consist of.

    python benchmarks/bench_throughput.py [repeats] [processor]

A gradient of n rows, d inputs and k neurons is two products of large matrices, X Wᵀ and UᵀX; a Gauss–Newton product
is three, X Wᵀ, X Vᵀ and UᵀX. These are timed alone, on the same rows in one piece and in blocks of 8,192, by NumPy's
library and by JAX, by JAX once more as W Xᵀ and Uᵀ (k, n) times X, and so in the blocks that our rows are cut into
with W and V in one matrix, one block or two in a turn of the loop, and as our sums are taken: in pieces, each core a
part of the rows. All run in turns in one process; the fastest of the eight is what the machine can do. Calls are
repeated for a tenth of a second before they are timed for another: threads of NumPy's library go on waiting for work
for some time, which the next computation would pay for. The mean call of a turn counts, since single calls differ by
factors where the machine is a virtual one, and the ratio of medians over turns is printed. With "processor" the
processor's time counts instead of the clock's: on one core (OMP_NUM_THREADS=1 taskset -c 0) that says the same on a
machine that is not quiet.

Beside it stands the ratio to these products plus the n·k activations alone, by the faster of NumPy and JAX: no
gradient can do without them, and where d is small they cost as much as the products. Front doors compute in float64;
float32 is what a solver computes in that was handed float32.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.objectives import Squared, curvature_product, evaluate_with_gradient
from planted.rows import ArrayRows, on_cores

SIZES = ((262_144, 20, 10), (65_536, 50, 50), (65_536, 100, 100), (32_768, 200, 200))
BLOCK = 8192
_AT_REST = _TIMED = 0.1


@jax.jit
def _one_piece(x: Any, weights: tuple[Any, ...], u: Any) -> Any:
    return tuple(x @ weight.T for weight in weights), u.T @ x


@jax.jit
def _blocks(x: Any, weights: tuple[Any, ...], u: Any) -> Any:
    """The same products over blocks: only sums leave a block, as in an objective."""

    def add(total: Any, block: Any) -> Any:
        rows, part = block
        products = [rows @ weight.T for weight in weights]
        # What a block has computed must be used, or the compiler leaves it out.
        return (total[0] + part.T @ rows, total[1] + sum(product[0] for product in products)), None

    cut = tuple(array.reshape(-1, BLOCK, array.shape[1]) for array in (x, u))
    return jax.lax.scan(add, (jnp.zeros_like(weights[0]), jnp.zeros(len(weights[0]), x.dtype)), cut)[0]


@jax.jit
def _across(blocks: Any, weights: tuple[Any, ...], u: Any) -> Any:
    """The same with a row of each result for a neuron: blocks (b, r, d) and u (b, k, r)."""

    def add(total: Any, block: Any) -> Any:
        rows, part = block
        products = [weight @ rows.T for weight in weights]
        return (total[0] + part @ rows, total[1] + sum(product[:, 0] for product in products)), None

    return jax.lax.scan(add, (jnp.zeros_like(weights[0]), jnp.zeros(len(weights[0]), blocks.dtype)), (blocks, u))[0]


@partial(jax.jit, static_argnames="unroll")
def _at_once(blocks: Any, weights: tuple[Any, ...], u: Any, unroll: int = 1) -> Any:
    """The same with the weights below one another: one product with the rows for all of them."""
    both = jnp.concatenate(weights)

    def add(total: Any, block: Any) -> Any:
        rows, part = block
        return (total[0] + part @ rows, total[1] + (both @ rows.T)[:, 0]), None

    start = jnp.zeros_like(weights[0]), jnp.zeros(len(both), blocks.dtype)
    return jax.lax.scan(add, start, (blocks, u), unroll=unroll)[0]


def _of_a_piece(block: Any, weights: tuple[Any, ...]) -> Any:
    """The same for some rows whose targets are u."""
    return block["y"].T @ block["x"], (jnp.concatenate(weights) @ block["x"].T)[:, 0]


def _numpy_blocks(x: np.ndarray, weights: tuple[np.ndarray, ...], u: np.ndarray) -> np.ndarray:
    total = np.zeros_like(weights[0])
    for start in range(0, len(x), BLOCK):
        rows = x[start : start + BLOCK]
        for weight in weights:
            _ = rows @ weight.T
        total += u[start : start + BLOCK].T @ rows
    return total


def compared(
    size: tuple[int, int, int], dtype: type, name: str, repeats: int, clock: Callable[[], float] = time.perf_counter
) -> None:
    """Time both operations on one problem and print their ratios."""
    n, d, k = size
    rng = np.random.default_rng(0)
    x, y, u = (rng.standard_normal(shape).astype(dtype) for shape in ((n, d), (n,), (n, k)))
    weights, other = (rng.standard_normal((k, d)).astype(dtype) for _ in range(2))
    activation = activations.get(name)
    on_host = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}[name]
    by_jax = jax.jit(activation)
    params, direction = ({"weights": w, "output": rng.standard_normal(k).astype(dtype)} for w in (weights, other))
    with jax.enable_x64(True):
        loss = Squared.on(ArrayRows(jnp.asarray(x), jnp.asarray(y)), activation)
        held = tuple(jnp.asarray(array) for array in (x, u))
        several = jnp.asarray(weights), jnp.asarray(other)

        def cut(size: int) -> tuple[Any, Any]:
            return held[0].reshape(-1, size, d), jnp.asarray(u.reshape(-1, size, k).transpose(0, 2, 1).copy())

        shared = on_cores(ArrayRows(held[0], held[1]), k)
        across, own = cut(BLOCK), cut(loss.rows.blocks["x"].shape[1])
        for what, count, ours in (
            ("gradient", 1, lambda: evaluate_with_gradient(loss, params)),
            ("Gauss–Newton product", 2, lambda: curvature_product(loss, params, direction)),
        ):
            ways: dict[str, Callable[[], Any]] = {
                "ours": ours,
                "JAX": lambda count=count: _one_piece(held[0], several[:count], held[1]),
                "JAX in blocks": lambda count=count: _blocks(held[0], several[:count], held[1]),
                "JAX across": lambda count=count: _across(across[0], several[:count], across[1]),
                "JAX at once": lambda count=count: _at_once(own[0], several[:count], own[1]),
                "JAX at once, two blocks": lambda count=count: _at_once(own[0], several[:count], own[1], 2),
                "JAX, a part for each core": lambda count=count: shared.sum(_of_a_piece, several[:count]),
                "NumPy": lambda count=count: ([x @ w.T for w in (weights, other)[:count]], u.T @ x),
                "NumPy in blocks": lambda count=count: _numpy_blocks(x, (weights, other)[:count], u),
                "activation, JAX": lambda: by_jax(held[1]),
                "activation, NumPy": lambda: on_host(u),
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(repeats + 1):
                for way, run in ways.items():
                    began = time.perf_counter()
                    while time.perf_counter() < began + _AT_REST:
                        jax.block_until_ready(run())
                    began, until, calls = clock(), time.perf_counter() + _TIMED, 0
                    while time.perf_counter() < until:
                        jax.block_until_ready(run())
                        calls += 1
                    # The first turn compiles.
                    if turn:
                        seconds[way].append((clock() - began) / calls)
            median = {way: statistics.median(each) for way, each in seconds.items()}
            activated = min(median[way] for way in ways if way.startswith("activation"))
            best = min((way for way in ways if way != "ours" and "activation" not in way), key=median.__getitem__)
            print(
                f"{n:>8,} × {d}, {k} {name} {np.dtype(dtype).name}: {what} {1e3 * median['ours']:.1f} ms, "
                f"its products {1e3 * median[best]:.1f} ms ({best}), ratio {median['ours'] / median[best]:.2f}, "
                f"with the activation {median['ours'] / (median[best] + activated):.2f}",
                flush=True,
            )


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    clock = time.process_time if "processor" in sys.argv[2:] else time.perf_counter
    for size in SIZES:
        for name in ("relu", "tanh"):
            for dtype in (np.float32, np.float64):
                compared(size, dtype, name, repeats, clock)


if __name__ == "__main__":
    main()
