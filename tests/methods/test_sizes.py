"""How wide a family of activations is tried: what is not done twice, and where widening ends."""

import numpy as np
import pytest

from planted.datasets import make_planted
from planted.methods import Free, Problem
from planted.methods._choose import _Contest
from planted.methods._comparison import Entry
from planted.methods._question import Question
from planted.methods._screen import Path
from planted.methods._sizes import LESS


def contest_of(shift=0.0):
    data = make_planted(300, 3, 2, activation="tanh", noise=0.1, random_state=0)
    contest = _Contest(Problem.of(data.X + shift, data.y, 1), Question())
    return contest, next(family for family in contest.question.families(3) if family.name == "tanh")


def test_a_start_is_tried_once(monkeypatch):
    contest, family = contest_of()
    path, descents, descend = contest.path(family, 0), [], Path._descend
    monkeypatch.setattr(Path, "_descend", lambda self, hidden: descents.append(1) or descend(self, hidden))
    path.retry(2, 3, 1)
    made = len(descents)
    path.retry(2, 3, 1)
    assert made > 0
    assert len(descents) == made
    path.retry(2, 3, 2)
    assert len(descents) > made


@pytest.mark.parametrize(
    ("losses", "tried"), [({16: 3.0, 32: 2.0, 64: 1.0, 128: 0.5}, 128), ({16: 3.0, 32: 2.0, 24: 0.5}, 32)]
)
def test_neurons_become_fewer_once_and_no_more_where_fewer_are_clearly_better(monkeypatch, losses, tried):
    """From 8 on, twice as many each time, while rows held out gain; of 32 here 24 explain them better."""
    contest, family = contest_of()
    entries, asked, narrowed = {}, [], []

    def wide(_, width):
        squares = np.full(len(contest.share), losses.get(width, 4.0)) * (
            1 + 0.01 * np.sin(np.arange(len(contest.share)))
        )
        asked.append(width)
        return entries.setdefault(
            width, Entry(family, family.members[0], width, contest.question.allowed, width, squares, [])
        )

    monkeypatch.setattr(contest, "wide", wide)
    monkeypatch.setattr(contest, "best_of", lambda _: wide(family, 8))
    monkeypatch.setattr(contest, "most", lambda _: 128)
    monkeypatch.setattr(contest, "structured", lambda _: True)
    monkeypatch.setattr(contest, "narrow", lambda _: narrowed.append(1))
    contest.widen(family)
    assert max(asked) == tried
    assert narrowed == [1]


def test_a_kind_that_is_far_behind_in_the_first_fold_is_fitted_to_no_other():
    """Inputs away from zero need biases."""
    contest, family = contest_of(shift=1.0)
    contest.wide(family, 2)
    free = Free(intercept=True)
    sigmoid = family.members[1]
    assert len(contest.table.folds) > 1
    assert contest.plainly_less(family, sigmoid, 2, free)
    assert contest.dropped[-1].activation is sigmoid.activation
    assert (contest.dropped[-1].free, contest.dropped[-1].why) == (free, LESS)
    assert not contest.plainly_less(family, sigmoid, 2, Free(bias=True))
    made = [contest.path(family, fold).made for fold in range(len(contest.table.folds))]
    assert [len(fits) for fits in made[1:]] == [0] * (len(made) - 1)


def test_a_loss_in_some_rows_is_told_as_one_in_all_rows():
    """What is dropped after rows that are easier than others is listed behind the best one all the same."""
    contest, family = contest_of()
    best = contest.wide(family, 2)
    first = len(contest.path(family, 0).at(2).squares)
    best.squares[first:] *= 100
    contest.drop(family, 3, 1.5 * best.squares[:first], LESS)
    dropped = contest.dropped[-1]
    assert float(np.mean(1.5 * best.squares[:first])) < contest.loss(best) < dropped.loss
    assert dropped.loss - contest.loss(best) == pytest.approx(0.5 * float(np.mean(best.squares[:first])))
