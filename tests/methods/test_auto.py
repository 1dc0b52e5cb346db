"""The race, the width, the verdict without a teacher, standard errors and row weights."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import jax
import numpy as np
import pytest

from planted import Network, PlantedRegressor, activations, datasets, match
from planted.bench import PEERS, BenchCell, OutOfTime, Peer, bench, read_records, summary
from planted.certificates import uncertainty
from planted.methods import auto, choose_width, judge, refine
from planted.methods._verdict import residual_p_value
from planted.objectives import Squared


@pytest.fixture(scope="module")
def data():
    return datasets.make_planted(1000, 6, 4, weights="gaussian", output="mixed", random_state=0)


def test_the_race_stops_at_the_first_that_verifies_itself(data):
    found = auto(data.X, data.y, 4, activations.get("relu"), key=jax.random.key(0))
    assert found.status == "recovered"
    assert list(found.details["race"]) == ["expand"]


def test_noise_is_settled_by_runs_that_agree(data):
    y = data.y + 0.1 * np.random.default_rng(1).standard_normal(len(data.y))
    found = auto(data.X, y, 4, activations.get("relu"), key=jax.random.key(0))
    assert found.status == "fitted"
    assert found.details["agreeing_runs"] >= 2
    best = refine(data.X, y, data.teacher)[1]
    assert found.loss == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("k", [2, 5])
def test_width_is_found(k):
    made = datasets.make_planted(1500, 6, k, weights="gaussian", output="mixed", noise=0.05, random_state=k)
    width, losses = choose_width(made.X, made.y, activations.get("relu"), jax.random.key(0), 24)
    assert width == k
    assert losses[k - 1] > 2 * losses[k]


def test_verdicts(data):
    relu = data.teacher
    assert judge(data.X, data.y, relu, 0.0).kind == "recovered"
    assert judge(data.X[:20], data.y[:20], relu, 0.0).kind == "not enough data"
    fewer = Network(relu.weights[:3], relu.output[:3])
    fewer, loss, _ = refine(data.X, data.y, fewer)
    assert judge(data.X, data.y, fewer, 2 * loss / np.var(data.y)).kind == "not this kind of network"


def test_residual_test_has_its_level_under_noise():
    """40 data sets at level 0.1: rejections are binomial(40, 0.1), at most 11 with probability 0.999."""
    low = 0
    for seed in range(40):
        made = datasets.make_planted(400, 3, 2, noise=0.2, random_state=seed)
        low += residual_p_value(made.X, made.y, made.teacher, seed=seed) < 0.1
    assert low <= 11


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_standard_errors_against_repeated_data(name):
    """The spread of 60 estimates has a relative standard error of 1/√120 = 9 %; the tolerance is five of these."""
    teacher = datasets.make_planted(10, 3, 2, activation=name, output="mixed", random_state=3).teacher
    estimates, errors, covered = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 3))
        y = teacher.predict(X) + 0.1 * rng.standard_normal(300)
        net = refine(X, y, teacher)[0]
        found = uncertainty(Squared(X, y, net.activation), {"weights": net.weights, "output": net.output})
        wanted = teacher.canonical()
        order = match(found.network, wanted).permutation
        estimates.append(found.network.weights[order])
        errors.append(found.weights[order])
        low, high = found.intervals(0.95)["weights"][:, order]
        covered.append((low <= wanted.weights) & (wanted.weights <= high))
    ratio = np.std(estimates, axis=0) / np.mean(errors, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.45)
    # 360 intervals: the standard error of the coverage is 1.2 % if they were independent, twice that at most here.
    assert 0.88 < np.mean(covered) <= 1.0
    assert found.noise == pytest.approx(0.1, rel=0.3)


def test_robust_errors_see_unequal_noise():
    teacher = Network([[1.0]], [1.0], "tanh")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 1))
    y = teacher.predict(X) + (np.abs(X[:, 0]) > 1.5) * rng.standard_normal(4000)
    net = refine(X, y, teacher)[0]
    loss, params = Squared(X, y, net.activation), {"weights": net.weights, "output": net.output}
    plain, robust = (uncertainty(loss, params, robust=flag).output[0] for flag in (False, True))
    assert robust > 1.2 * plain


@pytest.mark.slow
def test_integer_weights_count_like_repeated_rows(data):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 300)
    X, y = data.X[:300], data.y[:300] + 0.05 * rng.standard_normal(300)
    first = PlantedRegressor(4, random_state=0).fit(X, y, sample_weight=weight)
    second = PlantedRegressor(4, random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="egative"):
        PlantedRegressor(4).fit(X, y, sample_weight=-np.ones(300))


def test_estimator_says_what_it_knows(data):
    est = PlantedRegressor(random_state=0).fit(data.X, data.y)
    assert est.n_hidden_ == 4
    assert est.verdict_.kind == "recovered"
    assert match(est.network_, data.teacher).weight_error < 1e-6
    low, high = est.confidence_intervals(0.9)["weights"]
    assert np.all(high - low < 1e-6)
    with pytest.raises(ValueError, match="level"):
        est.confidence_intervals(1.0)


def test_bench_resumes(tmp_path):
    path = tmp_path / "bench.jsonl"
    cell = BenchCell(3, 2, 40, "tanh")
    first = list(bench((cell,), range(1), path, peers=("scikit-learn L-BFGS",)))
    assert [entry["contender"] for entry in first] == ["planted", "scikit-learn L-BFGS"]
    path.write_text(path.read_text() + '{"cut')
    again = list(bench((cell,), range(1), path, peers=("scikit-learn L-BFGS",)))
    assert again == first
    assert read_records(path) == json.loads(json.dumps(first))


@pytest.mark.parametrize("name", ["scikit-learn L-BFGS", "TensorLy moments"])
def test_a_peer_fits_what_it_can(name):
    cell = BenchCell(4, 2, 400)
    made = cell.data(3)
    assert PEERS[name].obstacle(cell) is None
    fits = [PEERS[name].fit(made.X, made.y, cell, seed, np.inf) for seed in range(4)]
    assert min(np.mean((net.predict(made.X) - made.y) ** 2) for net in fits) < 0.1 * np.var(made.y)


@pytest.mark.parametrize("name", ["scikit-learn Adam", "optax Adam multi-start", "TensorLy moments"])
def test_a_peer_out_of_time_has_no_network(name):
    cell = BenchCell(4, 2, 400)
    made = cell.data(3)
    with pytest.raises(OutOfTime):
        PEERS[name].fit(made.X, made.y, cell, 0, time.perf_counter())


def test_bench_gives_peers_as_long_as_asked(tmp_path, monkeypatch):
    path, cell, given = tmp_path / "bench.jsonl", BenchCell(3, 2, 40, "tanh"), []

    def fit(X, y, cell, seed, until):
        given.append(until - time.perf_counter())
        raise OutOfTime

    monkeypatch.setitem(PEERS, "idle", Peer(fit, "sklearn"))
    ours, theirs = bench((cell,), range(1), path, peers=("idle",))
    assert given[0] <= ours["seconds"]
    assert theirs["runs"] == 0
    assert not theirs["success"]
    again, _ = bench((cell,), range(1), path, peers=("idle",), patience=1000.0)
    assert again == ours
    assert 500 * ours["seconds"] < given[1] <= 1000 * ours["seconds"]
    list(bench((cell,), range(1), path, peers=("idle",)))
    assert len(given) == 2


def test_bench_without_a_run_in_time_has_no_error():
    entry = {"cell": asdict(BenchCell(3, 2, 40)), "seed": 0, "contender": "slow", "seconds": 1.0, "runs": 0}
    row = summary([entry | {"weight_error": None, "success": False}])[0]
    assert row["weight_error"] is None
    assert row["success"] == "0/1"


def test_a_peer_without_its_package_is_left_out():
    peer = PEERS["pyscnn"]
    assert peer.obstacle(BenchCell(4, 2, 40, "tanh")) == "it has no tanh"
    assert Peer(peer.fit, "no_such_package").obstacle(BenchCell(4, 2, 40)) == "no_such_package is not installed"
