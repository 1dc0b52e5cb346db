"""Nothing that is said of a fit depends on the units of an input that it hardly needs."""

from __future__ import annotations

import numpy as np
import pytest

from planted import Network, PlantedClassifier, PlantedRegressor

RNG = np.random.default_rng(6010)
X = RNG.standard_normal((600, 3))
COINS = RNG.random(600) < 1 / (1 + np.exp(-3 * np.tanh(1.5 * X[:, 0] - X[:, 1])))
RAMP = 2 * np.maximum(1.5 * X[:, 0] - X[:, 1], 0) + 0.5 * RNG.standard_normal(600)
UNITS = (1.0, 1e-3, 1e3)


def test_labels_are_known_as_well_in_all_units():
    """An input in thousands of its unit has weights a thousand times as large: of raw weights it is almost all."""
    found = []
    for unit in UNITS:
        est = PlantedClassifier(1, link="logit", activation="tanh", fit_bias=False, random_state=0)
        est.fit(X * [1, 1, unit], COINS)
        errors = est.standard_errors_
        found.append((est.result_.status, est.result_.reason, est.result_.details["expected_error"]))
        np.testing.assert_allclose(errors.expected_error, found[0][2], rtol=1e-3)
        np.testing.assert_allclose(errors.rows_for(0.1), errors.n_rows * (found[0][2] / 0.1) ** 2, rtol=1e-2)
    assert {one[0] for one in found} == {"estimated"}
    assert len({one[1] for one in found}) == 1
    assert found[0][2] < 0.5


@pytest.mark.parametrize("bias", [False, True])
def test_errors_of_kinks_are_the_same_in_all_units(bias):
    """A neuron of length one in raw units is little but the weight of the input in thousands; no row crosses for it."""
    known = {"fit_bias": bias, "fit_intercept": False, "fit_skip": False, "random_state": 0}
    fits = [PlantedRegressor(1, "relu", **known).fit(X * [1, 1, unit], RAMP) for unit in UNITS]
    assert len({est.result_.reason for est in fits}) == 1
    assert "a third or worse" not in fits[0].result_.reason
    for est in fits[1:]:
        for name, errors in fits[0].standard_errors_.comparable[1].items():
            np.testing.assert_allclose(est.standard_errors_.comparable[1][name], errors, rtol=1e-3)
        np.testing.assert_allclose(
            est.standard_errors_.relative_error, fits[0].standard_errors_.relative_error, rtol=1e-3
        )
    assert fits[1].standard_errors_.output[0] > fits[1].standard_errors_.estimate["output"][0] / 3


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_rounding_hides_in_their_own_units_are_not_called_recovered(seed):
    """Beside inputs of size 10⁷ one of size 10⁻⁷ adds what rounding takes away: its weight is open by a percent."""
    rng = np.random.default_rng(seed)
    scale = np.array([1e-7, 1.0, 1e7])
    X = rng.standard_normal((200, 3)) * scale
    teacher = Network(rng.uniform(0.5, 1.5, (1, 3)), [1.0], "relu")
    known = {"n_hidden": 1, "activation": "relu", "fit_bias": False, "fit_intercept": False, "random_state": 0}
    result = PlantedRegressor(**known).fit(X, teacher.predict(X)).result_
    assert result.status == "ambiguous"
    assert "the weights are known only to" in result.reason
    near = PlantedRegressor(**known).fit(X / scale, teacher.predict(X / scale)).result_
    assert near.status == "recovered"
