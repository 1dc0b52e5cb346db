"""A bound on the squared loss that no weights pass: below every descent, and reached where the problem is convex."""

import numpy as np
import pytest

from planted import Network
from planted.activations import softplus
from planted.certificates import least_loss
from planted.objectives import Squared
from planted.solvers import lbfgs

ACTIVATIONS = ["quadratic", "relu", "abs", softplus(b=10.0)]


def drawn(seed=0, n=40, d=4):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((n, d)), rng.standard_normal(n)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_no_weights_pass_the_bound(activation, sign):
    rng, X, y = drawn()
    output = sign * np.array([1.0, 0.5, 2.0])
    bound = least_loss(X, y, activation, output)
    loss = Squared(X, y, activation, output)
    drawn_values = [loss.value(scale * rng.standard_normal((3, 4))) for scale in (0.0, 0.01, 0.1, 0.3, 1.0)]
    ends = [lbfgs(loss, rng.standard_normal((3, 4)), steps=300).value for _ in range(3)]
    assert 0 < bound <= min(*drawn_values, *ends)
    # A bound of nothing would be none: the best of these is within a factor of two.
    assert min(ends) < 2 * bound


def test_the_bound_of_quadratic_neurons_is_the_optimum_of_the_convex_problem():
    rng, X, y = drawn()
    loss = Squared(X, y, "quadratic", np.ones(4))
    ends = [lbfgs(loss, rng.standard_normal((4, 4)), steps=3000, tolerance=1e-12).value for _ in range(3)]
    np.testing.assert_allclose(ends, least_loss(X, y, "quadratic", np.ones(4)), rtol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_labels_that_such_a_network_makes_are_in_reach(activation):
    rng, X, _ = drawn()
    teacher = Network(rng.standard_normal((3, 4)), np.ones(3), activation)
    assert least_loss(X, teacher.predict(X), activation, np.ones(3)) < 1e-10


def test_what_it_is_not_for():
    _, X, y = drawn()
    with pytest.raises(ValueError, match="not for tanh"):
        least_loss(X, y, "tanh", np.ones(2))
    with pytest.raises(ValueError, match="both signs"):
        least_loss(X, y, "relu", [1.0, -1.0])
