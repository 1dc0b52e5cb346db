"""Problems whose targets are labels 0 and 1, and how they end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import xlogy

from planted.certificates import uncertainty
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.methods._verdict import ACCURATE, DIVERGED, Facts, counting_rows, judge, residual_p_value
from planted.names import unknown
from planted.numerics.precision import float64
from planted.objectives import BernoulliMean, Likelihood, MeanOfProbabilities, Squared, check_probability
from planted.rows import Rows
from planted.solvers import Descent, sample_newton

SOLVERS = ("lbfgs", "gradient")
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class LabelProblem(Problem):
    """Which neurons give labels y in {0, 1} the probabilities P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i)?

    Attributes
    ----------
    restarts : int
        Random starts tried beside the tensor start.
    solver : "lbfgs" or "gradient"
        For the quadratic loss; "gradient" is the plain gradient descent of Fu et al. (2018).
    split : bool
        Three separate thirds of the rows for the three stages of the tensor start.
    """

    restarts: int = 4
    solver: str = SOLVERS[0]
    split: bool = False

    def __post_init__(self) -> None:
        check_probability(self.activation)
        if self.solver not in SOLVERS:
            raise ValueError(unknown("solver", self.solver, SOLVERS))

    @property
    def model(self) -> Any:
        """The mean of the neurons."""
        return MeanOfProbabilities(self.activation, self.free.bias)

    def objective(self, rows: Rows | None = None) -> Any:
        """The likelihood over all rows, or over those given."""
        return Likelihood.composed(self.rows if rows is None else rows, self.model, BernoulliMean())

    def quadratic(self, rows: Rows) -> Squared:
        """The quadratic loss of eq. 2: the squared loss with outputs fixed at 1/k."""
        return Squared.on(rows, self.activation, jnp.full(self.n_hidden, 1.0 / self.n_hidden), self.free.bias)

    def begin_at(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters with these weights and biases of zero."""
        return {"weights": weights} | ({"bias": np.zeros(len(weights))} if self.free.bias else {})


@float64
def recover_labels(problem: Any, start: Start, began: float) -> Recovery:
    """Finish over all rows by Newton steps with the sample's information, measure, and judge."""
    network, descents = start.network, dict(start.descents)
    params, value = problem.params(network), start.loss
    likelihood = problem.objective()
    if problem.in_chunks:
        few = problem.objective(problem.sample)
        run: Descent = sample_newton(likelihood, problem.curvature(few), params, progress=problem.progress)
        params, value, descents = run.params, float(run.value), descents | {"all rows": run}
        network = problem.network(params)
    survey = problem.survey
    errors = uncertainty(likelihood, params)
    needed = errors.rows_for(ACCURATE)
    share = float(survey.mean)
    null = -float(xlogy(share, share) + xlogy(1 - share, 1 - share))
    undetermined = ""
    if np.abs(network.weights).max() > DIVERGED:
        undetermined = "labels can be told apart almost without error, so the likelihood grows with the weights"
    elif not errors.determined:
        undetermined = "the Fisher information is singular: some weights have no effect on the labels' probabilities"
    loss = float(problem.quadratic(problem.rows).value(params))
    probability = network.predict(survey.X)
    pearson = np.sqrt(np.maximum(probability * (1 - probability), _LEAST_VARIANCE))
    facts = Facts(
        relative_loss=2 * loss / max(survey.variance, 1e-300),
        largest_residual=np.inf,
        counting_rows=counting_rows(network, survey.X) if survey.complete else survey.n_rows,
        n_parameters=sum(np.size(leaf) for leaf in jax.tree.leaves(params)),
        undetermined=undetermined,
        p_value=residual_p_value(survey.X, survey.y, network, spread=pearson, outputs=False),
        structure="" if value is None or value < null else "the neurons explain the labels no better than their mean",
        noise=f"labels alone leave an expected relative weight error of {errors.expected_error:.2g}",
    )
    details = {
        "cross_entropy": value,
        "expected_error": errors.expected_error,
        "rows_needed": needed,
    } | ({"rows": survey.n_rows, "sample": len(survey.y)} if problem.in_chunks else {})
    verdict = judge(facts)
    if verdict.status == "estimated":
        more = f"About {needed:,.0f} rows would bring the error to {ACCURATE:g}; there are {survey.n_rows:,}."
        verdict = verdict.advising("" if needed <= survey.n_rows else more)
    return Recovery(
        network=network,
        verdict=verdict,
        loss=loss,
        relative_loss=facts.relative_loss,
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=errors,
        descents=descents,
        details=start.details | details,
    )
