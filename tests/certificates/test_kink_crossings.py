"""What rows that change the side of a kink add to errors."""

import numpy as np
import pytest

from planted import Network
from planted.certificates import crossing_scores, uncertainty
from planted.methods import Problem, Start, recover
from planted.objectives import Squared

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2))


@pytest.mark.parametrize(
    ("activation", "bias"), [("relu", None), ("abs", [0.3]), ("hard_tanh", [0.2]), ("squared_relu", None)]
)
def test_crossings_are_the_jumps_of_gradients_between_likely_networks(activation, bias):
    """The gradient by weights and bias is aφ′(z)x̃: against draws of z, φ′ taken apart from its smooth changes."""
    network = Network([[0.6, 0.8]], [1.5], activation, bias=bias)
    y = network.predict(X) + 0.5 * RNG.standard_normal(len(X))
    loss = Squared(X, y, activation, bias=bias is not None)
    about = uncertainty(loss, loss.model.params(network))
    added = crossing_scores(about, X, np.full((len(X), 1), about.network.output[0] ** 2 / len(X)))
    order = [1, 2] if bias is None else [2, 3, 0]
    others = [i for i in range(len(added)) if i not in order]
    assert not added[others].any()
    assert not added[:, others].any()
    inputs = X if bias is None else np.column_stack([X, np.ones(len(X))])
    centre = about.network.weights[0] if bias is None else np.append(about.network.weights[0], about.network.bias[0])
    block = about.covariance[np.ix_(order, order)]
    places = centre + np.random.default_rng(1).multivariate_normal(np.zeros(len(order)), block, 20_000)
    kinks = {"relu": {0.0: 1.0}, "abs": {0.0: 2.0}, "hard_tanh": {-1.0: 1.0, 1.0: -1.0}, "squared_relu": {}}
    expected = np.zeros((len(order), len(order)))
    for kink, jump in kinks[activation].items():
        sides = (inputs @ places.T > kink) != (inputs @ centre > kink)[:, None]
        squares = (about.network.output[0] * jump) ** 2 * sides.mean(axis=1) / len(X)
        expected += (inputs * squares[:, None]).T @ inputs
    np.testing.assert_allclose(added[np.ix_(order, order)], expected, atol=0.03 * max(np.abs(expected).max(), 1e-12))


def fitted_errors(activation, noise, **given):
    """Errors of a fit of two neurons, over those of the first order at the same place."""
    teacher = Network([[1.0, 0.0], [-0.6, 0.8]], [1.0, -0.8], activation)
    y = teacher.predict(X) + noise * np.random.default_rng(5).standard_normal(len(X))
    problem = Problem.of(X, y, 2, activation, **given)
    found = recover(problem, Start(teacher, "squared"), 0.0).uncertainty
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planted.methods._errors.crossing_scores", lambda about, X, variance: 0.0)
        first = recover(problem, Start(teacher, "squared"), 0.0).uncertainty
    return found.weights / first.weights


@pytest.mark.parametrize("weighted", [False, True])
def test_fits_with_kinks_have_larger_errors_the_more_rows_may_cross(weighted):
    given = {"sample_weight": np.random.default_rng(3).uniform(0.5, 2.0, len(X))} if weighted else {}
    large, small = fitted_errors("relu", 0.5, **given), fitted_errors("relu", 0.05, **given)
    assert np.all(large > 1.005)
    assert np.all((small > 1.0) & (small < large))
    np.testing.assert_array_equal(fitted_errors("tanh", 0.5, **given), 1.0)


def test_errors_of_a_fit_are_those_of_the_gradients_with_their_jumps():
    """A⁻¹(σ²A + D)A⁻¹/n, from the covariance C = σ²A⁻¹/n of the first order."""
    teacher = Network([[0.6, 0.8]], [1.5], "hard_tanh")
    y = teacher.predict(X) + 0.3 * np.random.default_rng(5).standard_normal(len(X))
    problem = Problem.of(X, y, 1, "hard_tanh")
    result = recover(problem, Start(teacher, "squared"), 0.0)
    objective = problem.objective()
    first = uncertainty(objective, objective.model.params(result.network))
    jumps = crossing_scores(first, X, np.full((len(X), 1), (first.noise * first.network.output[0]) ** 2 / len(X)))
    expected = first.covariance + first.covariance @ jumps @ first.covariance * len(X) / first.noise**4
    np.testing.assert_allclose(result.uncertainty.covariance, expected, rtol=1e-6, atol=1e-9)
    assert np.all(result.uncertainty.weights > 1.005 * first.weights)
