"""The benchmark of recovery: what is recorded, resumed and allowed to other tools."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import numpy as np
import pytest

from planted.bench import PEERS, BenchCell, OutOfTime, Peer, bench, read_records, summary, trained


def test_bench_resumes(tmp_path):
    path = tmp_path / "bench.jsonl"
    cell = BenchCell(3, 2, 40, "tanh")
    first = list(bench((cell,), range(1), path, peers=("scikit-learn L-BFGS",)))
    assert [entry["contender"] for entry in first] == ["planted", "scikit-learn L-BFGS"]
    path.write_text(path.read_text() + '{"cell": {"cut')
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


def test_records_of_before_a_cell_had_a_source_still_count(tmp_path):
    path, cell = tmp_path / "bench.jsonl", BenchCell(3, 2, 40, "tanh")
    old = {name: value for name, value in asdict(cell).items() if name != "source"}
    entry = {"cell": old, "seed": 0, "contender": "planted", "seconds": 1.0, "runs": 1}
    path.write_text(json.dumps(entry | {"weight_error": 0.5, "success": False}) + "\n")
    assert [record["weight_error"] for record in bench((cell,), range(1), path, peers=())] == [0.5]


def test_a_trained_teacher_is_a_cell():
    cell = trained(4, 3, "tanh", "iris")
    [entry] = bench((cell,), range(1), peers=())
    assert entry["success"]
    assert BenchCell(**entry["cell"]) == cell
