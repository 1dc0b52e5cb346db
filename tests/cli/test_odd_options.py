"""Odd values of options: one short sentence and exit status 2."""

import pytest

from planted import Network, datasets
from planted.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    data = datasets.make_planted(40, 3, 1, activation="tanh", random_state=0)
    datasets.write_table(folder / "rows.csv", data.X, data.y)
    data.teacher.save(folder / "model")
    return folder


COMMANDS = {
    "fit": (["fit", "rows.csv"], "target features exclude missing hidden task activation method inputs seed engine"),
    "predict": (["predict", "model", "rows.csv"], "features target patch seed"),
    "certify": (["certify", "model", "rows.csv"], "target features task patch seed"),
    "score": (["score", "rows.csv"], "order bandwidth degree features target seed"),
    "export": (["export", "model"], "to seed"),
    "read": (["read", "model"], "inputs activation seed"),
    "demo": (["demo"], "features hidden samples seed"),
    "bench": (["bench", "--quick", "--alone"], "cells patience engine seed"),
}
ODD = ["-1.5", "nan", "x" * 3000, "a\n\tb", "9" * 400]


@pytest.mark.parametrize("command", COMMANDS)
def test_odd_options_are_one_sentence(command, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, options = COMMANDS[command]
    for option in options.split():
        for value in ODD:
            with pytest.raises(SystemExit) as stop:
                main([*arguments, f"--{option}={value}"])
            printed, err = capsys.readouterr()
            assert (stop.value.code, printed) == (2, ""), (option, value[:20])
            assert err.count("\n") == 1
            assert len(err) < 500
            assert "No such option" not in err


def test_a_bandwidth_that_has_no_square_is_refused(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for value in ("1e-300", "1e300"):
        with pytest.raises(SystemExit) as stop:
            main(["score", "rows.csv", "--target", "y", f"--bandwidth={value}"])
        assert stop.value.code == 2
        assert "bandwidth must be a number from 1e-100 to 1e+100" in capsys.readouterr().err


def test_inputs_in_huge_units_are_certified(folder, capsys):
    """Lengths of rows below 1e-12 are lengths."""
    data = datasets.make_planted(40, 3, 1, activation="tanh", random_state=0)
    datasets.write_table(folder / "large.csv", data.X * 1e20, data.y)
    Network(data.teacher.weights / 1e20, data.teacher.output, "tanh").save(folder / "small")
    with pytest.raises(SystemExit) as stop:
        main(["certify", str(folder / "small"), str(folder / "large.csv")])
    assert stop.value.code in (0, 1)
    assert "traceback" not in capsys.readouterr().err.lower()
