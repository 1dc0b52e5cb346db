"""How problems with labels end: finish over all rows, measure, and judge."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from planted.certificates import Uncertainty, leaving_neurons_open, uncertainty
from planted.methods._collinear import dependence_advice
from planted.methods._errors import PARAMETERS_WITH_ERRORS, left_open
from planted.methods._facts import ACCURATE, LEVEL, LOOSE, UNKNOWN, Facts
from planted.methods._label_causes import label_cause, squares_instead
from planted.methods._label_held_out import label_held_out, label_refitted
from planted.methods._label_runaway import Runaway, runaway
from planted.methods._label_search import AGREE, polish, standardised, standardised_params
from planted.methods._label_smaller import fewer_label_neurons
from planted.methods._label_test import label_p_value
from planted.methods._labels import LabelProblem, class_probabilities
from planted.methods._limits import PENALTY, Limit, limit_of
from planted.methods._method import records
from planted.methods._recovery import Recovery, Start
from planted.methods._spare import spare_neurons
from planted.methods._verdict import OUT_OF_TIME, judge
from planted.names import LABEL_LOSSES, count_of
from planted.networks import Network, distinct_rows, off_kinks
from planted.numerics import random
from planted.numerics.deadline import MEASURE, POLISH, until
from planted.numerics.precision import float64
from planted.solvers import Descent, sample_newton

# A second search looks at so many times the rows of the first.
_MORE_ROWS = 8
# Means beside spreads of inputs from which on squares of derivatives are rounded too much.
_FAR = 1e3


@float64
def recover_labels(problem: Any, start: Start, began: float) -> Recovery:
    """Finish over all rows by Newton steps with the sample's information, measure, and judge."""
    given, problem = problem, problem.settled(start.details)
    network, descents = start.network, dict(start.descents)
    params, value = problem.params(network), start.loss
    objective, survey = problem.objective(), problem.survey
    with until(POLISH) as late:
        # A search that ran out of time has not polished its network.
        if problem.in_chunks or late:
            few = problem.objective(problem.sample)
            run: Descent = sample_newton(objective, few.curvature, params, progress=problem.progress)
            params, value, descents = run.params, float(run.value), descents | {"all rows": run}
            network = problem.network(params)
    errors = label_uncertainty(problem, params)
    expected, needed, known, open_ = (np.nan, np.inf, True, "") if errors is None else _about(errors, problem)
    dependence = dependence_advice(survey, problem.free, problem.names) if open_ else ""
    narrower = "n_hidden" not in problem.compared
    limit = limit_of(survey.X, errors, labels=True, fewer=narrower) if open_ and not dependence else Limit()
    off = start.details.get("runaway") if problem.alpha else runaway(problem, network)
    probability = problem.probabilities(network)
    if problem.loss == "quadratic" or problem.alpha:
        value = float(problem.likelihood(problem.rows).value(params))
    shares = problem.shares
    numbers = problem.unknowns if errors is None else errors.n_parameters
    repeated = _few_inputs(problem, numbers) if survey.complete else ""
    left = repeated or _singular(limit.reason or open_)
    why = start.details.get("unbounded", "")
    endless = bool(why) or limit.endless
    settled = off is None and not endless
    held: dict[str, Any] = {}
    with until(MEASURE):
        if settled or problem.alpha:
            held = label_held_out(problem, network, numbers)
        elif not endless and not late:
            held = label_refitted(problem.on_sample(), records("labels")[start.method])
        # A width that was compared has been paid for, and the comparison says what ties with it.
        asked = held and (settled or problem.alpha) and narrower and not known
        smaller = fewer_label_neurons(problem, network) if asked else network
    enough = 0 if smaller is None or smaller is network else smaller.n_hidden
    if smaller is None:
        held["unmeasured"] = (*held.get("unmeasured", ()), "fewer")
    relative = brier(probability, survey.y, survey.weight) / max(1 - float(np.sum(shares**2)), 1e-300)
    facts = Facts(
        relative_loss=relative,
        largest_residual=np.inf,
        counting_rows=_counting_labels(problem, network) if survey.complete else survey.n_rows,
        different_rows=survey.n_rows,
        n_parameters=numbers,
        undetermined=_undetermined(given, problem.alpha, why, off, left) or _too_far(problem, expected),
        remedy=_other_inputs(problem) if repeated else dependence or limit.advice,
        p_value=label_p_value(problem, network),
        structure="" if off is not None or value is None else _worse_than_shares(problem, value),
        unfinished=_unfinished(problem, start) if settled else "",
        noise="" if errors is None else _noise(problem, expected),
        n_hidden=network.n_hidden,
        enough_neurons=enough,
        labels=True,
        compared=problem.compared,
        late=late,
        without_neurons="" if problem.n_hidden else "linear",
        remark=OUT_OF_TIME if late else "",
        **held,
    )
    spare = None
    if enough and smaller is not None and errors is not None:
        spare = leaving_neurons_open(errors, spare_neurons(errors, smaller, survey.X))
    details: dict[str, Any] = {"cross_entropy": value, "link": problem.link, "loss": problem.loss}
    details |= {"alpha": problem.alpha} if problem.alpha else {}
    if errors is not None:
        details |= {"expected_error": expected, "rows_needed": needed}
    if off is not None:
        details |= {"runs_off": off.neuron, "rows_to_settle": off.rows}
    if problem.in_chunks:
        details |= {"rows": survey.n_rows, "sample": len(survey.y)}
    verdict = judge(facts)
    searched = problem.n_hidden > 0 and not late
    misfit = verdict.status == "misfit" and settled
    # Weights that seem to have no end may be those of a search that missed the best minimum, where it saw few rows; and
    # what seems to be open may be so at a saddle, where neurons coincide, and not at the minimum.
    ended = misfit or (off is not None and survey.total_weight > problem.search_rows)
    if searched and (ended or (settled and open_ and problem.n_hidden > 1)):
        better = _searched_again(problem.on_sample(), start)
        if better is not None:
            return recover_labels(given, better, began)
    if searched and verdict.status == "misfit":
        cause, other = label_cause(problem.on_sample(), network)
        better = None if other is None or not settled else _begun_at(problem.on_sample(), other, start)
        if better is not None:
            return recover_labels(given, better, began)
        verdict = judge(replace(facts, cause=cause))
    shaped = searched and settled and "activation" in problem.compared and problem.link == "logit"
    if (
        verdict.status == "ambiguous"
        and shaped
        and facts.undetermined
        and not facts.unbeaten
        and problem.free.intercept
    ):
        verdict = judge(replace(facts, cause=squares_instead(problem.on_sample(), network)))
    if verdict.status == "estimated" and not late:
        # The number is known to two digits at best.
        about = float(f"{needed:.2g}")
        more = f"About {about:,.0f} rows would bring the error to {ACCURATE:g}; there are {survey.total_weight:,.0f}."
        # More rows take nothing from the bias of a penalty.
        verdict = verdict.advising(more if survey.total_weight < about < np.inf and not problem.alpha else "")
    elif verdict.status == "ambiguous" and not late and not facts.unbeaten and not enough:
        verdict = verdict.advising(_endless_advice(problem, off, why) or verdict.advice)
    details = {name: value for name, value in (start.details | details).items() if name != "runaway"}
    return Recovery(
        network=network,
        verdict=verdict,
        loss=0.5 * relative * survey.variance if problem.n_classes == 2 else 0.5 * relative * (1 - np.sum(shares**2)),
        relative_loss=relative,
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=errors if spare is None else spare,
        descents=descents,
        details=details,
    )


def _searched_again(problem: LabelProblem, start: Start) -> Start | None:
    """A start that explains the sample's labels better by more than rounding, from a search on more rows; or None.

    What a residual test on all rows sees, a search on a few thousand may have missed.
    """
    if "searched_again" in start.details or start.loss is None or problem.alpha:
        return None
    more = replace(problem, key=random.fold_in(problem.key, 17), search_rows=_MORE_ROWS * problem.search_rows)
    other = records("labels")[start.method].start(more)
    if not _likelier(problem, other.loss, start.loss):
        return None
    return replace(other, details=other.details | {"searched_again": True})


def _begun_at(problem: LabelProblem, network: Network, start: Start) -> Start | None:
    """A start that explains the sample's labels better by more than rounding, by a descent from a network; or None."""
    there, back = standardised(problem)
    runs = polish(there, standardised_params(problem, network))
    last = list(runs.values())[-1]
    if not _likelier(problem, float(last.value), start.loss):
        return None
    return Start(back(there.network(last.params)), start.method, float(last.value), runs, start.details)


def _likelier(problem: LabelProblem, loss: float | None, than: float | None) -> bool:
    """Whether labels are likelier, over all rows of the sample, than by another minimum."""
    return loss is not None and than is not None and problem.survey.total_weight * (than - loss) > AGREE


def label_uncertainty(problem: LabelProblem, params: Any) -> Uncertainty | None:
    """Standard errors: Fisher information for the likelihood, the sandwich for other losses and weighted classes.

    None above 1,000 parameters.
    """
    if problem.unknowns > PARAMETERS_WITH_ERRORS:
        return None
    robust = problem.loss != LABEL_LOSSES[0]
    objective, root = problem.objective(), _far_root(problem, params)
    errors = uncertainty(objective, params, robust=robust, class_weight=problem.class_weight, root=root)
    return replace(errors, spread=problem.survey.input_spread)


def _far_root(problem: LabelProblem, params: Any) -> np.ndarray | None:
    """J with JᵀJ the Fisher information of two classes where inputs are far from zero, otherwise None.

    There biases and weights are so nearly alike that products of derivatives have no digits left to tell them apart.
    """
    survey = problem.survey
    far = bool(np.any(np.abs(survey.first) > _FAR * problem.spread)) and problem.free.bias
    if not far or problem.n_outputs > 1 or problem.loss == "quadratic" or problem.alpha or problem.in_chunks:
        return None
    network = problem.model.network(problem.model.canonical(params))
    slopes = network.jacobian(survey.X, intercept=problem.free.intercept)[:, 0]
    variance = np.prod(class_probabilities(network, survey.X, problem.link), axis=1)
    if problem.link == "mean":
        # Outputs, between biases and weights, are fixed; and probabilities are no log-odds.
        slopes = np.delete(slopes, np.arange(network.n_hidden, 2 * network.n_hidden), axis=1)
        variance = 1 / np.maximum(variance, 1e-300)
    share = np.ones(len(slopes)) if survey.weight is None else survey.weight
    return np.asarray(slopes * np.sqrt(variance * share / survey.total_weight)[:, None])


def brier(probability: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Mean of Σ_c (p_c − 1[y = c])² over rows: the squared error of probabilities (n, m) of classes y (n,).

    >>> brier(np.array([[0.5, 0.5]]), np.array([1.0]))
    0.5
    """
    own = probability[np.arange(len(y)), np.asarray(y).astype(int)]
    return float(np.average(np.sum(probability**2, axis=1) - 2 * own + 1, weights=weight))


def _about(errors: Uncertainty, problem: LabelProblem) -> tuple[float, float, bool, str]:
    """The expected relative error of the weights, rows for an accurate one, whether each neuron's are known to a third
    of their size, and what rows leave open, in words.
    """
    open_ = "" if errors.determined else left_open(errors, names=problem.names, X=problem.survey.X)
    if not problem.n_hidden:
        return np.nan, np.inf, True, open_
    known = errors.determined and errors.relative_error < LOOSE
    return errors.expected_error, errors.rows_for(ACCURATE), known, open_


def _undetermined(given: LabelProblem, alpha: float, why: str, off: Runaway | None, open_: str) -> str:
    """What the rows leave open, in words; empty if nothing. `alpha` is the strength of the fit, if not `given`."""
    if why:
        an = "the ℓ2 penalty of {:.2g}" if given.alpha else "an ℓ2 penalty of {:.2g}, chosen by held-out rows,"
        penalty = f"{an.format(alpha)} keeps weights finite"
        return f"{why}; {penalty}, so that intervals are biased"
    if off is not None:
        return off.reason
    return open_


def _singular(open_: str) -> str:
    """That the information leaves something open, in words."""
    return f"the Fisher information is singular: {open_}" if open_ else ""


def _counting_labels(problem: LabelProblem, network: Network) -> int:
    """Labels of the sample, by weight, in whose inputs some neuron is active: equal inputs are asked anew each time."""
    survey = problem.survey
    speaks = network.speaking(survey.X) & off_kinks(network, survey.X)
    if survey.weight is None:
        return int(np.sum(speaks))
    factor = 1.0 if problem.class_weight is None else problem.class_weight[survey.y.astype(int)]
    return round(float(np.sum((survey.weight / factor)[speaks])))


def _few_inputs(problem: LabelProblem, numbers: int) -> str:
    """That equal inputs leave fewer probabilities than numbers, however many labels there are; empty if they do not."""
    distinct, each = len(distinct_rows(problem.survey.X)), problem.n_classes - 1
    if distinct * each >= numbers or distinct >= problem.survey.total_weight:
        return ""
    inputs = count_of(distinct, "distinct input has", "distinct inputs have")
    return f"{inputs} {count_of(distinct * each, 'probability', 'probabilities')}, and there are {numbers} numbers"


def _other_inputs(problem: LabelProblem) -> str:
    """What to do about that, one sentence."""
    several = problem.n_hidden > 1 and "n_hidden" not in problem.compared
    return f"Give rows with other inputs{', or ask for fewer neurons' if several else ''}."


def _too_far(problem: LabelProblem, expected: float) -> str:
    """That the weights are hardly known, in words; empty where they are."""
    if not expected > UNKNOWN:
        return ""
    shown = _beside(expected, UNKNOWN)
    return f"{leaving(problem)} an expected relative weight error of {shown}, more than the weights themselves"


def leaving(problem: LabelProblem) -> str:
    """What leaves an expected error of the weights, with its verb: a penalty makes it smaller, and adds a bias.

    >>> leaving(LabelProblem.of(np.arange(4.0)[:, None], np.arange(4) % 2, 1, "sigmoid", alpha=0.1))
    'labels and penalty leave, beside the bias of the penalty,'
    """
    return "labels and penalty leave, beside the bias of the penalty," if problem.alpha else "labels alone leave"


def _endless_advice(problem: LabelProblem, off: Runaway | None, why: str) -> str:
    """What to do where the likelihood has no finite minimiser, one sentence; empty where it has one.

    No penalty makes such labels determine their weights, and held-out rows have chosen one already. Fewer neurons make
    predictions worse where they are not known to predict rows left out as well.
    """
    if off is None:
        return "Give more rows." if why else ""
    return off.advice(_penalty(problem))


def _penalty(problem: LabelProblem) -> str:
    """Which penalty to ask for where there is none, in words; a stronger one makes predictions worse."""
    if problem.alpha:
        return ""
    return f"{PENALTY} and loss='likelihood'" if problem.loss == "quadratic" else PENALTY


def _worse_than_shares(problem: LabelProblem, value: float) -> str:
    """That the shares of the classes are likelier by more than chance, in words; empty if they are not.

    Twice the log of the ratio of likelihoods is compared with χ² of m − 1 degrees of freedom: so many are free shares.
    """
    shares = problem.shares
    ratio = 2 * problem.survey.total_weight * (value + float(np.sum(xlogy(shares, shares))))
    if not chi2.sf(ratio, problem.n_classes - 1) < LEVEL:
        return ""
    return "the neurons explain the labels worse than the classes' shares"


def _unfinished(problem: LabelProblem, start: Start) -> str:
    """Whether gradient descent, where it has the last word, was still moving, in words; empty if not."""
    if problem.solver != "gradient" or problem.in_chunks or not start.descents:
        return ""
    last = list(start.descents.values())[-1]
    if last.status == "converged":
        return ""
    return (
        f"gradient descent had not reached a minimum after {last.n_steps:,} steps ({last.status}, gradient "
        f"{float(last.gradient_norm):.1g})"
    )


def _noise(problem: LabelProblem, expected: float) -> str:
    words = []
    if problem.n_hidden:
        words.append(f"{leaving(problem)} an expected relative weight error of {_beside(expected, ACCURATE)}")
    if problem.alpha:
        words.append(f"the ℓ2 penalty of {problem.alpha:.2g} pulls weights towards zero, so that intervals are biased")
    return "; ".join(words)


def _beside(error: float, limit: float) -> str:
    """An error with as many figures, two at least, as tell it from a limit that is named with it.

    >>> _beside(0.102, 0.1), _beside(0.13, 0.1), _beside(0.10004, 0.1)
    ('0.102', '0.13', '0.10004')
    """
    shown = (f"{error:.{figures}g}" for figures in range(2, 16))
    return next((text for text in shown if float(text) != limit), f"{limit:g}")
