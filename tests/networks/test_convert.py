"""Smaller networks that are equal, and networks of other libraries: both against predictions."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from planted import Network, activations
from planted.names import ACTIVATIONS
from planted.networks import ConversionError, export_network

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
TURNING = [name for name in ACTIVATIONS if activations.get(name).centred_parity is not None]


def network(name="relu", k=4, outputs=None, skip=False, seed=0):
    rng = np.random.default_rng(seed)
    lead = () if outputs is None else (outputs,)
    return Network(
        rng.standard_normal((k, 3)),
        rng.standard_normal((*lead, k)),
        name,
        bias=rng.standard_normal(k),
        intercept=rng.standard_normal(lead),
        skip=rng.standard_normal((*lead, 3)) if skip else None,
    )


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("outputs", [None, 2])
def test_dead_and_duplicate_neurons_go(name, outputs):
    net = network(name, 4, outputs)
    doubled = net.replace(
        weights=np.concatenate([net.weights, net.weights[:2], np.zeros((1, 3)), net.weights[3:] + 1]),
        bias=np.concatenate([net.bias, net.bias[:2], [0.7], [0.1]]),
        output=np.concatenate([net.output, 2 * net.output[..., :2], net.output[..., :1], 0 * net.output[..., :1]], -1),
    )
    small = doubled.simplify()
    assert small.n_hidden == 4
    np.testing.assert_allclose(small.predict(X), doubled.predict(X), atol=1e-10)


@pytest.mark.parametrize("name", TURNING)
def test_opposite_neurons_are_merged(name):
    net = network(name, 3)
    doubled = net.replace(
        weights=np.concatenate([net.weights, -net.weights[:2]]),
        bias=np.concatenate([net.bias, -net.bias[:2]]),
        output=np.concatenate([net.output, 0.3 * net.output[:2]]),
    )
    small = doubled.simplify()
    assert small.n_hidden == 3
    np.testing.assert_allclose(small.predict(X), doubled.predict(X), atol=1e-10)


def test_opposite_neurons_that_are_linear_together_go_into_the_linear_part():
    net = Network([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0], [0.0, 1.0, 1.0]], [1.5, -1.5, 2.0], bias=[0.5, -0.5, 0.3])
    small = net.simplify()
    assert small.n_hidden == 1
    np.testing.assert_allclose(small.skip, [1.5, 3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(small.predict(X), net.predict(X), atol=1e-12)


def test_a_network_that_cannot_be_smaller_stays():
    net = network("relu", 5)
    small = net.simplify()
    assert small.n_hidden == 5
    assert small.skip is None
    np.testing.assert_allclose(small.predict(X), net.predict(X), atol=1e-12)


def test_scaled_copies_of_a_homogeneous_neuron_are_one():
    net = Network([[1.0, 0.0], [3.0, 0.0]], [1.0, -1 / 3], bias=[1.0, 3.0])
    assert net.simplify().n_hidden == 0


@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("outputs", [None, 3])
def test_scikit_learn_both_ways(name, outputs):
    net = network(name, outputs=outputs)
    model = net.to_sklearn()
    np.testing.assert_allclose(model.predict(X), net.predict(X), atol=1e-13)
    back = Network.from_sklearn(model)
    np.testing.assert_array_equal(back.weights, net.weights)
    np.testing.assert_array_equal(back.output, net.output)


@pytest.mark.filterwarnings("ignore")
def test_trained_models_of_scikit_learn():
    y = X[:, 0] ** 2 + 5
    model = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(6,), max_iter=30, random_state=0)).fit(
        X, y
    )
    np.testing.assert_allclose(Network.from_sklearn(model).predict(X), model.predict(X), atol=1e-12)
    labels = MLPClassifier(hidden_layer_sizes=(6,), activation="tanh", max_iter=30, random_state=0).fit(X, y > y.mean())
    odds = np.log(labels.predict_proba(X)[:, 1] / labels.predict_proba(X)[:, 0])
    np.testing.assert_allclose(Network.from_sklearn(labels).predict(X), odds, atol=1e-10)
    linear = MLPRegressor(hidden_layer_sizes=(4,), activation="identity", max_iter=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(Network.from_sklearn(linear).predict(X), linear.predict(X), atol=1e-12)
    with pytest.raises(ConversionError, match="2 hidden layers"):
        Network.from_sklearn(MLPRegressor(hidden_layer_sizes=(4, 4), max_iter=5).fit(X, y))


@pytest.mark.parametrize("outputs", [(), (3,)])
@pytest.mark.parametrize("skip", [True, False])
def test_a_linear_function_is_a_linear_regression_of_scikit_learn(outputs, skip):
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal((*outputs, X.shape[1])) if skip else None
    intercept = rng.standard_normal(outputs)
    net = Network(np.zeros((0, X.shape[1])), np.zeros((*outputs, 0)), intercept=intercept, skip=coefficients)
    model = net.to_sklearn()
    assert model.predict(X).shape == net.predict(X).shape
    np.testing.assert_allclose(model.predict(X), net.predict(X), atol=1e-13)


def test_what_cannot_be_represented_is_refused():
    with pytest.raises(ConversionError, match="no abs"):
        network("abs").to_sklearn()
    with pytest.raises(ConversionError, match="linear part"):
        network(skip=True).to_sklearn()
    with pytest.raises(ConversionError, match="not a fitted network"):
        Network.from_sklearn(StandardScaler())


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "erf_probability"])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("skip", [False, True])
def test_onnx_both_ways(name, outputs, skip, tmp_path):
    pytest.importorskip("onnx", reason="ONNX files need onnx")
    runtime = pytest.importorskip("onnxruntime", reason="running ONNX files needs onnxruntime")
    net = network(name, outputs=outputs, skip=skip)
    path = net.to_onnx(tmp_path / "net.onnx")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    values = session.run(None, {"X": X.astype(np.float32)})[0].reshape(net.predict(X).shape)
    np.testing.assert_allclose(values, net.predict(X), atol=2e-5)
    back = Network.from_onnx(path)
    assert back.activation == net.activation
    np.testing.assert_allclose(back.predict(X), net.predict(X), atol=2e-5)
    exact = Network.from_onnx(net.to_onnx(tmp_path / "exact.onnx", dtype="float64"))
    np.testing.assert_array_equal(exact.weights, net.weights)
    np.testing.assert_array_equal(exact.predict(X), net.predict(X))


def test_onnx_refuses_what_it_cannot_hold(tmp_path):
    pytest.importorskip("onnx", reason="ONNX files need onnx")
    with pytest.raises(ConversionError, match="no operator"):
        network("erf_probability").to_onnx(tmp_path / "net.onnx")
    (tmp_path / "text.onnx").write_text("nothing")
    with pytest.raises(ConversionError, match="not an ONNX model"):
        Network.from_onnx(tmp_path / "text.onnx")
    with pytest.raises(ConversionError, match="no ONNX file"):
        Network.from_onnx(tmp_path / "none.onnx")


@pytest.mark.parametrize(
    "name",
    ["relu", "leaky_relu", "tanh", "sigmoid", "softplus", "gelu", "silu", "relu6", "hard_tanh", "hard_sigmoid"],
)
@pytest.mark.parametrize("skip", [False, True])
def test_torch_both_ways(name, skip, tmp_path):
    torch = pytest.importorskip("torch", reason="torch modules need torch")
    net = network(name, outputs=2, skip=skip)
    module = net.to_torch()
    with torch.no_grad():
        np.testing.assert_allclose(module(torch.tensor(X)).numpy(), net.predict(X), atol=1e-12)
    back = Network.from_torch(module)
    np.testing.assert_array_equal(back.weights, net.weights)
    np.testing.assert_allclose(back.predict(X), net.predict(X), atol=1e-12)
    export_network(net, tmp_path / "net.pt", "torch", "float64")
    loaded = torch.load(tmp_path / "net.pt", weights_only=False)
    with torch.no_grad():
        np.testing.assert_array_equal(loaded(torch.tensor(X)).numpy(), module(torch.tensor(X)).numpy())
    with pytest.raises(ConversionError, match="not Linear"):
        Network.from_torch(torch.nn.Sequential(torch.nn.Linear(3, 2)))
