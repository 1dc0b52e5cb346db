"""Models whose network is known by construction, read through their values alone."""

import warnings

import numpy as np
import pytest
from scipy import special
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import planted
from planted import Network, match, read
from planted.reading import ModelError, log_ratios

FUNCTIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "abs": np.abs,
    "leaky_relu": lambda z: np.maximum(z, 0.01 * z),
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "erf": lambda z: np.sqrt(2) * special.erf(z / np.sqrt(2)),
    "hard_tanh": lambda z: np.clip(z, -1, 1),
    "softplus": lambda z: np.logaddexp(z, 0),
    "gelu": lambda z: z * special.ndtr(z),
    "silu": lambda z: z * special.expit(z),
}


FLOAT32 = tuple(np.random.default_rng(3).standard_normal(shape).astype(np.float32) for shape in ((200, 4), 200))


def teacher(name, d, k, seed, outputs=None, spread=1.0):
    rng = np.random.default_rng(seed)
    output = rng.standard_normal(k if outputs is None else (outputs, k))
    return Network(
        rng.standard_normal((k, d)) * spread,
        output,
        name,
        bias=rng.standard_normal(k),
        intercept=0.3 if outputs is None else rng.standard_normal(outputs),
    )


def as_function(network):
    """The network in NumPy, none of the package's code."""
    phi = FUNCTIONS[network.activation.name]

    def function(X):
        return phi(X @ network.weights.T + network.bias) @ network.output.T + network.intercept

    return function


def same(reading, network, weights=1e-6, fidelity=1e-8):
    assert reading.status == "recovered", reading.reason
    assert reading.fidelity <= fidelity
    assert reading.network.n_hidden == network.n_hidden
    error = match(reading.network, network)
    assert error.weight_error < weights
    assert error.output_error < weights


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("d", "k"), [(6, 4), (5, 12), (1, 2)])
def test_every_activation_is_identified_with_its_width(name, d, k):
    net = teacher(name, d, k, seed=d + k)
    reading = read(as_function(net), d, random_state=0)
    if name == "leaky_relu" and k >= 2 * d:
        # With twice as many neurons as inputs the slope is not told from a linear part: the function is equal.
        assert reading.status == "recovered"
        assert reading.network.skip is not None
        return
    if name == "sigmoid":
        assert reading.network.activation.name == "tanh"
        reading = read(as_function(net), d, activation="sigmoid", random_state=0)
    same(reading, net)


@pytest.mark.parametrize("slope", [0.01, 0.3])
def test_leaky_neurons_beyond_the_number_of_inputs(slope):
    net = teacher("relu", 8, 12, seed=4).replace(activation=planted.activations.get("leaky_relu", slope=slope))
    reading = read(net, random_state=0)
    assert reading.network.skip is None
    assert dict(reading.network.activation.parameters)["slope"] == pytest.approx(slope, abs=1e-8)
    same(reading, net)


@pytest.mark.parametrize(("d", "k", "outputs"), [(5, 6, None), (4, 7, 2)])
def test_squared_relu_neurons_are_read_through_a_derivative(d, k, outputs):
    net = teacher("relu", d, k, seed=5, outputs=outputs).replace(activation="squared_relu")

    def function(X):
        return np.square(np.maximum(X @ net.weights.T + net.bias, 0)) @ net.output.T + net.intercept

    same(read(function, d, random_state=0), net)


def test_squares_whose_sides_are_open_are_taken_on_both():
    net = teacher("relu", 2, 5, seed=6).replace(activation="squared_relu")
    reading = read(net, random_state=0)
    assert reading.status == "ambiguous"
    assert reading.fidelity < 1e-8


def test_a_quadratic_function_is_ambiguous():
    rng = np.random.default_rng(0)
    H, g = rng.standard_normal((4, 4)), rng.standard_normal(4)
    reading = read(lambda X: np.einsum("ni,ij,nj->n", X, H, X) + X @ g + 1, 4, random_state=0)
    assert reading.status == "ambiguous"
    assert reading.network.activation.name == "quadratic"
    assert reading.network.n_hidden == 4
    assert reading.fidelity < 1e-12
    assert reading.queries < 150


@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_quadratic_neuron_is_recovered(d):
    rng = np.random.default_rng(d)
    net = Network(rng.standard_normal((1, d)), [-1.5], "quadratic", bias=[0.5], intercept=2.0)
    reading = read(net.predict, d, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert match(reading.network, net).weight_error < 1e-9
    slanted = read(lambda X: net.predict(X) + X[:, 0] * (d > 1), d, random_state=0)
    assert slanted.status == ("ambiguous" if d > 1 else "recovered")


def test_one_stretch_that_is_no_neuron_is_told_in_the_singular():
    w = np.random.default_rng(1).standard_normal((3, 1))
    reading = read(lambda X: np.tanh(2 * np.tanh(X @ w)) * [[1.0, 2.0]], 3, random_state=1)
    assert "1 stretch of one line is not the turn of a single neuron" in reading.reason


@pytest.mark.slow
def test_the_engine_fits_where_nothing_can_be_read_off():
    net = teacher("tanh", 4, 3, seed=2)
    w, b, a = (np.asarray(part, np.float32) for part in (net.weights, net.bias, net.output))
    reading = read(lambda X: np.tanh(X.astype(np.float32) @ w.T + b) @ a, 4, random_state=0)
    assert reading.status in ("recovered", "estimated"), reading.reason  # as the rule for fits has it
    assert reading.fidelity < 1e-5
    assert match(reading.network, net).weight_error < 1e-4


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_several_outputs(name):
    net = teacher(name, 5, 8, seed=1, outputs=3)
    same(read(as_function(net), 5, random_state=1), net)


def test_strengths_of_ten_thousand_to_one():
    net = teacher("relu", 8, 6, seed=2)
    net = net.replace(output=net.output * np.geomspace(1, 1e-4, 6))
    same(read(as_function(net), 8, random_state=0), net)


def test_close_and_far_and_parallel_kinks():
    rng = np.random.default_rng(3)
    weights, bias = rng.standard_normal((6, 5)), rng.standard_normal(6)
    weights[1], bias[1] = weights[0], bias[0] + 1e-3  # parallel and close
    bias[2] = 200.0  # far out
    net = Network(weights, rng.standard_normal(6), bias=bias)
    same(read(as_function(net), 5, random_state=0), net)


def test_dead_and_duplicate_neurons_are_not_in_the_answer():
    rng = np.random.default_rng(4)
    weights = rng.standard_normal((6, 4))
    weights[1], weights[2] = 2 * weights[0], 0.0
    bias = rng.standard_normal(6)
    bias[1] = 2 * bias[0]
    output = np.array([1.0, 0.5, 3.0, 0.0, -1.0, 2.0])
    reading = read(as_function(Network(weights, output, bias=bias)), 4, random_state=0)
    assert reading.status == "recovered"
    assert reading.network.n_hidden == 3


def test_a_linear_part_is_read_and_kept():
    net = teacher("tanh", 4, 5, seed=5)
    skip = np.array([1.0, -2.0, 0.5, 0.0])
    function = as_function(net)
    reading = read(lambda X: function(X) + X @ skip, 4, random_state=0)
    assert reading.status == "recovered"
    np.testing.assert_allclose(reading.network.skip, skip, atol=1e-9)
    relu = as_function(teacher("relu", 4, 5, seed=5))
    reading = read(lambda X: relu(X) + X @ skip, 4, random_state=0)
    assert reading.status == "recovered"
    assert "not determined" in reading.reason


@pytest.mark.parametrize(("k", "how"), [(9, "program"), (14, "middle")])
def test_sides_of_more_neurons_than_inputs(k, how):
    net = teacher("relu", 5, k, seed=k)
    reading = read(as_function(net), 5, random_state=0)
    same(reading, net)
    assert reading.network.skip is None
    signs = np.sign(np.sum(reading.network.weights * net.weights[match(reading.network, net).permutation.argsort()], 1))
    assert np.all(signs > 0)


def test_the_number_of_queries_and_the_budget():
    net = teacher("relu", 20, 30, seed=6)
    asked = []

    def function(X):
        asked.append(len(X))
        return as_function(net)(X)

    reading = read(function, 20, random_state=0)
    assert reading.queries == sum(asked)
    assert reading.queries_per_parameter < 2
    for budget in (1, 10, 60, 300, reading.queries - 1):
        asked.clear()
        less = read(function, 20, random_state=0, max_queries=budget)
        assert sum(asked) == less.queries <= budget
        assert less.status == "estimated"
        assert "budget" in less.reason
    assert read(function, 20, random_state=0, max_queries=reading.queries).status == "recovered"


def test_the_same_seed_asks_the_same_questions():
    net = as_function(teacher("tanh", 3, 4, seed=7))
    one, two = read(net, 3, random_state=5), read(net, 3, random_state=5)
    np.testing.assert_array_equal(one.network.weights, two.network.weights)
    assert one.queries == two.queries


@pytest.mark.parametrize(("d", "k", "outputs"), [(6, 8, None), (10, 16, None), (6, 15, 3), (1, 4, None)])
def test_a_float32_model(d, k, outputs):
    net = teacher("relu", d, k, seed=8, outputs=outputs)
    w, b, a, c = (np.asarray(part, np.float32) for part in (net.weights, net.bias, net.output, net.intercept))
    reading = read(lambda X: np.maximum(X.astype(np.float32) @ w.T + b, 0) @ a.T + c, d, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert "rounding to float32 allows" in reading.reason
    assert reading.fidelity < 1e-5
    assert reading.network.n_hidden == k
    if d > 1:
        assert match(reading.network, net).weight_error < 1e-4
        assert reading.network.skip is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_deep_float32_model_is_not_called_recovered():
    model = MLPRegressor(hidden_layer_sizes=(5, 4), max_iter=30, random_state=0).fit(*FLOAT32)
    reading = read(lambda X: model.predict(X.astype(np.float32)), 4, random_state=0)
    assert reading.status in ("misfit", "estimated")


# What scikit-learn trains.


def trained(load, kind, activation, k, seed=0, **options):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = kind(hidden_layer_sizes=(k,), activation=activation, max_iter=60, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
@pytest.mark.parametrize(
    ("load", "kind"), [(load_wine, MLPRegressor), (load_iris, MLPClassifier), (load_breast_cancer, MLPClassifier)]
)
def test_models_of_scikit_learn(load, kind, activation):
    model = trained(load, kind, activation, 24)
    reading = read(model, random_state=0)
    output, intercept = model.coefs_[1].T, model.intercepts_[1]
    if len(output) == 1:
        output, intercept = output[0], intercept[0]
    name = {"logistic": "sigmoid"}.get(activation, activation)
    same(reading, Network(model.coefs_[0].T, output, name, bias=model.intercepts_[0], intercept=intercept))


def test_a_pipeline_is_read_on_its_own_inputs():
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(12,), max_iter=2000, random_state=0)).fit(
        X, y
    )
    reading = read(model, random_state=0)
    assert reading.status == "recovered"
    np.testing.assert_allclose(reading.network.predict(X), model.predict(X), atol=1e-8 * np.std(model.predict(X)))


def test_log_ratios_of_probabilities():
    z = np.array([[0.0, 1.0, -300.0], [2.0, 0.0, 1.0]])
    np.testing.assert_allclose(log_ratios(special.softmax(z, axis=1)), z[:, 1:] - z[:, :1], rtol=1e-12)
    odds = log_ratios([[1e-17, 1.0], [0.75, 0.25]])
    assert np.isnan(odds[0])
    assert odds[1] == pytest.approx(np.log(1 / 3))


class OnlyProbabilities:
    def __init__(self, model):
        self.model, self.n_features_in_, self.classes_ = model, model.n_features_in_, model.classes_

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def test_probabilities_are_read_where_they_are_neither_0_nor_1():
    model = trained(load_iris, MLPClassifier, "relu", 8)
    reading = read(OnlyProbabilities(model), random_state=0)
    assert reading.status == "recovered", reading.reason
    X = np.random.default_rng(0).standard_normal((100, 4))
    np.testing.assert_allclose(reading.network.predict(X), log_ratios(model.predict_proba(X)), atol=1e-8)


# What is not such a network.

RNG = np.random.default_rng(7)
X, Y = np.random.default_rng(0).standard_normal((300, 4)), np.random.default_rng(1).standard_normal(300)
OTHERS = {
    "two layers": MLPRegressor(hidden_layer_sizes=(12, 8), max_iter=30, random_state=0),
    "two tanh layers": MLPRegressor(hidden_layer_sizes=(6, 6), activation="tanh", max_iter=30, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=5),
    "forest": RandomForestRegressor(n_estimators=5, random_state=0),
    "neighbours": KNeighborsRegressor(),
    "kernel": SVR(),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_other_models_are_a_misfit(name):
    reading = read(OTHERS[name].fit(X, Y), random_state=0)
    assert reading.status == "misfit"
    assert "not a network with one hidden layer" in reading.reason


def test_other_functions_are_not_called_recovered():
    relu = as_function(teacher("relu", 4, 6, seed=9))
    for function in (
        lambda X: np.round(relu(X), 3),
        lambda X: X[:, 0] * X[:, 1] * X[:, 2],
        lambda X: np.sin(X[:, 0]),
        lambda X: np.maximum(X[:, 0], np.maximum(X[:, 1], X[:, 2])),
        lambda X: relu(X) + 1e-4 * np.sin(X[:, 0]),
    ):
        assert read(function, 4, random_state=0).status not in ("recovered", "ambiguous")


def test_a_linear_model_has_no_neurons():
    reading = read(LinearRegression().fit(X, Y), random_state=0)
    assert reading.status == "recovered"
    assert reading.reason.endswith("one linear function explains this, no neuron is needed")
    assert reading.network.n_hidden == 0
    np.testing.assert_allclose(reading.network.predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-9)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda X: 1 / 0, "raised ZeroDivisionError"),
        (lambda X: np.full(len(X), np.nan), "NaN or infinity"),
        (lambda X: X.sum(), "with shape"),
        (lambda X: ["a"] * len(X), "not with numbers"),
        (lambda X: RNG.standard_normal(len(X)), "the same question in different ways"),
    ],
)
def test_models_that_cannot_be_read(function, sentence):
    with pytest.raises(ModelError, match=sentence):
        read(function, 3)


def test_requests_that_make_no_sense():
    with pytest.raises(ValueError, match="give n_inputs"):
        read(lambda X: X[:, 0])
    with pytest.raises(ValueError, match="did you mean 'relu'"):
        read(lambda X: X[:, 0], 1, activation="rellu")
    with pytest.raises(ValueError, match="max_queries must be a positive integer"):
        read(lambda X: X[:, 0], 1, max_queries=0)
    with pytest.raises(ValueError, match="takes 2 inputs, not 3"):
        read(teacher("relu", 2, 2, 0), 3)
    with pytest.raises(TypeError, match="a model is a function"):
        read(3.0)
    with pytest.raises(ValueError, match="no model file"):
        read("nowhere.onnx")


def test_a_reading_explains_itself():
    reading = planted.read(as_function(teacher("relu", 3, 2, seed=0)), 3, random_state=0)
    text = str(reading)
    assert "recovered" in text
    assert "queries" in text
    assert set(reading.as_dict()) == {"status", "reason", "queries", "queries_per_parameter", "fidelity"}


@pytest.mark.parametrize(
    ("name", "d", "k", "outputs"), [("tanh", 20, 24, None), ("sigmoid", 8, 12, 2), ("erf", 4, 7, None)]
)
def test_saturating_float32_models_are_read_over_long_distances(name, d, k, outputs):
    net = teacher(name, d, k, seed=21, outputs=outputs)
    w, b, a, c = (np.asarray(part, np.float32) for part in (net.weights, net.bias, net.output, net.intercept))
    phi = {**FUNCTIONS, "erf": lambda z: np.float32(np.sqrt(2)) * special.erf(z / np.float32(np.sqrt(2)))}[name]
    reading = read(lambda X: phi(X.astype(np.float32) @ w.T + b) @ a.T + c, d, activation=name, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert "rounding to float32 allows" in reading.reason
    assert reading.fidelity < 1e-4
    assert reading.network.n_hidden == k
    assert match(reading.network, net).weight_error < 1e-3


@pytest.mark.parametrize(
    ("name", "d", "k", "outputs"),
    [
        ("softplus", 5, 6, None),
        ("gelu", 4, 5, 2),
        ("silu", 6, 4, None),
        pytest.param("gelu", 4, 24, None, marks=pytest.mark.slow),
    ],
)
def test_soft_corners_in_float32_are_read_from_far_out_and_from_their_bumps(name, d, k, outputs):
    net = teacher(name, d, k, seed=22, outputs=outputs)
    w, b, a, c = (np.asarray(part, np.float32) for part in (net.weights, net.bias, net.output, net.intercept))
    phi = FUNCTIONS[name]
    reading = read(lambda X: phi(X.astype(np.float32) @ w.T + b).astype(np.float32) @ a.T + c, d, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.activation.name == name
    assert reading.network.n_hidden == k
    assert match(reading.network, net).weight_error < (1e-4 if k < 20 else 1e-3)


def test_the_engine_is_bounded_by_steps(monkeypatch):
    monkeypatch.setattr("planted.reading._fitted.MOST_STEPS", 5)
    relu, smooth = as_function(teacher("relu", 3, 3, seed=1)), as_function(teacher("tanh", 3, 3, seed=2))
    reading = read(lambda X: relu(X) + smooth(X), 3, activation="tanh", random_state=0)
    assert reading.status == "misfit"
    assert "stopped after 5 steps" in reading.reason


def test_the_budget_of_a_smooth_model():
    net, asked = as_function(teacher("sigmoid", 5, 8, seed=6)), []

    def function(X):
        asked.append(len(X))
        return net(X)

    whole = read(function, 5, random_state=0)
    assert whole.status == "recovered"
    assert len(asked) < whole.queries / 3  # batches, not one at a time
    for budget in (1, 30, whole.queries // 2, whole.queries - 1):
        asked.clear()
        less = read(function, 5, random_state=0, max_queries=budget)
        assert sum(asked) == less.queries <= budget
        assert less.status == "estimated"
        assert "budget" in less.reason
    assert 0 < less.network.n_hidden <= 8  # what was learnt by then


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_probabilities_of_a_pipeline(classes):
    rng = np.random.default_rng(classes)
    inputs = 5 + 3 * rng.standard_normal((200, 4))
    labels = np.arange(200) % classes
    model = make_pipeline(
        StandardScaler(), MLPClassifier(hidden_layer_sizes=(6,), activation="tanh", max_iter=30, random_state=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(inputs, labels)
    reading = read(model, random_state=0)
    assert reading.status == "recovered", reading.reason
    ours = np.atleast_2d(reading.network.predict(inputs).T).T
    odds = np.column_stack([np.zeros(200), ours]) if classes == 2 else ours
    np.testing.assert_allclose(special.softmax(odds, axis=1), model.predict_proba(inputs), atol=1e-8)


def test_a_compiled_jax_function():
    jax = pytest.importorskip("jax")
    net = teacher("relu", 4, 5, seed=3)
    w, b, a, c = (np.asarray(part, np.float32) for part in (net.weights, net.bias, net.output, net.intercept))
    reading = read(jax.jit(lambda X: jax.nn.relu(X.astype("float32") @ w.T + b) @ a + c), 4, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert match(reading.network, net).weight_error < 1e-4


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_torch_module(precision):
    torch = pytest.importorskip("torch", reason="torch modules need torch")
    net = teacher("relu", 5, 6, seed=3)
    module = net.to_torch(precision)
    module.train()
    reading = read(module, random_state=0)
    assert module.training
    same(reading, net, *((1e-4, 1e-5) if precision == "float32" else ()))
    np.testing.assert_allclose(Network.from_torch(module).weights, net.weights, rtol=1e-6)
    deep = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Tanh())
    assert read(deep.double(), random_state=0).status != "recovered"


def test_an_answer_of_another_width():
    with pytest.raises(ModelError, match="2 outputs after 1 before"):
        read(lambda X: np.ones((len(X), 2)) if len(X) > 4 else X[:, :1], 3, random_state=0)
