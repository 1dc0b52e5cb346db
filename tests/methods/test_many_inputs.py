"""Few neurons of many inputs, where wider networks would have almost as many weights as there are rows."""

import numpy as np
import pytest

from planted import datasets, match
from planted.methods import Problem, _screen_directions, _second_order
from planted.methods._choose import _Contest, choose
from planted.methods._facts import EXACT
from planted.methods._problem import Free
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


def test_neurons_without_biases_are_looked_at_where_those_with_biases_lie():
    """Squares in the span of three others' neurons are far behind, and not fitted in all inputs."""
    data = datasets.make_planted(1800, 160, 2, activation="tanh", weights="gaussian", output="mixed", random_state=1)
    contest = _Contest(Problem.of(data.X + 3.0, data.y + 1.0, 1), Question())
    families = {family.name: family for family in contest.question.families(160)}
    assert not contest.hopeless(families["tanh"], 2)
    contest.wide(families["tanh"], 2)
    assert contest.spanned(families["quadratic"], 2)
    assert not contest.path(families["quadratic"], 0).fits
    leader = contest.path(families["tanh"], 0).at(2)
    carried = contest.table.carried(leader, False)
    here, there = (contest.table.space(bias) for bias in (True, False))
    weights = here.layer(leader.hidden, True)[0]
    np.testing.assert_allclose(there.layer(carried.hidden, False)[0], weights, atol=1e-9)
    slopes = leader.linear[:, : here.rank] @ here.whitener.T
    np.testing.assert_allclose(carried.linear @ there.whitener.T, slopes, atol=1e-9)


def test_starts_in_few_directions_end_where_two_agree(monkeypatch):
    starts = []
    drawn = _screen_directions.random_rows
    monkeypatch.setattr(_screen_directions, "random_rows", lambda *given: starts.append(1) or drawn(*given))
    data = datasets.make_planted(1500, 160, 1, activation="tanh", weights="gaussian", random_state=1)
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    tanh = next(family for family in contest.question.families(160) if family.name == "tanh")
    contest.path(tanh, 0).at(1)
    assert len(starts) == 2


def test_a_neuron_that_few_directions_hardly_show_is_found():
    """From directions of third moments alone one of three stays away; one neuron more brings it."""
    data = datasets.make_planted(1600, 160, 3, activation="sigmoid", weights="gaussian", output="mixed", random_state=7)
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    tanh = next(family for family in contest.question.families(160) if family.name == "tanh")
    assert contest.path(tanh, 0).at(3).loss <= EXACT


def test_families_that_look_alike_begin_from_what_is_left_of_another(monkeypatch):
    """A look in the span of tanh neurons, and of a linear part that goes away again, does not tell erf ones apart."""
    data = datasets.make_planted(
        1800, 160, 2, activation="erf", weights="gaussian", output="mixed", noise=0.05, random_state=6
    )
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    alike = [family for family in contest.question.families(160) if family.name in ("tanh", "erf")]
    monkeypatch.setattr(Question, "families", lambda *_: alike)
    assert contest.choice().chosen.name == "2 erf neurons"


@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_a_kink_that_is_as_likely_ties_with_a_steep_smooth_neuron(activation):
    """Rows held out prefer a smooth neuron where the place of the kink is not known precisely."""
    data = datasets.make_planted(600, 3, 1, activation=activation, weights="gaussian", noise=0.05, random_state=0)
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    families = {family.name: family for family in contest.question.families(3)}
    kinked, smooth = (
        contest.entry(families[name], families[name].members[0], 1, Free(False, False, False))
        for name in ("relu", "softplus")
    )
    smooth.squares = 0.95 * np.minimum(kinked.squares, smooth.squares)
    assert contest.settled([kinked, smooth]) is (kinked if activation == "relu" else smooth)


def test_a_fit_to_all_rows_is_made_once():
    data = datasets.make_planted(300, 3, 1, activation="tanh", noise=0.1, random_state=1)
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    tanh = next(family for family in contest.question.families(3) if family.name == "tanh")
    entry = contest.wide(tanh, 1)
    path, free = contest.path(tanh, 0), contest.question.allowed
    assert contest.on_all(entry) is contest.on_all(entry)
    assert path.member(1, tanh.members[1], free) is path.member(1, tanh.members[1], free)
