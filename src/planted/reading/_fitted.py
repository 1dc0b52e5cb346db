"""Where nothing can be read off: the engine on rows that are chosen, as one would fit data, and a polish."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from planted.networks import Network
from planted.reading._check import Check, fidelity
from planted.reading._curve import fit_curve
from planted.reading._polish import SLOPES, polish
from planted.reading._query import Frame
from planted.reading._saturating import Far
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork

_ROWS = (400, 4000)
_ROWS_AN_INPUT = 120
_MOST_INPUTS = 40
_WIDER = 2.0
_PARTLY = 1.0
_NEARLY_SINGLE = 0.03
_CLOSE = 0.1
MOST_STEPS = 5_000


@dataclass(frozen=True)
class Fitted:
    """A network fitted to answers, how it compares at fresh questions, and whether the rows determine it."""

    network: Network | None = None
    check: Check | None = None
    determined: bool = False
    stopped: bool = False


class _StepsSpent(Exception):
    """The engine has taken as many steps as it may."""


@dataclass
class _Steps:
    """Counts the steps of a solver, which reports each of them, and ends it after so many."""

    left: int

    def __call__(self, done: int, total: int, text: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise _StepsSpent


def plausible(survey: Survey, largest: float, activation: str) -> bool:
    """Whether a fit is worth its time: a smooth model that rounds coarsely, has one input, or is partly explained.

    What was read from a model that rounds coarsely to a few hundredths is a better start than the engine has.

    >>> plausible(Survey(1e-16, 1e-15, 1.0, False, 1.0, 1), np.inf, "auto")
    False
    """
    if not survey.smooth or largest <= (_NEARLY_SINGLE if survey.single else 1e-8) or survey.radius**2 > _MOST_INPUTS:
        return False
    alone = survey.radius < 1.5
    return survey.single or alone or activation != "auto" or largest < _PARTLY


def candidates(activation: str, own: str | None, survey: Survey, far: Far | None) -> tuple[str, ...]:
    """Activations to try: the one asked for, the one that the model names, or those that look like it from far away.

    >>> candidates("auto", None, Survey(1e-7, 1e-6, 1.0, True, 2.0, 1), None)
    ('tanh', 'erf')
    """
    wish = activation if activation != "auto" else own
    if wish in SLOPES:
        return (wish,)
    return ("softplus", "gelu", "silu") if far is not None and far.bends else ("tanh", "erf")


def fit_queries(frame: Frame, survey: Survey, names: tuple[str, ...], rng: np.random.Generator) -> Fitted:
    """The best network of one of these activations through the answers to random questions.

    Questions are Gaussian around the centre, half of them twice as wide: neurons bend there. The engine takes at most
    `MOST_STEPS` steps for all activations together, so that the time is bounded and the result is the same every time.
    """
    d = frame.n_inputs
    if d == 1:
        network, check = fit_curve(frame, survey, names, rng)
        return Fitted(network, check, determined=not survey.single)  # in float32 other curves would do as well
    from planted.estimators import PlantedRegressor

    count = int(np.clip(_ROWS_AN_INPUT * (d + 2), *_ROWS))
    points = rng.standard_normal((count, d)) * rng.choice([1.0, _WIDER], (count, 1))
    answers = frame(points)
    if survey.outputs > 1 or not np.all(np.isfinite(answers)):
        return Fitted()
    best = Fitted()
    check = None
    steps = _Steps(MOST_STEPS)
    for name in names:
        frame.query.stage = f"fitting {name} neurons to {count} answers"
        frame.query.report()
        seed = int(rng.integers(2**31))
        engine = PlantedRegressor(activation=name, fit_bias=True, fit_intercept=True, random_state=seed, progress=steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                engine.fit(points, answers[:, 0])
            except _StepsSpent:
                return replace(best, stopped=True)
        network = _two_dimensional(engine.network_)
        check = fidelity(frame, CountedNetwork(network), survey, rng) if check is None else check
        if check.again(CountedNetwork(network)).largest < _CLOSE:
            network = polish(frame, network, rng)
        new = check.again(CountedNetwork(network))
        if best.check is None or new.largest < best.check.largest:
            best = Fitted(network, new, engine.result_.status == "recovered")
        if new.largest <= new.rounding:
            break
    return best


def _two_dimensional(network: Network) -> Network:
    """The network with its output as a row (1, k), and a bias."""
    bias = network.shift
    return network.replace(
        bias=bias,
        output=np.atleast_2d(network.output),
        intercept=np.atleast_1d(network.intercept),
        **({} if network.skip is None else {"skip": np.atleast_2d(network.skip)}),
    )
