"""One `random_state` in, independent keys out."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from sklearn.utils import check_random_state

from planted.numerics.random import jax_key
from planted.numerics.reading import shortened


def words_from(random_state: Any) -> np.ndarray:
    """The words (2,) of a key from what scikit-learn calls a random state: None, a number, a RandomState or Generator.

    None gives a new key each time; an integer always the same one. See :mod:`planted.numerics.random`.

    >>> words_from(3)
    array([0, 3], dtype=uint32)
    """
    check_state(random_state)
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(2**32))
    elif isinstance(random_state, (int, np.integer)):
        seed = int(random_state)
    else:
        seed = int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint64))
    return np.array([0, seed], dtype=np.uint32)


def check_state(random_state: Any) -> None:
    """Raise a ValueError unless a random state is one of these.

    >>> check_state("seed")
    Traceback (most recent call last):
    ValueError: random_state must be None, an integer, a RandomState or a Generator, not 'seed'
    """
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**32:
            given = shortened(str(random_state), 60)
            raise ValueError(f"random_state: a seed must be an integer from 0 to 4294967295, not {given}")
        return
    known = random_state is None or random_state is np.random
    if not (known or isinstance(random_state, (np.random.RandomState, np.random.Generator))):
        given = shortened(repr(random_state), 60)
        raise ValueError(f"random_state must be None, an integer, a RandomState or a Generator, not {given}")


def key_from(random_state: Any) -> jax.Array:
    """The same as a key of JAX.

    >>> bool(key_from(3) == jax.random.key(3))
    True
    """
    return jax_key(words_from(random_state))
