r"""Steps of variable projection for many inputs: conjugate gradients, the curvature being known by its products.

With T and A of :mod:`planted.solvers._projection`, a product (TᵀPT ∘ (AᵀA ⊗ 11ᵀ)) s costs two passes over the rows,
where the matrix takes as many as there are hidden parameters. On inputs with unit second moments it is nearly G ⊗ I
with G = AᵀA ∘ E[ψ'ψ'ᵀ], a matrix of neurons alone, which is the preconditioner: the number of products depends on rows
a parameter and not on the number of inputs. P takes a linear part off where there is one, and with it the mean of ψ':
then G has the covariance of slopes. With their second moments, three tanh neurons of 500 inputs took four times as many
products. These are taken in float32, which an inexact step bears: values and gradients are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planted.solvers._projection import ProjectedPoint, SeparableRows

_PRODUCTS = 100
# The least eigenvalue of products of columns, relative to the largest, from which a basis follows to rounding.
_INDEPENDENT = 1e-2


@dataclass(frozen=True, eq=False)
class Products:
    """The curvature at a point, with a decay on its diagonal.

    Attributes
    ----------
    point : ProjectedPoint
    X : array (n, q), float32
    columns : tuple of arrays (n, r), float32
        Orthonormal bases of what P takes off.
    slope : array (n, k), float32
        ψ'(z), times the square root of a row's weight.
    decay : float
    neurons : array (k, k)
        G of the module.
    downhill : array (k, q)
        The right-hand side.

    Examples
    --------
    >>> from planted import activations
    >>> from planted.solvers import SeparableRows
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> tanh = activations.get("tanh")
    >>> rows = SeparableRows(X, np.ones((50, 1)), np.tanh(X[:, :1]), tanh)
    >>> point = rows.at(np.ones((1, 3)))
    >>> made = Products.at(point, rows, tanh.derivative(point.z), 0.0)
    >>> move = made.solution(1e-2, 1e-5)
    >>> damped = made.product(move) + 1e-2 * made.diagonal * move
    >>> bool(np.allclose(damped, made.downhill, rtol=1e-4))
    True
    """

    point: ProjectedPoint
    X: np.ndarray
    columns: tuple[np.ndarray, ...]
    slope: np.ndarray
    decay: float
    neurons: np.ndarray
    downhill: np.ndarray

    @classmethod
    def at(cls, point: ProjectedPoint, rows: SeparableRows, slope: np.ndarray, decay: float) -> Products:
        """Those of a point of rows with slopes there."""
        X, (rough, fixed) = rows.X, rows.rough
        output, n = point.output, len(X)
        # A linear part among the columns takes the mean of a slope off.
        bent = slope if point.fixed is None else slope - slope.mean(axis=0)
        neurons = (output.T @ output) * (bent.T @ bent) / n
        downhill = ((point.residual @ output) * slope).T @ X / n - decay * point.rows
        columns = (point.basis.astype(np.float32), *fixed)
        return cls(point, rough, columns, slope.astype(np.float32), decay, neurons, downhill)

    @property
    def diagonal(self) -> np.ndarray:
        """What damping multiplies (k, 1), nearly the curvature's own diagonal."""
        own = np.diagonal(self.neurons)
        return np.maximum(own, 1e-10 * max(float(np.max(own)), 1e-300))[:, None]

    def product(self, rows: np.ndarray) -> np.ndarray:
        """The curvature times hidden rows (k, q)."""
        # Of unit size, as small rows would vanish in float32.
        size, output = float(np.max(np.abs(rows))) or 1.0, self.point.output.astype(np.float32)
        change = ((self.X @ (rows / size).astype(np.float32).T) * self.slope) @ output.T
        for basis in self.columns:
            # A product with a vector takes half as long as one with a matrix of one column.
            for column in change.T:
                column -= basis @ (basis.T @ column)
        product = ((change @ output) * self.slope).T @ self.X
        return size / len(self.X) * product.astype(np.float64) + self.decay * rows

    def solution(self, damping: float, forcing: float) -> np.ndarray:
        """The damped step (k, q), up to a share `forcing` of the right-hand side in the preconditioner's norm."""
        ridge = damping * self.diagonal
        near = np.linalg.inv(self.neurons + np.diag(ridge[:, 0] + self.decay))
        move, left = np.zeros_like(self.downhill), self.downhill.copy()
        turned = near @ left
        along, size = turned.copy(), float(np.sum(left * turned))
        enough = forcing**2 * size
        for _ in range(_PRODUCTS):
            if not size > enough:
                break
            product = self.product(along) + ridge * along
            length = size / float(np.sum(along * product))
            move += length * along
            left -= length * product
            turned = near @ left
            size, before = float(np.sum(left * turned)), size
            along = turned + size / before * along
        return move


def independent_columns(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """An orthonormal basis, right singular vectors, singular values and sizes of columns (n, c) far from dependent.

    The columns are basis · values · right · sizes. They follow from their products, in a quarter of the time of a
    decomposition of the columns themselves. None where too many digits would be lost.

    >>> basis, right, values, size = independent_columns(np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    >>> basis * values @ right * size
    array([[3., 0.],
           [0., 2.],
           [0., 0.]])
    >>> independent_columns(np.ones((3, 2))) is None
    True
    """
    products = columns.T @ columns
    size = np.sqrt(np.diagonal(products))
    if len(columns) < len(size) or not size.all():
        return None
    squares, vectors = np.linalg.eigh(products / np.outer(size, size))
    if not squares[0] > _INDEPENDENT * squares[-1]:
        return None
    values = np.sqrt(squares)
    return columns @ (vectors / values / size[:, None]), vectors.T, values, size
