"""method="score", the law of the inputs that it uses, and what the front door decides about it."""

from dataclasses import replace

import numpy as np
import pytest

from planted import PlantedRegressor, datasets, match
from planted.inputs import (
    Gaussian,
    GaussianMixture,
    HyperbolicSecant,
    Laplace,
    LocalLikelihood,
    Logistic,
    StudentT,
    input_law,
)
from planted.methods import METHODS, InputsWarning, Problem

# Means shorter than the least standard deviation: E[φ⁗(a·x)] < 0 for ReLU and every unit a, as Assumption 2(a) asks.
MIXTURE = GaussianMixture([0.5, 0.5], [np.full(3, 0.3), np.full(3, -0.3)], np.stack([0.3 * np.eye(3), np.eye(3)]))


def score(X, y, k, inputs):
    return METHODS["score"](replace(Problem.of(X, y, k), inputs=input_law(inputs, X)))


def overlap(found, teacher):
    """Least |cosine| after matching, by rows and by columns."""
    unit = teacher.weights / np.linalg.norm(teacher.weights, axis=1, keepdims=True)
    cosine = np.abs(found.details["directions"] @ unit.T)
    return min(cosine.max(axis=0).min(), cosine.max(axis=1).min())


@pytest.mark.parametrize(
    ("weights", "rows"), [("orthogonal", 8_000), pytest.param("correlated", 100_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("density", [Logistic(3), pytest.param(MIXTURE, marks=pytest.mark.slow)], ids=repr)
def test_directions_before_refinement(density, weights, rows):
    """L alone is near the teacher, whichever kind of weights it has; refinement makes it exact."""
    data = datasets.make_planted(
        rows, 3, 3, weights=weights, output="positive", inputs=density, condition_number=2.0, random_state=0
    )
    found = score(data.X, data.y, 3, density)
    assert overlap(found, data.teacher) > 0.98
    assert match(found.network, data.teacher).weight_error < 1e-8
    assert (found.method, found.status) == ("score", "recovered")


def test_local_scores_are_estimated_on_whitened_rows():
    """The same answer for rows stretched by 100: the kernel sees whitened ones."""
    density = Gaussian([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]])
    data = datasets.make_planted(4000, 2, 2, inputs=density, random_state=0)
    stretch = np.array([1.0, 100.0])
    local = LocalLikelihood(bandwidth=1.0)
    near = score(data.X, data.y, 2, local)
    far = score(data.X * stretch, data.y, 2, local)
    rows = far.details["directions"] * stretch
    np.testing.assert_allclose(near.details["residuals"]["full-rank"], far.details["residuals"]["full-rank"], rtol=1e-3)
    assert np.all(np.isfinite(rows))
    assert overlap(near, data.teacher) > 0.95
    assert not hasattr(local, "n_features_in_")


def test_too_many_neurons():
    with pytest.raises(ValueError, match="n_hidden ≤ inputs"):
        score(np.eye(9)[:, :2], np.arange(9.0), 3, "gaussian")


@pytest.mark.parametrize("family", [Logistic, HyperbolicSecant, Laplace, StudentT])
def test_fitted_products_have_the_variance_of_their_samples(family):
    """`line_variance` against samples, within 5 standard errors; `fit` finds location and scale again."""
    z = family(1).sample(100_000, random_state=0)[:, 0]
    squares = z**2
    assert abs(squares.mean() - family(1).line_variance) < 5 * squares.std() / len(z) ** 0.5
    fitted = family.fit(family(2, scale=[0.5, 3.0], loc=[1.0, -2.0]).sample(100_000, random_state=1))
    np.testing.assert_allclose(fitted.scale, [0.5, 3.0], rtol=0.05)
    np.testing.assert_allclose(fitted.loc, [1.0, -2.0], atol=0.05)


def test_the_fitted_mixture_has_the_scores_of_the_true_one():
    true = GaussianMixture([0.3, 0.7], [[2.0, 0.0], [-2.0, 1.0]])
    rows = true.sample(10_000, random_state=0)
    fitted = GaussianMixture.fit(rows)
    assert fitted.n_components == 2
    assert np.mean((fitted.score(rows, 1) - true.score(rows, 1)) ** 2) < 0.01 * np.mean(true.score(rows, 1) ** 2)
    with pytest.raises(ValueError, match="too few"):
        GaussianMixture.fit(rows[:3])


def test_what_auto_decides():
    gaussian = input_law("auto", Gaussian([1.0, 2.0], np.diag([4.0, 1.0])).sample(3000, random_state=0))
    assert gaussian.gaussian
    assert isinstance(gaussian.law, Gaussian)
    assert "look Gaussian" in gaussian.reason
    other = input_law("auto", Logistic(2).sample(5000, random_state=0))
    assert not other.gaussian
    assert isinstance(other.law, GaussianMixture)
    assert "not Gaussian" in str(other)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ("logistik", ValueError, "did you mean 'logistic'"),
        (3, TypeError, "a density of planted.inputs, a LocalLikelihood"),
        (Logistic(3), ValueError, "X has 2 columns, but the given law of the inputs has 3"),
        (LocalLikelihood(1.0).fit(np.eye(3)), ValueError, "has 3"),
    ],
)
@pytest.mark.parametrize("method", ["score", "landscape", "squared"])
def test_wrong_inputs_get_one_sentence(inputs, error, message, method):
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(error, match=message):
        PlantedRegressor(
            1, method=method, inputs=inputs, activation="relu", fit_bias=False, fit_intercept=False, random_state=0
        ).fit(X, X[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [Logistic(3), "logistic", "auto", LocalLikelihood("rule")], ids=repr)
def test_the_front_door_takes_every_kind_of_inputs(inputs):
    data = datasets.make_planted(5000, 3, 2, inputs=Logistic(3), random_state=0)
    est = PlantedRegressor(
        2, method="score", inputs=inputs, activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(data.X, data.y)
    assert est.method_ == "score"
    assert str(est.inputs_) == est.result_.details["inputs"]
    assert match(est.network_, data.teacher).weight_error < 1e-8


@pytest.mark.slow
def test_gaussian_methods_warn_about_other_inputs():
    data = datasets.make_planted(3000, 3, 2, inputs=Logistic(3), random_state=0)
    with pytest.warns(InputsWarning, match=r"assumes Gaussian inputs, .* not Gaussian: .* method='score' does not"):
        est = PlantedRegressor(
            2, method="landscape", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
        ).fit(data.X, data.y)
    assert est.inputs_.gaussian is False


def test_methods_without_assumptions_do_not_test():
    data = datasets.make_planted(500, 3, 2, inputs=Logistic(3), random_state=0)
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        data.X, data.y
    )
    assert est.inputs_.law is None
    assert "not tested" in str(est.inputs_)
    est = PlantedRegressor(
        2, inputs="logistic", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(data.X, data.y)
    assert "fitted, but method='auto' assumes nothing of the inputs" in str(est.inputs_)
