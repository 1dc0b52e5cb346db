"""The race, the width, the verdict without a teacher, standard errors and row weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planted import Network, PlantedRegressor, datasets, match
from planted.certificates import uncertainty
from planted.methods import (
    METHODS,
    Facts,
    Free,
    Observations,
    Problem,
    Start,
    choose_width,
    judge,
    recover,
    refine,
    residual_p_value,
)
from planted.objectives import Squared


@pytest.fixture(scope="module")
def data():
    return datasets.make_planted(1000, 6, 4, weights="gaussian", output="mixed", random_state=0)


def test_the_race_stops_at_the_first_that_verifies_itself(data):
    found = METHODS["auto"](Problem.of(data.X, data.y, 4))
    assert found.status == "recovered"
    assert list(found.details["race"]) == ["expand"]


def test_noise_is_settled_by_runs_that_agree(data):
    y = data.y + 0.1 * np.random.default_rng(1).standard_normal(len(data.y))
    problem = Problem.of(data.X, y, 4)
    found = METHODS["auto"](problem)
    assert found.status == "estimated"
    assert found.details["agreeing_runs"] >= 2
    best = refine(problem, data.teacher).loss
    assert found.loss == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("k", [2, 5])
def test_width_is_found(k):
    made = datasets.make_planted(1500, 6, k, weights="gaussian", output="mixed", noise=0.05, random_state=k)
    width, losses = choose_width(Problem.of(made.X, made.y, 1), 24)
    assert width == k
    assert losses[k - 1] > 2 * losses[k]


def verdict(X, y, network):
    """The verdict on a network as it is, on rows X, y."""
    return recover(Problem.of(X, y, network.n_hidden), Start(network, "given"), 0.0).verdict


def test_verdicts(data):
    relu = data.teacher
    assert verdict(data.X, data.y, relu).status == "recovered"
    few = verdict(data.X[:20], data.y[:20], relu)
    assert few.status == "ambiguous"
    fewer = verdict(data.X, data.y, Network(relu.weights[:3], relu.output[:3]))
    assert fewer.status == "misfit"
    assert fewer.p_value < 1e-3


def test_rows_that_leave_weights_open_are_ambiguous():
    """The same fit is recovered from rows in general position; every case has zero loss."""
    rng = np.random.default_rng(0)
    teacher = Network([[1.0, 0.5, -0.5]], [1.0])
    X = rng.standard_normal((200, 3))
    cases = {
        "a repeated column": np.column_stack([X[:, :2], X[:, 1]]),
        "few distinct rows": X[rng.integers(0, 4, 200)],
        "a plane": X @ np.diag([1.0, 1.0, 0.0]),
        "rows that do not count": np.where(
            (X @ teacher.weights[0] > 0)[:, None] & (np.arange(200) > 4)[:, None], -X, X
        ),
    }
    assert verdict(X, teacher.predict(X), teacher).status == "recovered"
    for name, rows in cases.items():
        assert verdict(rows, teacher.predict(rows), teacher).status == "ambiguous", name


def test_an_outlying_row_does_not_hide_noise():
    """One row times 10⁸ makes the relative loss tiny; the largest residual still tells that rows are not explained."""
    rng = np.random.default_rng(0)
    teacher = Network(np.eye(2), np.ones(2))
    X = rng.standard_normal((300, 2))
    X[0] *= 1e8
    y = teacher.predict(X) + 0.1 * rng.standard_normal(300)
    assert verdict(X, y, teacher).status != "recovered"


def test_worse_than_the_mean_is_a_misfit():
    assert (
        judge(Facts(1.5, np.inf, 1000, 10, p_value=0.5, structure="that is worse than their mean")).status == "misfit"
    )


def test_a_constant_left_over_shows_in_the_residuals():
    data = datasets.make_planted(1000, 3, 2, noise=0.1, random_state=0)
    assert residual_p_value(Observations(data.X, data.y + 0.1), data.teacher) < 1e-6
    assert residual_p_value(Observations(data.X, data.y), data.teacher) > 1e-3


def test_residual_test_has_its_level_under_noise():
    """40 data sets at level 0.1: rejections are binomial(40, 0.1), at most 11 with probability 0.999."""
    low = 0
    for seed in range(40):
        made = datasets.make_planted(400, 3, 2, noise=0.2, random_state=seed)
        low += residual_p_value(Observations(made.X, made.y), made.teacher, seed=seed) < 0.1
    assert low <= 11


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_standard_errors_against_repeated_data(name):
    """The spread of 60 estimates has a relative standard error of 1/√120 = 9 %; the tolerance is five of these."""
    teacher = datasets.make_planted(10, 3, 2, activation=name, output="mixed", random_state=3).teacher
    estimates, errors, covered = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 3))
        y = teacher.predict(X) + 0.1 * rng.standard_normal(300)
        net = refine(Problem.of(X, y, teacher.n_hidden, teacher.activation), teacher).network
        found = uncertainty(Squared(X, y, net.activation), {"weights": net.weights, "output": net.output})
        wanted = teacher.canonical()
        order = match(found.network, wanted).permutation
        estimates.append(found.network.weights[order])
        errors.append(found.weights[order])
        low, high = found.intervals(0.95)["weights"][:, order]
        covered.append((low <= wanted.weights) & (wanted.weights <= high))
    ratio = np.std(estimates, axis=0) / np.mean(errors, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.45)
    # 360 intervals: the standard error of the coverage is 1.2 % if they were independent, twice that at most here.
    assert 0.88 < np.mean(covered) <= 1.0
    assert found.noise == pytest.approx(0.1, rel=0.3)


def test_robust_errors_see_unequal_noise():
    teacher = Network([[1.0]], [1.0], "tanh")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 1))
    y = teacher.predict(X) + (np.abs(X[:, 0]) > 1.5) * rng.standard_normal(4000)
    problem = Problem.of(X, y, 1, "tanh")
    params = problem.params(refine(problem, teacher).network)
    plain, robust = (uncertainty(problem.objective(), params, robust=flag).output[0] for flag in (False, True))
    assert robust > 1.2 * plain


@pytest.mark.slow
def test_integer_weights_count_like_repeated_rows(data):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 300)
    X, y = data.X[:300], data.y[:300] + 0.05 * rng.standard_normal(300)
    first = PlantedRegressor(4, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        X, y, sample_weight=weight
    )
    second = PlantedRegressor(4, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="egative"):
        PlantedRegressor(4, activation="relu", fit_bias=False, fit_intercept=False).fit(
            X, y, sample_weight=-np.ones(300)
        )


def test_estimator_says_what_it_knows(data):
    est = PlantedRegressor(activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y)
    assert est.n_hidden_ == 4
    assert est.verdict_.status == est.result_.status == "recovered"
    assert match(est.network_, data.teacher).weight_error < 1e-6
    low, high = est.confidence_intervals(0.9)["weights"]
    assert np.all(high - low < 1e-6)
    with pytest.raises(ValueError, match="level"):
        est.confidence_intervals(1.0)


@pytest.mark.parametrize("seed", [2, 3])
def test_runs_that_agree_beside_a_linear_part_do_not_end_the_race_for_a_network_without_one(seed):
    """Two runs explained 76 to 83 % of a wave beside a linear part; without it their neurons explained 0 and 5 %."""
    rng = np.random.default_rng(9500 + seed)
    X = rng.standard_normal((400, 2))
    y = np.sin(2.5 * X[:, 0]) + 0.07 * rng.standard_normal(400)
    problem = Problem.of(X, y, 2, "relu", free=Free(bias=True, intercept=True), random_state=seed)
    start = METHODS["auto"].begin(problem)
    assert 2 * start.loss < 0.6 * problem.survey.variance
    assert set(start.details["race"]) >= {"expand", "squared"}
    beside = METHODS["auto"].begin(replace(problem, free=Free(bias=True, intercept=True, skip=True)))
    assert beside.details["agreeing_runs"] > 1
