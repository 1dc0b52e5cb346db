"""Pictures of a caller's own model: right numbers in the axes, every kind of model, and the command."""

import json

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from planted import ConvNetwork, Network
from planted.cli import main
from planted.cli._predict import scores
from planted.estimators import SavedModel
from planted.networks import Signature
from planted.pages import evidence
from planted.plots import calibration, plot_calibration, plot_residuals, plot_response, plot_weights, save_model
from planted.rows import Encoding

RNG = np.random.default_rng(2)
X = RNG.standard_normal((300, 2)) * [1.0, 5.0]
NETWORK = Network([[1.0, 0.2], [0.5, -0.3]], [2.0, -1.0])


def test_a_response_is_drawn_where_the_neuron_is():
    y = NETWORK.predict(X)
    shown = evidence(NETWORK, X, y, fresh=True)
    axis = Figure().subplots()
    plot_response(shown, 0, axis)
    rows, curve = axis.lines
    np.testing.assert_allclose(curve.get_ydata(), 2 * np.maximum(curve.get_xdata(), 0))
    # Without noise the rows lie on the curve but for the width of a bin.
    seen = np.isfinite(rows.get_ydata())
    step = curve.get_xdata()[1] - curve.get_xdata()[0]
    assert np.all(np.abs(rows.get_ydata() - curve.get_ydata())[seen] <= 2 * step)


def test_residuals_have_averages_with_their_standard_errors():
    prediction = np.repeat(np.arange(20.0), 30)
    noise = RNG.standard_normal(600)
    axis = Figure().subplots()
    plot_residuals(prediction, prediction + noise, axis)
    bars = axis.containers[0]
    np.testing.assert_allclose(
        np.asarray(bars.lines[0].get_ydata(), float), noise.reshape(20, 30).mean(axis=1), atol=1e-12
    )
    ends = bars.lines[2][0].get_segments()
    reach = [float(segment[1, 1] - segment[0, 1]) / 2 for segment in ends]
    np.testing.assert_allclose(reach, noise.reshape(20, 30).std(axis=1, ddof=1) / np.sqrt(30))


def test_calibration_covers_right_chances_and_not_wrong_ones():
    chance = RNG.random(20_000)
    happened = RNG.random(20_000) < chance
    right = calibration(chance, happened)
    np.testing.assert_allclose(right["rows"], 2000)
    # Ten 95 % intervals of the right model: one in a hundred sets has more than two misses.
    misses = np.sum((right["chance"] < right["low"]) | (right["chance"] > right["high"]))
    assert misses <= 2
    wrong = calibration(chance**2, happened)
    assert np.sum((wrong["chance"] < wrong["low"]) | (wrong["chance"] > wrong["high"])) >= 7


def test_several_classes_have_a_curve_each():
    chances = RNG.dirichlet([1.0, 1.0, 1.0], 500)
    codes = np.array([RNG.choice(3, p=row) for row in chances])
    axis = Figure().subplots()
    plot_calibration(chances, codes, ["a", "b", "c"], axis)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["a", "b", "c"]


def test_weights_are_drawn_per_standard_deviation_with_their_names():
    axis = Figure().subplots()
    plot_weights(Network([[3.0, 0.8]], [1.0]), np.array([1.0, 5.0]), np.array([0]), ["age", "pay"], axis)
    np.testing.assert_allclose(axis.images[0].get_array().ravel(), [0.6, 0.8])
    assert [text.get_text() for text in axis.get_yticklabels()] == ["age", "pay"]


LABELS = Signature(task="classification", classes=("no", "yes"), link="logit")


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (SavedModel(NETWORK, None), X),
        (SavedModel(Network(np.zeros((0, 2)), np.zeros(0), skip=[1.0, 2.0], intercept=3.0), None), X),
        (SavedModel(Network(X[:8], np.ones((3, 8)), "tanh"), None), X),
        (SavedModel(ConvNetwork([1.0, 2.0], [1.0, -1.0]), Signature(patch=(1, 2))), RNG.standard_normal((300, 2, 2))),
    ],
    ids=["neurons", "linear", "several outputs", "filter"],
)
def test_every_model_of_values_has_a_picture(model, inputs, tmp_path):
    values = model.values(inputs)
    save_model(tmp_path / "a.png", model, inputs, values + RNG.standard_normal(values.shape))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_draws_a_model_beside_its_table(tmp_path, capsys):
    sign = Signature(("age", "pay"), ("price",), encoding=Encoding(("age", "pay")).as_dict())
    NETWORK.save(tmp_path / "model", signature=sign)
    y = NETWORK.predict(X) + 0.1 * RNG.standard_normal(300)
    pl.DataFrame({"price": y, "pay": X[:, 1], "age": X[:, 0]}).write_csv(tmp_path / "data.csv")
    with pytest.raises(SystemExit) as stopped:
        main(["plot", str(tmp_path / "model"), str(tmp_path / "data.csv"), "--out", str(tmp_path / "m.png"), "--json"])
    assert stopped.value.code == 0
    report = json.loads(capsys.readouterr().out)
    assert report["r2"] == pytest.approx(1 - np.mean((y - NETWORK.predict(X)) ** 2) / np.var(y))
    assert (tmp_path / "m.png").stat().st_size > 1000
    with pytest.raises(SystemExit) as stopped:
        main(["plot", str(tmp_path / "model")])
    assert stopped.value.code == 2
    assert "name the table" in capsys.readouterr().err


def test_the_command_draws_labels(tmp_path, capsys):
    model = Signature(
        ("u", "v"), ("kind",), "classification", ("no", "yes"), "logit", encoding=Encoding(("u", "v")).as_dict()
    )
    NETWORK.save(tmp_path / "model", signature=model)
    chance = 1 / (1 + np.exp(-NETWORK.predict(X)))
    labels = np.where(RNG.random(300) < chance, "yes", "no")
    pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": labels}).write_csv(tmp_path / "data.csv")
    with pytest.raises(SystemExit) as stopped:
        main(["plot", str(tmp_path / "model"), str(tmp_path / "data.csv"), "--out", str(tmp_path / "m.svg")])
    assert stopped.value.code == 0
    assert "accuracy" in capsys.readouterr().out


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]])
def test_a_fit_of_labels_is_drawn_as_probabilities(classes, tmp_path, capsys, monkeypatch):
    """The picture of a fit has calibration and chances, each label under its own name."""
    values = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5) * (len(classes) == 3)
    labels = np.array(classes)[np.where(RNG.random(300) < 0.2, RNG.integers(len(classes), size=300), values)]
    pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": labels}).write_csv(tmp_path / "data.csv")
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    options = "--target kind --task classification --hidden 1 --activation tanh --bias --quiet --plot"
    with pytest.raises(SystemExit) as stopped:
        main(["fit", str(tmp_path / "data.csv"), *options.split(), str(tmp_path / "fit.png")])
    assert stopped.value.code in (0, 1)
    capsys.readouterr()
    axes = {axis.get_xlabel(): axis for axis in drawn[0].axes}
    named = axes["probability given to the class that came"].get_legend().get_texts()
    assert [text.get_text() for text in named] == classes
    curves = axes["probability given"].get_legend().get_texts()
    assert [text.get_text() for text in curves] == (classes if len(classes) > 2 else classes[1:])
    counted = sum(bar.get_height() for bar in axes["probability given to the class that came"].patches)
    assert counted == 300


def test_several_targets_have_the_score_of_the_command_and_their_units(tmp_path, monkeypatch):
    """R² is the mean of the targets', as `predict` has it; what is drawn is in units of each target, and says so."""
    X = RNG.standard_normal((200, 2))
    network = Network([[1.0, 0.5]], [[1.0], [10.0]], "tanh", intercept=[5.0, 0.0])
    y = network.predict(X) + RNG.standard_normal((200, 2)) * [0.1, 5.0]
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    save_model(tmp_path / "two.png", SavedModel(network, None), X, y)
    titles = {axis.get_title(): axis.get_xlabel() for axis in drawn[0].axes}
    score = scores(SavedModel(network, None), X, y)["r2"]
    assert titles[f"R² {score:.4g}"] == "observed,\nin standard deviations of each target"


def test_a_linear_function_of_several_targets_has_bars_of_each(tmp_path, monkeypatch):
    X = RNG.standard_normal((200, 2))
    network = Network(np.zeros((0, 2)), np.zeros((2, 0)), skip=[[1.0, -2.0], [30.0, 40.0]])
    sign = Signature(("age", "pay"), ("price", "size"))
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    y = network.predict(X) + RNG.standard_normal((200, 2))
    save_model(tmp_path / "two.png", SavedModel(network, sign), X, y)
    first = drawn[0].axes[0]
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["price", "size"]
    widths = np.array([bar.get_width() for bar in first.patches]).reshape(2, 2)
    np.testing.assert_allclose(widths, network.skip * X.std(axis=0) / y.std(axis=0)[:, None])
    assert "standard deviations of each target" in first.get_xlabel()
