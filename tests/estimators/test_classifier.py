"""Labels: the likelihood against autodiff and sampling, uncertainty, local geometry, the classifier's front door."""

import json
from dataclasses import replace
from itertools import pairwise

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

from planted import Network, PlantedClassifier, activations, datasets, match, objectives
from planted.certificates import (
    cramer_rao,
    label_basin,
    linear_rate,
    local_geometry,
    measured_hessian,
    rho,
    slope_moments,
    uncertainty,
)
from planted.cli._main import app
from planted.methods import LABELS, LabelProblem
from planted.names import ACTIVATIONS
from planted.rows import ArrayRows

SIGMOID = activations.get("sigmoid")
rng = np.random.default_rng(0)
W = rng.standard_normal((2, 3))
X = rng.standard_normal((50, 3))
Y = (rng.random(50) < 0.5).astype(float)


@pytest.mark.slow
@parametrize_with_checks(
    [
        PlantedClassifier(n_hidden=1, activation="sigmoid", restarts=0, random_state=0, link="mean"),
        PlantedClassifier(n_hidden=2, activation="sigmoid", restarts=0, random_state=0, link="logit", alpha=1e-2),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_class_weight_classifiers": "means of neurons take no class weights, and say so"}
        if estimator.link == "mean"
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The losses.


def test_likelihood_against_the_formula():
    p = expit(X @ W.T).mean(axis=1)
    expected = -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p))
    assert objectives.Likelihood(X, Y).value(W) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["sigmoid", "tanh_probability", "erf_probability"])
@pytest.mark.parametrize("bias", [False, True])
def test_likelihood_derivatives_against_finite_differences(name, bias):
    loss = objectives.Likelihood(X, Y, name, bias=bias, sample_weight=np.linspace(1, 2, 50))
    params = {"weights": W, "bias": np.array([0.2, -0.4])} if bias else W
    direction = jax.tree.map(lambda leaf: np.cos(np.arange(leaf.size)).reshape(leaf.shape), params)
    shift = lambda t: jax.tree.map(lambda p, v: p + t * v, params, direction)  # noqa: E731
    h = 1e-5
    slope = (loss.value(shift(h)) - loss.value(shift(-h))) / (2 * h)
    gradient = loss.gradient(params)
    inner = sum(np.sum(a * b) for a, b in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True))
    assert inner == pytest.approx(slope, rel=1e-7)
    ends = [jax.tree.leaves(loss.gradient(shift(t))) for t in (h, -h)]
    for found, up, down in zip(jax.tree.leaves(loss.hvp(params, direction)), *ends, strict=True):
        np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-5, atol=1e-8)


def test_likelihood_is_additive_over_blocks():
    from planted.numerics.precision import float64, to_jax

    rows = float64(lambda: ArrayRows(to_jax(X), to_jax(Y), block_size=7))()
    blocks = objectives.Likelihood.composed(rows, objectives.MeanOfProbabilities(SIGMOID), objectives.BernoulliMean())
    assert blocks.value(W) == pytest.approx(objectives.Likelihood(X, Y).value(W), rel=1e-13)


def test_likelihood_stays_finite_where_probabilities_vanish():
    loss = objectives.Likelihood([[1.0]], [1.0])
    for scale in (-50.0, -400.0, -1e6):
        weights = np.array([[scale]])
        assert np.isfinite(loss.value(weights))
        assert np.all(np.isfinite(loss.hessian(weights)))
    assert loss.value(np.array([[-50.0]])) == pytest.approx(50.0, rel=1e-12)


def test_one_neuron_is_logistic_regression():
    data = datasets.make_planted(500, 3, 1, activation="sigmoid", task="classification", random_state=0)
    est = PlantedClassifier(1, "sigmoid", random_state=0).fit(data.X, data.y)
    other = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(data.X, data.y)
    np.testing.assert_allclose(est.network_.weights, other.coef_, rtol=1e-4, atol=1e-5)


def test_quadratic_loss_of_labels_is_equation_2():
    p = expit(X @ W.T).mean(axis=1)
    assert objectives.label_loss(X, Y, 2).value(W) == pytest.approx(0.5 * np.mean((Y - p) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    "make", [lambda: objectives.Likelihood(X, Y, "tanh"), lambda: objectives.label_loss(X, Y, 2, "relu")]
)
def test_activations_that_are_no_probabilities(make):
    with pytest.raises(ValueError, match="classification needs an activation into"):
        make()


def test_labels_that_are_none():
    with pytest.raises(ValueError, match="labels 0 and 1"):
        objectives.Likelihood(X, 3 * Y)


# Uncertainty.


def test_fisher_information_is_the_expected_hessian_and_the_variance_of_the_score():
    """At the truth, with labels averaged out exactly: the loss with probabilities as targets has Hessian I."""
    p = expit(X @ W.T).mean(axis=1)
    sure = uncertainty(objectives.Likelihood(X, Y), W)
    expected = np.linalg.inv(objectives.Likelihood(X, p).hessian(W)) / len(X)
    np.testing.assert_allclose(sure.covariance, expected, rtol=1e-6, atol=1e-8)


def test_sandwich_against_its_parts():
    big = rng.standard_normal((400, 3))
    labels = (rng.random(400) < expit(big @ W.T).mean(axis=1)).astype(float)
    z = big @ W.T
    p, s = expit(z).mean(axis=1), expit(z) * (1 - expit(z)) / 2
    J = (s[:, :, None] * big[:, None, :]).reshape(400, -1)
    loss = objectives.label_loss(big, labels, 2)
    S = (J * ((p - labels) ** 2)[:, None]).T @ J / 400
    A = np.linalg.inv(J.T @ J / 400)
    np.testing.assert_allclose(uncertainty(loss, W, robust=True).covariance, A @ S @ A / 400, rtol=1e-6)
    noise = np.sum((p - labels) ** 2) / (400 - W.size)
    np.testing.assert_allclose(uncertainty(loss, W).covariance, noise * A / 400, rtol=1e-6)


def test_sandwich_is_never_better_than_cramer_rao():
    teacher = 3 * np.eye(2, 3)
    many = np.random.default_rng(3).standard_normal((40_000, 3))
    p = expit(many @ teacher.T).mean(axis=1)
    labels = (np.random.default_rng(4).random(40_000) < p).astype(float)
    bound = cramer_rao(many, teacher)
    sandwich = uncertainty(objectives.label_loss(many, labels, 2), teacher, robust=True)
    assert sandwich.expected_error > bound.expected_error
    assert bound.rows_for(bound.expected_error / 2) == pytest.approx(4 * 40_000)


def test_coverage_of_intervals_and_ellipsoids():
    """300 fits of one neuron: of 600 intervals 95 % cover; the standard error of the share is about 0.009."""
    teacher, n = np.array([[1.0, -0.5]]), 600
    hits, inside = [], []
    for seed in range(300):
        random = np.random.default_rng(seed)
        x = random.standard_normal((n, 2))
        labels = (random.random(n) < expit(x @ teacher[0])).astype(float)
        w = np.zeros(2)
        for _ in range(8):  # Newton's method on the logistic likelihood
            p = expit(x @ w)
            w = w + np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (labels - p))
        sure = uncertainty(objectives.Likelihood(x, labels), w[None])
        low, high = sure.intervals(0.95)["weights"]
        hits.append((low <= teacher) & (teacher <= high))
        inside.append(sure.ellipsoid(0).contains(teacher[0]))
    assert abs(np.mean(hits) - 0.95) < 4 * 0.0115
    assert abs(np.mean(inside) - 0.95) < 4 * 0.0126


def test_undetermined_weights():
    twice = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    sure = uncertainty(objectives.Likelihood(X, Y), twice)
    assert not sure.determined
    assert sure.rows_for(0.1) == np.inf


# Local geometry.


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slope_moments_and_rho_of_every_activation_by_adaptive_quadrature(name):
    sigma, act = 1.3, activations.get(name)

    def expectation(function):
        cuts = sorted({-12.0, 0.0, 12.0, *(kink / sigma for kink in act.kinks)})
        parts = [quad(lambda z: float(function(z)) * norm.pdf(z), *ends, epsabs=1e-12)[0] for ends in pairwise(cuts)]
        return sum(parts)

    def slope(z):
        return act.derivative(np.array([sigma * z]))[0]

    (a0, a1, a2), (b0, b2) = slope_moments(name, sigma)
    for q, alpha in enumerate((a0, a1, a2)):
        assert alpha == pytest.approx(expectation(lambda z, q=q: slope(z) * z**q), abs=1e-8)
    for q, beta in ((0, b0), (2, b2)):
        assert beta == pytest.approx(expectation(lambda z, q=q: slope(z) ** 2 * z**q), abs=1e-8)
    assert rho(act, sigma) == pytest.approx(min(b0 - a0**2 - a1**2, b2 - a1**2 - a2**2), abs=1e-12)


def test_rho_of_sigmoid_is_positive_but_tends_to_zero():
    values = [rho(SIGMOID, sigma) for sigma in (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)]
    assert min(values) > 0
    assert max(values[0], values[-1]) < 0.1 * max(values)


@pytest.mark.parametrize("length", [1.0, 2.0])
def test_population_hessian_obeys_theorem_1_with_constants_one(length):
    teacher = length * np.eye(2, 3)
    out = np.full(2, 0.5)
    loss = objectives.PopulationSquared(Network(teacher, out, "sigmoid"), output=out)
    geometry = local_geometry(teacher, "sigmoid")
    found = measured_hessian(loss, teacher, geometry.radius(), points=3)
    assert geometry.hessian_lower() <= found.centre[0] * (1 + 1e-6)
    assert found.highest <= geometry.hessian_upper()


def test_constants_of_a_scaled_teacher():
    geometry = local_geometry(np.diag([1.0, 2.0, 4.0]), "sigmoid")
    assert (geometry.kappa, geometry.lam, geometry.sigma_min) == pytest.approx((4.0, 8.0, 1.0))
    assert geometry.smoothness == 0.25
    assert geometry.rows_needed(2.0) == pytest.approx(2 * geometry.rows_needed())
    assert geometry.estimation_error(1e6) < geometry.estimation_error(1e4)
    with pytest.raises(ValueError, match="full rank"):
        local_geometry(np.ones((2, 2)))


def test_linear_rate_is_one_minus_eta_h_min_and_the_proof_has_half_of_it():
    """Eq. 9 has (1 − ηH_min)^t; its proof arrives at (1 − ηH_min/2)^t and a far smaller step than 1/H_max."""
    teacher = 2 * np.eye(2, 3)
    out = np.full(2, 0.5)
    loss = objectives.PopulationSquared(Network(teacher, out, "sigmoid"), output=out)
    values = np.linalg.eigvalsh(loss.hessian(teacher))
    rate = linear_rate(loss, teacher + 0.02 * np.ones((2, 3)), teacher, steps=400)
    assert rate.measured == pytest.approx(rate.predicted, abs=2e-3)
    assert rate.predicted == pytest.approx(1 - values[0] / values[-1])
    assert rate.measured < 1 - rate.step_size * values[0] / 2
    assert rate.step_size > values[0] / values[-1] ** 2


def test_basin_of_a_fit_from_python(labelled, fitted):
    few = slice(0, 10_000)
    found = label_basin(labelled.X[few], labelled.y[few], fitted.network_.weights, points=3)
    numbers = found.numbers()
    assert np.abs(objectives.label_loss(labelled.X[few], labelled.y[few], 2).gradient(found.minimiser)).max() < 1e-8
    assert (
        numbers["hessian_lower"] <= numbers["hessian_lowest"] < numbers["hessian_highest"] <= numbers["hessian_upper"]
    )
    assert numbers["rate_measured"] == pytest.approx(numbers["rate_predicted"], abs=3e-3)
    assert numbers["rows_needed"] == found.geometry.rows_needed()
    assert "Theorem 1 with constants one" in str(found)


@pytest.mark.filterwarnings("error")
def test_a_basin_too_small_for_numbers_is_said_so():
    """Inputs in the hundreds make every sigmoid a step: curvature vanishes, and ρ(σ_K) of longer neurons too."""
    X = 100 * np.random.default_rng(0).standard_normal((50, 2))
    found = label_basin(X, (X[:, 0] > 0).astype(float), [[3000.0, 0.0]], points=2)
    assert "the loss is flat at its minimiser" in str(found)
    assert "nan" not in str(found)
    assert replace(found.geometry, rho=1e-200).rows_needed() == np.inf
    none = replace(found, geometry=replace(found.geometry, rho=0.0))
    assert none.numbers()["rows_needed"] == none.geometry.estimation_error(100) == np.inf
    assert "no number of rows is enough (here 50), radius 0" in str(none)
    # A ball below rounding about a minimiser where the loss curves.
    loss = objectives.PopulationSquared(Network(np.eye(2), np.full(2, 0.5), "sigmoid"), output=np.full(2, 0.5))
    rate = linear_rate(loss, np.eye(2), np.eye(2), steps=5)
    assert np.isnan(rate.measured)
    assert 0 < rate.predicted < 1
    assert "lost in rounding, 1 − ηH_min" in str(replace(found, rate=rate))


# Recovery.


@pytest.fixture(scope="module")
def labelled():
    weights = np.array([[4.0, 0.0, 0.0, 0.0], [1.0, 3.8, 0.0, 0.0]])
    return datasets.make_planted(
        40_000, 4, 2, activation="sigmoid", weights=weights, task="classification", random_state=1
    )


@pytest.fixture(scope="module")
def fitted(labelled):
    return PlantedClassifier(2, "sigmoid", random_state=0).fit(labelled.X, labelled.y)


def test_recovery_from_the_tensor_start_alone(labelled):
    problem = replace(LabelProblem.of(labelled.X, labelled.y, 2, SIGMOID), restarts=0)
    found = LABELS["likelihood"](problem)
    assert found.status == "estimated"
    assert found.details["start"] == "tensor"
    bound = cramer_rao(labelled.X, labelled.teacher.weights).expected_error
    # Eight parameters: the error over the bound is a χ₈/√8, below 2 with probability 1 − 1e-4.
    assert match(found.network, labelled.teacher).weight_error < 2 * bound


def test_gradient_descent_ends_where_lbfgs_does(labelled):
    problem = LabelProblem.of(labelled.X[:4000], labelled.y[:4000], 2, SIGMOID)
    ends = [LABELS["likelihood"](replace(problem, restarts=0, solver=solver)) for solver in ("newton", "gradient")]
    quadratic = [end.descents["quadratic"].value for end in ends]
    assert quadratic[1] == pytest.approx(quadratic[0], abs=1e-6)
    with pytest.raises(ValueError, match="unknown solver"):
        replace(problem, solver="lbfgs")


def test_front_door(labelled, fitted):
    proba = fitted.predict_proba(labelled.X[:100])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(labelled.X[:100]), (proba[:, 1] > 0.5).astype(int))
    assert fitted.certificate_.kind in ("local minimum", "global minimum")
    low, high = fitted.confidence_intervals()["weights"]
    order = match(fitted.network_, labelled.teacher).permutation
    inside = (low[order] <= labelled.teacher.weights) & (labelled.teacher.weights <= high[order])
    assert inside.mean() > 0.6


def test_pipeline_frames_and_named_classes(labelled):
    frame = pd.DataFrame(labelled.X[:2000], columns=list("abcd"))
    names = np.where(labelled.y[:2000] == 1, "yes", "no")
    pipe = make_pipeline(StandardScaler(), PlantedClassifier(1, "sigmoid", restarts=1, random_state=0))
    pipe.fit(frame, names)
    assert set(pipe.predict(frame)) == {"yes", "no"}
    assert list(pipe[-1].classes_) == ["no", "yes"]
    assert pipe.score(frame, names) > 0.7
    np.testing.assert_array_equal(pipe.predict(pl.from_pandas(frame)), pipe.predict(frame))


def test_advice_names_the_rows_that_would_do():
    data = datasets.make_planted(
        1000, 3, 2, activation="sigmoid", weights=4 * np.eye(2, 3), task="classification", random_state=0
    )
    est = PlantedClassifier(2, "sigmoid", False, random_state=0).fit(data.X, data.y)
    assert est.result_.status == "estimated"
    about = float(f"{est.result_.details['rows_needed']:.2g}")
    assert f"About {about:,.0f} rows would bring the error to 0.1" in est.result_.advice


def test_bad_requests(labelled):
    few = labelled.X[:50], labelled.y[:50]
    for arguments, text in (
        ({"n_hidden": 0}, "n_hidden must be"),
        ({"activation": "tanh", "link": "mean"}, "classification needs an activation"),
        ({"link": "mean", "fit_intercept": True}, "fit_intercept=True is for link='logit'"),
        ({"link": "mean", "class_weight": "balanced"}, "class_weight is for link='logit'"),
        ({"link": "probit"}, "unknown link 'probit'"),
        ({"link": "logit", "loss": "quadratic"}, "loss='quadratic' is for link='mean'"),
        ({"alpha": -1.0}, "alpha must be 'auto' or a number"),
        ({"class_weight": {0: 0.0}}, "factors are positive numbers"),
        ({"class_weight": {"no": 1.0}}, "class_weight names 'no'"),
    ):
        with pytest.raises(ValueError, match=text):
            PlantedClassifier(**{"n_hidden": 1, **arguments}).fit(*few)


def test_command_line(tmp_path, labelled):
    path = tmp_path / "labels.npz"
    np.savez(path, X=labelled.X[:3000], y=labelled.y[:3000])
    arguments = ["fit", str(path), "--task", "classification", "--hidden", "1", "--json", "--quiet"]
    arguments += ["--activation", "sigmoid"]
    ran = CliRunner().invoke(app, arguments, standalone_mode=False)
    report = json.loads(ran.stdout)
    assert report["method"] == "likelihood"
    assert report["network"]["activation"] == "sigmoid"
    assert report["details"]["rows_needed"] > 0
    wrong = CliRunner().invoke(app, [*arguments, "--method", "hermite"], standalone_mode=False)
    assert isinstance(wrong.exception, ValueError)


def test_labels_of_an_archive_may_be_text(tmp_path, capsys):
    """They had been refused, where those of any other table are taken."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    kinds = np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 0, "yes", "no")
    np.savez(tmp_path / "rows.npz", X=X, kind=kinds)
    table = pl.DataFrame(X, schema=["x0", "x1"]).with_columns(kind=kinds)
    table.write_csv(tmp_path / "rows.csv")
    options = ["--target", "kind", "--task", "classification", "--link", "logit", "--hidden", "1", "--json"]
    runner, reports = CliRunner(), {}
    for name in ("rows.npz", "rows.csv"):
        arguments = ["fit", str(tmp_path / name), *options, "--out", str(tmp_path / "model"), "--force"]
        reports[name] = json.loads(runner.invoke(app, arguments, standalone_mode=False).stdout)
    assert reports["rows.npz"]["network"] == reports["rows.csv"]["network"]
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "rows.npz"), "--target", "kind"]
    said = runner.invoke(app, [*arguments, "--out", str(tmp_path / "p.csv")], standalone_mode=False).stdout
    assert "accuracy 0." in said
    kinds[3] = ""
    np.savez(tmp_path / "rows.npz", X=X, kind=kinds)
    refused = runner.invoke(app, ["fit", str(tmp_path / "rows.npz"), *options], standalone_mode=False)
    assert "array 'kind' has no label in row 4" in str(refused.exception)


def test_certify_on_the_command_line(tmp_path, labelled, fitted):
    data, model = tmp_path / "labels.npz", tmp_path / "model"
    np.savez(data, X=labelled.X, y=labelled.y)
    fitted.network_.save(model)
    arguments = ["certify", str(model), str(data), "--task", "classification"]
    ran = CliRunner().invoke(app, [*arguments, "--json"], standalone_mode=False)
    report = json.loads(ran.stdout)
    assert ran.return_value == 0
    assert report["kind"] == "local minimum"
    assert report["expected_error"] == pytest.approx(fitted.result_.details["expected_error"], rel=1e-6)
    assert report["local_geometry"]["hessian_lowest"] > 0
    Network(fitted.network_.weights, np.ones(2), "sigmoid").save(model)
    wrong = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert "all outputs 1/k" in str(wrong.exception)
