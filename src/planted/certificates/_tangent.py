r"""The Jacobian of a network's predictions by its products with vectors, and how fast it can change.

For a hidden layer with rows x̃ = (x, 1), |φ''| ≤ L, and on a ball of parameters |output_l| ≤ v and |φ'| ≤ B, the
Jacobian has as Lipschitz constant Λ there the norm of

    ( L v κ     B‖X̃‖ )        κ = max ‖(u·x̃)(u'·x̃)‖ over unit u, u'  ≤  ‖X̃ ∗ X̃‖  and  ≤ max_i‖x̃_i‖·‖X̃‖,
    ( B‖X̃‖    0      )

its first entry alone where the outputs are fixed. Lemma 7.11 of Soltanolkotabi et al. (2017) has C'√(nd) for all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planted.networks import Network
from planted.objectives import Fit, Params, named, smallest_eigenpair

_DENSE_ENTRIES = 400_000
_KHATRI_RAO_ROWS = 1500
_LANCZOS_MARGIN = 1.01


@dataclass(frozen=True)
class Extent:
    """‖X̃‖, max‖x̃_i‖, κ and max|φ'| at the centre."""

    norm: float
    longest: float
    square: float
    slope: float


class Tangent:
    """The Jacobian of a dense network's predictions at a point, by its products, with rows scaled by √weight.

    Parameters
    ----------
    objective : Fit
        A squared loss of a :class:`planted.objectives.Dense` model over rows in memory.
    params : array or dict of arrays
    """

    def __init__(self, objective: Fit, params: Params) -> None:
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in named(params).items()}
        x, y, weight = objective.rows.on_host  # type: ignore[attr-defined]
        network = objective.model.network(params)
        assert isinstance(network, Network)
        self.x, self.root, self.network = x, np.sqrt(weight)[:, None], network
        self.free = {name: value.shape for name, value in sorted(arrays.items())}
        self.output = np.atleast_2d(network.output)
        z = network.preactivations(x)
        self.feature, self.slope = network.activation(z), network.activation.derivative(z)
        self.residual = (self.root * (network.predict(x).reshape(len(x), -1) - y)).ravel()
        self.size = sum(int(np.prod(shape)) for shape in self.free.values())

    def forward(self, vector: np.ndarray) -> np.ndarray:
        """J times a direction (p,), an array (N,)."""
        parts = self._cut(np.asarray(vector, dtype=np.float64).ravel())
        inner = self.x @ parts["weights"].T + parts.get("bias", 0.0)
        change = (self.slope * inner) @ self.output.T
        if "output" in parts:
            change = change + self.feature @ np.atleast_2d(parts["output"]).T
        if "intercept" in parts:
            change = change + parts["intercept"]
        if "skip" in parts:
            change = change + self.x @ np.atleast_2d(parts["skip"]).T
        return (self.root * change).ravel()

    def adjoint(self, vector: np.ndarray) -> np.ndarray:
        """Jᵀ times an array (N,), a direction (p,)."""
        change = self.root * np.asarray(vector, dtype=np.float64).reshape(len(self.x), -1)
        inner = self.slope * (change @ self.output)
        parts = {
            "weights": inner.T @ self.x,
            "bias": inner.sum(axis=0),
            "output": change.T @ self.feature,
            "intercept": change.sum(axis=0),
            "skip": change.T @ self.x,
        }
        return np.concatenate([parts[name].ravel() for name in self.free])

    def formed(self) -> np.ndarray:
        """J as an array (N, p)."""
        whole = self.network.jacobian(self.x, intercept="intercept" in self.free)
        whole = self.root[:, :, None] * whole
        sizes = {"bias": self.network.bias, "intercept": self.network.intercept, "output": self.network.output}
        sizes |= {"skip": self.network.skip, "weights": self.network.weights}
        present = [name for name in sizes if sizes[name] is not None and (name != "intercept" or name in self.free)]
        cuts = np.cumsum([np.size(sizes[name]) for name in present])[:-1]
        columns = dict(zip(present, np.split(whole, cuts, axis=2), strict=True))
        return np.concatenate([columns[name] for name in self.free], axis=2).reshape(len(self.residual), -1)

    def extremes(self, seed: int) -> tuple[float, float, str]:
        """The smallest of the min(N, p) singular values, at most, the largest, at least, and how they were computed."""
        total, few = len(self.residual), min(len(self.residual), self.size)
        if total * self.size <= _DENSE_ENTRIES or few < 3:
            values = np.linalg.svd(self.formed(), compute_uv=False)
            return float(values[-1]), float(values[0]), "dense"
        wide = total <= self.size

        def gram(vector: np.ndarray) -> np.ndarray:
            return self.forward(self.adjoint(vector)) if wide else self.adjoint(self.forward(vector))

        least = smallest_eigenpair(gram, few, seed=seed)
        square = max(least.eigenvalue - least.residual, 0.0)
        return math.sqrt(square), math.sqrt(_LANCZOS_MARGIN * least.norm), "lanczos"

    def lipschitz(self, extent: Extent, radius: float) -> float:
        """Λ on the ball of this radius."""
        act = self.network.activation
        bend = act.derivative_bound(2)
        largest = float(np.max(np.linalg.norm(self.output, axis=0)))
        if "output" not in self.free:
            return bend * largest * extent.square
        steep = min(act.derivative_bound(1), extent.slope + bend * radius * extent.longest)
        curved, mixed = bend * (largest + radius) * extent.square, steep * extent.norm
        return (curved + math.hypot(curved, 2 * mixed)) / 2

    def extent(self) -> Extent:
        """Norms of the rows that bound how J changes."""
        rows = np.concatenate([self.x, np.ones((len(self.x), 1))], axis=1) if "bias" in self.free else self.x
        scaled = self.root * rows
        norm, longest = float(np.linalg.norm(scaled, 2)), float(np.max(np.linalg.norm(rows, axis=1)))
        square = norm * longest
        if len(rows) <= _KHATRI_RAO_ROWS:
            product = (self.root @ self.root.T) * (rows @ rows.T) ** 2
            square = min(square, math.sqrt(float(np.linalg.norm(product, 2))))
        return Extent(norm, longest, square, float(np.max(np.abs(self.slope))))

    def _cut(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        sizes = [int(np.prod(shape)) for shape in self.free.values()]
        pieces = np.split(vector, np.cumsum(sizes)[:-1])
        return {name: piece.reshape(shape) for (name, shape), piece in zip(self.free.items(), pieces, strict=True)}
