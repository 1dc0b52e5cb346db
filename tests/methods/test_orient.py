"""Signs that add up to a given sum."""

import numpy as np
import pytest

from planted.methods._orient import one_sided, signs_of_sum


@pytest.mark.parametrize(("rows", "columns"), [(10, 8), (10, 16), (10, 24), (6, 26)])
def test_signs_are_those_of_the_sum(rows, columns):
    rng = np.random.default_rng(columns)
    table, truth = rng.standard_normal((rows, columns)), rng.choice([-1.0, 1.0], columns)
    assert np.array_equal(signs_of_sum(table, table @ truth), truth)


def test_signs_of_an_inexact_sum_are_near():
    rng = np.random.default_rng(0)
    table, truth = rng.standard_normal((10, 16)), rng.choice([-1.0, 1.0], 16)
    assert np.array_equal(signs_of_sum(table, table @ truth + 1e-3), truth)


@pytest.mark.parametrize("count", [3, 10, 20])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_signs_that_leave_one_side(side, count):
    """Neurons of one half of the signs, and what they leave of a linear function that is positive."""
    rng = np.random.default_rng(count)
    terms = rng.standard_normal((300, count))
    truth = np.where(np.arange(count) % 2, 1.0, -1.0)
    linear = terms @ truth + side * rng.uniform(0.01, 0.1, 300)
    assert np.array_equal(one_sided(terms, linear), truth)
    assert one_sided(terms, linear, turned=True) is not None
    assert one_sided(terms * truth, linear, turned=True) is None
    assert one_sided(terms, terms @ truth + rng.standard_normal(300)) is None


def test_signs_are_turned_together_where_none_can_be_alone():
    rng = np.random.default_rng(3)
    terms = rng.standard_normal((300, 12))
    terms[:, 4] = -terms[:, 2] - terms[:, 3] + 0.01 * terms[:, 5]
    signs = one_sided(terms, terms.sum(axis=1) + 1.0, turned=True)
    assert np.flatnonzero(signs < 0).tolist() == [2, 3, 4]
