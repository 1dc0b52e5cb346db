"""Flat directions that are explained: paths of parameters along which the loss is known to stay the same.

A candidate path θ(t), θ(0) = θ, comes from a known symmetry. It is kept only if the loss at θ(±t) equals the loss at θ
for a finite t, so a candidate that a loss does not have does no harm. The tangents θ'(0) of the kept ones span
directions in which a Hessian at a critical point must vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.linalg import expm

from planted.numerics.precision import float64
from planted.objectives import Objective, Params, evaluate_with_gradient, flatten
from planted.rows import Block

Arrays = dict[str, np.ndarray]
Path = Callable[[float], Arrays]

_STEP = 0.1
_SAME = 1e-11
_EQUAL = 1e-9
_BATCH = 64


@dataclass(frozen=True)
class Symmetry:
    """A kind of symmetry and the directions it leaves flat.

    Attributes
    ----------
    name : str
    tangents : array (p, m)
        One column for each verified path, unit length.
    """

    name: str
    tangents: np.ndarray

    def __str__(self) -> str:
        m = self.tangents.shape[1]
        return f"{self.name} ({m} direction{'s' * (m > 1)})"


@jax.jit
def _values(objective: Objective, points: Params) -> jax.Array:
    return lax.map(objective.traced_value, points)


def _each_value(objective: Objective, points: list[Params]) -> np.ndarray:
    """Values at several points: one program where it can be traced, otherwise one pass each."""
    if not objective.traceable:
        return np.array([float(objective.traced_value(point)) for point in points])
    padded = points + [points[0]] * (2 * _BATCH - len(points))
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *padded)
    return np.asarray(_values(objective, stacked))[: len(points)]


def _with(arrays: Arrays, **changed: np.ndarray) -> Arrays:
    return {**arrays, **changed}


def _row(array: np.ndarray, i: int, value: Any) -> np.ndarray:
    array = array.copy()
    array[i] = value
    return array


def _joint(arrays: Arrays) -> np.ndarray:
    """Weights (k, d), with the biases as a last column where there are any."""
    return np.column_stack([arrays["weights"], arrays["bias"]]) if "bias" in arrays else arrays["weights"]


def _set_joint(arrays: Arrays, joint: np.ndarray) -> Arrays:
    d = arrays["weights"].shape[1]
    changed = {"weights": joint[:, :d]}
    return _with(arrays, **changed, **({"bias": joint[:, d]} if "bias" in arrays else {}))


def _normalisation(arrays: Arrays) -> Iterator[Path]:
    for name in {"weights", "filter"} & arrays.keys():
        rows = arrays[name] if arrays[name].ndim == 2 else arrays[name][None]
        for i in range(len(rows)):
            if np.any(rows[i]):
                yield lambda t, i=i, name=name, rows=rows: _with(  # type: ignore[misc]
                    arrays, **{name: _row(rows, i, rows[i] * np.exp(t)).reshape(arrays[name].shape)}
                )


def _scale(arrays: Arrays, degree: float) -> Iterator[Path]:
    joint, output = _joint(arrays), arrays["output"]
    for i in range(len(joint)):
        if np.any(joint[i]) or output[i]:
            yield lambda t, i=i: _with(  # type: ignore[misc]
                _set_joint(arrays, _row(joint, i, joint[i] * np.exp(t))),
                output=_row(output, i, output[i] * np.exp(-degree * t)),
            )


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


def _equal_neurons(arrays: Arrays, fixed: np.ndarray, degree: float | None, parity: str | None) -> Iterator[Path]:
    """Neurons with the same direction share their output between them."""
    joint = _joint(arrays)
    for group in _clusters(joint, parity is not None, degree is not None):
        (i, _), *others = group
        for j, c in others:
            ratio = abs(c) ** (degree or 0.0) * (-1.0 if parity == "odd" and c < 0 else 1.0)
            if "output" in arrays:
                a = arrays["output"]
                size = max(abs(a[i]), abs(a[j]), 1e-3)
                yield lambda t, i=i, j=j, ratio=ratio, a=a, size=size: _with(  # type: ignore[misc]
                    arrays, output=_row(_row(a, i, a[i] - size * t * ratio), j, a[j] + size * t)
                )
            elif degree is not None and fixed[i] and fixed[j]:
                share = fixed[j] * ratio / fixed[i]

                def path(t: float, i: int = i, j: int = j, share: float = share) -> Arrays:
                    # Keep a_i s_i^p + a_j c^p s_j^p: let s_j grow and s_i make up for it.
                    t = t * min(1.0, 1.0 / abs(share))
                    rest = 1 + share * (1 - (1 + t) ** degree)
                    moved = _row(joint, j, joint[j] * (1 + t))
                    return _set_joint(arrays, _row(moved, i, joint[i] * rest ** (1 / degree)))

                yield path


def _silent_neurons(arrays: Arrays, silent: np.ndarray, muted: np.ndarray) -> Iterator[Path]:
    """A neuron with output zero may have any weights; one that no sample activates, any output and nearby weights."""
    joint = _joint(arrays)
    for i in np.flatnonzero(silent | muted):
        reach = 1e-3 * max(float(np.linalg.norm(joint[i])), 1e-3) if silent[i] else 1.0
        for axis in np.eye(joint.shape[1]):
            yield lambda t, i=i, axis=axis, reach=reach: _set_joint(  # type: ignore[misc]
                arrays, _row(joint, i, joint[i] + reach * t * axis)
            )
        if silent[i] and "output" in arrays:
            yield lambda t, i=i: _with(arrays, output=_row(arrays["output"], i, arrays["output"][i] + t))  # type: ignore[misc]


def _factorisations(arrays: Arrays, fixed: np.ndarray) -> Iterator[Path]:
    """W ↦ QW with QᵀDQ = D keeps M = WᵀDW: the freedom of an over-parameterised quadratic network."""
    weights, output = arrays["weights"], arrays.get("output", fixed)
    live = [int(i) for i in np.flatnonzero(output)]
    for position, i in enumerate(live):
        for j in live[position + 1 :]:
            pair = np.array([[0.0, 1 / output[i]], [-1 / output[j], 0.0]]) * np.sqrt(abs(output[i] * output[j]))

            def path(t: float, i: int = i, j: int = j, pair: np.ndarray = pair) -> Arrays:
                turned = weights.copy()
                turned[[i, j]] = expm(t * pair) @ weights[[i, j]]
                return _with(arrays, weights=turned)

            yield path


def _unseen_inputs(arrays: Arrays, null: np.ndarray) -> Iterator[Path]:
    """Weights along directions in which no sample varies are free."""
    weights = arrays["weights"]
    for i in range(len(weights)):
        for axis in null.T:
            yield lambda t, i=i, axis=axis: _with(arrays, weights=_row(weights, i, weights[i] + t * axis))  # type: ignore[misc]


def _input_rotations(arrays: Arrays, free: np.ndarray) -> Iterator[Path]:
    """Rotations of the inputs that fix the teacher's weights, for losses under rotation-invariant inputs."""
    name = "weights" if "weights" in arrays else "filter"
    for a in range(free.shape[1]):
        for b in range(a):
            plane = free[:, [a, b]]

            def path(t: float, plane: np.ndarray = plane) -> Arrays:
                turn = np.array([[np.cos(t) - 1, -np.sin(t)], [np.sin(t), np.cos(t) - 1]])
                return _with(arrays, **{name: arrays[name] + arrays[name] @ plane @ turn @ plane.T})

            yield path


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal columns that `matrix` (m, d) maps to zero."""
    _, singular, right = np.linalg.svd(matrix, full_matrices=True)
    rank = int(np.sum(singular > 1e-12 * max(singular.max(initial=0.0), 1e-300)))
    return right[rank:].T


def _teacher_rows(objective: Any) -> np.ndarray | None:
    for name in ("directions", "weights", "filter"):
        array = getattr(objective, name, None)
        if array is not None and getattr(objective, "rows", None) is None:
            return np.atleast_2d(np.asarray(array))
    return None


def _silence(objective: Any, arrays: Arrays) -> np.ndarray:
    """Which neurons are zero on every sample of an empirical loss."""
    k = len(arrays["weights"])
    activation: Any = getattr(objective, "activation", None)
    rows: Any = getattr(objective, "rows", None)
    if activation is None or not hasattr(objective, "predict") or rows is None:
        return np.zeros(k, bool)
    if not rows.traceable:
        return np.asarray(rows.minimum(block_silence, objective.bare, arrays)) == 0
    seen = np.zeros(k, bool)
    for block in range(rows.blocks["y"].shape[0]):
        z = np.asarray(rows.blocks["x"][block]) @ arrays["weights"].T + arrays.get("bias", 0.0)
        live = np.asarray(rows.blocks["weight"][block]) > 0
        seen |= np.any(activation(z[live]) != 0, axis=0)
    return ~seen


def block_silence(block: Block, objective: Any, arrays: Arrays) -> jax.Array:
    """−max |φ(w_i·x + b_i)| over a block, for each neuron."""
    z = block["x"] @ arrays["weights"].T + arrays.get("bias", 0.0)
    return -jnp.max(jnp.where(block["weight"][:, None] > 0, jnp.abs(objective.activation(z)), 0.0), axis=0)


def block_gram(block: Block) -> jax.Array:
    """Σ xxᵀ over the rows of a block that count."""
    x = jnp.where(block["weight"][:, None] > 0, block["x"], 0.0)
    return x.T @ x


def _candidates(objective: Any, arrays: Arrays) -> Iterator[tuple[str, Path]]:
    yield from (("scale of a row, which the loss normalises", path) for path in _normalisation(arrays))
    teacher = _teacher_rows(objective)
    columns = arrays["weights"].shape[1] if "weights" in arrays else len(arrays.get("filter", ()))
    if teacher is not None and teacher.shape[1] == columns:
        free = _null_space(teacher)
        yield from (
            ("rotation of inputs that the teacher does not see", path) for path in _input_rotations(arrays, free)
        )
    if "weights" not in arrays:
        return
    activation = getattr(objective, "activation", None)
    degree, parity = getattr(activation, "homogeneity", None), getattr(activation, "parity", None)
    given = getattr(objective, "output", None)
    fixed = np.ones(len(arrays["weights"])) if given is None or np.ndim(given) != 1 else np.asarray(given)
    if len(fixed) != len(arrays["weights"]):
        fixed = np.ones(len(arrays["weights"]))
    output = arrays.get("output", fixed)
    if degree is not None and "output" in arrays:
        yield from (("scale between the layers", path) for path in _scale(arrays, degree))
    yield from (("equal neurons share their output", path) for path in _equal_neurons(arrays, fixed, degree, parity))
    silent, muted = _silence(objective, arrays), output == 0
    yield from (("neurons that contribute nothing", path) for path in _silent_neurons(arrays, silent, muted))
    if degree == 2 and parity == "even":
        yield from (("factorisations of the same matrix", path) for path in _factorisations(arrays, fixed))
    rows: Any = getattr(objective, "rows", None)
    if rows is not None and len(rows.shape) == 1:
        unseen = _null_space(np.asarray(rows.sum(block_gram)))
        yield from (("inputs that do not vary", path) for path in _unseen_inputs(arrays, unseen))


@float64
def flat_symmetries(objective: Objective, params: Params, scale: float | None = None) -> list[Symmetry]:
    """The known symmetries of `objective` that move `params`, each verified along a finite path.

    Parameters
    ----------
    scale : float, optional
        Size of values to which a change is compared; |value| at `params` if omitted.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0, 2.0], [0.5, -1.0]], [1.0, 2.0])
    >>> params = {"weights": np.array([[1.0, 0.5]]), "output": np.array([2.0])}
    >>> [str(symmetry) for symmetry in flat_symmetries(loss, params)]
    ['scale between the layers (1 direction)']
    """
    checked = objective.check(params)
    plain = not isinstance(checked, dict)
    arrays = {name: np.asarray(leaf) for name, leaf in ({"weights": checked} if plain else checked).items()}
    here = float(evaluate_with_gradient(objective, checked)[0])
    unit = max(abs(here), 1e-300) if scale is None else max(scale, abs(here), 1e-300)

    def tree(point: Arrays) -> Params:
        return point["weights"] if plain else point

    def flat(point: Arrays) -> np.ndarray:
        return flatten(tree(point))

    found: dict[str, list[np.ndarray]] = {}
    waiting: list[tuple[str, np.ndarray, list[Params]]] = []

    def settle() -> None:
        points = [point for _, _, pair in waiting for point in pair]
        values = _each_value(objective, points).reshape(-1, 2)
        for (name, tangent, _), pair in zip(waiting, values, strict=True):
            if np.all(np.abs(pair - here) <= _SAME * unit):
                found.setdefault(name, []).append(tangent)
        waiting.clear()

    base = flat(arrays)
    for name, path in _candidates(objective, arrays):
        ahead, behind = flat(path(1e-5)) - base, flat(path(-1e-5)) - base
        tangent = ahead - behind
        length = float(np.linalg.norm(tangent))
        if length <= 1e-12 * max(float(np.linalg.norm(base)), 1e-3):
            continue
        waiting.append((name, tangent / length, [tree(path(_STEP)), tree(path(-_STEP))]))
        if len(waiting) == _BATCH:
            settle()
    if waiting:
        settle()
    return [Symmetry(name, np.column_stack(tangents)) for name, tangents in found.items()]


def span(symmetries: list[Symmetry], size: int) -> np.ndarray:
    """Orthonormal basis (p, m) of all tangents together.

    >>> span([Symmetry("a", np.array([[2.0], [0.0]])), Symmetry("b", np.array([[1.0], [0.0]]))], 2).shape
    (2, 1)
    """
    if not symmetries:
        return np.zeros((size, 0))
    tangents = np.column_stack([symmetry.tangents for symmetry in symmetries])
    left, singular, _ = np.linalg.svd(tangents, full_matrices=False)
    return left[:, singular > 1e-6 * singular[0]]
