"""Pictures of a model beside rows: what each neuron does, how well it predicts, and whether its chances are right."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

from planted.certificates import unit_scaled
from planted.names import count_of
from planted.networks import ConvNetwork
from planted.pages import Evidence, evidence
from planted.plots._results import plot_filter, plot_losses, plot_prediction
from planted.plots._write import save_figure

_NEURONS, _INPUTS, _POINTS, _BINS = 5, 20, 4000, 10
_BLUE, _ORANGE, _GREY = "tab:blue", "tab:orange", "0.6"


def plot_response(shown: Evidence, neuron: int, axis: Any, rows: bool = True, activation: Any = None) -> None:
    """What a neuron adds to the output, a φ(z), against z = w·x + b, beside what the rows say, and where rows lie.

    Parameters
    ----------
    shown : Evidence
    neuron : int
    axis : matplotlib axis
    rows : bool
        Whether to draw a φ(z) + residual, averaged in bins.
    activation : Activation, optional
        φ, to draw the neuron finely, kinks included; at the middles of the bins without.

    Examples
    --------
    >>> from planted import Network
    >>> network, X = Network([[1.0]], [2.0]), np.linspace(-1, 1, 50)[:, None]
    >>> plot_response(evidence(network, X, network.predict(X)), 0, Figure().subplots())
    """
    z, response = shown.positions[neuron], shown.response[neuron]
    low, high = float(response.min()), float(response.max())
    span = (high - low) or 1.0
    share = shown.shares[neuron] / max(float(shown.shares[neuron].max()), 1e-300)
    width = float(z[1] - z[0])
    axis.bar(z, 0.25 * span * share, width, bottom=low - 0.3 * span, color="0.88", label="where rows lie")
    if rows:
        axis.plot(z, shown.partial[neuron], "o", color=_ORANGE, markersize=3.5, label="rows, averaged")
    places = z
    if activation is not None:
        fine = np.union1d(np.linspace(z[0], z[-1], 200), [kink for kink in activation.kinks if z[0] < kink < z[-1]])
        middle = np.asarray(activation(z))
        amount = float(response @ middle) / max(float(middle @ middle), 1e-300)
        places, response = fine, amount * np.asarray(activation(fine))
    axis.plot(places, response, color=_BLUE, linewidth=2, label="neuron")
    axis.set(xlabel="weights · inputs + bias", ylabel="added to the output")


def plot_residuals(prediction: np.ndarray, y: np.ndarray, axis: Any) -> None:
    """Observed minus predicted against predicted, with averages of twentieths and their standard errors.

    >>> plot_residuals(np.arange(50.0), np.arange(50.0) + 0.1, Figure().subplots())
    """
    residual = y - prediction
    some = slice(None, None, max(1, len(y) // _POINTS))
    axis.plot(prediction[some], residual[some], ".", color=_GREY, markersize=3, alpha=0.5)
    axis.axhline(0.0, color="black", linewidth=0.8)
    order = np.argsort(prediction, kind="stable")
    groups = [part for part in np.array_split(order, min(20, max(1, len(y) // 10))) if len(part) > 1]
    middle = [float(np.mean(prediction[part])) for part in groups]
    mean = [float(np.mean(residual[part])) for part in groups]
    error = [float(np.std(residual[part], ddof=1) / np.sqrt(len(part))) for part in groups]
    axis.errorbar(middle, mean, error, fmt="o", color=_ORANGE, markersize=4, label="average ± standard error")
    axis.set(xlabel="predicted", ylabel="observed − predicted")
    axis.legend(frameon=False, fontsize=8)


def plot_histogram(residual: np.ndarray, axis: Any) -> None:
    """Residuals as a histogram, beside a normal density of their standard deviation.

    >>> plot_histogram(np.linspace(-1, 1, 50), Figure().subplots())
    """
    size = float(np.std(residual))
    axis.hist(residual, bins=40, density=True, color="0.8")
    if size > 0:
        ends = np.linspace(float(residual.min()), float(residual.max()), 200)
        density = np.exp(-0.5 * ((ends - residual.mean()) / size) ** 2) / (size * np.sqrt(2 * np.pi))
        axis.plot(ends, density, color=_BLUE, label=f"normal, standard deviation {size:.3g}")
        axis.legend(frameon=False, fontsize=8)
        axis.set_ylim(top=1.2 * axis.get_ylim()[1])  # Room for the legend.
    axis.set(xlabel="observed − predicted", ylabel="density")


def calibration(chance: np.ndarray, happened: np.ndarray, bins: int = _BINS) -> dict[str, np.ndarray]:
    """Mean probability and share of events in groups of equally many rows, with exact 95 % intervals of the share.

    Parameters
    ----------
    chance : array (n,)
        Probabilities that were given.
    happened : array (n,) of bool
    bins : int

    Returns
    -------
    dict
        "chance", "share", "low", "high" and "rows", each (groups,).

    Examples
    --------
    >>> table = calibration(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True]), bins=2)
    >>> table["chance"].round(2).tolist(), table["share"].tolist()
    ([0.15, 0.85], [0.0, 1.0])
    """
    order = np.argsort(chance, kind="stable")
    groups = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    ends = [binomtest(int(happened[part].sum()), len(part)).proportion_ci(0.95) for part in groups]
    return {
        "chance": np.array([chance[part].mean() for part in groups]),
        "share": np.array([happened[part].mean() for part in groups]),
        "low": np.array([end.low for end in ends]),
        "high": np.array([end.high for end in ends]),
        "rows": np.array([len(part) for part in groups]),
    }


def plot_calibration(chances: np.ndarray, codes: np.ndarray, classes: Sequence[Any], axis: Any) -> None:
    """How often a class came against how probable it was said to be; on the diagonal the chances are right.

    Parameters
    ----------
    chances : array (n, m)
    codes : array (n,) of int
        The class of each row.
    classes : sequence of length m
        For two classes the second is shown.
    axis : matplotlib axis

    Examples
    --------
    >>> plot_calibration(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([1, 0]), ["no", "yes"], Figure().subplots())
    """
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    shown = [1] if len(classes) == 2 else range(min(len(classes), 8))
    for place, i in enumerate(shown):
        table = calibration(chances[:, i], codes == i)
        reach = np.abs(np.stack([table["share"] - table["low"], table["high"] - table["share"]]))
        axis.errorbar(
            table["chance"], table["share"], reach, fmt="o-", color=f"C{place}", markersize=4, linewidth=1, capsize=2,
            label=str(classes[i]),
        )  # fmt: skip
    axis.set(
        xlabel="probability given", ylabel="share that came (95 % interval)", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03)
    )
    axis.set_aspect("equal")
    axis.legend(frameon=False, fontsize=8)


def plot_chances(chances: np.ndarray, codes: np.ndarray, classes: Sequence[Any], axis: Any) -> None:
    """Histogram of the probability given to the class that came: near one where the model is sure and right.

    >>> plot_chances(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([1, 0]), ["no", "yes"], Figure().subplots())
    """
    given = [chances[codes == i, i] for i in range(len(classes))]
    axis.hist(given, bins=np.linspace(0, 1, 21), stacked=True, label=[str(label) for label in classes])
    axis.set(xlabel="probability given to the class that came", ylabel="rows", xlim=(0, 1))
    axis.legend(frameon=False, fontsize=8)


def save_label_fit(
    path: str | PathLike[str], result: Any, chances: np.ndarray, codes: np.ndarray, classes: Sequence[Any]
) -> None:
    """Write a picture of a fit to labels: losses, whether the probabilities are right, and how sure the model is.

    A linear function has no steps: their panel is left out then. Parameters are those of :func:`plot_calibration`.

    >>> import tempfile, os
    >>> from planted import PlantedClassifier, datasets
    >>> data = datasets.make_planted(500, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> est = PlantedClassifier(1, activation="sigmoid", random_state=0).fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.png")
    ...     save_label_fit(path, est.result_, est.predict_proba(data.X), data.y, est.classes_)
    """
    steps = any(len(run.history.step) for run in result.descents.values())
    figure = Figure(figsize=(5 * (2 + steps), 4), layout="constrained")
    axes = list(figure.subplots(1, 2 + steps))
    if steps:
        plot_losses(result, axes.pop(0))
    plot_calibration(chances, codes, classes, axes[0])
    plot_chances(chances, codes, classes, axes[1])
    figure.suptitle(f"{result.status}: relative loss {result.relative_loss:.2g}")
    save_figure(figure, path)


def plot_weights(network: Any, scale: np.ndarray, order: np.ndarray, names: Sequence[str], axis: Any) -> None:
    """Weights per standard deviation of each input, neurons in the order given, as a signed heat map.

    >>> from planted import Network
    >>> plot_weights(Network([[1.0, 2.0]], [1.0]), np.ones(2), np.array([0]), ["u", "v"], Figure().subplots())
    """
    made = unit_scaled(network, scale).network
    large = np.sort(np.argsort(-np.abs(made.weights).max(axis=0), kind="stable")[:_INPUTS])
    table = made.weights[order][:, large].T
    size = float(np.abs(table).max(initial=0.0)) or 1.0
    image = axis.imshow(table, cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto")
    axis.set_xticks(range(len(order)), [str(i + 1) for i in range(len(order))])
    axis.set_yticks(range(len(large)), [_short(names[j]) for j in large], fontsize=8)
    some = f", the largest {len(large)} of {made.n_features} inputs" if len(large) < made.n_features else ""
    axis.set(xlabel="neuron, strongest first")
    axis.set_title(f"weights per standard deviation{some}", fontsize=9 if some else None)
    axis.figure.colorbar(image, ax=axis, shrink=0.8)


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:22]}…"


def save_model(
    path: str | PathLike[str],
    model: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] = (),
    codes: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> None:
    """Write a picture of a model beside rows.

    Above: the strongest neurons' responses, or the filter. Below: for values the prediction, the residuals and their
    histogram; for labels whether the probabilities are right, and how sure the model is.

    Parameters
    ----------
    path : str or path
    model : SavedModel
    X : array (n, d) or (n, patches, size)
    y : array (n,) or (n, m)
        Targets; not needed for labels.
    names : sequence of str
        Of the inputs.
    codes : array (n,), optional
        For labels the class of each row.
    weight : array (n,), optional
        A row of weight w counts like w equal rows in strengths, R² and accuracy; points are drawn row by row.

    Examples
    --------
    >>> import tempfile
    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> network, X = Network([[1.0]], [2.0]), np.linspace(-1, 1, 50)[:, None]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/a.png", SavedModel(network, None), X, network.predict(X))
    """
    network, values = model.network, model.values(X)
    network = network.canonical()
    shown = evidence(network, X, values if codes is not None else y, fresh=True, weight=weight)
    filters = isinstance(network, ConvNetwork)
    order = np.argsort(-shown.strength, kind="stable")
    neurons = order[:_NEURONS]
    columns = 3
    above = max(1, -(-(len(neurons) + 1) // columns))
    figure = Figure(figsize=(4.6 * columns, 3.4 * (above + 1)), layout="constrained")
    axes = figure.subplots(above + 1, columns, squeeze=False)
    spare = list(axes[:above].ravel())
    first = spare.pop(0)
    if filters:
        plot_filter(network.filter, None if model.signature is None else model.signature.patch, first)
    elif network.n_hidden:
        plot_weights(network, shown.scale, order[: 2 * _NEURONS], _names(network, names), first)
    else:
        several = codes is None and network.n_outputs > 1
        unit = np.std(np.asarray(y, np.float64), axis=0)[:, None] if several else np.ones(1)
        part = np.zeros(network.n_features) if network.skip is None else network.skip * shown.scale
        outputs = [_output(model, i) for i in range(network.n_outputs)]
        _linear(np.atleast_2d(part) / np.where(unit > 0, unit, 1.0), _names(network, names), outputs, first)
        first.set_xlabel("weight per standard deviation" + ",\nin standard deviations of each target" * several)
    for place, i in enumerate(neurons):
        axis = spare.pop(0)
        plot_response(shown, int(i), axis, rows=codes is None, activation=network.activation)
        inside = "filter · patch" if filters else "weights · inputs" + " + bias" * (network.bias is not None)
        axis.set(xlabel=inside, ylabel=f"added to {_output(model, int(shown.leading[i]))}")
        axis.locator_params(axis="x", nbins=6)
        what = f"patch {i}" if filters else f"neuron {place + 1}"
        axis.set_title(f"{what}: strength {shown.strength[i]:.3g}, active in {100 * shown.active[i]:.0f} %", fontsize=9)
    if len(neurons):
        axes[:above].ravel()[1].legend(frameon=False, fontsize=8)
    for axis in spare:
        axis.axis("off")
    _below(axes[-1], model, X, values, y, codes, weight)
    hidden = len(order) - len(neurons)
    more = f"; {count_of(hidden, 'weaker neuron is', 'weaker neurons are')} not drawn" if hidden > 0 else ""
    figure.suptitle(f"{network}, {count_of(len(X), 'row')}{more}", fontsize=10)
    save_figure(figure, path)


def _output(model: Any, i: int) -> str:
    """What output i of a model is of, in words.

    >>> from planted import Network
    >>> from planted.estimators import SavedModel
    >>> _output(SavedModel(Network([[1.0]], [[1.0], [2.0]]), None), 1)
    'output 1'
    """
    sign = model.signature
    if getattr(model.network, "n_outputs", 1) == 1 and not model.labels:
        return "the output"
    if sign is None:
        return f"output {i}"
    if not model.labels:
        return _short(str(sign.targets[i])) if i < len(sign.targets) else f"output {i}"
    # With two classes there is one output, which speaks for the second.
    name = sign.classes[1 if len(sign.classes) == 2 else i]
    return f"the {'log-odds' if sign.link == 'logit' else 'probability'} of {_short(str(name))}"


def _below(axes: Any, model: Any, X: Any, values: np.ndarray, y: Any, codes: Any, weight: Any) -> None:
    if codes is not None:
        chances, classes = model.predict_proba(X), list(model.signature.classes)
        plot_calibration(chances, codes, classes, axes[0])
        plot_chances(chances, codes, classes, axes[1])
        _confusion(np.argmax(chances, axis=1), codes, classes, axes[2], weight)
        return
    truth, guess = np.asarray(y, np.float64).reshape(len(values), -1), values.reshape(len(values), -1)
    # Several outputs in units of their spread, one under the other.
    unit = np.where(truth.std(axis=0) > 0, truth.std(axis=0), 1.0) if truth.shape[1] > 1 else np.ones(1)
    observed, predicted = (truth / unit).T.ravel(), (guess / unit).T.ravel()
    plot_prediction(predicted, observed, axes[0])
    middle = np.average(truth, axis=0, weights=weight)
    spread, left = (np.average((truth - by) ** 2, axis=0, weights=weight) for by in (middle, guess))
    each = 1 - left / np.where(spread > 0, spread, 1.0)
    # As commands say it: of several targets the mean of theirs.
    axes[0].set_title(f"R² {np.mean(each):.4g}", fontsize=9)
    plot_residuals(predicted, observed, axes[1])
    plot_histogram(observed - predicted, axes[2])
    for axis in axes if truth.shape[1] > 1 else ():
        axis.set_xlabel(f"{axis.get_xlabel()},\nin standard deviations of each target")


def _confusion(guess: np.ndarray, codes: np.ndarray, classes: Sequence[Any], axis: Any, weight: Any = None) -> None:
    m = len(classes)
    table = np.zeros((m, m))
    np.add.at(table, (codes, guess), 1 if weight is None else weight)
    axis.imshow(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300), cmap="Blues", vmin=0, vmax=1)
    if m <= 12:
        for i, j in np.ndindex(m, m):
            share = table[i, j] / (table[i].sum() or 1.0)
            axis.text(j, i, f"{table[i, j]:.7g}", ha="center", va="center", color="white" if share > 0.6 else "black")
        axis.set_xticks(range(m), [_short(str(label)) for label in classes])
        axis.set_yticks(range(m), [_short(str(label)) for label in classes])
    axis.set(xlabel="predicted", ylabel="observed", title=f"accuracy {np.trace(table) / (table.sum() or 1.0):.3g}")


def _linear(part: np.ndarray, names: Sequence[str], outputs: Sequence[str], axis: Any) -> None:
    """A network without neurons: its linear part (m, d) as bars, a colour for each of the first outputs."""
    large = np.sort(np.argsort(-np.abs(part).max(axis=0), kind="stable")[:_INPUTS])
    few = min(len(part), _NEURONS)
    for j in range(few):
        axis.barh(np.arange(len(large)) + 0.8 * ((j + 0.5) / few - 0.5), part[j, large], 0.8 / few, label=outputs[j])
    if few > 1:
        # Bars reach both sides of the panel.
        axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axis.set_yticks(range(len(large)), [_short(names[j]) for j in large], fontsize=8)
    axis.invert_yaxis()
    axis.set_title("no neurons: one linear function")


def _names(network: Any, names: Sequence[str]) -> list[str]:
    d = network.n_features
    return [str(name) for name in names] if len(names) == d else [f"x{i}" for i in range(d)]
