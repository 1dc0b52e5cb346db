"""Flat directions that are explained: paths of parameters along which the loss is known to stay the same.

A candidate path θ(t), θ(0) = θ, comes from a symmetry that the objective or its model names. It is kept only if the
loss at θ(±t) equals the loss at θ for a finite t, so a candidate that a loss does not have does no harm. The tangents
θ'(0) of the kept ones span directions in which a Hessian at a critical point must vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax import lax

from planted.names import count_of
from planted.numerics.decompositions import svd
from planted.numerics.precision import float64
from planted.objectives import Objective, Params, evaluate, evaluate_with_gradient, flatten, is_small, named

Arrays = dict[str, np.ndarray]

_STEP = 0.1
_SAME = 1e-11
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
        return f"{self.name} ({count_of(m, 'direction')})"


@jax.jit
def _values(objective: Objective, points: Params) -> jax.Array:
    return lax.map(objective.traced_value, points)


def _each_value(objective: Objective, points: list[Params]) -> np.ndarray:
    """Values at several points: on the host where rows are few, else in one program, or in a pass each."""
    if not objective.traceable or is_small(objective, points[0]):
        return np.array([float(evaluate(objective, point)) for point in points])
    padded = points + [points[0]] * (2 * _BATCH - len(points))
    stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *padded)
    return np.asarray(_values(objective, stacked))[: len(points)]


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
    arrays = {name: np.asarray(leaf) for name, leaf in named(checked).items()}
    plain = checked is named(checked).get("weights")
    here = float(evaluate_with_gradient(objective, checked)[0])
    unit = max(abs(here), 1e-300) if scale is None else max(scale, abs(here), 1e-300)

    def tree(point: Arrays) -> Params:
        return point["weights"] if plain else point

    def flat(point: Arrays) -> np.ndarray:
        return flatten(tree(point))

    verified: dict[str, list[np.ndarray]] = {}
    waiting: list[tuple[str, np.ndarray, list[Params]]] = []

    def settle() -> None:
        points = [point for _, _, pair in waiting for point in pair]
        values = _each_value(objective, points).reshape(-1, 2)
        for (name, tangent, _), pair in zip(waiting, values, strict=True):
            if np.all(np.abs(pair - here) <= _SAME * unit):
                verified.setdefault(name, []).append(tangent)
        waiting.clear()

    base = flat(arrays)
    for name, path in objective.symmetries(arrays):
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
    return [Symmetry(name, np.column_stack(tangents)) for name, tangents in verified.items()]


_NOTHING = 1e-20


@float64
def kernel_direction(objective: Objective, params: Params, value: float) -> np.ndarray | None:
    """A direction (p,) in which a Hessian without negative eigenvalues vanishes, or None where none is known.

    That is the tangent of a symmetry, where `value` is the least possible one up to `_NOTHING` of that with all
    parameters zero.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0, 2.0], [0.5, 1.0]], [4.0, 2.0])
    >>> kernel_direction(loss, {"weights": np.array([[1.0, 0.5]]), "output": np.array([2.0])}, 0.0).round(2)
    array([-0.87,  0.44,  0.22])
    """
    least = objective.known_minimum()
    if least is None or objective.rows is None:
        return None
    nothing = objective.value(jax.tree.map(np.zeros_like, params))
    if value - least[0] > _NOTHING * (nothing - least[0]):
        return None
    checked = objective.check(params)
    arrays = {name: np.asarray(leaf) for name, leaf in named(checked).items()}
    plain = checked is named(checked).get("weights")
    refuted: set[str] = set()
    for name, path in objective.symmetries(arrays):
        there = path(_STEP)
        if name in refuted:
            continue
        if float(evaluate(objective, there["weights"] if plain else there)) - least[0] > _SAME * (nothing - least[0]):
            refuted.add(name)
            continue
        tangent = flatten(path(1e-5)) - flatten(path(-1e-5))
        length = float(np.linalg.norm(tangent))
        if length > 0:
            return tangent / length
    return None


def span(symmetries: list[Symmetry], size: int) -> np.ndarray:
    """Orthonormal basis (p, m) of all tangents together.

    >>> span([Symmetry("a", np.array([[2.0], [0.0]])), Symmetry("b", np.array([[1.0], [0.0]]))], 2).shape
    (2, 1)
    """
    if not symmetries:
        return np.zeros((size, 0))
    tangents = np.column_stack([symmetry.tangents for symmetry in symmetries])
    left, singular, _ = svd(tangents)
    return left[:, singular > 1e-6 * singular[0]]
