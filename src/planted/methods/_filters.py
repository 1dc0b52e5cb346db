"""Problems whose rows are patches that share filters, and how they end."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.certificates import Uncertainty, outside_theory, uncertainty
from planted.inputs import white_coordinates
from planted.methods._baselines import LeftOut, looked_at
from planted.methods._errors import left_open, smooth_objective
from planted.methods._facts import EXACT, ROUNDED, Facts
from planted.methods._filter_bank import FilterBank
from planted.methods._filter_causes import filter_cause
from planted.methods._filter_draws import MOST_DRAWS, apart, unsettled
from planted.methods._filter_inputs import repeated_inputs
from planted.methods._filter_polish import expected_error, polish, residual_test
from planted.methods._finish import held_out_facts, noise_words, worst_row
from planted.methods._observations import observations
from planted.methods._problem import Problem, problem_of
from planted.methods._recovery import Recovery, Start
from planted.methods._residual_test import residual_p_value
from planted.methods._verdict import OUT_OF_TIME, Verdict, judge
from planted.networks import ConvNetwork, counting_rows, largest_residual, off_kinks, rounding_noise
from planted.numerics.deadline import POLISH, passed, until
from planted.numerics.precision import float64
from planted.objectives import ConvChart, ConvFilters, ConvSquared, Filters, SharedFilter, SquaredError
from planted.rows import Rows, Survey
from planted.solvers import sample_newton

EXCESS = 8.0
"""Standard deviations of the residuals' linear trace of the inputs that show a spurious minimum."""
_ROUNDING = 1e-25
_ANOTHER = "Try another random_state."


@dataclass(frozen=True, eq=False)
class FilterProblem(Problem):
    """Which filters, shared by the patches of a row, and outputs produced these rows?

    `n_hidden` is the number of filters; inputs are patches (k, p).

    Attributes
    ----------
    whiten : bool
        Descend in coordinates in which the patches' common covariance is the identity.
    max_iterations : int
        Of each descent.
    descent_rows : int, optional
        Rows of the descents, max(4096, 50 (p + k)) unless given. If they lead nowhere, one on all rows follows.
    draws : int
        Of the start at most.
    """

    whiten: bool = True
    max_iterations: int = 3000
    descent_rows: int | None = None
    draws: int = MOST_DRAWS

    def __post_init__(self) -> None:
        n, k, p = self.survey.n_rows, *self.patches
        if n < self.n_hidden * (p + k):
            filters = "a filter" if self.n_hidden == 1 else f"{self.n_hidden} filters"
            raise ValueError(f"{n} rows cannot determine {filters} of {p} entries and {k} output weights each")
        if np.all(self.survey.smallest == self.survey.largest):
            value = float(np.ravel(self.survey.largest)[0])
            raise ValueError(f"y is {value or 'zero'} in every row: there is no network to recover")

    @property
    def patches(self) -> tuple[int, int]:
        """Patches k in a row, and inputs p of each."""
        k, p = self.survey.X.shape[1:]
        return k, p

    @property
    def unknowns(self) -> int:
        """Numbers in the network asked for."""
        return self.n_hidden * sum(self.patches)

    @cached_property
    def whitener(self) -> np.ndarray:
        """W (p, p) with Z·W white over the sample's patches, all taken together."""
        p = self.patches[1]
        if not self.whiten:
            return np.eye(p)
        counts = None if self.survey.weight is None else np.repeat(self.survey.weight, self.patches[0])
        return white_coordinates(self.survey.X.reshape(-1, p), counts)

    @cached_property
    def remark(self) -> str:
        """What the theorems on a shared filter do not cover here, in words; empty if nothing is seen."""
        broken = outside_theory(self.survey.X, self.whitener)
        return f"{broken}, which the theorems on restarts and spurious minima do not cover" if broken else ""

    @property
    def covered(self) -> bool:
        """Whether the theorem that the four signs of one draw suffice is about such a problem."""
        return self.activation.name == "relu" and self.whiten and not self.remark

    @property
    def model(self) -> Any:
        """One shared filter, or several."""
        return SharedFilter(self.activation) if self.n_hidden == 1 else Filters(self.activation, self.patches[0])

    def objective(self, rows: Rows | None = None) -> Any:
        """The squared loss of the shared filters over all rows, or over those given."""
        kind = ConvSquared if self.n_hidden == 1 else ConvFilters
        return kind.composed(self.rows if rows is None else rows, self.model, SquaredError())

    def network(self, params: dict[str, Any]) -> Any:
        """The network in canonical form."""
        return self.model.network(params).canonical()

    def judge(self, network: ConvNetwork, loss: float, survey: Survey, rows: Rows | None = None) -> Verdict:
        """The verdict on one filter at a minimum, from its loss and a test of its residuals over rows."""
        return judge(self.measured(network, loss, survey, rows)[0])

    def measured(
        self, network: ConvNetwork, loss: float, survey: Survey, rows: Rows | None = None
    ) -> tuple[Facts, dict[str, float]]:
        """What that verdict follows from; the noise, and the error of the weights that it leaves."""
        objective = self.objective(self.sample if rows is None else rows)
        variance = survey.variance or 2 * self.energy
        relative = 2 * loss / variance
        exact = relative <= EXACT
        test = residual_test(objective, network, self.whitener)
        error = expected_error(objective, network, test.noise)
        least = rounding_noise(network, survey.X, survey.y)
        smooth = objective if off_kinks(network, survey.X).all() else smooth_objective(self, network)
        errors = uncertainty(smooth, self.params(network), least_noise=least)
        structure = ""
        if test.excess > EXCESS:
            structure = (
                f"the residuals still depend on the inputs ({test.excess:.0f} standard deviations), as at a spurious "
                "minimum"
            )
        worst = np.inf
        if exact:
            worst = worst_row(self, network) if rows is not None else largest_residual(network, survey.X, survey.y)
        facts = Facts(
            relative_loss=relative,
            largest_residual=worst,
            counting_rows=counting_rows(network, survey.X) if survey.complete else survey.n_rows,
            n_parameters=self.unknowns - (self.activation.homogeneity is not None),
            p_value=np.nan if relative <= ROUNDED else residual_p_value(observations(survey), network),
            structure=structure,
            noise=f"the noise leaves the weights uncertain by {error:.2g}, relatively",
            remark=self.remark,
            precision=errors.relative_error,
            filters=True,
            **_what_is_open(errors, survey.X, self.activation),
        )
        return facts, {"noise": test.noise, "expected_error": error}


@problem_of.register
def _of_filter(network: ConvNetwork, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Problem:
    return FilterProblem.of(X, y, 1, network.activation, sample_weight=sample_weight)


@float64
def recover_filter(problem: Any, start: Start, began: float) -> Recovery:
    """Finish one filter over all rows by Newton steps with the sample's curvature, measure, and judge."""
    network, loss, survey, descents = start.network, start.loss, problem.survey, dict(start.descents)
    assert loss is not None
    if problem.in_chunks:
        chart, point = ConvChart.at(problem.objective(), network)
        few: Any = ConvChart.at(problem.objective(problem.sample), network)[0]
        run = sample_newton(
            chart, few.curvature, point, floor=_ROUNDING * problem.energy,
            progress=problem.progress,
        )  # fmt: skip
        network, loss, descents = chart.network(run.params), float(run.value), descents | {"all rows": run}
    with until(POLISH) as late:
        if late:
            network, run = polish(problem.objective(problem.sample), network)
            loss = float(run.value)
    facts, details = problem.measured(network, loss, survey, problem.rows)
    data = observations(survey)
    few = LeftOut.of(data, survey.n_rows if problem.in_chunks else data.number)
    held = looked_at(few, network, facts.n_parameters, intercept=False)[1]
    facts = replace(facts, different_rows=len(data.y), n_hidden=1, **held_out_facts(held, data))
    losses = start.details["draw_losses"]
    doubt = unsettled(losses, problem.energy)
    remarks = [facts.remark, "" if facts.explained else doubt or apart(losses, problem.energy)]
    verdict = _with_cause(problem, network, replace(facts, remark="; ".join(filter(None, remarks))), late)
    if verdict.status == "estimated" and doubt and not late:
        verdict = judge(replace(facts, unfinished=doubt)).advising(_ANOTHER)
    return Recovery(
        network=network,
        verdict=verdict,
        loss=loss,
        relative_loss=2 * loss / (survey.variance or 2 * problem.energy),
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=uncertainty(problem.objective(), problem.params(network)),
        descents=descents,
        details=start.details | details,
    )


@float64
def recover_filters(problem: Any, start: Start, began: float) -> Recovery:
    """Measure and judge several filters, written as one fully connected network on flat rows."""
    network, loss, survey = start.network, start.loss, problem.survey
    assert loss is not None
    flat = replace(survey, X=survey.X.reshape(len(survey.y), -1))
    relative = 2 * loss / survey.variance
    exact = relative <= EXACT
    least = rounding_noise(network, flat.X, flat.y)
    errors = uncertainty(problem.objective(), problem.params(network), least_noise=least)
    data, pairs = observations(survey), zip(start.details["filters"], start.details["outputs"], strict=True)
    bank = FilterBank([ConvNetwork(filter_, output, network.activation) for filter_, output in pairs])
    few = LeftOut.of(data, data.number)
    held = looked_at(few, bank, errors.n_parameters, intercept=False)[1]
    facts = Facts(
        relative_loss=relative,
        largest_residual=largest_residual(network, flat.X, flat.y) if exact else np.inf,
        counting_rows=counting_rows(network, flat.X),
        different_rows=len(data.y),
        n_parameters=errors.n_parameters,
        p_value=np.nan if relative <= ROUNDED else residual_p_value(observations(flat), network),
        structure="that is worse than their mean" if relative > 1 else "",
        noise=noise_words(loss, None, None, few.n_rows, errors.n_parameters),
        precision=errors.relative_error,
        n_hidden=problem.n_hidden,
        filters=True,
        **_what_is_open(errors, survey.X, problem.activation),
        **held_out_facts(held, data),
    )
    verdict = _with_cause(problem, network, facts, passed())
    seconds = time.perf_counter() - began
    return Recovery(network, verdict, loss, relative, start.method, seconds, errors, start.descents, start.details)


def _what_is_open(errors: Uncertainty, patches: np.ndarray, activation: Activation) -> dict[str, Any]:
    """What rows leave open, and what to do where that is because patches or inputs say nothing of their own."""
    words = left_open(errors)
    repeated = repeated_inputs(patches, activation) if words else ""
    if not repeated:
        return {"undetermined": words}
    return {"undetermined": f"{words}, since {repeated}", "remedy": "Leave these out: the others predict the same."}


def _with_cause(problem: Any, network: Any, facts: Facts, late: bool) -> Verdict:
    """The verdict, with what is behind a misfit where there is time to look for it."""
    if late:
        words = [words for words in (facts.remark, OUT_OF_TIME) if words]
        return judge(replace(facts, late=True, remark="; ".join(words)))
    verdict = judge(facts)
    if verdict.status != "misfit":
        return verdict
    return judge(replace(facts, cause=filter_cause(problem.on_sample(), network)))
