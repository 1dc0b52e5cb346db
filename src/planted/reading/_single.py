"""Piecewise linear networks in float32: hyperplanes traced line after line, then least squares on fresh questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from planted.reading._check import fidelity
from planted.reading._kinks import Pieces
from planted.reading._piecewise import State
from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._split import split
from planted.reading._survey import Survey
from planted.reading._trace import OUTWARDS, sharpen, trace_line

_LINES = 24
_IDLE = 3
_COARSER = 2.0
_LARGEST = 4000
_STEPS = 6
_SAME = 1e-3
_VISIBLE = 3.0
_EQUAL = 1.1
_TWICE = 0.2
_CLOSER = 4.0
_WEAK = 1e-3
_CLOSE = 0.03


def read_single(frame: Frame, survey: Survey, rng: np.random.Generator, state: State, reach: float = 1e6) -> None:
    """Trace lines into `state` until the pieces and the model agree on fresh questions, or no progress is made.

    Lines are searched as far as `reach` times the distance of the first points.
    """
    noise, idle, settled = survey.noise, 0, -1
    known, lost = state.pieces, 0
    for attempt in range(_LINES):
        frame.query.stage = f"line {attempt + 1}, {known.count} neurons"
        traced, lost = trace_line(frame, known, survey, rng, noise, reach)
        known = merge(known, traced, survey.radius)
        noise = _COARSER * survey.noise  # what is subtracted from now on is off by about the rounding of an answer
        if traced.count:
            known = sharpen(frame, known, survey, rng)
            if state.check is None:
                state.pieces = known
            idle = 0
            continue
        idle += 1
        if settled != known.count:
            if _settle_and_check(frame, known, survey, rng, state):
                return
            settled = known.count
            close = state.check is not None and state.check.largest < _CLOSE
            parted = split(frame, state.pieces, survey, rng) if close else state.pieces
            if parted.count > state.pieces.count:
                known, idle = parted, 0
            else:
                known = sharpen(frame, known, survey, rng)
        if idle >= _IDLE or (attempt >= 2 and lost > known.count):
            break
    if state.check is None:
        _settle_and_check(frame, known, survey, rng, state)
    state.curved = not known.count and lost > 0
    state.evidence = f"{lost} kinks of one line do not lie on a hyperplane" if lost > 0.5 * known.count else ""


def _settle_and_check(frame: Frame, known: Pieces, survey: Survey, rng: np.random.Generator, state: State) -> bool:
    """Fit all numbers to fresh questions and compare at others; whether the two agree to rounding."""
    pieces = settle(frame, known, survey, rng)
    check = fidelity(frame, pieces, survey, rng)
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


def settle(frame: Frame, pieces: Pieces, survey: Survey, rng: np.random.Generator) -> Pieces:
    """Jumps, slope and constant by least squares on fresh questions, then Gauss–Newton steps on all numbers."""
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    radius, noise = survey.radius, survey.noise
    unknowns = k * (d + m) + m * (d + 1)
    steps = _STEPS if unknowns <= _LARGEST else 0
    count = (3 * unknowns // m if steps else 4 * (k + d + 1)) + 20
    points = rng.standard_normal((count, d)) * rng.choice([1.0, 3.0], (count, 1))
    half = count // 2
    wider = np.maximum(1.0, OUTWARDS * np.abs(pieces.offsets) / radius)
    spread = radius * 10.0 ** -np.where(np.arange(half) % 2, rng.uniform(0.0, _CLOSER, half), 0.0)
    points[:half] = beside_hyperplanes(points[:half], pieces.normals, pieces.offsets, spread, rng, wider)
    answers = frame(points)
    weight = 1 / (1 + np.linalg.norm(points, axis=1) / radius)
    inputs = np.column_stack([points, np.ones(count)])
    hidden = np.maximum(points @ pieces.normals.T + pieces.offsets, 0)
    columns = np.hstack([hidden, inputs]) * weight[:, None]
    solution = np.linalg.lstsq(columns, answers * weight[:, None], rcond=1e-9)[0]
    pieces = replace(pieces, jumps=solution[:k].T, slope=solution[k:-1].T, constant=solution[-1])
    size = np.linalg.norm(pieces.jumps, axis=0)
    best, least = pieces.only(size * radius > _VISIBLE * noise), np.inf
    pieces = best
    for _ in range(steps + 1):
        residual = (answers - pieces(points)) * weight[:, None]
        size = float(np.sqrt(np.mean(residual**2)))
        if not size < least:
            break
        best, least = pieces, size
        pieces = _step(pieces, inputs, residual, weight)
    return _once(_needed(best, points, answers, weight), points, answers, weight)


def _once(pieces: Pieces, points: np.ndarray, answers: np.ndarray, weight: np.ndarray) -> Pieces:
    """With neurons that are one neuron met twice taken once: if one does as well as two, it is one."""
    inputs = np.column_stack([points, np.ones(len(points))])
    least = float(np.mean(((answers - pieces(points)) * weight[:, None]) ** 2))
    i = 0
    while i < pieces.count:
        turn = np.where(pieces.normals @ pieces.normals[i] < 0, -1.0, 1.0)
        gap = np.linalg.norm(pieces.normals - turn[:, None] * pieces.normals[i], axis=1)
        gap += np.abs(pieces.offsets - turn * pieces.offsets[i]) / np.sqrt(1 + pieces.offsets**2)
        gap[i] = np.inf
        j = int(np.argmin(gap))
        if pieces.count > 1 and gap[j] < _TWICE:
            jumps, held = pieces.jumps.copy(), np.arange(pieces.count) != i
            jumps[:, j] += pieces.jumps[:, i]
            one = replace(pieces, jumps=jumps).only(held)
            for _ in range(3):
                one = _step(one, inputs, (answers - one(points)) * weight[:, None], weight)
            if np.mean(((answers - one(points)) * weight[:, None]) ** 2) < _EQUAL * least:
                pieces = one
                continue
        i += 1
    return pieces


def _needed(pieces: Pieces, points: np.ndarray, answers: np.ndarray, weight: np.ndarray) -> Pieces:
    """Without neurons that explain nothing: without them, and with the others moved, residuals stay as they are."""
    inputs = np.column_stack([points, np.ones(len(points))])
    least = float(np.mean(((answers - pieces(points)) * weight[:, None]) ** 2))
    while pieces.count:
        size = np.linalg.norm(pieces.jumps, axis=0)
        weakest = int(np.argmin(size))
        fewer = pieces.only(np.arange(pieces.count) != weakest)
        for step in range(3 if size[weakest] < _WEAK * size.max() else 1):
            if step:
                fewer = _step(fewer, inputs, (answers - fewer(points)) * weight[:, None], weight)
            miss = float(np.mean(((answers - fewer(points)) * weight[:, None]) ** 2))
            if miss <= _EQUAL * least:
                break
        else:
            break
        pieces = fewer
    return pieces


def _step(pieces: Pieces, inputs: np.ndarray, residual: np.ndarray, weight: np.ndarray) -> Pieces:
    """One Gauss–Newton step on products jump·(normal, offset) with m outputs, by the normal equations.

    The jump is a vector (m,) and the hyperplane (d + 1,): their scale is free, so the length of the normal is set to
    one afterwards.
    """
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    z = inputs[:, :-1] @ pieces.normals.T + pieces.offsets
    active = (z > 0) * weight[:, None]
    inner = np.einsum("nk,nd,mk->nmkd", active, inputs, pieces.jumps).reshape(len(inputs) * m, -1)
    outer = np.concatenate([active * z if m > 1 else np.empty((len(z), 0)), inputs * weight[:, None]], axis=1)
    outer = np.einsum("nj,ml->nmlj", outer, np.eye(m)).reshape(len(inputs) * m, -1)
    matrix = np.hstack([inner, outer])
    gram = matrix.T @ matrix
    scale = np.sqrt(np.diag(gram)).clip(1e-300)
    gram /= np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += 1e-9
    change = cho_solve(cho_factor(gram), matrix.T @ residual.ravel() / scale) / scale
    rows = change[: k * (d + 1)].reshape(k, d + 1)
    tail = change[k * (d + 1) :].reshape(m, -1)
    normals, offsets = pieces.normals + rows[:, :-1], pieces.offsets + rows[:, -1]
    length = np.linalg.norm(normals, axis=1)
    return replace(
        pieces,
        normals=normals / length[:, None],
        offsets=offsets / length,
        jumps=(pieces.jumps + (tail[:, :k] if m > 1 else 0.0)) * length,
        slope=pieces.slope + tail[:, -d - 1 : -1],
        constant=pieces.constant + tail[:, -1],
    )
