"""`certify` on every objective there is: a point that is not critical, and the minimum that descent reaches from it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from planted import ConvNetwork, certify, inputs, objectives
from planted.datasets import make_planted
from planted.objectives import Objective
from planted.rows import Survey, in_memory
from planted.solvers import leave_saddles

DATA = make_planted(400, 3, 3, random_state=0)
TEACHER = DATA.teacher
RNG = np.random.default_rng(0)
PATCHES = RNG.standard_normal((200, 3, 2))
FILTER = ConvNetwork(np.array([1.0, 0.5]), np.array([1.0, -0.5, 0.3]), "softplus")
LABELS = (RNG.random(400) < 1 / (1 + np.exp(-DATA.X[:, 0]))).astype(float)
NEAR = TEACHER.weights + 0.2 * RNG.standard_normal((3, 3))

EVERY: dict[str, tuple] = {
    "ConvFilters": (
        lambda: objectives.ConvFilters(PATCHES, FILTER.predict(PATCHES) + 0.1, "softplus"),
        {"filters": np.array([[1.0, 0.7]]), "output": np.array([[1.0, -0.5, 0.4]])},
    ),
    "ConvSquared": (
        lambda: objectives.ConvSquared(PATCHES, FILTER.predict(PATCHES) + 0.1, "softplus"),
        {"filter": np.array([1.0, 0.7]), "output": np.array([1.0, -0.5, 0.4])},
    ),
    "FullRankLandscape": (lambda: objectives.FullRankLandscape(DATA.X, DATA.y), NEAR),
    "Hermite24": (lambda: objectives.Hermite24(DATA.X, DATA.y), NEAR),
    "Landscape": (lambda: objectives.Landscape(DATA.X, DATA.y), NEAR),
    "Likelihood": (lambda: objectives.Likelihood(DATA.X, LABELS), 0.1 * NEAR[:1]),
    "LogisticLikelihood": (
        lambda: objectives.LogisticLikelihood(DATA.X, LABELS, "tanh"),
        {"weights": 0.1 * NEAR[:1], "output": np.array([5.0])},
    ),
    "Penalised": (
        lambda: objectives.Penalised(
            in_memory(Survey.of(DATA.X, LABELS)), objectives.Dense("tanh"), objectives.BernoulliLogit(), 0.01, [1.0] * 3
        ),
        {"weights": 0.5 * NEAR[:1], "output": np.array([2.0])},
    ),
    "PopulationConv": (
        lambda: objectives.PopulationConv(ConvNetwork(FILTER.filter, FILTER.output)),
        {"filter": np.array([1.0, 0.7]), "output": np.array([1.0, -0.5, 0.4])},
    ),
    "PopulationFullRankLandscape": (lambda: objectives.PopulationFullRankLandscape(TEACHER), NEAR),
    "PopulationHermite24": (lambda: objectives.PopulationHermite24(TEACHER), NEAR),
    "PopulationLandscape": (lambda: objectives.PopulationLandscape(TEACHER), NEAR),
    "PopulationPairs": (lambda: objectives.PopulationPairs(TEACHER), NEAR),
    "PopulationScoreLandscape": (
        lambda: objectives.PopulationScoreLandscape(TEACHER, inputs.Gaussian(np.zeros(3)), form="full-rank"),
        NEAR,
    ),
    "PopulationSquared": (lambda: objectives.PopulationSquared(TEACHER), NEAR),
    "PopulationTensorSum": (lambda: objectives.PopulationTensorSum(TEACHER, 1.0, 1.0), NEAR),
    "QuadraticForm": (lambda: objectives.QuadraticForm(DATA.X, DATA.y), np.eye(3)),
    "ScoreLandscape": (lambda: objectives.ScoreLandscape(DATA.X, DATA.y, inputs.Gaussian(np.zeros(3))), NEAR),
    "SoftmaxLikelihood": (
        lambda: objectives.SoftmaxLikelihood(DATA.X, LABELS + (DATA.X[:, 1] > RNG.standard_normal(400)), "tanh"),
        {"weights": 0.1 * NEAR[:1], "output": np.array([[1.0], [-1.0], [3.0]])},
    ),
    "Squared": (lambda: objectives.Squared(DATA.X, DATA.y + 0.1 * LABELS, "softplus"), NEAR),
    "SymmetricPart": (
        lambda: objectives.SymmetricPart(DATA.X, DATA.y + 0.1 * LABELS, "softplus", output=np.ones(3)),
        {"weights": NEAR, "intercept": np.array(0.1), "linear": np.full(3, 0.1)},
    ),
    "TensorSum": (lambda: objectives.TensorSum(DATA.X, DATA.y, "relu", 1.0, 1.0), NEAR),
    "TwoSampleFullRankLandscape": (
        lambda: objectives.TwoSampleFullRankLandscape(DATA.X, DATA.y, mu=0.1, lam=3.0),
        NEAR,
    ),
}
# Known to be least: zero loss, Theorems 2.3 and A.4 of Ge et al. (2017), convexity.
GLOBAL = (
    "PopulationConv", "PopulationFullRankLandscape", "PopulationLandscape", "PopulationPairs",
    "PopulationScoreLandscape", "PopulationSquared", "PopulationTensorSum", "QuadraticForm",
)  # fmt: skip


def test_every_objective_is_here() -> None:
    classes = {name for name in objectives.__all__ if inspect.isclass(getattr(objectives, name))}
    # The first three are bases, the last is a loss that is here already, in other coordinates.
    others = ("Objective", "RowObjective", "Fit", "ConvChart")
    kinds = {n for n in classes if issubclass(getattr(objectives, n), Objective) and n not in others}
    assert kinds == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_a_point_off_and_the_minimum_that_descent_finds(name: str) -> None:
    build, start = EVERY[name]
    objective = build()
    off = certify(objective, start)
    assert off.kind == "not critical", str(off)
    assert off.decrease > 0
    end = leave_saddles(objective, start, gradient_tolerance=1e-9)
    reached = certify(objective, end.params)
    assert reached.kind == ("global minimum" if name in GLOBAL else "local minimum"), str(reached)
    assert reached.residual < 1e-6 * reached.hessian_norm
    assert reached.value < off.value
    assert all(row.status in ("holds", "fails", "unknown") for row in reached.assumptions)
