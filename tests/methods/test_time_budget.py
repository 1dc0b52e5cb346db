"""What a time budget leaves time for. No test depends on speed: the clock is the test's own."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from planted import Network, PlantedClassifier, PlantedRegressor
from planted.methods import METHODS, Facts, Free, LabelProblem, Problem, agreeing, certificate, judge
from planted.methods import _logistic as logistic
from planted.methods import _smaller as smaller
from planted.methods._baselines import LeftOut
from planted.methods._label_held_out import label_held_out
from planted.methods._observations import observations
from planted.numerics import deadline
from planted.objectives import Objective
from planted.solvers._iterate import Solver, iterate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 3))
NOISE = RNG.standard_normal(200)


class Clock:
    """Shows what it is set to."""

    def __init__(self):
        self.shows = 0.0

    def __call__(self):
        return self.shows


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "now", made)
    return made


def test_searches_polish_and_measurements_have_shares_of_the_budget(clock):
    with deadline.time_budget(10.0):
        for seconds, expected in [
            (5.9, (False, False, False)),
            (6.1, (True, False, False)),
            (8.6, (True, True, False)),
        ]:
            clock.shows = seconds
            with deadline.until(deadline.POLISH) as late:
                polished = deadline.passed()
                with deadline.until(deadline.MEASURE):
                    measured = deadline.passed()
                assert deadline.passed() == polished
            assert (late, polished, measured) == expected
        clock.shows = 10.0
        with deadline.until(deadline.MEASURE):
            assert deadline.passed()
    assert not deadline.passed()


def test_neurons_are_taken_away_only_while_there_is_time(clock, monkeypatch):
    """Four equal neurons, of which one is enough: each descent takes as long as the budget allows in all."""
    wide = Network(np.repeat([[1.0, 0.5, 0.0]], 4, axis=0), [0.1, 0.2, 0.3, 0.4], "tanh")
    problem = Problem.of(X, wide.predict(X) + 0.1 * NOISE, 4, "tanh")
    left = LeftOut.of(observations(problem.survey), len(X))
    descend, calls = smaller.refine, []

    def slow(*args):
        calls.append(args)
        fitted = descend(*args)
        clock.shows += 0.7
        return fitted

    monkeypatch.setattr(smaller, "refine", slow)
    assert smaller.fewer_neurons(problem, wide, left, None).n_hidden == 1
    assert len(calls) == 3
    clock.shows = 0.0
    with deadline.time_budget(1.0), deadline.until(deadline.MEASURE):
        assert smaller.fewer_neurons(problem, wide, left, None).n_hidden == 2
        assert len(calls) == 5
        assert smaller.fewer_neurons(problem, wide, left, None) is None
    assert len(calls) == 5


def test_logistic_regression_beside_a_network_is_left_out_once_the_time_is_over(clock, monkeypatch):
    problem = LabelProblem.of(X, (X[:, 0] + NOISE > 0).astype(float), 1, "tanh", link="logit")
    network, fits, slopes = Network([[1.0, 0.0, 0.0]], [1.0], "tanh"), [], logistic._slopes

    def slow(*args):
        fits.append(args)
        clock.shows += 0.4
        return slopes(*args)

    monkeypatch.setattr(logistic, "_slopes", slow)
    with deadline.time_budget(1.0), deadline.until(deadline.MEASURE):
        late = label_held_out(problem, network, 4)
    assert len(fits) == 3
    assert late["unmeasured"] == ("rivals",)
    assert "linear_loss" not in late
    whole = label_held_out(problem, network, 4)
    assert late["network_loss"] == whole["network_loss"]
    assert "unmeasured" not in whole


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (PlantedRegressor(3, "tanh"), "whether fewer neurons would do"),
        (PlantedClassifier(1, "tanh", link="logit"), "whether logistic regression predicts as well"),
    ],
)
def test_what_there_was_no_time_for_is_said(estimator, said):
    y = np.tanh(X @ [1.0, 2.0, 0.0]) + 0.1 * NOISE
    target = (y > 0.5 * NOISE).astype(float) if isinstance(estimator, PlantedClassifier) else y
    result = estimator.set_params(time_budget=1e-6, random_state=0).fit(X, target).result_
    assert f"no time was left to see {said}" in result.reason
    assert "the search was stopped to keep the time budget" in result.reason
    assert result.advice.startswith("Give a larger time_budget.")


def test_a_measurement_that_was_left_out_is_said_where_the_search_was_done():
    said = judge(Facts(0.01, np.inf, 100, 10, p_value=0.4, unmeasured=("fewer",)))
    assert said.reason.endswith("; no time was left to see whether fewer neurons would do")
    assert said.advice == "Give a larger time_budget."


class Steps(Solver):
    """Steps towards zero that take so many seconds each by a clock."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.taken = clock, seconds, 0

    def init(self, problem, params):
        return SimpleNamespace(value=float(params), gradient_norm=1.0)

    def step(self, state, count):
        self.clock.shows += self.seconds
        self.taken += 1
        return state.value / 2

    def accept(self, state, trial):
        state.value = trial

    def terminate(self, state):
        return None

    def params(self, state):
        return state.value


@pytest.mark.parametrize(("began", "seconds", "steps"), [(0.0, 4.0, 1), (0.0, 2.5, 2), (0.0, 1.0, 5), (6.5, 0.1, 0)])
def test_no_step_begins_that_would_end_after_the_time(clock, began, seconds, steps):
    """Searches have six of ten seconds."""
    solver = Steps(clock, seconds)
    with deadline.time_budget(10.0):
        clock.shows = began
        run = iterate(solver, None, 1.0, steps=20)
    assert (solver.taken, run.n_steps, run.params) == (steps, steps, 0.5**steps)
    assert iterate(solver, None, 1.0, steps=20).n_steps == 20


@pytest.mark.parametrize(("shows", "product", "kind"), [(0.0, 0.0, "global"), (10.5, 0.0, "open"), (9.0, 0.2, "open")])
def test_a_certificate_is_made_where_there_is_time_for_it(clock, monkeypatch, shows, product, kind):
    """Sixteen numbers take as many products with the Hessian; of 0.2 s each these take longer than the second left."""
    problem = Problem.of(X, Network(np.eye(3) + 0.1, [1.0, 2.0, 1.0]).predict(X), 3, free=Free(True, True))
    result = METHODS["expand"](problem)
    multiply = Objective.hvp

    def slow(*args):
        clock.shows += product
        return multiply(*args)

    monkeypatch.setattr(Objective, "hvp", slow)
    with deadline.time_budget(10.0):
        clock.shows = shows
        made = certificate(problem, result)
    if kind == "global":
        assert made.kind == "global minimum"
        return
    assert (made.kind, made.reason) == ("undecided", "no time was left to look at the loss around it")
    assert made.value == pytest.approx(result.loss, abs=1e-15)
    left = judge(Facts(0.1, np.inf, 200, 16, p_value=0.5))
    words = "whether this is a minimum is open: no time was left to look at the loss around it"
    assert agreeing(left, made, 200).reason.endswith(words)


@pytest.mark.parametrize("labels", [False, True])
def test_that_no_neuron_is_needed_is_said_only_where_networks_were_compared(labels):
    losing = {"network_loss": 0.3, "linear_loss": 0.2, "mean_loss": 1.0, "unbeaten": ("linear",), "n_hidden": 1}
    for parts in ({"without_neurons": "linear"}, losing):
        facts = Facts(0.1, np.inf, 1000, 11, p_value=0.5, labels=labels, **parts)
        assert "no neuron is needed" in judge(facts).reason
        late = judge(replace(facts, late=True))
        assert late.status == "ambiguous"
        assert "no neuron is needed" not in late.reason
        assert "whether neurons are needed is not known" in late.reason
        assert late.advice.startswith("Give a larger time_budget.")
    exact = Facts(1e-30, 1e-15, 1000, 11, without_neurons="linear", late=True)
    assert judge(exact).status == "recovered"


def test_a_linear_function_taken_for_want_of_time_is_not_estimated():
    result = PlantedRegressor(time_budget=1e-6, random_state=0).fit(X, X[:, 0] + 0.5 * NOISE).result_
    assert (result.status, result.network.n_hidden) == ("ambiguous", 0)
    assert "no neuron is needed" not in result.reason
