"""What commands write, and what they refuse to write before the work begins."""

import contextlib
import json
import os
import resource
import signal
from datetime import date

import numpy as np
import polars as pl
import pytest

from planted import Network, datasets
from planted.cli import main
from planted.networks import ConvNetwork, Signature, model_about
from planted.rows import Encoding


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code, *capsys.readouterr()


@contextlib.contextmanager
def full_disk(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = datasets.make_planted(300, 3, 1, activation="tanh", random_state=0)
    return datasets.write_table(tmp_path_factory.mktemp("data") / "rows.csv", data.X, data.y)


def test_a_fit_writes_a_model_that_says_what_it_belongs_to(table, tmp_path, capsys):
    status, _, _ = run(
        capsys,
        "fit",
        table,
        "--hidden",
        1,
        "--activation",
        "tanh",
        "--no-bias",
        "--no-intercept",
        "--out",
        tmp_path / "model",
    )
    assert status == 0
    about = model_about(tmp_path / "model")
    assert about["file"] == "rows.csv"
    assert about["number of rows"] == 300
    assert about["settings"]["n_hidden"] == "1"


@pytest.mark.parametrize("out", ["/dev/null", "folder", "rows.csv", "notes.txt", "loop"])
def test_outputs_are_refused_before_the_work(out, table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("precious")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "rows.csv").symlink_to(table)
    before = table.read_bytes()
    status, printed, err = run(
        capsys, "fit", "rows.csv", "--hidden", 1, "--activation", "relu", "--no-bias", "--no-intercept", "--out", out
    )
    assert (status, printed) == (2, "")
    assert err.count("\n") == 1
    model = tmp_path / "model"
    Network(np.ones((1, 3)), [1.0]).save(model)
    status, printed, _ = run(capsys, "predict", model, "rows.csv", "--target", "y", "--out", out)
    assert (status, printed) == (2, "")
    if out == "notes.txt":
        assert run(capsys, "bench", "--quick", "--alone", "--out", out)[0] == 2
        assert run(capsys, "plot", "descent", "--out", out)[0] == 2
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert table.read_bytes() == before
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_a_result_that_cannot_be_written_is_printed_and_the_checkpoint_stays(tmp_path, capsys):
    data = datasets.make_planted(300, 60, 1, activation="tanh", random_state=0)
    np.save(tmp_path / "rows.npy", np.column_stack([data.X, data.y]))
    model = tmp_path / "model"
    Network(np.ones((1, 60)), [1.0]).save(model)
    before = model.read_bytes()
    command = [
        "fit",
        tmp_path / "rows.npy",
        "--hidden",
        1,
        "--activation",
        "tanh",
        "--no-bias",
        "--no-intercept",
        "--json",
        "--out",
        model,
    ]
    checkpoint = ["--checkpoint", tmp_path / "kept"]
    # Too small for the model alone: the passes of so few rows are written before.
    from planted.networks import _format

    write = _format.write_whole

    def short(path, content):
        with full_disk(100):
            write(path, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_format, "write_whole", short)
        status, printed, err = run(capsys, *command, *checkpoint)
    assert status == 2
    assert "cannot write" in err
    assert "the disk is full" in err
    assert len(json.loads(printed)["network"]["weights"][0]) == 60
    assert model.read_bytes() == before
    assert (tmp_path / "kept" / "about.json").is_file()
    status, _, _ = run(capsys, *command, *checkpoint, "--resume")
    assert status == 0
    assert not (tmp_path / "kept").exists()


def test_a_report_that_cannot_be_written_is_not_said_to_be(table, tmp_path, capsys):
    fit = ["fit", table, "--hidden", 1, "--activation", "tanh", "--no-bias", "--no-intercept"]
    with full_disk(20_000):
        status, printed, err = run(capsys, *fit, "--report", tmp_path / "page.html")
    assert status == 2
    assert "the disk is full" in err
    assert printed.startswith("recovered")
    assert "written to" not in printed
    assert not list(tmp_path.iterdir())


def test_blocks_leave_nothing_behind_and_need_no_folder_of_their_own(table, tmp_path, capsys, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, _, _ = run(
        capsys, "fit", table, "--hidden", 1, "--activation", "tanh", "--no-bias", "--no-intercept", "--engine", "files"
    )
    assert status == 0
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize("line", ["{}", "[]", "notes", '{"cell": 1}'])
def test_a_file_that_is_no_record_is_not_touched(line, tmp_path, capsys):
    path = tmp_path / "bench.jsonl"
    path.write_text('{"cell": {}, "seed": 0, "contender": "planted", "seconds": 1.0}\n' + line + "\n")
    before = path.read_bytes()
    status, _, err = run(capsys, "bench", "--quick", "--alone", "--out", path)
    assert status == 2
    assert "line 2 is no record of this benchmark" in err
    assert path.read_bytes() == before


def test_an_export_goes_through_the_one_writer(tmp_path, capsys):
    model = Network([[1.0, 2.0]], [3.0], "tanh").save(tmp_path / "network")
    before = model.read_bytes()
    (tmp_path / "notes.txt").write_text("precious")
    for out, sentence in (
        (model, "is an input of this run"),
        (tmp_path / "notes.txt", "is there and is not a joblib file"),
        ("/dev/null", "is a device"),
        (tmp_path, "is a folder"),
    ):
        status, _, err = run(capsys, "export", model, "--to", "sklearn", "--out", out)
        assert status == 2
        assert sentence in err
    assert model.read_bytes() == before
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert run(capsys, "export", model, "--to", "sklearn", "--out", tmp_path / "notes.txt", "--force")[0] == 0
    assert run(capsys, "export", model, "--to", "sklearn", "--out", tmp_path / "notes.txt")[0] == 0


def test_a_model_knows_its_targets(tmp_path, capsys):
    X = np.random.default_rng(0).standard_normal((200, 2))
    y = np.tanh(X @ [[1.0], [0.5]]) * [2.0, -1.0] + [3.0, 4.0]
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, np.column_stack([X, y]), delimiter=",", header="u,v,price,cost", comments="")
    options = ("--target", "price,cost", "--hidden", 1, "--activation", "tanh", "--no-bias", "--intercept")
    status, printed, _ = run(capsys, "fit", rows, *options, "--out", tmp_path / "model")
    assert status == 0
    for name in ("output price", "output cost", "intercept of price", "intercept of cost"):
        assert name in printed
    status, printed, said = run(capsys, "certify", tmp_path / "model", rows)
    assert (status, said) == (0, "")
    assert printed.startswith("global minimum")
    status, printed, _ = run(capsys, "predict", tmp_path / "model", rows)
    assert (status, printed.splitlines()[0]) == (0, "prediction price,prediction cost")
    Network([[1.0, 0.5]], [[2.0], [-1.0]], "tanh").save(tmp_path / "bare")
    status, printed, _ = run(capsys, "predict", tmp_path / "bare", rows, "--features", "u,v")
    assert (status, printed.splitlines()[0]) == (0, "prediction 0,prediction 1")


def test_a_linear_function_is_certified_as_the_fit_does(tmp_path, capsys):
    X = np.random.default_rng(0).standard_normal((60, 2))
    rows = datasets.write_table(tmp_path / "rows.csv", X, X @ [2.0, -1.0] + 3.0)
    coefficients, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), X @ [2.0, -1.0] + 3.0)
    none = {"weights": np.zeros((0, 2)), "output": np.zeros(0)}
    Network(**none, skip=coefficients[:2], intercept=coefficients[2]).save(tmp_path / "model")
    status, printed, said = run(capsys, "certify", tmp_path / "model", rows, "--report", tmp_path / "page.html")
    assert (status, said) == (0, "")
    assert printed.startswith("global minimum")
    assert "inputs are Gaussian" in printed
    Network(**none, skip=[2.0, 1.0], intercept=3.0).save(tmp_path / "other")
    assert run(capsys, "certify", tmp_path / "other", rows)[0] == 1
    status, _, said = run(capsys, "certify", tmp_path / "model", rows, "--loss", "L", "--population")
    assert (status, "one hidden layer" in said) == (2, True)


def certified(tmp_path, text, *, missing="refuse"):
    """A model of y = 2 tanh(u + 2 v) whose columns are named, and the table of this text."""
    code = Encoding(("u", "v"), missing=missing)
    sign = Signature(("u", "v"), ("y",), encoding=code.as_dict())
    model = Network([[1.0, 2.0]], [2.0], "tanh").save(tmp_path / "named", signature=sign)
    (tmp_path / "table.csv").write_text(text)
    return model, tmp_path / "table.csv"


@pytest.mark.parametrize("command", ["predict", "certify", "plot"])
@pytest.mark.parametrize("cell", ["Rome", ""])
def test_no_advice_names_an_option_that_a_command_lacks(tmp_path, capsys, monkeypatch, command, cell):
    monkeypatch.chdir(tmp_path)
    model, table = certified(tmp_path, f"u,v,y\n1,2,3\n{cell},2,3\n")
    status, _, said = run(capsys, command, model, table, "--features", "u,v", "--target", "y")
    assert (status, "in row 2; columns that are not matched by name hold a number" in said) == (2, True)
    assert "--" not in said


def test_a_column_that_the_network_takes_is_not_to_be_left_out(tmp_path, capsys):
    model, _ = certified(tmp_path, "u,v,y\n1,2,3\n")
    dates = pl.DataFrame({"u": [date(2020, 1, 1)], "v": [1.0]})
    dates.write_parquet(tmp_path / "dates.parquet")
    status, _, said = run(capsys, "predict", model, tmp_path / "dates.parquet")
    assert (status, "column 'u' holds" in said, "--exclude" in said) == (2, True, False)


def test_certify_matches_columns_by_name(tmp_path, capsys):
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = 2 * np.tanh(X @ [1.0, 2.0])
    lines = [f"{v!r},{i},{t!r},{u!r}" for i, ((u, v), t) in enumerate(zip(X.tolist(), y.tolist(), strict=True))]
    model, table = certified(tmp_path, "\n".join(["v,id,y,u", *lines]))
    status, printed, said = run(capsys, "certify", model, table)
    assert (status, said) == (0, "")
    assert printed.startswith("global minimum")
    assert run(capsys, "certify", model, table, "--features", "v,u")[0] == 1
    _, table = certified(tmp_path, "\n".join(["v,id,y,w", *lines]))
    status, _, said = run(capsys, "certify", model, table)
    assert (status, "no column 'u', which the network takes" in said) == (2, True)


def test_rows_without_an_input_are_counted(tmp_path, capsys):
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = 2 * np.tanh(X @ [1.0, 2.0])
    lines = [f"{u!r},{v!r},{t!r}" for (u, v), t in zip(X.tolist(), y.tolist(), strict=True)]
    model, table = certified(tmp_path, "\n".join(["u,v,y", *lines, ",1.0,1.0", "1.0,1.0,"]), missing="drop")
    status, printed, said = run(capsys, "certify", model, table)
    assert (status, said) == (0, "planted: 2 of 32 rows lack an input (u) or the target: they are left out\n")
    assert printed.startswith("global minimum")
    status, printed, said = run(capsys, "predict", model, table, "--out", tmp_path / "made.csv")
    assert (status, printed) == (0, f"31 predictions written to {tmp_path / 'made.csv'}\n")
    assert said == (
        "planted: 1 of 32 rows lack an input (u): their predictions are empty, since the fit left such rows out; a fit "
        "with --missing mean fills them in\n"
    )
    status, _, said = run(capsys, "plot", model, table, "--out", tmp_path / "drawn.png")
    assert (status, "2 of 32 rows lack an input (u) or the target" in said) == (0, True)


def test_one_of_a_thing_is_not_said_in_the_plural(tmp_path, capsys):
    model, table = certified(tmp_path, "v,u\n1,2\n")
    _, printed, _ = run(capsys, "export", model, "--out", tmp_path / "network.npz")
    assert printed.startswith("1 neuron written")
    _, printed, _ = run(capsys, "predict", model, table, "--out", tmp_path / "predictions.csv")
    assert printed.startswith("1 prediction written")
    _, printed, _ = run(capsys, "read", model)
    assert "with 1 tanh neuron\n" in printed.replace(";", "\n").replace(",", "\n")
    assert repr(ConvNetwork([1.0, 2.0], [1.0])).endswith("over 1 patch)")


def test_a_width_that_was_given_is_not_said_to_be_chosen(tmp_path, capsys):
    data = datasets.make_planted(300, 2, 1, noise=0.3, random_state=0)
    rows = datasets.write_table(tmp_path / "noisy.csv", data.X, data.y)
    _, printed, _ = run(capsys, "fit", rows, "--hidden", 2, "--activation", "relu", "--no-bias")
    assert ": the other 1 of 2 is not determined" in printed
    assert "\nwidth: 2 as asked for; 1 neuron by the rank of E[y S₂]" in printed
    _, printed, _ = run(capsys, "fit", rows, "--activation", "relu", "--no-bias")
    assert "\nwidth: 1 by rows left out; 1 neuron by the rank of E[y S₂]" in printed
