r"""Variable projection: Levenberg–Marquardt on the hidden rows alone, the layers that enter linearly solved exactly.

The squared loss of f(x) = N(x) b + Σ_i a_i ψ(v_i·x̃) is linear in the outputs a and in the coefficients b of the
nuisance columns N (a constant, and the inputs where a linear part is split off). For rows V they are a least-squares
fit, so the loss is a function of V alone. With P the projection onto the complement of the columns (N, ψ(XVᵀ)) and r =
Py, Kaufman's step (1975) solves

    (T ᵀPT ∘ (AᵀA ⊗ 11ᵀ) + ν diag + μI) s = (r A ∘ ψ'(z))ᵀ x̃ − μV,      T_(n, ia) = ψ'(z_ni) x̃_na.

The decay μ is a fraction of the loss itself, so that it keeps neurons from growing into steps or into pairs that
cancel while the loss is large, and is gone where the loss is zero: convergence stays quadratic. For many inputs the
matrix is never formed: conjugate gradients take products with it (:mod:`planted.solvers._projection_products`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from planted.activations import Activation
from planted.numerics.progress import Progress, silent
from planted.numerics.threads import one_thread
from planted.solvers._columns import Factor, Singular, factored, norms_of
from planted.solvers._iterate import Ending, Solver, iterate
from planted.solvers._projection_products import Products, independent_columns
from planted.solvers._result import Descent

_DAMPINGS = (1e-2, 1e-14, 1e10)
# Diagonal entries of the curvature below this share count as zero.
_LEAST = 1e-10
# Nuisance columns from which they are factored once for all points, and inputs from which steps take products.
_MANY_COLUMNS, _MANY_INPUTS = 100, 150
# The share of a neuron that its linear part has to leave for one subtraction to be precise.
_NEARLY_LINEAR = 0.1
# What conjugate gradients leave of the equations, at most and at least.
_FORCING = (0.1, 1e-3)


@dataclass(frozen=True)
class SeparableRows:
    """Rows for a network whose linear layers are solved exactly.

    Attributes
    ----------
    X : array (n, q)
        Inputs, followed by a column of ones where neurons have biases.
    nuisance : array (n, l)
        Columns that enter linearly beside the neurons.
    y : array (n, m)
    activation : Activation
        ψ(z) = φ(z) − offset − tilt·z.
    weight : array (n,), optional
        Square roots of row weights.
    centred : bool
        Whether neurons are ψ(z); φ(z) itself otherwise.
    origin : SeparableRows, optional
        Rows with the same inputs, columns, targets and weights, which are factored once for both.

    Examples
    --------
    >>> from planted import activations
    >>> X = np.array([[1.0], [-1.0], [2.0]])
    >>> rows = SeparableRows(X, np.ones((3, 1)), np.abs(X), activations.get("abs"))
    >>> round(rows.at(np.ones((1, 1))).value, 12)
    0.0
    """

    X: np.ndarray
    nuisance: np.ndarray
    y: np.ndarray
    activation: Activation
    weight: np.ndarray | None = None
    centred: bool = True
    origin: SeparableRows | None = None

    @property
    def tilt(self) -> float:
        """The slope of what is taken off φ."""
        return self.activation.tilt if self.centred else 0.0

    def first(self, count: int) -> SeparableRows:
        """So many of the rows."""
        weight = None if self.weight is None else self.weight[:count]
        return replace(
            self, X=self.X[:count], nuisance=self.nuisance[:count], y=self.y[:count], weight=weight, origin=None
        )

    def features(self, z: np.ndarray) -> np.ndarray:
        """What neurons with pre-activations z add to the linear columns."""
        value = self.activation(z)
        return value - self.activation.offset - self.tilt * z if self.centred else value

    @cached_property
    def across(self) -> np.ndarray:
        """The inputs (q, n), each of them in one piece: few inputs of many rows are multiplied one by one."""
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def _weighted(self) -> tuple[np.ndarray, np.ndarray]:
        """Nuisance columns and targets, times the square roots of the weights."""
        if self.weight is None:
            return self.nuisance, self.y
        return self.nuisance * self.weight[:, None], self.y * self.weight[:, None]

    @cached_property
    def _factored(self) -> tuple[Factor, np.ndarray, np.ndarray, np.ndarray]:
        """The nuisance columns, the targets, their coefficients in the basis of those, and what these leave."""
        if self.origin is not None:
            return self.origin._factored
        columns, y = self._weighted
        quick = independent_columns(columns)
        factor = factored(columns) if quick is None else Singular(*quick)
        inside = factor.basis.T @ y
        return factor, y, inside, y - factor.basis @ inside

    @cached_property
    def rough(self) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """The inputs and, where they are many, a basis of the nuisance columns in float32."""
        if self.origin is not None:
            return self.origin.rough
        many = self.nuisance.shape[1] >= _MANY_COLUMNS
        fixed = (self._factored[0].basis.astype(np.float32),) if many else ()
        return self.X.astype(np.float32), fixed

    def _beside_many(self, rows: np.ndarray) -> ProjectedPoint:
        """The loss at hidden rows (k, q), the nuisance columns being factored already."""
        factor, y, inside, rest = self._factored
        fixed = factor.basis
        z = self.X @ rows.T
        features = self.features(z)
        if self.weight is not None:
            features = features * self.weight[:, None]
        shape = (self.nuisance.shape[1] + len(rows), y.shape[1])
        if not np.isfinite(features).all():
            return ProjectedPoint(rows, z, features, y, np.zeros(shape), rest, np.inf, fixed=fixed)
        size, taken = np.linalg.norm(features, axis=0), fixed.T @ features
        left = features - fixed @ taken
        # What is left of a neuron near its linear part is small: twice, so that it is orthogonal to rounding.
        if np.any(np.linalg.norm(left, axis=0) < _NEARLY_LINEAR * size):
            left -= fixed @ (fixed.T @ left)
        neurons = factored(left, size)
        basis = neurons.basis
        projected = basis.T @ rest
        output = neurons.solution(projected)
        if not np.isfinite(output).all():
            return ProjectedPoint(rows, z, features, y, np.zeros(shape), rest, np.inf, fixed=fixed)
        solution = np.concatenate([factor.solution(inside - taken @ output), output])
        residual = rest - basis @ projected
        value = 0.5 * float(np.sum(residual**2)) / len(y)
        return ProjectedPoint(rows, z, basis, y, solution, residual, value, fixed=fixed)

    def at(self, rows: np.ndarray) -> ProjectedPoint:
        """The loss at hidden rows (k, q), with the linear layers solved.

        It is infinite where features are, and where outputs would be: of a neuron of which rows have only its far tail.
        """
        if self.nuisance.shape[1] >= _MANY_COLUMNS:
            return self._beside_many(rows)
        z = (rows @ self.across).T
        nuisance, y = self._weighted
        # Column by column in memory, as LAPACK takes them.
        columns = np.empty((nuisance.shape[1] + len(rows), len(y))).T
        columns[:, : nuisance.shape[1]] = nuisance
        features = self.features(z)
        columns[:, nuisance.shape[1] :] = features if self.weight is None else features * self.weight[:, None]
        norms = norms_of(columns)
        nowhere = ProjectedPoint(rows, z, columns, y, np.zeros((columns.shape[1], y.shape[1])), y, np.inf)
        if not np.isfinite(norms).all():
            return nowhere
        if not columns.shape[1]:
            return ProjectedPoint(rows, z, columns, y, np.zeros((0, y.shape[1])), y, 0.5 * float(np.sum(y**2)) / len(y))
        factor = factored(columns, norms, relative=True)
        projected = factor.basis.T @ y
        solution = factor.solution(projected)
        if not np.isfinite(solution).all():
            return nowhere
        residual = y - factor.basis @ projected
        value = 0.5 * float(np.vdot(residual, residual)) / len(y)
        return ProjectedPoint(rows, z, factor.basis, y, solution, residual, value)


@dataclass
class ProjectedPoint:
    """Rows (k, q), pre-activations (n, k), a basis of the linear columns, their coefficients, and what they leave.

    `fixed` is a basis of those that are the same at every point, where it is not part of `basis`.
    """

    rows: np.ndarray
    z: np.ndarray
    basis: np.ndarray
    y: np.ndarray
    solution: np.ndarray
    residual: np.ndarray
    value: float
    gradient_norm: float = np.inf
    damping: float = _DAMPINGS[0]
    growth: float = 2.0
    model: Any = None
    length: float = np.inf
    fixed: np.ndarray | None = None

    def cleared(self, columns: np.ndarray, *, overwrite: bool = False) -> np.ndarray:
        """What the linear columns leave of others (n, c), in the place of those if they may be overwritten."""
        for basis in (self.basis,) if self.fixed is None else (self.basis, self.fixed):
            # Subtracted as the product is made: one more array of this size takes longer to write than to compute.
            if columns.flags.f_contiguous:
                columns = dgemm(-1.0, basis, basis.T @ columns, 1.0, columns, overwrite_c=overwrite)
            else:
                columns = dgemm(-1.0, (basis.T @ columns).T, basis.T, 1.0, columns.T, overwrite_c=overwrite).T
            overwrite = True
        return columns

    @property
    def output(self) -> np.ndarray:
        """The outputs (m, k)."""
        return self.solution[-len(self.rows) :].T


def variable_projection(
    rows: SeparableRows,
    start: np.ndarray,
    *,
    steps: int = 100,
    target: float = 0.0,
    decay: float = 0.0,
    patience: tuple[int, float] = (15, 0.9),
    progress: Progress = silent,
) -> Descent:
    """Minimise the squared loss over hidden rows, the linear layers being solved exactly at each.

    Parameters
    ----------
    rows : SeparableRows
    start : array (k, q)
    steps : int
        Largest number of accepted or rejected steps.
    target : float
        Stop as soon as the loss ½ mean r² is at most this.
    decay : float
        The penalty on the squares of the rows, in units of loss/k.
    patience : (int, float)
        Stop when so many steps leave more than this fraction of the loss.

    Returns
    -------
    Descent
        Its `params` are a dict of "rows" (k, q), "output" (m, k) and "nuisance" (m, l).

    Examples
    --------
    >>> from planted import activations
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> y = np.tanh(X @ [[1.0], [0.5]])
    >>> rows = SeparableRows(X, np.ones((50, 1)), y, activations.get("tanh"))
    >>> variable_projection(rows, np.array([[0.5, 1.0]])).params["rows"].round(6)
    array([[1. , 0.5]])
    """
    solver = _VariableProjection(target, decay, patience)
    # Blocks are small, and a threaded BLAS would wait more than it works.
    with np.errstate(over="ignore", invalid="ignore"), one_thread():
        return iterate(solver, rows, start, steps=steps, progress=progress)


def _length(vector: np.ndarray) -> float:
    return math.sqrt(np.vdot(vector, vector))


def _diagonal(matrix: np.ndarray) -> np.ndarray:
    """The diagonal of a matrix that LAPACK made, to be written to."""
    return matrix.T.reshape(-1)[:: len(matrix) + 1]


class _VariableProjection(Solver):
    def __init__(self, target: float, decay: float, patience: tuple[int, float]) -> None:
        self.target, self.decay, self.patience, self.forcing = target, decay, patience, _FORCING[0]
        self.values: list[float] = []

    def init(self, problem: SeparableRows, params: np.ndarray) -> ProjectedPoint:
        self.problem = problem
        return problem.at(np.array(params, dtype=np.float64))

    def _equations(self, point: ProjectedPoint) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Curvature with its decay, downhill gradient, damping diagonal, and the decay μ."""
        rows, across = point.rows, self.problem.across
        slope = (self.problem.activation.derivative(point.z) - self.problem.tilt).T
        if self.problem.weight is not None:
            slope = slope * self.problem.weight
        output, n, (k, q) = point.output, across.shape[1], rows.shape
        tangent = (slope[:, None, :] * across).reshape(k * q, n).T
        tangent = point.cleared(tangent, overwrite=True)
        # The upper triangle alone, which is what the factorisation reads.
        curvature = dsyrk(1.0 / n, tangent, trans=True)
        # Both are symmetric, so that blocks of the transpose are blocks.
        by_neuron = curvature.T.reshape(k, q, k, q)
        by_neuron *= (output.T @ output)[:, None, :, None]
        downhill = ((point.residual @ output).T * slope) @ across.T / n
        mu = 2 * self.decay * point.value / k
        downhill = downhill - mu * rows
        diagonal = np.diagonal(curvature).copy()
        diagonal = np.maximum(diagonal, _LEAST * np.max(diagonal, initial=1e-300))
        _diagonal(curvature)[:] += mu
        return curvature, downhill.ravel(), diagonal, mu

    def step(self, state: ProjectedPoint, count: int) -> ProjectedPoint | None:
        if self.problem.X.shape[1] >= _MANY_INPUTS:
            return self._by_products(state)
        if state.model is None:
            state.model = self._equations(state)
            state.gradient_norm = _length(state.model[1])
        curvature, downhill, diagonal, _ = state.model
        damped = curvature.copy(order="F")
        _diagonal(damped)[:] += state.damping * diagonal
        factor, failed = dpotrf(damped, clean=False, overwrite_a=True)
        move = np.full(len(downhill), np.nan) if failed else dpotrs(factor, downhill)[0]
        if not np.isfinite(move).all():
            return replace(state, value=np.inf, model=None)
        state.length = _length(move) / max(_length(state.rows), 1e-300)
        trial = self.problem.at(state.rows + move.reshape(state.rows.shape))
        trial.model = 0.5 * float(move @ (downhill + state.damping * diagonal * move))
        return trial

    def _by_products(self, state: ProjectedPoint) -> ProjectedPoint:
        """A trial whose step is solved for by products with the curvature."""
        if state.model is None:
            slope = self.problem.activation.derivative(state.z) - self.problem.tilt
            if self.problem.weight is not None:
                slope = slope * self.problem.weight[:, None]
            mu = 2 * self.decay * state.value / len(state.rows)
            made = Products.at(state, self.problem, slope, mu)
            state.model = (made, made.downhill, made.diagonal, mu)
            state.gradient_norm = _length(made.downhill)
        curvature, downhill, diagonal, _ = state.model
        move = curvature.solution(state.damping, self.forcing)
        if not np.isfinite(move).all():
            return replace(state, value=np.inf, model=None)
        state.length = _length(move) / max(_length(state.rows), 1e-300)
        trial = self.problem.at(state.rows + move)
        trial.model = 0.5 * float(np.sum(move * (downhill + state.damping * diagonal * move)))
        # The nearer a minimum without noise, the more exact steps pay.
        self.forcing = min(_FORCING[0], max(_FORCING[1], trial.value / max(state.value, 1e-300)))
        return trial

    def accept(self, state: ProjectedPoint, trial: ProjectedPoint) -> None:
        mu = state.model[3]
        gain = (
            state.value - trial.value + 0.5 * mu * (np.vdot(state.rows, state.rows) - np.vdot(trial.rows, trial.rows))
        )
        if np.isfinite(trial.value) and gain > 0:
            ratio = gain / max(trial.model, 1e-300)
            factor = 0.1 if ratio > 0.9 else max(1 / 3, 1 - (2 * ratio - 1) ** 3)
            damping = max(state.damping * factor, _DAMPINGS[1])
            norms = np.linalg.norm(trial.rows, axis=1)
            for name in ("rows", "z", "basis", "solution", "residual", "value"):
                setattr(state, name, getattr(trial, name))
            state.damping, state.growth, state.model = damping, 2.0, None
            degree = self.problem.activation.homogeneity
            if degree is not None and norms.min() > 0:
                # The length of a row says nothing that its output does not.
                state.rows, state.z = state.rows / norms[:, None], state.z / norms
                state.solution = state.solution.copy()
                state.solution[-len(norms) :] *= (norms**degree)[:, None]
        else:
            state.damping, state.growth = state.damping * state.growth, 2 * state.growth
        self.values.append(state.value)

    def terminate(self, state: ProjectedPoint) -> Ending | None:
        if not np.isfinite(state.value):
            return Ending.INFINITE
        if state.value <= self.target:
            return Ending.FLOOR
        if state.damping > _DAMPINGS[2] or state.length < 1e-15:
            return Ending.NO_STEP
        window, fraction = self.patience
        slow = len(self.values) > window and state.value > fraction * self.values[-window - 1]
        return Ending.PATIENCE if slow else None

    def params(self, state: ProjectedPoint) -> dict[str, np.ndarray]:
        return {"rows": state.rows, "output": state.output, "nuisance": state.solution[: -len(state.rows)].T}
