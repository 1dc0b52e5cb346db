"""Activation, width and parts that are left open: what is chosen, and what is said of it."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_linnerud
from sklearn.exceptions import ConvergenceWarning

from planted import Network, PlantedRegressor, activations, certify, load, match
from planted.cli import main
from planted.datasets import make_planted, write_table
from planted.methods import Free, Problem, Question, choose
from planted.methods._choice import Candidate, Choice
from planted.methods._choose import _Contest
from planted.methods._comparison import Comparison, Entry
from planted.methods._families import families
from planted.methods._reason import UNCLEAR, reason_of
from planted.methods._screen_rows import Table
from planted.methods._small_table import explaining
from planted.methods._squares import square_rows
from planted.objectives import Squared
from planted.solvers import SeparableRows


def rows(n=700, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


WEIGHTS = np.array([[1.2, -0.5, 0.3], [-0.4, 0.9, 1.0]])
BIAS, OUTPUT = np.array([0.5, -0.8]), np.array([1.5, -1.0])


@pytest.mark.parametrize(
    ("activation", "bias", "intercept", "skip"),
    [
        ("relu", False, 0.7, False),
        ("relu", True, 0.0, True),
        ("abs", True, 0.0, False),
        ("tanh", True, 0.7, False),
        ("sigmoid", True, 0.0, False),
        ("quadratic", False, 0.0, False),
        ("softplus", True, 0.0, False),
    ],
)
def test_the_kind_of_network_is_read_off_rows_without_noise(activation, bias, intercept, skip):
    X = rows(seed=1)
    linear = np.array([0.3, -1.0, 0.6]) if skip else None
    teacher = Network(WEIGHTS, OUTPUT, activation, BIAS if bias else None, intercept, linear)
    chosen = choose(Problem.of(X, teacher.predict(X), 1), Question()).chosen
    assert (chosen.activation.name, chosen.n_hidden) == (activation, 2)
    assert chosen.free == Free(bias, bool(intercept), skip)


@pytest.mark.parametrize("seed", [2, 3])
def test_squares_begin_from_the_matrix_that_explains_rows_best(seed):
    """Descents of more squares than there are end late: smooth neurons explained these rows to rounding before."""
    X = rows(seed=seed)
    y = activations.get("quadratic")(X @ WEIGHTS.T) @ OUTPUT
    assert choose(Problem.of(X, y, 1), Question()).chosen.name == "2 quadratic neurons"


@pytest.mark.parametrize("outputs", [1, 2])
def test_rows_of_squares_span_those_of_the_teacher(outputs):
    X, W = rows(60, 4), rows(2, 4, 1)
    weight = np.sqrt(np.arange(1, 61))
    y = (X @ W.T) ** 2 @ np.array([[1.0, -0.5], [-2.0, 1.0]])[:, :outputs] + X[:, :1]
    made = square_rows(SeparableRows(X, X, y, activations.get("quadratic"), weight), 2)
    assert made.T @ (made @ W.T) == pytest.approx(W.T)
    assert square_rows(SeparableRows(X[:19], X[:19], y[:19], activations.get("quadratic")), 2) is None


def test_noisy_rows_of_a_kink_are_not_taken_for_a_smooth_relative():
    """Descents of kinked neurons stop early in noise; those of smooth ones that look alike lend them theirs."""
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((600, 4)), rng.standard_normal((3, 4))
    y = np.maximum(X @ W.T, 0) @ [1.0, -1.0, 2.0]
    y += 0.1 * np.random.default_rng(2).standard_normal(600)
    assert choose(Problem.of(X, y, 1), Question()).chosen.name == "3 relu neurons"


@pytest.mark.slow
def test_noisy_rows_of_kinks_with_biases_are_not_taken_for_steps():
    """relu6 and hard_tanh are relu where no row reaches their other kink, and their descents go further."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1200, 3))
    y = np.maximum(X @ WEIGHTS.T + BIAS, 0) @ OUTPUT + 4 + 0.1 * rng.standard_normal(1200)
    assert choose(Problem.of(X, y, 1), Question()).chosen.name == "2 relu neurons, biases, intercept"


@pytest.mark.slow
def test_the_likelier_of_two_steps_that_look_alike_is_chosen():
    """A finalist that ties by rows held out is compared by the likelihood of all rows: erf is not taken for tanh."""
    X = rows(2000, seed=5)
    y = activations.get("erf")(X @ (1.5 * WEIGHTS).T) @ OUTPUT + 0.02 * rows(2000, 1, 6)[:, 0]
    assert choose(Problem.of(X, y, 1), Question()).chosen.name == "2 erf neurons"


def test_a_family_that_begins_badly_from_another_one_begins_anew():
    """erf looks like tanh and begins from its neurons; where these lead it astray it has a start of its own."""
    X = rows(600)
    y = activations.get("erf")(X @ WEIGHTS.T) @ OUTPUT
    contest = _Contest(Problem.of(X, y, 1), Question())
    by_name = {family.name: family for family in families()}
    contest.wide(by_name["tanh"], 3)
    path = contest.path(by_name["erf"], 0)
    astray = path.at(3)
    path.fits[3] = replace(astray, loss=1.0, squares=astray.squares + 1.0)
    assert contest.hopeless(by_name["erf"], 3)
    assert contest.hopeful(by_name["erf"], 3)
    assert path.at(3).loss < 1e-20
    assert not contest.dropped
    assert not contest.hopeful(by_name["quadratic"], 3)


def test_kinks_that_another_family_explains_begin_from_its_neurons():
    """Of the two kinks of hard_tanh one lies beyond the rows; relu, whose own descent ended early, needs the other."""
    X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    problem = Problem.of(X, np.maximum(X @ [0.6, -0.3], 0) - np.maximum(X @ [0.2, 0.5] - 0.1, 0), 1)
    contest = _Contest(problem, Question())
    relu, hard = (next(one for one in families() if one.name == name) for name in ("relu", "hard_tanh"))
    contest.wide(relu, 2)
    for fold in range(len(contest.table.folds)):
        path = contest.path(relu, fold)
        path.fits[2] = replace(path.fits[2], loss=1.0, squares=path.fits[2].squares + 1.0)
        there = path.table.space(True).hidden(np.array([[0.6, -0.3], [0.2, 0.5]]), np.array([1.0, 0.9]))
        contest.path(hard, fold).begin(there)
    contest.forget(relu, 2)
    contest.wide(relu, 2)
    contest.wide(hard, 2)
    assert contest.exact(contest.best_of(hard))
    assert not contest.exact(contest.best_of(relu))
    assert contest.with_a_kink([hard]) == [relu, hard]
    assert contest.exact(contest.best_of(relu))


def test_inputs_that_add_up_to_one_take_the_place_of_biases():
    X = np.column_stack([np.eye(3)[np.random.default_rng(1).integers(3, size=600)], rows(600, 2)])
    weights = np.array([[1.0, -0.4, 0.3, 1.2, -0.5], [-0.3, 0.8, 0.1, 0.4, 1.0]])
    est = PlantedRegressor(random_state=0).fit(X, np.maximum(X @ weights.T, 0) @ OUTPUT)
    assert (est.choice_.chosen.name, est.result_.status) == ("2 relu neurons", "recovered")
    assert match(est.network_, Network(weights, OUTPUT)).weight_error < 1e-9
    stand = "determine it if it has no biases, for which the inputs 0, 1, 2, of which a combination is constant, could"
    assert stand in est.result_.reason
    noisy = np.maximum(X @ weights.T, 0) @ OUTPUT + 0.1 * np.random.default_rng(2).standard_normal(600)
    drop = "To see whether there are biases, drop one of the inputs 0, 1, 2, of which a combination is constant."
    assert PlantedRegressor(2, activation="relu", random_state=0).fit(X, noisy).result_.advice == drop
    told = PlantedRegressor(2, activation="relu", fit_bias=False, random_state=0)
    assert "biases" not in told.fit(X, np.maximum(X @ weights.T, 0) @ OUTPUT).result_.reason


def test_a_linear_function_of_few_rows_is_not_said_to_need_no_neuron():
    X = rows(14)
    y = X @ [1.0, 2.0, -1.0] + 0.3 * np.random.default_rng(1).standard_normal(14)
    with pytest.warns(match="too few to tell one linear function from a network with neurons"):
        est = PlantedRegressor(random_state=0).fit(X, y)
    assert (est.n_hidden_, est.result_.status) == (0, "ambiguous")
    assert "no neuron is needed" not in est.result_.reason


def test_squares_that_are_compared_with_kinks_do_not_lend_them_neurons_of_another_shape():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.5 * rng.standard_normal(300) + 2
    assert choose(Problem.of(X, y, 1), Question()).chosen.name == "linear function, intercept"


def test_networks_wider_than_the_comparison_affords_are_looked_for_by_the_width_search(monkeypatch):
    monkeypatch.setattr("planted.methods._sizes._AFFORDABLE", 8)
    rng = np.random.default_rng(3)
    X, W = rng.standard_normal((800, 3)), rng.standard_normal((5, 3))
    made = choose(Problem.of(X, np.maximum(X @ W.T, 0) @ [1.0, -1.0, 2.0, 1.5, -0.7], 1), Question())
    assert made.chosen.name == "5 relu neurons"
    assert "wider than the comparison" in made.reason
    assert made.network is None


def test_inputs_of_any_scale_and_mean_and_several_targets_are_recovered():
    X = rows() * [1e4, 1.0, 1e-4] + [3e4, -7.0, 0.0]
    scaled = (X - [3e4, -7.0, 0.0]) / [1e4, 1.0, 1e-4]
    y = np.maximum(scaled @ WEIGHTS.T + BIAS, 0) @ np.array([[1.0, 2.0], [-1.0, 0.5]]) + [3.0, 0.0]
    est = PlantedRegressor(random_state=0).fit(X, y)
    assert est.result_.status == "recovered"
    assert est.choice_.chosen.name == "2 relu neurons, biases, intercept"


@pytest.mark.parametrize(("intercept", "noise"), [(0.0, 0.0), (3.0, 0.0), (3.0, 0.5)])
def test_a_linear_truth_is_called_linear(intercept, noise, tmp_path):
    X = rows(100)
    y = X @ [1.0, 2.0, -1.0] + intercept + noise * np.random.default_rng(1).standard_normal(100)
    est = PlantedRegressor(random_state=0).fit(X, y)
    assert est.result_.status == ("estimated" if noise else "recovered")
    assert "one linear function explains this, no neuron is needed" in est.result_.reason
    assert est.n_hidden_ == 0
    assert est.certificate_.kind == "global minimum"
    free = {"intercept": bool(intercept)}
    columns = np.column_stack([X, np.ones(100)]) if intercept else X
    solution = np.linalg.lstsq(columns, y, rcond=None)[0]
    np.testing.assert_allclose(est.network_.skip, solution[:3], atol=1e-9)
    assert free["intercept"] == bool(est.network_.intercept)
    np.testing.assert_allclose(load(est.save(tmp_path / "model")).predict(X), est.predict(X))
    assert match(est.network_, est.network_).weight_error == 0
    assert "linear: x0" in str(est.summary())


def test_a_linear_function_that_rows_left_out_do_not_show_gives_way_to_their_mean():
    """What is said, that nothing is better than the mean, is what is predicted."""
    X, y = load_linnerud(return_X_y=True)
    some = np.random.default_rng(3).permutation(20)[:15]
    with pytest.warns(ConvergenceWarning, match="better than their mean"):
        est = PlantedRegressor(random_state=0).fit(X[some], y[some])
    np.testing.assert_allclose(est.predict(X), np.tile(y[some].mean(axis=0), (20, 1)))
    linear = next(one for one in est.choice_.candidates if one.free.skip and one.free.intercept and not one.n_hidden)
    assert linear.why == "not clearly better than the mean on rows left out"


def test_noise_alone_is_explained_by_its_mean():
    y = np.random.default_rng(1).standard_normal(100)
    est = PlantedRegressor(random_state=0).fit(rows(100), y)
    assert est.choice_.chosen.name == "constant"
    assert "better than their mean" in est.result_.reason
    np.testing.assert_allclose(est.predict(rows(5)), np.mean(y))


@pytest.mark.parametrize("seed", range(3))
def test_the_width_is_that_of_the_model_that_is_returned(seed):
    X = rows(300, seed=seed)
    est = PlantedRegressor(activation="relu", fit_bias=False, fit_intercept=False, fit_skip=False, random_state=0)
    est.fit(X, X @ [1.0, 2.0, -1.0])
    assert est.n_hidden_ == 2
    assert est.result_.relative_loss < 1e-20


def test_a_time_budget_that_runs_out_is_told():
    X = rows()
    y = np.tanh(X @ WEIGHTS.T) @ OUTPUT
    est = PlantedRegressor(random_state=0, time_budget=1e-9).fit(X, y)
    assert "stopped to keep the time budget" in est.result_.reason
    assert est.choice_.out_of_time
    with pytest.raises(ValueError, match="time_budget must be a positive number"):
        PlantedRegressor(time_budget=0).fit(X, y)
    with pytest.raises(ValueError, match="fit_bias must be True, False or 'auto'"):
        PlantedRegressor(fit_bias="yes").fit(X, y)


def test_the_command_line_needs_nothing_and_shows_the_table(tmp_path, capsys):
    X = rows()
    path = write_table(tmp_path / "data.csv", X, np.tanh(X @ WEIGHTS.T + BIAS) @ OUTPUT)
    with pytest.raises(SystemExit) as stop:
        main(["fit", str(path), "--json", "--quiet"])
    report = json.loads(capsys.readouterr().out)
    assert stop.value.code == 0
    assert report["status"] == "recovered"
    chosen = [one for one in report["choice"]["candidates"] if one["chosen"]]
    assert [(one["activation"], one["n_hidden"], one["bias"]) for one in chosen] == [("tanh", 2, True)]


def test_a_linear_function_is_a_minimum_of_a_convex_loss():
    X = rows(50)
    params = {"weights": np.zeros((0, 3)), "output": np.zeros(0), "skip": np.array([1.0, 2.0, -1.0])}
    loss = Squared(X, X @ [1.0, 2.0, -1.0], skip=True)
    assert certify(loss, params).kind == "global minimum"
    assert certify(loss, params | {"skip": np.ones(3)}).kind == "not critical"


@pytest.mark.parametrize("name", ["gelu", "silu", "relu6", "hard_tanh", "hard_sigmoid"])
def test_activations_on_the_host_are_those_of_jax(name):
    act, z = activations.get(name), np.linspace(-8.05, 8.05, 101)
    assert act.on_host
    with jax.enable_x64(True):
        for order in range(3):
            np.testing.assert_allclose(
                act.derivative(z, order), act.derivative(jax.numpy.asarray(z), order), atol=1e-12
            )


@pytest.mark.parametrize(("noise", "n_hidden"), [(0.0, "auto"), pytest.param(0.1, 2, marks=pytest.mark.slow)])
def test_few_neurons_of_many_inputs_are_found_where_little_is_known(noise, n_hidden):
    data = make_planted(2400, 160, 2, weights="gaussian", output="mixed", noise=noise, random_state=3)
    est = PlantedRegressor(n_hidden, random_state=0).fit(data.X, data.y)
    assert est.choice_.chosen.name == "2 relu neurons"
    assert est.result_.status == ("estimated" if noise else "recovered")
    assert match(est.network_, data.teacher).weight_error < (0.1 if noise else 1e-10)


def test_a_smooth_truth_of_many_inputs_is_not_taken_for_a_kink():
    data = make_planted(2400, 160, 2, activation="softplus", weights=3 * rows(2, 160) / 160**0.5, random_state=4)
    est = PlantedRegressor(2, random_state=0).fit(data.X, data.y)
    assert (est.choice_.chosen.name, est.result_.status) == ("2 softplus neurons", "recovered")


@pytest.mark.slow
def test_odd_neurons_of_many_inputs_do_not_begin_so_wide_that_a_linear_function_wins():
    data = make_planted(4000, 200, 2, activation="tanh", weights="gaussian", output="mixed", random_state=11)
    est = PlantedRegressor(random_state=0).fit(data.X, data.y)
    assert (est.choice_.chosen.name, est.result_.status) == ("2 tanh neurons", "recovered")


def test_neurons_beside_a_linear_part_are_as_many_as_there_are():
    """In noise one of four tanh neurons is nearly linear, or two cancel: a narrower network has to be looked for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    weights = np.array([[1.0, 0.6, 0, 0.5], [-0.5, 1.2, 0.75, 0], [0.2, -0.8, 0.5, 1.2]])
    hidden = np.tanh(X @ weights.T + [1.1, 0.3, -1.6])
    y = hidden @ [2.0, -1.5, 1.0] + 4 + X @ [0, 0, 0.5, -0.5] + 0.1 * rng.normal(size=700)
    est = PlantedRegressor(activation="tanh", random_state=0).fit(X, y)
    assert est.choice_.chosen.name == "3 tanh neurons, biases, intercept, linear part"


def test_families_that_look_alike_do_not_crowd_out_another_shape():
    """At a first width of too many neurons softplus, silu and gelu may all be ahead of the tanh that made the rows."""
    X = rows(300)
    contest = _Contest(Problem.of(X, np.tanh(X[:, 0]) + 0.1 * rows(300, 1)[:, 0], 1), Question())
    by_name = {family.name: family for family in families()}
    size = np.ones(len(contest.share))
    names = ["silu", "softplus", "gelu", "tanh", "erf"]
    for place, name in enumerate(names):
        family = by_name[name]
        entry = Entry(family, family.members[0], 8, Question().allowed, 50, size * (1 + 0.01 * place), [])
        contest.entries[family.members[0].activation, 8, Question().allowed] = entry
    assert [family.name for family in contest.near_best([by_name[name] for name in names])] == names


def test_the_sentence_names_what_is_simpler_and_explains_held_out_rows_as_well():
    """A line of six numbers is chosen above a quadratic neuron of five, which is not kept from the reader."""
    line = Candidate(None, 0, Free(intercept=True, skip=True), 6, 0.055, 0.008, chosen=True)
    bent = Candidate(activations.get("quadratic"), 1, Free(), 5, 0.05, 0.007, why="no neuron is needed")
    said = reason_of(line, [bent], lambda other: True, exact=False)
    assert "1 quadratic neuron, with fewer numbers, explains held-out rows as well" in said
    assert "nothing simpler" not in said


def test_the_reason_calls_nothing_as_good_that_held_out_rows_make_less_likely():
    tanh = activations.get("tanh")
    chosen, other = Candidate(tanh, 3, Free(), 12, 0.5, 0.01), Candidate(tanh, 1, Free(), 4, 0.51, 0.01, why=UNCLEAR)
    said = reason_of(chosen, [other], lambda other: True, exact=False)
    assert "1 tanh neuron, with fewer numbers, is not clearly worse, but held-out rows are less likely" in said
    assert "as well" not in said


def test_the_table_says_how_many_are_not_shown_and_always_has_the_linear_function_and_the_mean():
    names = ("relu", "leaky_relu", "abs", "quadratic", "squared_relu", "softplus", "sigmoid", "tanh", "erf", "gelu")
    others = [Candidate(activations.get(name), k, Free(), 4 * k, 0.1 * k, 0.01, why="less likely") for name in names
              for k in (1, 2, 3)]  # fmt: skip
    line, mean = (Candidate(None, 0, Free(False, True, skip), 1 + 3 * skip, 0.9 - 0.1 * skip, 0.01) for skip in (1, 0))
    best = Candidate(activations.get("tanh"), 1, Free(bias=True), 5, 0.01, 0.01, chosen=True, why="chosen")
    choice = Choice((line, mean, best, *others), "it is best")
    shown = choice.shown()
    assert shown[0] is best
    assert line in shown
    assert mean in shown
    assert len(shown) < len(choice.candidates)
    assert str(choice).splitlines()[-1] == f"   {len(choice.candidates) - len(shown)} more were compared"
    assert str(Choice((line, mean, best), "it is best")).endswith("0.9 ± 0.01")


def test_a_width_search_that_finds_no_wider_network_says_nothing_of_width(monkeypatch):
    """Losses on other held-out rows are no reason to leave the comparison, and one neuron is not wider than it."""
    X = rows(60)
    made = Candidate(activations.get("tanh"), 1, Free(True, True, True), 9, 1e-3, np.nan, True)
    monkeypatch.setattr("planted.methods._choose.wider_network", lambda *_: made)
    contest = _Contest(Problem.of(X, X[:, 0] + 0.3 * rows(60, 1)[:, 0], 1), Question())
    monkeypatch.setattr(contest, "most", lambda family: 1)
    assert contest.wider(contest.compare_families()) is None


@pytest.mark.parametrize("seed", [8, 9, 43])
def test_a_simpler_network_that_held_out_rows_prefer_needs_no_f_test(seed):
    # Three rows a number: biases, an intercept or a linear part are there by the F-test on all rows.
    data = make_planted(60, 8, 2, activation="tanh", weights="gaussian", output="mixed", noise=0.3, random_state=seed)
    question = Question(activation=activations.get("tanh"), n_hidden=2)
    assert choose(Problem.of(data.X, data.y, 2), question).chosen.name == "2 tanh neurons"


def test_a_width_that_was_given_is_not_said_to_be_needed():
    X = rows(300)
    y = np.maximum(X @ [1.0, -0.4, 0.3], 0) + 0.1 * np.random.default_rng(1).standard_normal(300)
    with pytest.warns(match="1 neuron explains the rows left out as well"):
        est = PlantedRegressor(2, activation="relu", random_state=0).fit(X, y)
    assert est.choice_.reason.startswith("of what was compared, all with 2 neurons, nothing simpler")


@pytest.mark.parametrize(
    ("activation", "n_rows", "n_features", "n_hidden", "seed"),
    [("tanh", 100, 4, 2, 31), ("relu", 120, 5, 3, 31), ("relu", 100, 5, 2, 32)],
)
def test_a_small_table_without_noise_is_explained_by_its_own_network(activation, n_rows, n_features, n_hidden, seed):
    """Two thirds of the rows had shown one neuron, or another activation; all of them show the network."""
    data = make_planted(n_rows, n_features, n_hidden, activation=activation, output="mixed", random_state=seed)
    choice = choose(Problem.of(data.X, data.y, 1), Question())
    assert choice.chosen.name == f"{n_hidden} {activation} neurons"
    assert choice.chosen.loss < 1e-20
    assert match(choice.network, data.teacher).weight_error < 1e-6


def test_noise_in_a_small_table_is_not_explained():
    data = make_planted(60, 3, 2, noise=0.1, random_state=0)
    problem = Problem.of(data.X, data.y, 1)
    table = Table(problem, problem.key)
    assert explaining(table, families(), Free(True, True, True), problem.key) is None


def test_a_small_table_of_weighted_rows_is_explained_as_equal_rows_are():
    data = make_planted(60, 3, 2, random_state=10)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    places = np.repeat(np.arange(60), weight.astype(int))
    weighted = choose(Problem.of(data.X, data.y, 1, sample_weight=weight), Question())
    repeated = choose(Problem.of(data.X[places], data.y[places], 1), Question())
    assert weighted.chosen == repeated.chosen
    assert np.array_equal(weighted.network.weights, repeated.network.weights)


def test_a_linear_function_that_is_worse_on_most_rows_does_not_explain_them_as_well():
    """The line beside exp(x) + noise: few rows make most of its loss, so that the error of their mean is large."""
    X = rows(400, 1)
    y = np.exp(2 * X[:, 0])
    line = np.column_stack([X, np.ones(400)])
    left = y - line @ np.linalg.lstsq(line, y, rcond=None)[0]
    noise = 0.1 * np.random.default_rng(1).standard_normal(400)
    made = Comparison()
    made.share, made.count = np.full(400, 1 / 400), 400
    linear = Entry(None, None, 0, Free(False, True, True), 2, left**2, [])
    other = Entry(families()[0], None, 1, Free(), 2, noise**2, [])
    mean, error = made.excess(linear, other)
    assert mean < 2.5 * error
    assert not made.ties(linear, other)
    assert made.ties(Entry(None, None, 0, Free(False, True, True), 2, noise[::-1] ** 2, []), other)


def test_every_activation_that_held_out_rows_do_not_clearly_tell_apart_is_named():
    """One within two standard errors, and more than one, is told apart no more than by chance."""
    data = make_planted(300, 3, 2, activation="tanh", noise=0.1, random_state=0)
    contest = _Contest(Problem.of(data.X, data.y, 1), Question())
    tanh, silu = (one for one in contest.question.families(3) if one.name in ("tanh", "silu"))
    chosen, other = contest.wide(tanh, 2), contest.wide(silu, 4)
    sign = np.where(np.arange(len(contest.share)) % 2, 1.0, -1.0)
    for errors, named in ((1.5, True), (3.0, False)):
        other.squares = chosen.squares + errors / np.sqrt(len(sign)) + sign
        assert ("do not tell it from silu" in contest.table_of(chosen).reason) is named


@pytest.mark.parametrize("seed", range(3))
def test_rounding_is_no_part_that_is_missed_and_no_structure(seed):
    """Beyond a kink lie rows too few to be held out: all rows together are explained with an intercept and without."""
    X = rows(600, seed=seed)
    far = np.sort(X[:, 1])[-6]
    contest = _Contest(Problem.of(X, X[:, 0] + 20 * np.maximum(X[:, 1] - far, 0), 1), Question())
    relu = families()[0]
    for fold in range(len(contest.table.folds)):
        path = contest.path(relu, fold)
        path.begin(path.table.space(True).hidden(np.array([[0.0, 1.0, 0.0]]), np.array([-far])))
    free = [Free(bias=True, intercept=with_it, skip=True) for with_it in (False, True)]
    small, full = (contest.entry(relu, relu.members[0], 1, one) for one in free)
    losses = [contest.on_all(entry).loss for entry in (small, full)]
    assert max(losses) < 1e-20
    assert contest.needed(1e-28, 1e-30, 1, full.numbers) == 1
    assert contest.needed(1e-2, 1e-30, 1, full.numbers) < 1e-9
    for entry in (small, full):
        # As if rows held out had not been explained.
        entry.squares = entry.squares + 0.01
        assert contest.p_value(entry) == 1
        assert not contest.structured(entry)
    assert contest.criterion(small) < contest.criterion(full)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_no_candidate_is_left_without_a_word(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3))
    y = np.tanh(X[:, 0] + 0.5 * X[:, 1]) + 0.2 * rng.standard_normal(200)
    choice = PlantedRegressor(random_state=0).fit(X, y).choice_
    assert all(one.reason for one in choice.candidates)
    assert all(one["why"] for one in choice.as_dict()["candidates"])
    for one in choice.candidates:
        if one.beside and one.loss < choice.chosen.loss:
            assert "less well" not in one.beside
        if one.beside.startswith("not clearly better"):
            assert one.loss <= choice.chosen.loss
            assert ("with more numbers" in one.beside) == (one.n_parameters > choice.chosen.n_parameters)
    again = Choice.from_arrays(choice.to_arrays(), None)
    assert str(again) == str(choice)
    assert [one.reason for one in again.candidates] == [one.reason for one in choice.candidates]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_linear_function_with_structure_gives_way_only_to_numbers_that_pay():
    """Twice as many numbers had been taken, as they explained the rows held out better by 0.1 % and hid structure."""
    table = load_breast_cancer().data
    order = np.random.default_rng(6).permutation(len(table))[:427]
    est = PlantedRegressor(random_state=0).fit(np.delete(table, 1, 1)[order], table[order, 1])
    assert est.network_.n_hidden == 0
    assert "the residuals have structure" in est.result_.reason
    assert "no neuron is needed" not in f"{est.choice_}{est.result_}"


def test_rows_that_hardly_pass_a_kink_on_some_level_do_not_hide_two_neurons_behind_others():
    """Four neurons, biases and a linear part had been chosen: which side is active cannot be read off that part."""
    draws = np.random.default_rng(8)
    X = np.column_stack([np.eye(3)[draws.integers(3, size=400)], draws.standard_normal((400, 2))])
    weights = draws.standard_normal((2, 5))
    teacher = Network(1.5 * weights / np.linalg.norm(weights, axis=1, keepdims=True), [1.5, -1.2])
    est = PlantedRegressor(random_state=0).fit(X, teacher.predict(X))
    assert est.result_.status == "recovered"
    assert match(est.network_, teacher).weight_error < 1e-9
