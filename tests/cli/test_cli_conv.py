"""The command line for shared filters: fit, predict, certify, pictures, one-sentence errors."""

import json

import numpy as np
import pytest
from test_cli import run

from planted import ConvNetwork, match
from planted.datasets import images_to_patches


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    teacher = ConvNetwork(rng.standard_normal(4), [1.0, -0.5, 0.7, 0.4, -1.0, 0.3])
    images = rng.standard_normal((1500, 4, 6))
    patches = images_to_patches(images, (2, 2))
    y = teacher.predict(patches)
    np.savez(path / "images.npz", X=images, y=y)
    np.savez(path / "channels.npz", X=images[..., None], y=y)
    np.savez(path / "patches.npz", X=patches, y=y)
    np.savez(path / "flat.npz", X=patches.reshape(1500, -1), y=y)
    np.savez(path / "short.npz", X=images, y=y[:-1])
    np.savez(path / "vector.npz", X=y, y=y)
    np.savez(path / "wide.npz", X=images[:3, None, None], y=y[:3])
    np.savez(path / "few.npz", X=patches[:5], y=y[:5])
    np.savez(path / "zero.npz", X=patches, y=0 * y)
    np.savez(path / "square.npz", X=patches, y=np.stack([y, y], axis=1))
    np.savez(path / "nan.npz", X=np.where(images > 4, np.nan, images) * np.nan, y=y)
    np.savez(path / "noise.npz", X=patches, y=rng.standard_normal(1500))
    np.savez(path / "words.npz", X=np.array([[["a"]]]), y=np.array([1.0]))
    teacher.save(path / "teacher")
    return path


SHAPES = {
    "images.npz": ["--patch", "2x2"],
    "channels.npz": ["--patch", "2x2"],
    "patches.npz": [],
    "flat.npz": ["--patches", "6"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_fit_predict_and_certify_round_trip(capsys, folder, tmp_path, name):
    status, out, err = run(capsys, "fit", folder / name, "--conv", *SHAPES[name], "--out", tmp_path / "model")
    assert (status, err) == (0, "")
    assert out.startswith("recovered")
    assert "global minimum" in out
    assert f"table: {folder / name}: NPZ; 1,500 rows × 6 patches of 4 numbers; target y\n" in out
    assert match(ConvNetwork.load(tmp_path / "model"), ConvNetwork.load(folder / "teacher")).weight_error < 1e-8
    patch = [] if "--patches" in SHAPES[name] else SHAPES[name]
    results = tmp_path / "p.csv"
    status, out, _ = run(
        capsys, "predict", tmp_path / "model", folder / name, *patch, "--target", "y", "--out", results
    )
    assert status == 0
    assert "R² 1" in out
    np.testing.assert_allclose(np.loadtxt(results, skiprows=1), np.load(folder / name)["y"], atol=1e-9)


def test_certify_names_the_minimum(capsys, folder):
    status, out, _ = run(capsys, "certify", folder / "teacher", folder / "images.npz", "--patch", "2x2")
    assert status == 0
    assert out.startswith("global minimum")
    assert "Lemma 4.1" in out


def test_fit_as_json_and_plot(capsys, folder, tmp_path):
    picture = tmp_path / "filter.png"
    status, out, _ = run(capsys, "fit", folder / "images.npz", "--conv", "--patch", "2x2", "--json", "--plot", picture)
    report = json.loads(out)
    assert (status, report["status"]) == (0, "recovered")
    assert np.shape(report["network"]["filter"]) == (4,)
    assert len(report["restarts"]) == 4
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_noise_is_not_recovered_and_structure_is_status_1(capsys, folder, tmp_path):
    assert not run(capsys, "fit", folder / "noise.npz", "--conv")[1].startswith("recovered")
    Z = np.random.default_rng(0).standard_normal((800, 3, 3))
    np.savez(tmp_path / "other.npz", X=Z, y=np.sin(4 * Z[:, 0, 0]) + Z[:, 1, 1] * Z[:, 2, 0])
    status, out, _ = run(capsys, "fit", tmp_path / "other.npz", "--conv")
    assert status == 1
    assert out.startswith("misfit")


@pytest.mark.slow
def test_reproduce_du2017_quickly(capsys, tmp_path):
    status, out, _ = run(capsys, "reproduce", "du2017", "--quick", "--out", tmp_path)
    assert status == 0
    assert out.count("[holds]") == 12
    assert {path.parent.parent.name for path in tmp_path.rglob("figure.png")} == {"fig1", "theorems", "theorem3.1"}


BAD = {
    "no such file": (["fit", "{f}/none.npz", "--conv"], "no data file"),
    "patch without conv": (["fit", "{f}/images.npz", "--patch", "2x2"], "add --conv"),
    "images without conv": (
        ["fit", "{f}/images.npz"],
        "not 3; planted fit --conv fits patches, and images with --patch HEIGHTxWIDTH",
    ),
    "patches without conv": (["fit", "{f}/images.npz", "--patches", "2"], "add --conv"),
    "patch is a number": (["fit", "{f}/images.npz", "--conv", "--patch", "4"], "HEIGHTxWIDTH"),
    "patch of zero": (["fit", "{f}/images.npz", "--conv", "--patch", "0x2"], "HEIGHTxWIDTH"),
    "patch does not divide": (
        ["fit", "{f}/images.npz", "--conv", "--patch", "3x2"],
        "do not split into patches of 3x2",
    ),
    "patch on flat rows": (
        ["fit", "{f}/flat.npz", "--conv", "--patch", "2x2"],
        "flat rows, not images: give --patches",
    ),
    "flat rows without patches": (["fit", "{f}/flat.npz", "--conv"], "give --patches"),
    "patches do not divide": (["fit", "{f}/flat.npz", "--conv", "--patches", "5"], "do not split into 5 patches"),
    "other number of patches": (["fit", "{f}/patches.npz", "--conv", "--patches", "5"], "expected 5"),
    "patches of images": (
        ["fit", "{f}/images.npz", "--conv", "--patch", "2x2", "--patches", "5"],
        "the images have 6 patches, expected 5",
    ),
    "channels without patch": (["fit", "{f}/channels.npz", "--conv"], "images of 4x6 pixels: give --patch"),
    "one dimension": (["fit", "{f}/vector.npz", "--conv"], "X has 1 dimensions"),
    "five dimensions": (["fit", "{f}/wide.npz", "--conv"], "X has 5 dimensions"),
    "fewer targets than images": (["fit", "{f}/short.npz", "--conv", "--patch", "2x2"], "1500 rows but the target"),
    "two targets": (["fit", "{f}/square.npz", "--conv"], "y should be a 1d array"),
    "fewer rows than unknowns": (["fit", "{f}/few.npz", "--conv"], "5 rows cannot determine"),
    "zero target": (["fit", "{f}/zero.npz", "--conv"], "y is zero in every row"),
    "NaN": (["fit", "{f}/nan.npz", "--conv", "--patch", "2x2"], "NaN or infinite"),
    "words": (["fit", "{f}/words.npz", "--conv"], "must be numbers"),
    "unknown target": (["fit", "{f}/patches.npz", "--conv", "--target", "Y"], "unknown array 'Y'"),
    "hidden with conv": (["fit", "{f}/patches.npz", "--conv", "--hidden", "3"], "--hidden does not go with --conv"),
    "method with conv": (
        ["fit", "{f}/patches.npz", "--conv", "--method", "squared"],
        "--method does not go with --conv",
    ),
    "predict with other patches": (["predict", "{f}/teacher", "{f}/images.npz", "--patch", "4x2"], "expected 6"),
    "predict without patch": (["predict", "{f}/teacher", "{f}/channels.npz"], "give --patch"),
    "certify with other patches": (["certify", "{f}/teacher", "{f}/images.npz", "--patch", "4x2"], "expected 6"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gets_one_sentence(capsys, folder, kind):
    arguments, expected = BAD[kind]
    before = sorted(path.name for path in folder.iterdir())
    status, out, err = run(capsys, *(argument.replace("{f}", str(folder)) for argument in arguments))
    assert (status, out) == (2, "")
    assert expected in err
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("planted: ")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_several_filters_from_the_command_line(capsys, tmp_path):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((800, 3, 3))
    teachers = [ConvNetwork(rng.standard_normal(3), rng.uniform(1, 2, 3)) for _ in range(2)]
    np.savez(tmp_path / "two.npz", X=Z, y=sum(teacher.predict(Z) for teacher in teachers))
    status, out, _ = run(capsys, "fit", tmp_path / "two.npz", "--conv", "--filters", 2, "--json")
    report = json.loads(out)
    assert (status, report["status"]) == (0, "recovered")
    found = np.array(report["details"]["filters"])
    for teacher in teachers:
        assert np.min(np.linalg.norm(found - teacher.canonical().filter, axis=1)) < 1e-6
    assert run(capsys, "fit", tmp_path / "two.npz", "--filters", 2)[0] == 2


def test_weights_count_rows_of_arrays_and_of_flat_tables(folder, tmp_path, capsys):
    with np.load(folder / "patches.npz") as held:
        X, y = held["X"][:300], held["y"][:300] + 0.1 * np.sin(9 * held["X"][:300, 0, 0])
    w = 1 + np.arange(300) % 3
    np.savez(tmp_path / "weighted.npz", X=X, y=y, w=w)
    np.savez(tmp_path / "repeated.npz", X=np.repeat(X, w, axis=0), y=np.repeat(y, w))
    columns = [f"x{i}" for i in range(X[0].size)]
    table = np.column_stack([np.arange(300), X.reshape(300, -1), w, y])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header=",".join(["id", *columns, "w", "y"]), comments="")
    reasons = [
        json.loads(run(capsys, "fit", tmp_path / name, "--conv", "--json", "--seed", "0", *more)[1])["reason"]
        for name, more in {
            "repeated.npz": [],
            "weighted.npz": ["--weights", "w"],
            "t.csv": ["--weights", "w", "--exclude", "id", "--patches", "6"],
        }.items()
    ]
    assert reasons[0] == reasons[1] == reasons[2]


def test_options_of_tables_are_refused_where_they_would_do_nothing(folder, capsys):
    for more, word in ((["--exclude", "id"], "--exclude"), (["--categorical"], "--categorical")):
        status, _, err = run(capsys, "fit", folder / "patches.npz", "--conv", *more)
        assert status == 2
        assert err.startswith(f"planted: {word}")


@pytest.fixture
def columns(tmp_path):
    """A table of columns that are the entries of patches, and others with these in other orders and companies."""
    rng = np.random.default_rng(6300)
    teacher = ConvNetwork(rng.standard_normal(2), [1.0, -0.5, 0.7])
    X = rng.standard_normal((200, 6))
    y = teacher.predict(X.reshape(200, 3, 2))
    names = [f"p{i}" for i in range(6)]

    def write(name, header, *parts):
        lines = [",".join(header), *(",".join(map(str, row)) for row in zip(*parts, strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    write("rows.csv", [*names, "y"], *X.T, y)
    write("turned.csv", ["extra", *names[::-1], "y"], np.arange(200), *X.T[::-1], y)
    write("lacking.csv", [*names[:-1], "y"], *X.T[:-1], y)
    write("text.csv", [*names, "town", "y"], *X.T, ["Oslo"] * 200, y)
    return tmp_path


def test_columns_of_a_filter_are_matched_by_name(capsys, columns):
    """In another order they were taken by their places, and predictions were wrong without a word."""
    model = columns / "model"
    status, _, _ = run(capsys, "fit", columns / "rows.csv", "--conv", "--patches", "3", "--out", model)
    assert status == 0
    for command in (("predict", "--target", "y", "--out", columns / "p.csv"), ("plot", "--out", columns / "a.png")):
        status, out, _ = run(capsys, command[0], model, columns / "turned.csv", *command[1:])
        assert status == 0
        assert "R² 1" in out
    status, out, _ = run(capsys, "certify", model, columns / "turned.csv")
    assert (status, out.split(":")[0]) == (0, "global minimum")
    for command in ("predict", "plot", "certify"):
        status, _, err = run(capsys, command, model, columns / "lacking.csv")
        assert status == 2
        assert "has no column 'p5', which the network takes" in err


def test_advice_on_text_can_be_followed_by_a_filter(capsys, columns):
    fit = ("fit", columns / "text.csv", "--conv", "--patches", "3")
    status, _, err = run(capsys, *fit)
    assert status == 2
    assert "column 'town' holds text" in err
    assert err.endswith("patches are made of numbers: leave it out with --exclude\n")
    assert run(capsys, *fit, "--exclude", "town")[0] == 0
    status, _, err = run(capsys, "fit", columns / "rows.csv", "--conv", "--patch", "1x2")
    assert status == 2
    assert "X has flat rows, not images: give --patches" in err
