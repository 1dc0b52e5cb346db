"""The frame of the studies: cells, seeds, the store on disk, processes, and what survives a kill."""

import json
import os
import random
import signal
import subprocess
import time

import polars as pl
import pytest

from planted.reproduce._runner import run_studies
from planted.reproduce._store import Store, StoreError, tabulate
from planted.reproduce._study import Entry, claim


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


def test_processes_give_the_same_table(tmp_path):
    assert only(artificial(), out=tmp_path / "two", jobs=2).table == only(artificial()).table


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*: Not a directory; what was computed before is kept"):
        only(artificial(), out=tmp_path / "file")


def test_a_full_disk_keeps_what_was_there(tmp_path, monkeypatch):
    entry, kept = artificial(), []
    save = Store.save

    def full(self, cell, *result):
        if cell["trial"] == 3:
            monkeypatch.setattr("pathlib.Path.write_bytes", no_space)
        else:
            kept.append(cell["trial"])
        save(self, cell, *result)

    def no_space(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "save", full)
    with pytest.raises(StoreError, match="No space left on device"):
        only(entry, out=tmp_path)
    monkeypatch.undo()
    assert kept == [0, 1, 2]
    calls = []
    assert only(counting(entry, calls), out=tmp_path).table == only(entry).table
    assert calls == [3, 4, 5]


def test_rows_are_scalars():
    with pytest.raises(TypeError, match="column 'a' holds a list"):
        tabulate([{"a": [1]}])


def forked(work):
    """The process id of a copy of this process that does `work` and ends: no second start-up to wait for."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(0)


def finished(child):
    return os.waitpid(child, os.WNOHANG)[0] == child


@pytest.mark.filterwarnings("ignore:This process")
def test_killed_ten_times_at_random_moments_and_resumed_equals_an_uninterrupted_run(tmp_path):
    entry, moments, kills = artificial(trials=150, pause=0.002), random.Random(0), 0
    while kills < 10:
        child = forked(lambda: only(entry, out=tmp_path / "out"))
        time.sleep(moments.uniform(0.01, 0.06))
        assert not finished(child), "the run ended before ten kills: give it more trials"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
    kept = len(list((tmp_path / "out").rglob("cells/*.json")))
    assert 10 < kept < 150
    resumed, whole = only(entry, out=tmp_path / "out"), only(entry, out=tmp_path / "whole")
    assert (resumed.folder / "table.parquet").read_bytes() == (whole.folder / "table.parquet").read_bytes()


@pytest.mark.filterwarnings("ignore:This process")
def test_workers_end_with_a_killed_parent(tmp_path):
    entry = artificial(trials=400, pause=0.05)
    child = forked(lambda: only(entry, out=tmp_path, jobs=2))
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("cells/*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [int(pid) for pid in children(child)]
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(workers) >= 2
    while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.split()
