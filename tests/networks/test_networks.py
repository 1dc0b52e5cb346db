"""Networks: evaluated against loops, canonical forms, files."""

import json
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load, save

from planted import Network, activations, names
from planted.networks import ModelFileError, model_about

rng = np.random.default_rng(0)
W, A, BIAS, X = (rng.standard_normal(shape) for shape in ((3, 4), 3, 3, (20, 4)))
ACTS = [activations.get(name) for name in names.ACTIVATIONS]
PARAMETRISED = [activations.softplus(b=7.5), activations.sigmoid(b=0.3), activations.leaky_relu(slope=0.25)]
each = pytest.mark.parametrize("act", ACTS + PARAMETRISED, ids=repr)


@each
@pytest.mark.parametrize("bias", [None, BIAS], ids=["", "bias"])
def test_predict_is_the_sum_over_neurons(act, bias):
    net = Network(W, A, act, bias, intercept=0.25)
    shift = np.zeros(3) if bias is None else bias
    expected = [
        0.25 + sum(A[i] * float(act(sum(W[i, j] * x[j] for j in range(4)) + shift[i])) for i in range(3)) for x in X
    ]
    np.testing.assert_allclose(net.predict(X), expected, rtol=1e-12)
    assert net.predict(X).dtype == np.float64


def test_predict_over_several_blocks():
    many = rng.standard_normal((140_000, 2))
    net = Network([[1.0, -2.0]], [3.0])
    np.testing.assert_allclose(net.predict(many), 3 * np.maximum(many @ [1.0, -2.0], 0), rtol=1e-13)
    assert net.predict(np.empty((0, 2))).shape == (0,)


def test_traced_keeps_the_precision_it_is_given():
    net = Network(W, A, "tanh", BIAS, 0.5)
    single = jax.jit(net.traced)(jnp.asarray(X, jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, net.predict(X), atol=1e-5)


def test_arrays_are_copied_and_frozen():
    weights = W.copy()
    net = Network(weights, A)
    weights[0, 0] = 99.0
    assert net.weights[0, 0] == W[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        net.weights[0, 0] = 1.0
    with pytest.raises(AttributeError):
        net.output = A
    assert (net.n_hidden, net.n_features) == (3, 4)
    assert repr(net) == "Network(3 relu neurons, 4 inputs)"
    assert "biases" in repr(Network(W, A, bias=BIAS))


def equivalent(net):
    """The same function written differently, as far as the activation's symmetries go."""
    order, act = np.array([2, 0, 1]), net.activation
    scale = np.array([0.5, 2.0, 3.0]) if act.homogeneity is not None else np.ones(3)
    sign = np.array([1.0, -1.0, -1.0]) if act.parity else np.ones(3)
    output = net.output / (scale**act.homogeneity if act.homogeneity is not None else 1.0)
    output = output * sign if act.parity == "odd" else output
    bias = None if net.bias is None else (net.bias * scale * sign)[order]
    return Network((net.weights * (scale * sign)[:, None])[order], output[order], act, bias, net.intercept)


@each
@pytest.mark.parametrize("bias", [None, BIAS], ids=["", "bias"])
def test_canonical_is_the_same_function_and_has_no_free_choices(act, bias):
    net = Network(W, A, act, bias, 0.1)
    canonical, other = net.canonical(), equivalent(net).canonical()
    np.testing.assert_allclose(canonical.predict(X), net.predict(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(canonical.weights, other.weights, rtol=1e-12)
    np.testing.assert_allclose(canonical.output, other.output, rtol=1e-12)
    if bias is not None:
        np.testing.assert_allclose(canonical.bias, other.bias, rtol=1e-12)
    if act.homogeneity is not None:
        np.testing.assert_allclose(np.linalg.norm(canonical.weights, axis=1), 1)


def test_canonical_drops_what_contributes_nothing():
    dead = Network(np.vstack([W, np.zeros(4)]), np.append(A, 5.0)).canonical()
    assert dead.n_hidden == 3
    constant = Network(np.vstack([W, np.zeros(4)]), np.append(A, 5.0), bias=np.append(BIAS, 1.0)).canonical()
    assert constant.n_hidden == 4
    assert Network(np.zeros((2, 4)), np.ones(2)).canonical().n_hidden == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Network(W[0], A), "weights must have 2 dimensions, not 1"),
        (lambda: Network(W, A[:2]), "output has 2 entries but weights has 3 rows"),
        (lambda: Network(W, A, bias=BIAS[:1]), "bias has 1 entries but weights has 3 rows"),
        (lambda: Network(W * math.nan, A), "weights holds NaN"),
        (lambda: Network(W, [1.0, math.inf, 0.0]), "output holds NaN or infinite"),
        (lambda: Network([["a", "b"]], [1.0]), "weights must be numbers"),
        (lambda: Network([[1.0], [1.0, 2.0]], [1.0, 1.0]), "weights must be numbers"),
        (lambda: Network(W, A, "rellu"), "did you mean 'relu'"),
        (lambda: Network(W, A, intercept=math.nan), "intercept holds NaN"),
        (lambda: Network(W, A).predict(X[:, :2]), "X has 2 columns but the network takes 4"),
        (lambda: Network(W, A).predict(X[0]), "X must have 2 dimensions, not 1"),
        (lambda: Network(W, A).predict(X * math.nan), "X holds NaN"),
    ],
)
def test_bad_networks_are_one_sentence(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


# Files.


@each
def test_round_trip(act, tmp_path):
    net = Network(W, A, act, BIAS, 0.75)
    path = net.save(tmp_path / "model.safetensors")
    back = Network.load(path)
    for name in ("weights", "output", "bias"):
        np.testing.assert_array_equal(getattr(back, name), getattr(net, name))
    assert (back.activation, back.intercept) == (net.activation, 0.75)
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_round_trip_without_bias_and_over_an_older_file(tmp_path):
    path = tmp_path / "model"
    Network(W, A, "tanh", BIAS).save(path)
    Network(W.T, rng.standard_normal(4)).save(str(path))
    assert Network.load(path).bias is None
    assert Network.load(path).n_features == 3
    assert Network.load(Network(W[:, ::-1], A).save(path)).weights[0, 0] == W[0, -1]


@pytest.mark.parametrize("name", ["swish", "tanh"])
def test_a_callers_own_function_is_not_saved(name, tmp_path):
    act = activations.custom(lambda z: z * jax.nn.sigmoid(z), name=name)
    with pytest.raises(ValueError, match="not one of the library's"):
        Network(W, A, act).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran')",)


def safetensors(metadata=None, **arrays):
    full = {"format": "planted-network-1", "activation": "relu", "parameters": "{}"} | (metadata or {})
    base = {"weights": W, "output": A, "intercept": np.array(0.0)}
    return save({k: np.asarray(v) for k, v in (base | arrays).items() if v is not None}, full)


good = safetensors()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"weights,output\n1,2\n", "not a planted model, or it is damaged"),
        (pickle.dumps(Bomb()), "not a planted model, or it is damaged"),
        (good[: len(good) // 2], "not a planted model, or it is damaged"),
        (good[:-1], "not a planted model, or it is damaged"),
        (b"\xff" * 8 + good[8:], "not a planted model, or it is damaged"),
        (save({"weights": W}), "safetensors file but not a planted model"),
        (safetensors({"format": "something else"}), "safetensors file but not a planted model"),
        (safetensors(weights=None), "it has no array 'weights'"),
        (safetensors(bais=A), "an array 'bais' that does not belong there"),
        (safetensors(weights=W.astype(np.float32)), "not of float64"),
        (safetensors({"parameters": "[" * 5000 + "]" * 5000}), "parameters are no numbers"),
        (safetensors({"parameters": '{"b": [1]}', "activation": "softplus"}), "parameters are no numbers"),
        (safetensors({"format": "planted-network-2"}), "has lost its checksum"),
        (safetensors({"activation": "os.system"}), "unknown activation 'os.system'"),
        (safetensors({"parameters": "not json"}), "not a valid planted model"),
        (safetensors({"parameters": json.dumps([1])}), "not a valid planted model"),
        (safetensors({"parameters": json.dumps({"b": 1})}), "takes no parameters"),
        (safetensors(output=A[:2]), "output has 2 entries"),
        (safetensors(weights=W[0]), "weights must have 2 dimensions"),
        (safetensors(weights=W * math.nan), "weights holds NaN"),
    ],
)
def test_files_that_are_no_models_give_an_error_and_run_nothing(content, message, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        Network.load(path)


def test_a_file_without_a_checksum_is_read_with_a_word_about_it(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(good)
    with pytest.warns(UserWarning, match="has no checksum"):
        assert np.array_equal(Network.load(path).weights, W)


def test_the_same_network_has_the_same_bytes_and_the_library_of_the_format_reads_them(tmp_path):
    first, second = (Network(W, A, "softplus").save(tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    arrays = load(first.read_bytes())
    assert np.array_equal(arrays["weights"], W)


def test_no_changed_byte_goes_unnoticed(tmp_path):
    path = Network(W, A, "tanh", bias=A).save(tmp_path / "model", about={"data": "0f"})
    content = path.read_bytes()
    assert model_about(path)["data"] == "0f"
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            Network.load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelFileError, match="no model file at"):
        Network.load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        Network.load(tmp_path)
