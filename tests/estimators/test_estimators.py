"""The scikit-learn front door: scikit-learn's own checks, pipelines, frames, recovery on unseen teachers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from planted import PlantedRegressor, datasets, match
from planted.inputs import Gaussian
from planted.methods import METHODS
from planted.names import METHODS as NAMES

# Checks that fit data which no network made: what the methods assume is contradicted there.
HARD = (
    "check_dict_unchanged",
    "check_dont_overwrite_attributes",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_fit2d_1feature",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_readonly_memmap_input",
    "check_regressor_data_not_an_array",
    "check_regressors_train",
)
# How rows are kept (read-only, in float32) is decided before any method sees them: the first check of a name does.
QUICK = ("check_dict_unchanged", "check_fit2d_1feature", "check_n_features_in", "check_regressors_train")


def hard_checks():
    for method in ("landscape", "hermite"):
        names = set()
        for estimator, check in estimator_checks_generator(
            PlantedRegressor(1, method=method, activation="relu", fit_bias=False, fit_intercept=False, random_state=0)
        ):
            name = check.func.__name__
            if name in HARD:
                quick = method == "landscape" and name in QUICK and name not in names
                marks = () if quick else (pytest.mark.slow,)
                names.add(name)
                yield pytest.param(estimator, check, id=f"{method}-{name}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(hard_checks()))
def test_scikit_learn_checks_of_methods_with_assumptions(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([PlantedRegressor(random_state=0)])
def test_scikit_learn_checks_of_the_default(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        PlantedRegressor(
            n_hidden=2, method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_an_unknown_option_of_fit_is_refused():
    with pytest.raises(TypeError, match="takes X, y and sample_weight, not weights"):
        PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False).fit(
            [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], weights=[1, 1, 1]
        )


def test_every_method_has_its_name():
    assert set(METHODS) == set(NAMES)


@pytest.fixture(scope="module")
def planted_data():
    return datasets.make_planted(4000, 4, 3, weights="correlated", output="positive", random_state=3)


@pytest.mark.parametrize("method", ["landscape", "hermite", "squared", "auto"])
def test_methods_recover(method, planted_data):
    est = PlantedRegressor(
        3, method=method, activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(planted_data.X, planted_data.y)
    assert est.result_.status == "recovered"
    found = match(est.network_, planted_data.teacher)
    assert found.weight_error < 1e-8
    assert found.output_error < 1e-8
    assert est.certificate_.kind == "global minimum"
    assert est.score(planted_data.X, planted_data.y) > 1 - 1e-12


def test_same_seed_same_answer(planted_data):
    first, second = (
        PlantedRegressor(3, activation="relu", fit_bias=False, fit_intercept=False, random_state=5).fit(
            planted_data.X, planted_data.y
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.network_.weights, second.network_.weights)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_landscape_recovers_inputs_with_a_mean_and_covariance(seed):
    rng = np.random.default_rng(seed)
    mixing = np.eye(4) + 0.4 * rng.standard_normal((4, 4))
    law = Gaussian(0.3 * rng.standard_normal(4), mixing @ mixing.T)
    data = datasets.make_planted(4000, 4, 3, output="positive", inputs=law, random_state=seed)
    est = PlantedRegressor(
        3, method="landscape", activation="relu", fit_bias=False, fit_intercept=False, random_state=seed
    ).fit(data.X, data.y)
    assert match(est.network_, data.teacher).weight_error < 1e-8


@pytest.mark.slow
def test_landscape_recovers_a_smooth_activation():
    data = datasets.make_planted(
        30_000, 4, 3, activation="softplus", weights="correlated", output="positive", random_state=1
    )
    est = PlantedRegressor(3, "softplus", method="landscape", fit_bias=False, fit_intercept=False, random_state=0).fit(
        data.X, data.y
    )
    assert match(est.network_, data.teacher).weight_error < 1e-6


def test_biases_are_recovered():
    data = datasets.make_planted(1000, 3, 2, activation="tanh", output="mixed", bias=True, random_state=2)
    est = PlantedRegressor(2, "tanh", method="squared", fit_bias=True, fit_intercept=False, random_state=0).fit(
        data.X, data.y
    )
    assert match(est.network_, data.teacher).weight_error < 1e-8


def test_noise_is_not_called_recovered(planted_data):
    y = planted_data.y + 0.1 * np.random.default_rng(0).standard_normal(len(planted_data.y))
    est = PlantedRegressor(
        3, method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(planted_data.X, y)
    assert est.result_.status == "estimated"
    assert est.result_.loss == pytest.approx(0.005, rel=0.1)
    assert match(est.network_, planted_data.teacher).weight_error < 0.05


def test_landscape_says_when_outputs_are_not_positive(planted_data):
    y = -np.sum(planted_data.X**2, axis=1)
    with pytest.warns(ConvergenceWarning, match="F was not minimised .*fewer than 3 positive eigenvalues"):
        est = PlantedRegressor(
            3, method="landscape", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
        ).fit(planted_data.X, y)
    assert est.result_.status == "misfit"
    assert est.result_.details["landscape"] == "not minimised"
    assert est.result_.relative_loss < 1


@pytest.mark.slow
def test_width_is_found():
    data = datasets.make_planted(600, 3, 3, output="positive", random_state=0)
    est = PlantedRegressor(
        activation="relu", fit_bias=False, fit_intercept=False, random_state=0, method="squared"
    ).fit(data.X, data.y)
    assert est.n_hidden_ == 3
    assert est.width_losses_[3] < 1e-3 * est.width_losses_[2]


def test_pipeline_grid_search_and_frames(planted_data):
    X, y = planted_data.X[:300], planted_data.y[:300]
    columns = [f"x{i}" for i in range(4)]
    pipeline = make_pipeline(
        StandardScaler(with_mean=False),
        PlantedRegressor(3, method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0),
    )
    assert pipeline.fit(pd.DataFrame(X, columns=columns), y).score(pd.DataFrame(X, columns=columns), y) > 0.9
    frame = pl.DataFrame(X, schema=columns)
    est = PlantedRegressor(
        3, method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(frame, pl.Series(y))
    np.testing.assert_allclose(est.predict(frame), est.network_.predict(X))
    assert list(est.feature_names_in_) == columns
    search = GridSearchCV(
        PlantedRegressor(method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0),
        {"n_hidden": [1, 3]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_["n_hidden"] == 3


def test_fitted_state_keeps_no_reference_to_the_data(planted_data):
    est = PlantedRegressor(
        3, method="squared", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(planted_data.X, planted_data.y)
    held = [value for value in vars(est).values() if isinstance(value, np.ndarray)]
    assert all(not np.shares_memory(value, planted_data.X) for value in held)
