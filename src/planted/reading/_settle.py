"""Least squares on fresh questions for a piecewise linear network in float32 whose hyperplanes are nearly known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, lsmr

from planted.reading._kinks import Pieces, unit
from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._trace import OUTWARDS

_LARGEST, _MOST = 4000, 40_000
_STEPS, _PRODUCTS = 6, 300
_VISIBLE = 3.0
_EQUAL = 1.1
_TWICE, _WEDGE = 0.2, 3
_CLOSER = 4.0
_SCALES = (1.0, 3.0, 30.0)  # near by alone, rounding would not say how steep the function is far out
_WEAK = 1e-3
_ADDED, _STARTS, _STEPS_ALONE, _GAIN = 6, 12, 25, 0.999
_CLEAR, _PARTLY, _LESS = 3.0, 0.03, 0.9


def unknowns(pieces: Pieces) -> int:
    """Number of weights, jumps, slopes and constants.

    >>> unknowns(Pieces.none(3, 2))
    8
    """
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    return k * (d + m) + m * (d + 1)


def settle(frame: Frame, pieces: Pieces, survey: Survey, rng: np.random.Generator) -> Pieces:
    """Jumps, slope and constant by least squares on fresh questions, then Gauss–Newton steps on all numbers.

    Where more than rounding is left, weak neurons were missed: they are added one by one while that helps.
    """
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    radius, noise = survey.radius, survey.noise
    size = unknowns(pieces)
    steps = _STEPS if size <= _MOST else 0
    count = (3 * size // m if steps else 4 * (k + d + 1)) + 20
    points = rng.standard_normal((count, d)) * rng.choice(_SCALES, (count, 1))
    half = count // 2
    wider = np.maximum(1.0, OUTWARDS * np.abs(pieces.offsets) / radius)
    spread = radius * 10.0 ** -np.where(np.arange(half) % 2, rng.uniform(0.0, _CLOSER, half), 0.0)
    points[:half] = beside_hyperplanes(points[:half], pieces.normals, pieces.offsets, spread, rng, wider)
    points = np.concatenate([points, *_wedges(pieces, wider, rng)])
    count, answers = len(points), frame(points)
    weight = 1 / (1 + np.linalg.norm(points, axis=1) / radius)
    hidden = np.maximum(points @ pieces.normals.T + pieces.offsets, 0)
    columns = np.hstack([hidden, points, np.ones((count, 1))]) * weight[:, None]
    solution = np.linalg.lstsq(columns, answers * weight[:, None], rcond=1e-9)[0]
    pieces = replace(pieces, jumps=solution[:k].T, slope=solution[k:-1].T, constant=solution[-1])
    strength = np.linalg.norm(pieces.jumps, axis=0)
    data = (points, answers, weight)
    best, least = _steps(pieces.only(strength * radius > _VISIBLE * noise), data, steps)
    level = float(np.std(answers * weight[:, None], axis=0).max())
    if steps and _CLEAR * survey.deviation < least < _PARTLY * level:
        points = rng.standard_normal((3 * size // m, d))
        near = (points, frame(points), 1 / (1 + np.linalg.norm(points, axis=1) / radius))
        data = (np.vstack([data[0], near[0]]), np.vstack([data[1], near[1]]), np.append(data[2], near[2]))
        best, least = _steps(best, data, steps)
        for _ in range(_ADDED):
            more, miss = _steps(_with_another(best, near, rng), data, steps)
            if miss > _LESS * least:
                break
            best, least = more, miss
            if least < _CLEAR * survey.deviation:
                break
    return _once(_needed(best, *data), *data)


def _steps(
    pieces: Pieces, data: tuple[np.ndarray, np.ndarray, np.ndarray], most: int, least_gain: float = 1.0
) -> tuple[Pieces, float]:
    """Gauss–Newton steps while they help, at most so many, on points, answers and weights; and what is left (rms)."""
    points, answers, weight = data
    inputs = np.column_stack([points, np.ones(len(points))])
    best, least = pieces, np.inf
    for _ in range(most + 1):
        residual = (answers - pieces(points)) * weight[:, None]
        miss = float(np.sqrt(np.mean(residual**2)))
        if not miss < least_gain * least:
            break
        best, least = pieces, miss
        pieces = _step(pieces, inputs, residual, weight)
    return best, least


def _with_another(pieces: Pieces, data: tuple[np.ndarray, np.ndarray, np.ndarray], rng: np.random.Generator) -> Pieces:
    """The pieces with the one neuron more that explains most of what is left, from several random hyperplanes.

    Where a weak neuron is missing, the others have moved to make up for it. What they cannot make up for still points
    to it.
    """
    (_, d), m = pieces.normals.shape, len(pieces.constant)
    points, answers, weight = data
    rest = (points, answers - pieces(points), weight)
    inputs = np.column_stack([points, np.ones(len(points))]) * weight[:, None]
    best, least = Pieces.none(d, m), np.inf
    for _ in range(_STARTS):
        normal, offset = unit(rng, d), rng.standard_normal()
        hidden = np.maximum(points @ normal + offset, 0) * weight
        solution = np.linalg.lstsq(np.column_stack([hidden, inputs]), rest[1] * weight[:, None], rcond=1e-9)[0]
        start = Pieces(
            normal[None], np.array([offset]), solution[:1].T, solution[1:-1].T, solution[-1], error=np.zeros(1)
        )
        one, miss = _steps(start, rest, _STEPS_ALONE, _GAIN)
        if miss < least:
            best, least = one, miss
    return replace(
        pieces,
        normals=np.vstack([pieces.normals, best.normals]),
        offsets=np.append(pieces.offsets, best.offsets),
        jumps=np.hstack([pieces.jumps, best.jumps]),
        slope=pieces.slope + best.slope,
        constant=pieces.constant + best.constant,
        error=np.append(pieces.error, best.error),
    )


def _nearest(pieces: Pieces, i: int) -> tuple[int, float, float]:
    """The neuron j whose hyperplane is nearest to that of neuron i, how far it is, and ±1 if it is turned around."""
    turn = np.where(pieces.normals @ pieces.normals[i] < 0, -1.0, 1.0)
    gap = np.linalg.norm(pieces.normals - turn[:, None] * pieces.normals[i], axis=1)
    gap += np.abs(pieces.offsets - turn * pieces.offsets[i]) / np.sqrt(1 + pieces.offsets**2)
    gap[i] = np.inf
    j = int(np.argmin(gap))
    return j, float(gap[j]), float(turn[j])


def _wedges(pieces: Pieces, wider: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Points (n, d) in and beside the wedge between each two neurons that are nearly the same; others miss it."""
    places, d = [], pieces.normals.shape[1]
    for i in range(pieces.count if pieces.count > 1 else 0):
        j, gap, turn = _nearest(pieces, i)
        if gap < _TWICE:
            points = wider[i] * rng.standard_normal((_WEDGE * (d + 1), d))
            points -= np.outer(points @ pieces.normals[i] + pieces.offsets[i], pieces.normals[i])
            apart = turn * (points @ pieces.normals[j] + pieces.offsets[j])
            places.append(points - np.outer(apart * rng.uniform(-1.0, 2.0, len(points)), pieces.normals[i]))
    return places


def _once(pieces: Pieces, points: np.ndarray, answers: np.ndarray, weight: np.ndarray) -> Pieces:
    """With neurons that are one neuron met twice taken once: if one does as well as two, it is one."""
    inputs = np.column_stack([points, np.ones(len(points))])
    least = float(np.mean(((answers - pieces(points)) * weight[:, None]) ** 2))
    i = 0
    while i < pieces.count:
        j, gap, _ = _nearest(pieces, i)
        if pieces.count > 1 and gap < _TWICE:
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
    """One Gauss–Newton step on products jump·(normal, offset) with m outputs.

    The jump is a vector (m,) and the hyperplane (d + 1,): their scale is free, so the length of the normal is set to
    one afterwards. Up to 4,000 unknowns by the normal equations, beyond by LSMR, for which no matrix is formed.
    """
    (k, d), m = pieces.normals.shape, len(pieces.constant)
    if not np.all(np.isfinite(residual)):  # a step before led nowhere
        return pieces
    z = inputs[:, :-1] @ pieces.normals.T + pieces.offsets
    active = (z > 0) * weight[:, None]
    outer = np.concatenate([active * z if m > 1 else np.empty((len(z), 0)), inputs * weight[:, None]], axis=1)
    solve = by_normal_equations if unknowns(pieces) <= _LARGEST else by_products
    rows, tail = solve(active, inputs, outer, pieces.jumps, residual)
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


def _positive(scale: np.ndarray) -> np.ndarray:
    """Lengths of columns, one instead of zero: a neuron that is active nowhere stays where it is."""
    return np.where(scale > 1e-150, scale, 1.0)


def by_normal_equations(
    active: np.ndarray, inputs: np.ndarray, outer: np.ndarray, jumps: np.ndarray, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Changes (k, d + 1) of the hyperplanes and (m, j) of what is linear, from the matrix of derivatives."""
    (n, k), m = active.shape, len(jumps)
    inner = np.einsum("nk,nd,mk->nmkd", active, inputs, jumps).reshape(n * m, -1)
    matrix = np.hstack([inner, np.einsum("nj,ml->nmlj", outer, np.eye(m)).reshape(n * m, -1)])
    gram = matrix.T @ matrix
    scale = _positive(np.sqrt(np.diag(gram)))
    gram /= np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += 1e-9
    change = cho_solve(cho_factor(gram), matrix.T @ residual.ravel() / scale) / scale
    return change[: inner.shape[1]].reshape(k, inputs.shape[1]), change[inner.shape[1] :].reshape(m, -1)


def by_products(
    active: np.ndarray, inputs: np.ndarray, outer: np.ndarray, jumps: np.ndarray, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same from products with the matrix of derivatives, each of which costs n·k·(d + m)."""
    (n, k), m, d = active.shape, len(jumps), inputs.shape[1]
    sizes = np.sqrt(np.square(active).T @ np.square(inputs) * np.sum(jumps**2, axis=0)[:, None])
    scale = _positive(np.concatenate([sizes.ravel(), np.tile(np.linalg.norm(outer, axis=0), m)]))

    def product(v: np.ndarray) -> np.ndarray:
        change = v / scale
        hidden = active * (inputs @ change[: k * d].reshape(k, d).T)
        moved: np.ndarray = hidden @ jumps.T + outer @ change[k * d :].reshape(m, -1).T
        return moved.ravel()

    def transposed(r: np.ndarray) -> np.ndarray:
        r = r.reshape(n, m)
        inner = (active * (r @ jumps)).T @ inputs
        return np.concatenate([inner.ravel(), (r.T @ outer).ravel()]) / scale

    operator = LinearOperator((n * m, len(scale)), matvec=product, rmatvec=transposed, dtype=np.float64)
    change = lsmr(operator, residual.ravel(), atol=1e-9, btol=1e-9, maxiter=_PRODUCTS)[0] / scale
    return change[: k * d].reshape(k, d), change[k * d :].reshape(m, -1)
