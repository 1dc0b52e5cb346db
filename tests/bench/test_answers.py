"""The judge of benchmarks/bench_tables.py tells true answers from false ones."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import answers
import tables
from planted import Network


def answer(network, status, reason="", uncertainty=None):
    """What the judge looks at of a fitted estimator."""
    verdict = SimpleNamespace(success=status in ("recovered", "estimated"))
    result = SimpleNamespace(status=status, reason=reason, advice="", verdict=verdict, uncertainty=uncertainty)
    return SimpleNamespace(network_=network, result_=result, predict=network.predict)


def table_of(name):
    return tables.KINDS[name].draw(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "other"), [("sigmoid", "tanh"), ("abs", "relu"), ("leaky relu", "abs"), ("leaky relu", "leaky_relu")]
)
def test_a_network_may_be_written_by_another_activation_of_its_family(name, other):
    table = table_of(name)
    same = answers.unbase(answers.base(table.teacher), other)
    assert same.activation.name == other
    np.testing.assert_allclose(same.predict(table.fresh), table.fresh_truth, atol=1e-12)
    kind = tables.KINDS[name]
    assert answers.judged(kind, table, answer(same, "recovered"), {})[0] == "true"
    moved = same.replace(weights=same.weights * 1.01)
    assert answers.judged(kind, table, answer(moved, "recovered"), {})[0] == "false"


@pytest.mark.parametrize(
    ("name", "status", "reason", "judged"),
    [
        ("noise, 300 rows", "estimated", "the network explains 3 % of the variance", "false"),
        ("noise, 300 rows", "misfit", "not better than the mean", "true"),
        ("linear", "recovered", "the network explains every row", "false"),
        ("relu, too few rows", "ambiguous", "14 rows do not determine the weights", "true"),
        ("relu, too few rows", "estimated", "one linear function explains this, no neuron is needed", "false"),
        ("two hidden layers", "estimated", "the rest is noise", "false"),
        ("relu", "estimated", "the rest is noise", "false"),
    ],
)
def test_a_wrong_sentence_is_false(name, status, reason, judged):
    table = table_of(name)
    network = Network(0.1 * np.ones((1, table.X.shape[1])), [0.1])
    assert answers.judged(tables.KINDS[name], table, answer(network, status, reason), {})[0] == judged


def test_stated_errors_are_held_against_the_teacher():
    table = table_of("relu, noise")
    teacher = table.teacher.canonical()
    shifted = teacher.replace(weights=teacher.weights[::-1] + 0.01, output=teacher.output[::-1]).canonical()
    for size, outside in ((0.01, False), (0.001, True)):
        errors = {name: np.full(np.shape(getattr(shifted, name)), size) for name in ("weights", "output")}
        estimate = {name: getattr(shifted, name) for name in errors}
        stated = SimpleNamespace(network=shifted, errors=errors, estimate=estimate)
        chance = answers.outside(answer(shifted, "estimated", uncertainty=stated), table)
        assert (chance < answers.SURPRISE) == outside
