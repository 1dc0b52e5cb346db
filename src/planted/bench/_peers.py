"""What else one would use to recover a network: the contenders of `planted bench`."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from planted import activations
from planted.bench._cells import BenchCell
from planted.methods import METHODS, refine
from planted.names import SKLEARN_ACTIVATIONS
from planted.networks import Network
from planted.numerics.progress import Progress
from planted.starts.output_layer import least_squares_outputs

_TIMED_ITERATIONS = 5
_CONVEX_NEURONS = 200

Fit = Callable[[np.ndarray, np.ndarray, BenchCell, int, float], Network]
"""Called as `fit(X, y, cell, seed, until)`; may raise :class:`OutOfTime` when `time.perf_counter()` is past `until`."""


class OutOfTime(Exception):
    """A fit did not end in the time it was given.

    >>> raise OutOfTime
    Traceback (most recent call last):
    planted.bench._peers.OutOfTime
    """


def _end_at(until: float) -> Progress:
    """A progress callback that ends the work when its time is over."""

    def progress(done: int, total: int, text: str) -> None:
        if time.perf_counter() > until:
            raise OutOfTime

    return progress


@dataclass(frozen=True)
class Peer:
    """A contender: its fit, the package it needs, and the activations it has (None for all)."""

    fit: Fit
    package: str
    activations: tuple[str, ...] | None = None

    def obstacle(self, cell: BenchCell) -> str | None:
        """Why it does not run on a cell here, or None.

        >>> Peer(own("squared"), "planted", ("relu",)).obstacle(BenchCell(3, 2, 40, "tanh"))
        'it has no tanh'
        """
        if self.activations is not None and cell.activation not in self.activations:
            return f"it has no {cell.activation}"
        return None if find_spec(self.package) else f"{self.package} is not installed"


def own(method: str) -> Fit:
    """A method of this library as a contender.

    >>> data = BenchCell(3, 2, 40).data(0)
    >>> own("auto")(data.X, data.y, BenchCell(3, 2, 40), 0, np.inf).n_hidden
    2
    """

    def fit(X: np.ndarray, y: np.ndarray, cell: BenchCell, seed: int, until: float) -> Network:
        return METHODS[method].begin(replace(cell.problem(X, y, seed), progress=_end_at(until))).network

    return fit


def _within(until: float, fitted: Callable[[int], Any], most: int) -> Any:
    """`fitted(iterations)` of as many as end in time: a tool that cannot be stopped runs a few first, to be timed."""
    if until == np.inf:
        return fitted(most)
    began = time.perf_counter()
    fitted(_TIMED_ITERATIONS)
    now = time.perf_counter()
    enough_for = (until - now) / (now - began) * _TIMED_ITERATIONS
    if enough_for < 1:
        raise OutOfTime
    return fitted(int(min(enough_for, most)))


def _sklearn(solver: str) -> Fit:
    def fit(X: np.ndarray, y: np.ndarray, cell: BenchCell, seed: int, until: float) -> Network:
        def fitted(iterations: int) -> MLPRegressor:
            model = MLPRegressor(
                hidden_layer_sizes=(cell.k,),
                activation=SKLEARN_ACTIVATIONS[cell.activation],
                solver=solver,
                alpha=0.0,
                max_iter=iterations,
                tol=1e-12,
                random_state=seed,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return model.fit(X, y)

        model = _within(until, fitted, 2000)
        first, second = model.coefs_
        bias, intercept = model.intercepts_
        return Network(first.T, second[:, 0], cell.activation, bias, float(intercept[0]))

    return fit


def third_order_moment(X: np.ndarray, y: np.ndarray, direction: np.ndarray | None = None) -> np.ndarray:
    """E[y He₃(x)] (d, d, d), or E[y He₄(x)] contracted with `direction`, for standard normal rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200_000, 2))
    >>> third_order_moment(X, X[:, 0] ** 3 - 3 * X[:, 0])[0, 0, 0].round(0)
    np.float64(6.0)
    """
    n, d = X.shape
    eye = np.eye(d)

    def symmetric(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        outer = np.einsum("ij,k->ijk", matrix, vector)
        return outer + outer.transpose(0, 2, 1) + outer.transpose(2, 1, 0)

    factor = y if direction is None else y * (X @ direction)
    pairs = (X[:, :, None] * X[:, None, :]).reshape(n, d * d)
    moment = (pairs.T @ (X * factor[:, None]) / n).reshape(d, d, d) - symmetric(eye, X.T @ factor / n)
    if direction is None:
        return moment
    second = X.T @ (X * y[:, None]) / n
    return moment - symmetric(second, direction) + np.mean(y) * symmetric(eye, direction)


def _tensorly(X: np.ndarray, y: np.ndarray, cell: BenchCell, seed: int, until: float) -> Network:
    """The Hermite tensor decomposed by TensorLy's alternating least squares; its directions refined."""
    from tensorly.decomposition import parafac

    act, rng, progress = activations.get(cell.activation), np.random.default_rng(seed), _end_at(until)
    odd = act.centred_parity == "odd"
    direction: np.ndarray | None = None if odd else rng.standard_normal((X.shape[1],))
    tensor = third_order_moment(X, y - np.mean(y), direction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, factors = parafac(
            tensor,
            rank=cell.k,
            init="random",
            random_state=seed,
            n_iter_max=200,
            tol=1e-8,
            callback=lambda *_: progress(0, 1, "parafac"),
        )
    rows = np.asarray(factors[0]).T
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    layer = least_squares_outputs(X, y, rows, act)
    problem = replace(cell.problem(X, y), progress=progress)
    return refine(problem, Network(layer.weights, layer.output, act)).network


def _convex(X: np.ndarray, y: np.ndarray, cell: BenchCell, seed: int, until: float) -> Network:
    """A wide network by pyscnn's convex program; its k largest neurons refined."""
    from scnn.activations import sample_gate_vectors
    from scnn.metrics import Metrics
    from scnn.models import ConvexReLU
    from scnn.optimize import optimize_model
    from scnn.regularizers import NeuronGL1
    from scnn.solvers import AL

    # It warns of every limit on its iterations.
    logging.getLogger("scnn").disabled = True
    gates = sample_gate_vectors(seed, X.shape[1], _CONVEX_NEURONS // 2)

    def fitted(iterations: int) -> Any:
        model = ConvexReLU(gates)
        solver, penalty = AL(model, max_primal_iters=iterations), NeuronGL1(1e-6)
        data = {"X_train": X, "y_train": y[:, None], "regularizer": penalty}
        return optimize_model(model, solver, Metrics(), **data, dtype="float64", seed=seed)[0]

    model = _within(until, fitted, 10_000)
    first, second = (np.asarray(part, dtype=np.float64) for part in model.parameters)
    size = np.linalg.norm(first, axis=1) * np.abs(second[0])
    largest = np.argsort(-size)[: cell.k]
    start = Network(first[largest], second[0, largest])
    return refine(replace(cell.problem(X, y), progress=_end_at(until)), start).network


PEERS: dict[str, Peer] = {
    "scikit-learn L-BFGS": Peer(_sklearn("lbfgs"), "sklearn", tuple(SKLEARN_ACTIVATIONS)),
    "scikit-learn Adam": Peer(_sklearn("adam"), "sklearn", tuple(SKLEARN_ACTIVATIONS)),
    "optax Adam multi-start": Peer(own("squared"), "optax"),
    "TensorLy moments": Peer(_tensorly, "tensorly"),
    "pyscnn": Peer(_convex, "scnn", ("relu",)),
}
