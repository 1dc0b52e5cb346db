"""Recovering a shared filter from data: exactness, noise, verdicts; its networks, images and regressor."""

import math
from dataclasses import replace

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import planted
from planted import ConvNetwork, PlantedConvRegressor, activations, match
from planted.datasets import images_to_patches, make_planted_conv, patch_to_image, to_patches
from planted.methods import FILTERS, FilterProblem
from planted.methods._filter_polish import _moments_on_host, _residual_moments, expected_error, polish
from planted.methods.filters import shared
from planted.networks import ModelFileError
from planted.objectives import ConvSquared

SHAPE = (500, 4, 5)  # rows, patches, patch size: one shape lets the tests share compiled programs
ACTIVATIONS = ["relu", "leaky_relu", "abs", "squared_relu", "softplus", "tanh", "sigmoid"]


def recover_conv(Z, y, *, activation="relu", random_state=0):
    return FILTERS["shared"](FilterProblem.of(Z, y, 1, activation, random_state=random_state))


# --- Recovery -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "abs", "squared_relu", "softplus", "tanh"])
def test_recovery_without_noise_is_exact(activation):
    data = make_planted_conv(*SHAPE, activation=activation, random_state=1)
    result = recover_conv(data.X, data.y, activation=activation, random_state=2)
    assert result.status == "recovered"
    assert match(result.network, data.teacher).weight_error < 1e-10
    assert any(restart.fate == "global minimum" for restart in result.details["restarts"])


def test_recovery_reports_the_spurious_minimum():
    data = make_planted_conv(*SHAPE, output=[1.0, -1.0, 1.0, -1.0], random_state=0)
    result = recover_conv(data.X, data.y, random_state=0)
    assert {restart.fate for restart in result.details["restarts"]} == {"global minimum", "spurious minimum"}
    assert match(result.network, data.teacher).weight_error < 1e-10


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_restart_that_ended_higher_is_at_no_global_minimum(activation):
    """Near the network that won, as weights go, but with more than its loss."""
    data = make_planted_conv(300, 3, 4, activation=activation, noise=0.05, random_state=0)
    winner = data.teacher.canonical()
    loss = ConvSquared(data.X, data.y, winner.activation)
    factors = np.array([1.0, 1.1, 1.1])
    params = {"filter": np.tile(winner.filter, (3, 1)), "output": factors[:, None] * winner.output}
    values = np.array([float(loss.value({name: part[i] for name, part in params.items()})) for i in range(3)])
    assert values[1] > 2 * values[0]
    settled = shared._Settled(float(np.mean(data.y**2)) / 2)
    settled.restarts = np.array([True, False, True])
    ends = shared._fates(params, values, settled, loss, winner, True, 1 / (2 * math.pi))
    assert ends == ["global minimum", "still moving", "stationary point"]


def test_recovery_with_a_covariance_and_with_flat_rows():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5)) * [3.0, 1.0, 1.0, 1.0, 0.2]
    data = make_planted_conv(*SHAPE, cov=root @ root.T + 0.01 * np.eye(5), random_state=3)
    result = PlantedConvRegressor(n_patches=4, random_state=0).fit(data.X.reshape(len(data.X), -1), data.y).result_
    assert result.status == "recovered"
    assert match(result.network, data.teacher).weight_error < 1e-9


def test_noise_is_estimated_and_the_error_is_as_expected():
    data = make_planted_conv(*SHAPE, noise=0.5, random_state=4)
    result = recover_conv(data.X, data.y, random_state=0)
    assert result.status == "estimated"
    assert abs(result.details["noise"] - 0.5) < 4 * 0.5 / math.sqrt(2 * len(data.y))
    assert match(result.network, data.teacher).weight_error < 3 * result.details["expected_error"]


def test_expected_error_is_the_root_mean_square_error_of_many_fits():
    rng = np.random.default_rng(7)
    data = make_planted_conv(600, 3, 3, random_state=7)
    bound = expected_error(ConvSquared(data.X, data.y), data.teacher, 0.05)
    errors = []
    for _ in range(60):
        objective = ConvSquared(data.X, data.y + 0.05 * rng.standard_normal(600))
        errors.append(match(polish(objective, data.teacher, steps=12)[0], data.teacher).weight_error)
    squares = np.square(errors)
    assert abs(squares.mean() - bound**2) < 4 * squares.std() / math.sqrt(len(squares))


def test_failures_are_a_status_with_a_reason():
    data = make_planted_conv(*SHAPE, random_state=5)
    rng = np.random.default_rng(0)
    noise = recover_conv(data.X, rng.standard_normal(len(data.y)), random_state=0)
    assert noise.status == "ambiguous"
    assert noise.details["expected_error"] > 0.25
    wrong = recover_conv(data.X, data.y + data.X[:, 0, 0], random_state=0)
    assert (wrong.status, "residuals" in wrong.reason) == ("misfit", True)
    assert "too few filters: 2" in wrong.reason
    steps = ConvNetwork(data.teacher.filter, data.teacher.output, "tanh").predict(data.X)
    other = recover_conv(data.X, steps, random_state=0)
    assert (other.status, other.verdict.facts.cause.kind) == ("misfit", "activation")
    assert "tanh" in other.reason
    with pytest.raises(ValueError, match="8 rows cannot determine"):
        recover_conv(data.X[:8], data.y[:8])
    with pytest.raises(ValueError, match="y is zero"):
        recover_conv(data.X, np.zeros(len(data.y)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("pixels", "status"), [("one", "recovered"), ("zero", "ambiguous"), ("double", "ambiguous")])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_pixels_that_are_constant_or_follow_from_others_do_not_end_a_fit(pixels, status, activation):
    """A constant one is a bias that is shared; of the others the weights are open, not what is predicted."""
    data = make_planted_conv(*SHAPE, activation=activation, random_state=1)
    Z = data.X.copy()
    Z[:, :, 0] = {"one": 1.0, "zero": 0.0, "double": 2 * Z[:, :, 1]}[pixels]
    y = data.teacher.predict(Z)
    result = PlantedConvRegressor(activation=activation, random_state=0).fit(Z, y).result_
    assert result.status == status
    np.testing.assert_allclose(result.network.predict(Z), y, atol=1e-9 * np.std(y))


@pytest.mark.parametrize(
    ("factor", "activation", "words"),
    [
        (0.0, "relu", "patch 2 is zero"),
        (1.0, "relu", "patch 2 equals patch 1"),
        (-1.0, "tanh", "patch 2 is the opposite of patch 1"),
        (-1.0, "relu", ""),
    ],
)
def test_patches_that_say_nothing_of_their_own_are_named(factor, activation, words):
    data = make_planted_conv(*SHAPE, activation=activation, random_state=1)
    Z = data.X.copy()
    Z[:, 1] = factor * Z[:, 0]
    result = recover_conv(Z, data.teacher.predict(Z), activation=activation)
    assert result.status == ("ambiguous" if words else "recovered")
    assert f"since {words}" in result.reason if words else "patch 2" not in result.reason
    assert result.advice == ("Leave these out: the others predict the same." if words else "")


def test_advice_on_filters_is_of_filters_and_constant_targets_have_none():
    data = make_planted_conv(*SHAPE, noise=0.5, random_state=4)
    assert recover_conv(data.X, data.y).advice == "If the data has no noise, try more filters or another activation."
    with pytest.raises(ValueError, match=r"y is 1\.0 in every row"):
        recover_conv(data.X, np.ones(len(data.y)))


@pytest.mark.parametrize(("of_inputs", "of_targets"), [(1e-8, 1e6), (1e-10, 1e8), (1e8, 1e-6)])
def test_units_of_inputs_and_targets_are_no_matter(of_inputs, of_targets):
    data = make_planted_conv(*SHAPE, random_state=3)
    result = recover_conv(of_inputs * data.X, of_targets * data.y)
    assert result.status == "recovered"
    scaled = ConvNetwork(data.teacher.filter / of_inputs, of_targets * data.teacher.output)
    assert match(result.network, scaled).weight_error < 1e-9


def overlapping(seed, activation, noise=0.0):
    """Patches of 3 × 3 pixels, one from each place of images of 6 × 6, and what one filter makes of them."""
    rngs = [np.random.default_rng(seed + i) for i in range(4)]
    Z = to_patches(rngs[0].standard_normal((400, 6, 6)), None, (3, 3, 1, 1))
    teacher = ConvNetwork(rngs[1].standard_normal(9), rngs[2].standard_normal(16), activation)
    y = teacher.predict(Z)
    return Z, y + noise * y.std() * rngs[3].standard_normal(len(y)), teacher


@pytest.mark.parametrize("activation", ["abs", "quadratic", "tanh"])
def test_a_minimum_that_looks_like_noise_is_not_the_end_where_no_theorem_says_so(activation):
    Z, y, teacher = overlapping(1, activation)
    result = recover_conv(Z, y, activation=activation, random_state=0)
    assert result.status == "recovered"
    assert match(result.network, teacher).weight_error < 1e-10


def test_starts_that_ended_apart_are_said_and_too_few_of_them_are_no_estimate():
    Z, y, teacher = overlapping(1, "abs", noise=0.3)
    problem = FilterProblem.of(Z, y, 1, "abs", random_state=0)
    result = FILTERS["shared"](problem)
    assert result.status == "estimated"
    assert "starts ended in different minima" in result.reason
    assert match(result.network, teacher).weight_error < 0.2
    few = FILTERS["shared"](replace(problem, draws=2))
    assert (few.status, "2 starts ended in 2 minima, and a lower one may be left" in few.reason) == ("misfit", True)
    assert few.advice == "Try another random_state."


def test_same_random_state_same_answer_and_settings_stay():
    data = make_planted_conv(*SHAPE, noise=0.1, random_state=6)
    before = jax.config.jax_enable_x64
    one, two = (recover_conv(data.X, data.y, random_state=9).network for _ in range(2))
    np.testing.assert_array_equal(one.filter, two.filter)
    assert jax.config.jax_enable_x64 == before


# --- Networks, data, estimator ------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_network_equals_its_fully_connected_form_and_matches_like_it(activation):
    rng = np.random.default_rng(2)
    teacher = ConvNetwork(rng.standard_normal(4), rng.standard_normal(3), activation)
    Z = rng.standard_normal((50, 3, 4))
    np.testing.assert_allclose(teacher.predict(Z), teacher.to_network().predict(Z.reshape(50, 12)), atol=1e-12)
    np.testing.assert_allclose(teacher.canonical().predict(Z), teacher.predict(Z), atol=1e-12)
    estimate = ConvNetwork(teacher.filter + 0.01, teacher.output - 0.02, activation)
    by_conv = match(estimate, teacher)
    by_rows = match(estimate.canonical().to_network(), teacher.canonical().to_network())
    assert math.isclose(by_conv.weight_error, by_rows.weight_error, rel_tol=1e-9)
    assert math.isclose(by_conv.output_error, by_rows.output_error, rel_tol=1e-9)
    assert math.isclose(by_conv.max_angle, by_rows.max_angle, rel_tol=1e-6)
    with pytest.raises(TypeError, match=r"estimate must be a planted.Network"):
        match(estimate, teacher.to_network())
    parity = teacher.activation.parity
    if parity is not None:
        flipped = ConvNetwork(-teacher.filter, teacher.output * (1 if parity == "even" else -1), activation)
        assert match(flipped, teacher).weight_error < 1e-14


def test_networks_are_saved_and_damaged_files_are_refused(tmp_path):
    net = ConvNetwork([1.0, 2.0], [3.0], activations.leaky_relu(slope=0.3))
    again = ConvNetwork.load(net.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.filter, net.filter)
    assert again.activation == net.activation
    with pytest.raises(ModelFileError, match="no model file"):
        ConvNetwork.load(tmp_path / "absent")
    (tmp_path / "damaged").write_bytes((tmp_path / "model").read_bytes()[:20])
    with pytest.raises(ModelFileError, match="damaged"):
        ConvNetwork.load(tmp_path / "damaged")
    with pytest.raises(ModelFileError, match=r"dense holds a Network, not a ConvNetwork; planted\.load reads both"):
        ConvNetwork.load(planted.Network([[1.0]], [1.0]).save(tmp_path / "dense"))
    with pytest.raises(ValueError, match="not one of the library"):
        ConvNetwork([1.0], [1.0], lambda z: z).save(tmp_path / "own")


def test_images_are_cut_and_put_together():
    images = np.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)
    patches = images_to_patches(images, (2, 3))
    assert patches.shape == (2, 4, 18)
    np.testing.assert_array_equal(patch_to_image(patches[1, 2], (2, 3)), images[1, 2:4, 0:3])
    with pytest.raises(ValueError, match="two positive integers"):
        images_to_patches(images, (2, 0))


@pytest.mark.parametrize("channels", [None, 5])
def test_regressor_on_images(channels):
    """Images of 2 × 10 in patches of 1 × 5, or of 2 × 2 with 5 channels in single pixels, computed by hand."""
    rng = np.random.default_rng(8)
    h, w = (1, 5) if channels is None else (1, 1)
    images = rng.standard_normal((800, 2, 10) if channels is None else (800, 2, 2, channels))
    kernel = rng.standard_normal((h, w) if channels is None else (h, w, channels))
    outputs = rng.standard_normal(4)
    y = np.zeros(len(images))
    for i in range(2):
        for j in range(2):
            patch = images[:, i * h : (i + 1) * h, j * w : (j + 1) * w]
            y += outputs[2 * i + j] * np.maximum(np.sum(patch * kernel, axis=tuple(range(1, images.ndim))), 0)
    model = PlantedConvRegressor(patch_shape=(h, w), random_state=0).fit(images, y)
    np.testing.assert_allclose(model.filter_, kernel / np.linalg.norm(kernel), atol=1e-10)
    np.testing.assert_allclose(model.network_.output, outputs * np.linalg.norm(kernel), atol=1e-9)
    np.testing.assert_allclose(model.predict(images[:5]), y[:5], atol=1e-9)


def test_regressor_follows_scikit_learn():
    data = make_planted_conv(*SHAPE, random_state=0)
    model = clone(PlantedConvRegressor(n_patches=4, random_state=0))
    rows = data.X.reshape(len(data.X), -1)
    assert model.fit(rows, data.y) is model
    assert model.score(rows, data.y) > 1 - 1e-12
    np.testing.assert_array_equal(model.predict(rows), model.predict(data.X))
    assert model.n_features_in_ == 20
    with pytest.raises(ValueError, match="give n_patches"):
        PlantedConvRegressor().fit(rows, data.y)
    with pytest.raises(ValueError, match="patch_shape"):
        PlantedConvRegressor().fit(np.ones((5, 2, 2, 1)), np.ones(5))
    with pytest.raises(ValueError, match="patches of size 3"):
        model.predict(np.ones((2, 4, 3)))
    with pytest.warns(ConvergenceWarning, match="misfit"):
        PlantedConvRegressor(random_state=0).fit(data.X, data.y + data.X[:, 0, 0])


def test_weighted_moments_of_residuals_are_the_same_on_both_paths():
    data = make_planted_conv(200, 2, 3, noise=0.1, random_state=0)
    loss = ConvSquared(data.X, data.y, sample_weight=1.0 + np.arange(200) % 3)
    network, whitener = data.teacher, np.diag([1.0, 2.0, 3.0])
    with jax.enable_x64(True):
        compiled = _residual_moments(loss, {"filter": network.filter, "output": network.output}, whitener)
    for ours, theirs in zip(_moments_on_host(loss, network, whitener), compiled, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
