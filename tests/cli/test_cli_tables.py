"""Tables of every kind on the command line: what is said, and which flags are named."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from planted.cli import main
from planted.datasets import make_planted

DATA = make_planted(120, 2, 1, random_state=0)
FAST = ("--hidden", 1, "--method", "squared", "--activation", "relu", "--no-bias", "--no-intercept", "--json")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def lines(separator=",", decimal="."):
    rows = np.column_stack([DATA.X, DATA.y])
    cells = [[repr(value).replace(".", decimal) for value in row] for row in rows.tolist()]
    return "".join(f"{separator.join(row)}\n" for row in [["age", "pay, net", "y"], *cells])


def test_semicolons_compression_and_upper_case(capsys, tmp_path):
    path = tmp_path / "DATA.CSV.GZ"
    path.write_bytes(gzip.compress(lines(";", ",").encode()))
    status, out, err = run(capsys, "fit", path, *FAST)
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["inputs"] == ["age", "pay, net"]
    assert "semicolons, decimal comma, header; 120 rows × 2 columns; target y" in report["table"]
    status, out, _ = run(capsys, "fit", path, *FAST, "--features", '"pay, net"')
    assert json.loads(out)["inputs"] == ["pay, net"]


@pytest.mark.parametrize("header", ["", "age pay y\n"])
def test_columns_aligned_by_spaces(header, capsys, tmp_path):
    path, rows = tmp_path / "aligned.txt", np.column_stack([DATA.X, DATA.y])
    path.write_text(header + "".join("  ".join(f"{value:24.17g}" for value in row) + " \n" for row in rows))
    for engine in ("memory", "files"):
        report = json.loads(run(capsys, "fit", path, *FAST, "--engine", engine)[1])
        assert report["status"] == "recovered"
        assert report["inputs"] == (["age", "pay"] if header else ["x0", "x1"])


def test_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(";").encode())))
    status, out, _ = run(capsys, "fit", "-", *FAST)
    assert status == 0
    assert json.loads(out)["table"].startswith("standard input: semicolons, decimal point")
    assert run(capsys, "fit", "-", "--engine", "files")[0] == 2


def test_the_report_says_what_was_understood_and_warns_of_columns(capsys, tmp_path):
    path = tmp_path / "data.csv"
    rows = lines().replace("pay, net", "pay").splitlines()
    path.write_text("\n".join([f"id,{rows[0]}", *(f"{i},{row}" for i, row in enumerate(rows[1:]))]))
    arguments = [entry for entry in FAST if entry != "--json"]
    status, out, err = run(capsys, "fit", path, *arguments, "--exclude", "id")
    assert (status, err) == (0, "")
    assert f"table: {path}: commas, decimal point, header; 120 rows × 2 columns; target y" in out
    _, _, err = run(capsys, "fit", path, *arguments)
    assert "planted: column 'id' counts the rows: leave it out with --exclude id\n" in err


def test_flags_are_named_and_help(capsys, tmp_path):
    path = tmp_path / "data.csv"
    rows = lines().replace("pay, net", "pay").splitlines()
    towns = ["Oslo", "Rome"] * 60
    path.write_text(
        "\n".join([f"town,{rows[0]}", *(f"{t},{row}" for t, row in zip(towns, rows[1:], strict=True))])
        + "\nRome,,1,2\n"
    )
    status, _, err = run(capsys, "fit", path, *FAST)
    assert status == 2
    assert err.strip().endswith(
        "column 'town' holds text, 'Oslo' in row 1; --categorical makes columns of zeros and ones of it"
    )
    status, _, err = run(capsys, "fit", path, *FAST, "--categorical")
    assert status == 2
    assert "column 'age' has a missing value in row 121; --missing drop leaves such rows out" in err
    status, out, _ = run(capsys, "fit", path, *FAST, "--categorical", "--missing", "drop")
    report = json.loads(out)
    assert status == 0
    assert report["inputs"] == ["town=Rome", "age", "pay"]
    assert "1 row with missing values left out" in report["table"]
    status, _, err = run(capsys, "fit", path, *FAST, "--missing", "median")
    assert status == 2
    assert "unknown rule for missing values 'median'" in err
    assert "--engine memory" in run(capsys, "fit", path, *FAST, "--categorical", "--engine", "files")[2]


def test_a_missing_extra_is_one_sentence(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(lines())
    code = f"""
import sys
sys.modules["dask"] = None
from planted.cli import main
main(["fit", {str(path)!r}, "--engine", "dask", "--hidden", "1"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "planted: the Dask engine needs Dask: install planted[dask]\n"


def test_version_and_module():
    import planted

    command = [sys.executable, "-m", "planted", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == planted.__version__


def test_a_target_of_text_names_the_flag_for_labels(capsys, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,buys\n1.5,no\n2.5,yes\n0.5,no\n")
    status, _, err = run(capsys, "fit", path, "--target", "buys")
    assert status == 2
    assert "column 'buys' holds text, 'no' in row 1; labels go with --task classification" in err
    path.write_text("age,share\n1.5,12 %\n2.5,13 %\n0.5,9 %\n")
    status, _, err = run(capsys, "fit", path, "--target", "share")
    assert status == 2
    assert "write plain numbers" in err


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_negative_weights_name_the_option_and_the_column(capsys, tmp_path, suffix):
    path, weights = tmp_path / f"rows.{suffix}", np.ones(120)
    weights[7] = -2.5
    if suffix == "npz":
        np.savez(path, X=DATA.X, y=DATA.y, count=weights)
    else:
        table = np.column_stack([DATA.X, weights, DATA.y])
        np.savetxt(path, table, delimiter=",", header="a,b,count,y", comments="")
    status, out, err = run(capsys, "fit", path, *FAST, "--weights", "count")
    assert (status, out) == (2, "")
    assert err.startswith("planted: --weights: ")
    assert "'count'" in err
    assert "negative weight, -2.5 in row 8" in err
