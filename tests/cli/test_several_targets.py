"""Models of several targets in files: what `certify` and `plot` make of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from planted import Network, PlantedRegressor
from planted.cli import main
from planted.networks import Signature, model_signature
from planted.rows import Encoding

NAMES = ("price", "size")
RNG = np.random.default_rng(6100)
X = RNG.standard_normal((300, 3))
TEACHER = Network([[1.0, -1.0, 0.0], [0.5, 0.5, 1.0]], [[1.0, 2.0], [-100.0, 50.0]], "tanh")
Y = TEACHER.predict(X) + RNG.standard_normal((300, 2)) * [0.2, 1.0]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code, *capsys.readouterr()


@pytest.fixture(scope="module")
def fitted():
    return PlantedRegressor(2, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(
        X, Y, names=["a", "b", "c"], targets=NAMES
    )


@pytest.fixture
def folder(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    about = Signature(("a", "b", "c"), NAMES, encoding=Encoding(("a", "b", "c")).as_dict())
    fitted.network_.save(tmp_path / "old", signature=about)
    header = ",".join(("a", "b", "c", *NAMES))
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, Y]), delimiter=",", header=header, comments="", fmt="%.17g")
    return tmp_path


def test_a_model_file_keeps_what_each_target_was_divided_by(folder, fitted):
    units = model_signature(folder / "model").units
    assert units == tuple(fitted.result_.units)
    np.testing.assert_allclose(units, [0.2, 1.0], rtol=0.2)
    assert model_signature(folder / "old").units == ()
    one = PlantedRegressor(1, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(X, np.tanh(X[:, 0]))
    assert one.result_.units is None


def test_certify_looks_at_the_loss_that_the_fit_made_least(capsys, folder, fitted):
    status, out, _ = run(capsys, "certify", folder / "model", folder / "rows.csv", "--report", folder / "page.html")
    assert (status, fitted.certificate_.kind) == (0, "local minimum")
    assert out.startswith("local minimum: ")
    assert "; targets count in units of 0." in out
    assert ", as in the fit\n" in out
    status, out, _ = run(capsys, "certify", folder / "old", folder / "rows.csv", "--json")
    assert status == 1
    assert json.loads(out)["reason"].endswith("the model file does not say how the fit did")


def test_a_page_of_a_certificate_has_errors_in_the_units_of_the_table(capsys, folder, fitted):
    run(capsys, "certify", folder / "model", folder / "rows.csv", "--report", folder / "page.html", "--quiet")
    page = (folder / "page.html").read_text()
    data = json.loads(page.split('id="data" type="application/json">')[1].split("</script>")[0])
    columns, rows = data["neurons"]["columns"], data["neurons"]["rows"]
    place = columns.index("± of size")
    np.testing.assert_allclose([row[place] for row in rows], fitted.standard_errors_.output[1], rtol=0.05)


def test_a_picture_of_several_targets_has_their_scores(capsys, folder):
    status, out, _ = run(capsys, "plot", folder / "model", folder / "rows.csv", "--out", folder / "a.png")
    assert status == 0
    assert "300 rows, R² 0.9" in out
    assert "\n  of price: R² 0.9" in out
    assert "\n  of size: R² 0.99" in out
