"""The frame of the studies: cells, seeds, the store on disk, processes, and what survives a kill."""

import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import polars as pl
import pytest

from planted.reproduce import ENTRIES
from planted.reproduce._claims import claim
from planted.reproduce._runner import run_studies
from planted.reproduce._store import Store, StoreError, digest, jsonable, tabulate
from planted.reproduce._study import Entry


def cells(config):
    return [{"trial": i} for i in range(config["trials"])]


def run_cell(config, cell, seed):
    time.sleep(config["pause"])
    rng = random.Random(seed)
    return [{"trial": cell["trial"], "draw": i, "value": rng.random()} for i in range(3)]


def claims(config, rows):
    return [claim("one row a draw", "3", str(len(rows)), len(rows) == 3 * config["trials"])]


def draw(config, rows, figure):
    figure.subplots().plot([row["value"] for row in rows])


def artificial(trials=6, pause=0.0, **options):
    config = {"trials": trials, "pause": pause}
    return Entry("artificial/one", "random numbers", config, config, cells, run_cell, claims, draw, **options)


def only(entry, **options):
    (study,) = run_studies([entry], **options)
    return study


def counting(entry, calls):
    def count(config, cell, seed):
        calls.append(cell["trial"])
        return run_cell(config, cell, seed)

    return Entry(entry.name, entry.title, entry.quick, entry.full, cells, count, claims, draw)


def test_a_second_run_computes_nothing_and_gives_the_same_files(tmp_path):
    calls = []
    first = only(counting(artificial(), calls), out=tmp_path)
    before = {path.name: path.read_bytes() for path in first.folder.rglob("*.*")}
    second = only(counting(artificial(), calls), out=tmp_path)
    assert calls == list(range(6))
    assert {path.name: path.read_bytes() for path in second.folder.rglob("*.*")} == before
    assert first.table == second.table == only(artificial()).table
    assert json.loads((first.folder / "study.json").read_text())["claims"][0]["verdict"] == "holds"
    assert pl.read_parquet(first.folder / "table.parquet").to_dicts() == first.table


def test_parts_run_one_by_one_are_put_together_without_computing(tmp_path):
    calls = []
    whole, half = counting(artificial(), calls), counting(artificial(), calls)
    half = replace(half, name="artificial/two")
    assert list(run_studies([whole, half], out=tmp_path, stored=True)) == []
    made = only(whole, out=tmp_path)
    only(half, out=tmp_path)
    next(iter((tmp_path / "artificial/two").rglob("cells/*.json"))).unlink()
    (study,) = run_studies([whole, half], out=tmp_path, stored=True)
    assert len(calls) == 12
    assert (study.name, study.table) == (made.name, made.table)
    assert re.fullmatch(r"computed on \d{4}-\d\d-\d\d by planted [\w.+]+(, commit \w+\+?)?", study.made)


def test_other_seeds_and_configurations_have_folders_of_their_own(tmp_path):
    studies = [only(artificial(), out=tmp_path), only(artificial(), out=tmp_path, seed=1)]
    studies.append(only(artificial(trials=7), out=tmp_path))
    assert len({study.folder for study in studies}) == 3
    assert studies[0].table != studies[1].table
    # A cell's seed does not depend on how many there are: the first six of seven are the same.
    assert studies[2].table[:18] == studies[0].table


def test_seeds_derive_from_the_names_that_are_given():
    assert only(artificial(seed_by=())).table[0]["value"] == random.Random(0).random()
    values = {row["value"] for row in only(artificial(seed_by=())).table}
    assert len(values) == 3
    assert len({row["value"] for row in only(artificial()).table}) == 18


@pytest.mark.parametrize("damage", ["cut", "emptied", "other rows", "no rows", "not JSON"])
def test_unreadable_leftovers_are_computed_again(tmp_path, damage):
    whole = only(artificial(), out=tmp_path)
    table = (whole.folder / "table.parquet").read_bytes()
    parquet = sorted((whole.folder / "cells").glob("*.parquet"))
    if damage == "cut":
        parquet[0].write_bytes(parquet[0].read_bytes()[:-9])
    elif damage == "emptied":
        parquet[0].write_bytes(b"")
    elif damage == "other rows":
        parquet[0].write_bytes(parquet[1].read_bytes())
    elif damage == "no rows":
        parquet[0].unlink()
    else:
        parquet[0].with_suffix(".json").write_text("{")
    (parquet[0].parent / ".left.json.999999999.part").write_text("{")
    calls = []
    again = only(counting(artificial(), calls), out=tmp_path)
    assert len(calls) == 1
    assert (again.folder / "table.parquet").read_bytes() == table
    assert not list(again.folder.rglob(".*"))


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*: Not a directory; what was computed before is kept"):
        only(artificial(), out=tmp_path / "file")


def test_a_full_disk_keeps_what_was_there(tmp_path, monkeypatch):
    entry, kept = artificial(), []
    save = Store.save

    def full(self, cell, *result):
        if cell["trial"] == 3:
            monkeypatch.setattr("os.fsync", no_space)
        else:
            kept.append(cell["trial"])
        save(self, cell, *result)

    def no_space(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "save", full)
    with pytest.raises(StoreError, match="the disk is full; what was computed before is kept"):
        only(entry, out=tmp_path)
    monkeypatch.undo()
    assert kept == [0, 1, 2]
    calls = []
    assert only(counting(entry, calls), out=tmp_path).table == only(entry).table
    assert calls == [3, 4, 5]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_can_be_stored_and_sent_to_a_process(name):
    entry = ENTRIES[name]
    assert pickle.loads(pickle.dumps(entry.run_cell))
    for quick in (True, False):
        config = entry.config(quick)
        pieces = entry.cells(config)
        assert pieces == jsonable(pieces)
        assert len({digest(cell) for cell in pieces}) == len(pieces) > 0
        assert all(0 <= entry.cell_seed(0, cell) < 2**32 for cell in pieces)
    assert entry.config(True) != entry.config(False)


def test_rows_are_scalars():
    with pytest.raises(TypeError, match="column 'a' holds a list"):
        tabulate([{"a": [1]}])


def test_cells_of_another_revision_are_not_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr("planted.reproduce._store.REVISION", 1)
    before = only(artificial(), out=tmp_path)
    monkeypatch.undo()
    calls = []
    after = only(counting(artificial(), calls), out=tmp_path)
    assert calls == list(range(6))
    assert after.folder != before.folder


def dying(entry, moments):
    """`entry`, whose process is killed at a random moment in or after its second to fifth cell, before three more."""
    last, calls = moments.randint(2, 5), []

    def die(config, cell, seed):
        calls.append(cell)
        if len(calls) == last:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 0.02))  # nobody handles SIGALRM: it kills
        while len(calls) > last + 3:
            signal.pause()
        return run_cell(config, cell, seed)

    return Entry(entry.name, entry.title, entry.quick, entry.full, cells, die, claims, draw)


SCRIPT = """
import os, random, signal, sys
sys.path.insert(0, {tests!r})
from test_reproduce_runner import artificial, dying, only

if __name__ == "__main__":
    moments = random.Random(0)
    entry = artificial({trials}, {pause})
    for _ in range({kills}):
        moments.random()  # a child's draws are not seen here: this makes the next one's others
        child = os.fork()  # a start-up saved: nothing has made threads yet
        if not child:
            only(dying(entry, moments), out={out!r})
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGALRM
    if not {kills}:
        only(entry, out={out!r}, jobs={jobs})
"""


def script(folder, **values):
    path = folder / "script.py"
    path.write_text(SCRIPT.format(tests=os.path.dirname(__file__), out=str(folder / "out"), **values))
    return [sys.executable, path]


def test_killed_ten_times_at_random_moments_and_resumed_equals_an_uninterrupted_run(tmp_path):
    entry = artificial(100, 0.001)
    subprocess.run(script(tmp_path, trials=100, pause=0.001, jobs=1, kills=10), check=True)
    # From one cell to eight before each kill, on a machine of any speed.
    assert 10 <= len(list(tmp_path.rglob("cells/*.json"))) <= 80
    resumed, whole = only(entry, out=tmp_path / "out"), only(entry, out=tmp_path / "whole")
    assert (resumed.folder / "table.parquet").read_bytes() == (whole.folder / "table.parquet").read_bytes()


@pytest.mark.slow
def test_processes_end_with_a_killed_parent_and_leave_results_to_resume_from(tmp_path):
    parent = subprocess.Popen(script(tmp_path, trials=40, pause=0.05, jobs=2, kills=0))
    deadline = time.monotonic() + 600
    while len(list(tmp_path.rglob("cells/*.json"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, text=True, check=True)
    parent.kill()
    parent.wait()
    workers = found.stdout.split()
    assert len(workers) >= 2
    while any(map(running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, workers))
    assert not list(tmp_path.rglob("table.parquet"))
    entry = artificial(40, 0.05)
    assert only(entry, out=tmp_path / "out").table == only(artificial(40)).table


def running(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True
