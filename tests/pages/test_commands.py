"""The commands that write pages."""

import json
import re

import numpy as np
import pytest

import planted
from planted import Network, datasets
from planted.cli import main


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


def payload(path):
    inside = re.search(r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(inside[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    data = datasets.make_planted(400, 2, 1, weights=[[0.6, -0.8]], output=[2.0], random_state=0)
    rows = "\n".join(f"{a!r},{b!r},{y!r}" for (a, b), y in zip(data.X.tolist(), data.y.tolist(), strict=True))
    (path / "data.csv").write_text(f"age,income,price\n{rows}\n")
    data.teacher.save(path / "teacher")
    return path


def test_fit_writes_a_report(folder, tmp_path, capsys):
    out, page = tmp_path / "model", tmp_path / "report.html"
    common = (
        "fit",
        folder / "data.csv",
        "--target",
        "price",
        "--hidden",
        1,
        "--method",
        "squared",
        "--activation",
        "relu",
        "--no-bias",
        "--no-intercept",
        "--json",
    )
    assert run(*common, "--out", out, "--report", page) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(page)
    text = page.read_text("utf-8")
    assert "price = 2 · relu( −0.8 · income + 0.6 · age )" in text
    assert f"planted.Network.load(&quot;{out}&quot;)" in text
    content = payload(page)
    assert content["matrices"][0]["columns"] == ["age", "income"]
    assert content["evidence"]["n_rows"] == 400
    assert Network.load(out).n_hidden == 1


def test_certify_writes_a_report(folder, tmp_path):
    page = tmp_path / "certificate.html"
    assert run("certify", folder / "teacher", folder / "data.csv", "--target", "price", "--report", page) == 0
    content = payload(page)
    assert content["certificate"]["kind"] == "global minimum"
    scaled = [0.6, -0.8] * np.loadtxt(folder / "data.csv", delimiter=",", skiprows=1)[:, :2].std(axis=0)
    np.testing.assert_allclose(content["matrices"][0]["values"][0], scaled / np.linalg.norm(scaled), rtol=1e-8)
    assert len(content["assumptions"]) > 5
    assert "No network of this kind has a lower loss: 1 relu neuron on 2 inputs." in page.read_text("utf-8")


def test_certify_of_a_filter_writes_a_report(tmp_path):
    data = datasets.make_planted_conv(300, 3, 2, random_state=0)
    np.savez(tmp_path / "data.npz", X=data.X, y=data.y)
    data.teacher.save(tmp_path / "filter")
    page = tmp_path / "page.html"
    assert run("certify", tmp_path / "filter", tmp_path / "data.npz", "--report", page) == 0
    assert [matrix["title"] for matrix in payload(page)["matrices"]] == ["filter", "output of each patch"]


def test_explore_writes_a_page(tmp_path, capsys):
    page = tmp_path / "explore.html"
    assert run("explore", "--out", page) == 0
    assert capsys.readouterr().out == f"page written to {page}: open it in a browser\n"
    assert page.stat().st_size > 50_000
    assert run("explore", "--out", tmp_path / "nowhere" / "explore.html") == 2
    assert capsys.readouterr().err.startswith("planted: no folder")


def test_pages_are_not_written_over_other_files_unless_forced(folder, tmp_path, capsys):
    notes = tmp_path / "notes.txt"
    notes.write_text("precious")
    certify = ("certify", folder / "teacher", folder / "data.csv", "--target", "price", "--report", notes)
    for command in (certify, ("read", folder / "teacher", "--report", notes), ("explore", "--out", notes)):
        assert run(*command) == 2
        assert "is there and is not a page: give another name, or --force" in capsys.readouterr().err
        assert notes.read_text() == "precious"
        assert run(*command, "--force", "--quiet") == 0
        assert notes.read_text().lstrip().lower().startswith("<!doctype html")
        notes.write_text("precious")


def test_a_reading_shows_itself_in_a_notebook_and_as_a_page(tmp_path):
    network = Network([[0.6, -0.8]], [2.0])
    reading = planted.read(network, random_state=0)
    assert "This is the network that the model is: 1 relu neuron on 2 inputs." in reading._repr_html_()
    page = reading.report(tmp_path / "page.html", ["age", "income"], ["price"])
    assert "price = 2 · relu( −0.8 · income + 0.6 · age" in page.read_text("utf-8")
