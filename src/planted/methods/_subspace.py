r"""One run of the search for few neurons of many inputs: find the span of their rows first, fit there, then descend.

What a linear function leaves of y, r(x), is a sum of functions of the k projections wᵢ·x, less their linear parts. On
white inputs of a symmetric law E[g(r) xxᵀ], g bounded and odd, is a multiple of the identity outside the span of the
rows, so its k eigenvalues away from the others belong to that span; the linear part lies in it too. From ten rows an
input these directions are rough, but neurons fitted in them are so near that a descent in all inputs is short.

That sees the even part of neurons. Of odd ones r is odd, and r(x)·(u·x) even, u being the slope of the linear function,
which is in their span: E[g(r·(u·x)) xxᵀ] shows them as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.activations import Activation
from planted.methods._facts import EXACT
from planted.methods._search import Attempt, Search, same_minimum
from planted.methods._second_order import Move, affordable, descend_near, second_order_run
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.decompositions import least_squares, svd
from planted.numerics.precision import float64

_RUNS = 6
_MOVE = Move(1.5)


def subspace_runs(search: Search) -> int:
    """How many runs in a subspace there may be: some where inputs are too many for second-order steps in all of them.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> subspace_runs(Search.of(Problem.of(data.X, data.y, 2)))
    0
    """
    visible = search.activation.centred_parity is not None and search.activation.on_host
    return _RUNS if search.many_inputs and visible and not affordable(search) else 0


def leading_directions(search: Search) -> np.ndarray:
    """Orthonormal directions (d, r) in which the targets are not linear, and those of their linear parts.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(2000, 20, 1, random_state=0)
    >>> search = Search.of(Problem.of(data.X, data.y, 1))
    >>> basis, z = leading_directions(search), data.X @ data.teacher.weights[0]
    >>> row = np.linalg.lstsq(search.Z, z, rcond=None)[0]
    >>> float(np.linalg.norm(basis.T @ row) / np.linalg.norm(row)) > 0.95
    True
    """
    Z, act, number = search.some, search.activation, search.width + 1
    share = np.ones(len(Z)) if search.share is None else search.share
    targets, linear = search.targets.reshape(len(Z), -1), search.linear.reshape(len(search.linear), -1)
    if act.centred_parity == "odd":
        columns, root = np.column_stack([Z, np.ones(len(Z))]), np.sqrt(share)[:, None]
        linear = least_squares(columns * root, targets * root, 1e-10)
    residual = targets - Z @ linear[:-1] - linear[-1]
    bent = hidden_directions(Z, residual, linear[:-1], share, number, act)
    slopes = linear[:-1] if act.tilt else linear[:-1, :0]
    slopes = slopes / max(float(np.linalg.norm(slopes)), 1e-300)
    basis, sizes, _ = svd(np.column_stack([bent, slopes]))
    return basis[:, sizes > 1e-6 * sizes[0]]


def hidden_directions(
    Z: np.ndarray, residual: np.ndarray, slope: np.ndarray, share: np.ndarray, number: int, activation: Activation
) -> np.ndarray:
    """Orthonormal directions (d, r) that neurons span, by what a linear function with some slope (d, m) leaves (n, m).

    For odd φ there are as many as asked for and the slopes.

    >>> from planted import activations
    >>> Z = np.random.default_rng(0).standard_normal((2000, 5))
    >>> y = np.tanh(Z[:, :1] + Z[:, 1:2]) + np.tanh(Z[:, :1] - Z[:, 1:2])
    >>> slope = np.linalg.lstsq(Z, y, rcond=None)[0]
    >>> basis = hidden_directions(Z, y - Z @ slope, slope, np.ones(2000), 1, activations.get("tanh"))
    >>> np.linalg.norm(basis[:2], axis=0).round(1)
    array([1., 1.])
    """
    if activation.centred_parity != "odd":
        return bent_directions(Z, residual, share, number)
    bent = bent_directions(Z, residual * (Z @ slope), share, number)
    basis, sizes, _ = svd(np.column_stack([bent, slope / max(float(np.linalg.norm(slope)), 1e-300)]))
    return basis[:, sizes > 1e-6 * sizes[0]]


def bent_directions(Z: np.ndarray, residual: np.ndarray, share: np.ndarray | None, number: int) -> np.ndarray:
    """So many orthonormal directions (d, r) of white inputs in which what a linear function leaves (n, m) is bent most.

    >>> Z = np.random.default_rng(0).standard_normal((2000, 5))
    >>> bool(abs(bent_directions(Z, Z[:, :1] ** 2 - 1, None, 1)[0, 0]) > 0.99)
    True
    """
    spread = np.sqrt(np.mean(residual**2, axis=0))
    # Bounded weights: a few large residuals would have eigenvectors of their own.
    bounded = np.tanh(residual / np.where(spread > 0, spread, 1.0))
    bounded = (bounded - bounded.mean(axis=0)) * (1.0 if share is None else share[:, None])
    square = np.zeros((Z.shape[1], Z.shape[1]))
    for column in bounded.T:
        matrix = (Z * column[:, None]).T @ Z / len(Z)
        square += matrix @ matrix
    return np.linalg.eigh(square)[1][:, -number:]


@float64
def subspace_attempts(search: Search, key: np.ndarray) -> list[Attempt]:
    """Runs in the leading directions until independent ones agree, and a descent in all inputs from where they end.

    Runs that end in one place in these directions would end in one place in all inputs too, but for the kinks of
    single rows between which a descent chooses: one attempt stands there for each of them. Third moments are rougher,
    so that a run of odd neurons stands for itself alone.
    """
    basis = leading_directions(search)
    slope, constant = search.linear[:-1], search.linear[-1:]
    inside = basis.T @ slope
    Z = search.some @ basis
    small = replace(
        search,
        Z=Z,
        some=Z,
        targets=search.targets - search.some @ (slope - basis @ inside),
        linear=np.concatenate([inside, constant]),
    )
    runs: list[Attempt] = []
    for run in range(subspace_runs(search)):
        runs.append(second_order_run(small, _MOVE, random.fold_in(key, run)))
        best = min(runs, key=lambda one: one.loss)
        agreeing = sum(same_minimum(best, one) for one in runs)
        if agreeing > 1 or best.loss <= EXACT or passed():
            break
    near = descend_near(search, best.params | {"weights": best.params["weights"] @ basis.T})
    end = replace(near, descents=best.descents | near.descents, wide_loss=best.wide_loss)
    return [end] if search.activation.centred_parity == "odd" else [end] * agreeing
