"""Result in, figure out."""

from __future__ import annotations

from os import PathLike
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from planted.networks import Network, match
from planted.plots._write import save_figure


def plot_losses(result: Any, axis: Any) -> None:
    """Loss against step for every phase of a recovery, one after the other, on a logarithmic axis.

    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(200, 2, 1, random_state=0)
    >>> est = PlantedRegressor(1, method="squared", random_state=0).fit(data.X, data.y)
    >>> plot_losses(est.result_, Figure().subplots())
    """
    begin = 0
    for name, run in result.descents.items():
        steps = np.asarray(run.history.step)
        if not len(steps):
            continue
        values = np.array([np.min(value) for value in run.history.value])
        shown = values if values.min() > 0 else values - values.min() + 1e-16
        # A phase of one recorded step is a point: a line through it would not be seen.
        axis.semilogy(begin + steps, np.maximum(shown, 1e-33), marker="o" if len(steps) == 1 else None, label=name)
        begin += int(steps[-1])
    axis.set(xlabel="step", ylabel="objective of the phase")
    axis.legend(frameon=False)


def plot_prediction(prediction: np.ndarray, y: np.ndarray, axis: Any) -> None:
    """Predicted against observed targets, at most 5,000 points.

    >>> plot_prediction(np.arange(3.0), np.arange(3.0), Figure().subplots())
    """
    some = slice(None, None, max(1, len(y) // 5000))
    axis.plot(y[some], prediction[some], ".", markersize=3, alpha=0.5)
    ends = [float(np.min(y)), float(np.max(y))]
    axis.plot(ends, ends, color="grey", linewidth=1)
    axis.set(xlabel="observed", ylabel="predicted")


def plot_overlap(estimate: np.ndarray, teacher: Network, axis: Any) -> None:
    """|cosines| between estimated rows (k, d) and the teacher's neurons: a permutation matrix when recovered.

    >>> plot_overlap(np.eye(2), Network(np.eye(2), np.ones(2)), Figure().subplots())
    """
    rows = estimate / np.linalg.norm(estimate, axis=1, keepdims=True)
    columns = teacher.weights / np.linalg.norm(teacher.weights, axis=1, keepdims=True)
    image = axis.imshow(np.abs(rows @ columns.T), vmin=0, vmax=1, cmap="viridis")
    axis.figure.colorbar(image, ax=axis, shrink=0.8, label="|cosine|")
    axis.set(xlabel="teacher neuron", ylabel="recovered neuron")


def plot_widths(losses: dict[int, float], chosen: int, axis: Any) -> None:
    """Held-out relative loss by number of neurons, the number chosen marked: `width_losses_` and `n_hidden_`.

    >>> from matplotlib.figure import Figure
    >>> axis = Figure().subplots()
    >>> plot_widths({1: 0.5, 2: 1e-12, 4: 1e-11}, 2, axis)
    >>> axis.get_xlabel()
    'neurons'
    """
    widths = sorted(losses)
    axis.semilogy(widths, [max(losses[width], 1e-16) for width in widths], "o-", color="tab:blue", markersize=4)
    axis.semilogy([chosen], [max(losses[chosen], 1e-16)], "o", color="tab:red", label=f"chosen: {chosen}")
    axis.set(xlabel="neurons", ylabel="held-out relative loss")
    axis.legend()


def save_fit(
    path: str | PathLike[str],
    result: Any,
    prediction: np.ndarray,
    y: np.ndarray,
    widths: dict[int, float] | None = None,
) -> None:
    """Write a picture of a fit: losses, prediction against observation and, where it was searched for, the width.

    A linear function has no steps and a single width has nothing beside it: these panels are left out then.

    >>> import tempfile, os
    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(200, 2, 1, random_state=0)
    >>> est = PlantedRegressor(1, method="squared", random_state=0).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_fit(os.path.join(folder, "fit.png"), est.result_, est.predict(data.X), data.y, {1: 1e-9, 2: 1e-9})
    """
    steps = any(len(run.history.step) for run in result.descents.values())
    compared = widths if widths is not None and len(widths) > 1 else None
    panels = 1 + steps + (compared is not None)
    figure = Figure(figsize=(5 * panels, 4), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    if steps:
        plot_losses(result, axes[0])
    plot_prediction(prediction, y, axes[int(steps)])
    if compared is not None:
        plot_widths(compared, result.network.n_hidden, axes[-1])
    figure.suptitle(f"{result.status}: relative loss {result.relative_loss:.2g}")
    save_figure(figure, path)


def plot_filter(filter: np.ndarray, patch_shape: tuple[int, int] | None, axis: Any) -> None:
    """A filter (h·w·c,) as an image, channels side by side; as a single row where no shape (h, w) is known.

    >>> plot_filter(np.arange(12.0), (2, 3), Figure().subplots())
    """
    h, w = patch_shape or (1, len(filter))
    channels = np.asarray(filter).reshape(h, w, -1)
    gap = np.full((h, 1, channels.shape[2]), np.nan)
    # Signed and centred: white is zero whatever the filter's scale.
    size = float(np.abs(channels).max()) or 1.0
    tiles = np.concatenate([channels, gap], axis=1).transpose(0, 2, 1).reshape(h, -1)[:, :-1]
    image = axis.imshow(tiles, cmap="RdBu_r", vmin=-size, vmax=size)
    axis.figure.colorbar(image, ax=axis, shrink=0.8, label="weight")
    axis.set(xticks=[], yticks=[], title="filter")


def plot_two_phases(
    steps: np.ndarray, losses: np.ndarray, labels: list[str], axis: Any, phase_one_end: int | None = None
) -> None:
    """Losses (T, restarts) against iterations (T,) on a logarithmic axis, with the end of phase I where it is known.

    >>> plot_two_phases(np.arange(3), np.ones((3, 2)), ["success", "failure"], Figure().subplots(), phase_one_end=1)
    """
    floor = 1e-16 * float(np.max(losses))  # below is rounding
    for label, loss in zip(labels, np.asarray(losses).T, strict=True):
        axis.semilogy(steps, np.maximum(loss, floor), label=label)
    if phase_one_end is not None:
        axis.axvline(phase_one_end, color="grey", linestyle=":", label="end of phase I")
    axis.set(xlabel="iteration", ylabel="loss")
    axis.legend(frameon=False)


def save_conv_fit(
    path: str | PathLike[str],
    result: Any,
    prediction: np.ndarray,
    y: np.ndarray,
    patch_shape: tuple[int, int] | None = None,
) -> None:
    """Write a picture of a recovered filter: the filter, the restarts' losses, prediction against observation.

    >>> import tempfile, os
    >>> from planted import PlantedConvRegressor, datasets
    >>> data = datasets.make_planted_conv(1000, 4, 3, random_state=0)
    >>> result = PlantedConvRegressor(random_state=0).fit(data.X, data.y).result_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_conv_fit(os.path.join(folder, "filter.png"), result, result.network.predict(data.X), data.y)
    """
    figure = Figure(figsize=(14, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plot_filter(result.network.filter, patch_shape, left)
    labels = [f"({r.signs[0]:+d}, {r.signs[1]:+d}) {r.fate}" for r in result.details["restarts"]]
    steps, losses = result.details["curve"]
    plot_two_phases(steps, losses, labels, middle)
    plot_prediction(prediction, y, right)
    figure.suptitle(f"{result.status}: {result.reason}")
    save_figure(figure, path)


def save_demo(path: str | PathLike[str], start: np.ndarray, network: Network, teacher: Network, result: Any) -> None:
    """Write the demonstration's picture: overlap with the teacher before and after, and the losses.

    >>> import tempfile, os
    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(200, 2, 1, random_state=0)
    >>> est = PlantedRegressor(1, method="squared", random_state=0).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_demo(os.path.join(folder, "demo.png"), np.eye(2)[:1], est.network_, data.teacher, est.result_)
    """
    figure = Figure(figsize=(14, 4), layout="constrained")
    before, after, losses = figure.subplots(1, 3)
    matched = match(network, teacher)
    plot_overlap(start, teacher, before)
    before.set(title="random start", ylabel="student row")
    plot_overlap(network.weights[matched.permutation], teacher, after)
    after.set(title=f"recovered: weight error {matched.weight_error:.1e}")
    plot_losses(result, losses)
    losses.set(title="on the way")
    save_figure(figure, path)


def save_study(path: str | PathLike[str], study: Any) -> None:
    """Write the picture of a reproduced figure, with its verdicts below.

    >>> import tempfile, os
    >>> from planted.reproduce import Study
    >>> study = Study("a/b", "title", {}, [], [], lambda figure: figure.subplots(), 0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_study(os.path.join(folder, "study.png"), study)
    """
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    study.draw(figure)
    verdicts = "; ".join(f"{c.statement}: {c.verdict}" for c in study.claims)
    figure.suptitle(f"{study.name}: {study.title}\n{fill(verdicts, 150)}", fontsize=9)
    save_figure(figure, path)
