"""Small things that a user meets: missing values, targets of 0 and 1, what a model shows of itself."""

import numpy as np
import pytest

from planted import Network, PlantedRegressor
from planted.cli._sources import Source
from planted.estimators import SavedModel
from planted.networks import Signature

X = np.random.default_rng(0).standard_normal((30, 2))


def test_missing_values_in_an_array_are_refused_in_one_sentence_of_ours():
    holed = X.copy()
    holed[7, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"^X has missing values \(NaN\), the first in row 7: leave such rows out"
    ) as said:
        PlantedRegressor(1).fit(holed, X[:, 0])
    assert "HistGradient" not in str(said.value)
    assert "…" not in str(said.value)


@pytest.mark.parametrize(("y", "said"), [(X[:, 0] > 0, 1), ((X[:, 0] > 0) * 1.0, 1), (X[:, 0], 0), (np.zeros(30), 0)])
def test_a_target_of_0_and_1_is_told_of_classification(y, said):
    remarks = Source(X, y, ["a", "b"], {}, remarks=("first",)).asking_for_classes().remarks
    assert remarks[0] == "first"
    assert sum("--task classification" in remark for remark in remarks) == said


def test_a_model_shows_itself_in_one_short_line():
    network = Network(np.ones((1, 30)), [1.0], "tanh", intercept=2.0)
    assert repr(network) == "Network(1 tanh neuron, 30 inputs, intercept)"
    sign = Signature(inputs=tuple(f"x{i}" for i in range(30)), targets=("y",), mean=(0.0,) * 30, scale=(1.0,) * 30)
    shown = repr(SavedModel(network, sign))
    assert shown == f"SavedModel({network!r} of y from x0, x1, x2, x3 and 26 more)"
    assert repr(SavedModel(network, None)) == f"SavedModel({network!r})"
