"""Signs that add up to a given sum."""

import numpy as np
import pytest

from planted.methods._orient import signs_of_sum


@pytest.mark.parametrize(("rows", "columns"), [(10, 8), (10, 16), (10, 24), (6, 26)])
def test_signs_are_those_of_the_sum(rows, columns):
    rng = np.random.default_rng(columns)
    table, truth = rng.standard_normal((rows, columns)), rng.choice([-1.0, 1.0], columns)
    assert np.array_equal(signs_of_sum(table, table @ truth), truth)


def test_signs_of_an_inexact_sum_are_near():
    rng = np.random.default_rng(0)
    table, truth = rng.standard_normal((10, 16)), rng.choice([-1.0, 1.0], 16)
    assert np.array_equal(signs_of_sum(table, table @ truth + 1e-3), truth)
