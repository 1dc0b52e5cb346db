"""What a method's directions contributed, told apart from the refinement."""

from dataclasses import replace

import numpy as np

from planted import PlantedRegressor, datasets, match
from planted.inputs import Logistic, input_law
from planted.methods import METHODS, Problem, contribution, random_directions, turned
from planted.objectives import ScoreLandscape


def test_angles_do_not_see_order_sign_or_length():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 6))
    shuffled = -3.0 * rows[[2, 0, 3, 1]]
    np.testing.assert_allclose(turned(shuffled, rows), 0.0, atol=1e-5)
    away = rows.copy()
    tangent = rng.standard_normal(6)
    tangent -= rows[1] * (tangent @ rows[1]) / (rows[1] @ rows[1])
    away[1] += np.tan(np.radians(10)) * np.linalg.norm(rows[1]) * tangent / np.linalg.norm(tangent)
    np.testing.assert_allclose(np.sort(turned(away, rows)), [0.0, 0.0, 0.0, 10.0], atol=1e-5)


def test_the_result_tells_directions_that_are_right_from_random_ones():
    data = datasets.make_planted(10_000, 3, 3, weights="correlated", output="positive", random_state=3)
    est = PlantedRegressor(
        3, method="landscape", inputs="gaussian", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    )
    est.fit(data.X, data.y)
    details = est.result_.details
    assert match(est.network_, data.teacher).weight_error < 1e-8
    # The refined rows are the teacher's, so the turn is the error of the directions before refinement.
    np.testing.assert_allclose(
        np.sort(details["turned"]), np.sort(turned(details["directions"], data.teacher.weights)), atol=1e-3
    )
    assert details["turned"].max() < 10 < details["random_directions"]["turned"].max()
    assert "refinement turned its directions by up to" in str(est.result_)


def test_random_directions_that_do_as_well_are_reported_so():
    """One neuron: refinement needs no help."""
    data = datasets.make_planted(2000, 3, 1, random_state=0)
    problem = Problem.of(data.X, data.y, 1)
    numbers = contribution(problem, METHODS["hermite"].begin(problem))
    assert numbers["random_directions"]["as_low"]
    result = METHODS["hermite"](problem)
    assert "random ones with the same refinement explain the rows as well" in str(result)


def test_auto_does_not_pay_for_it():
    data = datasets.make_planted(2000, 3, 2, random_state=0)
    assert "random_directions" not in METHODS["auto"](Problem.of(data.X, data.y, 2)).details


def test_local_scores_of_a_low_degree_are_named_in_the_reason():
    data = datasets.make_planted(1000, 2, 2, random_state=0)
    problem = Problem.of(data.X, data.y, 2)
    reasons = {
        law: METHODS["score"](replace(problem, inputs=input_law(law, data.X))).reason for law in ("local", "gaussian")
    }
    assert "local likelihood of degree 2, below the 4 of Assumption 1(a)" in reasons["local"]
    assert "degree" not in reasons["gaussian"]


def test_score_says_when_a_form_of_its_loss_was_left_out(monkeypatch):
    def landscape(*args, form, **options):
        if form == "full-rank":
            raise ValueError("T is not definite")
        return ScoreLandscape(*args, form=form, **options)

    monkeypatch.setattr("planted.methods.regression.score.ScoreLandscape", landscape)
    data = datasets.make_planted(2000, 2, 2, inputs=Logistic(2), random_state=0)
    problem = replace(Problem.of(data.X, data.y, 2), inputs=input_law(Logistic(2), data.X))
    assert "the full-rank form of L was not minimised (T is not definite)" in METHODS["score"](problem).reason


def test_estimated_scores_beat_random_directions():
    """Logistic inputs, d = k = 3 and k = 2 of 4 inputs: the directions before refinement, beside random ones."""
    for d, k, weights in ((3, 3, "orthogonal"), (4, 2, "correlated")):
        data = datasets.make_planted(3000, d, k, weights=weights, inputs=Logistic(d), random_state=77)
        problem = replace(Problem.of(data.X, data.y, k), inputs=input_law("local", data.X))
        start = METHODS["score"].start(problem)
        angles = [
            float(turned(rows, data.teacher.weights).max())
            for rows in (start.details["directions"], random_directions(problem))
        ]
        assert angles[0] < 15 < 30 < angles[1]
        assert 0 < start.details["score_error"] < 0.5
