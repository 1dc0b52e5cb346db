"""The command line, run as a person would: results, exit status, one-sentence errors."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from planted import Network, datasets, match
from planted.cli import main

KNOWN = ("--method", "squared", "--activation", "relu", "--no-bias", "--no-intercept")
COMMANDS = ("demo", "fit", "predict", "certify", "score", "plot", "explore", "reproduce")


def run(capsys, *arguments):
    """Exit status, standard output and standard error of `planted arguments`."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    data = datasets.make_planted(400, 3, 2, output="positive", random_state=0)
    datasets.write_table(path / "data.csv", data.X, data.y)
    datasets.write_table(path / "data.parquet", data.X, data.y)
    np.savez(path / "data.npz", X=data.X, y=data.y)
    data.teacher.save(path / "teacher")
    (path / "text.csv").write_text("a,b,y\n1,2,3\n4,oops,6\n")
    (path / "missing.csv").write_text("a,b,y\n1,2,3\n4,,6\n")
    (path / "infinite.csv").write_text("a,b,y\n1,2,3\n4,inf,6\n")
    (path / "nan.csv").write_text("a,b,y\n1,2,3\n4,nan,6\n")
    (path / "constant.csv").write_text("a,y\n" + "".join(f"{i},7\n" for i in range(30)))
    (path / "header.csv").write_text("a,b,y\n")
    (path / "one.csv").write_text("a,b,y\n1,2,0\n")
    (path / "only.csv").write_text("y\n1\n2\n")
    (path / "few.csv").write_text("a,b,y\n1,2,3\n4,5,6\n7,8,10\n")
    (path / "empty.csv").write_text("")
    (path / "ragged.csv").write_text("a,b,y\n1,2,3\n4,5,6,7,8\n")
    (path / "broken.parquet").write_bytes(b"PAR1 this is not a table")
    (path / "broken.npz").write_bytes(b"PK not an archive")
    (path / "data.doc").write_bytes(b"spreadsheet")
    np.savez(path / "other.npz", Z=data.X, y=data.y)
    np.savez(path / "words.npz", X=np.array([["a"], ["b"]]), y=np.array([1.0, 2.0]))
    (path / "broken").write_bytes(b"\x00" * 40)
    (path / "cut").write_bytes((path / "teacher").read_bytes()[:-8])
    (path / "pickle").write_bytes(b"\x80\x04cos\nsystem\n(S'touch hacked'\ntR.")
    return path


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.npz"])
def test_fit_predict_and_certify_round_trip(capsys, folder, tmp_path, name):
    model = tmp_path / "model"
    status, out, err = run(capsys, "fit", folder / name, "--hidden", 2, *KNOWN, "--out", model)
    assert (status, err) == (0, "")
    assert "recovered" in out
    assert match(Network.load(model), Network.load(folder / "teacher")).weight_error < 1e-8
    status, out, _ = run(capsys, "predict", model, folder / name, "--target", "y", "--out", tmp_path / "p.csv")
    assert status == 0
    y = datasets.read_table(folder / name, "y")[1]
    np.testing.assert_allclose(np.loadtxt(tmp_path / "p.csv", skiprows=1), y, atol=1e-9)
    status, out, _ = run(capsys, "certify", model, folder / name)
    assert status == 0
    assert "global minimum" in out
    assert "where one fails its theorem promises nothing" in out
    status, out, _ = run(capsys, "certify", model, folder / name, "--json")
    report = json.loads(out)
    assert (status, report["kind"], report["smooth"]) == (0, "global minimum", True)
    assert 0 <= report["residual"] < 1e-6 * report["hessian_norm"]
    assert {row["status"] for row in report["assumptions"]} == {"holds", "fails", "unknown"}


def test_fit_as_json_and_plot(capsys, folder, tmp_path):
    picture = tmp_path / "fit.png"
    status, out, _ = run(capsys, "fit", folder / "data.csv", "--hidden", 2, *KNOWN, "--json", "--plot", picture)
    report = json.loads(out)
    assert status == 0
    assert report["status"] == "recovered"
    assert np.shape(report["network"]["weights"]) == (2, 3)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_network_that_does_not_fit_is_status_1(capsys, folder, tmp_path):
    path = tmp_path / "noise.csv"
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    datasets.write_table(path, X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2)
    status, out, _ = run(capsys, "fit", path, "--hidden", 1, *KNOWN)
    assert status == 1
    assert out.startswith("misfit")
    Network(np.ones((2, 3)), np.ones(2)).save(tmp_path / "wrong")
    assert run(capsys, "certify", tmp_path / "wrong", folder / "data.csv")[0] == 1
    teacher = Network.load(folder / "teacher")
    Network(teacher.weights, teacher.output, intercept=0.5).save(tmp_path / "raised")
    assert "not critical" in run(capsys, "certify", tmp_path / "raised", folder / "data.csv")[1]


BAD = {
    "no such file": (["fit", "{f}/none.csv"], "no data file"),
    "unknown kind of file": (["fit", "{f}/data.doc"], "unknown kind of file"),
    "empty file": (["fit", "{f}/empty.csv"], "is empty"),
    "one row": (["fit", "{f}/one.csv"], "/one.csv gives one row"),
    "one row in blocks": (["fit", "{f}/one.csv", "--engine", "files"], "/one.csv gives one row"),
    "one row of labels": (["fit", "{f}/one.csv", "--task", "classification"], "/one.csv gives one row"),
    "no time": (
        ["fit", "{f}/data.csv", "--time-budget", "-1"],
        "--time-budget is a positive number of seconds, not -1",
    ),
    "neither model nor picture": (["plot", "nothing"], "no model file at nothing, and unknown picture 'nothing'"),
    "score of text": (["score", "{f}/text.csv"], "--target or --exclude leaves it out, --categorical makes columns"),
    "score of text beside a target": (["score", "{f}/text.csv", "--target", "y"], "; --exclude leaves it out, --categ"),
    "header only": (["fit", "{f}/header.csv"], "no rows"),
    "only the target": (["fit", "{f}/only.csv"], "no input columns"),
    "text in a number column": (["fit", "{f}/text.csv"], "holds text, 'oops' in row 2"),
    "missing value": (["fit", "{f}/missing.csv"], "missing value in row 2"),
    "infinite value": (["fit", "{f}/infinite.csv"], "infinite value in row 2"),
    "NaN value": (["fit", "{f}/nan.csv"], "NaN or infinite value in row 2"),
    "ragged rows": (["fit", "{f}/ragged.csv"], "cannot be read as csv"),
    "corrupt parquet": (["fit", "{f}/broken.parquet"], "cannot be read as parquet"),
    "corrupt npz": (["fit", "{f}/broken.npz"], "cannot be read as npz"),
    "npz without X": (["fit", "{f}/other.npz"], "no array named X"),
    "npz of words": (["fit", "{f}/words.npz"], "must be numbers"),
    "constant target": (["fit", "{f}/constant.csv"], "constant"),
    "unknown target": (["fit", "{f}/data.csv", "--target", "Y"], "unknown column 'Y'"),
    "unknown feature": (["fit", "{f}/data.csv", "--features", "x0,x9"], "did you mean"),
    "target among the features": (["fit", "{f}/data.csv", "--features", "x0,y"], "both an input and the target"),
    "unknown activation": (["fit", "{f}/data.csv", "--activation", "rellu"], "did you mean 'relu'?"),
    "unknown method": (["fit", "{f}/data.csv", "--method", "hermit"], "did you mean 'hermite'?"),
    "hidden zero": (["fit", "{f}/data.csv", "--hidden", "0"], "positive integer"),
    "hidden a word": (["fit", "{f}/data.csv", "--hidden", "many"], "positive integer"),
    "fourth coefficient zero": (
        ["fit", "{f}/data.csv", "--hidden", "2", "--activation", "tanh", "--method", "landscape"],
        "fourth Hermite coefficient of tanh is zero",
    ),
    "more neurons than inputs": (
        ["fit", "{f}/data.csv", "--hidden", "4", "--method", "landscape"],
        "needs n_hidden ≤ inputs",
    ),
    "no folder for the model": (["fit", "{f}/data.csv", "--out", "{f}/nowhere/model"], "no folder"),
    "negative seed": (["fit", "{f}/data.csv", "--seed", "-1"], "seed"),
    "unknown option": (["fit", "{f}/data.csv", "--hiden", "3"], "No such option"),
    "unknown command": (["fitt"], "No such command"),
    "no model file": (["predict", "{f}/none", "{f}/data.csv"], "no model file"),
    "corrupt model": (["predict", "{f}/broken", "{f}/data.csv"], "not a planted model"),
    "cut model": (["predict", "{f}/cut", "{f}/data.csv"], "not a planted model"),
    "pickle as model": (["predict", "{f}/pickle", "{f}/data.csv"], "not a planted model"),
    "wrong number of inputs": (["predict", "{f}/teacher", "{f}/data.csv"], "4 input columns but the network takes 3"),
    "unknown figure": (["reproduce", "ge2017/fig9"], "did you mean 'ge2017/fig"),
    "unknown paper": (["reproduce", "ge2071"], "did you mean 'ge2017'?"),
    "all and one": (["reproduce", "ge2017", "--all"], "either --all or ge2017"),
    "gallery nowhere": (["reproduce", "ge2017", "--gallery"], "--gallery needs --out"),
    "demo wider than its inputs": (["demo", "--features", "2", "--hidden", "3"], "at most --features"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gets_one_sentence_and_changes_nothing(capsys, folder, kind, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    arguments, expected = BAD[kind]
    status, out, err = run(capsys, *(argument.replace("{f}", str(folder)) for argument in arguments))
    assert status == 2
    assert out == ""
    assert expected in err
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("planted: ")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_there_are_thirty_kinds_of_bad_input():
    assert len(BAD) >= 30


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys, command):
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    assert {"--seed", "--quiet", "--json"} <= set(out.split())


def test_no_arguments_print_the_help(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["planted"])
    asked = run(capsys, "--help")
    assert asked[0] == 0
    assert len(asked[1].splitlines()) > len(COMMANDS)
    assert run(capsys) == asked
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code, *capsys.readouterr()) == asked


def test_interruption_is_a_sentence(capsys, folder, tmp_path, monkeypatch):
    import planted.estimators

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(planted.estimators.PlantedRegressor, "fit", interrupt)
    status, _, err = run(capsys, "fit", folder / "data.csv", "--hidden", 2, "--out", tmp_path / "model")
    assert status == 130
    assert "interrupted" in err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["fit", "x.csv", "--activation", "rellu"]])
def test_help_and_argument_errors_do_not_wait_for_jax(arguments):
    code = (
        "import sys\nfrom planted.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "assert 'jax' not in sys.modules and 'sklearn' not in sys.modules, 'loaded too much'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reproduce_lists_and_runs_quickly(capsys, tmp_path):
    status, out, _ = run(capsys, "reproduce", "list")
    assert status == 0
    assert "ge2017/fig3" in out
    status, out, _ = run(capsys, "reproduce", "ge2017/appendix-d", "--quick", "--out", tmp_path)
    assert status == 0
    assert out.count("[holds]") == 3
    (folder,) = (tmp_path / "ge2017" / "appendix-d").iterdir()
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "figure.svg").exists()
    assert json.loads((folder / "study.json").read_text())["claims"][0]["verdict"] == "holds"


def test_reproduce_says_how_to_go_on_when_stopped(capsys, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("planted.reproduce._runner._timed", stop)
    for options, sentence in (((), "--out FOLDER"), (("--out", tmp_path), f"again to go on from {tmp_path}")):
        status, _, err = run(capsys, "reproduce", "ge2017/appendix-d", "--quick", *options)
        assert status == 130
        assert err.startswith("planted: interrupted: ")
        assert sentence in err


def test_fit_prints_verdict_and_intervals(capsys, tmp_path):
    data = datasets.make_planted(500, 2, 1, noise=0.1, random_state=0)
    path = datasets.write_table(tmp_path / "rows.csv", data.X, data.y)
    asked = ("fit", str(path), "--hidden", "1", *KNOWN, "--intervals", "0.9", "--quiet")
    code, out, _ = run(capsys, *asked, "--json")
    assert code == 0
    report = json.loads(out)
    assert report["status"] == "estimated"
    (lower,), (upper,) = report["intervals"]["output"]
    assert lower < 1 < upper
    out = run(capsys, *asked)[1]
    assert out.startswith("estimated: ")
    assert "neuron 1" in out
    assert "brackets hold 90 % intervals" in out


def test_certify_says_what_descent_from_here_reaches_and_runs_it(capsys, tmp_path):
    data = datasets.make_planted(12, 6, 6, activation="tanh", weights="gaussian", random_state=0)
    table, model = tmp_path / "rows.csv", tmp_path / "net"
    datasets.write_table(table, data.X, data.y)
    data.teacher.save(model)
    status, out, _ = run(capsys, "certify", model, table, "--descent", "20", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["descent"]["target"] == "zero loss"
    assert answer["descent_run"]["steps"] == 20
    status, out, _ = run(capsys, "certify", model, table, "--descent", "0")
    assert "reaches zero loss" in out


@pytest.mark.parametrize("loss", ["G", "F", "L"])
def test_certify_says_how_near_the_teacher_is_to_a_minimum_of_a_designed_loss(capsys, tmp_path, loss):
    data = datasets.make_planted(4000, 2, 2, random_state=0)
    model, table = tmp_path / "model", tmp_path / "data.npz"
    data.teacher.save(model)
    np.savez(table, X=data.X, y=data.y)
    options = ("certify", model, table, "--loss", loss, "--inputs", "gaussian")
    status, out, _ = run(capsys, *options, "--json")
    answer = json.loads(out)
    assert (status, answer["kind"]) == (0, "local minimum")
    assert 0 < answer["teacher_distance"]["expected"] < 0.3
    status, _, err = run(capsys, *options, "--descent", "1")
    assert status == 2
    assert "goes without --descent" in err


LAW = """
import jax.numpy as jnp
import numpy as np
from planted.inputs import CustomDensity

mixing = np.array([[1.0, 0.4], [-0.3, 0.8]])

def log_density(x):
    z = jnp.linalg.inv(mixing) @ x
    return -jnp.sum(z + 2 * jnp.logaddexp(0.0, -z))

def sample(n, seed):
    return np.random.default_rng(seed).logistic(size=(n, 2)) @ mixing.T

law = CustomDensity(log_density, 2, sample)
number = 3
"""


def test_certify_takes_a_density_of_your_own(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law_of_inputs.py").write_text(LAW)
    teacher = Network([[0.6, 0.8], [-0.8, 0.6]], [1.0, 1.5])
    X = np.random.default_rng(0).logistic(size=(4000, 2)) @ np.array([[1.0, -0.3], [0.4, 0.8]])
    teacher.save("model")
    np.savez("data.npz", X=X, y=teacher.predict(X))
    options = ("certify", "model", "data.npz", "--loss", "L", "--inputs", "law_of_inputs:law")
    status, out, _ = run(capsys, *options, "--json")
    assert (status, json.loads(out)["kind"]) == (0, "local minimum")
    status, out, _ = run(capsys, *options, "--population", "--json")
    answer = json.loads(out)
    assert (status, answer["kind"]) == (0, "global minimum")
    # κ* come from draws, whose error counts.
    assert 0 < answer["teacher_distance"]["expected"] < 0.05
    assert {row["name"]: row["status"] for row in answer["assumptions"]}["κ*_i have one sign"] == "holds"
    for wrong, message in (
        ("law_of_inputs:number", "not a density"),
        ("law_of_inputs:none", "has no none"),
        ("no_such_module:law", "cannot import"),
    ):
        status, _, err = run(capsys, *options[:-1], wrong)
        assert status == 2
        assert message in err


@pytest.mark.parametrize("loss", ["G", "F", "L"])
def test_certify_the_expectation_of_a_designed_loss(capsys, tmp_path, loss):
    rows = [[1.0, 0.0], [0.6, 0.8]] if loss == "F" else [[0.6, 0.8], [-0.8, 0.6]]
    model, table = tmp_path / "model", tmp_path / "data.npz"
    teacher = Network(rows, [1.0, 1.5])
    teacher.save(model)
    X = np.random.default_rng(0).normal(size=(300, 2))
    np.savez(table, X=X, y=teacher.predict(X))
    status, out, _ = run(capsys, "certify", model, table, "--loss", loss, "--inputs", "logistic", "--population")
    assert status == 0
    assert out.startswith("global minimum")
    assert "of a permutation of the teacher" in out
    status, _, err = run(capsys, "certify", model, table, "--population")
    assert status == 2
    assert "--population is for" in err
