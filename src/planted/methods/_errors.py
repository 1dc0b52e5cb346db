"""Standard errors of a fit to real targets, and what its rows leave open.

Noise is taken to have one size unless a test rejects that (after Glejser and Koenker: sizes of residuals regressed on
the inputs, their sizes and the prediction). Where it does, and where observations have different weights that are not
numbers of observations, errors come from the sandwich: with w the weights, s a row's gradient and A the curvature,

    A⁻¹ (Σ_i w_i² s_i s_iᵀ) A⁻¹ · n/(n − p).

Rows that may have changed the side of a kink add to either (:func:`planted.certificates.crossing_scores`). Where not
all rows are in memory, the sums A and w_i² s_i s_iᵀ are over all of them, in passes; the test of the noise, rows near
kinks and errors at other parameters, which only correct, are those of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.stats import chi2

from planted.certificates import Uncertainty, crossing_scores, error_ratios, kink_jumps, uncertainty
from planted.methods._collinear import all_but_follow
from planted.methods._facts import EXACT, LEVERAGE_ENTRIES, LOOSE, LOST, NOISELESS, UNEVEN
from planted.methods._nearly_collinear import NearDependence, near_dependence
from planted.methods._observations import Observations
from planted.methods._problem import Problem
from planted.methods._row_facts import neuron_numbers, open_neurons
from planted.names import count_of
from planted.networks import ConvNetwork, Network, off_kinks, rounding_noise
from planted.numerics.decompositions import svd
from planted.numerics.precision import to_jax
from planted.objectives import curvature_matrix, noise_scores, score_matrix
from planted.rows import Block, Rows, Survey, in_memory

PARAMETERS_WITH_ERRORS = 1000
"""Above so many parameters no standard errors are computed."""
# Weights that a direction left open moves by less than this share of the most it moves any are not named.
_MOVED = 0.1
_DIRECTIONS = 10
_MATRIX = "up to a rotation of quadratic neurons: the matrix Σ output·wwᵀ is determined, and other weights share it"
# The relative error of a neuron's output above which errors depend on where they are taken, and rows × parameters² up
# to which it is looked how much.
_FIRST_ORDER, _SPREAD_WORK = 0.05, 1e8


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors, what the rows leave open in words, how many numbers they determine, and whether noise is uneven.

    Attributes
    ----------
    uncertainty : Uncertainty or None
        None above 1,000 parameters.
    undetermined : str
    n_parameters : int
    precision : float
        Relative error of the weights, in the inputs' units or beside their spread, whichever is larger; zero where
        it is not known.
    uneven : float
        p-value of noise of one size; NaN where it was not asked.
    given : str
        Up to what the rows determine the weights, in words; empty where up to the canonical form.
    near, remedy : str
        Which inputs all but follow from others so that some weights are hardly known, in words, and what to do where
        they are left open; empty if there are none.
    copies : bool
        Whether rows repeat one another, which errors do not allow for: not all of them are in memory.
    """

    uncertainty: Uncertainty | None
    undetermined: str
    n_parameters: int
    precision: float = 0.0
    uneven: float = float("nan")
    given: str = ""
    near: str = ""
    remedy: str = ""
    copies: bool = False

    @property
    def words(self) -> str:
        """What a reader must know of the noise and of the errors; empty if nothing."""
        words = ""
        if self.uneven < UNEVEN:
            test = f"(p = {self.uneven:.1g}, level {UNEVEN:g})"
            words = f", and differs with the inputs {test}, which the standard errors allow for"
        if self.loose:
            which = "output of one neuron is" if self.loose == 1 else f"outputs of {self.loose} neurons are"
            words += f"; the {which} known to a third or worse, so that intervals are approximate"
        if self.copies:
            words += "; equal rows are taken for observations of their own, since not all rows fit in the sample"
        return f"{words}; {self.near}" if self.near else words

    @property
    def loose(self) -> int:
        """Neurons whose outputs are known so badly that the loss is no parabola within their errors."""
        return int(np.sum(self._output_errors > LOOSE))

    @property
    def unknown(self) -> str:
        """Which output is not known at all, in words; empty if none is."""
        errors = self._output_errors
        worst = float(np.max(errors, initial=0.0))
        if worst <= LOST:
            return ""
        return f"the standard error of the output of a neuron is {worst:.2g} times that output"

    @property
    def _output_errors(self) -> np.ndarray:
        """Relative errors (k,) of the outputs of each neuron; none where they are not known."""
        known = self.uncertainty
        if known is None or not known.determined or "output" not in known.errors:
            return np.zeros(0)
        size, error = (np.linalg.norm(np.atleast_2d(part["output"]), axis=0) for part in known.comparable)
        return np.asarray(error / np.maximum(size, 1e-300))


def errors_of(problem: Problem, network: Network, data: Observations, relative_loss: float) -> Errors:
    """Standard errors where there are few enough parameters, what the rows leave open, and how much they determine."""
    if problem.unknowns > PARAMETERS_WITH_ERRORS:
        scales = network.n_hidden if network.activation.homogeneity is not None else 0
        open_ = open_neurons(network, problem.survey.X, problem.names)
        return Errors(None, open_, problem.unknowns - scales)
    if problem.in_chunks:
        objective, few = problem.objective(_all_rows(problem, data)), problem.objective(problem.sample)
    else:
        # Equal rows are one observation each, whose weights have mean one.
        objective = few = smooth_objective(problem.on(Survey.of(data.X, data.y, data.weight)), network)
    own, least = objective.model.params(network), rounding_noise(network, problem.survey.X, problem.survey.y)
    uneven = float("nan") if relative_loss <= EXACT else uneven_noise(data, network)
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    if relative_loss <= EXACT or not (data.unequal or uneven < UNEVEN):
        errors = uncertainty(objective, own, least_noise=least)
        root = None if errors.determined else _telling_root(problem, objective, own, relative_loss)
        if root is not None:
            errors = uncertainty(objective, own, least_noise=least, root=root)
        if relative_loss <= EXACT:
            return _described(problem, network, NearDependence(errors), uneven)
        near = near_dependence(problem, errors, objective.model)
        if _crosses(network, near):
            meat, along = _noise_scores(objective, near.errors)
            meat = meat + crossing_scores(near.errors, data.X, np.outer(weight / np.sum(weight), along))
            near = replace(near, errors=uncertainty(objective, own, least_noise=least, meat=meat))
    else:
        meat, factors = _sandwich(problem, objective, own, data, weight)
        errors = uncertainty(objective, own, least_noise=least, meat=meat)
        root = None if errors.determined else _telling_root(problem, objective, own, relative_loss)
        if root is not None:
            errors = uncertainty(objective, own, least_noise=least, meat=meat, root=root)
        near = near_dependence(problem, errors, objective.model)
        if _crosses(network, near):
            residual = (data.y - network.predict(data.X)).reshape(len(data.y), -1)
            along = (residual @ np.atleast_2d(near.errors.network.output)) ** 2
            meat = meat + crossing_scores(near.errors, data.X, along * factors[:, None])
            near = replace(near, errors=uncertainty(objective, own, least_noise=least, meat=meat))
    near = replace(near, errors=_spread(few, near.errors))
    sampled = len(problem.survey.y) if problem.survey.weight is None else int(np.count_nonzero(problem.survey.weight))
    copies = problem.in_chunks and not data.counted and len(data.y) < sampled
    return replace(_described(problem, network, near, uneven), copies=bool(copies))


def _sandwich(
    problem: Problem, objective: Any, own: Any, data: Observations, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The meat (p, p) of the sandwich, and the factors (n,) of observations in it."""
    factors = weight if data.counted else weight**2
    if problem.in_chunks:
        n, rows = float(objective.rows.total_weight), objective.rows
        rows = rows if data.counted else rows.map(block_of_squared_weights)
    else:
        n, rows = float(np.sum(weight)), in_memory(Survey.of(data.X, data.y, factors))
    squared, numbers = problem.objective(rows), n * problem.n_outputs
    correction = numbers / max(numbers - problem.unknowns, 1.0)
    scores = np.asarray(score_matrix(squared, objective.model.canonical(own)))
    return scores * (float(rows.total_weight) / n * correction), factors * (correction / np.sum(weight))


def _all_rows(problem: Problem, data: Observations) -> Rows:
    """All rows of a problem that are read piece by piece, with weights of mean one where they are no numbers of rows.

    Each is an observation: which of them are equal is not known.
    """
    rows = problem.rows
    if problem.survey.weight is None or data.counted:
        return rows
    return rows.map(block_of_scaled_weights, to_jax(np.asarray(rows.sum(block_count) / rows.total_weight)))


def block_count(block: Block) -> Any:
    """How many rows of a block count."""
    return jnp.sum(block["weight"] > 0)


def block_of_scaled_weights(block: Block, factor: Any) -> Block:
    """The block with row weights multiplied by a factor."""
    return block | {"weight": block["weight"] * factor}


def block_of_squared_weights(block: Block) -> Block:
    """The block with the squares of its row weights."""
    return block | {"weight": block["weight"] ** 2}


def _noise_scores(objective: Any, errors: Uncertainty) -> tuple[np.ndarray, np.ndarray]:
    """The meat (p, p) of noise of one size in every row, and its variance (k,) along the outputs of each neuron."""
    point, output = to_jax(errors.estimate), np.atleast_2d(errors.network.output)
    between = errors.noise_covariance
    if between is None:
        variance = float(errors.noise or 0.0) ** 2
        return variance * np.asarray(curvature_matrix(objective, point)[0]), variance * np.sum(output**2, axis=0)
    return np.asarray(noise_scores(objective, point, between)), np.sum(output * (between @ output), axis=0)


def _crosses(network: Network, near: NearDependence) -> bool:
    """Whether rows may have changed the side of a kink by amounts that are known.

    Where weights between inputs are hardly known, the scale that they share looks as if it moved every row.
    """
    return bool(near.errors.determined and not near.words and network.n_hidden and kink_jumps(network.activation))


def _spread(objective: Any, errors: Uncertainty) -> Uncertainty:
    """The same with errors at other likely parameters, where a neuron's are not small and that is affordable."""
    output = errors.estimate.get("output")
    if output is None or not output.size or not errors.determined:
        return errors
    known = np.linalg.norm(np.atleast_2d(output), axis=0)
    loose = np.linalg.norm(np.atleast_2d(errors.errors["output"]), axis=0) > _FIRST_ORDER * known
    if not loose.any() or float(objective.rows.total_weight) * errors.n_parameters**2 > _SPREAD_WORK:
        return errors
    ratios = error_ratios(objective, errors)
    return replace(errors, ratios=ratios) if len(ratios) else errors


def _telling_root(problem: Problem, objective: Any, params: Any, relative_loss: float) -> np.ndarray | None:
    """Derivatives that tell what rows hardly see from what they do not see; None where a curvature says as much.

    Where rounding alone is left, what rows hardly see is known as well as the errors say. Inputs that all but follow
    from others are hardly told apart: with noise it is the size of the errors that says what is left open, and only
    the weights of these inputs are.
    """
    each = problem.n_outputs * problem.unknowns
    if problem.in_chunks or len(objective.rows.on_host[0]) * each > LEVERAGE_ENTRIES:
        return None
    near = relative_loss > EXACT and problem.n_hidden > 0 and all_but_follow(problem.survey, problem.free)
    return _derivatives(objective, params) if near or relative_loss <= NOISELESS else None


def _derivatives(objective: Any, params: Any) -> np.ndarray:
    """Derivatives (n·m, p) of the predictions at the canonical network, times roots of the rows' shares."""
    model, (X, _, share) = objective.model, objective.rows.on_host
    slopes = model.network(model.canonical(params)).jacobian(X, intercept="intercept" in params)
    return (slopes * np.sqrt(share)[:, None, None]).reshape(-1, slopes.shape[-1])


def _described(problem: Problem, network: Network, near: NearDependence, uneven: float = float("nan")) -> Errors:
    errors, symmetric = replace(near.errors, spread=problem.survey.input_spread), 0
    if network.activation.homogeneity == 2 and network.activation.parity == "even":
        # W and QW with QᵀDQ = D have the same matrix WᵀDW: a symmetry, though no canonical form takes it out.
        k, d = network.n_hidden, problem.n_features + problem.free.bias
        width = min(k, d)
        symmetric = width * (width - 1) // 2 + (k - width) * d
    # An input in a small unit adds next to nothing, and its weight is a weight all the same.
    precision = max(errors.relative_error, near.errors.relative_error) if errors.determined else 0.0
    undetermined = left_open(errors, symmetric, problem.names, problem.survey.X)
    given = _MATRIX if symmetric and not undetermined else ""
    if near.advice:
        undetermined = f"{near.words}, and {undetermined}"
    return Errors(
        errors, undetermined, errors.n_parameters - symmetric, precision, uneven, given, near.words, near.advice
    )


def uneven_noise(data: Observations, network: Network | ConvNetwork, seed: int = 0) -> float:
    """p-value of the residuals having one size, whatever their distribution; NaN where rows are few.

    >>> X = np.random.default_rng(0).standard_normal((400, 2))
    >>> noise = np.exp(X[:, 0]) * np.random.default_rng(1).standard_normal(400)
    >>> uneven_noise(Observations(X, np.maximum(X[:, 0], 0) + noise), Network([[1.0, 0.0]], [1.0])) < 1e-4
    True
    """
    flat = data.X.reshape(len(data.X), -1)
    n, d = flat.shape
    number = data.weight if data.counted and data.weight is not None else np.ones(n)
    total = float(np.sum(number))
    centre = np.average(flat, axis=0, weights=number)
    scale = np.sqrt(np.average((flat - centre) ** 2, axis=0, weights=number))
    standard = (flat - centre) / np.where(scale > 0, scale, 1.0)
    if d > _DIRECTIONS:
        standard = standard @ np.random.default_rng(seed).standard_normal((d, _DIRECTIONS)) / np.sqrt(d)
    prediction = np.asarray(network.predict(data.X)).reshape(n, -1)
    sizes = np.linalg.norm(data.y.reshape(n, -1) - prediction, axis=1)
    # Noise of one output may be larger than that of another; it is the change with the inputs that is asked for.
    design = np.column_stack([standard, np.abs(standard), prediction[:, 0]])
    design = (design - np.average(design, axis=0, weights=number)) * np.sqrt(number)[:, None]
    if total < 5 * design.shape[1]:
        return float("nan")
    left, values, _ = svd(design)
    basis = left[:, values > 1e-9 * max(float(values[0]), 1e-300)]
    centred = (sizes - np.average(sizes, weights=number)) * np.sqrt(number)
    squares = float(centred @ centred)
    if squares <= 0:
        return float("nan")
    return float(chi2.sf(total * float(np.sum((basis.T @ centred) ** 2)) / squares, basis.shape[1]))


def smooth_objective(problem: Problem, network: Any) -> Any:
    """The loss over the rows that no neuron has on a kink; over all rows where none is, as almost always.

    A descent may end on a kink, where rounding makes a silent row look as if it determined something.
    """
    survey = problem.survey
    smooth = off_kinks(network, survey.X)
    if smooth.all():
        return problem.objective()
    return problem.objective(in_memory(survey, smooth if smooth.any() else slice(None)))


def left_open(errors: Uncertainty, symmetric: int = 0, names: tuple[str, ...] = (), X: np.ndarray | None = None) -> str:
    """What the rows leave open, in words, beyond `symmetric` directions; empty if nothing.

    Inputs are named where no more than half of them are concerned, otherwise neurons by their rank in rows X, if these
    are given; without neurons it is the linear part that may be open.
    """
    count = errors.n_parameters - errors.rank - symmetric
    if count <= 0:
        return ""
    of = count_of(errors.n_parameters - symmetric, "direction")
    words = f"{count} of {of} of the parameters {'is' if count == 1 else 'are'} left open"
    layer = "weights" if errors.estimate.get("weights", np.ones(1)).size else "skip"
    if layer not in errors.errors or symmetric:
        return words
    reached = np.atleast_2d(errors.errors[layer])
    start = sum(value.size for name, value in errors.estimate.items() if name < layer)
    weights = np.atleast_2d(errors.estimate[layer])
    moves = errors.flat_directions[start : start + reached.size].reshape(*reached.shape, -1)
    if layer == "weights" and errors.network.activation.homogeneity is not None:
        # A direction left open is known up to the scale of each neuron: the multiple that moves fewest weights.
        scale = np.where(weights == 0, 1.0, weights)[..., None]
        moves = moves - np.median(moves / scale, axis=1, keepdims=True) * weights[..., None]
    if errors.spread is not None and len(errors.spread) == reached.shape[1]:
        # Beside what an input brings, whatever its units.
        moves = moves * np.where(errors.spread > 0, errors.spread, 1.0)[:, None]
    moved = np.abs(moves).max(axis=2, initial=0.0)
    open_ = moved > _MOVED * max(float(moved.max(initial=0.0)), 1e-300)
    known = layer == "weights" and X is not None
    kinds = [("inputs", 0, reached.shape[1] / 2), ("neurons", 1, reached.shape[0] if known else 0)]
    for name, along, limit in kinds:
        places = np.flatnonzero(open_.any(axis=along))
        if 0 < len(places) <= limit:
            called: Sequence[Any] = names if len(names) == reached.shape[1] else range(reached.shape[1])
            if name == "neurons" and X is not None:
                called = neuron_numbers(errors.network, X)
                places = places[np.argsort([called[place] for place in places])]
            shown = ", ".join(str(called[place])[:40] for place in places[:8]) + (", …" if len(places) > 8 else "")
            return f"{words}, in the weights of {name[: -1 if len(places) == 1 else None]} {shown}"
    return words
