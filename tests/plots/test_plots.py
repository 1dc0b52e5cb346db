"""Pictures of a descent: what they show agrees with what was computed elsewhere."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from planted import Network
from planted.objectives import PopulationLandscape, PopulationSquared
from planted.plots import (
    animate_permutation,
    follow,
    plot_descent,
    plot_losses,
    plot_permutation_frames,
    plot_reading,
    plot_slice,
    plot_spectrum,
    plot_sphere,
    save_fit,
    save_picture,
)
from planted.plots._landscapes import plane
from planted.plots._paths import moments

SWAP = np.array([[0.3, 0.9], [-0.8, 0.2]])


@pytest.fixture(scope="module")
def path():
    teacher = Network(np.eye(2), np.ones(2))
    return follow(PopulationLandscape(teacher), SWAP, teacher)


def test_the_path_descends_to_a_signed_permutation(path):
    assert np.all(np.diff(path.value) <= 1e-12)
    # G's minimum is a little longer than one, as its penalty is finite.
    unit = path.weights[-1] / np.linalg.norm(path.weights[-1], axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(unit), [[0, 1], [1, 0]], atol=1e-6)
    np.testing.assert_array_equal(path.weights[0], SWAP)
    assert path.value[3] == pytest.approx(float(path.objective.value(path.weights[3])), rel=1e-12)
    # Eq. 6.1 by hand, with max for its min.
    Q = np.abs(SWAP / np.linalg.norm(SWAP, axis=1, keepdims=True))
    by_hand = max(1 - min(Q.max(axis=0)), 1 - min(Q.max(axis=1)))
    assert path.error[0] == pytest.approx(by_hand, rel=1e-12)


def test_moments_are_spread_over_the_fall_of_the_error(path):
    frames = moments(path, 5)
    assert (frames[0], frames[-1]) == (0, len(path.step) - 1)
    fallen = path.error[frames[1:-1]] / path.error[0]
    assert np.all((fallen < 0.78) & (fallen > 0.2))


def test_the_plane_holds_both_ends(path):
    last, u, v = plane(path.weights)
    away = path.weights[0].ravel() - last
    np.testing.assert_allclose((away @ u) * u + (away @ v) * v, away, atol=1e-12)
    np.testing.assert_allclose([u @ u, v @ v, u @ v], [1, 1, 0], atol=1e-12)


def test_the_spectrum_is_that_of_finite_differences(path):
    axis = Figure().subplots()
    plot_spectrum(path, axis, frames=2)
    drawn = np.sort([line.get_ydata()[-1] for line in axis.lines[:-1]])
    B, step = path.weights[-1], 1e-5
    basis = np.eye(4).reshape(4, 2, 2)
    rows = [
        (path.objective.gradient(B + step * e) - path.objective.gradient(B - step * e)).ravel() / (2 * step)
        for e in basis
    ]
    np.testing.assert_allclose(drawn, np.linalg.eigvalsh(np.array(rows)), rtol=1e-5, atol=1e-6)


def test_a_slice_shows_the_loss_and_the_way(path):
    axis = Figure().subplots()
    plot_slice(path, axis, points=9)
    along = axis.lines[0].get_xdata()
    assert along[-1] == 0
    assert along[0] == pytest.approx(np.linalg.norm(SWAP - path.weights[-1]))


def test_every_plot_draws_on_what_it_is_given(path, tmp_path):
    figure = Figure()
    plot_descent(path, figure.subplots())
    plot_permutation_frames(path, Figure())
    plot_sphere(path, Figure().subplots())
    animate_permutation(path, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames > 5
    axis = figure.axes[0]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), np.maximum(path.error, 1e-16))


def test_a_picture_from_the_command_line(capsys, tmp_path, monkeypatch):
    from planted.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["plot", "descent", "--loss", "L", "--steps", "20", "--samples", "200", "--quiet", "--features", "2"])
    assert stopped.value.code == 0
    assert (tmp_path / "planted-descent.png").read_bytes().startswith(b"\x89PNG")
    assert "picture written to planted-descent.png" in capsys.readouterr().out


BAD = {
    "sphere in four dimensions": (("sphere", "a.png"), {"d": 4}, "for 2 or 3 inputs, not 4"),
    "animation as PNG": (("animation", "a.png"), {}, "an animation is a .gif file"),
    "unknown kind": (("descend", "a.png"), {}, "did you mean 'descent'"),
    "unknown loss": (("descent", "a.png"), {"loss": "H", "d": 2}, "unknown loss 'H'"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_one_sentence(case):
    arguments, options, sentence = BAD[case]
    with pytest.raises(ValueError, match=sentence):
        save_picture(*arguments, **options)


def test_squared_loss_can_be_followed_too():
    teacher = Network(np.eye(2), np.ones(2))
    path = follow(PopulationSquared(teacher, output=teacher.output), SWAP * [[1, 1], [-1, 1]], teacher)
    assert path.error[-1] < 1e-6


def test_a_fit_without_steps_has_no_empty_panel(tmp_path, recwarn):
    y = np.linspace(0.0, 1.0, 20)
    result = SimpleNamespace(descents={}, network=Network(np.zeros((0, 1)), np.zeros(0), skip=[1.0]))
    result.status, result.relative_loss = "estimated", 0.5
    save_fit(tmp_path / "linear.png", result, y, y, {0: 0.5})
    save_fit(tmp_path / "widths.png", result, y, y, {0: 0.5, 1: 0.6})
    assert not recwarn.list
    one, two = (Image.open(tmp_path / f"{name}.png").size for name in ("linear", "widths"))
    assert (one[0] * 2, one[1]) == two


def test_every_phase_of_the_legend_can_be_seen():
    """A phase with one recorded step has no line, and so a point."""
    runs = {"lbfgs": ([2], [0.5]), "least_squares": ([1, 2, 3], [0.4, 0.3, 0.2])}
    descents = {
        name: SimpleNamespace(history=SimpleNamespace(step=steps, value=values))
        for name, (steps, values) in runs.items()
    }
    axis = Figure().subplots()
    plot_losses(SimpleNamespace(descents=descents), axis)
    assert [line.get_marker() for line in axis.lines] == ["o", "None"]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == list(runs)


def test_a_linear_reading_is_drawn_by_its_coefficients():
    network = Network(np.zeros((0, 3)), np.zeros(0), skip=[1.0, -2.0, 0.5])
    (axis,) = plot_reading(network, Figure()).axes
    assert [bar.get_height() for bar in axis.patches] == [1.0, -2.0, 0.5]
    assert "no neuron" in axis.get_title()


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_neurons_and_inputs_of_a_reading_are_counted_in_whole_numbers(k):
    rng = np.random.default_rng(k)
    network = Network(rng.standard_normal((k, 2)), rng.standard_normal(k), skip=None if k else [1.0, 2.0])
    axis = plot_reading(network, Figure()).axes[0]
    ticks = axis.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))
