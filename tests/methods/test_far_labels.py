"""Labels of inputs far from zero, as years and addresses are."""

import numpy as np
import pytest
from scipy.special import expit

from planted.methods import Free, LabelProblem
from planted.methods._label_finish import label_uncertainty
from planted.methods._label_quick import quick_fit


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("link", "activation"), [("logit", "tanh"), ("mean", "sigmoid")])
def test_standard_errors_of_labels_do_not_depend_on_the_origin(link, activation, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((1000, 2))
    y = (rng.random(1000) < expit(3 * np.tanh(2 * Z[:, 0] + Z[:, 1]))).astype(float)
    free = Free(bias=True, intercept=link == "logit")
    at = [LabelProblem.of(Z + shift, y, 1, activation, link=link, free=free) for shift in (0.0, 3e4)]
    here = quick_fit(at[0])
    there = here.replace(bias=here.bias - 3e4 * here.weights.sum(axis=1))
    near, far = (label_uncertainty(one, one.params(net)) for one, net in zip(at, (here, there), strict=True))
    assert near.determined
    assert far.determined
    np.testing.assert_allclose(far.errors["weights"], near.errors["weights"], rtol=1e-4)
    assert far.expected_error == pytest.approx(near.expected_error, rel=1e-4)
