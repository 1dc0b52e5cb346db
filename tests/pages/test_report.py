"""The report of a result: its numbers against the network, its look and handling in a real browser."""

import html
import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from browser import browser, needs_browser, operated
from planted import ConvNetwork, Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, datasets
from planted.certificates import assumptions
from planted.pages import Subject, evidence, fragment, report_html, subject_of, write_report

NAMES = ["age", "income", "height & <width>"]


@pytest.fixture(scope="module")
def fitted():
    data = datasets.make_planted(1500, 3, 2, output="mixed", noise=0.1, random_state=0)
    return PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        pd.DataFrame(data.X, columns=NAMES), data.y
    ), data


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    return fitted[0].report(tmp_path_factory.mktemp("report") / "report.html", targets=["price"])


def payload(text):
    inside = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1]
    return json.loads(inside)


def large(k=100, d=100):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, d))
    network = Network(rng.normal(size=(k, d)), rng.normal(size=k), bias=rng.normal(size=k)).canonical()
    y = network.predict(X) + rng.normal(size=2000)
    return Subject(network, "estimated", "by construction", evidence=evidence(network, X, y))


def test_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert all(source.startswith(("data:", "#")) for source in re.findall(r'(?:src|href)="([^"]*)"', text))
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "<!--" not in text


def test_tables_hold_the_network(fitted, page):
    est, data = fitted
    content = payload(page.read_text(encoding="utf-8"))
    weights = content["matrices"][0]
    assert weights["columns"] == NAMES
    columns = content["neurons"]["columns"]
    output = np.array([row[columns.index("output")] for row in content["neurons"]["rows"]])
    again = Network(weights["values"], output).predict(data.X / est.evidence_.scale)
    np.testing.assert_allclose(again, est.predict(pd.DataFrame(data.X, columns=NAMES)), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(weights["values"], axis=1), 1.0)
    assert weights["unit"].startswith("Weights are per standard deviation of an input, of length one together")
    strength = [row[1] for row in content["neurons"]["rows"]]
    assert strength == sorted(strength, reverse=True)
    np.testing.assert_allclose(strength, [part["strength"] for part in est.summary().parts])
    reaches, values = est.summary(0.95).intervals[0], np.array(weights["values"])
    reach = np.array([[part[name][1] for name in NAMES] for part in reaches])
    np.testing.assert_allclose(weights["lower"], values - reach, rtol=1e-8)
    np.testing.assert_allclose(weights["upper"], values + reach, rtol=1e-8)


def mixed_units(n=300):
    """Two targets of two neurons, on inputs whose units differ by a million."""
    rng = np.random.default_rng(6200)
    X = rng.normal(size=(n, 3)) * [1e-3, 1.0, 1e3]
    teacher = Network([[700.0, 0.7, 0.0], [0.0, -0.4, 9e-4]], [[2.0, -1.0], [100.0, 200.0]], bias=[0.1, 0.2])
    y = teacher.predict(X) + rng.normal(size=(n, 2)) * [0.1, 5.0]
    return X, y, teacher


def test_pages_speak_of_inputs_in_all_units(tmp_path):
    """The strongest input of a neuron had no bar and was not in the formula where its unit is small."""
    X, y, _ = mixed_units()
    est = PlantedRegressor(2, activation="relu", fit_bias=True, fit_intercept=False, fit_skip=False, random_state=0)
    est.fit(X, y, names=["metre", "year", "euro"], targets=["pressure", "flow"])
    page = est.report(tmp_path / "page.html").read_text(encoding="utf-8")
    content, parts = payload(page), est.summary().parts
    for place, part in enumerate(parts):
        row = content["neurons"]["rows"][place]
        columns = content["neurons"]["columns"]
        assert row[columns.index("output to flow")] == pytest.approx(part["output flow"][0])
        assert row[columns.index("± of flow")] == pytest.approx(part["output flow"][1])
        values = content["matrices"][0]["values"][place]
        assert values == pytest.approx([part[name][0] for name in ("metre", "year", "euro")])
    for place in (formula_of(page), est._repr_html_()):
        assert re.search(r"relu\( \S+ · euro ", place)
        assert re.search(r"relu\( \S+ · metre ", place)
        assert "flow = " in place
    numbers = {one["what"]: one["value"] for one in content["numbers"]}
    assert numbers["standard deviation of the noise, flow"] == pytest.approx(5, rel=0.2)


def test_residuals_of_several_targets_are_in_units_of_each(tmp_path):
    X, y, teacher = mixed_units()
    shown = evidence(teacher, X, y, fitted=False)
    assert shown.standard
    residual = (y - teacher.predict(X)) / y.std(axis=0)
    assert shown.counts.sum() <= residual.size
    assert shown.counts.sum() > 0.98 * residual.size
    np.testing.assert_allclose(shown.edges[[0, -1]], np.quantile(residual, [0.005, 0.995]))
    one = Network(teacher.weights, teacher.output[0], bias=teacher.bias)
    assert not evidence(one, X, y[:, 0]).standard


def formula_of(text):
    return html.unescape(re.search(r'<pre id="formula".*?>(.*?)</pre>', text, re.DOTALL)[1])


def test_the_formula_has_the_callers_names(fitted, page):
    text = page.read_text(encoding="utf-8")
    formula = re.search(r'<pre id="formula".*?>(.*?)</pre>', text, re.DOTALL)[1]
    assert formula.startswith("price = ")
    assert "height &amp; &lt;width&gt;" in formula
    network = fitted[0].standard_errors_.network
    for weight in network.weights.ravel():
        assert f"{abs(weight):.4g} · " in formula


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_whole_formula_can_be_copied_and_computes_what_the_network_does(activation):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 12))
    network = Network(
        rng.normal(size=(8, 12)), rng.normal(size=8), activation, rng.normal(size=8), 2.0, rng.normal(size=12)
    )
    names = [f"in{i}" for i in range(12)]
    text = report_html(Subject(network, "estimated", "by construction", names=names))
    assert "more neurons" in re.search(r'<pre id="formula".*?</pre>', text, re.DOTALL)[0]
    copied = html.unescape(re.search(r'aria-label="whole formula">(.*?)</samp>', text, re.DOTALL)[1])
    copied = copied.removeprefix("y = ").replace("−", "-").replace("·", "*").replace("\n", " ")
    known = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)} | dict(zip(names, X.T, strict=True))
    np.testing.assert_allclose(eval(copied, {}, known), network.predict(X), rtol=1e-7)
    assert "whole formula" not in report_html(large())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_was_not_done_is_said_with_its_own_reason():
    data = datasets.make_planted(60, 2, 1, activation="tanh", random_state=0)
    asked = {"fit_bias": False, "fit_intercept": False, "random_state": 0}
    exact = PlantedRegressor(1, "tanh", **asked).fit(data.X, data.y)
    noise = 0.3 * np.random.default_rng(0).standard_normal(60)
    few = PlantedRegressor(1, "tanh", **asked).fit(data.X[:6], (data.y + noise)[:6])
    many = PlantedRegressor(1, "tanh", **asked).fit(data.X, data.y + noise)
    reasons = [subject_of(est).untested for est in (exact, few, many)]
    assert reasons == ["every row is explained to rounding", "there are too few rows for it", ""]
    read = SimpleNamespace(network=data.teacher, status="recovered", reason="", queries=7)
    point = Subject(data.teacher, "saddle", "by construction")
    whys = [payload(report_html(subject))["no_intervals"] for subject in (subject_of(many), subject_of(read), point)]
    assert whys == ["", "a model that was asked has no noise", "the network is no minimum of the loss"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_was_measured_is_called_what_it_is():
    X = np.random.default_rng(0).standard_normal((80, 2))
    line = subject_of(PlantedRegressor(random_state=0).fit(X, X @ [1.0, 2.0] + 0.3)).numbers
    assert line["distinct rows"] == 80
    assert not any("neuron" in name for name in line)
    asked = {"link": "logit", "activation": "relu", "fit_bias": True, "random_state": 0}
    truth = X[:, 0] + np.random.default_rng(1).logistic(size=80) > 0
    labels = PlantedClassifier(1, **asked).fit(X, truth)
    numbers = subject_of(labels).numbers
    squares = np.mean((labels.predict_proba(X)[:, 1] - truth) ** 2)
    assert numbers["loss (½ mean squared distance of probabilities from labels)"] == pytest.approx(squares / 2)
    assert numbers["numbers that rows have to determine, beside the lengths of neurons"] == 4


def test_left_out_rows_are_those_of_refits():
    """For a linear function one Newton step is exact: the predictions are those of least squares without the row."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=40)
    network = Network(np.zeros((0, 5)), np.zeros(0), skip=np.linalg.lstsq(X, y, rcond=None)[0])
    summaries = evidence(network, X, y)
    for truth, predicted in zip(summaries.truth, summaries.predicted, strict=True):
        row = int(np.argmin(np.abs(y - truth)))
        others = np.arange(40) != row
        assert predicted == pytest.approx(X[row] @ np.linalg.lstsq(X[others], y[others], rcond=None)[0])
    assert summaries.counts.sum() <= 40


def test_responses_follow_the_activation():
    network = Network([[2.0, 0.0]], [3.0], "tanh", bias=[0.5])
    X = np.random.default_rng(0).normal(size=(3000, 2))
    summaries = evidence(network, X, network.predict(X))
    np.testing.assert_allclose(summaries.response[0], 3 * np.tanh(summaries.positions[0]))
    # Without noise the rows say what the response says, in every bin and at both ends; with a shift, that much more.
    np.testing.assert_allclose(summaries.partial[0], summaries.response[0], atol=1e-12)
    shifted = evidence(network, X, network.predict(X) + 0.25, fitted=False)
    np.testing.assert_allclose(shifted.partial[0] - shifted.response[0], 0.25)
    assert "no fit" in shifted.source
    assert summaries.shares[0].sum() == pytest.approx(1)
    assert summaries.strength[0] == pytest.approx(3 * np.tanh(2 * X[:, 0] + 0.5).std())


def test_rows_that_the_fit_did_not_see(fitted, tmp_path):
    est, _ = fitted
    fresh = datasets.make_planted(300, 3, 2, output="mixed", noise=0.1, random_state=0)
    text = est.report(tmp_path / "fresh.html", fresh.X, fresh.y).read_text(encoding="utf-8")
    summaries = payload(text)["evidence"]
    assert summaries["n_rows"] == 300
    assert "did not see" in summaries["source"]
    with pytest.raises(ValueError, match="2 inputs, but the network takes 3"):
        est.report(tmp_path / "wrong.html", fresh.X[:, :2], fresh.y)


def test_every_assumption_has_words():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for activation in ("relu", "quadratic"):
        rows = assumptions(X, Network(np.eye(3), np.ones(3), activation), mu=0.1, lam=1.0)
        subject = Subject(
            Network(np.eye(3), np.ones(3)), "recovered", "", certificate=_certificate(assumptions=tuple(rows))
        )
        table = payload(report_html(subject))["assumptions"]
        assert len(table) == len(rows)
        assert all(words for _, words, *_ in table)


def _certificate(**changed):
    from dataclasses import replace

    from planted import certify
    from planted.objectives import PopulationSquared

    return replace(certify(PopulationSquared(Network(np.eye(3), np.ones(3))), np.eye(3)), **changed)


def test_spectrum_is_that_of_the_hessian():
    from planted import certify
    from planted.objectives import PopulationSquared

    loss, point = PopulationSquared(Network(np.eye(3), np.ones(3))), np.eye(3) + 0.1
    np.testing.assert_allclose(certify(loss, point).spectrum, np.linalg.eigvalsh(loss.hessian(point)), atol=1e-12)
    params = {"weights": point, "output": np.full(3, 5.0)}
    np.testing.assert_allclose(certify(loss, params).spectrum, np.linalg.eigvalsh(loss.hessian(params)), atol=1e-10)


def test_labels_and_filters(tmp_path):
    data = datasets.make_planted(
        5000, 2, 1, activation="sigmoid", weights=[[3.0, 1.0]], task="classification", random_state=0
    )
    est = PlantedClassifier(1, "sigmoid", random_state=0).fit(data.X, data.y)
    text = est.report(tmp_path / "labels.html").read_text()
    assert "P(y = 1) = 1 · sigmoid( " in text
    assert payload(text)["labels"]
    filters = datasets.make_planted_conv(1000, 3, 4, random_state=0)
    est = PlantedConvRegressor(random_state=0).fit(filters.X, filters.y)
    content = payload(est.report(tmp_path / "filter.html").read_text(encoding="utf-8"))
    assert [matrix["title"] for matrix in content["matrices"]] == ["filter", "output of each patch"]
    again = ConvNetwork(content["matrices"][0]["values"][0], content["matrices"][1]["values"][0])
    np.testing.assert_allclose(again.predict(filters.X), est.predict(filters.X), atol=1e-7)
    assert len(content["search"]["restarts"]) == 4


@pytest.mark.filterwarnings("ignore:ambiguous")
@pytest.mark.parametrize("names", [["no", "yes"], ["setosa", "versicolor", "virginica"], [0.0, 1.0, 2.0]])
def test_log_odds_are_not_called_probabilities(names, tmp_path):
    """The formula says what the network gives; the lines of code give the probabilities; the command runs."""
    from planted.cli import main

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    scores = np.column_stack([np.tanh(X[:, 0]), np.zeros(300), X[:, 1]])[:, : len(names)]
    y = np.array(names)[np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)]
    est = PlantedClassifier(1, activation="tanh", link="logit", random_state=0).fit(X, y)
    model = est.save(tmp_path / "a model", targets=("kind of it",))
    page = est.report(tmp_path / "page.html", targets=["kind of it"], model=str(model)).read_text(encoding="utf-8")
    formula, code, shell = (html.unescape(part) for part in re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL))
    words = [name if isinstance(name, str) else f"class {name:.0f}" for name in names]
    left = ["log-odds of yes"] if len(names) == 2 else [f"score of {name}" for name in words]
    left += ["P(kind of it = yes)" if len(names) == 2 else "probabilities of the classes"]
    lines = [line for line in formula.splitlines() if " = " in line]
    assert all(line.startswith(f"{what} = ") for line, what in zip(lines, left, strict=True))
    known = {"X": X}
    exec(code, known)
    expected = est.predict_proba(X)
    np.testing.assert_allclose(known["p"], expected[:, 1] if len(names) == 2 else expected, atol=1e-12)
    if len(names) > 2:
        assert f"output to {words[2]}" in payload(page)["neurons"]["columns"]
    table = tmp_path / "data.csv"
    pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "kind of it": y}).to_csv(table, index=False)
    command = [str(table) if part == "data.csv" else part for part in shlex.split(shell.splitlines()[1])]
    assert "--task" not in command
    again = tmp_path / "certified.html"
    with pytest.raises(SystemExit) as ended:
        main([*command[1:], "--report", str(again)])
    assert ended.value.code in (0, 1)
    assert f"{left[0]} = " in again.read_text(encoding="utf-8")


def test_a_certificate_reports_itself(tmp_path):
    certificate = _certificate()
    page = certificate.report(tmp_path / "page.html", NAMES, ["price"]).read_text(encoding="utf-8")
    content = payload(page)
    assert "What kind of point of the loss is this?" in page
    assert "price = 1 · relu( " in page
    assert content["matrices"][0]["columns"] == NAMES
    np.testing.assert_allclose(np.sort(content["matrices"][0]["values"], axis=0), np.sort(np.eye(3), axis=0))
    np.testing.assert_allclose(content["certificate"]["spectrum"], certificate.spectrum, rtol=1e-4, atol=1e-6)
    assert len(content["assumptions"]) == len(certificate.assumptions) > 0
    assert "global minimum" in certificate._repr_html_()
    unnamed = _certificate(network=None)
    content = payload(unnamed.report(tmp_path / "unnamed.html").read_text(encoding="utf-8"))
    assert content["matrices"] == []
    assert content["neurons"] is None
    assert content["certificate"]["kind"] == "global minimum"
    assert "<table" not in unnamed._repr_html_()


def test_certificates_know_their_networks():
    from planted import certify
    from planted.objectives import ConvSquared, Squared

    data = datasets.make_planted(60, 3, 2, output="mixed", random_state=0)
    params = {"weights": data.teacher.weights, "output": data.teacher.output}
    network = certify(Squared(data.X, data.y), params).network
    np.testing.assert_allclose(network.predict(data.X), data.y, atol=1e-12)
    filters = datasets.make_planted_conv(60, 3, 2, random_state=0)
    params = {"filter": filters.teacher.filter, "output": filters.teacher.output}
    network = certify(ConvSquared(filters.X, filters.y), params).network
    np.testing.assert_allclose(network.predict(filters.X), filters.y, atol=1e-12)


@pytest.fixture(scope="module")
def searched():
    data = datasets.make_planted(200, 2, 1, noise=0.1, random_state=0)
    return PlantedRegressor(activation="relu", fit_bias="auto", random_state=0).fit(data.X, data.y)


def test_the_search_shows_what_was_tried(searched, tmp_path):
    search = payload(searched.report(tmp_path / "page.html").read_text(encoding="utf-8"))["search"]
    rows, shown = search["choice"]["rows"], searched.choice_.shown()
    assert len(shown) > 2
    assert [row[0] for row in rows] == [f"▸ {shown[0].name}", *(one.name for one in shown[1:])]
    np.testing.assert_allclose([row[2] for row in rows], [one.loss for one in shown], rtol=1e-8)
    for name, losses in (("widths", searched.width_losses_), ("activations", searched.activation_losses_)):
        assert list(search[name].values()) == pytest.approx(list(losses.values()), rel=1e-8)
    html = searched._repr_html_()
    assert all(one.name in html for one in shown)
    assert "candidates" not in fragment(large())


@needs_browser
def test_tables_of_the_search_are_on_the_page(searched, tmp_path):
    page = searched.report(tmp_path / "page.html")
    with browser() as driver:
        driver.get(page.as_uri())
        for name, count in (("candidates", len(searched.choice_.shown())), ("widths", len(searched.width_losses_))):
            assert len(driver.find_elements("css selector", f"#search [data-name={name}] tbody tr")) == count
        assert driver.find_element("css selector", "[data-name=candidates] tbody th").text.startswith("▸ ")
        assert driver.get_log("browser") == []


def test_several_outputs_and_a_linear_part(tmp_path):
    network = Network([[1.0, 2.0]], [[1.0], [-2.0]], "tanh", intercept=[0.0, 1.5], skip=[[1.0, 0.0], [0.0, -3.0]])
    text = report_html(Subject(network, "estimated", "by construction", targets=["a", "b"]))
    assert "b = −2 · tanh( 2 · x1 + 1 · x0 )\n    − 3 · x1\n    + 1.5" in text
    assert [matrix["title"] for matrix in payload(text)["matrices"]] == ["weights", "linear part"]


def linear():
    """A linear function beside rows that it explains: a network without neurons."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    network = Network(np.zeros((0, 2)), np.zeros(0), skip=[2.0, -1.0], intercept=0.5)
    y = network.predict(X) + np.random.default_rng(1).normal(size=60)
    return Subject(network, "estimated", "by construction", evidence=evidence(network, X, y)), X


def test_without_neurons_the_page_speaks_of_a_linear_function():
    subject, X = linear()
    page = report_html(subject)
    assert "explains the data up to noise: one linear function of 2 inputs, no neurons." in page
    content = payload(page)
    assert [matrix["title"] for matrix in content["matrices"]] == ["linear part"]
    assert content["neurons"] is None
    code = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]).split("plain arrays")[1]
    known = {"X": X, "network": subject.network}
    exec(code, known)
    np.testing.assert_allclose(known["y"], subject.network.predict(X))
    assert "relu" not in code
    assert "+2</td>" in fragment(subject)
    constant = Subject(Network(np.zeros((0, 2)), np.zeros(0), intercept=0.5), "estimated", "by construction")
    assert "up to noise: a constant, no neurons." in report_html(constant)
    assert "<table" not in fragment(constant)


@needs_browser
def test_without_neurons_no_part_is_empty(tmp_path):
    with browser() as driver:
        driver.get(write_report(tmp_path / "page.html", linear()[0]).as_uri())
        assert driver.find_element("css selector", "#neurons h2").text == "Weights"
        assert [one.text for one in driver.find_elements("css selector", "#neurons summary")] == ["all 2 numbers"]
        sections = [section.get_attribute("id") for section in driver.find_elements("css selector", "section")]
        assert sections == ["neurons", "fit", "next"]
        assert driver.get_log("browser") == []


def test_any_result_with_a_network_and_a_verdict():
    reading = SimpleNamespace(
        network=Network([[1.0]], [2.0]), status="recovered", reason="read", queries=12, fidelity=1.0
    )
    text = report_html(subject_of(reading))
    assert {"what": "queries", "value": 12} in payload(text)["numbers"]
    hostile = Subject(Network([[1.0]], [2.0]), "recovered", "</script><b>", names=["<!--data-->"])
    assert "</script><b>" not in report_html(hostile)
    assert payload(report_html(hostile))["matrices"][0]["columns"] == ["<!--data-->"]


def test_notebooks_show_the_verdict(fitted):
    est, _ = fitted
    html = est._repr_html_()
    assert "estimated" in html
    assert "age" in html
    assert "<script" not in html
    assert est._repr_mimebundle_()["text/html"] == html
    assert "PlantedRegressor" in PlantedRegressor(activation="relu", fit_bias=False, fit_intercept=False)._repr_html_()
    assert "92 more neurons and 92 more inputs" in fragment(large())


def test_a_large_report_is_small(tmp_path):
    assert write_report(tmp_path / "large.html", large()).stat().st_size < 3_000_000


@needs_browser
def test_no_name_above_the_weights_is_cut(tmp_path):
    names = ["proanthocyanins", "od280/od315_of_diluted_wines", *(f"input {i} of many words" for i in range(11))]
    network = Network(np.eye(2, 13), [1.0, 2.0])
    page = write_report(tmp_path / "page.html", Subject(network, "estimated", "by construction", names=names))
    inside = """const svg = document.querySelector("[data-name=weights] svg"), box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].every((text) => { const own = text.getBoundingClientRect();
        return own.top >= box.top && own.right <= box.right && own.left >= box.left; })"""
    with browser() as driver:
        driver.get(page.as_uri())
        assert driver.execute_script(inside)


@needs_browser
def test_page_in_a_browser(page):
    with browser() as driver:
        driver.get(page.as_uri())
        assert driver.get_log("browser") == []
        assert driver.find_element("css selector", "h1 .badge").text == "estimated"
        outputs = "(row) => Number(row.cells[2].innerText.replace('−', '-'))"
        rows = f"return [...document.querySelectorAll('[data-name=neurons] tbody tr')].map({outputs})"
        before = driver.execute_script(rows)
        head = driver.find_elements("css selector", "[data-name=neurons] thead button")[2]
        head.click()
        assert driver.execute_script(rows) == sorted(before)
        assert (
            driver.find_elements("css selector", "[data-name=neurons] thead th")[2].get_attribute("aria-sort")
            == "ascending"
        )
        head.click()
        assert driver.execute_script(rows) == sorted(before, reverse=True)
        csv = driver.execute_script("return document.querySelector('[data-name=neurons]').csv()")
        assert csv.splitlines()[0].startswith("neuron,strength,output")
        assert len(csv.splitlines()) == 3
        drawings = driver.execute_script("return [...document.querySelectorAll('figure svg')].map(svgText)")
        assert len(drawings) > 5
        for drawing in drawings:
            assert ElementTree.fromstring(drawing).tag.endswith("svg")
            assert "var(" not in drawing
        links = [link.get_attribute("href").split("#")[1] for link in driver.find_elements("css selector", "nav a")]
        assert links == [section.get_attribute("id") for section in driver.find_elements("css selector", "section")]
        named = "return [...document.querySelectorAll('svg')].every((s) => s.getAttribute('aria-label'))"
        assert driver.execute_script(named)
        driver.find_element("id", "theme").click()
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not driver.find_element("id", "theme").is_displayed()
        assert driver.get_log("browser") == []


@needs_browser
def test_downloads_names_and_keys(page, tmp_path):
    """Files arrive when buttons are pressed by keyboard; all that can be operated has a name for screen readers."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    with browser() as driver:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
        driver.get(page.as_uri())
        driver.find_element("css selector", "#neurons summary").send_keys(Keys.ENTER)
        for label in ("download table weights as CSV", "download figure residuals as SVG"):
            where = ("css selector", f'[aria-label="{label}"]')
            WebDriverWait(driver, 600).until(lambda _, where=where: driver.find_elements(*where))
            driver.find_element(*where).send_keys(Keys.ENTER)
        WebDriverWait(driver, 600).until(
            lambda _: {"weights.csv", "residuals.svg"} <= {f.name for f in tmp_path.iterdir()}
        )
        weights = pd.read_csv(tmp_path / "weights.csv")
        assert list(weights.columns) == ["neuron", "input", "value", "lower", "upper"]
        assert set(weights["input"]) == set(NAMES)
        assert ElementTree.parse(tmp_path / "residuals.svg").getroot().tag.endswith("svg")
        names = operated(driver)
        assert {"button", "link", "image"} <= {role for role, _ in names}
        assert all(name for _, name in names)
        assert driver.get_log("browser") == []


@needs_browser
def test_a_page_without_a_network(tmp_path):
    page = _certificate(network=None).report(tmp_path / "page.html")
    with browser() as driver:
        driver.get(page.as_uri())
        sections = [section.get_attribute("id") for section in driver.find_elements("css selector", "section")]
        assert sections == ["certificate", "assumptions"]
        assert not driver.find_elements("id", "formula")
        assert driver.get_log("browser") == []


@needs_browser
def test_page_on_a_dark_phone(page):
    with browser(390, 800, dark=True) as driver:
        driver.get(page.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
        assert driver.get_log("browser") == []


@needs_browser
def test_heat_map_zooms_and_searches(tmp_path):
    from selenium.webdriver.common.keys import Keys

    subject = large()
    page = write_report(tmp_path / "large.html", subject)
    weights = payload(page.read_text(encoding="utf-8"))["matrices"][0]["values"]
    with browser() as driver:
        driver.get(page.as_uri())
        canvas = driver.find_element("css selector", ".heat canvas")
        canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        read = driver.find_element("css selector", ".read").text
        assert read.startswith("neuron 2, x1: ")
        assert float(read.split(": ")[1].replace("−", "-")) == pytest.approx(weights[1][1], rel=1e-3)
        picture = "return document.querySelector('.heat canvas').toDataURL().length"
        before = driver.execute_script(picture)
        canvas.send_keys("++")
        assert driver.execute_script(picture) != before
        search = driver.find_element("css selector", "input[type=search]")
        search.send_keys("x17")
        assert driver.find_element("css selector", ".tools [aria-live]").text == "1 found"
        drawing = driver.execute_script("return document.querySelector('.heat').text()")
        assert len(ElementTree.fromstring(drawing)) == 10_000
        assert driver.get_log("browser") == []
