"""Few neurons of many inputs, where wider networks would have almost as many weights as there are rows."""

import pytest

from planted import datasets, match
from planted.methods import Problem, _second_order
from planted.methods._choose import choose
from planted.methods._question import Question
from planted.methods.regression import expand


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("spanned", [False, True])
def test_odd_neurons_of_many_inputs_descend_as_they_are(monkeypatch, noise, spanned):
    """From directions that third moments show, or from anywhere; runs that start too wide end in other networks."""
    monkeypatch.setattr(_second_order, "_AFFORDABLE", 0)
    if not spanned:
        monkeypatch.setattr(expand, "subspace_runs", lambda _: 0)
    data = datasets.make_planted(
        900, 90, 2, activation="tanh", weights="gaussian", output="mixed", noise=noise, random_state=1
    )
    result = expand.METHOD(Problem.of(data.X, data.y, 2, "tanh"))
    names = [name for name in result.descents if name.startswith("width") or name == "all inputs"]
    assert names == (["width 3", "width 2", "all inputs"] if spanned else ["width 2"])
    assert match(result.network, data.teacher).weight_error < (0.3 if noise else 1e-9)


def test_odd_neurons_of_many_inputs_are_chosen_where_nothing_is_known():
    """Their span is found first; narrower and other networks are looked at there, and said to be."""
    data = datasets.make_planted(1800, 160, 2, activation="tanh", weights="gaussian", output="mixed", random_state=1)
    choice = choose(Problem.of(data.X, data.y, 1), Question())
    assert choice.chosen.name == "2 tanh neurons"
    assert "far behind where 2 of them lie" in [one.why for one in choice.candidates if one.name.startswith("1 tanh")]
