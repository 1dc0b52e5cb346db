"""The formulas of the explorer against the library's objectives, through a real browser."""

import numpy as np
import pytest

from browser import browser, needs_browser
from planted import ConvNetwork, Network, certify, inputs
from planted.objectives import (
    PopulationConv,
    PopulationFullRankLandscape,
    PopulationHermite24,
    PopulationLandscape,
    PopulationScoreLandscape,
    PopulationSquared,
    ScoreLandscape,
)
from planted.pages import TRAPS, write_explorer

pytestmark = needs_browser

EVALUATE = """
const [name, teacher, option, point] = arguments;
const loss = Losses.create(name, teacher, option === null ? undefined : option);
const x = Float64Array.from(point), {value, gradient} = loss.raw(x);
return [value, Array.from(gradient)];
"""
SPECTRUM = """
const [name, teacher, option, point] = arguments;
return Losses.eigen(Losses.create(name, teacher, option).hessian(Float64Array.from(point))).values;
"""
CERTIFY = """
const [name, teacher, option, point] = arguments;
const loss = Losses.create(name, teacher, option === null ? undefined : option);
return Losses.certify(loss, Float64Array.from(point), 0).kind;
"""
POSITIVE = [1.0, 2.0, 1.5]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3, 4))
UNIT = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
POINT = RNG.normal(size=(3, 4))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    page = write_explorer(tmp_path_factory.mktemp("explore") / "explore.html")
    with browser() as started:
        started.get(page.as_uri())
        yield started


def as_page(network):
    return {
        "weights": network.weights.tolist(),
        "output": network.output.tolist(),
        "activation": network.activation.name,
    }


def check(driver, name, teacher, option, objective, point):
    value, gradient = driver.execute_script(EVALUATE, name, teacher, option, np.ravel(point).tolist())
    assert value == pytest.approx(objective.value(point), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(gradient, np.ravel(objective.gradient(point)), rtol=1e-10, atol=1e-10)


ACTIVATIONS = ("relu", "leaky_relu", "abs", "quadratic", "squared_relu", "erf", "tanh", "sigmoid", "softplus")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_squared_loss(driver, activation):
    output = [1.0, -2.0, 0.5]
    teacher = Network(UNIT, POSITIVE, activation)
    check(driver, "squared", as_page(teacher), output, PopulationSquared(teacher, output=output), POINT)


@pytest.mark.parametrize("activation", ["relu", "abs", "quadratic", "softplus"])
@pytest.mark.parametrize("rows", [UNIT, ROWS], ids=["unit", "any length"])
def test_hermite_parts(driver, activation, rows):
    teacher = Network(rows, POSITIVE, activation)
    objective = PopulationHermite24(teacher, output=np.array(POSITIVE))
    check(driver, "f'", as_page(teacher), POSITIVE, objective, POINT)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs", "softplus"])
@pytest.mark.parametrize(("name", "objective"), [("G", PopulationLandscape), ("F", PopulationFullRankLandscape)])
def test_designed_losses(driver, name, objective, activation):
    teacher = Network(UNIT, POSITIVE, activation)
    check(driver, name, as_page(teacher), None, objective(teacher), POINT)


def test_score_loss_for_gaussian_inputs_is_twice_g(driver):
    teacher = Network(UNIT, POSITIVE)
    # κ = √24 a σ̂₄ for N(0, I); then μ = 0.01 κ_min/κ_max and λ = 4 κ_max, and L(μ, λ) = 2 G(12μ, λ/2).
    largest = np.sqrt(24) * abs(teacher.activation.hermite(4)) * max(POSITIVE)
    twice = PopulationLandscape(teacher, mu=12 * 0.01 * min(POSITIVE) / max(POSITIVE), lam=2 * largest)
    value, gradient = driver.execute_script(EVALUATE, "L", as_page(teacher), None, POINT.ravel().tolist())
    assert value == pytest.approx(2 * twice.value(POINT), rel=1e-10)
    np.testing.assert_allclose(gradient, 2 * twice.gradient(POINT).ravel(), rtol=1e-10, atol=1e-10)


def test_score_loss_for_a_mixture_is_what_samples_average_to(driver):
    teacher, shift = Network(np.eye(3), POSITIVE), np.array([0.8, 0.4, 0.4])
    law = inputs.GaussianMixture([0.5, 0.5], [shift, -shift], [np.eye(3), np.eye(3)])
    kappa = np.array(
        driver.execute_script("return Losses.kappas(arguments[0], arguments[1])", as_page(teacher), [*shift])
    )
    size = np.abs(kappa)
    assert np.all(kappa < 0)
    mu, lam = 0.01 * size.min() / size.max(), 4 * size.max()
    point = np.eye(3) + 0.3 * POINT[:, :3]
    values = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5000, 3)) + rng.choice([-1.0, 1.0], size=(5000, 1)) * shift
        values.append(ScoreLandscape(X, teacher.predict(X), law, mu=mu, lam=lam, form="orthogonal").value(point))
    value, _ = driver.execute_script(EVALUATE, "L", as_page(teacher), [*shift], point.ravel().tolist())
    assert abs(value - np.mean(values)) < 4 * np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs"])
def test_score_loss_for_a_mixture_is_the_population_loss(driver, activation):
    teacher, shift = Network(UNIT, POSITIVE, activation), np.zeros(UNIT.shape[1])
    shift[:3] = [0.5, 0.3, -0.2]
    law = inputs.GaussianMixture([0.5, 0.5], [shift, -shift], [np.eye(len(shift))] * 2)
    size = np.abs(driver.execute_script("return Losses.kappas(arguments[0], arguments[1])", as_page(teacher), [*shift]))
    mu, lam = 0.01 * size.min() / size.max(), 4 * size.max()
    check(driver, "L", as_page(teacher), [*shift], PopulationScoreLandscape(teacher, law, mu, lam), POINT)


@pytest.mark.parametrize("patches", [1, 3, 5])
def test_shared_filter(driver, patches):
    rng = np.random.default_rng(patches)
    teacher = ConvNetwork(rng.normal(size=4), rng.normal(size=patches))
    point = {"filter": rng.normal(size=4), "output": rng.normal(size=patches)}
    flat = [*point["filter"], *point["output"]]
    about = {"filter": teacher.filter.tolist(), "output": teacher.output.tolist()}
    value, gradient = driver.execute_script(EVALUATE, "conv", about, None, flat)
    objective = PopulationConv(teacher)
    expected = objective.gradient(point)
    assert value == pytest.approx(objective.value(point), rel=1e-10)
    np.testing.assert_allclose(gradient, [*expected["filter"], *expected["output"]], rtol=1e-10, atol=1e-10)


def test_spectrum(driver):
    teacher = Network(UNIT, POSITIVE)
    values = driver.execute_script(SPECTRUM, "squared", as_page(teacher), POSITIVE, POINT.ravel().tolist())
    expected = np.linalg.eigvalsh(PopulationSquared(teacher, output=np.array(POSITIVE)).hessian(POINT))
    np.testing.assert_allclose(values, expected, atol=1e-8)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_traps_are_local_minima_here_and_there(driver, trap):
    teacher, student = Network(trap.weights, trap.output), np.array(trap.student)
    certificate = certify(PopulationSquared(teacher, output=np.array(trap.output)), student)
    assert certificate.kind == "local minimum"
    assert certificate.value > 1e-3
    flat = student.ravel().tolist()
    assert driver.execute_script(CERTIFY, "squared", as_page(teacher), trap.output, flat) == "local minimum"
    flat = np.ravel(trap.weights).tolist()
    assert driver.execute_script(CERTIFY, "squared", as_page(teacher), trap.output, flat) == "global minimum"
