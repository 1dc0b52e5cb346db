"""Piecewise linear networks in float32: hyperplanes traced line after line, then least squares on fresh questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.names import count_of
from planted.reading._check import fidelity
from planted.reading._kinks import Pieces
from planted.reading._orient import COARSE, clipped
from planted.reading._piecewise import State
from planted.reading._query import Frame
from planted.reading._settle import settle
from planted.reading._split import split
from planted.reading._survey import Survey
from planted.reading._trace import sharpen, trace_line
from planted.reading._values import CountedNetwork

_LINES = 40
_MORE, _SOME = 2, 8
_IDLE, _PATIENT = 3, 8
_COARSER, _FINER = 2.0, 0.3
_SAME = 1e-3
_CLOSE = 0.03
_BLUR = 100.0


def read_single(frame: Frame, survey: Survey, rng: np.random.Generator, state: State, reach: float = 1e6) -> None:
    """Trace lines into `state` until the pieces and the model agree on fresh questions, or no progress is made.

    Lines are searched as far as `reach` times the distance of the first points. They are looked at with room for
    several roundings first, so that two neurons that are nearly the same are one. Where something is left then, it is
    looked for down to rounding: neurons that are two, and weak ones. Where kinks were lost instead, which are two close
    ones mostly, everything is looked at once more from further away.
    """
    for blur in (1.0, _BLUR):
        lost = _read_lines(frame, (survey, replace(survey, noise=blur * survey.noise)), rng, state, reach)
        if state.check is None or state.check.largest < _CLOSE or not 0 < lost <= state.pieces.count:
            return


def _read_lines(
    frame: Frame, surveys: tuple[Survey, Survey], rng: np.random.Generator, state: State, reach: float
) -> int:
    """Trace lines with the room for rounding that the second of two surveys has; the number of kinks that were lost."""
    survey, look = surveys
    noise, idle, settled, close, fine = look.noise, 0, -1, False, False
    known, lost, most = Pieces.none(frame.n_inputs, survey.outputs), 0, 0
    for attempt in range(_LINES):
        frame.query.stage = f"line {attempt + 1}, {count_of(known.count, 'neuron')}"
        traced, missed = trace_line(frame, known, look, rng, noise, reach)
        lost = lost if fine else missed  # down to rounding, kinks are lost of any network
        known = merge(known, traced, survey.radius)
        most = most or _MORE * (traced.count + missed) + _SOME
        if known.count > most:  # a line meets all hyperplanes, but for weak ones: these kinks have no end
            break
        noise = _COARSER * look.noise  # what is subtracted from now on is off by about the rounding of an answer
        if traced.count:
            known = sharpen(frame, known, look, rng)
            if state.check is None:
                state.pieces = known
            idle = 0
            continue
        idle += 1
        if settled != known.count:
            if _settle_and_check(frame, known, look, rng, state):
                break
            settled = known.count
            close = state.check is not None and state.check.largest < _CLOSE
            parted = split(frame, state.pieces, survey.fine, rng) if close else state.pieces
            if parted.count > state.pieces.count:
                known, idle = parted, 0
                continue
            known = sharpen(frame, known, look, rng)
        if close and look.noise > survey.fine.noise:
            # As traced, hyperplanes are off by their own errors; as fitted, by what is missing in the fit.
            look = replace(look, noise=max(_FINER * look.noise, survey.fine.noise))
            noise, idle, fine = _COARSER * look.noise, 0, True
        if idle >= (_PATIENT if close else _IDLE) or (attempt >= 2 and missed > known.count):
            break
    if state.check is None:
        _settle_and_check(frame, known, survey, rng, state)
    equal = state.check is not None and state.check.largest <= state.check.rounding
    state.curved = not known.count and lost > 0
    state.evidence = (
        f"{count_of(lost, 'kink of one line does', 'kinks of one line do')} not lie on a hyperplane"
        if lost > 0.5 * known.count and not equal
        else ""
    )
    return lost


def _settle_and_check(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator, state: State) -> bool:
    """Fit all numbers to fresh questions and compare at others; whether the two agree to rounding."""
    pieces = settle(frame, known, survey, rng)
    check = fidelity(frame, pieces, survey, rng)
    if (pairs := clipped(pieces, COARSE)) is not None:
        check = check.again(CountedNetwork(pairs))
    if state.check is None or check.better(state.check):
        state.pieces, state.check = pieces, check
    return state.check.largest <= state.check.rounding


def merge(known: Pieces, new: Pieces, radius: float) -> Pieces:
    """Both, with hyperplanes that are the same within their errors taken once.

    >>> one = Pieces.none(1, 1)
    >>> one = replace(one, normals=np.ones((1, 1)), offsets=np.zeros(1), jumps=np.ones((1, 1)), error=np.zeros(1))
    >>> merge(one, one, 1.0).jumps
    array([[2.]])
    """
    jumps, fresh = known.jumps.copy(), []
    for i in range(new.count):
        turn = np.where(known.normals @ new.normals[i] < 0, -1.0, 1.0)
        gap = np.linalg.norm(known.normals - turn[:, None] * new.normals[i], axis=1)
        gap += np.abs(known.offsets - turn * new.offsets[i]) / (radius + np.abs(known.offsets))
        near = np.flatnonzero(gap < _SAME + 4 * (known.error + new.error[i]))
        if len(near):
            jumps[:, near[0]] += new.jumps[:, i]
        else:
            fresh.append(i)
    return replace(
        known,
        normals=np.concatenate([known.normals, new.normals[fresh]]),
        offsets=np.concatenate([known.offsets, new.offsets[fresh]]),
        jumps=np.concatenate([jumps, new.jumps[:, fresh]], axis=1),
        error=np.concatenate([known.error, new.error[fresh]]),
    )
