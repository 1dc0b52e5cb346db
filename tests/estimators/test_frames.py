"""DataFrames in Python: the same answers and the same words as tables in files."""

import gzip
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from planted import PlantedClassifier, PlantedConvRegressor, PlantedRegressor
from planted.datasets import make_planted_conv, open_table
from planted.estimators import TableWarning
from planted.estimators._tables import coded_table, fitted_table

RNG = np.random.default_rng(3)
U, V = RNG.standard_normal((2, 300))
CITY = np.array(["Bern", "Oslo", "Rome"])[RNG.integers(3, size=300)]
Y = np.maximum(U + 2 * V, 0) + 3 * np.maximum(V - U + 1.5 * (CITY == "Rome"), 0)
COLUMNS = {"u": U, "city": CITY.tolist(), "v": V, "y": Y}


def frames(columns):
    return {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "arrow": pa.table(columns)}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_one_fit_from_a_table_with_text(kind):
    table = frames(COLUMNS)[kind]
    est = PlantedRegressor(2, activation="relu", fit_bias=False, fit_intercept=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(table, "y", categorical=True)
    assert est.feature_names_in_.tolist() == ["u", "city=Oslo", "city=Rome", "v"]
    np.testing.assert_allclose(est.predict(table), Y, atol=1e-6)
    # Other order, no target: columns are known by name.
    other = frames({"v": V[:5], "extra": U[:5], "u": U[:5], "city": CITY[:5].tolist()})[kind]
    np.testing.assert_allclose(est.predict(other), Y[:5], atol=1e-6)
    strange = frames({"v": V[:1], "u": U[:1], "city": ["Lima"]})[kind]
    with pytest.raises(ValueError, match="column 'city' holds 'Lima' in row 1, which the fit did not see"):
        est.predict(strange)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_text_and_missing_values_name_the_argument(kind):
    est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False)
    with pytest.raises(ValueError, match="column 'city' holds text; categorical=True"):
        fitted_table(est, frames(COLUMNS)[kind], Y, None, {})
    holes = {"u": [1.0, None, 3.0], "v": [1.0, 2.0, 3.0]}
    with pytest.raises(ValueError, match=r"column 'u' has missing values .*missing='drop'"):
        fitted_table(est, frames(holes)[kind], [1.0, 2.0, 3.0], None, {})
    X, y, weight = fitted_table(est, frames(holes)[kind], [1.0, 2.0, 3.0], [1.0, 5.0, 2.0], {"missing": "drop"})
    np.testing.assert_array_equal(np.asarray(X), [[1, 1], [3, 3]])
    assert y.tolist() == [1.0, 3.0]
    assert weight.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="row 2 has a missing value"):
        coded_table(est, frames(holes)[kind])
    assert coded_table(est, [[1.0]]) == [[1.0]]


PLAIN = pl.DataFrame({"u": U, "v": V, "y": np.maximum(U + 2 * V, 0)})
WRITTEN = {
    "rows.csv.gz": lambda path: path.write_bytes(gzip.compress(PLAIN.write_csv().encode())),
    "packed.csv": lambda path: path.write_bytes(gzip.compress(PLAIN.write_csv().encode())),
    "wide.csv": lambda path: path.write_bytes(PLAIN.write_csv().encode("utf-16")),
    "rows.feather": PLAIN.write_ipc,
    "rows.npz": lambda path: np.savez(path, X=np.column_stack([U, V]), y=PLAIN["y"]),
}


def one_relu(**options):
    return PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, random_state=0, **options)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_is_not_read_in_blocks_is_read_at_once(name, tmp_path):
    """Such paths had been "unknown kinds of file", which the command takes."""
    WRITTEN[name](tmp_path / name)
    est = one_relu().fit(tmp_path / name, "y")
    names = ("x0", "x1") if name.endswith("npz") else ("u", "v")
    assert (est.result_.status, est.input_names_, est.target_names_) == ("recovered", names, ("y",))
    np.testing.assert_allclose(est.predict(str(tmp_path / name)), PLAIN["y"], atol=1e-6)
    np.testing.assert_allclose(one_relu().fit(tmp_path / name).predict(tmp_path / name), PLAIN["y"], atol=1e-6)


def test_options_about_columns_go_with_paths(tmp_path):
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match=r"'city' holds text, '.*' in row 1; categorical=True"):
        one_relu().fit(tmp_path / "rows.csv", "y")
    options = {"activation": "relu", "fit_bias": False, "fit_intercept": False, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = PlantedRegressor(2, **options).fit(tmp_path / "rows.csv", "y", categorical=True)
    assert est.feature_names_in_.tolist() == ["u", "city=Oslo", "city=Rome", "v"]
    np.testing.assert_allclose(est.predict(tmp_path / "rows.csv"), Y, atol=1e-6)


def test_a_table_that_was_read_is_fitted_with_its_target():
    weight = np.arange(300) % 3
    table = open_table(PLAIN, "y")
    est = one_relu().fit(table)
    assert (est.input_names_, est.target_names_, est.encoding_) == (("u", "v"), ("y",), table.encoding)
    with pytest.raises(TypeError, match="leave y out"):
        one_relu().fit(table, "y")
    with pytest.raises(TypeError, match="leave y out"):
        one_relu().fit(table, Y)
    np.testing.assert_allclose(
        one_relu().fit(open_table(PLAIN.drop("y")), PLAIN["y"]).predict(PLAIN), PLAIN["y"], atol=1e-6
    )
    gaps = PLAIN.with_columns(u=pl.when(pl.int_range(300) < 20).then(None).otherwise(pl.col("u")))
    left, kept = fitted_table(est, open_table(gaps, "y", missing="drop"), None, weight, {})[::2]
    assert len(left) == 280
    np.testing.assert_array_equal(kept, weight[20:])


def test_labels_of_text_that_blocks_refuse_are_taken_from_a_table(tmp_path):
    kinds = pl.DataFrame({"u": U, "v": V, "kind": np.where(RNG.standard_normal(300) < U, "yes", "no")})
    kinds.write_csv(tmp_path / "rows.csv")
    est = PlantedClassifier(1, link="logit", activation="relu", random_state=0)
    with pytest.raises(
        ValueError, match=r"read in blocks are numbers: fit planted.datasets.open_table\(path, target, labels"
    ):
        est.fit(tmp_path / "rows.csv", "kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(open_table(tmp_path / "rows.csv", "kind", labels=True))
    assert est.classes_.tolist() == ["no", "yes"]


def test_images_of_an_archive_are_fitted_by_its_path(tmp_path):
    data = make_planted_conv(400, 4, 4, random_state=0)
    np.savez(tmp_path / "rows.npz", X=data.X, y=data.y)
    assert PlantedConvRegressor(random_state=0).fit(tmp_path / "rows.npz").result_.status == "recovered"
    with pytest.raises(TypeError, match="one of them is the target"):
        PlantedConvRegressor().fit(tmp_path / "rows.npz", ["y", "X"])


def test_files_go_with_names_alone(tmp_path):
    PLAIN.write_csv(tmp_path / "rows.csv")
    with pytest.raises(TypeError, match="the fit took an array, which has no names"):
        coded_table(one_relu().fit(np.column_stack([U, V]), PLAIN["y"].to_numpy()), tmp_path / "rows.csv")
    in_blocks = one_relu().fit(tmp_path / "rows.csv")
    np.testing.assert_allclose(in_blocks.predict(tmp_path / "rows.csv"), PLAIN["y"], atol=1e-6)
    PLAIN.select("v", "y", "u").write_csv(tmp_path / "turned.csv")
    np.testing.assert_allclose(in_blocks.predict(tmp_path / "turned.csv"), PLAIN["y"], atol=1e-6)


def test_a_shifted_column_is_not_said_to_repeat_another():
    frame = pd.DataFrame({"celsius": U, "fahrenheit": 1.8 * U + 32})
    with pytest.warns(TableWarning) as caught:
        fitted_table(PlantedRegressor(1), frame, Y, None, {})
    assert str(caught[0].message) == (
        "column 'fahrenheit' is 'celsius' times a number, plus a constant: in neurons with biases their weights cannot "
        "be told apart; leave it out with exclude=['fahrenheit']"
    )


def test_columns_are_named_in_a_warning():
    frame = pd.DataFrame({"id": np.arange(300), "u": U, "twice": 2 * U})
    with pytest.warns(TableWarning) as caught:
        fitted_table(PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False), frame, Y, None, {})
    words = [str(entry.message) for entry in caught]
    assert words[0] == "column 'id' counts the rows: leave it out with exclude=['id']"
    assert words[1].startswith("column 'twice' repeats 'u'")
    X, _, _ = fitted_table(
        PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False),
        frame,
        Y,
        None,
        {"exclude": ["id", "twice"]},
    )
    assert X.columns == ["u"]


def test_options_of_tables_need_a_table():
    with pytest.raises(TypeError, match="categorical= is for tables with named columns"):
        PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False).fit(
            np.ones((3, 1)), [1.0, 2.0, 3.0], categorical=True
        )


def test_labels_of_a_table_stay_text():
    frame = pl.DataFrame({"u": U, "kind": np.where(U > 0, "yes", "no")})
    _, y, _ = fitted_table(PlantedClassifier(1), frame, "kind", None, {})
    assert sorted(set(y.tolist())) == ["no", "yes"]
