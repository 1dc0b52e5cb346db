"""Students with another activation (Theorem 4.4 of Ge et al. 2017) and αf₂ + βf₄ against tensors written out."""

import numpy as np
import pytest

from planted import Network, activations, certify
from planted.objectives import Hermite24, PopulationHermite24, PopulationSquared, PopulationTensorSum, TensorSum

rng = np.random.default_rng(5)


def unit(k, d):
    rows = rng.standard_normal((k, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


TEACHER = Network(unit(3, 3), np.array([1.0, -0.6, 1.4]))
STUDENTS = [{"weights": unit(3, 3), "output": rng.standard_normal(3)} for _ in range(4)]


def tensor(output, rows, order):
    letters = "abcd"[:order]
    return np.einsum(",".join(["i", *(f"i{letter}" for letter in letters)]) + f"->{letters}", output, *[rows] * order)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.0, 1.0), (0.3, 2.0)])
def test_value_is_the_distance_of_tensors(alpha, beta):
    loss = PopulationTensorSum(TEACHER, alpha, beta)
    for student in STUDENTS:
        gaps = [
            np.sum((tensor(TEACHER.output, TEACHER.weights, k) - tensor(student["output"], student["weights"], k)) ** 2)
            for k in (2, 4)
        ]
        assert loss.value(student) == pytest.approx(alpha * gaps[0] + beta * gaps[1], rel=1e-12)


def test_theorem_2_2_f_prime_is_one_ratio_of_it():
    """f' − (φ̂₂²f₂ + φ̂₄²f₄) is the same at every point of unit rows; with other α, β it is not."""
    f = PopulationHermite24(TEACHER)
    gaps = [f.value(p) - PopulationTensorSum(TEACHER).value(p) for p in STUDENTS]
    assert np.ptp(gaps) < 1e-12
    others = [f.value(p) - PopulationTensorSum(TEACHER, 0.05, 0.05).value(p) for p in STUDENTS]
    assert np.ptp(others) > 0.01


@pytest.mark.parametrize(("student", "teacher"), [("abs", "relu"), ("softplus", "relu"), ("relu", "sigmoid")])
def test_theorem_4_4_by_its_series(student, teacher):
    """½ Σ_k ‖φ̂_kT_k − γ̂_kΣ‖² with k up to 6 written out and the rest of the series by powers of cosines."""
    gamma, phi = activations.get(student), activations.get(teacher)
    net = Network(TEACHER.weights, TEACHER.output, teacher)
    loss, point = PopulationSquared(net, activation=student), STUDENTS[0]
    order = 400
    c, e = (np.array([act.hermite(k) for k in range(order)]) for act in (phi, gamma))
    rows = (net.weights, point["weights"])
    cosines = [[a @ b.T for b in rows] for a in rows]

    def summed(i, j, left, right):
        outer = (net.output, point["output"])
        return sum(left[k] * right[k] * outer[i] @ cosines[i][j] ** k @ outer[j] for k in range(order))

    value = 0.5 * (summed(0, 0, c, c) - 2 * summed(0, 1, c, e) + summed(1, 1, e, e))
    # ReLU's tail beyond 400 is 1e-4 of its energy at equal rows.
    assert loss.value(point) == pytest.approx(value, abs=max(3 * loss.truncation_error(point), 2e-4))
    if student == "abs":
        assert loss.truncation_error(point) == 0.0


def test_footnote_12_leaves_the_linear_part_and_is_certified():
    """γ = ½|z| on a ReLU teacher: the least value is that of the linear part, ⅛‖Σ a*_i b*_i‖², and certify knows it."""
    loss = PopulationSquared(TEACHER, activation="abs")
    linear = 0.125 * np.sum((TEACHER.output @ TEACHER.weights) ** 2)
    point = {"weights": TEACHER.weights, "output": TEACHER.output / 2}
    assert loss.unreachable == pytest.approx(linear, rel=1e-12)
    assert loss.value(point) == pytest.approx(linear, rel=1e-12)
    assert certify(loss, point).kind == "global minimum"
    assert certify(loss, STUDENTS[0]).kind == "not critical"


def test_a_student_without_parity_may_reach_everything():
    assert PopulationSquared(TEACHER, activation="softplus").unreachable == 0.0
    assert PopulationSquared(Network(TEACHER.weights, TEACHER.output, "tanh"), activation="abs").unreachable > 0.05


def test_rows_and_population_have_the_same_gradient_at_the_teacher():
    """Five standard errors over twelve draws, for a ratio that is not that of f'."""
    point, found = {"weights": TEACHER.weights, "output": TEACHER.output}, []
    for seed in range(12):
        x = np.random.default_rng(seed).standard_normal((4096, 3))
        gradient = TensorSum(x, TEACHER.predict(x), "relu", 2.0, 0.1).gradient(point)
        found.append(np.concatenate([np.ravel(gradient[name]) for name in sorted(gradient)]))
    error = np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    assert np.all(np.abs(np.mean(found, axis=0)) < 5 * error + 1e-12)
    assert Hermite24(x, TEACHER.predict(x)).value(point) > 0


def test_positive_outputs_are_lengths():
    rows = STUDENTS[0]["weights"]
    lengths = np.array([0.5, 1.2, 2.0])
    loss, positive = (PopulationTensorSum(TEACHER, 0.3, 2.0, positive) for positive in (False, True))
    given = {"weights": rows, "output": lengths}
    assert positive.value(lengths[:, None] * rows) == pytest.approx(loss.value(given), rel=1e-12)
    with pytest.raises(ValueError, match="output"):
        positive.value(given)
    x = rng.standard_normal((50, 3))
    sampled = [TensorSum(x, TEACHER.predict(x), "relu", 0.3, 2.0, positive) for positive in (False, True)]
    assert sampled[1].value(lengths[:, None] * rows) == pytest.approx(sampled[0].value(given), rel=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="both zero"):
        PopulationTensorSum(TEACHER, 0.0, 0.0)
    with pytest.raises(ValueError, match="alpha must be a non-negative number"):
        PopulationTensorSum(TEACHER, -1.0, 1.0)
    with pytest.raises(ValueError, match="φ̂_4 of quadratic is zero"):
        PopulationTensorSum(Network(np.eye(2), np.ones(2), "quadratic"), 1.0, 1.0)
    assert PopulationTensorSum(Network(np.eye(2), np.ones(2), "quadratic"), 1.0, 0.0).value(np.eye(2)) == 0.0
