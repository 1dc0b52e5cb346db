r"""One run of the search for few neurons of many inputs: find the span of their rows first, fit there, then descend.

What a linear function leaves of y, r(x), is a sum of functions of the k projections wᵢ·x, less their linear parts. On
white inputs of a symmetric law E[g(r) xxᵀ], g bounded and odd, is a multiple of the identity outside the span of the
rows, so its k eigenvalues away from the others belong to that span; the linear part lies in it too. From ten rows an
input these directions are rough, but neurons fitted in them are so near that a descent in all inputs is short.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._search import Attempt, Search
from planted.methods._second_order import Move, affordable, second_order_run
from planted.numerics.precision import float64

# With noise kinks leave neighbouring minima: a few runs may be needed until two agree.
_RUNS = 6
_INPUTS_PER_NEURON = 10
_MOVE = Move(1.5)
_STEPS = 1500


def subspace_runs(search: Search) -> int:
    """How many runs begin in a subspace: some where inputs are many, too many for second-order steps in all of them.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem, Search
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> subspace_runs(Search.of(Problem.of(data.X, data.y, 2)))
    0
    """
    many = search.Z.shape[1] >= _INPUTS_PER_NEURON * (search.width + 1)
    # Second moments see the even part of a neuron beside its linear part: all of it for relu, nothing for tanh.
    visible = search.activation.centred_parity == "even" and search.activation.on_host
    return _RUNS if many and visible and not affordable(search) else 0


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
    Z, (slope, constant) = search.some, (search.linear[:-1], search.linear[-1])
    residual = (search.targets - Z @ slope - constant).reshape(len(Z), -1)
    spread = np.sqrt(np.mean(residual**2, axis=0))
    # Bounded weights: a few large residuals would have eigenvectors of their own.
    bounded = np.tanh(residual / np.where(spread > 0, spread, 1.0))
    bounded = (bounded - bounded.mean(axis=0)) * (1.0 if search.share is None else search.share[:, None])
    square = np.zeros((Z.shape[1], Z.shape[1]))
    for column in bounded.T:
        matrix = (Z * column[:, None]).T @ Z / len(Z)
        square += matrix @ matrix
    bent = np.linalg.eigh(square)[1][:, -search.width - 1 :]
    slopes = np.reshape(slope, (len(slope), -1)) if search.activation.tilt else np.zeros((len(slope), 0))
    slopes = slopes / max(float(np.linalg.norm(slopes)), 1e-300)
    basis, sizes, _ = np.linalg.svd(np.column_stack([bent, slopes]), full_matrices=False)
    return basis[:, sizes > 1e-6 * sizes[0]]


@float64
def subspace_run(search: Search, key: np.ndarray) -> Attempt:
    """One run: a second-order one in the leading directions, then a descent in all inputs."""
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
    first = second_order_run(small, _MOVE, key)
    params = first.params | {"weights": first.params["weights"] @ basis.T}
    if "linear" in params:
        params["linear"] = params["linear"] @ basis.T + (slope - basis @ inside).T
    params, signs = fixed_outputs(search, params)
    descent = search.descend(params, signs, _STEPS, final=True)
    params = descent.params if signs is None else descent.params | {"output": signs}
    return Attempt(params, float(descent.value), first.descents | {"all inputs": descent}, first.wide_loss)


def fixed_outputs(search: Search, params: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Parameters in the form of a descent: for one output and homogeneous φ outputs ±1, lengths being in the rows."""
    degree = search.activation.homogeneity
    if degree is None or search.n_outputs is not None:
        return params, None
    output = params["output"]
    length = np.abs(output) ** (1 / degree)
    scaled = {name: (params[name].T * length).T for name in ("weights", "bias") if name in params}
    rest = {name: value for name, value in params.items() if name != "output"}
    return rest | scaled, np.where(output < 0, -1.0, 1.0)
