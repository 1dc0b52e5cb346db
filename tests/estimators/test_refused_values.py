"""Rows to predict from with values that are no numbers: refused in a sentence, as those of a fit are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from planted import PlantedClassifier, PlantedConvRegressor, PlantedRegressor, datasets
from planted.numerics.reading import DataError

DATA = datasets.make_planted(200, 3, 1, random_state=0)
X = DATA.X
MISSING = X[:5].copy()
MISSING[2, 1] = np.nan
TEXT = X[:5].astype(object)
TEXT[3, 0] = "red"


@pytest.fixture(scope="module")
def regressor():
    return PlantedRegressor(1, "relu", fit_bias=False, fit_intercept=False, random_state=0).fit(X, DATA.y)


@pytest.mark.parametrize("rows", [MISSING, MISSING.tolist(), MISSING.astype(object), pl.DataFrame(MISSING)])
def test_missing_values_are_refused_with_their_row(regressor, rows):
    for act in (regressor.predict, lambda given: PlantedRegressor(1).fit(given, DATA.y[:5])):
        with pytest.raises(ValueError, match=r"^X has missing values \(NaN\), the first in row 2: leave such rows out"):
            act(rows)


@pytest.mark.parametrize("rows", [TEXT, TEXT.tolist(), TEXT.astype(str), pd.DataFrame(TEXT)])
def test_text_is_refused_with_its_row(regressor, rows):
    with pytest.raises(ValueError, match=r"^X holds text, 'red' in row 3: inputs are numbers$"):
        regressor.predict(rows)


def test_numbers_that_are_written_as_text_are_numbers(regressor):
    np.testing.assert_allclose(regressor.predict(X[:5].astype(str)), regressor.predict(X[:5]))


def test_columns_of_a_table_are_named(regressor):
    named = ["a", "b", "c"]
    est = PlantedRegressor(1, "relu", fit_bias=False, fit_intercept=False, random_state=0)
    est.fit(pd.DataFrame(X, columns=named), DATA.y)
    with pytest.raises(DataError, match=r"^column 'b' has missing values"):
        est.predict(pd.DataFrame(MISSING, columns=named))
    with pytest.raises(DataError, match=r"^column 'b' holds text; the fit took numbers there"):
        est.predict(pl.DataFrame({"a": [1.0], "b": ["red"], "c": [1.0]}))


def test_a_column_of_numbers_and_a_word_names_the_word():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=DATA.y)
    est = PlantedRegressor(1, "relu", fit_bias=False, fit_intercept=False, random_state=0).fit(frame, "y")
    rows = frame[:4].astype(object)
    rows.loc[2, "b"] = "red"
    with pytest.raises(DataError, match="column 'b' holds text, 'red' in row 3, where numbers were fitted"):
        est.predict(rows)


def test_labels_and_filters_refuse_them_too():
    labels = PlantedClassifier(1, fit_bias=False, random_state=0).fit(X, X @ [1.0, 2.0, 0.0] + X[::-1, 0] > 0)
    patches = datasets.make_planted_conv(300, 2, 3, random_state=0)
    shared = PlantedConvRegressor(random_state=0).fit(patches.X, patches.y)
    broken = patches.X[:3].copy()
    broken[1, 0, 0] = np.nan
    for act, rows in ((labels.predict, MISSING), (labels.predict_proba, MISSING), (shared.predict, broken)):
        with pytest.raises(ValueError, match=r"^X has missing values \(NaN\), the first in row [12]: leave"):
            act(rows)


WORDS = ["1.5", "Rome", *["2"] * 198]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, lambda words: np.array(words, dtype=object)])
def test_text_targets_of_a_regression_name_what_takes_them(kind):
    with pytest.raises(ValueError, match=r"^y holds text, 'Rome' in row 1: PlantedClassifier takes labels$"):
        PlantedRegressor(1, "relu").fit(X, kind(WORDS))


def test_text_among_several_targets_is_found_by_its_row():
    with pytest.raises(ValueError, match=r"^y holds text, 'Rome' in row 1"):
        PlantedRegressor(1, "relu").fit(X, np.column_stack([["2"] * 200, WORDS]))


@pytest.mark.parametrize(("label", "words"), [("a", "'a'"), (1, "1"), (True, "True")])
def test_a_single_class_is_written_as_it_stands(label, words):
    with pytest.raises(ValueError, match=rf"^y has only one class, {words}: there"):
        PlantedClassifier(1).fit(X, np.array([label] * 200))
