r"""JAX's default random streams on the host: the same numbers as `jax.random`, and nothing compiles.

A key is two 32-bit words. The generator is Threefry-2x32 with 20 rounds (Salmon et al. 2011), counter based: number i
of a draw is a function of the key and of i. Starts and data sets are small and have many shapes, for each of which
`jax.random` would compile a program of its own.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from scipy.special import erfinv

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_LOW = np.uint64(0xFFFFFFFF)
# Above so many numbers a compiled program is quicker than the host.
_MANY = 2**21


def as_key(key: Any) -> np.ndarray:
    """The words (2,) of a key, given as such or as a key of JAX.

    >>> as_key(jax.random.key(3))
    array([0, 3], dtype=uint32)
    """
    if isinstance(key, jax.Array) and jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key):
        key = jax.random.key_data(key)
    return np.asarray(key, dtype=np.uint32)


def jax_key(key: Any) -> jax.Array:
    """The key as one of JAX, for programs that draw numbers themselves.

    >>> bool(jax_key(np.array([0, 3])) == jax.random.key(3))
    True
    """
    return jax.random.wrap_key_data(jax.numpy.asarray(as_key(key)), impl="threefry2x32")


def _hash(key: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 of counters (first, second), uint32 arrays."""
    words = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x, y = first + words[0], second + words[1]
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            x = x + y
            y = (y << np.uint32(turn)) | (y >> np.uint32(32 - turn))
            y = x ^ y
        x = x + words[(block + 1) % 3]
        y = y + words[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def _counters(size: int) -> tuple[np.ndarray, np.ndarray]:
    count = np.arange(size, dtype=np.uint64)
    return (count >> np.uint64(32)).astype(np.uint32), (count & _LOW).astype(np.uint32)


def split(key: Any, count: int = 2) -> np.ndarray:
    """Independent keys (count, 2), as `jax.random.split`.

    >>> bool(np.all(split(jax.random.key(1)) == jax.random.key_data(jax.random.split(jax.random.key(1)))))
    True
    """
    with np.errstate(over="ignore"):
        return np.stack(_hash(as_key(key), *_counters(count)), axis=-1)


def fold_in(key: Any, number: int) -> np.ndarray:
    """A key (2,) from a key and a number, as `jax.random.fold_in`.

    >>> bool(np.all(fold_in(jax.random.key(1), 7) == jax.random.key_data(jax.random.fold_in(jax.random.key(1), 7))))
    True
    """
    word = np.array([number % 2**32], dtype=np.uint32)
    with np.errstate(over="ignore"):
        return np.concatenate(_hash(as_key(key), np.zeros(1, np.uint32), word))


def bits(key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Random 32-bit words, as `jax.random.bits`.

    >>> bool(np.all(bits(jax.random.key(1), (3,)) == jax.random.bits(jax.random.key(1), (3,))))
    True
    """
    with np.errstate(over="ignore"):
        first, second = _hash(as_key(key), *_counters(int(np.prod(shape))))
    return (first ^ second).reshape(shape)


def uniform(key: Any, shape: tuple[int, ...] = (), low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers in [low, high), as `jax.random.uniform` in float64.

    >>> with jax.enable_x64(True):
    ...     bool(np.all(uniform(jax.random.key(1), (3,)) == jax.random.uniform(jax.random.key(1), (3,), "float64")))
    True
    """
    with np.errstate(over="ignore"):
        first, second = _hash(as_key(key), *_counters(int(np.prod(shape))))
    word = (first.astype(np.uint64) << np.uint64(32)) | second
    ones = np.float64(1.0).view(np.uint64)
    numbers = ((word >> np.uint64(12)) | ones).view(np.float64) - 1.0
    return np.maximum(low, numbers * (high - low) + low).reshape(shape)


def normal(key: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Standard normal numbers, as `jax.random.normal` in float64 up to rounding.

    >>> with jax.enable_x64(True):
    ...     bool(np.allclose(normal(jax.random.key(1), (3,)), jax.random.normal(jax.random.key(1), (3,), "float64")))
    True
    """
    if np.prod(shape) > _MANY:
        with jax.enable_x64(True):
            return np.asarray(jax.random.normal(jax_key(key), shape, "float64"))
    return np.sqrt(2) * erfinv(uniform(key, shape, np.nextafter(-1.0, 0.0), 1.0))


def signs(key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """−1 and 1 with equal probability.

    >>> sorted(set(signs(jax.random.key(0), (50,))))
    [np.float64(-1.0), np.float64(1.0)]
    """
    return np.where(bits(key, shape) & np.uint32(1), 1.0, -1.0)


def permutation(key: Any, count: int) -> np.ndarray:
    """The numbers 0, …, count − 1 in random order.

    >>> sorted(permutation(jax.random.key(0), 3).tolist())
    [0, 1, 2]
    """
    return np.argsort(uniform(key, (count,)), kind="stable")
