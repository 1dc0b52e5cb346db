"""Status, reason and certificate of one fit say the same of it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from planted import Network, PlantedClassifier, PlantedRegressor, datasets
from planted.certificates import certify
from planted.cli import main
from planted.methods._agreement import agreeing
from planted.methods._facts import Facts
from planted.methods._verdict import judge
from planted.objectives import Squared


@pytest.fixture(scope="module")
def step():
    """Rows of a step: one neuron explains them the better the longer its weights are."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    y = (rng.random(400) < np.where(X[:, 0] > 0, 0.8, 0.2)).astype(int)
    return X, y, PlantedClassifier(1, "tanh", link="logit", fit_bias=False, random_state=0).fit(X, y)


def test_what_has_no_finite_minimiser_is_certified_as_no_minimum(step):
    est = step[-1]
    assert est.result_.status == "ambiguous"
    assert "no finite minimiser" in est.result_.reason
    assert est.certificate_.kind == "undecided"
    why = est.certificate_.reason.removeprefix("no finite minimiser: ").partition(";")[0]
    assert est.result_.reason.count(why) == 1
    assert not any(word in name for name in est.certificate_.flat for word in ("do not vary", "normalises"))


def test_the_command_certifies_as_the_fit_does(step, tmp_path, capsys):
    X, y, est = step
    rows = datasets.write_table(tmp_path / "step.csv", X, y)
    with pytest.raises(SystemExit) as stop:
        main(["certify", str(est.save(tmp_path / "model")), str(rows), "--target", "y"])
    printed = capsys.readouterr().out
    assert stop.value.code == 1
    assert printed.startswith(f"undecided: {est.certificate_.reason}")
    assert "inf" not in printed.replace("no finite", "")
    assert "these labels determine" in printed


def test_a_penalty_is_named_and_labels_of_rows_that_repeat_are_observations(tmp_path, capsys):
    """Iris has one row twice, and two labels of it."""
    X, y = load_iris(return_X_y=True)
    est = PlantedClassifier(1, "tanh", link="logit", alpha=0.01, random_state=0).fit(X, y)
    assert est.certificate_.kind == "local minimum"
    assert est.certificate_.reason.endswith("the loss has an ℓ2 penalty of 0.01")
    page = est.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"what":"rows in which a neuron is active","value":150' in page
    assert "rows that count" not in page
    # What a penalty leaves of the error says nothing of labels alone, and more rows do not take its bias away.
    rows = datasets.write_table(tmp_path / "iris.csv", X, y)
    with pytest.raises(SystemExit):
        main(["certify", str(est.save(tmp_path / "model")), str(rows), "--target", "y"])
    printed = capsys.readouterr().out
    assert "labels and penalty leave, beside the bias of the penalty, an expected relative weight error of" in printed
    assert "labels alone" not in printed
    assert "rows bring it to" not in printed


@pytest.mark.parametrize("seed", range(5))
def test_a_search_that_ended_before_a_minimum_says_so(seed):
    data = datasets.make_planted(300, 4, 2, noise=0.2, random_state=seed)
    est = PlantedRegressor(2, "relu", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y)
    assert est.result_.status == "estimated"
    short = "the search ended before a minimum" in est.result_.reason
    assert short == (est.certificate_.kind == "not critical")
    assert est.certificate_.is_minimum or short
    assert est.certificate_.decrease <= 1e-6 * est.certificate_.value
    assert np.isfinite(est.standard_errors_.weights).all()


def test_numbers_that_no_finite_network_explains_best_are_no_minimum(tmp_path, capsys):
    """A linear truth drives a lone tanh neuron to its linear limit."""
    X = np.random.default_rng(0).standard_normal((200, 2))
    rows = datasets.write_table(tmp_path / "rows.csv", X, X @ [1.0, 2.0] + 0.1 + 0.01 * np.sin(9 * X[:, 0]))
    Network([[1e-5, 2e-5]], [1e5], "tanh", intercept=0.1).save(tmp_path / "model")
    with pytest.raises(SystemExit) as stop:
        main(["certify", str(tmp_path / "model"), str(rows)])
    printed = capsys.readouterr().out
    assert (stop.value.code, printed.split(":")[0] in ("undecided", "not critical")) == (1, True), printed
    assert "no finite minimiser: neuron 1 is linear in these rows" in printed


@pytest.mark.parametrize(("decrease", "said"), [(1e-13, False), (3e-12, False), (1e-7, True)])
def test_nothing_is_said_of_a_loss_that_falls_by_its_rounding(decrease, said):
    loss = Squared([[1.0], [2.0]], [1.0, 3.0], "softplus")
    point = certify(loss, {"weights": np.ones((1, 1)), "output": np.ones(1)})
    near = replace(point, decrease=decrease * point.value)
    verdict = agreeing(judge(Facts(0.1, np.inf, 100, 2, p_value=0.5)), near, 100)
    assert ("the loss still falls" in verdict.reason) == said
