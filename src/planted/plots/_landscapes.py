"""What a descent moves through: the Hessian's spectrum along it, and slices of the loss around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from planted.numerics.precision import float64
from planted.plots._trajectory import Trajectory

_SMALL = 1e-9


def plot_spectrum(path: Trajectory, axis: Any, frames: int = 120) -> None:
    """All eigenvalues of the Hessian along the descent; below zero the loss curves downwards: a way out.

    >>> from matplotlib.figure import Figure
    >>> from planted.plots._paths import example
    >>> plot_spectrum(example(), Figure().subplots(), frames=3)
    """
    chosen = np.unique(np.linspace(0, len(path.step) - 1, frames).astype(int))
    spectra = np.array([np.linalg.eigvalsh(path.objective.hessian(path.weights[i])) for i in chosen])
    size = float(np.abs(spectra).max())
    axis.axhspan(-1.5 * size, 0, color="C3", alpha=0.08)
    axis.plot(path.step[chosen], spectra, color="C0", linewidth=0.9, alpha=0.8)
    axis.plot(path.step[chosen], spectra[:, 0], color="C3", linewidth=1.8, label="smallest")
    axis.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(0.02 * size)))
    axis.set(xlabel="iteration", ylabel="eigenvalues of the Hessian", ylim=(-1.5 * size, 1.5 * size))
    axis.legend(frameon=False)


def plane(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Last point and two orthonormal directions (k·d,) of the plane nearest to a path (T, k, d) that holds its ends.

    >>> last, u, v = plane(np.array([[[1.0, 0.0]], [[0.5, 0.5]], [[0.0, 0.0]]]))
    >>> u, v
    (array([1., 0.]), array([0., 1.]))
    """
    flat = weights.reshape(len(weights), -1)
    last = flat[-1]
    u = flat[0] - last
    u = u / np.linalg.norm(u)
    rest = (flat - last) - np.outer((flat - last) @ u, u)
    v = np.linalg.svd(rest, full_matrices=False)[2][0]
    v = (v - (v @ u) * u) * np.sign(v[np.argmax(np.abs(v))])
    return last, u, v / np.linalg.norm(v)


@float64
def plot_slice(path: Trajectory, axis: Any, title: str = "", points: int = 60) -> None:
    """The loss on the plane through start and end of a descent, with the descent drawn on it (projected).

    Levels are logarithmic above the least value seen. Where the path leaves the plane its height is not the plane's.

    >>> from matplotlib.figure import Figure
    >>> from planted.plots._paths import example
    >>> plot_slice(example(), Figure().subplots(), points=8)
    """
    import jax

    from planted.numerics.precision import to_jax

    last, u, v = plane(path.weights)
    shape = path.weights.shape[1:]
    flat = path.weights.reshape(len(path.weights), -1) - last
    along, across = flat @ u, flat @ v
    reach = max(float(np.ptp(along)), float(np.ptp(across)), 1e-6)
    middle = (along.max() + along.min()) / 2, (across.max() + across.min()) / 2
    x, y = (np.linspace(centre - 0.8 * reach, centre + 0.8 * reach, points) for centre in middle)
    grid = last + x[None, :, None] * u + y[:, None, None] * v
    value = jax.jit(lambda objective, many: jax.lax.map(objective.traced_value, many))
    heights = np.asarray(value(path.objective, to_jax(grid.reshape(-1, *shape)))).reshape(points, points)
    least = min(float(heights.min()), float(path.value.min()))
    above = heights - least + _SMALL + 1e-4 * float(np.ptp(heights))
    levels = np.geomspace(above.min(), above.max(), 24)
    axis.contourf(x, y, above, levels=levels, norm=LogNorm(above.min(), above.max()), cmap="viridis")
    axis.plot(along, across, color="white", linewidth=2.2)
    axis.plot(along, across, color="C3", linewidth=1.2)
    axis.plot(along[0], across[0], "o", color="white", markeredgecolor="black", label="start")
    axis.plot(along[-1], across[-1], "*", color="gold", markeredgecolor="black", markersize=13, label="end")
    axis.set(xlabel="towards the start", ylabel="across", title=title)
    axis.set_aspect("equal")
    axis.legend(loc="upper right", fontsize=8)
