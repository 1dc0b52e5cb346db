"""Piecewise linear networks, line after line until nothing is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planted.names import count_of
from planted.reading._check import Check, fidelity
from planted.reading._kinks import Pieces, read_line, unit
from planted.reading._orient import clipped
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork

_PASSES = 8
_REACH, _FURTHER = 1e4, 1e7
_STRETCHES = 5000
_NOTHING = 1e-8


@dataclass
class State:
    """What is known so far; kept by the caller, so that it outlives a budget that is spent."""

    pieces: Pieces
    check: Check | None = None
    evidence: str = ""
    curved: bool = False


def _left(frame: Frame, known: Pieces, x: np.ndarray) -> np.ndarray:
    """What is left of the model."""
    return frame(x) - known(x)


def _defined(frame: Frame, point: np.ndarray, direction: np.ndarray, length: float) -> float:
    """How far both ways along a line answers are defined, by halving; log-odds of 0 or 1 are not."""
    while length > 1e-3:
        if np.all(np.isfinite(frame(point + np.outer([-length, length], direction)))):
            break
        length /= 2
    return length


def _linear(frame: Frame, pieces: Pieces) -> Pieces:
    """Pieces without kinks, with slope and constant from values around the centre."""
    values = frame(np.concatenate([np.zeros((1, frame.n_inputs)), np.eye(frame.n_inputs)]))
    return replace(pieces, slope=(values[1:] - values[0]).T, constant=values[0])


def _outer(pieces: Pieces) -> Pieces:
    """The neurons of a function that vanishes around the centre, turned so that they do: max(z, 0) = max(−z, 0) + z."""
    turn = np.where(pieces.offsets > 0, -1.0, 1.0)
    nothing = {"slope": np.zeros_like(pieces.slope), "constant": np.zeros_like(pieces.constant)}
    return replace(pieces, normals=turn[:, None] * pieces.normals, offsets=turn * pieces.offsets, **nothing)


def read_piecewise(frame: Frame, survey: Survey, rng: np.random.Generator, state: State) -> None:
    """Read lines into `state` until the pieces and the model agree on fresh questions, or no progress is made."""
    noise, first = survey.noise, 0
    bounded = frame.query.source.bounded
    for attempt in range(_PASSES * (4 if bounded else 1)):
        frame.query.stage = f"line {attempt + 1}, {count_of(state.pieces.count, 'neuron')}"
        known = state.pieces
        point, direction = rng.standard_normal(frame.n_inputs), unit(rng, frame.n_inputs)
        length = (_FURTHER if attempt else _REACH) * survey.radius
        if bounded:
            length = _defined(frame, point, direction, length)
        line = read_line(partial(_left, frame, known), point, direction, length, noise, rng)
        if line.broken:
            state.evidence = f"its value jumps at {len(line.broken)} or more places of one line"
        elif line.curved:
            state.evidence = f"it curves on {len(line.curved)} or more stretches of one line"
            state.curved = len(line.curved) < _STRETCHES
        fresh = _outer(line.pieces) if state.check is not None and state.check.missing else line.pieces
        candidate = (known + fresh).strongest(1e-7)
        # Of a function that is linear, rounding makes kinks that are weak beside its slope.
        steep = np.linalg.norm(candidate.slope, axis=1).max()
        candidate = candidate.only(np.linalg.norm(candidate.jumps, axis=0) > _NOTHING * steep)
        if not candidate.count and not line.curved and not line.broken:
            candidate = _linear(frame, candidate)
        check = fidelity(frame, candidate, survey, rng)
        if (pairs := clipped(candidate)) is not None:  # which far out are what the model is, where their halves cancel
            check = check.again(CountedNetwork(pairs))
        if state.check is None or check.better(state.check):
            state.pieces, state.check = candidate, check
        if state.check.largest <= state.check.rounding:
            state.evidence, state.curved = "", False
            return
        if len(line.broken) > 2 or len(line.curved) > max(2, 0.1 * line.pieces.count):
            return
        first = first or line.pieces.count
        if attempt and line.pieces.count > 0.5 * first + 2 and not bounded:
            return
        noise = max(survey.noise, 10 * float(state.pieces.error.max(initial=0.0)) * survey.radius)
