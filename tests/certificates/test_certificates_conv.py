"""Certificates of a shared filter: both kinds of stationary point of Lemma 4.1, in expectation and on data."""

import math

import numpy as np
import pytest

from planted import ConvNetwork, certify
from planted.methods import conv_descent
from planted.methods._filter_polish import polish
from planted.objectives import ConvSquared, PopulationConv, stationary_points

ROWS = 5000  # on data: one number lets the tests share compiled programs
MIXED, POSITIVE = [1.0, -1.0, 0.5, 0.2], [1.0, 1.0, 1.2, 0.9]


def filters(teacher, rng):
    """The teacher's unit filter and a unit vector across it."""
    w = teacher.canonical().filter
    across = rng.standard_normal(len(w))
    across -= across @ w * w
    return w, across / np.linalg.norm(across)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (MIXED, [("global minimum", "teacher"), ("saddle", "saddle between"), ("local minimum", "spurious minimum")]),
        (POSITIVE, [("global minimum", "teacher"), ("saddle", "opposite saddle")]),
    ],
)
@pytest.mark.parametrize("length", [0.3, 1.0, 5.0])
def test_population_points_are_named_and_judged(outputs, expected, length):
    rng = np.random.default_rng(0)
    teacher = ConvNetwork(rng.standard_normal(5), outputs)
    objective, (w, across) = PopulationConv(teacher), filters(teacher, rng)
    for point, (kind, name) in zip(stationary_points(teacher), expected, strict=True):
        turned = math.cos(point.angle) * w + math.sin(point.angle) * across
        found = certify(objective, {"filter": length * turned, "output": point.output})
        assert (found.kind, found.stationary_point.name) == (kind, name)
        assert "Lemma 4.1" in found.reason
        assert found.as_dict()["stationary_point"] == name
        if point.angle == math.pi:
            assert abs(found.min_eigenvalue) < 1e-9 * found.hessian_norm
            turns = np.array([0.01, 0.02])
            moved = [math.cos(math.pi - t) * w + math.sin(math.pi - t) * across for t in turns]
            change = [objective.value({"filter": v, "output": point.output}) - point.value for v in moved]
            np.testing.assert_allclose(change, found.stationary_point.third_order * turns**3, rtol=1e-3)
        if kind == "saddle":
            assert found.decrease > 0
    off = certify(objective, {"filter": w + across, "output": teacher.output})
    assert (off.kind, off.stationary_point) == ("not critical", None)


def test_points_of_other_activations_are_not_named():
    teacher = ConvNetwork([1.0, 0.5], [1.0, -0.5], "tanh")
    found = certify(PopulationConv(teacher), {"filter": teacher.filter, "output": teacher.output})
    assert (found.kind, found.stationary_point) == ("global minimum", None)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_points_on_data_are_named_without_a_teacher(noise, spread):
    rng = np.random.default_rng(1)
    teacher = ConvNetwork(rng.standard_normal(5), MIXED).canonical()
    Z = spread * rng.standard_normal((ROWS, 4, 5))
    objective = ConvSquared(Z, teacher.predict(Z) + noise * rng.standard_normal(len(Z)))
    best = polish(objective, teacher)[0]
    found = certify(objective, {"filter": best.filter, "output": best.output})
    assert found.stationary_point.name == "teacher"
    assert found.kind == ("global minimum" if noise == 0 else "local minimum") or found.kinks.present
    trap = {"filter": -teacher.filter[None], "output": stationary_points(teacher)[-1].output[None]}
    run = conv_descent(objective, trap, 0.1 / spread**2, 500, teacher)
    at = {name: leaf[0] for name, leaf in run.params.items()}
    found = certify(objective, at)
    assert found.stationary_point.name == "spurious minimum"
    assert found.kind not in ("global minimum", "saddle")
    predicted = -(spread**2) * stationary_points(teacher)[-1].output @ teacher.output / (6 * math.pi)
    assert abs(found.stationary_point.third_order / predicted - 1) < 0.25
    for _ in range(5):
        there = {"filter": rng.standard_normal(5), "output": rng.standard_normal(4)}
        assert certify(objective, there).stationary_point is None


def test_a_settled_descent_on_data_is_a_local_minimum_by_the_hessian():
    rng = np.random.default_rng(2)
    teacher = ConvNetwork(rng.standard_normal(5), MIXED).canonical()
    Z = rng.standard_normal((ROWS, 4, 5))
    objective = ConvSquared(Z, teacher.predict(Z))
    trap = {"filter": -teacher.filter[None], "output": stationary_points(teacher)[-1].output[None]}
    run = conv_descent(objective, trap, 0.3, 3000, teacher)
    found = certify(objective, {name: leaf[0] for name, leaf in run.params.items()}, tolerance=1e-4)
    assert found.kind == "local minimum"
    assert found.stationary_point.name == "spurious minimum"


@pytest.mark.parametrize("target", ["noise", "tanh", "its own"])
def test_only_what_explains_its_rows_is_called_the_teacher(target):
    """A best network turned around has more loss whatever made the rows: it is no teacher for that."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((400, 4, 3))
    teacher = ConvNetwork(rng.standard_normal(3), rng.standard_normal(4), "tanh" if target == "tanh" else "relu")
    objective = ConvSquared(Z, rng.standard_normal(400) if target == "noise" else teacher.predict(Z))
    best = polish(objective, ConvNetwork(teacher.filter, teacher.output))[0]
    point = certify(objective, {"filter": best.filter, "output": best.output}).stationary_point
    assert point.name == "teacher"
    explained = target == "its own"
    assert ("within sampling error the teacher of Lemma 4.1" in point.reason) is explained
    assert ("of the kind of the teacher, not of the spurious minimum" in point.reason) is not explained


def test_one_patch_and_zero_outputs_are_not_named_on_data():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((500, 1, 3))
    objective = ConvSquared(Z, np.maximum(Z[:, 0, 0], 0))
    zero = {"filter": np.array([-1.0, 0.0, 0.0]), "output": np.zeros(1)}
    assert certify(objective, zero).stationary_point is None
