"""Checkpoints: damage, mixing, two runs at once, folders that cannot be written, and kills at counted events."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from planted import PlantedRegressor
from planted.datasets import make_planted
from planted.rows import CheckpointError, Journal, LocalEngine, block_rows, delete_checkpoint, survey


@pytest.fixture(scope="module")
def data():
    return make_planted(3000, 3, 2, activation="tanh", output="positive", noise=0.1, random_state=0)


class Stopping(LocalEngine):
    """Stops, as Ctrl-C would, when a given pass begins."""

    def __init__(self, stop=None):
        super().__init__()
        self.stop = stop

    def each(self, chunks, task, *args):
        if self.stop is not None and self.counts.passes >= self.stop:
            raise KeyboardInterrupt
        return super().each(chunks, task, *args)


def fitted(data, stop=None, y=None, seed=0, **options):
    rows = block_rows(data.X, data.y if y is None else y, chunk_rows=900)
    rows = type(rows)(rows.chunks, rows.row_shape, Stopping(stop), rows.names)
    return PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=seed).fit(
        rows, sample_rows=1000, **options
    )


@pytest.fixture
def interrupted(data, tmp_path):
    folder = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        fitted(data, stop=6, checkpoint=folder)
    return folder


def test_every_damaged_byte_of_an_entry_is_noticed(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "kept"
    journal = Journal(folder, {"data": "a"})
    journal.once("first", lambda: {"a": rng.standard_normal(5)})
    journal.close()
    path = folder / "first.safetensors"
    content = path.read_bytes()
    for at in range(len(content)):
        broken = bytearray(content)
        broken[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        again = Journal(folder, {"data": "a"}, resume=True)
        with pytest.raises(CheckpointError, match="delete it and resume again"):
            again.once("first", dict)
        again.close()


def test_entries_of_other_runs_and_renamed_entries_are_refused(tmp_path):
    for name, data in (("one", "a"), ("two", "b")):
        journal = Journal(tmp_path / name, {"data": data})
        journal.once("first", lambda: {"a": np.ones(1)})
        journal.once("second", lambda: {"a": np.zeros(1)})
        journal.close()
    foreign = (tmp_path / "two" / "first.safetensors").read_bytes()
    (tmp_path / "one" / "first.safetensors").write_bytes(foreign)
    journal = Journal(tmp_path / "one", {"data": "a"}, resume=True)
    with pytest.raises(CheckpointError, match="belongs to another computation"):
        journal.once("first", dict)
    (tmp_path / "one" / "first.safetensors").write_bytes((tmp_path / "one" / "second.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="was renamed"):
        journal.once("first", dict)
    journal.close()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b'{"format": 3}', b"\xff", b"[" * 5000])
def test_a_damaged_manifest_is_named(content, interrupted, data):
    (interrupted / "about.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"about\.json is damaged|of another computation"):
        fitted(data, checkpoint=interrupted, resume=True)


def test_one_changed_manifest_value_is_noticed(interrupted, data):
    about = json.loads((interrupted / "about.json").read_text())
    (interrupted / "about.json").write_text(json.dumps(about | {"random_state": "1"}))
    with pytest.raises(CheckpointError, match=r"about\.json is damaged"):
        fitted(data, seed=1, checkpoint=interrupted, resume=True)


def test_data_of_the_same_moments_in_another_order_is_other_data(interrupted, data):
    order = np.random.default_rng(0).permutation(len(data.y))
    shuffled = type(data)(X=data.X[order], y=data.y[order])
    with pytest.raises(CheckpointError, match="of another computation: its data is"):
        fitted(shuffled, checkpoint=interrupted, resume=True)


def test_the_digest_notices_the_last_bit_of_one_value(data):
    changed = data.y.copy()
    changed[1234] = np.nextafter(changed[1234], np.inf)
    ours, other = (survey(block_rows(data.X, y, chunk_rows=700), 10) for y in (data.y, changed))
    assert ours.digest != other.digest
    assert ours.digest == survey(block_rows(data.X, data.y, chunk_rows=1100), 10).digest


def test_the_second_run_is_told_at_once(tmp_path):
    first = Journal(tmp_path / "kept", {"data": "a"})
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="is in use by another run"):
            Journal(tmp_path / "kept", {"data": "a"}, resume=resume)
    delete_checkpoint(tmp_path / "kept")
    assert (tmp_path / "kept" / "about.json").is_file()
    first.close()
    delete_checkpoint(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_stays_until_it_is_no_longer_needed(data, tmp_path):
    fitted(data, checkpoint=tmp_path / "kept", keep_checkpoint=True)
    assert (tmp_path / "kept" / "about.json").is_file()
    delete_checkpoint(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_kill_in_the_first_write_leaves_a_folder_that_can_be_used(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / ".0123abcd.77.part").write_bytes(b"{")
    Journal(folder, {"data": "a"}).close()
    assert (folder / "about.json").is_file()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.part").write_text("precious")
    with pytest.raises(CheckpointError, match="is not empty and no checkpoint"):
        Journal(tmp_path / "other", {"data": "a"})


KILLED = """
import os, signal, sys
import numpy as np
from planted import PlantedRegressor
from planted.datasets import make_planted
from planted.rows import block_rows
data = make_planted(3000, 3, 2, activation="tanh", output="positive", noise=0.1, random_state=0)
limit, events = int(sys.argv[2]), 0
fsync = os.fsync
def counted(*args):
    global events
    events += 1
    if events == limit:
        os.kill(os.getpid(), signal.SIGKILL)
    return fsync(*args)
os.fsync = counted
rows = block_rows(data.X, data.y, chunk_rows=900)
resume = os.path.isfile(os.path.join(sys.argv[1], "about.json"))
est = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0)
est.fit(rows, sample_rows=1000, checkpoint=sys.argv[1], resume=resume)
print(est.network_.weights.tobytes().hex())
"""


@pytest.mark.slow
def test_kills_in_the_middle_of_writes_leave_a_checkpoint_that_resumes_to_the_same_bits(data, tmp_path):
    rng = np.random.default_rng(0)
    rows = block_rows(data.X, data.y, chunk_rows=900)
    calm = PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(rows, sample_rows=1000)
    expected = calm.network_.weights.tobytes().hex()
    for trial in range(3):
        folder = tmp_path / f"kept{trial}"
        for _ in range(4):
            command = [sys.executable, "-c", KILLED, str(folder), str(int(rng.integers(1, 6)))]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
        else:
            command[-1] = "0"
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True)
        assert done.stdout.strip() == expected
        assert not folder.exists()
