"""A shared filter (Du et al. 2017): formulas against Monte Carlo, stationary points, dynamics."""

import math

import jax
import numpy as np
import pytest

from planted import ConvNetwork, activations
from planted.methods import conv_descent, step_size_bound, typical_step
from planted.objectives import (
    ConvSquared,
    PopulationConv,
    arc,
    best_output,
    nearest_stationary_point,
    stationary_points,
    threshold,
)
from planted.reproduce.du2017._shared_filter import figure_1b, success_frequencies
from planted.starts import output_radius, sign_restarts, uniform_start

ACTIVATIONS = ["relu", "leaky_relu", "abs", "squared_relu", "softplus", "tanh", "sigmoid"]
PI = math.pi


def problem(p=4, k=3, activation="relu", seed=0, length=1.7):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(p)
    teacher = ConvNetwork(length * w / np.linalg.norm(w), rng.standard_normal(k), activation)
    return teacher, {"filter": rng.standard_normal(p), "output": rng.standard_normal(k)}, rng


def flat(tree):
    return np.concatenate([np.ravel(tree[name]) for name in sorted(tree)])


def shifted(params, direction, t):
    return {name: params[name] + t * direction[name] for name in params}


# --- Formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_population_loss_is_the_expectation(activation):
    teacher, params, rng = problem(activation=activation)
    n = 50_000
    Z = rng.standard_normal((n, 3, 4))
    v = params["filter"]
    w = v / np.linalg.norm(v) if activations.get(activation).homogeneity is not None else v
    act = activations.get(activation)
    losses = 0.5 * (act(Z @ w) @ params["output"] - act(Z @ teacher.filter) @ teacher.output) ** 2
    error = losses.std() / math.sqrt(n)
    assert abs(PopulationConv(teacher).value(params) - losses.mean()) < 4 * error
    data = ConvSquared(Z, teacher.predict(Z), activation)
    assert math.isclose(data.value(params), losses.mean(), rel_tol=1e-12)


def test_equation_3_as_printed_is_wrong():
    teacher, params, rng = problem()
    n = 50_000
    Z = rng.standard_normal((n, 3, 4))
    v, a, b, size = params["filter"], params["output"], teacher.output, np.linalg.norm(teacher.filter)
    predicted = np.maximum(Z @ v, 0) @ a / np.linalg.norm(v)
    losses = 0.5 * (predicted - teacher.predict(Z)) ** 2
    g = arc(np.arccos(v @ teacher.filter / np.linalg.norm(v) / size))

    def loss(cross):
        first = (PI - 1) * size**2 * b @ b + (PI - 1) * a @ a - 2 * (g - 1) * size * a @ b
        second = size**2 * b.sum() ** 2 + a.sum() ** 2
        return 0.5 * (first / (2 * PI) + second / (2 * PI) - cross * size * a.sum() * b.sum())

    error = losses.std() / math.sqrt(n)
    assert abs(loss(2.0) - losses.mean()) > 50 * error
    assert abs(loss(2.0 / (2 * PI)) - losses.mean()) < 4 * error
    assert math.isclose(loss(1 / PI), PopulationConv(teacher).value(params), rel_tol=1e-12)


def test_lemma_a1_as_printed_is_wrong():
    rng = np.random.default_rng(3)
    n = 100_000
    w, w_star = rng.standard_normal((2, 3))
    z = rng.standard_normal((n, 3))
    phi = np.arccos(w @ w_star / np.linalg.norm(w) / np.linalg.norm(w_star))
    both = ((z @ w > 0) & (z @ w_star > 0))[:, None]
    first, third = z * (z @ w)[:, None] * (z @ w > 0)[:, None], z * (z @ w_star)[:, None] * both
    fourth = np.maximum(z @ w, 0) * np.maximum(z @ w_star, 0)
    size, size_star = np.linalg.norm(w), np.linalg.norm(w_star)

    def off(sample, value):
        return np.max(np.abs(sample.mean(axis=0) - value) / (sample.std(axis=0) / math.sqrt(n)))

    assert off(first, 0.5 * w / size) > 30
    assert off(first, 0.5 * w) < 4.5
    right = ((PI - phi) * w_star + math.sin(phi) * size_star / size * w) / (2 * PI)
    assert off(third, 2 * right) > 30
    assert off(third, right) < 4.5
    s, c = math.sin(phi), math.cos(phi)
    assert off(fourth, c * (PI - phi + s * c + s**2) * size * size_star / (2 * PI)) > 30
    assert off(fourth, (c * (PI - phi + s * c) + s**3) * size * size_star / (2 * PI)) < 4.5


def test_theorem_2_2_is_the_gradient():
    teacher, params, _ = problem()
    (v, a), target = params.values(), teacher.canonical()
    w_star, a_star, size = target.filter, target.output, np.linalg.norm(v)
    w = v / size
    phi = math.acos(w @ w_star)
    across = w_star - w * (w @ w_star)
    change = a.sum() - a_star.sum() + (PI - 1) * a - (arc(phi) - 1) * a_star
    gradient = PopulationConv(teacher).gradient(params)
    np.testing.assert_allclose(gradient["filter"], -(a @ a_star) * (PI - phi) / (2 * PI * size) * across, atol=1e-14)
    np.testing.assert_allclose(gradient["output"], change / (2 * PI), atol=1e-14)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
@pytest.mark.parametrize("kind", ["population", "data"])
def test_derivatives_against_finite_differences(kind, activation):
    teacher, params, rng = problem(activation=activation)
    Z = rng.standard_normal((60, 3, 4))
    data = ConvSquared(Z, rng.standard_normal(60), activation)
    objective = PopulationConv(teacher) if kind == "population" else data
    direction = {"filter": rng.standard_normal(4), "output": rng.standard_normal(3)}
    h = 1e-6
    slope = (objective.value(shifted(params, direction, h)) - objective.value(shifted(params, direction, -h))) / (2 * h)
    assert math.isclose(slope, flat(objective.gradient(params)) @ flat(direction), rel_tol=1e-6, abs_tol=1e-8)
    up, down = (flat(objective.gradient(shifted(params, direction, s))) for s in (h, -h))
    product = flat(objective.hvp(params, direction))
    np.testing.assert_allclose((up - down) / (2 * h), product, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(objective.hessian(params) @ flat(direction), product, atol=1e-9)


def test_loss_does_not_depend_on_the_filter_length_and_adds_over_blocks():
    teacher, params, rng = problem()
    Z, y = rng.standard_normal((70_000, 3, 4)), rng.standard_normal(70_000)
    whole = ConvSquared(Z, y)
    assert whole.rows.blocks["y"].shape[0] > 1
    longer = params | {"filter": 3.0 * params["filter"]}
    assert math.isclose(whole.value(params), whole.value(longer), rel_tol=1e-13)
    assert math.isclose(PopulationConv(teacher).value(params), PopulationConv(teacher).value(longer), rel_tol=1e-13)
    parts = [ConvSquared(Z[rows], y[rows]).value(params) for rows in (slice(0, 30_000), slice(30_000, None))]
    assert math.isclose(whole.value(params), (3 * parts[0] + 4 * parts[1]) / 7, rel_tol=1e-12)
    flat_rows = ConvSquared(Z[:10].reshape(10, -1), y[:10], n_patches=3)
    assert flat_rows.value(params) == ConvSquared(Z[:10], y[:10]).value(params)
    with pytest.raises(ValueError, match="output has shape"):
        whole.value(params | {"output": np.ones(2)})


# --- Stationary points --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.9, 1.1, 2.0])
def test_lemma_4_1_with_the_verdict_of_the_hessian_and_of_the_third_order(ratio):
    """Ratios are in units of the threshold (k + π − 1)/π, above which the opposite point is no minimum."""
    k, p, rng = 8, 5, np.random.default_rng(1)
    share = min(ratio * threshold(k) / k, 1.0)
    u = rng.standard_normal(k)
    u -= u.mean()
    b = 1.3 * (math.sqrt(share / k) + math.sqrt(1 - share) * u / np.linalg.norm(u))
    teacher = ConvNetwork(2 * rng.standard_normal(p), b)
    w, objective = teacher.canonical().filter, PopulationConv(teacher)
    across = rng.standard_normal(p)
    across -= across @ w * w
    across /= np.linalg.norm(across)
    points = stationary_points(teacher)
    assert [point.kind for point in points] == (
        ["global minimum", "saddle", "local minimum"] if ratio < 1 else ["global minimum", "saddle"]
    )
    scale = np.linalg.norm(teacher.canonical().output)
    for point in points:
        at = {"filter": math.cos(point.angle) * w + math.sin(point.angle) * across, "output": point.output}
        assert np.linalg.norm(flat(objective.gradient(at))) < 1e-13 * scale**2
        assert math.isclose(objective.value(at), point.value, abs_tol=1e-13 * scale**2)
        spectrum = np.linalg.eigvalsh(objective.hessian(at))
        zero = 1e-9 * spectrum[-1]
        if point.angle == 0:
            assert np.sum(np.abs(spectrum) < zero) == 1  # the filter's length
            assert np.all(spectrum > -zero)
        elif point.angle < PI:
            assert spectrum[0] < -zero
        else:
            assert np.sum(np.abs(spectrum) < zero) == p  # the Hessian cannot tell
            signal = point.output @ teacher.canonical().output
            turns = np.array([0.02, 0.04])
            moved = [
                {"filter": math.cos(PI - t) * w + math.sin(PI - t) * across, "output": point.output} for t in turns
            ]
            change = np.array([objective.value(m) for m in moved]) - point.value
            np.testing.assert_allclose(change, -signal * turns**3 / (6 * PI), rtol=2e-3)
            assert np.all(change > 0) == (point.kind == "local minimum")
        assert nearest_stationary_point(teacher, at["filter"], at["output"]).kind == point.kind
    assert nearest_stationary_point(teacher, w + across, teacher.output) is None


def test_spurious_minimum_as_lemma_4_1_prints_it_and_its_loss():
    teacher, _, _ = problem(k=5)
    b = teacher.canonical().output
    ones = np.ones((5, 5))
    expected = np.linalg.solve(ones + (PI - 1) * np.eye(5), (ones - np.eye(5)) @ b)
    point = stationary_points(teacher)[-1]
    np.testing.assert_allclose(point.output, expected, atol=1e-14)
    value = ((PI - 2) * b @ b + PI * b.sum() ** 2 / (5 + PI - 1)) / (4 * (PI - 1))
    assert math.isclose(point.value, value, rel_tol=1e-12)


def test_best_output_minimises_the_loss():
    teacher, params, _ = problem()
    w = teacher.canonical().filter
    v = params["filter"] / np.linalg.norm(params["filter"])
    angle = 2 * math.atan2(np.linalg.norm(v - w), np.linalg.norm(v + w))
    gradient = PopulationConv(teacher).gradient({"filter": v, "output": best_output(teacher, angle)})
    np.testing.assert_allclose(gradient["output"], 0, atol=1e-14)


# --- Dynamics -----------------------------------------------------------------------------------------------------


def good_start(teacher, rng):
    """A start that satisfies Theorem 3.1: an acute angle, aᵀa* > 0, |1ᵀa| ≤ |1ᵀa*|."""
    target = teacher.canonical()
    v = rng.standard_normal(target.patch_size)
    v *= np.sign(v @ target.filter) / np.linalg.norm(v)
    a = rng.standard_normal(target.n_patches)
    a *= np.sign(a @ target.output) * abs(target.output.sum()) / np.linalg.norm(a) / math.sqrt(target.n_patches)
    return {"filter": v, "output": 0.9 * a}


def run_from(teacher, start, step, n):
    return conv_descent(PopulationConv(teacher), {name: x[None] for name, x in start.items()}, step, n, teacher)


def test_algorithm_1_against_a_second_implementation():
    teacher, _, rng = problem()
    start, eta = good_start(teacher, rng), 0.1
    run = run_from(teacher, start, eta, 20)
    w, b = teacher.canonical().filter, teacher.canonical().output
    v, a = start["filter"].copy(), start["output"].copy()
    k = len(a)
    for t in range(20):
        norm = np.linalg.norm(v)
        phi = np.arccos(v @ w / norm)
        rate = (PI - phi) * (a @ b) / (2 * PI * norm**2)
        measured = [x[t, 0] for x in (run.angle, run.signal, run.total, run.rate, run.filter_norm)]
        np.testing.assert_allclose(measured, [phi, a @ b, a.sum(), rate, norm], rtol=1e-9)
        slope = -(a @ b) * (PI - phi) / (2 * PI * norm) * (w - v * (v @ w) / norm**2)
        ones = np.ones((k, k))
        g = math.cos(phi) * (PI - phi + math.sin(phi) * math.cos(phi)) + math.sin(phi) ** 3
        change = ((ones + (PI - 1) * np.eye(k)) @ a - (ones + (g - 1) * np.eye(k)) @ b) / (2 * PI)
        v, a = v - eta * slope, a - eta * change
    np.testing.assert_allclose(run.params["filter"][0], v, rtol=1e-9)
    np.testing.assert_allclose(run.params["output"][0], a, rtol=1e-9)


def test_exact_rules_along_a_trajectory():
    teacher, _, rng = problem(p=6, k=5)
    run = run_from(teacher, good_start(teacher, rng), 0.1, 150)
    b, eta, k = teacher.canonical().output, run.step_size, 5
    phi, rate = run.angle[:-1, 0], run.rate[:-1, 0]
    np.testing.assert_allclose(run.angle[1:, 0], np.abs(phi - np.arctan(eta * rate * np.sin(phi))), atol=1e-9)
    signal, total, s = run.signal[:, 0], run.total[:, 0], b.sum()
    g = arc(phi)
    # Equation 4, with ‖a*‖² where ‖a^t‖² is printed.
    right = (1 - eta * (PI - 1) / (2 * PI)) * signal[:-1] + eta / (2 * PI) * ((g - 1) * (b @ b) + s**2 - total[:-1] * s)
    np.testing.assert_allclose(signal[1:], right, rtol=1e-10)
    # The recursion behind Lemma 4.4: k + π − 1 where k − π − 1 is printed, 2π where 2 is.
    right = (1 - eta * (k + PI - 1) / (2 * PI)) * total[:-1] + eta * (k + g - 1) / (2 * PI) * s
    np.testing.assert_allclose(total[1:], right, rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_invariants_and_bounds_with_the_step_of_the_theorem(seed):
    teacher, _, rng = problem(p=5, k=4, seed=seed)
    start = good_start(teacher, rng)
    bound = step_size_bound(teacher, start["filter"], start["output"])
    assert bound > 0
    run = run_from(teacher, start, bound, 4000)
    assert all(np.all(holds) for holds in run.invariants.values())
    b = teacher.canonical().output
    S, cosine = b @ b + b.sum() ** 2, math.cos(run.angle[0, 0])
    assert np.all(run.filter_norm <= math.sqrt(2))
    assert np.all(run.signal <= S * (1 + 1e-12))  # Lemma C.2
    assert np.all(run.rate <= S / 2)
    beta = min(run.signal[0, 0], (arc(run.angle[0, 0]) - 1) * b @ b / (PI - 1))
    assert np.all(run.rate[:, 0] >= beta / 8)
    steps = np.arange(len(run.angle))
    assert np.all(np.sin(run.angle[:, 0]) ** 2 <= (1 - bound * cosine * beta / 8) ** steps + 1e-12)  # Lemma C.3


def test_invariants_can_fail():
    """Lemma 4.2 needs a bound on the step: a large one overshoots; so does Lemma 4.4 beyond 2π/(k + π − 1)."""
    teacher = ConvNetwork([1.0, 0.0], 10 * np.ones(3))
    start = {"filter": np.array([math.cos(0.1), math.sin(0.1)]), "output": teacher.output}
    run = run_from(teacher, start, 1.0, 1)
    assert not np.all(run.invariants["angle falls"])
    limit = 2 * PI / (3 + PI - 1)
    start["output"] = 0.5 * teacher.output
    assert not np.all(run_from(teacher, start, 1.5 * limit, 1).invariants["total stays small"])
    assert np.all(run_from(teacher, start, 0.9 * limit, 1).invariants["total stays small"])


def test_constants_that_the_appendix_prints_are_wrong():
    teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.1])
    b = teacher.output
    S = b @ b + b.sum() ** 2
    near = {"filter": np.array([1.0, 1e-3]) / math.hypot(1, 1e-3), "output": b}
    run = run_from(teacher, near, 1e-3, 1)
    assert run.rate[0, 0] > S / 4  # printed as an upper bound in the proof of Lemma 4.5; S/2 is right
    # Lemma C.1: the gain of aᵀa* carries a factor (π − 1)/(2π) that is not printed; 1ᵀa* = 0 makes it an equality.
    teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0])
    start = {"filter": np.array([0.8, 0.6]), "output": np.array([0.1, -0.1])}
    run = run_from(teacher, start, 0.1, 1)
    gain = run.signal[1, 0] - run.signal[0, 0]
    goal = (arc(run.angle[0, 0]) - 1) / (PI - 1) * 2.0
    assert gain < 0.1 * (goal - run.signal[0, 0])
    assert math.isclose(gain, 0.1 * (PI - 1) / (2 * PI) * (goal - run.signal[0, 0]), rel_tol=1e-10)
    # Lemma C.3: ‖v‖² grows by at most η²(S/2)² sin²φ, not by η² S sin²φ.
    teacher = ConvNetwork([1.0, 0.0], [10.0, 10.0])
    S = 200 + 400
    start = {"filter": np.array([0.8, 0.6]), "output": teacher.output}
    run = run_from(teacher, start, 1e-4, 1)
    growth = run.filter_norm[1, 0] ** 2 - run.filter_norm[0, 0] ** 2
    assert growth > 1e-8 * S * 0.36
    assert growth < 1e-8 * (S / 2) ** 2 * 0.36


def test_rate_can_fall_below_the_beta_of_lemma_c3():
    """The lower bound of λ is β⁰/8 with (g − 1)‖a*‖²/(π − 1) in β⁰; without the division it is violated."""
    b = 0.01 * np.array([1.0, -1.0])
    teacher = ConvNetwork([1.0, 0.0], b)
    angle = PI / 2 - 0.02
    start = {"filter": np.array([math.cos(angle), math.sin(angle)]), "output": 0.1 * b}
    run = run_from(teacher, start, 1.0, 40)
    printed = min(run.signal[0, 0], (arc(angle) - 1) * b @ b)
    assert np.min(run.rate) < printed / 8
    assert np.min(run.rate) >= min(run.signal[0, 0], (arc(angle) - 1) * b @ b / (PI - 1)) / 8


def test_two_phases_and_the_rate_of_the_second():
    figure = figure_1b(random_state=0)
    run = figure.trajectory
    assert run.fates[figure.success] == "global minimum"
    assert run.fates[figure.failure] == "spurious minimum"
    end = figure.phase_one_end
    assert run.loss[end, figure.success] > 0.3 * run.loss[0, figure.success]  # phase I gains little
    assert run.loss[3 * end, figure.success] < 1e-4 * run.loss[end, figure.success]
    assert abs(math.log(figure.rate) / math.log(figure.predicted) - 1) < 0.02
    spurious = stationary_points(run.teacher)[-1].value
    assert 0 < run.loss[-1, figure.failure] - spurious < 0.02 * spurious
    # The spurious minimum is approached like 1/t, not linearly: 1/(π − φ) grows by equal amounts in equal times.
    start = {name: x[[figure.failure]] for name, x in run.params.items()}
    long = conv_descent(PopulationConv(run.teacher), start, run.step_size, 3000, run.teacher)
    inverse = 1 / (PI - long.angle[[1000, 2000, 3000], 0])
    assert abs((inverse[2] - inverse[1]) / (inverse[1] - inverse[0]) - 1) < 0.05


def test_frequencies_of_success_and_of_the_spurious_minimum():
    studies = [success_frequencies(6, 8, ratio, draws=200) for ratio in (0.01, 1.0, 6.0)]
    assert all(study.moving == 0 for study in studies)
    assert all(study.restarts == 1.0 for study in studies)
    error = 0.5 / math.sqrt(200)
    assert all(study.single > 0.25 + 4 * error for study in studies)
    assert studies[0].trapped > studies[1].trapped > studies[2].trapped == 0.0  # 6 is above the threshold, 3.2
    assert studies[0].trapped > 0.95


def test_frequencies_agree_with_algorithm_1_one_by_one():
    teacher, _, rng = problem(p=4, k=3, length=1.0)
    starts = {"filter": rng.standard_normal((6, 4)), "output": 0.2 * rng.standard_normal((6, 3))}
    total, square = teacher.output.sum(), teacher.output @ teacher.output
    step = float(typical_step(total, square, 3))
    run = conv_descent(PopulationConv(teacher), starts, step, 3000, teacher)
    for fate, v, a in zip(run.fates, run.params["filter"], run.params["output"], strict=True):
        point = nearest_stationary_point(teacher, v, a, 1e-2)
        assert {"global minimum": "global minimum", "spurious minimum": "local minimum"}[fate] == point.kind


def test_descent_on_data_follows_the_population():
    teacher, _, rng = problem(p=4, k=3, seed=5, length=1.0)
    Z = rng.standard_normal((8000, 3, 4))
    start = good_start(teacher, rng)
    starts = {"filter": np.stack([start["filter"], -start["filter"]]), "output": np.stack([start["output"]] * 2)}
    population = conv_descent(PopulationConv(teacher), starts, 0.1, 150, teacher)
    data = conv_descent(ConvSquared(Z, teacher.predict(Z)), starts, 0.1, 150, teacher)
    assert np.max(np.abs(population.angle - data.angle)[:, 0]) < 0.1
    assert data.fates[0] == population.fates[0] == "global minimum"


# --- Starts -------------------------------------------------------------------------------------------------------


def test_radius_comes_from_the_mean_of_y():
    teacher, _, rng = problem(p=3, k=6)
    n = 50_000
    y = teacher.predict(rng.standard_normal((n, 6, 3)))
    target = abs(teacher.canonical().output.sum()) / math.sqrt(6)
    error = y.std() / math.sqrt(n) * math.sqrt(2 * PI / 6)
    assert abs(output_radius(y.mean(), y.var(), 6, teacher.activation) - target) < 4 * error
    tanh = activations.get("tanh")
    assert math.isclose(output_radius(0.0, 4.0 * tanh.second_moment(), 6, tanh), 2.0, rel_tol=1e-9)


def test_starts_are_uniform_in_the_ball_and_one_sign_is_good():
    draws = jax.vmap(lambda key: uniform_start(key, 3, 4, 2.0))(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(np.linalg.norm(draws["filter"], axis=1), 1.0, rtol=1e-5)
    share = (np.linalg.norm(draws["output"], axis=1) / 2) ** 4  # uniform on [0, 1]
    assert abs(share.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 4000)
    assert abs((share < 0.25).mean() - 0.25) < 4 * math.sqrt(0.1875 / 4000)
    teacher, _, _ = problem(p=3, k=4)
    target = teacher.canonical()
    radius = abs(target.output.sum()) / 2
    for key in jax.random.split(jax.random.key(1), 20):
        four = sign_restarts(uniform_start(key, 3, 4, radius))
        pairs = list(zip(np.asarray(four["filter"]), np.asarray(four["output"]), strict=True))
        assert sum(v @ target.filter > 0 and a @ target.output > 0 for v, a in pairs) == 1
        assert all(abs(a.sum()) <= abs(target.output.sum()) for _, a in pairs)
