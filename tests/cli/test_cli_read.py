"""`planted read` and `planted export` from the command line."""

import json

import joblib
import numpy as np
import pytest
from typer.testing import CliRunner

from planted import Network, match
from planted.cli._main import app, main
from planted.networks import ConvNetwork, Signature

RUNNER = CliRunner()
NET = Network([[1.0, -1.0, 0.5], [0.3, 2.0, 1.0]], [1.0, -2.0], bias=[0.5, -0.2], intercept=0.7)


def functions(folder):
    (folder / "own_models.py").write_text(
        "import numpy as np\n"
        "def two(X):\n"
        "    return np.maximum(X @ np.array([1.0, -1.0, 0.5]) + 0.5, 0) "
        "- 2 * np.maximum(X @ np.array([0.3, 2.0, 1.0]) - 0.2, 0) + 0.7\n"
        "def tree(X):\n"
        "    return np.floor(X[:, 0])\n"
    )


def test_a_function_is_read_and_exported(tmp_path, monkeypatch):
    functions(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(
        app,
        [
            "read",
            "own_models:two",
            "--inputs",
            "3",
            "--out",
            "net",
            "--plot",
            "net.png",
            "--report",
            "net.html",
            "--json",
        ],
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["status"] == "recovered"
    assert report["network"]["n_hidden"] == 2
    assert (tmp_path / "net.png").stat().st_size > 1000
    page = (tmp_path / "net.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "recovered" in page
    assert match(Network.load(report["out"]), NET).weight_error < 1e-9
    result = RUNNER.invoke(app, ["export", report["out"], "--to", "sklearn", "--out", "net.joblib"])
    assert "2 neurons written to net.joblib" in result.stdout
    X = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(joblib.load("net.joblib").predict(X), NET.predict(X), atol=1e-9)


def test_the_report_and_the_exit_status(tmp_path, monkeypatch):
    functions(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return RUNNER.invoke(app, ["read", *arguments, "--inputs", "3"], standalone_mode=False)

    result = run("own_models:two")
    assert result.return_value == 0
    assert "recovered: equal to the model" in result.stdout
    assert "strength" in result.stdout
    result = run("own_models:tree")
    assert result.return_value == 1
    assert "misfit" in result.stdout
    result = run("own_models:two", "--max-queries", "20")
    assert result.return_value == 1
    assert "budget" in result.stdout


def test_an_onnx_file_is_read(tmp_path):
    pytest.importorskip("onnxruntime", reason="reading ONNX files needs onnxruntime")
    pytest.importorskip("onnx", reason="writing ONNX files needs onnx")
    saved = NET.save(tmp_path / "net")
    path = tmp_path / "model.onnx"
    assert RUNNER.invoke(app, ["export", str(saved), "--out", str(path), "--float64"]).exit_code == 0
    result = RUNNER.invoke(app, ["read", str(path), "--json"])
    report = json.loads(result.stdout)
    assert report["status"] == "recovered"
    assert report["fidelity"] < 1e-8


def test_pickles_need_trust(tmp_path, capsys):
    path = tmp_path / "model.joblib"
    joblib.dump(NET.to_sklearn(), path)
    with pytest.raises(SystemExit) as stopped:
        main(["read", str(path)])
    assert stopped.value.code == 2
    assert "runs the code that is stored in it" in capsys.readouterr().err
    result = RUNNER.invoke(app, ["read", str(path), "--trust", "--json"])
    assert json.loads(result.stdout)["status"] == "recovered"


LABELS = {"task": "classification", "classes": ("a", "b"), "link": "logit"}
EXPORTED = {
    "values": (NET, Signature(("u", "v", "w"), ("price",)), ["2 neurons", "inputs: u, v, w", "output: price"]),
    "two classes": (
        NET,
        Signature(("u", "v", "w"), ("kind",), **LABELS),
        ["2 neurons", "inputs: u, v, w", "output: log-odds of b", "probabilities: 1 / (1 + exp(−output))"],
    ),
    "three classes": (
        Network(np.zeros((0, 2)), np.zeros((3, 0)), intercept=np.zeros(3), skip=np.ones((3, 2))),
        Signature(("u", "v"), ("kind",), **LABELS | {"classes": ("a", "b", "c")}),
        [
            "linear function",
            "inputs: u, v",
            "outputs: log-odds of a, log-odds of b, log-odds of c",
            "probabilities: the softmax of the outputs",
        ],
    ),
    "a probability": (
        Network([[1.0]], [0.5], "sigmoid"),
        Signature(("u",), ("kind",), **LABELS | {"link": "mean", "classes": (False, True)}),
        ["1 neuron", "inputs: u", "output: probability of True"],
    ),
    "a shared filter": (
        ConvNetwork([1.0, 2.0], [1.0, -1.0, 3.0]),
        Signature(tuple(f"x{i}" for i in range(6)), ("y",), patch=(1, 2)),
        ["3 neurons", "inputs: 3 patches of 2 numbers, one patch after another", "output: y"],
    ),
    "many names": (
        Network(np.ones((1, 30)), [1.0]),
        Signature(tuple(f"x{i}" for i in range(30)), ("y",)),
        ["1 neuron", f"inputs: {', '.join(f'x{i}' for i in range(24))} and 6 more (--json has all)", "output: y"],
    ),
    "no names": (NET, None, ["2 neurons"]),
}


@pytest.mark.parametrize("kind", EXPORTED)
def test_an_export_says_what_goes_in_and_what_comes_out(tmp_path, kind):
    network, signature, expected = EXPORTED[kind]
    saved, path = network.save(tmp_path / "net", signature=signature), tmp_path / "out.onnx"
    arguments = ["export", str(saved), "--float64", "--out", str(path), "--force"]
    first, *others = RUNNER.invoke(app, arguments).stdout.splitlines()
    assert [first.replace(f" written to {path}", ""), *others] == expected
    stated = json.loads(RUNNER.invoke(app, [*arguments, "--json"]).stdout)
    assert stated["inputs"] == (None if signature is None else list(signature.inputs))
    X = np.random.default_rng(0).standard_normal((20, len(stated["inputs"] or "uvw")))
    np.testing.assert_allclose(Network.from_onnx(path).predict(X), network.predict(X), atol=1e-12)


def test_torch_files_are_read_with_trust(tmp_path, capsys):
    torch = pytest.importorskip("torch", reason="torch files need torch")
    saved, path = NET.save(tmp_path / "net"), tmp_path / "model.pt"
    assert RUNNER.invoke(app, ["export", str(saved), "--to", "torch", "--float64", "--out", str(path)]).exit_code == 0
    with pytest.raises(SystemExit):
        main(["read", str(path)])
    assert "runs the code that is stored in it" in capsys.readouterr().err
    result = RUNNER.invoke(app, ["read", str(path), "--trust", "--json"])
    assert json.loads(result.stdout)["status"] == "recovered"
    torch.save({"weight": torch.ones(2)}, path)
    with pytest.raises(SystemExit):
        main(["read", str(path), "--trust"])
    assert "holds a dict, not a module" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["read", "nowhere.onnx"], "no model file at nowhere.onnx"),
        (["read", "nowhere.pt"], "runs the code that is stored in it"),
        (["read", "nowhere"], "a function is given as package.module:name"),
        (["read", "no_such_module:f"], "cannot import no_such_module"),
        (["read", "math:nothing"], "math has no nothing"),
        (["read", "math:sqrt"], "give n_inputs"),
        (["read", "math:sqrt", "--activation", "rellu"], "did you mean 'relu'"),
        (["export", "nowhere"], "no model file at nowhere"),
        (["export", "nowhere", "--to", "keras"], "unknown format 'keras'"),
    ],
)
def test_requests_that_make_no_sense(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_linear_model_shows_its_coefficients(tmp_path):
    none = {"weights": np.zeros((0, 2)), "output": np.zeros(0)}
    Network(**none, skip=[1.5, -2.0], intercept=0.25).save(tmp_path / "linear")
    options = ["--plot", str(tmp_path / "linear.png"), "--report", str(tmp_path / "linear.html")]
    result = RUNNER.invoke(app, ["read", str(tmp_path / "linear"), *options])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("recovered: equal to the model")
    assert "one linear function explains this, no neuron is needed" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["output", "intercept", "linear:", "x0", "x1"] in lines
    assert ["1", "+0.25", "+1.5", "-2"] in lines
    assert not any(line[:1] == ["neuron"] for line in lines)


def test_neurons_are_numbered_by_strength(tmp_path):
    result = RUNNER.invoke(app, ["read", str(NET.save(tmp_path / "net"))])
    table = [line.split() for line in result.stdout.splitlines()]
    start = next(i for i, line in enumerate(table) if line[:1] == ["neuron"])
    assert [line[0] for line in table[start + 1 : start + 3]] == ["1", "2"]
    assert float(table[start + 1][1]) > float(table[start + 2][1])
