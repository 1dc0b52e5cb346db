"""Remark 2 of Du et al. (2017): rotation-invariant patches, against integrals over the circle and draws."""

import math

import numpy as np
import pytest

from planted import ConvNetwork, PlantedConvRegressor, certify, match
from planted.inputs import RadialLaw, gaussian_radius
from planted.objectives import (
    ConvSquared,
    PopulationConv,
    best_output,
    nearest_stationary_point,
    stationary_points,
    threshold,
)


def relu(z):
    return np.maximum(z, 0.0)


def circle_loss(w, a, teacher, mean, square):
    """½E(prediction − y)² for patches ρu in the plane, from integrals over the angle of u and two moments of ρ."""
    theta = 2 * np.pi * (np.arange(40_000) + 0.5) / 40_000
    u = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    terms = np.outer(relu(u @ w), a) - np.outer(relu(u @ teacher.filter), teacher.output)
    means = terms.mean(axis=0)
    own = square * np.sum(np.mean(terms**2, axis=0))
    return 0.5 * (own + mean**2 * (means.sum() ** 2 - np.sum(means**2)))


@pytest.mark.parametrize(("mean", "square"), [(1.0, 1.0), (1.2, 3.0), (gaussian_radius(2), 2.0)])
def test_the_closed_form_is_the_integral_for_any_radius(mean, square):
    teacher = ConvNetwork([0.6, 0.8], [1.0, -0.5, 0.3])
    law = RadialLaw.known(2, mean, square)
    w, a = np.array([-0.28, 0.96]), np.array([0.2, 0.4, -1.0])
    value = PopulationConv(teacher, radial=law).value({"filter": 3 * w, "output": a})
    assert value == pytest.approx(circle_loss(w, a, teacher, mean, square), rel=1e-7)


def test_factors_of_known_laws_and_their_draws():
    assert RadialLaw.gaussian(7).factor == 1.0
    assert RadialLaw.student(3, 1e7).factor == pytest.approx(1.0, abs=1e-6)
    assert RadialLaw.sphere(2).factor == pytest.approx(4 / math.pi)
    for law in (RadialLaw.gaussian(3), RadialLaw.student(3, 9.0), RadialLaw.sphere(3)):
        drawn = RadialLaw.of(law.sample(40_000, 0).reshape(-1, 2, 3))
        assert drawn.factor == pytest.approx(law.factor, abs=0.03)
        assert drawn.second == pytest.approx(law.second, rel=0.05)


def test_radii_shared_by_the_patches_of_a_row_are_seen():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 3, 4)) * rng.choice([0.5, 2.0], (20_000, 1, 1))
    together = RadialLaw.of(rows).factor
    apart = RadialLaw.of(rng.permutation(rows.reshape(-1, 4)).reshape(-1, 3, 4)).factor
    assert together == pytest.approx(1.0, abs=0.03)
    assert apart == pytest.approx(1.25**2 / 2.125, abs=0.03)


def test_laws_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="no radius has a factor"):
        RadialLaw(2, 1.0, 1.5)
    with pytest.raises(ValueError, match="df must exceed 2"):
        RadialLaw.student(2, 2.0)
    with pytest.raises(ValueError, match="cannot be drawn"):
        RadialLaw.known(2, 1.0, 1.5).sample(3)
    with pytest.raises(ValueError, match="degree one"):
        PopulationConv(ConvNetwork([1.0], [1.0], "tanh"), radial=RadialLaw.sphere(1))


@pytest.mark.parametrize("law", [RadialLaw.student(3, 4.0), RadialLaw.sphere(3)], ids=["student", "sphere"])
@pytest.mark.parametrize("share", [0.2, 1.5])
def test_stationary_points_of_other_laws(law, share):
    k = 4
    limit = threshold(k, law.mean_square)
    # Outputs whose (1ᵀa*)²/‖a*‖² is `share` of the limit, where that is possible.
    total = math.sqrt(min(share * limit, 0.999 * k))
    a = np.full(k, total / k)
    a[:2] += np.array([1.0, -1.0]) * math.sqrt((1 - total**2 / k) / 2)
    teacher = ConvNetwork([1.0, 0.0, 0.0], a)
    loss = PopulationConv(teacher, radial=law)
    points = stationary_points(teacher, law.mean_square)
    assert [point.kind for point in points] == (
        ["global minimum", "saddle", "local minimum"] if share < 1 else ["global minimum", "saddle"]
    )
    for point in points:
        params = {"filter": np.array([math.cos(point.angle), math.sin(point.angle), 0.0]), "output": point.output}
        assert loss.value(params) == pytest.approx(law.second * point.value, abs=1e-12)
        slopes = loss.gradient(params)
        assert max(np.abs(slopes["filter"]).max(), np.abs(slopes["output"]).max()) < 1e-9
        assert certify(loss, params).kind == point.kind


@pytest.mark.parametrize("law", [RadialLaw.student(4, 4.0), RadialLaw.sphere(4)], ids=["student", "sphere"])
def test_recovered_and_certified_and_the_spurious_minimum_named(law):
    teacher = ConvNetwork([0.5, -0.5, 0.5, 0.5], [1.0, -0.8, 0.3])
    Z = law.sample(3000 * 3, 0).reshape(3000, 3, 4)
    y = teacher.predict(Z)
    est = PlantedConvRegressor(random_state=0).fit(Z, y)
    assert est.result_.status == "recovered"
    assert match(est.network_, teacher).weight_error < 1e-9
    assert est.certificate_.stationary_point.name == "teacher"
    loss = ConvSquared(Z, y)
    trap = {"filter": -teacher.filter, "output": best_output(teacher, math.pi, law.mean_square)}
    assert certify(loss, trap).stationary_point.name == "spurious minimum"


def test_a_certificate_says_where_the_lemma_does_not_cover_the_rows():
    rng = np.random.default_rng(0)
    teacher = ConvNetwork([0.5, -0.5, 0.5, 0.5], [1.0, -0.8, 0.3])
    lines = rng.standard_normal((2000, 6))
    cases = {
        "": rng.standard_normal((2000, 3, 4)),
        "patches overlap, which the lemma does not cover": np.stack([lines[:, i : i + 4] for i in range(3)], axis=1),
        "patches are not rotation-invariant, which the lemma does not cover": rng.exponential(size=(2000, 3, 4)) - 1,
    }
    for words, Z in cases.items():
        loss = ConvSquared(Z, teacher.predict(Z))
        point = certify(loss, {"filter": teacher.filter, "output": teacher.output}).stationary_point
        assert point.reason.endswith(words)
        assert ("within sampling error" in point.reason) is (not words)


def test_one_input_cannot_turn():
    teacher = ConvNetwork([2.0], [1.0, 1.0, 1.0])
    points = stationary_points(teacher)
    assert [(point.angle, point.kind) for point in points] == [(0.0, "global minimum"), (math.pi, "local minimum")]
    assert "cannot turn" in points[1].reason
    loss = PopulationConv(teacher)
    assert certify(loss, {"filter": np.array([-1.0]), "output": points[1].output}).kind == "local minimum"
    assert nearest_stationary_point(teacher, [-1.0], points[1].output).kind == "local minimum"


def test_one_patch_falls_by_the_sixth_power_of_a_turn():
    teacher = ConvNetwork([1.0, 0.0], [1.5])
    opposite = stationary_points(teacher)[-1]
    assert opposite.kind == "saddle"
    assert "sixth power" in opposite.reason
    assert opposite.output[0] == 0.0
    loss = PopulationConv(teacher)
    base = loss.value({"filter": np.array([-1.0, 0.0]), "output": opposite.output})
    falls = []
    for turn in (0.1, 0.2):
        filter = np.array([math.cos(math.pi - turn), math.sin(turn)])
        falls.append(base - loss.value({"filter": filter, "output": best_output(teacher, math.pi - turn)}))
    assert falls[1] / falls[0] == pytest.approx(2**6, rel=0.05)
    assert certify(loss, {"filter": np.array([-1.0, 0.0]), "output": opposite.output}).kind == "saddle"
