"""`planted score` and `planted fit --inputs`: numbers as the library gives them, one-sentence errors."""

import gzip
import json

import numpy as np
import polars as pl
import pytest
from test_cli import run

from planted import Network, datasets, match
from planted.inputs import LocalLikelihood, Logistic


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 2)) * [1.0, 2.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("scores")
    datasets.write_table(path / "data.csv", rows, rows[:, 0])
    datasets.write_table(path / "inputs.csv", rows)
    datasets.write_table(path / "query.csv", [[0.5, -1.0], [500.0, 0.0]])
    datasets.write_table(path / "far.csv", [[500.0, 0.0]])
    datasets.write_table(path / "narrow.csv", [[0.5], [1.0]])
    datasets.write_table(path / "wide.csv", np.random.default_rng(1).normal(size=(100, 4)))
    np.savez(path / "narrow.npz", X=np.ones((2, 1)))
    (path / "text.csv").write_text("x0,x1\n1,2\n4,oops\n")
    (path / "equal.csv").write_text("x0,x1\n" + "1,2\n" * 30)
    planted = datasets.make_planted(8000, 3, 2, inputs=Logistic(3), random_state=0)
    datasets.write_table(path / "logistic.csv", planted.X, planted.y)
    planted.teacher.save(path / "teacher")
    return path


@pytest.mark.parametrize("order", [1, 2])
def test_scores_at_the_rows_leave_each_row_out(capsys, folder, rows, tmp_path, order):
    out = tmp_path / "scores.csv"
    arguments = ["--target", "y", "--order", order, "--bandwidth", "1.5", "--out", out]
    status, text, err = run(capsys, "score", folder / "data.csv", *arguments)
    assert (status, err) == (0, "")
    assert "600 query points" in text
    assert "bandwidth 1.5" in text
    table = pl.read_csv(out)
    expected = LocalLikelihood(1.5).fit(rows).local_fit().score(order)
    if order == 1:
        assert table.columns == ["score_x0", "score_x1", "neighbours", "status"]
        np.testing.assert_allclose(table["score_x1"].to_numpy(), expected[:, 1], atol=1e-9)
        # ∇ log f = −x/σ² for these Gaussian rows.
        assert np.corrcoef(table["score_x1"].to_numpy(), -rows[:, 1] / 4)[0, 1] > 0.95
    else:
        assert table.columns[:3] == ["score_x0_x0", "score_x0_x1", "score_x1_x1"]
        np.testing.assert_allclose(table["score_x0_x1"].to_numpy(), expected[:, 0, 1], atol=1e-9)


def test_query_points_and_those_without_neighbours(capsys, folder):
    status, text, err = run(capsys, "score", folder / "inputs.csv", "--query", folder / "query.csv", "--bandwidth", "1")
    lines = text.splitlines()
    assert status == 0
    assert lines[0] == "score_x0,score_x1,neighbours,status"
    assert lines[1].endswith(",ok")
    assert lines[2].startswith(",,")
    assert lines[2].endswith("too few neighbours")
    assert "1 too few neighbours" in err
    status, _, err = run(
        capsys, "score", folder / "inputs.csv", "--query", folder / "far.csv", "--bandwidth", "1", "--quiet"
    )
    assert (status, err) == (1, "")


def test_json_and_held_out_bandwidth_with_a_seed(capsys, folder):
    arguments = ["score", folder / "inputs.csv", "--bandwidth", "held-out", "--seed", 3, "--json"]
    reports = [json.loads(run(capsys, *arguments)[1]) for _ in range(2)]
    assert reports[0] == reports[1]
    report = reports[0]
    best = min(report["criterion"], key=lambda h: report["criterion"][h] if report["criterion"][h] is not None else 1e9)
    assert report["bandwidth"] == pytest.approx(float(best))
    assert len(report["scores"]["score_x0"]) == report["queries"] == 600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "no data file at"),
        (["data.csv", "--query", "nowhere.csv"], "no data file at"),
        (["data.csv", "--bandwidth", "wide"], "'rule', 'held-out' or 'moment'"),
        (["data.csv", "--bandwidth", "-1"], "'rule', 'held-out' or 'moment'"),
        (["data.csv", "--order", "5"], "order"),
        (["data.csv", "--degree", "5"], "degree"),
        (["data.csv", "--target", "z"], "unknown column 'z'"),
        (["wide.csv", "--degree", "3"], "degree 3 needs at most 3 inputs"),
        (["text.csv"], "oops"),
        (["equal.csv"], "all rows of X are equal"),
        (["inputs.csv", "--query", "narrow.csv"], "unknown column 'x1'"),
        (["inputs.csv", "--query", "narrow.npz"], "unknown column 'x1'"),
        (["inputs.csv", "--out", "no/such/folder.csv"], "no folder"),
    ],
)
def test_mistakes_get_one_sentence_and_status_2(capsys, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    status, out, err = run(capsys, "score", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_fit_by_score_with_a_named_density(capsys, folder, tmp_path):
    arguments = ["--hidden", 2, "--method", "score", "--inputs", "logistic", "--out", tmp_path / "model"]
    status, out, err = run(capsys, "fit", folder / "logistic.csv", *arguments)
    assert (status, err) == (0, "")
    assert "inputs: Logistic(3 inputs) (its family was named" in out
    assert match(Network.load(tmp_path / "model"), Network.load(folder / "teacher")).weight_error < 1e-8


def test_fit_says_that_inputs_are_not_gaussian_and_refuses_unknown_ones(capsys, folder):
    status, _, err = run(capsys, "fit", folder / "logistic.csv", "--hidden", 2, "--method", "hermite")
    assert status == 0
    assert "assumes Gaussian inputs" in err
    assert "the inputs are not Gaussian" in err
    status, _, err = run(capsys, "fit", folder / "logistic.csv", "--inputs", "logistik")
    assert status == 2
    assert "did you mean 'logistic'?" in err


def test_fit_tests_the_rank_of_the_second_moment_beside_its_own_choice_of_width(capsys, folder):
    status, out, _ = run(capsys, "fit", folder / "logistic.csv", "--inputs", "logistic", "--json")
    assert status == 0
    report = json.loads(out)
    assert report["moment_rank"]["rank"] == report["network"]["n_hidden"] == 2
    assert len(report["moment_rank"]["p_values"]) == 3


@pytest.fixture
def mixed(tmp_path, rows):
    """Rows with a city, a gap in the first row, dates, and a target that is text."""
    cells = [["", *rows[0, 1:]], *rows[1:200].tolist()]
    lines = [f"{u},{v},{('Oslo', 'Rome')[i % 2]},2020-01-{1 + i % 28:02},yes" for i, (u, v) in enumerate(cells)]
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(["u,v,city,day,label", *lines]))
    return path


def test_the_options_that_refusals_name_are_taken(capsys, mixed, rows):
    given = ["score", mixed, "--target", "label", "--bandwidth", "1.5"]
    status, _, err = run(capsys, *given)
    assert (status, "with --exclude" in err or "--categorical makes" in err) == (2, True)
    status, _, err = run(capsys, *given, "--exclude", "day,city")
    assert (status, "--missing drop leaves such rows out" in err) == (2, True)
    status, out, err = run(capsys, *given, "--exclude", "day,city", "--missing", "drop")
    assert status == 0
    assert "1 of 200 rows lack an input: they have no scores" in err
    table = pl.read_csv(out.encode())
    assert table.row(0) == (None, None, None, "missing value")
    expected = LocalLikelihood(1.5).fit(rows[1:200]).local_fit().score(1)
    np.testing.assert_allclose(table["score_v"].to_numpy()[1:], expected[:, 1], atol=1e-9)
    status, out, err = run(capsys, *given, "--exclude", "day", "--categorical", "--missing", "mean", "--json")
    assert (status, err) == (0, "")
    assert list(json.loads(out)["scores"])[:3] == ["score_u", "score_v", "score_city=Rome"]


def test_query_points_are_encoded_as_the_rows_are(capsys, mixed, tmp_path):
    given = ["score", mixed, "--target", "label", "--exclude", "day", "--categorical", "--bandwidth", "3"]
    points = tmp_path / "points.csv"
    points.write_text("city,v,u\nRome,0,0.5\nOslo,0,0.5\nOslo,,0.5\n")
    status, out, err = run(capsys, *given, "--missing", "drop", "--query", points, "--json")
    found = json.loads(out)
    assert (status, found["queries"], found["rows"]) == (0, 3, 199)
    assert "1 of 3 rows lack an input (v)" in err
    first, second, third = found["scores"]["score_city=Rome"]
    assert first < second
    assert third is None
    mixed.write_text(mixed.read_text().replace("\n,", "\n0.1,"))
    status, _, err = run(capsys, *given, "--query", points)
    assert (status, "'v' has a missing value in row 3; --missing drop leaves" in err) == (2, True)
    points.write_text("city,v,u\nRome,,0.5\n")
    status, _, err = run(capsys, *given, "--missing", "drop", "--query", points)
    assert (status, "every row lacks an input" in err) == (2, True)


def test_help_names_the_tables_that_are_taken(capsys, tmp_path):
    assert "compressed or not" in " ".join(run(capsys, "score", "--help")[1].split())
    rows = np.random.default_rng(0).standard_normal((60, 1))
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(("u\n" + "\n".join(map(str, rows[:, 0]))).encode()))
    status, out, _ = run(capsys, "score", tmp_path / "rows.csv.gz")
    assert (status, out.split(",")[0]) == (0, "score_u")
