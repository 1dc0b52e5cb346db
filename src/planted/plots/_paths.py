"""A descent as it happens: errors, the overlap with the teacher, neurons on the sphere."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from planted.numerics.files import write_whole
from planted.plots._trajectory import Trajectory

_SMALL = 1e-16


def plot_descent(path: Trajectory, axis: Any) -> None:
    """Parameter error (left scale) and loss above its least (right scale) against iterations, both logarithmic.

    >>> plot_descent(example(), Figure().subplots())
    """
    least = min(float(path.value.min()), float(path.objective.value(path.teacher.weights)))
    above = axis.twinx()
    axis.semilogy(path.step, np.maximum(path.error, _SMALL), color="C0", label="parameter error")
    above.semilogy(path.step, np.maximum(path.value - least, _SMALL), color="C1", label="loss above its least")
    axis.set(xlabel="iteration")
    axis.set_ylabel("parameter error", color="C0")
    above.set_ylabel("loss above its least", color="C1")
    above.spines["right"].set_visible(True)


def plot_permutation(path: Trajectory, axis: Any, frame: int = -1) -> Any:
    """|B B*⁻¹| at one frame: a permutation matrix once the teacher is found. Returns the image.

    >>> plot_permutation(example(), Figure().subplots(), frame=0).get_array().shape
    (2, 2)
    """
    image = axis.imshow(path.overlaps[frame], vmin=0, vmax=1, cmap="viridis")
    axis.set(title=f"step {path.step[frame]}", xlabel="teacher neuron", ylabel="student row")
    return image


def plot_permutation_frames(path: Trajectory, figure: Any, count: int = 5) -> None:
    """|B B*⁻¹| at `count` moments, evenly spread over the fall of the error.

    >>> plot_permutation_frames(example(), Figure(), count=3)
    """
    frames = moments(path, count)
    axes = np.atleast_1d(figure.subplots(1, len(frames), sharey=True))
    for axis, frame in zip(axes, frames, strict=True):
        image = plot_permutation(path, axis, frame)
        axis.label_outer()
    figure.colorbar(image, ax=list(axes), shrink=0.7, label="|B B*⁻¹|")


def moments(path: Trajectory, count: int) -> list[int]:
    """Frames at which the error has fallen by equal parts of its whole fall, first and last included.

    >>> moments(example(), 2)[0]
    0
    """
    lowest = np.minimum.accumulate(path.error)
    levels = np.linspace(lowest[0], lowest[-1], count)
    places = [int(np.argmax(lowest <= level + 1e-12)) for level in levels[:-1]]
    return sorted({*places, len(lowest) - 1})


def animate_permutation(path: Trajectory, file: str | PathLike[str], seconds: float = 6.0) -> None:
    """Write |B B*⁻¹| turning into a permutation as an animated GIF.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate_permutation(example(), os.path.join(folder, "a.gif"), seconds=0.5)
    """
    figure = Figure(figsize=(4.2, 3.6), layout="constrained", dpi=80)
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    image = plot_permutation(path, axis, 0)
    figure.colorbar(image, ax=axis, label="|B B*⁻¹|")
    figure.canvas.draw()
    figure.set_layout_engine("none")  # laid out once, not again for every frame
    # What changes little is passed over, and the end is held.
    shown = [*_changing(path.overlaps), *[len(path.step) - 1] * 8]

    def draw(frame: int) -> tuple[Any, ...]:
        image.set_data(path.overlaps[frame])
        axis.set_title(f"step {path.step[frame]}, error {path.error[frame]:.2g}")
        return (image,)

    film = FuncAnimation(figure, draw, frames=shown, cache_frame_data=False)
    with tempfile.TemporaryDirectory() as folder:
        film.save(os.path.join(folder, "film.gif"), writer=PillowWriter(fps=max(1, round(len(shown) / seconds))))
        write_whole(Path(file), Path(folder, "film.gif").read_bytes())


def _changing(frames: np.ndarray, least: float = 0.04) -> list[int]:
    chosen = [0]
    for index in range(1, len(frames)):
        if np.abs(frames[index] - frames[chosen[-1]]).max() > least:
            chosen.append(index)
    return chosen


def plot_sphere(path: Trajectory, axis: Any) -> None:
    """Directions of the neurons locking on to the teacher's: on the circle for d = 2, on the sphere for d = 3.

    The axis of d = 3 is a three-dimensional one, `figure.add_subplot(projection="3d")`. Stars are the teacher's
    directions, hollow stars their opposites: losses that see no signs may end there.

    >>> plot_sphere(example(), Figure().subplots())
    """
    d = path.weights.shape[2]
    if d not in (2, 3):
        raise ValueError(f"neurons can be drawn on the sphere for 2 or 3 inputs, not {d}")
    unit = path.weights / np.linalg.norm(path.weights, axis=2, keepdims=True)
    target = path.teacher.weights / np.linalg.norm(path.teacher.weights, axis=1, keepdims=True)
    if d == 2:
        angle = np.linspace(0, 2 * np.pi, 200)
        axis.plot(np.cos(angle), np.sin(angle), color="grey", linewidth=0.8)
        # Paths spiral slightly outwards with time, or they would cover each other.
        radius = np.linspace(0.7, 1.0, len(unit))[:, None, None]
        unit = unit * radius
    else:
        _globe(axis)
    for i in range(unit.shape[1]):
        axis.plot(*unit[:, i].T, color=f"C{i}", linewidth=1.5)
        axis.plot(*unit[:1, i].T, "o", color=f"C{i}", markersize=5)
        axis.plot(*unit[-1:, i].T, "s", color=f"C{i}", markersize=6)
    axis.plot(*target.T, "*", color="gold", markeredgecolor="black", markersize=14, label="teacher")
    axis.plot(*-target.T, "*", color="none", markeredgecolor="grey", markersize=12, label="its opposite")
    if d == 2:
        axis.set_aspect("equal")
    axis.set_axis_off()
    axis.legend(frameon=False, loc="lower center", ncols=2, bbox_to_anchor=(0.5, -0.08))


def _globe(axis: Any) -> None:
    u, v = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
    axis.plot_wireframe(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color="grey", linewidth=0.3, alpha=0.5)
    axis.view_init(elev=25, azim=35)
    axis.set_box_aspect((1, 1, 1), zoom=1.5)


@cache
def example() -> Trajectory:
    """A short descent on G with two neurons, for examples.

    >>> int(example().step[0])
    0
    """
    from planted.networks import Network
    from planted.objectives import PopulationLandscape
    from planted.plots._trajectory import follow

    teacher = Network(np.eye(2), np.ones(2))
    return follow(PopulationLandscape(teacher), np.array([[0.9, 0.3], [0.2, 0.8]]), teacher)
