"""The front door: any model that can be called, read into a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted import names
from planted.names import count_of
from planted.networks import Network
from planted.numerics.progress import Progress, silent
from planted.numerics.validation import count as positive
from planted.reading import _corners, _fitted, _piecewise, _saturating, _squares
from planted.reading._adapters import adapt
from planted.reading._check import Check
from planted.reading._confirm import confirm
from planted.reading._kinks import Pieces
from planted.reading._naming import FAMILIES, choose, rewrite, steps_network
from planted.reading._orient import COARSE, Oriented, orient, relu_network
from planted.reading._polish import SLOPES, polish, polish_coarse, with_rounding
from planted.reading._query import BudgetSpent, Frame, Query, Source
from planted.reading._resolution import resolution
from planted.reading._result import Reading
from planted.reading._scale import input_scales
from planted.reading._single import read_single
from planted.reading._soft_single import read_soft_single
from planted.reading._steps import PROFILES, Steps
from planted.reading._survey import Survey, survey
from planted.reading._values import CountedNetwork, values

_CLOSE = 0.03
_FAR = 1.0
_ATTEMPTS = 3
_PATIENCE = 200_000
_PARTLY, _NEARLY = 1e-3, 1e-5
_UNUSUAL, _OUTSIDE = 20.0, 10.0
_QUANTUM = 0.01


@dataclass
class _Progress:
    """How far a reading has come, whatever happens next: the network in the frame's coordinates, and its check."""

    frame: Frame
    network: Network | None = None
    check: Check | None = None
    evidence: str = ""
    determined: bool = True
    curved: bool = False
    about: Survey | None = None
    far: _saturating.Far | None = None
    fitted: bool = False
    confirmed: bool = False

    @property
    def equal(self) -> bool:
        """Whether the network agrees with the model to rounding at all questions that were asked so far."""
        return self.check is not None and self.check.largest <= self.check.rounding

    def confirm(self, first: Frame, rng: np.random.Generator) -> None:
        """Ask many more questions, in the first units too, where few were answered as the network would."""
        if self.network is None or self.check is None or self.about is None:
            return
        network = CountedNetwork(self.network)
        self.check = self.check.again(network)
        if self.equal:
            self.frame.query.stage = "fresh questions"
            units = None if self.frame is first else first.scale / self.frame.scale
            self.check = confirm(self.frame, network, self.check, self.about, rng, units)
            self.confirmed = True

    @property
    def check_largest(self) -> float:
        """Largest difference at fresh questions, infinite where none were asked."""
        return np.inf if self.check is None else self.check.largest

    @property
    def doubtful(self) -> bool:
        """Whether the model may have been looked at on the wrong scale: there, it is nearly linear or quadratic."""
        if self.check is None or self.network is None or self.about is None:
            return True
        different = self.check.largest > self.check.rounding
        if self.network.activation.name in ("quadratic", "squared_relu"):
            return different
        if not self.about.single:
            return different if not self.about.smooth else self.check.largest > _CLOSE
        size = np.linalg.norm(self.network.weights, axis=1).clip(1e-300)
        distance = np.abs(0.0 if self.network.bias is None else self.network.bias) / size
        return different or not len(size) or bool(np.median(distance) > _OUTSIDE * self.about.radius)


def read(
    model: Any,
    n_inputs: int | None = None,
    *,
    activation: str = "auto",
    random_state: Any = None,
    max_queries: int | None = None,
    progress: Progress | None = None,
) -> Reading:
    """Read a model that can be called: which network with one hidden layer is it?

    Piecewise linear networks are read through their kinks on a line and the gradients between them; saturating ones
    through the places, far out, where one neuron turns alone. Number of neurons and activation are part of the answer.

    Parameters
    ----------
    model : callable, estimator, module, path or session
        A function from arrays (n, d) to (n,) or (n, m); a fitted scikit-learn estimator or pipeline (classifiers are
        read through their log-odds); a torch module; an ONNX file or onnxruntime session; a :class:`planted.Network`.
    n_inputs : int, optional
        Number of inputs d, for a model that does not say.
    activation : str
        A name of :func:`planted.activations.get`, or "auto" to find it out. It also chooses between names for the same
        function, such as tanh and sigmoid.
    random_state : int, Generator or None
        Where the questions are; the same integer asks the same questions.
    max_queries : int, optional
        Never ask for more rows than this.
    progress : callable, optional
        Called as progress(spent, max_queries or 0, text).

    Returns
    -------
    Reading
        With `network`, `status`, `reason`, `queries` and `fidelity`.

    Examples
    --------
    >>> import numpy as np
    >>> import planted
    >>> def model(X):
    ...     return 2 * np.maximum(X[:, 0] - X[:, 1] + 1, 0) - np.maximum(3 * X[:, 1], 0)
    >>> reading = planted.read(model, n_inputs=2, random_state=0)
    >>> reading.status, reading.network.n_hidden, reading.network.activation.name
    ('recovered', 2, 'relu')
    """
    if activation != "auto" and activation not in names.ACTIVATIONS:
        raise ValueError(names.unknown("activation", activation, ("auto", *names.ACTIVATIONS)))
    source = adapt(model, n_inputs)
    budget = None if max_queries is None else positive("max_queries", max_queries)
    query = Query(source, budget, progress or silent)
    rng = np.random.default_rng(random_state)
    d = source.n_inputs
    frame = Frame(
        query,
        np.zeros(d) if source.centre is None else source.centre,
        np.ones(d) if source.scale is None else source.scale,
    )
    first, best, interrupted = frame, _Progress(frame), None
    for attempt in range(_ATTEMPTS):
        way = _Progress(frame)
        try:
            _follow(frame, source, activation, rng, way)
            way.confirm(first, rng)
            if attempt == 0 and source.scale is None and way.about is not None and way.doubtful:
                frame = _rescaled(frame, way.about)
        except BudgetSpent as spent:
            interrupted = f"the budget was spent: {spent}"
        if best.check is None or (way.check is not None and way.check.better(best.check)):
            best = way
        if interrupted or query.spent > _PATIENCE:
            break
        if frame is not way.frame:
            continue
        # Other lines may do where one neuron was missed; a model that is far from any network is asked no more.
        far = np.inf if way.about is not None and way.about.single else _FAR
        if way.check is None or not way.check.rounding < best.check_largest < far:
            break
    worth = not best.equal and best.about is not None and _fitted.plausible(best.about, best.check_largest, activation)
    if interrupted is None and best.about is not None and worth:
        way, stopped = _Progress(frame, about=best.about), False
        try:
            names_to_try = _fitted.candidates(activation, source.activation, best.about, best.far)
            fitted = _fitted.fit_queries(frame, best.about, names_to_try, rng)
            way.network, way.check, way.fitted = fitted.network, fitted.check, not fitted.determined
            stopped = fitted.stopped
            way.confirm(first, rng)
        except BudgetSpent as spent:
            interrupted = f"the budget was spent: {spent}"
        if way.check is not None and way.check.largest < best.check_largest:
            best = way
        if stopped and best.check_largest > _PARTLY:
            tried = f"a fit to answers was stopped after {_fitted.MOST_STEPS:,} steps"
            best.evidence = f"{best.evidence}; {tried}" if best.evidence else tried
    return _report(best, interrupted)


def _rescaled(frame: Frame, about: Survey) -> Frame:
    """The frame with other units, where those that it has are not the ones in which the model bends."""
    frame.query.stage = "the scale of the inputs"
    scales = input_scales(frame, about.epsilon)
    unusual = np.maximum(scales, 1 / scales).max() > _UNUSUAL
    return Frame(frame.query, frame.centre, frame.scale * scales) if unusual else frame


def _follow(frame: Frame, source: Source, activation: str, rng: np.random.Generator, way: _Progress) -> None:
    """Ask the first questions, and take the way that suits the model."""
    way.about = about = survey(frame, rng)
    if not about.smooth:
        if activation == "auto" or activation in ("relu", "leaky_relu", "abs", *FAMILIES["hard_tanh"]):
            _read_kinks(frame, about, (activation, source.activation), rng, way)
        if not way.curved:
            if way.network is None:
                way.evidence = f"it is linear around most points, which no network of {activation} neurons is"
            return
    if not about.single and _squares.is_piecewise_quadratic(frame, about, rng):
        _read_squares(frame, about, rng, way)
        if way.check is not None and way.check.largest <= way.check.rounding:
            return
    way.far = far = _saturating.look_out(frame, about, rng)
    if far is None:
        way.evidence = "it still curves however far out one goes"
        return
    if far.bends:
        _read_soft(frame, about, far, rng, way)
        return
    _read_steps(frame, about, far, (activation, source.activation), rng, way)


def _read_kinks(
    frame: Frame, about: Survey, wishes: tuple[str | None, ...], rng: np.random.Generator, way: _Progress
) -> None:
    state = _piecewise.State(Pieces.none(frame.n_inputs, about.outputs))
    try:
        if about.single and not frame.query.source.bounded:
            read_single(frame, about, rng, state)
        else:
            _piecewise.read_piecewise(frame, about, rng, state)
    finally:
        if state.pieces.count or state.check is not None:
            oriented = orient(state.pieces, COARSE) if about.single else orient(state.pieces)
            network, check = oriented.network, state.check
            if check is not None and check.largest <= check.rounding < check.again(CountedNetwork(network)).largest:
                # Sides and slope are not known as well as the function is.
                oriented = Oriented(relu_network(state.pieces), False)
                network = oriented.network
            if network.activation.name in FAMILIES["hard_tanh"]:
                network = rewrite(network, choose("hard_tanh", *wishes))
            way.network, way.check, way.evidence = network, state.check, state.evidence
            way.determined, way.curved = oriented.determined, state.curved


def _read_soft(frame: Frame, about: Survey, far: _saturating.Far, rng: np.random.Generator, way: _Progress) -> None:
    state = _corners.State()
    try:
        read = read_soft_single if about.single else _corners.read_corners
        read(frame, about, far, rng, state)
    finally:
        way.evidence = state.evidence
        if state.network is not None:
            way.network, way.check, way.determined = state.network, state.check, state.determined


def _read_squares(frame: Frame, about: Survey, rng: np.random.Generator, way: _Progress) -> None:
    state = _squares.State()
    try:
        _squares.read_squares(frame, about, rng, state)
    finally:
        way.network, way.check, way.determined = state.network, state.check, state.determined


def _read_steps(
    frame: Frame,
    about: Survey,
    far: _saturating.Far,
    wishes: tuple[str | None, ...],
    rng: np.random.Generator,
    way: _Progress,
) -> None:
    d, m = frame.n_inputs, about.outputs
    none = Steps(np.empty((0, d)), np.empty(0), np.empty((m, 0)), np.zeros((m, d)), np.zeros(m), PROFILES["sigmoid"])
    state = _saturating.State(none)
    try:
        _saturating.read_saturating(frame, about, far, rng, state)
        if state.check is not None and 0.03 * state.check.rounding < state.check.largest < _CLOSE:
            network = steps_network(state.steps, choose(state.steps.profile.name, *wishes))
            network = (polish_coarse if about.single else polish)(frame, network, rng)
            check = state.check.again(CountedNetwork(network))
            way.network, way.check = network, with_rounding(check, network, about) if about.single else check
            small = network.simplify()  # a neuron may have been read twice
            if small.n_hidden < network.n_hidden and check.again(CountedNetwork(small)).largest <= check.rounding:
                way.network = small
    finally:
        way.evidence = state.evidence
        if state.steps.count and way.network is None:
            name = choose(state.steps.profile.name, *wishes)
            way.network, way.check = steps_network(state.steps, name), state.check


def _report(way: _Progress, interrupted: str | None) -> Reading:
    """Status and reason of what was read, with the network on the caller's own inputs."""
    frame = way.frame
    d, query = frame.n_inputs, frame.query
    network = way.network
    if network is None:
        network = Network(
            np.empty((0, d)), np.empty((query.width, 0)), bias=np.empty(0), intercept=np.zeros(query.width)
        )
    check = way.check.again(CountedNetwork(network)) if way.check is not None else None
    largest = np.inf if check is None else check.largest
    own = _on_inputs(network, frame)
    if interrupted is not None and not (way.confirmed and check is not None and largest <= check.rounding):
        return Reading(own, "estimated", interrupted, query.spent, largest)
    if check is not None and way.about is not None and way.about.decimals is not None:
        miss = float(np.nanmax(np.abs(check.answers - values(network, check.points))))
        if miss > _QUANTUM * 10.0**-way.about.decimals:  # which explains why the network is not met to the last digit
            digits = way.about.decimals
            to = "whole numbers" if not digits else f"{digits} decimal{'' if digits == 1 else 's'}"
            sentence = f"its answers are rounded to {to}; what was read differs by {largest:.1g} sd at fresh questions"
            return Reading(own, "misfit", sentence, query.spent, largest)
    if check is not None and largest <= check.rounding:
        way.evidence = ""
    if check is None or largest > check.rounding:
        return Reading(own, *_other(way, check, query.source.bounded), query.spent, largest)
    allows = f", where its rounding to float32 allows {check.rounding:.1g}," if check.rounding > 1e-8 else ""
    equal = f"equal to the model to {largest:.1g} sd{allows} on {len(check.points)} fresh questions, near and far"
    if not network.n_hidden:
        reason = f"{equal}: one linear function explains this, no neuron is needed"
        return Reading(own, "recovered", reason, query.spent, largest)
    neurons = count_of(network.n_hidden, f"{network.activation.name} neuron")
    if network.activation.name in ("quadratic", "squared_relu") and not way.determined:
        why = {
            "quadratic": "the model is a quadratic function, and other neurons, rotated ones, would do as well",
            "squared_relu": "there are more squares than quadratic functions, so which sides are active is open",
        }[network.activation.name]
        reason = f"equal to the model to {largest:.1g} sd with {neurons}; {why}"
        return Reading(own, "ambiguous", reason, query.spent, largest)
    if way.fitted:
        reason = f"fitted to answers, equal to the model to {largest:.1g} sd, but other weights may do as well"
        return Reading(own, "estimated", reason, query.spent, largest)
    reason = f"{equal}, with {neurons}"
    if not way.determined:
        reason += (
            "; on which side of its hyperplane a neuron is active is not determined, and a linear part makes up for it"
        )
    if check.rounding > 1e-8 or network.activation.name in SLOPES:
        share = resolution(network, check)
        reason += (
            f"; two neurons of equal strength whose weights differ by less than {share:.1g} of their length would be "
            "read as one, and others that change the model as little"
        )
    return Reading(own, "recovered", reason, query.spent, largest)


def _other(way: _Progress, check: Check | None, bounded: bool) -> tuple[str, str]:
    """Status and reason for a model that the network read from it is not equal to."""
    if check is not None and check.largest < (_NEARLY if way.evidence else _PARTLY):
        return (
            "estimated",
            f"the network is close to the model, but differs by {check.largest:.1g} sd at fresh questions",
        )
    if bounded:
        return "estimated", (
            "the model's probabilities are 0 or 1 where more of it could be read; "
            "give its log-odds as a function, or what it computes before them"
        )
    if check is not None and check.missing:
        return (
            "estimated",
            "the network is equal to the model near by and 30 times as far, but differs by "
            f"{check.largest:.1g} sd further out: neurons that turn there are missing",
        )
    few = " of at most four neurons" if way.frame.n_inputs == 1 and way.about is not None and way.about.smooth else ""
    sentence = f"not a network with one hidden layer{few} of a known activation"
    if way.evidence:
        sentence += f": {way.evidence}"
    if check is not None:
        sentence += f"; at fresh questions the nearest network differs by {check.largest:.2g} sd"
    if way.about is not None and way.about.single:
        sentence += "; or it is one that float32 hides: ask a copy of the model in float64"
    return "misfit", sentence


def _on_inputs(network: Network, frame: Frame) -> Network:
    """The network on X = centre + scale·x, and with one output as a vector where the model has one."""
    arrays: dict[str, Any] = dict(network.arrays())
    weights = network.weights / frame.scale
    arrays["weights"] = weights
    arrays["bias"] = arrays.get("bias", np.zeros(len(weights))) - weights @ frame.centre
    if network.skip is not None:
        skip = network.skip / frame.scale
        arrays["skip"] = skip
        arrays["intercept"] = network.intercept - skip @ frame.centre
    if frame.query.single:
        arrays["output"] = np.atleast_2d(arrays["output"])[0]
        arrays["intercept"] = np.ravel(arrays["intercept"])[0]
        if "skip" in arrays:
            arrays["skip"] = np.atleast_2d(arrays["skip"])[0]
    return Network(**arrays, activation=network.activation)
