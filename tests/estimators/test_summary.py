"""`summary()`: the canonical network per standard deviation, in one order, with errors and what rows say."""

import logging
import re
import warnings
from functools import partial

import numpy as np
import pytest

from planted import Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, datasets, match
from planted.estimators._summary import _hidden, _neuron_notes
from planted.pages import evidence, shown_errors

RNG = np.random.default_rng(1)
SCALE = np.array([1.0, 20.0, 0.05])
X = RNG.standard_normal((400, 3)) * SCALE
TEACHER = Network([[1.0, 0.02, 0.0], [0.0, 0.1, -5.0]], [2.0, -1.0])
Y = TEACHER.predict(X) + 0.05 * RNG.standard_normal(400)
NAMES = ["age", "pay per month in euro", "z"]


@pytest.fixture(scope="module")
def fitted():
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, method="squared", random_state=0)
    return est.fit(X, Y, names=NAMES)


def test_weights_are_per_standard_deviation_and_the_strongest_comes_first(fitted):
    summary = fitted.summary()
    first, second = summary.parts
    assert first["strength"] > second["strength"]
    assert list(first) == ["strength", "active in", "output", *NAMES]
    made = Network(
        [[part[name][0] for name in NAMES] for part in summary.parts], [part["output"][0] for part in summary.parts]
    )
    np.testing.assert_allclose(np.linalg.norm(made.weights, axis=1), 1)
    np.testing.assert_allclose(made.predict(X / X.std(axis=0)), fitted.predict(X), atol=1e-9)
    assert match(made, Network(TEACHER.weights * X.std(axis=0), TEACHER.output)).weight_error < 0.02


def test_activity_is_the_share_of_rows_above_the_kink(fitted):
    for part in fitted.summary().parts:
        z = (X / X.std(axis=0)) @ [part[name][0] for name in NAMES]
        assert part["active in"] == pytest.approx(np.mean(z > 0))
        assert part["strength"] == pytest.approx(abs(part["output"][0]) * np.std(np.maximum(z, 0)))


def test_the_text_has_names_in_full_and_intervals_in_the_same_places(fitted):
    text, between = str(fitted.summary()), str(fitted.summary(0.9))
    assert text.startswith(f"{fitted.result_.status}: ")
    assert "pay per month in euro" in text
    assert "±" in text
    assert "±" not in between
    assert "90 % intervals" in between
    part = fitted.summary().parts[0]
    value, error = part["age"]
    reach = 1.6448536 * error
    place = 1 - int(np.floor(np.log10(reach)))
    assert f"{value:+.{place}f} [{value - reach:+.{place}f}, {value + reach:+.{place}f}]" in between
    assert repr(fitted.summary()) == text
    assert fitted.summary()._repr_html_().startswith("<pre>")
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.summary(95)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4, 1e9])
def test_ends_of_intervals_differ_by_their_width_in_all_units(size):
    """Four digits of the ends said nothing of errors below a thousandth of the number."""
    y = size * (TEACHER.predict(X) + 1e-4 * RNG.standard_normal(400))
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, method="squared", random_state=0)
    text = str(est.fit(X, y).summary(0.95))
    found = re.findall(r"^output +(\S+) \[(\S+), (\S+)\] +(\S+) \[(\S+), (\S+)\]", text, re.MULTILINE)
    value, low, high = np.array(found[0], float).reshape(2, 3).T
    reach = 1.96 * np.array([part["output"][1] for part in est.summary().parts])
    np.testing.assert_allclose(high - low, 2 * reach, rtol=0.1)
    np.testing.assert_allclose(value, [part["output"][0] for part in est.summary().parts], atol=np.min(reach))


def test_a_number_has_the_place_of_its_error_where_that_is_large():
    noise = np.random.default_rng(0).standard_normal(60)
    est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_skip=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = str(est.fit(X[:60], 4000 * (X[:60, 0] + noise)).summary())
    shown = [line.split()[-3:] for line in text.splitlines() if "linear" in line and "±" in line]
    assert shown
    for value, _, error in shown:
        assert "e" not in error
        assert float(error) >= 100
        assert float(value) % 10 == float(error) % 10 == 0


def test_what_is_zero_to_rounding_is_zero():
    inputs = RNG.standard_normal((100, 3))
    est = PlantedRegressor("auto", random_state=0).fit(inputs, 0.5 + inputs @ [2.0, -1.0, 0.0])
    assert est.summary().shared["linear: x2"] == (0.0, None)
    assert "linear: x2  +0\n" in str(est.summary())
    small = PlantedRegressor("auto", random_state=0).fit(inputs, 0.5 + inputs @ [2.0, -1.0, 1e-9])
    assert small.summary().shared["linear: x2"][0] == pytest.approx(1e-9 * inputs[:, 2].std(), rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("alpha", "noise", "words"),
    [
        (0.0, 1.0, "none"),
        (0.05, 1.0, "alpha=0.05; it pulls weights towards zero, so that errors and intervals are biased"),
        ("auto", 1.0, "alpha=%g, chosen by held-out rows; it pulls weights"),
        (0.0, 0.0, "alpha=%g, chosen by held-out rows; it pulls weights"),
    ],
)
def test_the_penalty_of_the_network_is_told_from_that_of_its_rival(alpha, noise, words):
    """Labels without noise have no finite weights, and get a penalty whatever was asked for."""
    inputs = RNG.standard_normal((150, 2))
    labels = inputs[:, 0] + noise * RNG.logistic(size=150) > 0
    est = PlantedClassifier(1, link="logit", activation="tanh", fit_bias=False, alpha=alpha, random_state=0)
    est.fit(inputs, labels)
    said = words.replace("%g", f"{est.alpha_:g}") if est.alpha_ else "none"
    assert f"\nℓ2 penalty of this network: {said}" in str(est.summary())
    page = est._subject().numbers
    assert page["ℓ2 penalty of this network (alpha)"] == est.alpha_
    if not noise:
        assert est.alpha_ > 0


def test_seconds_are_those_waited_for(fitted):
    assert 0 < fitted.result_.seconds < 1000
    assert f"{fitted.result_.seconds:.1f} s" in str(fitted.summary())
    assert len(repr(fitted.result_)) < 200


def test_a_neuron_that_is_always_active_is_called_linear():
    inputs = RNG.uniform(1, 2, (200, 2))
    est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, method="squared", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(inputs, inputs @ [1.0, 2.0] + 0.01 * RNG.standard_normal(200))
    assert "active in every row, so linear on these rows" in str(est.summary())


def test_filters_have_a_summary():
    data = datasets.make_planted_conv(400, 3, 2, random_state=0)
    summary = PlantedConvRegressor(random_state=0).fit(data.X, data.y).summary()
    assert len(summary.parts) == 3
    assert set(summary.shared) == {"filter 0", "filter 1"}
    assert "patch 0" in summary.table()
    assert "neuron" not in str(summary)


def test_the_strongest_of_many_patches_are_shown_by_their_places():
    """The first ones had been, and the others called weaker."""
    data = datasets.make_planted_conv(600, 14, 2, output=np.arange(1.0, 15), noise=0.1, random_state=0)
    summary = PlantedConvRegressor(random_state=0).fit(data.X, data.y).summary()
    assert re.findall(r"patch (\d+)", summary.table()) == [str(i) for i in range(2, 14)]
    assert "… 2 weaker patches are not shown" in summary.table()
    outputs = "".join(re.findall(r"^output .*", summary.table(), re.M))
    shown = [float(value) for value in re.findall(r"([-+][\d.]+) ±", outputs)]
    np.testing.assert_allclose(shown, [part["output"][0] for part in summary.parts[2:]], atol=0.05)


def test_entries_of_a_filter_that_are_not_shown_are_counted():
    data = datasets.make_planted_conv(400, 2, 26, random_state=0)
    summary = PlantedConvRegressor(random_state=0).fit(data.X, data.y).summary()
    assert "2 more entries of the filter are not shown" in summary.notes
    assert len(summary.shared) == 24


def test_columns_of_several_filters_are_called_filters():
    data = datasets.make_planted_conv(400, 2, 2, random_state=0)
    y = data.y + datasets.make_planted_conv(400, 2, 2, random_state=1).teacher.predict(data.X)
    table = PlantedConvRegressor(n_filters=2, random_state=0).fit(data.X, y).summary().table()
    assert re.findall(r"filter \d|neuron", table) == ["filter 1", "filter 2"]


def test_the_logger_says_what_is_done(caplog):
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, method="squared", random_state=0)
    with caplog.at_level(logging.INFO, logger="planted"):
        est.fit(X, Y)
    words = [record.getMessage() for record in caplog.records if record.name == "planted"]
    assert words[0] == "fitting 400 rows of 3 inputs by PlantedRegressor"
    assert words[-1].startswith(f"{est.result_.status}: ")


def test_the_logger_calls_a_linear_function_that(caplog):
    est = PlantedRegressor(activation="relu", fit_bias=False, random_state=0)
    with caplog.at_level(logging.INFO, logger="planted"):
        est.fit(X, X @ (np.array([1.0, 2.0, 3.0]) / SCALE))
    words = [record.getMessage() for record in caplog.records if record.name == "planted"]
    assert "a linear function, method auto" in words
    assert not any("0 relu" in word for word in words)


@pytest.fixture(scope="module")
def line():
    y = X @ (np.array([1.0, 2.0, 3.0]) / SCALE) + 0.5 * np.random.default_rng(2).standard_normal(400)
    est = PlantedRegressor(activation="relu", fit_bias=False, random_state=0).fit(X, y, names=NAMES)
    assert est.network_.n_hidden == 0
    return est


def test_coefficients_of_a_linear_function_are_said_to_be_per_standard_deviation(line):
    summary = line.summary()
    made = np.array([summary.shared[f"linear: {name}"][0] for name in NAMES])
    np.testing.assert_allclose((X / X.std(axis=0)) @ made, line.predict(X) - line.network_.intercept, atol=1e-9)
    assert summary.notes == ["coefficients are per standard deviation of an input"]
    est = PlantedRegressor(random_state=0).fit(X + SCALE, line.predict(X) + 0.1 * RNG.standard_normal(400))
    summary = est.summary()
    assert summary.notes[0].startswith("coefficients are per standard deviation of an input; an intercept is what")
    assert est.predict(np.zeros((1, 3)))[0] == pytest.approx(summary.shared["intercept"][0])


def test_intervals_of_the_table_are_those_that_the_estimator_gives():
    """Also where they reach further than a normal law does, as the errors depend on where they are taken."""
    teacher = Network([[1.5, 0.0], [0.3, 1.0]], [1.0, 0.6], "tanh")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 2))
    y = teacher.predict(X) + 0.3 * rng.standard_normal(400)
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(X, y)
    assert est.standard_errors_.ratios is not None
    summary = est.summary(0.9)
    strongest = int(np.argmax(est.evidence_.strength))
    low, high = est.confidence_intervals(0.9)["output"][:, strongest]
    place = 1 - int(np.floor(np.log10((high - low) / 2)))
    assert f"[{low:+.{place}f}, {high:+.{place}f}]" in summary.table()
    assert summary.parts[0]["output"][1] == pytest.approx(est.standard_errors_.output[strongest], rel=1e-9)


def _shown(estimator, X, y, **options):
    fitted = estimator.fit(X, y, **options)
    return [(part["strength"], part["active in"]) for part in fitted.summary().parts], fitted.evidence_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_strength_and_share_of_labels_count_a_weight_as_so_many_rows(class_weight):
    # More copies than a page's sample has rows.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = (rng.random(900) < 1 / (1 + np.exp(1 - 4 * np.maximum(X[:, 0], 0)))).astype(int)
    times = np.where(X[:, 0] > 0, 9, 1)
    options = {"link": "logit", "activation": "relu", "fit_bias": False, "random_state": 0}
    options["class_weight"] = class_weight
    given, shown = _shown(PlantedClassifier(1, **options), X, y, sample_weight=times)
    repeated, all_shown = _shown(PlantedClassifier(1, **options), np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(given, repeated, rtol=1e-12)
    np.testing.assert_allclose(shown.scale, all_shown.scale, rtol=1e-12)
    side = np.mean(np.repeat(X, times, axis=0)[:, 0] > 0)
    assert np.isclose(given[0][1], side, atol=0.02)
    assert side > 0.85


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_classes_are_named_and_forgotten():
    labels = np.where(X[:, 0] + np.random.default_rng(0).standard_normal(400) > 1, "yes", "no")
    est = PlantedClassifier(1, "relu", link="logit", fit_bias=False, class_weight={"yes": 3.0}, random_state=0)
    said = est.fit(X[:, [0]], labels, sample_weight=np.full(400, 2.0)).summary().head
    share = np.mean(labels == "yes")
    no = 1 / (1 - share + 3 * share)
    assert said[-2:] == [
        "row weights: 2 in every row",
        f"class weights: a row of no counts {no:.3g}, of yes {3 * no:.3g}",
    ]
    est.set_params(class_weight=None).fit(X[:, [0]], labels)
    assert not any("weights: " in line for line in est.summary().head)


def test_strength_and_share_of_values_count_a_weight_as_so_many_rows():
    data = datasets.make_planted(400, 2, 1, noise=0.1, random_state=0)
    times = np.where(data.y > np.median(data.y), 5, 1)
    fit = partial(PlantedRegressor, 1, activation="relu", fit_bias=False, random_state=0)
    given, shown = _shown(fit(), data.X, data.y, sample_weight=times)
    X = np.repeat(data.X, times, axis=0)
    repeated, all_shown = _shown(fit(), X, np.repeat(data.y, times))
    np.testing.assert_allclose(given, repeated, rtol=1e-12)
    np.testing.assert_allclose(shown.scale, all_shown.scale, rtol=1e-12)
    np.testing.assert_allclose(shown.scale, X.std(axis=0), rtol=1e-12)


def test_a_constant_input_has_no_spread_whatever_the_weights():
    rows = np.column_stack([RNG.standard_normal(50), np.full(50, 3.3)])
    shown = evidence(Network([[1.0, 2.0]], [1.0]), rows, rows[:, 0], weight=RNG.random(50))
    assert (shown.mean[1], shown.scale[1]) == (3.3, 0.0)


def test_scores_to_first_order_are_said_to_be(fitted, line, tmp_path):
    words = "(to first order, without refits)"
    said = next(words for words in fitted.summary().head if "left out one by one" in words)
    assert re.search(rf"one by one: this network [\d.]+ {re.escape(words)}, one linear function [\d.]+, the mean", said)
    page = fitted.report(tmp_path / "page.html").read_text()
    assert f"R² of rows left out one by one, this network {words}" in page
    assert f"a linear function {words}" not in page
    # Of a linear function they are exact.
    assert words not in str(line.summary())
    assert words not in line.report(tmp_path / "line.html").read_text()


def test_scores_of_labels_to_first_order_are_said_to_be(tmp_path):
    labels = (RNG.random(400) < 1 / (1 + np.exp(-4 * np.maximum(X[:, 0], 0) + 1))).astype(int)
    est = PlantedClassifier(1, link="logit", activation="softplus", random_state=0).fit(X[:, [0, 2]], labels)
    assert "one by one (to first order, without refits): this network" in str(est.summary())
    page = est.report(tmp_path / "page.html").read_text()
    assert "explained deviance of rows left out one by one, this network (to first order, without refits)" in page
    # In the words of the summary: a linear function of log-odds is logistic regression.
    assert "logistic regression (to first order, without refits)" in page
    assert "left out one by one, the classes' shares" in page


def _notes(network, X):
    return _neuron_notes(network, evidence(network, X, network.predict(X), fitted=False), 0)


def test_what_active_means_is_said_of_neurons_with_two_ends():
    assert any("on its slope" in note for note in _notes(Network([[1.0, 0, 0]], [1.0], "sigmoid"), X))
    assert not any("on its slope" in note for note in _notes(Network([[1.0, 0, 0]], [1.0], "relu"), X))


@pytest.mark.parametrize("activation", ["relu", "abs", "leaky_relu", "squared_relu"])
def test_only_neurons_whose_kink_no_row_passes_are_called_linear(activation):
    """An abs neuron has a slope on either side of its kink."""
    network = Network([[1.0, 0.5], [1.0, -1.0]], [3.0, 1.0], activation)
    size = np.abs(X[:, 0])
    inputs = np.column_stack([size + 0.5, size])
    inputs[:2, 1] += [1, 2]
    said = [note for note in _notes(network, inputs) if "active" in note]
    kind = "never silent" if activation == "squared_relu" else "linear"
    assert said == [f"neuron 1: active in every row, so {kind} on these rows"]


def test_inputs_without_weights_are_not_said_to_be_hidden():
    names = [f"x{i}" for i in range(60)]
    assert _hidden(Network(np.zeros((0, 60)), [], intercept=2.0), names) == []
    assert len(_hidden(Network(np.zeros((0, 60)), [], skip=np.arange(60.0)), names)) == 36


def test_numbers_that_rounding_alone_leaves_have_no_standard_error(tmp_path):
    y = TEACHER.predict(X)
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=True, method="squared", random_state=0)
    est.fit(X, y)
    assert est.result_.status == "recovered"
    summary = est.summary()
    assert "±" not in summary.table()
    assert str(summary).count("known to rounding") == 1
    assert all(part["output"][1] is None for part in summary.as_dict()["neurons"])
    assert summary.shared["intercept"][1] is None
    page = est.report(tmp_path / "page.html").read_text()
    assert "± standard error" not in page.split('"neurons":')[1].split("]")[0]
    assert "Numbers without an error are known to rounding." in page
    asked = est.summary(0.9)
    assert "[" not in asked.table()
    assert "numbers without an interval are known to rounding" in asked.notes
    assert not any("brackets" in note for note in asked.notes)


def test_errors_that_rounding_makes_large_are_shown():
    errors, estimate = {"weights": np.array([1e-17, np.inf]), "intercept": np.array(5e-16)}, {"weights": [1.0, 1.0]}
    shown = shown_errors(errors | {"output": np.array([0.1])}, estimate | {"intercept": 0.0, "output": [1.0]}, True)
    assert [np.isnan(value).tolist() for value in shown.values()] == [[True, False], True, [False]]
    assert shown_errors(errors, estimate, False) == errors
