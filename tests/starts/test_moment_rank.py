"""The number of neurons by the rank of E[y S₂]."""

import numpy as np
import pytest

from planted import PlantedRegressor, datasets
from planted.inputs import Logistic
from planted.starts import moment_rank


@pytest.mark.parametrize(
    ("k", "inputs", "activation"), [(0, "gaussian", "relu"), (2, "gaussian", "softplus"), (3, Logistic(4), "relu")]
)
def test_the_level_is_kept(k, inputs, activation):
    """At level 0.1 the true rank is rejected in at most 6 + 3√(60 · 0.09) of 60 sets, smaller ones in nearly all."""
    rejected = missed = 0
    for seed in range(60):
        data = datasets.make_planted(
            4000, 4, max(k, 1), activation=activation, output="mixed", weights="correlated", inputs=inputs,
            condition_number=1.5, noise=0.1, random_state=seed,
        )  # fmt: skip
        y = data.y if k else np.random.default_rng(seed).standard_normal(4000) + data.X[:, 0]
        p_values = moment_rank(data.X, y, inputs, level=0.1).p_values
        missed += len(p_values) <= k
        rejected += len(p_values) > k and p_values[k] <= 0.1
    assert rejected <= 6 + 3 * (60 * 0.09) ** 0.5
    assert missed <= 3


def test_eigenvalues_are_those_of_the_second_hermite_moment():
    """E[y H₂] = √2 φ̂₂ Σ a_i b_i b_iᵀ for unit rows: for ReLU √2 φ̂₂ = 1/√(2π)."""
    data = datasets.make_planted(200_000, 3, 2, output=[1.0, -2.0], random_state=0)
    result = moment_rank(data.X, data.y, "gaussian")
    assert result.rank == 2
    np.testing.assert_allclose(result.eigenvalues / (2 * np.pi) ** -0.5, [-2.0, 1.0, 0.0], atol=0.05)


def test_full_rank_is_a_lower_bound():
    data = datasets.make_planted(20_000, 2, 4, weights="gaussian", random_state=0)
    result = moment_rank(data.X, data.y, "gaussian")
    assert result.rank == 2
    assert str(result).startswith("at least 2 neurons")


def test_an_odd_activation_has_no_second_moment():
    data = datasets.make_planted(5000, 3, 2, activation="tanh", random_state=0)
    assert moment_rank(data.X, data.y, "gaussian").rank == 0


def test_it_stands_beside_the_width_search():
    data = datasets.make_planted(3000, 3, 2, weights="correlated", random_state=0)
    est = PlantedRegressor(
        inputs="gaussian", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(data.X, data.y)
    assert est.moment_rank_.rank == est.n_hidden_ == 2
    assert not hasattr(
        PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y),
        "moment_rank_",
    )


def test_under_auto_where_inputs_pass_for_gaussian_and_not_elsewhere():
    options = {"activation": "relu", "fit_bias": False, "fit_intercept": False, "random_state": 0}
    data = datasets.make_planted(1500, 3, 2, weights="correlated", random_state=0)
    est = PlantedRegressor(**options).fit(1e5 * data.X, data.y)
    assert est.moment_rank_.rank == 2
    uniform = np.random.default_rng(0).uniform(-1, 1, (1500, 3))
    assert not hasattr(PlantedRegressor(**options).fit(uniform, data.teacher.predict(uniform)), "moment_rank_")
    twice = np.column_stack([data.X, data.X[:, 0]])
    assert not hasattr(PlantedRegressor(**options).fit(twice, data.y), "moment_rank_")
