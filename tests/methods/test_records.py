"""The records of the methods, and what is derived from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planted import datasets, names
from planted.inputs import input_law
from planted.methods import FILTERS, LABELS, METHODS, Problem, methods_table
from planted.rows import block_rows, survey

DOCS = Path(__file__).parents[2] / "docs"


def test_names_are_those_of_the_records():
    assert tuple(METHODS) == names.METHODS
    for table in (METHODS, LABELS, FILTERS):
        assert all(name == method.name for name, method in table.items())


def test_the_documentation_has_the_table_of_the_records():
    assert methods_table() in (DOCS / "choosing.md").read_text()


@pytest.fixture(scope="module")
def spoilt():
    """A positive teacher, every second row spoilt and of no weight to speak of."""
    data = datasets.make_planted(2500, 4, 3, output="positive", random_state=0)
    wrong = np.arange(len(data.y)) % 2 == 1
    y = np.where(wrong, 3 * np.sin(5 * data.X[:, 0]) * data.X[:, 1], data.y)
    return data, y, np.where(wrong, 1e-9, 1.0)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if name not in ("auto", "quadratic")])
def test_row_weights_count_from_the_first_step(name, spoilt):
    """The start of every method, before any refinement, explains the rows that count."""
    data, y, weight = spoilt
    problem = Problem.of(data.X, y, 3, sample_weight=weight)
    problem = replace(problem, inputs=input_law("gaussian", data.X))
    assert METHODS[name].weighted
    network = METHODS[name].start(problem).network
    good = weight > 0.5
    left = np.mean((network.predict(data.X[good]) - data.y[good]) ** 2)
    assert left < 0.3 * np.var(data.y[good])


def test_the_matrix_of_a_quadratic_network_has_row_weights():
    data = datasets.make_planted(600, 4, 2, activation="quadratic", random_state=0)
    wrong = np.arange(600) % 2 == 1
    y, weight = np.where(wrong, 7.0, data.y), np.where(wrong, 1e-12, 1.0)
    start = METHODS["quadratic"].start(Problem.of(data.X, y, 2, "quadratic", sample_weight=weight))
    np.testing.assert_allclose(start.network.predict(data.X[~wrong]), data.y[~wrong], atol=1e-5)


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_scales_or_says_that_it_does_not(name):
    data = datasets.make_planted(60, 2, 1, random_state=0)
    rows = block_rows(data.X, data.y, chunk_rows=20)
    method = METHODS[name]
    if method.scales:
        method.check_source(in_chunks=True)
    else:
        problem = replace(Problem.of(data.X, data.y, 1), rows=rows, survey=survey(rows, 30))
        with pytest.raises(ValueError, match=f"method='{name}' needs all rows in memory at once"):
            method(problem)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.several_outputs])
def test_a_method_of_one_output_says_so(name):
    data = datasets.make_planted(60, 2, 1, random_state=0)
    with pytest.raises(ValueError, match=f"method='{name}' takes one output, not 2"):
        METHODS[name](Problem.of(data.X, np.column_stack([data.y, data.y]), 1))
