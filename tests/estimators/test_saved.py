"""Models in files: what they keep, and predictions by the names of columns."""

import warnings

import numpy as np
import polars as pl
import pytest

import planted
from planted import ConvNetwork, Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor
from planted.estimators import SavedModel, probabilities
from planted.networks import ModelFileError, Signature, model_signature

RNG = np.random.default_rng(5)
X = RNG.standard_normal((200, 2)) * [3.0, 0.5] + [10.0, 0.0]
CITY = np.array(["Oslo", "Rome"])[RNG.integers(2, size=200)]
Y = np.maximum(X @ [0.2, 1.0] - 2 + (CITY == "Rome"), 0)


def fitted(method, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(*arguments, **options)


def test_a_file_keeps_names_scales_encoding_and_versions(tmp_path):
    frame = pl.DataFrame({"age": X[:, 0], "city": CITY, "pay": X[:, 1], "price": Y})
    est = PlantedRegressor(1, activation="relu", fit_bias=True, fit_intercept=False, method="squared", random_state=0)
    fitted(est.fit, frame, "price", categorical=True, missing="mean")
    model = planted.load(est.save(tmp_path / "model"))
    sign = model.signature
    assert (sign.inputs, sign.targets, sign.task) == (("age", "city=Rome", "pay"), ("price",), "regression")
    np.testing.assert_allclose(sign.mean, np.column_stack([X[:, 0], CITY == "Rome", X[:, 1]]).mean(axis=0))
    np.testing.assert_allclose(sign.scale, np.column_stack([X[:, 0], CITY == "Rome", X[:, 1]]).std(axis=0))
    assert sign.versions["planted"] == planted.__version__
    others = pl.DataFrame({"pay": [0.1, 0.2], "city": ["Rome", None], "extra": [1, 2], "age": [9.0, None]})
    filled = pl.DataFrame({"age": [9.0, X[:, 0].mean()], "city": ["Rome", max("Oslo", "Rome", key=CITY.tolist().count)],
                           "pay": [0.1, 0.2]})  # fmt: skip
    np.testing.assert_allclose(model.predict(others), est.predict(filled), rtol=1e-12)
    with pytest.raises(ValueError, match="has no column 'age', which the network takes"):
        model.predict(others.drop("age"))


def test_labels_keep_their_classes(tmp_path):
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((300, 2))
    labels = np.where(rng.random(300) < 1 / (1 + np.exp(-inputs @ [1.0, -1.0])), "yes", "no")
    est = fitted(PlantedClassifier(1, activation="sigmoid", random_state=0).fit, inputs, labels)
    model = planted.load(est.save(tmp_path / "model"))
    assert model.labels
    assert model.signature.classes == ("no", "yes")
    np.testing.assert_allclose(model.predict_proba(inputs), est.predict_proba(inputs))
    assert model.predict(inputs).tolist() == est.predict(inputs).tolist()


def test_a_filter_keeps_its_patch(tmp_path):
    data = planted.datasets.make_planted_conv(500, 4, 6, random_state=0)
    est = fitted(PlantedConvRegressor(random_state=0).fit, data.X, data.y)
    model = planted.load(est.save(tmp_path / "model", patch=(2, 3)))
    assert model.signature.patch == (2, 3)
    np.testing.assert_allclose(model.predict(data.X), data.y, atol=1e-6)


def test_the_same_model_has_the_same_bytes_and_old_files_load(tmp_path):
    network, sign = Network([[1.0, 2.0]], [3.0]), Signature(("a", "b"), ("y",))
    one, two = (network.save(tmp_path / name, signature=sign).read_bytes() for name in ("one", "two"))
    assert one == two
    bare = planted.load(network.save(tmp_path / "bare"))
    assert (bare.signature, bare.labels) == (None, False)
    np.testing.assert_array_equal(bare.predict([[1.0, 1.0]]), [9.0])
    with pytest.raises(ValueError, match="does not say which columns"):
        bare.predict(pl.DataFrame({"a": [1.0], "b": [1.0]}))
    assert planted.load(ConvNetwork([1.0], [2.0]).save(tmp_path / "conv")).signature is None


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"inputs": [1]}', Signature(task="ranking").to_json(), Signature(link="x").to_json()]
)
def test_a_damaged_signature_is_one_sentence(text, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Signature, "to_json", lambda self: text)
        Network([[1.0]], [3.0]).save(tmp_path / "model", signature=Signature())
    with pytest.raises(ModelFileError, match="inputs and targets is damaged"):
        model_signature(tmp_path / "model")


def test_probabilities_of_every_link():
    values = np.array([0.25, -1.0])
    np.testing.assert_allclose(probabilities(values, "mean").sum(axis=1), 1)
    np.testing.assert_allclose(probabilities(values, "logit")[:, 1], 1 / (1 + np.exp(-values)))
    scores = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(probabilities(scores, "logit"), np.exp(scores) / np.exp(scores).sum())


def test_rows_that_cannot_be_predicted_are_nan():
    network = Network([[1.0, 2.0]], [[3.0], [4.0]])
    values = SavedModel(network, None).values([[1.0, 1.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(values, [[9.0, 12.0], [np.nan, np.nan]])
