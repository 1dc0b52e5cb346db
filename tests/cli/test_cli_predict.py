"""`planted predict`: columns by name, refusals by name, labels as labels, patches as they were fitted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from planted import ConvNetwork, Network
from planted.cli import main
from planted.networks import Signature
from planted.rows import Encoding

NETWORK = Network([[1.0, 2.0, 0.5]], [1.0], bias=[0.5], intercept=1.0)
CODE = Encoding(("age", "pay", "city"), {"city": ("Oslo", "Rome")}, "mean", {"age": 4.0, "pay": 5.0, "city": "Rome"})
SIGN = Signature(("age", "pay", "city=Rome"), ("y",), encoding=CODE.as_dict())


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


@pytest.fixture
def model(tmp_path):
    return NETWORK.save(tmp_path / "model", signature=SIGN)


def values(out):
    return [float(line) for line in out.splitlines()[1:]]


def test_columns_in_any_order_with_others_between(capsys, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("city;id;pay;age\nRome;7;1,5;1\nOslo;8;;2\n;9;1;1\n")
    status, out, err = run(capsys, "predict", model, path)
    assert (status, err) == (0, "")
    expected = NETWORK.predict([[1, 1.5, 1], [2, 5, 0], [1, 1, 1]])
    np.testing.assert_allclose(values(out), expected)
    status, out, _ = run(capsys, "predict", model, path, "--target", "id", "--json")
    report = json.loads(out)
    assert status == 0
    np.testing.assert_allclose(report["predictions"], expected)
    assert report["r2"] == pytest.approx(1 - np.mean((expected - [7, 8, 9]) ** 2) / np.var([7, 8, 9]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("City,pay,age\nRome,1,1\n", "new.csv has no column 'city', which the network takes; did you mean 'City'?"),
        ("city,pay\nRome,1\n", "has no column 'age', which the network takes; its columns are city, pay\n"),
        ("city,pay,age\nParis,1,1\n", "column 'city' holds 'Paris' in row 1, which the fit did not see"),
        ("city,pay,age\nRome,much,1\n", "column 'pay' holds text, 'much' in row 1, where numbers were fitted"),
        ("city,pay,age\nRome,inf,1\n", "column 'pay' has a NaN or infinite value in row 1"),
    ],
)
def test_what_does_not_fit_is_named(capsys, model, tmp_path, text, words):
    (tmp_path / "new.csv").write_text(text)
    status, out, err = run(capsys, "predict", model, tmp_path / "new.csv")
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_files_without_header_are_taken_in_the_order_of_the_fit(capsys, tmp_path):
    plain = Signature(("a", "b", "c"), ("y",), encoding=Encoding(("a", "b", "c")).as_dict())
    model = NETWORK.save(tmp_path / "model", signature=plain)
    path = tmp_path / "new.csv"
    path.write_text("1,2,3\n4,5,6\n")
    expected = NETWORK.predict([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_allclose(values(run(capsys, "predict", model, path)[1]), expected)
    path.write_text("1,2,3,9\n4,5,6,9\n")
    np.testing.assert_allclose(values(run(capsys, "predict", model, path)[1]), expected)
    path.write_text("1,2,3,9,9\n4,5,6,9,9\n")
    assert "5 columns without names" in run(capsys, "predict", model, path)[2]


def test_dropped_rows_are_gaps(capsys, tmp_path):
    code = Encoding(("a", "b", "c"), missing="drop")
    model = NETWORK.save(tmp_path / "model", signature=Signature(("a", "b", "c"), ("y",), encoding=code.as_dict()))
    (tmp_path / "new.csv").write_text("a,b,c\n1,2,3\n,5,6\n")
    status, out, _ = run(capsys, "predict", model, tmp_path / "new.csv")
    assert status == 0
    assert out.splitlines()[2] in ("", '""')


def test_models_of_earlier_versions_take_columns_by_place(capsys, tmp_path):
    model = NETWORK.save(tmp_path / "model")
    (tmp_path / "new.csv").write_text("u,v,w\n1,2,3\n")
    np.testing.assert_allclose(
        values(run(capsys, "predict", model, tmp_path / "new.csv")[1]), NETWORK.predict([[1, 2, 3]])
    )


def test_labels_are_labels(capsys, tmp_path):
    network = Network([[1.0, -1.0]], [1.0], "sigmoid")
    sign = Signature(
        ("u", "v"), ("kind",), "classification", ("no", "yes"), "mean", encoding=Encoding(("u", "v")).as_dict()
    )
    model = network.save(tmp_path / "model", signature=sign)
    (tmp_path / "new.csv").write_text("kind,v,u\nyes,0,2\nno,2,0\nyes,1,0\n")
    status, out, err = run(capsys, "predict", model, tmp_path / "new.csv", "--target", "kind")
    assert status == 0
    rows = [line.split(",") for line in out.splitlines()]
    assert rows[0] == ["prediction", "probability of no", "probability of yes"]
    assert [row[0] for row in rows[1:]] == ["yes", "no", "no"]
    chance = network.predict([[2, 0], [0, 2], [0, 1]])
    loss = -np.mean(np.log([chance[0], 1 - chance[1], chance[2]]))
    assert err == f"accuracy 0.666667, log loss {loss:.6g}\n"
    (tmp_path / "new.csv").write_text("kind,v,u\nmaybe,0,2\n")
    assert "'maybe', which is no class" in run(capsys, "predict", model, tmp_path / "new.csv", "--target", "kind")[2]


def test_images_are_cut_as_they_were_fitted(capsys, tmp_path):
    network = ConvNetwork([1.0, 2.0, 3.0, 4.0], [1.0, -1.0, 2.0, 0.5])
    model = network.save(tmp_path / "model", signature=Signature(patch=(2, 2)))
    images = np.random.default_rng(0).standard_normal((3, 4, 4))
    np.savez(tmp_path / "images.npz", X=images)
    status, out, _ = run(capsys, "predict", model, tmp_path / "images.npz")
    assert status == 0
    from planted.datasets import images_to_patches

    np.testing.assert_allclose(values(out), network.predict(images_to_patches(images, (2, 2))))
