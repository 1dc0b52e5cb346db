"""Paths of parameters along which a loss is known, or suspected, to stay the same.

A path θ(t), θ(0) = θ, comes from a symmetry of networks. It is a candidate: certificates keep it only if the loss at
θ(±t) equals the loss at θ for a finite t, so one that a loss does not have does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import expm

Arrays = dict[str, np.ndarray]
Path = Callable[[float], Arrays]
Candidates = Iterator[tuple[str, Path]]

_EQUAL = 1e-9


def _row(array: np.ndarray, i: int, value: Any) -> np.ndarray:
    array = array.copy()
    array[i] = value
    return array


def _column(array: np.ndarray, i: int, value: Any) -> np.ndarray:
    array = array.copy()
    array[..., i] = value
    return array


def _joint(arrays: Arrays) -> np.ndarray:
    """Weights (k, d), with the biases as a last column where there are any."""
    return np.column_stack([arrays["weights"], arrays["bias"]]) if "bias" in arrays else arrays["weights"]


def _set_joint(arrays: Arrays, joint: np.ndarray) -> Arrays:
    d = arrays["weights"].shape[1]
    return arrays | {"weights": joint[:, :d]} | ({"bias": joint[:, d]} if "bias" in arrays else {})


def length_paths(arrays: Arrays, name_of: str = "scale of a row, which the loss normalises") -> Candidates:
    """Rows of weights and filters grow, which nothing makes up for; `name_of` says why that may change nothing.

    >>> [name for name, _ in length_paths({"weights": np.ones((2, 3))})]
    ['scale of a row, which the loss normalises', 'scale of a row, which the loss normalises']
    """
    for name in sorted({"weights", "filter", "filters"} & arrays.keys()):
        rows = np.atleast_2d(arrays[name])
        for i in np.flatnonzero(np.any(rows, axis=1)).tolist():

            def path(t: float, i: int = i, name: str = name, rows: np.ndarray = rows) -> Arrays:
                return arrays | {name: _row(rows, i, rows[i] * np.exp(t)).reshape(arrays[name].shape)}

            yield name_of, path


def scale_paths(arrays: Arrays, degree: float) -> Candidates:
    """A neuron's weights and bias grow and its outputs shrink, for φ of this degree.

    >>> (name, path), = scale_paths({"weights": np.ones((1, 1)), "output": np.ones(1)}, 1.0)
    >>> path(np.log(2))
    {'weights': array([[2.]]), 'output': array([0.5])}
    """
    joint, output = _joint(arrays), arrays["output"]
    for i in np.flatnonzero(np.any(joint, axis=1) | np.any(np.atleast_2d(output), axis=0)).tolist():

        def path(t: float, i: int = i) -> Arrays:
            grown = _set_joint(arrays, _row(joint, i, joint[i] * np.exp(t)))
            return grown | {"output": _column(output, i, output[..., i] * np.exp(-degree * t))}

        yield "scale between the layers", path


def _clusters(joint: np.ndarray, signed: bool, scaled: bool) -> list[list[tuple[int, float]]]:
    """Groups of (neuron, c) with equal rows up to a factor c: positive if `scaled`, of either sign if `signed`."""
    groups: list[list[tuple[int, float]]] = []
    for i, row in enumerate(joint):
        for group in groups:
            head = joint[group[0][0]]
            factor = float(row @ head) / float(head @ head) if np.any(head) else 1.0
            allowed = (factor > 0 or signed) and (scaled or abs(abs(factor) - 1) <= _EQUAL)
            size = np.linalg.norm(row) + np.linalg.norm(head)
            if allowed and np.linalg.norm(row - factor * head) <= _EQUAL * size:
                group.append((i, factor))
                break
        else:
            groups.append([(i, 1.0)])
    return [group for group in groups if len(group) > 1]


def _equal_neurons(arrays: Arrays, outer: np.ndarray, degree: float | None, parity: str | None) -> Iterator[Path]:
    """Neurons with the same direction share their output between them."""
    joint = _joint(arrays)
    for (i, _), *others in _clusters(joint, parity is not None, degree is not None):
        for j, c in others:
            ratio = abs(c) ** (degree or 0.0) * (-1.0 if parity == "odd" and c < 0 else 1.0)
            if "output" in arrays:
                for place in np.ndindex(outer.shape[:-1]):
                    change = np.zeros_like(outer)
                    change[(*place, i)], change[(*place, j)] = -ratio, 1.0
                    change *= max(abs(outer[(*place, i)]), abs(outer[(*place, j)]), 1e-3)
                    yield lambda t, change=change: arrays | {"output": outer + t * change}  # type: ignore[misc]
            elif degree is not None and np.all(outer[..., [i, j]]) and outer.ndim == 1:
                share = outer[j] * ratio / outer[i]

                def path(t: float, i: int = i, j: int = j, share: float = share) -> Arrays:
                    # Keep a_i s_i^p + a_j c^p s_j^p: let s_j grow and s_i make up for it.
                    t = t / max(1.0, abs(share))
                    left = 1 + share * (1 - (1 + t) ** degree)
                    moved = _row(joint, j, joint[j] * (1 + t))
                    return _set_joint(arrays, _row(moved, i, joint[i] * left ** (1 / degree)))

                yield path


def _silent_neurons(arrays: Arrays, outer: np.ndarray, silent: np.ndarray) -> Iterator[Path]:
    """A neuron with output zero may have any weights; one that no sample activates, any output and nearby weights."""
    joint, muted = _joint(arrays), ~np.any(np.atleast_2d(outer), axis=0)
    for i in np.flatnonzero(silent | muted):
        reach = 1e-3 * max(float(np.linalg.norm(joint[i])), 1e-3) if silent[i] else 1.0
        for axis in np.eye(joint.shape[1]):
            yield lambda t, i=i, axis=axis, reach=reach: _set_joint(  # type: ignore[misc]
                arrays, _row(joint, i, joint[i] + reach * t * axis)
            )
        for place in np.ndindex(outer.shape[:-1]) if silent[i] and "output" in arrays else ():
            change = np.zeros_like(outer)
            change[(*place, i)] = 1.0
            yield lambda t, change=change: arrays | {"output": outer + t * change}  # type: ignore[misc]


def _factorisations(arrays: Arrays, output: np.ndarray) -> Iterator[Path]:
    """W ↦ QW with QᵀDQ = D keeps M = WᵀDW: the freedom of an over-parameterised quadratic network."""
    weights = arrays["weights"]
    live = [int(i) for i in np.flatnonzero(output)]
    for position, i in enumerate(live):
        for j in live[position + 1 :]:
            pair = np.array([[0.0, 1 / output[i]], [-1 / output[j], 0.0]]) * np.sqrt(abs(output[i] * output[j]))

            def path(t: float, i: int = i, j: int = j, pair: np.ndarray = pair) -> Arrays:
                turned = weights.copy()
                turned[[i, j]] = expm(t * pair) @ weights[[i, j]]
                return arrays | {"weights": turned}

            yield path


def neuron_paths(
    arrays: Arrays, outer: np.ndarray, degree: float | None, parity: str | None, silent: np.ndarray
) -> Candidates:
    """What the neurons of a layer may do: share scale with the output, share output with their equals, be silent, turn.

    Parameters
    ----------
    outer : array (k,) or (m, k)
        The output layer, fixed or among the parameters.
    degree, parity : float, str or None
        Of the function that the neurons apply: its homogeneity, "even" or "odd".
    silent : array (k,) of bool
        Neurons that are zero on every sample.

    Examples
    --------
    >>> arrays = {"weights": np.eye(2), "output": np.ones(2)}
    >>> [name for name, _ in neuron_paths(arrays, arrays["output"], 1.0, None, np.zeros(2, bool))]
    ['scale between the layers', 'scale between the layers']
    """
    if degree is not None and "output" in arrays:
        yield from scale_paths(arrays, degree)
    yield from (("equal neurons share their output", path) for path in _equal_neurons(arrays, outer, degree, parity))
    yield from (("neurons that contribute nothing", path) for path in _silent_neurons(arrays, outer, silent))
    if degree == 2 and parity == "even":
        one = np.atleast_2d(outer)[0]
        yield from (("factorisations of the same matrix", path) for path in _factorisations(arrays, one))


def null_space(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal columns that `matrix` (m, d) maps to zero, to 1e-12 of its norm.

    >>> null_space(np.array([[1.0, 0.0]])).shape
    (2, 1)
    """
    _, singular, right = np.linalg.svd(matrix, full_matrices=True)
    rank = int(np.sum(singular > 1e-12 * max(singular.max(initial=0.0), 1e-300)))
    return right[rank:].T


def unseen_paths(arrays: Arrays, gram: np.ndarray) -> Candidates:
    """Weights along directions in which no sample varies are free; `gram` (d, d) is Σ xxᵀ.

    Directions are told in units of the inputs, so that one in small units does not count as none.

    >>> len(list(unseen_paths({"weights": np.ones((3, 2))}, np.diag([1.0, 0.0]))))
    3
    >>> len(list(unseen_paths({"weights": np.ones((3, 2))}, np.diag([1.0, 1e-20]))))
    0
    """
    units = np.where(np.diagonal(gram) > 0, np.diagonal(gram), 1.0) ** -0.5
    null = units[:, None] * null_space(units[:, None] * gram * units)
    weights, null = arrays["weights"], null / np.linalg.norm(null, axis=0)
    for i in range(len(weights)):
        for axis in null.T:

            def path(t: float, i: int = i, axis: np.ndarray = axis) -> Arrays:
                return arrays | {"weights": _row(weights, i, weights[i] + t * axis)}

            yield "inputs that do not vary", path


def rotation_paths(arrays: Arrays, teacher_rows: np.ndarray) -> Candidates:
    """Rotations of the inputs that fix the teacher's weights, for losses under rotation-invariant inputs.

    >>> len(list(rotation_paths({"weights": np.ones((1, 3))}, np.array([[1.0, 0.0, 0.0]]))))
    1
    """
    name = "weights" if "weights" in arrays else "filter"
    free = null_space(teacher_rows)
    for a in range(free.shape[1]):
        for b in range(a):
            plane = free[:, [a, b]]

            def path(t: float, plane: np.ndarray = plane) -> Arrays:
                turn = np.array([[np.cos(t) - 1, -np.sin(t)], [np.sin(t), np.cos(t) - 1]])
                return arrays | {name: arrays[name] + arrays[name] @ plane @ turn @ plane.T}

            yield "rotation of inputs that the teacher does not see", path
