"""Pictures of planted problems, from a few numbers to a file: what `planted plot` writes."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import ortho_group

from planted.datasets import make_planted
from planted.inputs import Gaussian
from planted.names import PLOT_LOSSES, PLOTS, unknown
from planted.networks import Network
from planted.numerics.progress import Progress
from planted.objectives import Objective, PopulationLandscape, PopulationSquared, ScoreLandscape
from planted.plots._landscapes import plot_slice, plot_spectrum
from planted.plots._paths import animate_permutation, plot_descent, plot_permutation_frames, plot_sphere
from planted.plots._trajectory import Trajectory, follow
from planted.plots._write import save_figure
from planted.solvers import silent
from planted.starts import random_rows

KINDS = PLOTS
_NAMES = {"squared": "squared loss", "G": "G (Ge et al.)", "L": "L (Gao et al.)"}


def planted_loss(name: str, teacher: Network, samples: int, seed: int) -> Objective:
    """The squared loss or G in expectation, or L with the true score on `samples` Gaussian rows.

    >>> planted_loss("G", Network(np.eye(2), np.ones(2)), 100, 0).n_features
    2
    """
    if name == "squared":
        return PopulationSquared(teacher, output=teacher.output)
    if name == "G":
        return PopulationLandscape(teacher)
    if name != "L":
        raise ValueError(unknown("loss", name, PLOT_LOSSES))
    data = make_planted(samples, teacher.n_features, teacher.n_hidden, weights=teacher.weights, random_state=seed)
    return ScoreLandscape(data.X, data.y, Gaussian(np.zeros(teacher.n_features)))


def planted_path(
    loss: str, d: int, *, samples: int = 20_000, steps: int = 2000, seed: int = 0, progress: Progress = silent
) -> Trajectory:
    """Descent on a loss of d orthonormal ReLU neurons from random unit rows, the same for every loss.

    >>> planted_path("squared", 2, steps=100).weights.shape
    (101, 2, 2)
    """
    teacher = Network(ortho_group.rvs(d, random_state=seed), np.ones(d))
    start = np.asarray(random_rows(jax.random.key(seed), d, d), dtype=np.float64)
    objective = planted_loss(loss, teacher, samples, seed)
    return follow(objective, start, teacher, steps=steps, frames=min(steps, 400), progress=progress)


def save_picture(
    kind: str,
    file: str | PathLike[str],
    *,
    loss: str = "G",
    d: int | None = None,
    steps: int | None = None,
    samples: int = 20_000,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Trajectory]:
    """Write one of the KINDS of picture of a descent that has a known teacher; the descents shown.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = save_picture("descent", os.path.join(folder, "a.png"), d=2, steps=100)
    >>> len(paths)
    1
    """
    if kind not in KINDS:
        raise ValueError(unknown("picture", kind, KINDS))
    size = d or {"sphere": 3, "slices": 2, "spectrum": 4}.get(kind, 8)
    if kind == "sphere" and size not in (2, 3):
        raise ValueError(f"neurons can be drawn on the sphere for 2 or 3 inputs, not {size}")
    if (Path(file).suffix.lower() == ".gif") != (kind == "animation"):
        raise ValueError(f"an animation is a .gif file and nothing else is, not {Path(file).name} of {kind}")
    losses = PLOT_LOSSES if kind == "slices" else (loss,)
    options: dict[str, Any] = {"samples": samples, "steps": steps or 2000, "seed": seed, "progress": progress}
    paths = [planted_path(name, size, **options) for name in losses]
    if kind == "animation":
        animate_permutation(paths[0], file)
        return paths
    wide = {"permutation": (12, 2.9), "slices": (12, 4), "sphere": (5, 5)}.get(kind, (7, 4))
    figure = Figure(figsize=wide, layout="constrained")
    _draw(kind, paths, losses, figure)
    save_figure(figure, file)
    return paths


def _draw(kind: str, paths: list[Trajectory], losses: tuple[str, ...], figure: Figure) -> None:
    path, name = paths[0], _NAMES[losses[0]]
    d = path.weights.shape[2]
    if kind == "slices":
        for axis, each, loss in zip(figure.subplots(1, len(paths)), paths, losses, strict=True):
            plot_slice(each, axis, _NAMES[loss])
        return
    if kind == "permutation":
        plot_permutation_frames(path, figure)
    elif kind == "sphere":
        plot_sphere(path, figure.add_subplot(projection="3d") if d == 3 else figure.subplots())
    elif kind == "spectrum":
        plot_spectrum(path, figure.subplots())
    else:
        plot_descent(path, figure.subplots())
    figure.suptitle(f"{name}, {d} planted neurons on {d} inputs", fontsize=10)
