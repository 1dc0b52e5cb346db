"""What the rows in which a neuron is active leave open of it."""

import numpy as np
import pytest

from planted import Network
from planted.methods._row_facts import open_neurons


def test_directions_that_only_late_rows_span_are_spanned():
    """The first rows lie in a plane; the last one leaves it."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:-1, 2] = 0.0
    network = Network([[0.1, 0.2, 5.0]], [1.0], "tanh")
    assert open_neurons(network, X) == ""
    assert open_neurons(network, X[:-1]) == "the rows in which neuron 1 is active span 2 of 3 directions, input 2"


@pytest.mark.parametrize("size", [1.0, 1e7])
def test_the_verdict_is_that_of_all_rows(size):
    """One late row so large that, beside it, the others count as rounding: looking at some rows must not hide it."""
    X = np.random.default_rng(0).standard_normal((500, 2))
    X[-1] = [size, size]
    network = Network([[1.0, 1.0]], [1.0])
    unit = X / np.sqrt(np.mean(X**2, axis=0))
    active = unit[X.sum(axis=1) > 0]
    values = np.linalg.eigvalsh(active.T @ active)
    assert (open_neurons(network, X) == "") == (values[0] > 1e-10 * values[-1])
