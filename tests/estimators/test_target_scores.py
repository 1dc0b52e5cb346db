"""Scores of each of several targets, beside those of all."""

import contextlib
import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from planted import Network, PlantedRegressor
from planted.cli import main
from planted.estimators import target_scores
from planted.pages import subject_of

RNG = np.random.default_rng(3)
X = RNG.standard_normal((300, 3))
TEACHER = Network([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]], [[1.0, 2.0], [0.4, 0.0], [1000.0, -500.0]], "tanh")
Y = TEACHER.predict(X) + RNG.standard_normal((300, 3)) * [0.1, 0.4, 30.0]
NAMES = ("price", "size", "weight")


@pytest.fixture(scope="module")
def fitted():
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0)
    return est.fit(X, Y, targets=NAMES)


def test_every_target_has_scores_of_its_own(fitted):
    made, facts = target_scores(fitted), fitted.verdict_.facts
    assert tuple(made) == NAMES
    left = cross_val_predict(LinearRegression(), X, Y, cv=LeaveOneOut())
    for j, name in enumerate(NAMES):
        assert made[name]["the rows of the fit"] == pytest.approx(r2_score(Y[:, j], fitted.predict(X)[:, j]), abs=1e-9)
        assert made[name]["one linear function"] == pytest.approx(r2_score(Y[:, j], left[:, j]), abs=1e-6)
    assert np.mean([one["this network"] for one in made.values()]) == pytest.approx(1 - facts.network_loss)
    assert made["price"]["this network"] > 0.98 > 0.6 > made["size"]["this network"]


def test_summary_and_page_name_them(fitted):
    head = fitted.summary().head
    assert [line.split(":")[0] for line in head[-3:]] == ["  of price", "  of size", "  of weight"]
    assert "the mean" in head[-1]
    numbers = subject_of(fitted).numbers
    assert numbers["R² of rows left out one by one, size, this network"] == pytest.approx(
        target_scores(fitted)["size"]["this network"]
    )


def test_one_target_has_one_line():
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(X, Y[:, 0])
    assert target_scores(est) == {}
    assert sum("R²" in line for line in est.summary().head) == 1


def test_many_targets_are_not_all_listed(fitted):
    many = np.tile(Y, 5)
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(X, many)
    assert any(line.startswith("  of 3 more targets: this network ") for line in est.summary().head)
    assert list(target_scores(est))[:2] == ["target 0", "target 1"]


def ran(capsys, *arguments):
    with contextlib.suppress(SystemExit):
        main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def test_the_command_line_has_them(tmp_path, capsys):
    table, model, named = tmp_path / "t.csv", tmp_path / "model", ("--target", ",".join(NAMES))
    np.savetxt(table, np.column_stack([X, Y]), delimiter=",", header=f"a,b,c,{','.join(NAMES)}", comments="")
    shape = ("--hidden", "2", "--activation", "tanh", "--no-bias", "--no-intercept")
    made = json.loads(ran(capsys, "fit", table, *named, *shape, "--json", "--out", model))
    assert list(made["target_scores"]) == list(NAMES)
    shown = json.loads(ran(capsys, "predict", model, table, *named, "--json"))
    assert list(shown["target_r2"]) == list(NAMES)
    assert shown["r2"] == pytest.approx(np.mean(list(shown["target_r2"].values())))
    assert shown["target_r2"]["size"] < 0.7 < 0.98 < shown["target_r2"]["price"]
    assert "  of size: R² 0." in ran(capsys, "predict", model, table, *named, "--out", tmp_path / "p.csv")
