r"""Inputs with unit second moments, whatever units and dependences the caller's own have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from planted.networks import Network
from planted.numerics.decompositions import svd

# Directions of scaled inputs whose size relative to the largest is below this are rounding.
_NOTHING = 1e-13
# A spread below this share of the mean is rounding: the input is constant.
_CONSTANT = 1e-14
# Eigenvalues of second moments above this share of the largest are precise enough.
_PRECISE = 1e-8


@dataclass(frozen=True)
class Whitening:
    """z = (x − shift)·matrix: inputs z (r) with unit second moments for inputs x (d) of rank r ≤ d.

    Columns are scaled to unit size before their dependences are looked at, so that units do not matter. Directions in
    which the rows do not vary are left out; a network carried back has the least weights there.

    Attributes
    ----------
    shift : array (d,)
        The mean, or zero where neurons have no biases that could make up for it.
    matrix : array (d, r)

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 2)) * [1e-6, 1e6] + [0.0, 1e7]
    >>> Z = Whitening.of(np.column_stack([X, X[:, 0]]), centred=True)(np.column_stack([X, X[:, 0]]))
    >>> np.allclose(Z.T @ Z / 50, np.eye(2))
    True
    """

    shift: np.ndarray
    matrix: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, share: np.ndarray | None = None, *, centred: bool = False) -> Whitening:
        """From rows X (n, d) and weights (n,) of mean one."""
        n, d = X.shape
        mean = np.average(X, axis=0, weights=share)
        shift = mean if centred else np.zeros(d)
        rows = X - mean if centred else X
        weighted = rows if share is None else rows * share[:, None]
        moments = weighted.T @ rows / n
        size = np.sqrt(np.diagonal(moments))
        varies = size > _CONSTANT * np.abs(shift)
        inverse = np.where(varies, 1 / np.where(varies, size, 1.0), 0.0)
        spectrum, axes = np.linalg.eigh(moments * np.outer(inverse, inverse))
        if spectrum[0] > _PRECISE * spectrum[-1]:
            return cls(shift, inverse[:, None] * ((axes / np.sqrt(spectrum)) @ axes.T))
        scaled = rows * inverse if share is None else rows * inverse * np.sqrt(share)[:, None]
        triangle = scipy.linalg.qr(scaled, mode="r", check_finite=False)[0][:d] / np.sqrt(n)
        _, values, right = svd(triangle, full_matrices=True)
        right = right[: len(values)]
        # Entries were rounded before the mean was taken off.
        rounding = np.linalg.norm(right * (1 + np.abs(shift) * inverse), axis=1)
        known = values > np.maximum(_NOTHING * np.maximum(values[0], rounding), 1e-300)
        return cls(shift, inverse[:, None] * (right[known].T / values[known]))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, r) of z for rows (n, d) of x."""
        return (X - self.shift if self.shift.any() else X) @ self.matrix

    def network(self, network: Network) -> Network:
        """The network of x that a network of z is.

        >>> Whitening(np.array([1.0]), np.array([[0.5]])).network(Network([[2.0]], [1.0], bias=[0.0])).bias
        array([-1.])
        """
        weights = network.weights @ self.matrix.T
        parts = {"weights": weights}
        if network.bias is not None:
            parts["bias"] = network.bias - weights @ self.shift
        if network.skip is not None:
            parts["skip"] = network.skip @ self.matrix.T
            parts["intercept"] = network.intercept - parts["skip"] @ self.shift
        return network.replace(**parts)
