"""Row weights of a fit beside its model file: what `certify`, `plot` and `predict` make of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from planted import Network
from planted.certificates import assumptions, certify
from planted.cli import main
from planted.networks import Signature, model_signature
from planted.objectives import Squared
from planted.rows import Encoding

RNG = np.random.default_rng(13)
X = RNG.standard_normal((60, 2))
COUNT = RNG.integers(1, 4, 60)
Y = X @ [1.0, -2.0] + RNG.standard_normal(60) * (1 + X[:, 0] ** 2)
LINE = np.linalg.lstsq(np.sqrt(COUNT)[:, None] * X, np.sqrt(COUNT) * Y, rcond=None)[0]
"""The best linear function by weighted squares."""
SAID = "planted: rows are weighted by column 'w', as in the fit\n"
LACKS = "planted: the fit had row weights, column 'w', which this table lacks: rows count alike\n"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def write(path, y=Y, weight=COUNT, rows=slice(None)):
    columns = [X, y] if weight is None else [X, weight, y]
    names = "a,b,y" if weight is None else "a,b,w,y"
    np.savetxt(path, np.column_stack(columns)[rows], delimiter=",", header=names, comments="")
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "rows.csv")
    write(tmp_path / "bare.csv", weight=None)
    write(tmp_path / "copies.csv", weight=None, rows=np.repeat(np.arange(60), COUNT))
    network, plain = Network(np.zeros((0, 2)), [], skip=LINE), Encoding(("a", "b")).as_dict()
    network.save(tmp_path / "plain", signature=Signature(("a", "b"), ("y",), encoding=plain))
    network.save(tmp_path / "weighted", signature=Signature(("a", "b"), ("y",), encoding=plain, weights="w"))
    network.save(tmp_path / "unsigned")
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_a_fit_says_which_rows_are_weighted_and_left_out(capsys, tmp_path, ending):
    rows, weight = tmp_path / f"rows.{ending}", np.where(np.arange(60) < 7, 0, COUNT)
    write(rows, weight=weight) if ending == "csv" else np.savez(rows, X=X, w=weight, y=Y)
    _, out, _ = run(capsys, "fit", rows, "--weights", "w", "--hidden", 1, "--activation", "relu", "--no-bias")
    assert "; target y; row weights w\n" in out
    assert "\nrow weights: 1 to 3; 7 of 60 rows have weight 0 and are left out\n" in out
    options = ("--hidden", 1, "--activation", "relu", "--no-bias", "--features", "x0" if ending == "npz" else "a")
    assert "weights" not in run(capsys, "fit", rows, *options)[1].split("table: ")[1].split("\n")[0]


def test_certify_weighs_rows_as_the_fit_did(capsys, folder):
    def certified(model, *options):
        status, out, err = run(capsys, "certify", folder / model, *options, "--json")
        return status, json.loads(out)["value"], err

    copies = certified("plain", folder / "copies.csv")
    assert copies[0] == 0
    for model, options, said in (
        ("plain", ["--weights", "w"], ""), ("weighted", ["--weights", "w"], ""), ("weighted", [], SAID),
        ("unsigned", ["--weights", "w"], ""),
    ):  # fmt: skip
        status, value, err = certified(model, folder / "rows.csv", *options)
        assert (status, err) == (0, said)
        assert value == pytest.approx(copies[1], rel=1e-12)
    assert certified("plain", folder / "rows.csv")[::2] == (1, "")
    assert certified("weighted", folder / "bare.csv")[::2] == (1, LACKS)
    np.savez(folder / "bare.npz", X=X, y=Y)
    assert certified("weighted", folder / "bare.npz")[::2] == (1, LACKS)
    status, _, err = run(capsys, "certify", folder / "weighted", folder / "bare.csv", "--weights", "w")
    assert status == 2
    assert "unknown column 'w'" in err


@pytest.mark.parametrize("command", ["plot", "predict"])
def test_scores_weigh_rows_as_the_fit_did(capsys, folder, command):
    ends = ["--target", "y", "--out", folder / ("a.png" if command == "plot" else "p.csv"), "--json"]

    def scored(model, table, *options):
        status, out, err = run(capsys, command, folder / model, folder / table, *options, *ends)
        assert status == 0
        return json.loads(out)["r2"], err

    copies, bare = scored("plain", "copies.csv")[0], scored("plain", "rows.csv")[0]
    assert abs(copies - bare) > 1e-3
    assert scored("plain", "rows.csv", "--weights", "w") == (pytest.approx(copies, rel=1e-12), "")
    assert scored("weighted", "rows.csv") == (pytest.approx(copies, rel=1e-12), SAID)
    assert scored("weighted", "bare.csv") == (pytest.approx(bare, rel=1e-12), LACKS)


def test_labels_weigh_rows_as_the_fit_did(capsys, folder):
    y = (Y > 0).astype(float)
    write(folder / "rows.csv", y)
    write(folder / "copies.csv", y, None, np.repeat(np.arange(60), COUNT))
    sign = Signature(
        ("a", "b"), ("y",), "classification", (0.0, 1.0), "mean", encoding=Encoding(("a", "b")).as_dict(), weights="w"
    )
    Network([[1.0, -2.0]], [1.0], "sigmoid").save(folder / "labels", signature=sign)
    one = json.loads(run(capsys, "certify", folder / "labels", folder / "copies.csv", "--json")[1])
    status, out, err = run(capsys, "certify", folder / "labels", folder / "rows.csv", "--json")
    assert (status, err) == (1, SAID)
    for name in ("value", "gradient_norm"):
        assert json.loads(out)[name] == pytest.approx(one[name], rel=1e-9)


def test_a_fit_keeps_the_name_of_its_weights(capsys, folder):
    write(folder / "rows.csv", 2 * np.tanh(X @ [1.0, -2.0]) + 0.1 * Y / np.sqrt(COUNT))
    fit = ["fit", folder / "rows.csv", "--hidden", 1, "--activation", "tanh", "--no-bias", "--no-intercept"]
    run(capsys, *fit, "--no-skip", "--weights", "w", "--out", folder / "model")
    assert model_signature(folder / "model").weights == "w"
    status, _, err = run(capsys, "certify", folder / "model", folder / "rows.csv")
    assert (status, err) == (0, SAID)
    stored = json.loads(Signature(("a",), ("y",)).to_json())
    del stored["weights"]
    assert Signature.from_json(json.dumps(stored)).weights == ""


def test_the_law_of_the_inputs_is_that_of_the_weights():
    """Rows of a wide uniform law, weighted to a Gaussian one, and the other way round."""
    rows = np.random.default_rng(6400).uniform(-4, 4, (3000, 2))
    inputs = ("inputs are Gaussian", "inputs have mean zero and covariance I")

    def stated(found):
        return [row.status for row in found if row.name in inputs]

    density = np.exp(-np.sum(rows**2, axis=1) / 2)
    network = Network(np.eye(2), np.ones(2))
    assert stated(assumptions(rows, network)) == ["fails", "fails"]
    assert stated(assumptions(rows, network, weight=density)) == ["holds", "holds"]
    loss = Squared(rows, network.predict(rows), sample_weight=density)
    assert stated(certify(loss, loss.model.params(network)).assumptions) == ["holds", "holds"]
    draws = np.random.default_rng(6401).standard_normal((3000, 2))
    assert stated(assumptions(draws, network)) == ["holds", "holds"]
    assert stated(assumptions(draws, network, weight=np.where(draws[:, 0] > 0, 1.0, 0.2))) == ["fails", "fails"]


def test_certify_tells_the_law_of_the_weights(capsys, tmp_path):
    rows = np.random.default_rng(6400).uniform(-4, 4, (3000, 2))
    weight = np.exp(-np.sum(rows**2, axis=1) / 2)
    network = Network(np.eye(2), np.ones(2))
    table = np.column_stack([rows, weight, network.predict(rows)])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="a,b,w,y", comments="")
    network.save(tmp_path / "model", signature=Signature(("a", "b"), ("y",), encoding=Encoding(("a", "b")).as_dict()))
    for options, status in (([], "fails"), (["--weights", "w"], "holds")):
        _, out, _ = run(capsys, "certify", tmp_path / "model", tmp_path / "rows.csv", *options)
        assert f"{status:<9}inputs are Gaussian" in out
