"""Several filters as one network that knows that its patches share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planted.networks import ConvNetwork


@dataclass(frozen=True, eq=False)
class FilterBank:
    """Networks with one filter each, whose predictions are added up.

    Written fully connected the same function has a number for every neuron and input. Of numbers that were fitted there
    are fewer, and rows that are left out take only these with them.

    Examples
    --------
    >>> bank = FilterBank([ConvNetwork([1.0, 0.0], [1.0]), ConvNetwork([0.0, 1.0], [2.0])])
    >>> bank.predict(np.array([[[3.0, 4.0]]])), bank.jacobian(np.array([[[3.0, 4.0]]])).shape
    (array([11.]), (1, 1, 6))
    """

    parts: Sequence[ConvNetwork]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n,) of patches (n, k, p)."""
        return np.sum([one.predict(X) for one in self.parts], axis=0)

    def jacobian(self, X: np.ndarray, *, intercept: bool = False) -> np.ndarray:
        """Derivatives (n, 1, f(k + p)) by the outputs and entries of one filter after the other."""
        return np.concatenate([one.jacobian(X, intercept=intercept) for one in self.parts], axis=2)

    def arrays(self) -> dict[str, np.ndarray]:
        """Outputs (f, k) and filters (f, p)."""
        return {name: np.stack([one.arrays()[name] for one in self.parts]) for name in ("filter", "output")}
