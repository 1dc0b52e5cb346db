"""Several targets: errors of each from its own noise, and nothing that depends on their units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planted import PlantedRegressor
from planted.certificates import uncertainty
from planted.methods import Observations, Problem, in_own_units, refine
from planted.methods._residual_test import residual_p_value
from planted.networks import Network
from planted.objectives import Squared
from planted.rows import block_rows, survey

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
NOISE = RNG.standard_normal((300, 2))
TEACHER = Network([[1.0, 0.5, 0.0], [0.0, -1.0, 1.0]], [[1.0, 2.0], [30.0, -20.0]], "tanh")
KNOWN = {"fit_bias": False, "fit_intercept": False, "fit_skip": False, "random_state": 0}


def test_errors_of_a_linear_function_are_those_of_each_target():
    design = np.column_stack([X, np.ones(300)])
    y = design @ [[1.0, 100.0], [2.0, -100.0], [3.0, 50.0], [1.0, 0.0]] + NOISE * [0.01, 20.0]
    loss = Squared(X, y, intercept=True, skip=True)
    solution = np.linalg.lstsq(design, y)[0]
    network = Network(np.zeros((0, 3)), np.zeros((2, 0)), intercept=solution[3], skip=solution[:3].T)
    found = uncertainty(loss, loss.model.params(network))
    residual = y - design @ solution
    inverse = np.diagonal(np.linalg.inv(design.T @ design))
    for j, noise in enumerate(np.sqrt(np.sum(residual**2, axis=0) / (300 - 4))):
        np.testing.assert_allclose(found.skip[j], noise * np.sqrt(inverse[:3]), rtol=1e-8)
        np.testing.assert_allclose(
            [found.intercept[j], found.noise[j]], [noise * np.sqrt(inverse[3]), noise], rtol=1e-8
        )
    # Errors of one target with those of the other: the covariance of their residuals.
    between = found.covariance[0, 1] / np.prod(np.sqrt(np.diagonal(found.covariance)[:2]))
    assert between == pytest.approx(np.corrcoef(residual.T)[0, 1], abs=1e-8)


def test_a_row_of_weight_two_is_two_rows_of_several_targets():
    y, weight = TEACHER.predict(X) + NOISE * [0.05, 5.0], np.repeat([1.0, 2.0], 150)
    once = Squared(X, y, "tanh", sample_weight=weight)
    twice = Squared(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int), axis=0), "tanh")
    params = once.model.params(TEACHER)
    np.testing.assert_allclose(uncertainty(once, params).covariance, uncertainty(twice, params).covariance, rtol=1e-8)


@pytest.mark.parametrize("factor", [1000.0, 1e-3])
def test_the_answer_does_not_depend_on_the_units_of_a_target(factor):
    y = TEACHER.predict(X) + NOISE * [0.05, 5.0]
    own, other = (PlantedRegressor(2, "tanh", **KNOWN).fit(X, y * [1.0, size]) for size in (1.0, factor))
    np.testing.assert_allclose(other.network_.output, own.network_.output * [[1.0], [factor]], rtol=1e-6)
    np.testing.assert_allclose(other.network_.weights, own.network_.weights, rtol=1e-6)
    np.testing.assert_allclose(other.standard_errors_.weights, own.standard_errors_.weights, rtol=1e-5)
    np.testing.assert_allclose(other.standard_errors_.output[1], own.standard_errors_.output[1] * factor, rtol=1e-5)
    assert other.result_.status == own.result_.status == "estimated"
    assert [word for word in other.result_.reason.split() if word.endswith("%")] == ["%"]
    assert other.result_.reason.split("deviations")[0] == own.result_.reason.split("deviations")[0]
    sizes = np.sqrt(np.mean((other.predict(X) - y * [1.0, factor]) ** 2, axis=0))
    noise = sizes * np.sqrt(len(X) / (len(X) - other.result_.verdict.facts.n_parameters / 2))
    assert f"its standard deviations are {noise[0]:.3g} and {noise[1]:.3g} in the targets" in other.result_.reason
    assert other.result_.loss == pytest.approx(np.sum(sizes**2) / 2)
    # What pages draw of several targets is in standard deviations of each; strengths are in the targets' units.
    assert other.evidence_.standard
    np.testing.assert_allclose(other.evidence_.truth, own.evidence_.truth, rtol=1e-8)
    np.testing.assert_allclose(other.evidence_.edges, own.evidence_.edges, rtol=1e-5)
    assert max(other.evidence_.strength) > 0.1 * factor


def test_a_target_that_is_known_well_determines_the_neurons_that_it_shares():
    y = TEACHER.predict(X) + NOISE * [0.01, 20.0]
    found = PlantedRegressor(2, "tanh", **KNOWN).fit(X, y)
    alone = PlantedRegressor(2, "tanh", **KNOWN).fit(X, y[:, 0])
    assert np.all(found.standard_errors_.weights < 1.05 * alone.standard_errors_.weights)
    np.testing.assert_allclose(found.standard_errors_.output[0], alone.standard_errors_.output, rtol=0.1)
    np.testing.assert_allclose(found.standard_errors_.noise, [0.01, 20.0], rtol=0.15)


def test_rows_in_pieces_have_the_same_units():
    y = TEACHER.predict(X) + NOISE * [0.05, 5.0]
    whole, rows = Problem.of(X, y, 2, "tanh"), block_rows(X, y, chunk_rows=100)
    pieces = in_own_units(replace(whole, rows=rows, survey=survey(rows, 1000)))
    np.testing.assert_allclose(pieces.units, y.std(axis=0))
    np.testing.assert_allclose(np.concatenate([chunk.load()[1] for chunk in pieces.rows.chunks]), y / y.std(axis=0))
    assert pieces.survey.variance == pytest.approx(2.0)
    assert pieces.survey.digest == survey(rows, 1000).digest


def test_probes_that_the_network_makes_up_are_no_noise_of_rounding():
    y = X @ [1.0, 2.0, -1.0] + 4 + 0.3 * NOISE[:, 0]
    design = np.column_stack([X, np.ones(300)])
    values = []
    for unit in (1.0, 1000.0, 3.7):
        *skip, intercept = np.linalg.lstsq(design, y * unit)[0]
        network = Network(np.zeros((0, 3)), np.zeros(0), skip=skip, intercept=intercept)
        values.append(residual_p_value(Observations(X, y * unit), network, intercept=True))
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


def test_a_target_without_noise_beside_one_with_noise_shows_no_structure():
    """Its residuals are the errors of the neurons that both share; a wrong function of it is seen all the same."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        inputs = rng.standard_normal((400, 2))
        teacher = Network(rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), "tanh")
        y = teacher.predict(inputs)
        y[:, 1] += 0.3 * y[:, 1].std() * rng.standard_normal(400)
        right, wrong = (y + np.array([share, 0.0]) * inputs[:, :1] ** 2 for share in (0.0, 0.1))
        p_values = [
            residual_p_value(Observations(inputs, seen), refine(Problem.of(inputs, seen, 2, "tanh"), teacher).network)
            for seen in (right, wrong)
        ]
        assert p_values[0] > 1e-3 > p_values[1]


@pytest.mark.parametrize("constant", [7.0, 0.1, -3e5])
def test_a_constant_target_beside_another_is_recovered(constant):
    """Its variance is the rounding of its mean, beside which errors would be anything."""
    fit = PlantedRegressor(1, "relu", random_state=0).fit(
        X, np.column_stack([np.full(300, constant), np.maximum(X[:, 1], 0)])
    )
    facts = fit.result_.verdict.facts
    assert fit.result_.status == "recovered"
    assert max(facts.network_loss, *(target.network for target in facts.targets)) < 1e-12
    np.testing.assert_allclose(fit.predict(X)[:, 0], constant, rtol=1e-12)
