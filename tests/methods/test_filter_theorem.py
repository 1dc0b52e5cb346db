"""Theorems 3.1 to 3.3 of Du et al. (2017) with their constants, held to descents of the population loss."""

import math

import numpy as np
import pytest

from planted import ConvNetwork
from planted.methods import (
    conv_descent,
    leads_to_spurious_minimum,
    leads_to_teacher,
    phase_bounds,
    step_size_bound,
)
from planted.objectives import PopulationConv, arc

TEACHER = ConvNetwork([1.0, 0.0], [1.0, 1.0])


def single(filter, output):
    return {"filter": np.asarray(filter, float)[None], "output": np.asarray(output, float)[None]}


@pytest.mark.parametrize("size", [1.0, 0.1, 0.02])
def test_the_step_follows_the_length_of_the_filter_and_the_angle_contracts(size):
    start, output = size * np.array([0.6, 0.8]), np.array([0.5, 0.5])
    step = step_size_bound(TEACHER, start, output)
    assert step == pytest.approx(min(size**2 * step_size_bound(TEACHER, start / size, output), 2 * math.pi / 5.2))
    run = conv_descent(PopulationConv(TEACHER), single(start, output), step, 400, TEACHER)
    assert all(np.all(holds) for holds in run.invariants.values())
    assert np.all(run.filter_norm**2 <= 2 * size**2 * (1 + 1e-9))


def test_with_a_short_filter_the_step_of_a_unit_one_breaks_the_contraction():
    start, output = 0.02 * np.array([0.6, 0.8]), np.array([0.5, 0.5])
    step = step_size_bound(TEACHER, start / 0.02, output)
    run = conv_descent(PopulationConv(TEACHER), single(start, output), step, 5, TEACHER)
    assert not np.all(run.invariants["angle contracts"])


def test_both_phases_end_before_their_bounds():
    start, output = np.array([0.3, 0.9]), np.array([0.5, 0.4])
    step = step_size_bound(TEACHER, start, output)
    bounds = phase_bounds(TEACHER, start, output, step, epsilon=1e-3)
    total = int(bounds.first + bounds.second)
    assert total < 400_000
    run = conv_descent(PopulationConv(TEACHER), single(start, output), step, 20_000, TEACHER)
    assert 0 < run.phase_one_end[0] <= bounds.first
    reached = np.argmax(run.loss[:, 0] <= 1e-3 * 2)
    assert run.loss[reached, 0] <= 2e-3
    assert reached <= bounds.first + bounds.second


def test_a_larger_step_than_the_theorem_allows_is_refused():
    with pytest.raises(ValueError, match="allows steps up to"):
        phase_bounds(TEACHER, [1.0, 1.0], [0.5, 0.5], 10.0)
    assert step_size_bound(TEACHER, [-1.0, 0.1], [0.5, 0.5]) == 0.0


def test_starts_with_the_premises_of_theorem_3_3_end_at_the_spurious_minimum_and_of_3_1_at_the_teacher():
    teacher = ConvNetwork([1.0, 0.0, 0.0], [1.0, -0.9, 0.1])
    rng = np.random.default_rng(0)
    filters, outputs = rng.standard_normal((60, 3)), 0.05 * rng.standard_normal((60, 3))
    bad = np.array([leads_to_spurious_minimum(teacher, v, a) for v, a in zip(filters, outputs, strict=True)])
    good = np.array([leads_to_teacher(teacher, v, a) for v, a in zip(filters, outputs, strict=True)])
    assert bad.sum() >= 5
    assert good.sum() >= 5
    assert not np.any(bad & good)
    run = conv_descent(PopulationConv(teacher), {"filter": filters, "output": outputs}, 0.1, 4000, teacher)
    fates = np.array(run.fates)
    assert set(fates[bad]) == {"spurious minimum"}
    assert set(fates[good]) == {"global minimum"}


def test_a_fixed_second_layer_stays_and_the_filter_still_turns():
    start = single([0.1, 1.0], [0.5, 0.5])
    run = conv_descent(PopulationConv(TEACHER), start, 0.2, 300, TEACHER, fixed_output=True)
    np.testing.assert_array_equal(run.params["output"], start["output"])
    assert run.angle[-1, 0] < 1e-3


def test_the_gradient_without_weight_normalisation_is_that_of_the_loss_itself():
    loss = PopulationConv(TEACHER, normalise=False)
    v, a = np.array([0.5, 1.2]), np.array([0.3, 0.9])
    slope = loss.gradient({"filter": v, "output": a})["filter"]
    # ∂/∂v of ½E(Σaφ(v·Z) − y)²: (‖a‖²/2 + m²Σ_{i≠j}a_ia_j)v − Σ… by differences of the value.
    for i, axis in enumerate(np.eye(2)):
        ends = [loss.value({"filter": v + h * axis, "output": a}) for h in (1e-5, -1e-5)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    run = conv_descent(loss, single([0.5, 1.2], [0.3, 0.9]), 0.1, 2000, TEACHER)
    end = {name: value[0] for name, value in run.params.items()}
    assert loss.value(end) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(end["filter"]) * end["output"], [1.0, 1.0], atol=1e-4)


def population(teacher, v, a):
    return PopulationConv(teacher).value({"filter": np.asarray(v, float), "output": np.asarray(a, float)})


def test_lemma_c_6_lacks_k_epsilon_squared():
    # φ = 0 and a − a* = ε‖a*‖1/√k: the loss is (π − 1 + k)ε²‖a*‖²/(4π), not O(ε)‖a*‖² for large k.
    epsilon, ratios = 0.1, []
    for k in (10, 1000):
        target = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
        teacher = ConvNetwork([1.0], target)
        size = np.linalg.norm(target)
        value = population(teacher, [1.0], target + epsilon * size / k**0.5)
        ratios.append(value / (epsilon * size**2))
        assert value <= (epsilon + (math.pi - 1 + k) * epsilon**2) / (4 * math.pi) * size**2 * (1 + 1e-9)
    assert ratios[1] > 50 * ratios[0]


def test_lemma_c_5_needs_the_angle_to_be_small_whatever_the_sum():
    # 1ᵀa* = 0 makes its premise on the angle void; the output then goes to a(φ), not to a*.
    teacher, epsilon, eta = ConvNetwork([1.0, 0.0], [1.0, -1.0]), 1e-3, 0.5
    far = 1e6 * np.array([math.cos(1.0), math.sin(1.0)])  # so long that it hardly turns
    steps = int(20 / eta * math.log(1 / epsilon))
    run = conv_descent(PopulationConv(teacher), single(far, [1.0, -1.0]), eta, steps, teacher)
    gap = np.linalg.norm(run.params["output"][0] - teacher.output) / np.linalg.norm(teacher.output)
    assert gap == pytest.approx((math.pi - float(arc(1.0))) / (math.pi - 1), rel=1e-3)
    assert gap > 100 * epsilon


def test_lemma_c_4_holds_with_its_constant():
    teacher, epsilon, eta = ConvNetwork([1.0, 0.0], [1.0, 0.5, 0.2]), 0.05, 0.3
    target, square = teacher.output, np.linalg.norm(teacher.output)
    angle = 0.1
    assert math.pi - float(arc(angle)) <= epsilon * square / target.sum()
    run = conv_descent(
        PopulationConv(teacher), single([math.cos(angle), math.sin(angle)], [0.1, 0.1, 0.1]), eta, 60, teacher
    )
    steps = math.ceil(math.log((target.sum() - 0.3) / (epsilon * square)) / (eta * (3 + math.pi - 1) / (2 * math.pi)))
    assert abs(target.sum() - run.total[steps, 0]) <= 2 * epsilon * square
