"""Pictures of a network that was read: its neurons by strength, and where they turn."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from planted.names import count_of
from planted.networks import Network


def strengths(network: Network) -> np.ndarray:
    """‖output_i‖·‖weights_i‖ of each neuron, (k,): how much it can bend the function.

    >>> strengths(Network([[3.0, 4.0]], [2.0]))
    array([10.])
    """
    return np.linalg.norm(np.atleast_2d(network.output), axis=0) * np.linalg.norm(network.weights, axis=1)


def plot_reading(network: Network, figure: Any = None) -> Any:
    """Draw the neurons by strength, and their hyperplanes w·x + b = 0 in the plane of their two leading directions.

    A network without neurons is drawn by its coefficients.
    """
    import matplotlib.pyplot as plt

    figure = figure or plt.figure(figsize=(9, 4), layout="constrained")
    if not network.n_hidden:
        _coefficients(network, figure.subplots())
        return figure
    left, right = figure.subplots(1, 2)
    size = np.sort(strengths(network))[::-1]
    left.bar(np.arange(1, len(size) + 1), size, width=0.9)
    left.set_yscale("log")
    _counted(left)
    left.set(xlabel="neuron, strongest first", ylabel="‖output‖ ‖weights‖", title=count_of(network.n_hidden, "neuron"))
    _hyperplanes(network, right)
    return figure


def _coefficients(network: Network, axis: Any) -> None:
    """Bars of the linear part, one colour an output."""
    linear = np.zeros((1, network.n_features)) if network.skip is None else np.atleast_2d(network.skip)
    width = 0.9 / len(linear)
    for output, row in enumerate(linear):
        axis.bar(np.arange(len(row)) + output * width, row, width=width, label=f"output {output + 1}")
    if len(linear) > 1:
        axis.legend(frameon=False)
    _counted(axis)
    axis.axhline(0, color="grey", linewidth=1)
    axis.set(title="one linear function, no neuron", xlabel="input, from x0 on", ylabel="coefficient")


def _counted(axis: Any) -> None:
    """Ticks at whole numbers alone, however few bars there are."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _hyperplanes(network: Network, axis: Any) -> None:
    axis.set(title="where they turn", xlabel="first direction", ylabel="second direction")
    weights = network.weights
    bias = network.shift
    plane = np.linalg.svd(weights, full_matrices=False)[2][:2]
    if len(plane) < 2:
        plane = np.concatenate([plane, np.zeros_like(plane)])
    normals = weights @ plane.T
    length = np.linalg.norm(normals, axis=1)
    distance = np.abs(bias) / np.where(length > 0, length, 1.0)
    reach = 2 * float(np.median(distance)) + 1e-9
    size = strengths(network)
    for normal, level, share in zip(normals, bias, size / max(size.max(), 1e-300), strict=True):
        total = float(normal @ normal)
        if total == 0:
            continue
        foot, along = -level * normal / total, np.array([-normal[1], normal[0]]) / np.sqrt(total)
        ends = foot + np.outer([-4 * reach, 4 * reach], along)
        axis.plot(*ends.T, color="C0", linewidth=1, alpha=0.15 + 0.85 * float(share) ** 0.5)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def save_reading(path: str | PathLike[str], network: Network) -> None:
    """Write the picture of :func:`plot_reading` to a file."""
    from matplotlib.figure import Figure

    plot_reading(network, Figure(figsize=(9, 4), layout="constrained")).savefig(path, dpi=150)
