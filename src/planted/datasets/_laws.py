"""Laws of inputs to draw rows from by name: smooth ones, and those that tables have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted import inputs as densities
from planted.names import unknown

_NONZERO = 0.2
_FREEDOM = 2.5
_CONDITION = 1e4
_UNITS = (1e-6, 1e6)


def _uniform(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (n, d))


def _binary(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 2, (n, d)).astype(np.float64)


def _counts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.poisson(2.0, (n, d)).astype(np.float64)


def _sparse(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    values = rng.standard_normal((n, d)) / np.sqrt(_NONZERO)
    return np.where(rng.random((n, d)) < _NONZERO, values, 0.0)


def _heavy(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(_FREEDOM, (n, d))


def _correlated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    axes = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    spread = _CONDITION ** np.linspace(-0.25, 0.25, d)
    return rng.standard_normal((n, d)) * spread @ axes.T


def _scales(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) * units("scales", d)


def _repeated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    copies = min(3, d // 2)
    X[:, d - copies :] = X[:, :copies]
    return X


_DRAWS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "uniform": _uniform,
    "binary": _binary,
    "counts": _counts,
    "sparse": _sparse,
    "heavy": _heavy,
    "correlated": _correlated,
    "scales": _scales,
    "repeated": _repeated,
}
INPUTS = ("gaussian", "mixture", "laplace", *_DRAWS)


def units(law: Any, d: int) -> np.ndarray:
    """The units (d,) that the weights of a teacher are in: from 10⁻⁶ to 10⁶ for "scales", ones for all others.

    >>> units("scales", 3).tolist()
    [1e-06, 1.0, 1000000.0]
    """
    low, high = np.log10(_UNITS)
    return 10.0 ** np.linspace(low, high, d) if isinstance(law, str) and law == "scales" else np.ones(d)


@dataclass(frozen=True)
class RowLaw:
    """A law of rows with d inputs that need not have a density.

    Examples
    --------
    >>> np.unique(RowLaw("binary", 2).sample(100, random_state=0))
    array([0., 1.])
    """

    name: str
    d: int

    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Rows (n, d)."""
        return _DRAWS[self.name](np.random.default_rng(random_state), n_samples, self.d)


def input_law(law: Any, d: int) -> Any:
    """What rows are drawn from: an object with `sample`, or the law of that name for d inputs.

    >>> input_law("laplace", 2)
    Laplace(2 inputs)
    """
    if not isinstance(law, str):
        return law
    match law:
        case "gaussian":
            return densities.Gaussian(np.zeros(d))
        case "mixture":
            return densities.GaussianMixture.symmetric(d)
        case "laplace":
            return densities.Laplace(d)
    if law not in _DRAWS:
        raise ValueError(unknown("inputs", law, INPUTS))
    return RowLaw(law, d)


def sampled(law: Any, n: int, d: int, seed: int) -> np.ndarray:
    """Rows (n, d) of a law, checked.

    >>> sampled("uniform", 2, 3, 0).shape
    (2, 3)
    """
    X = np.asarray(input_law(law, d).sample(n, random_state=seed), dtype=np.float64)
    if X.shape != (n, d):
        raise ValueError(f"inputs gave rows of {X.shape[1:]}, expected {d} columns")
    return X
