"""Rows in chunks, in files and on a cluster: the same answers, and nothing lost when something fails."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np
import polars as pl
import pytest

from planted import Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, activations, certify, match
from planted.certificates import uncertainty
from planted.cli import main
from planted.datasets import make_planted, make_planted_conv
from planted.methods import METHODS, Problem
from planted.numerics.files import append_line, write_whole
from planted.objectives import Squared
from planted.pages import displayed
from planted.rows import CheckpointError, Journal, LocalEngine, block_rows, file_rows, survey
from planted.rows._chunks import Engine

SAME = 1e-9


@pytest.fixture(scope="module")
def data():
    return make_planted(6000, 4, 2, activation="tanh", output="positive", noise=0.1, random_state=0)


def write(folder, kind, X, y):
    """The rows as a file or folder of the given kind."""
    table = np.column_stack([X.reshape(len(y), -1), y])
    names = [*(f"x{i}" for i in range(table.shape[1] - 1)), "y"]
    frame = pl.DataFrame(table, schema=names, orient="row")
    if kind == "npy":
        np.save(folder / "rows.npy", table)
        return folder / "rows.npy"
    if kind == "folder":
        (folder / "rows").mkdir(exist_ok=True)
        for i, start in enumerate(range(0, len(y), 2500)):
            frame[start : start + 2500].write_parquet(folder / "rows" / f"part-{i}.parquet")
        return folder / "rows"
    path = folder / f"rows.{kind}"
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    return path


KINDS = ("npy", "parquet", "folder", "csv")


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_the_rows_they_were_given(kind, data, tmp_path):
    rows = file_rows(write(tmp_path, kind, data.X, data.y), chunk_rows=1700)
    parts = [chunk.load() for chunk in rows.chunks]
    assert [chunk.start for chunk in rows.chunks] == list(np.cumsum([0] + [chunk.rows for chunk in rows.chunks])[:-1])
    assert rows.n_rows == len(data.y)
    assert rows.names == ("x0", "x1", "x2", "x3")
    assert np.array_equal(np.concatenate([x for x, _, _ in parts]), data.X)
    assert np.array_equal(np.concatenate([y for _, y, _ in parts]), data.y)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_can_be_chosen_and_held_in_float32(kind, data, tmp_path):
    path = write(tmp_path, kind, data.X, data.y)
    rows = file_rows(path, "x3", ["x2", "x0"], dtype=np.float32, chunk_rows=5000)
    x, y, _ = rows.chunks[0].load()
    assert x.dtype == y.dtype == np.float32
    assert np.array_equal(x, data.X[: len(x), [2, 0]].astype(np.float32))
    assert np.array_equal(y, data.X[: len(x), 3].astype(np.float32))
    with pytest.raises(ValueError, match="unknown column 'x9'"):
        file_rows(path, "x9")
    with pytest.raises(ValueError, match="both an input and the target"):
        file_rows(path, "y", ["x0", "y"])


def test_a_csv_need_not_end_with_a_line_break(tmp_path):
    (tmp_path / "a.csv").write_text("u,y\n1,2\n3,4\n5,6")
    rows = file_rows(tmp_path / "a.csv", chunk_rows=2)
    assert [chunk.rows for chunk in rows.chunks] == [2, 1]
    assert np.array_equal(rows.chunks[1].load()[0], [[5.0]])


@pytest.mark.parametrize("content", ["u,y\n1,2\n3,\n", "u,y\n1,2\nnan,4\n"])
def test_values_that_are_no_numbers_are_found_with_their_row(content, tmp_path):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=r"has a (missing|NaN or infinite) value in row 2"):
        survey(file_rows(tmp_path / "a.csv"), 10)


def test_sums_over_chunks_are_those_of_memory(data):
    memory = Squared(data.X, data.y, "tanh")
    chunked = Squared.on(block_rows(data.X, data.y, chunk_rows=1700), memory.activation)
    rng = np.random.default_rng(0)
    params = {"weights": rng.standard_normal((2, 4)), "output": rng.standard_normal(2)}
    way = {"weights": rng.standard_normal((2, 4)), "output": rng.standard_normal(2)}
    assert chunked.value(params) == pytest.approx(memory.value(params), rel=1e-12)
    for name, part in memory.gradient(params).items():
        assert np.allclose(chunked.gradient(params)[name], part, rtol=1e-11, atol=1e-13)
        assert np.allclose(chunked.hvp(params, way)[name], memory.hvp(params, way)[name], rtol=1e-11, atol=1e-13)
    assert np.allclose(chunked.hessian(params), memory.hessian(params), rtol=1e-10, atol=1e-12)


def test_row_weights_and_float32_rows_reach_the_sums(data):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(data.y))
    rows = block_rows(data.X.astype(np.float32), data.y.astype(np.float32), weight.astype(np.float32), chunk_rows=999)
    params = {"weights": data.teacher.weights, "output": data.teacher.output}
    memory = Squared(
        data.X.astype(np.float32), data.y.astype(np.float32), "tanh", sample_weight=weight.astype(np.float32)
    )
    assert Squared.on(rows, memory.activation).value(params) == pytest.approx(memory.value(params), rel=1e-12)


@pytest.mark.parametrize("chunk_rows", [6000, 700])
def test_a_subsample_does_not_depend_on_how_rows_are_cut(chunk_rows, data):
    seen = survey(block_rows(data.X, data.y, chunk_rows=chunk_rows), 500, seed=3)
    other = survey(block_rows(data.X, data.y, chunk_rows=2500), 500, seed=3)
    assert np.array_equal(seen.X, other.X)
    assert len({*map(bytes, seen.X)}) == 500
    places = [int(np.flatnonzero(np.all(row == data.X, axis=1))[0]) for row in seen.X]
    # A sorted sample would correlate with its own order; √500 · |r| is about a standard normal number.
    assert abs(np.corrcoef(places, np.arange(500))[0, 1]) * 500**0.5 < 4
    assert seen.variance == pytest.approx(np.var(data.y), rel=1e-12)
    assert np.allclose(seen.second, data.X.T @ data.X / len(data.y), rtol=1e-12)
    excluded = block_rows(data.X, data.y, chunk_rows=chunk_rows).without(seen.seed, seen.threshold)
    assert excluded.total_weight == 5500


# The same answer, whatever holds the rows


class Counted(LocalEngine):
    """Stops, as Ctrl-C would, when a pass begins."""

    def __init__(self, stop=None):
        super().__init__()
        self.stop = stop

    def each(self, chunks, task, *args):
        if self.stop is not None and self.counts.passes >= self.stop:
            raise KeyboardInterrupt
        return super().each(chunks, task, *args)


@pytest.fixture(scope="module")
def cluster():
    from planted.rows import dask_engine

    engine = dask_engine(workers=2)
    yield engine
    engine.close()


def dasked(X, y, engine):
    da = pytest.importorskip("dask.array")
    from planted.rows import dask_rows

    size = -(-len(y) // 4)
    chunks = (size, *X.shape[1:])
    return dask_rows(da.from_array(X, chunks=chunks), da.from_array(y, chunks=size), client=engine.client)


@pytest.fixture(scope="module")
def memory(data):
    return PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y)


def blocks(X, y, folder, engine):
    return block_rows(X, y, chunk_rows=1700)


def file(X, y, folder, engine):
    return file_rows(write(folder, "npy", X, y), chunk_rows=2100)


def two_workers(X, y, folder, engine):
    return dasked(X.reshape(len(y), -1), y, engine)


PLACES = [blocks, file, two_workers]


@pytest.mark.parametrize("place", PLACES)
def test_regression_is_that_of_memory(place, data, memory, tmp_path, cluster):
    found = fitted(place(data.X, data.y, tmp_path, cluster))
    assert match(found.network_, memory.network_).weight_error < SAME
    assert found.result_.loss == pytest.approx(memory.result_.loss, rel=SAME)
    assert found.certificate_.kind == memory.certificate_.kind == "local minimum"
    assert found.verdict_.status == memory.verdict_.status == "estimated"
    ours, theirs = found.standard_errors_, memory.standard_errors_
    assert np.allclose(np.sort(ours.weights, axis=None), np.sort(theirs.weights, axis=None), rtol=1e-7)


def recovered(rows, method, activation, sample):
    looked = survey(rows, sample)
    return METHODS[method](Problem(rows, looked, 2, activations.get(activation), key=jax.random.key(0)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "expand", "squared", "tensor"])
def test_every_method_leads_to_the_network_of_memory(method, data, memory, tmp_path, cluster):
    for place in PLACES:
        found = recovered(place(data.X, data.y, tmp_path, cluster), method, "tanh", 2000)
        assert match(found.network, memory.network_).weight_error < SAME


@pytest.mark.slow
def test_the_landscape_over_all_rows_leads_to_the_teacher(tmp_path, cluster):
    data = make_planted(4000, 3, 2, output="positive", random_state=0)
    for place in PLACES:
        rows = place(data.X, data.y, tmp_path, cluster)
        found = recovered(rows, "landscape", "relu", 1500)
        assert (found.status, found.method) == ("recovered", "landscape")
        assert match(found.network, data.teacher).weight_error < SAME
        assert rows.engine.counts.passes > 10


@pytest.mark.slow
def test_a_shared_filter_is_that_of_memory(tmp_path, cluster):
    data = make_planted_conv(3000, 2, 3, noise=0.1, random_state=0)
    first = PlantedConvRegressor(random_state=0).fit(data.X, data.y)
    for place in PLACES:
        rows = place(data.X.reshape(len(data.y), -1), data.y, tmp_path, cluster)
        other = PlantedConvRegressor(n_patches=2, random_state=0).fit(rows, sample_rows=2000)
        assert match(other.network_, first.network_).weight_error < SAME
        assert other.result_.details["noise"] == pytest.approx(first.result_.details["noise"], rel=SAME)


@pytest.mark.slow
def test_labels_are_those_of_memory(tmp_path, cluster):
    data = make_planted(
        6000, 2, 1, activation="sigmoid", weights=[[4, 0]], task="classification", random_state=0
    )  # fmt: skip
    y = np.where(data.y > 0, 3.0, -1.0)
    first = PlantedClassifier(1, "sigmoid", random_state=0, restarts=0).fit(data.X, y)
    for place in PLACES:
        rows = place(data.X, y, tmp_path, cluster)
        other = PlantedClassifier(1, "sigmoid", random_state=0, restarts=0).fit(rows, sample_rows=3000)
        assert match(other.network_, first.network_).weight_error < SAME
        assert np.array_equal(other.classes_, [-1.0, 3.0])
        assert other.standard_errors_.expected_error == pytest.approx(first.standard_errors_.expected_error, rel=1e-8)
        assert other.certificate_.kind == first.certificate_.kind


def test_rows_beyond_the_last_whole_block_count_too():
    X, y = np.random.default_rng(0).standard_normal((10_000, 2)), np.arange(10_000.0)
    params = {"weights": np.ones((1, 2)), "output": np.ones(1)}
    chunked = Squared.on(block_rows(X, y, chunk_rows=9000), activations.get("tanh"))
    ours, theirs = chunked.gradient(params), Squared(X, y, "tanh").gradient(params)
    assert np.allclose(ours["weights"], theirs["weights"], rtol=1e-12)


@pytest.mark.slow
def test_a_certificate_over_two_workers_is_that_of_memory(data, memory, tmp_path, cluster):
    params = {"weights": memory.network_.weights, "output": memory.network_.output}
    loss = Squared(data.X, data.y, "tanh")
    theirs = certify(loss, params)
    for place in PLACES:
        ours = certify(Squared.on(place(data.X, data.y, tmp_path, cluster), loss.activation), params)
        assert ours.kind == theirs.kind == "local minimum"
        assert ours.min_eigenvalue == pytest.approx(theirs.min_eigenvalue, rel=SAME)


def test_a_worker_of_our_own_cluster_computes_in_one_thread(cluster):
    cores, here = list(cluster.client.run(os.sched_getaffinity, 0).values()), os.sched_getaffinity(0)
    if len(cores) == len(here):
        assert sorted(map(sorted, cores)) == [[core] for core in sorted(here)]
    else:
        assert all(found == here for found in cores)
    names = cluster.client.run(_pool_threads)
    assert set(names.values()) == {1}


def test_blocks_that_one_worker_holds_are_shared_out(cluster):
    from planted.rows import ChunkedRows
    from planted.rows._remote import RemoteChunk, pair

    X = np.random.default_rng(0).standard_normal((800, 3))
    y = np.tanh(X[:, 0])
    one, _ = cluster.client.nthreads()

    def held(rows):
        return cluster.client.submit(pair, X[rows], y[rows], workers=[one], pure=False)

    chunks = tuple(RemoteChunk(held(slice(i, i + 100)), i, 100) for i in range(0, 800, 100))
    spread = Squared.on(ChunkedRows(chunks, (3,), cluster, ("a", "b", "c")), activations.get("tanh"))
    params, memory = {"weights": np.eye(2, 3), "output": np.ones(2)}, Squared(X, y, "tanh")
    # The second pass knows that sums are small, asks where blocks are and has half of them moved.
    for _ in range(3):
        assert spread.value(params) == pytest.approx(memory.value(params), rel=1e-14)
    assert [len(bundle) for bundle in cluster.places[1]] == [4, 4]
    assert np.array_equal(chunks[-1].load()[0], X[700:])


def test_a_pass_is_sent_before_the_last_one_is_let_go_of(cluster, data):
    loss = Squared.on(dasked(data.X, data.y, cluster), activations.get("tanh"))
    params = {"weights": data.teacher.weights, "output": data.teacher.output}
    engine, kept = loss.rows.engine, []
    submit = engine._calls

    def submitted(function, arguments):
        kept.append([future.status for future in engine.finished])
        return submit(function, arguments)

    engine._calls = submitted
    # The first pass finds out that sums are small.
    for _ in range(3):
        loss.value(params)
    assert set(kept[-1]) == {"finished"}


def test_workers_keep_a_core_only_where_there_is_one_for_each():
    code = """
import os
from types import SimpleNamespace
from planted.rows._dask_cluster import OneThread
cores = os.sched_getaffinity(0)
OneThread(len(cores) + 1).setup(SimpleNamespace(name=0))
assert os.sched_getaffinity(0) == cores
OneThread(len(cores)).setup(SimpleNamespace(name=0))
assert os.sched_getaffinity(0) == {min(cores)}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def _pool_threads():
    """How many threads JAX has for parts of one computation."""
    jax.block_until_ready(jax.numpy.ones((2000, 2000)) @ jax.numpy.ones((2000, 2000)))
    names = [Path(f"/proc/self/task/{task}/comm").read_text() for task in os.listdir("/proc/self/task")]
    return sum("Eigen" in name for name in names)


def test_certificates_and_standard_errors_over_chunks(data):
    rows = block_rows(data.X, data.y, chunk_rows=1700)
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(rows)
    params = {"weights": est.network_.weights, "output": est.network_.output}
    memory = Squared(data.X, data.y, "tanh")
    ours, theirs = certify(Squared.on(rows, memory.activation), params), certify(memory, params)
    assert ours.kind == theirs.kind == "local minimum"
    assert ours.min_eigenvalue == pytest.approx(theirs.min_eigenvalue, rel=1e-8)
    lanczos = certify(Squared.on(rows, memory.activation), params, dense_size=0)
    assert lanczos.method == "lanczos"
    assert lanczos.min_eigenvalue == pytest.approx(theirs.min_eigenvalue, rel=1e-5)
    errors = uncertainty(Squared.on(rows, memory.activation), params)
    assert np.allclose(errors.weights, uncertainty(memory, params).weights, rtol=1e-9)


UNEVEN = {"fit_bias": False, "fit_intercept": True, "fit_skip": False, "random_state": 0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("activation", "tolerance"), [("tanh", 1e-6), ("relu", 1e-2)])
def test_errors_allow_for_uneven_noise_and_weights_wherever_rows_are(activation, tolerance, weighted):
    """Rows near a kink are those of the sample, where not all are in memory: a correction of a few per cent."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((3000, 2)), None
    y = 2 * activations.get(activation)(X @ [1.0, 0.5]) + 0.2 * np.exp(X[:, 0]) * rng.standard_normal(3000)
    if weighted:
        weight = rng.uniform(0.2, 6.0, 3000) * (rng.random(3000) > 0.2)
    memory = PlantedRegressor(1, activation, **UNEVEN).fit(X, y, weight)
    for sample, near in ((None, 1e-6), (1000, tolerance)):
        rows = block_rows(X, y, weight, chunk_rows=700)
        found = PlantedRegressor(1, activation, **UNEVEN).fit(rows, sample_rows=sample)
        assert found.standard_errors_.n_rows == pytest.approx(memory.standard_errors_.n_rows)
        for name, errors in memory.standard_errors_.errors.items():
            np.testing.assert_allclose(found.standard_errors_.errors[name], errors, rtol=near)
        for fit in (memory, found):
            assert "differs with the inputs" in fit.result_.reason


def test_equal_rows_are_told_from_independent_ones_where_all_are_in_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    y = np.tile(np.tanh(X[:, 0]) + 0.1 * rng.standard_normal(500), 4)
    said = "equal rows are taken for observations of their own"
    rows = block_rows(np.tile(X, (4, 1)), y, chunk_rows=700)
    found = PlantedRegressor(1, "tanh", **UNEVEN).fit(rows)
    assert found.standard_errors_.n_rows == 500
    assert said not in found.result_.reason
    found = PlantedRegressor(1, "tanh", **UNEVEN).fit(rows, sample_rows=1000)
    assert found.standard_errors_.n_rows == 2000
    assert said in found.result_.reason


@pytest.mark.parametrize("method", ["score", "hermite", "quadratic"])
def test_a_method_that_needs_memory_says_so(method, data):
    with pytest.raises(ValueError, match=f"method='{method}' needs all rows in memory at once; for files and clusters"):
        PlantedRegressor(2, "tanh", method=method, fit_bias=False, fit_intercept=False).fit(block_rows(data.X, data.y))


def test_a_sample_too_small_for_the_unknowns_is_refused(data):
    with pytest.raises(ValueError, match="whose 5 rows cannot determine 10 unknowns; give a larger sample_rows"):
        PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False).fit(block_rows(data.X, data.y), sample_rows=5)


def test_kinks_are_counted_over_chunks():
    X = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])
    loss = Squared.on(block_rows(X, np.zeros(3), chunk_rows=2), Squared(X, np.zeros(3)).activation)
    found = certify(loss, {"weights": np.array([[1.0, 1.0]]), "output": np.ones(1)})
    assert found.kinks.count == 1
    assert "non-smooth" in found.reason


# Interruptions


def fitted(rows, **options):
    return PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(
        rows, sample_rows=2000, **options
    )


def on(engine, data):
    rows = block_rows(data.X, data.y, chunk_rows=1700)
    return type(rows)(rows.chunks, rows.row_shape, engine, rows.names)


def test_an_interrupted_fit_resumes_to_the_same_bits(data, tmp_path):
    calm = fitted(on(Counted(), data))
    folder = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fitted(on(Counted(stop=6), data), checkpoint=folder)
    kept = {path.suffix for path in folder.iterdir()}
    assert kept == {".json", ".safetensors"}
    engine = Counted()
    again = fitted(on(engine, data), checkpoint=folder, resume=True)
    assert np.array_equal(again.network_.weights, calm.network_.weights)
    # Five passes were answered by the checkpoint; the look at the rows was made again.
    assert engine.counts.passes == calm.passes_.passes - 5
    assert not folder.exists()


def test_a_checkpoint_of_something_else_is_refused(data, tmp_path):
    folder = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fitted(on(Counted(stop=4), data), checkpoint=folder)
    with pytest.raises(CheckpointError, match="holds the checkpoint of an earlier run: resume it"):
        fitted(on(Counted(), data), checkpoint=folder)
    with pytest.raises(CheckpointError, match="of another computation: its random_state is '0', not '1'"):
        PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=1).fit(
            on(Counted(), data), sample_rows=2000, checkpoint=folder, resume=True
        )
    changed = data.y.copy()
    changed[17] += 1.0
    with pytest.raises(CheckpointError, match="of another computation: its data is"):
        fitted(block_rows(data.X, changed, chunk_rows=1700), checkpoint=folder, resume=True)
    with pytest.raises(CheckpointError, match="there is no checkpoint in"):
        fitted(on(Counted(), data), checkpoint=tmp_path / "nothing", resume=True)
    next(folder.glob("*.safetensors")).write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(CheckpointError, match="is damaged"):
        fitted(on(Counted(), data), checkpoint=folder, resume=True)


@contextlib.contextmanager
def full_disk(size=4096):
    """Files cannot grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_results_survive_a_full_disk(tmp_path):
    model, record = tmp_path / "model.safetensors", tmp_path / "bench.jsonl"
    small = Network(np.eye(2), np.ones(2))
    small.save(model)
    append_line(record, "a line")
    with full_disk():
        with pytest.raises(OSError, match=r"^cannot write .*model.*: the disk is full; what was written before is"):
            Network(np.eye(40), np.ones(40)).save(model)
        with pytest.raises(OSError, match=r"^cannot write .*bench.*: the disk is full; what was written before is"):
            append_line(record, 5000 * "x")
    assert np.array_equal(Network.load(model).weights, small.weights)
    assert record.read_text() == "a line\n"
    assert {path.name for path in tmp_path.iterdir()} == {model.name, record.name}


def test_a_full_disk_is_an_error_that_loses_nothing(tmp_path):
    journal = Journal(tmp_path / "kept", {"data": "a"})
    journal.once("first", lambda: {"a": np.ones(3)})
    with full_disk():
        with pytest.raises(OSError, match=r"^cannot write .*: the disk is full; what was written before is intact"):
            journal.once("second", lambda: {"a": np.ones(10_000)})
        with pytest.raises(OSError, match="the disk is full"):
            write_whole(tmp_path / "kept" / "first.safetensors", bytes(10_000))
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"about.json", "first.safetensors"}
    journal.close()
    again = Journal(tmp_path / "kept", {"data": "a"}, resume=True)
    assert np.array_equal(again.once("first", dict)["a"], np.ones(3))


@pytest.mark.slow
def test_killed_workers_do_not_change_the_result(data, memory, cluster):
    from planted.rows import dask_rows

    da = pytest.importorskip("dask.array")
    rows = dask_rows(da.from_array(data.X, (1500, 4)), da.from_array(data.y, 1500), client=cluster.client)
    kills = []

    class Killing(Engine):
        """The cluster, one of whose workers dies as a pass begins."""

        def run(self, chunks, task, *args):
            return cluster.run(chunks, task, *args)

        def fold(self, chunks, work):
            # One that is dying does not answer.
            alive = set(cluster.client.run(os.getpid, on_error="ignore").values()) - set(kills)
            if len(kills) < 2 and alive:
                kills.append(alive.pop())
                threading.Timer(0.02, os.kill, (kills[-1], signal.SIGKILL)).start()
            return cluster.fold(chunks, work)

    hurt = fitted(type(rows)(rows.chunks, rows.row_shape, Killing(), rows.names))
    assert len(kills) == 2
    assert match(hurt.network_, memory.network_).weight_error < SAME


@pytest.mark.slow
def test_a_lost_scheduler_is_an_error_and_the_checkpoint_resumes(data, memory, tmp_path):
    dask = pytest.importorskip("dask")
    from planted.rows import RowsLostError, dask_engine

    path = write(tmp_path, "npy", data.X, data.y)
    address = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(address)], stderr=subprocess.DEVNULL)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address), "--nthreads", "1",
         "--no-dashboard", "--no-nanny"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not address.is_file() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.2)
        # Dask looks for a lost scheduler for as long as it takes to connect.
        with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
            engine = dask_engine(json.loads(address.read_text())["address"])

        rows = file_rows(path, engine=engine, chunk_rows=1700)
        est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0)
        fold = engine.fold

        def doomed(chunks, work):
            if engine.counts.passes == 5:
                scheduler.kill()
                scheduler.wait()
            return fold(chunks, work)

        engine.fold = doomed
        with pytest.raises(RowsLostError, match=r"the Dask scheduler at tcp://.* was lost"):
            est.fit(rows, sample_rows=2000, checkpoint=tmp_path / "kept")
        engine.close()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert len(list((tmp_path / "kept").glob("*.safetensors"))) > 3
    again = est.fit(file_rows(path, chunk_rows=1700), sample_rows=2000, checkpoint=tmp_path / "kept", resume=True)
    assert match(again.network_, memory.network_).weight_error < SAME


def test_sweeps_on_a_cluster_give_the_tables_of_a_local_run(cluster, tmp_path):
    from functools import partial

    from planted.reproduce import find, run_studies
    from planted.rows import spread

    entries = find("ge2017/appendix-d")
    (local,) = run_studies(entries, quick=True)
    (there,) = run_studies(entries, quick=True, out=tmp_path, spread=partial(spread, cluster))
    assert there.table == local.table


def test_a_benchmark_in_pieces_records_every_piece(tmp_path):
    from planted.bench import BenchCell, bench

    def spread(function, arguments):
        return ((place, function(*arguments[place])) for place in reversed(range(len(arguments))))

    record = tmp_path / "bench.jsonl"
    found = list(bench((BenchCell(3, 2, 40),), range(2), record, (), spread))
    assert [entry["seed"] for entry in found] == [1, 0]
    # What is recorded is not computed again.
    again = list(bench((BenchCell(3, 2, 40),), range(2), record, ()))
    assert [entry["seconds"] for entry in again] == [entry["seconds"] for entry in reversed(found)]
    assert len(record.read_text().splitlines()) == 2


# The command line


def run(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code, *capsys.readouterr()


def test_fit_reads_a_folder_in_blocks(data, tmp_path, capsys):
    path = write(tmp_path, "folder", data.X, data.y)
    options = [
        "--hidden",
        2,
        "--activation",
        "tanh",
        "--no-bias",
        "--no-intercept",
        "--json",
        "--checkpoint",
        tmp_path / "kept",
    ]
    status, out, _ = run(["fit", path, *options], capsys)
    assert status == 0
    report = json.loads(out)
    assert report["inputs"] == ["x0", "x1", "x2", "x3"]
    assert report["details"]["rows"] == 6000
    assert not (tmp_path / "kept").exists()


def test_ctrl_c_leaves_a_checkpoint_that_resumes(data, tmp_path, capsys, monkeypatch):
    path = write(tmp_path, "npy", data.X, data.y)
    command = [
        "fit",
        path,
        "--hidden",
        2,
        "--activation",
        "tanh",
        "--no-bias",
        "--no-intercept",
        "--json",
        "--checkpoint",
        tmp_path / "kept",
    ]
    each = LocalEngine.each

    def interrupted(self, chunks, task, *args):
        if self.counts.passes == 2:
            raise KeyboardInterrupt
        return each(self, chunks, task, *args)

    monkeypatch.setattr(LocalEngine, "each", interrupted)
    status, _, err = run(command, capsys)
    assert status == 130
    assert "keeps what was found: run the same command with --resume to go on" in err
    monkeypatch.setattr(LocalEngine, "each", each)
    status, _, err = run([*command, "--seed", 1, "--resume"], capsys)
    assert status == 2
    assert "of another computation: its random_state is '0', not '1'" in err
    status, out, _ = run([*command, "--resume"], capsys)
    assert status == 0
    weights = np.array(json.loads(out)["network"]["weights"])
    calm = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(path)
    assert np.array_equal(weights, displayed(calm.network_, calm.standard_errors_).weights)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rows", "--engine", "memory"], "is read in blocks: use --engine files or dask"),
        (["rows", "--engine", "files", "--plot", "a.png"], "--plot shows rows in memory"),
        (["rows", "--scheduler", "tcp://127.0.0.1:1"], "add --engine dask"),
        (["rows", "--engine", "dasq"], "unknown engine 'dasq'; did you mean 'dask'?"),
        (["rows", "--target", "z"], "unknown column 'z'"),
        (["rows", "--method", "score"], "method='score' needs all rows in memory at once"),
        (["empty"], "is a folder without Parquet files"),
        (["rows", "--resume"], "name its folder with --checkpoint"),
        (["rows", "--resume", "--checkpoint", "kept"], "there is no checkpoint in"),
    ],
)
def test_requests_that_cannot_be_met_are_one_sentence(arguments, sentence, data, tmp_path, capsys, monkeypatch):
    write(tmp_path, "folder", data.X[:300], data.y[:300])
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    status, out, err = run(["fit", *arguments, "--hidden", 2], capsys)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_progress_tells_the_time_left(data, monkeypatch):
    heard = []
    est = PlantedRegressor(
        2, "tanh", fit_bias=False, fit_intercept=False, random_state=0, progress=lambda *words: heard.append(words)
    )
    rows = block_rows(data.X, data.y, chunk_rows=100)
    monkeypatch.setattr("planted.rows._progress._EVERY", 0.0)
    est.fit(rows, sample_rows=2000)
    assert any("block 60 of 60, 0 s left in it, at most" in text for _, _, text in heard)
    assert rows.engine.observer is None


def test_counts_of_a_fit_are_its_own(data):
    rows = block_rows(data.X, data.y, chunk_rows=1700)
    first = fitted(rows)
    passes = first.passes_.passes
    second = fitted(rows)
    assert first.passes_.passes == second.passes_.passes == passes


def test_the_landscape_from_chunks_says_what_it_says_from_arrays():
    """Outputs of both signs: F is not minimised, and both say so."""
    data = make_planted(4000, 4, 3, output="mixed", random_state=0)
    reasons = []
    for rows, options in ((data.X, {}), (block_rows(data.X, data.y, chunk_rows=1500), {"sample_rows": 1500})):
        est = PlantedRegressor(
            3, method="landscape", activation="relu", fit_bias=False, fit_intercept=False, random_state=0
        )
        est.fit(rows, data.y if rows is data.X else None, **options)
        reasons.append(est.result_.reason)
        assert est.result_.details["landscape"] == "not minimised"
    assert all("F was not minimised" in reason for reason in reasons)


def test_a_law_of_the_inputs_that_is_not_known_is_refused_before_any_work(data, tmp_path):
    rows = block_rows(data.X, data.y, chunk_rows=1700)
    with pytest.raises(ValueError, match="did you mean 'logistic'"):
        PlantedRegressor(2, "tanh", inputs="logistik", fit_bias=False, fit_intercept=False, random_state=0).fit(
            rows, checkpoint=tmp_path / "kept"
        )
    assert rows.engine.counts.passes == 0
    assert not (tmp_path / "kept").exists()


def test_several_targets_are_read_from_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    teacher = Network(rng.standard_normal((2, 3)), rng.standard_normal((2, 2)), "tanh")
    Y = teacher.predict(X)
    names = ["x0", "x1", "x2", "u", "v"]
    pl.DataFrame(np.column_stack([X, Y]), schema=names, orient="row").write_parquet(tmp_path / "rows.parquet")
    rows = file_rows(tmp_path / "rows.parquet", ["u", "v"], chunk_rows=1000)
    assert rows.names == ("x0", "x1", "x2")
    est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(rows, sample_rows=1500)
    assert est.result_.status == "recovered"
    assert match(est.network_, teacher).weight_error < 1e-8


def test_nothing_of_dask_is_imported_without_need():
    code = "import sys, planted.estimators, planted.cli; print({'dask', 'distributed'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
    assert jax.config.jax_enable_x64 is False
