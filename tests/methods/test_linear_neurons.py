"""Neurons that are linear at all rows, from runs that split the linear part off."""

from dataclasses import replace

import numpy as np
import pytest

from planted import match
from planted.methods import METHODS, Free, Problem
from planted.methods.regression import expand
from planted.networks import Network

COUNTS = np.random.default_rng(7).poisson(2.0, (400, 4)).astype(float)
KINKED = np.array([[1.0, -1.0, 0.4, -0.3], [0.5, 0.7, -1.0, -0.6]])
ACTIVE = np.array([[0.6, 0.3, 0.8, 0.2], [0.1, 0.9, 0.2, 0.7]])


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("linear", [1, 2])
def test_rows_are_explained(linear, bias, intercept, activation):
    """Two neurons have their kinks among the counts; the others, with weights above zero, have none there."""
    k = 2 + linear
    teacher = Network(
        np.vstack([KINKED, ACTIVE[:linear]]),
        np.array([1.0, -2.0, 1.5, -0.8])[:k],
        activation,
        np.array([0.1, -0.2, 0.3, 0.4])[:k] if bias else None,
        **({"intercept": 0.7} if intercept else {}),
    )
    problem = Problem.of(COUNTS, teacher.predict(COUNTS), k, activation, free=Free(bias, intercept=intercept))
    result = METHODS["auto"](problem)
    assert result.relative_loss < 1e-20
    # Two linear neurons are one linear function; beside an intercept a bias is as good as another.
    determined = linear == 1 and not (bias and intercept)
    assert result.status == ("recovered" if determined else "ambiguous")
    assert not determined or match(result.network, teacher).weight_error < 1e-9


def test_any_run_that_explains_its_rows_may_be_the_one(monkeypatch):
    """Of runs that leave rounding, the later ones are concluded too where the first could not be."""
    ran, losses, concluded = expand.second_order_run, iter([1e-30, 1e-28]), []

    def run(*args):
        return replace(ran(*args), loss=next(losses))

    def explained(problem, start):
        concluded.append(start)
        return len(concluded) > 1

    monkeypatch.setattr(expand, "second_order_run", run)
    monkeypatch.setattr(expand, "explained", explained)
    X = np.random.default_rng(0).standard_normal((400, 3))
    teacher = Network([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]], [1.0, -1.0])
    result = METHODS["expand"](Problem.of(X, teacher.predict(X), 2, random_state=0))
    assert len(concluded) == 2
    assert match(result.network, teacher).weight_error < 1e-9
