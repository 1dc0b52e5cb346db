"""Piecewise linear networks, line after line until nothing is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planted.reading._check import Check, fidelity
from planted.reading._kinks import Pieces, read_line, unit
from planted.reading._query import Frame
from planted.reading._survey import Survey

_PASSES = 8
_REACH = 1e4
_REACH_SINGLE = 100.0
_LARGEST = 2000
_STRETCHES = 5000


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


def polish(frame: Frame, pieces: Pieces, rng: np.random.Generator) -> Pieces:
    """Gauss–Newton steps on fresh questions, for a model that rounds too much to be read by differences alone."""
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    unknowns = k * (d + 1 + m) + m * (d + 1)
    if not k or unknowns > _LARGEST:
        return pieces
    points = rng.standard_normal((3 * unknowns // m + 10, d)) * rng.choice([1.0, 3.0], (3 * unknowns // m + 10, 1))
    answers = frame(points)
    best, least = pieces, np.abs(answers - pieces(points)).max()
    for _ in range(6):
        z = points @ pieces.normals.T + pieces.offsets
        active = (z > 0).astype(float)
        inputs = np.column_stack([points, np.ones(len(points))])
        inner = np.einsum("nk,nd,mk->nmkd", active, inputs, pieces.jumps).reshape(len(points) * m, -1)
        outer = np.einsum("nk,ml->nmlk", active * z, np.eye(m)).reshape(len(points) * m, -1)
        linear = np.einsum("nd,ml->nmld", inputs, np.eye(m)).reshape(len(points) * m, -1)
        residual = (answers - pieces(points)).ravel()
        step = np.linalg.lstsq(np.hstack([inner, outer, linear]), residual, rcond=1e-10)[0]
        rows = step[: k * (d + 1)].reshape(k, d + 1)
        tail = step[k * (d + 1) + m * k :].reshape(m, d + 1)
        pieces = replace(
            pieces,
            normals=pieces.normals + rows[:, :-1],
            offsets=pieces.offsets + rows[:, -1],
            jumps=pieces.jumps + step[k * (d + 1) : k * (d + 1) + m * k].reshape(m, k),
            slope=pieces.slope + tail[:, :-1],
            constant=pieces.constant + tail[:, -1],
        )
        size = np.abs(answers - pieces(points)).max()
        if not size < least:
            break
        best, least = pieces, size
    length = np.linalg.norm(best.normals, axis=1)
    return replace(
        best, normals=best.normals / length[:, None], offsets=best.offsets / length, jumps=best.jumps * length
    )


def read_piecewise(frame: Frame, survey: Survey, rng: np.random.Generator, state: State) -> None:
    """Read lines into `state` until the pieces and the model agree on fresh questions, or no progress is made."""
    single = survey.epsilon > 1e-10
    reach, step = (_REACH_SINGLE, 3e-2) if single else (_REACH, 1e-3)
    noise, first = survey.noise, 0
    bounded = frame.query.source.bounded
    for attempt in range(_PASSES * (4 if bounded else 1)):
        frame.query.stage = f"line {attempt + 1}, {state.pieces.count} neurons"
        known = state.pieces
        point, direction = rng.standard_normal(frame.n_inputs), unit(rng, frame.n_inputs)
        length = reach * survey.radius
        if bounded:
            length = _defined(frame, point, direction, length)
        found = read_line(partial(_left, frame, known), point, direction, length, noise, rng, step)
        if found.broken:
            state.evidence = f"its value jumps at {len(found.broken)} or more places of one line"
        elif found.curved:
            state.evidence = f"it curves on {len(found.curved)} or more stretches of one line"
            state.curved = len(found.curved) < _STRETCHES
        candidate = (known + found.pieces).strongest(1e-7)
        check = fidelity(frame, candidate, survey, rng)
        if single and 0.1 * check.rounding < check.largest < 0.1:
            candidate = polish(frame, candidate, rng)
            check = check.again(candidate)
        if state.check is None or check.largest < state.check.largest:
            state.pieces, state.check = candidate, check
        if state.check.largest <= state.check.rounding:
            state.evidence, state.curved = "", False
            return
        if len(found.broken) > 2 or len(found.curved) > max(2, 0.1 * found.pieces.count):
            return
        first = first or found.pieces.count
        if attempt and found.pieces.count > 0.5 * first + 2 and not bounded:
            return
        noise = max(survey.noise, 10 * float(state.pieces.error.max(initial=0.0)) * survey.radius)
