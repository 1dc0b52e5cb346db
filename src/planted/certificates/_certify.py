"""`certify`: the kind of a point, with the numbers the verdict rests on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.certificates._assumptions import assumptions_of
from planted.certificates._certificate import Certificate
from planted.certificates._conv import recognise, turn
from planted.certificates._degenerate import examine
from planted.certificates._global import global_verdict
from planted.certificates._kinks import Kinks, find_kinks
from planted.certificates._local_convergence import local_convergence
from planted.certificates._on_kinks import on_kinks
from planted.certificates._symmetries import Symmetry, flat_symmetries, kernel_direction, span
from planted.certificates._teacher_distance import teacher_distance
from planted.numerics.precision import float64
from planted.objectives import (
    DENSE_SIZE,
    Curvature,
    Flat,
    Hessian,
    Objective,
    PairForm,
    Params,
    balance,
    flatten,
    hessian_of,
    named,
    smallest_eigenpair,
    units_of,
)

_STEPS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5)
_ROUNDING = 1e-16


@dataclass(frozen=True)
class _Point:
    """The point in units of its own arrays or of its Hessian's entries, with what was measured there.

    `slope` is the length of the gradient, `norm` that in the parameters' own units, `form` that of G, F and L. Where
    the gradient is finite, the Hessian and its smallest eigenpair are there.
    """

    scaled: Flat
    value: float
    gradient: np.ndarray
    size: float
    slope: float
    norm: float
    kinks: Kinks
    network: Any
    form: PairForm | None
    hessian: Hessian | None = None
    curvature: Curvature | None = None

    def value_at(self, flat: np.ndarray) -> float:
        return self.scaled.value(flat)

    def direction(self, vector: np.ndarray) -> Params:
        """A direction in scaled coordinates as a unit direction of the parameters themselves."""
        return self.scaled.params(vector / float(np.linalg.norm(self.scaled.units * vector)))


def _refuse_low_precision(objective: Objective, params: Params) -> None:
    for name, leaf in named(params).items():
        kind = getattr(leaf, "dtype", np.dtype(np.float64))
        if np.dtype(kind).itemsize < 8 or not np.issubdtype(np.dtype(kind), np.number):
            raise ValueError(f"{name} is {kind}; a certificate needs float64, so pass float64")
    for leaf in jax.tree.leaves(objective):
        kind = getattr(leaf, "dtype", np.dtype(np.float64))
        if jnp.issubdtype(kind, np.floating) and np.dtype(kind).itemsize < 8:
            raise ValueError(
                f"the objective holds {kind} arrays; a certificate needs float64, so build it from float64"
            )


@float64
def _measure(objective: Objective, params: Params, dense_size: int, seed: int) -> _Point:
    """Kinks, value, gradient and curvature at `params`: all that is asked of the objective's rows."""
    kinks = find_kinks(objective, params)
    checked = objective.checked(params)
    scaled = Flat(objective, checked, units_of(checked))
    value, gradient = scaled.value_and_gradient(scaled.start)
    slope, norm = float(np.linalg.norm(gradient)), float(np.linalg.norm(gradient / scaled.units))
    size = float(np.linalg.norm(scaled.start)) or 1.0
    known = (kinks, objective.network(params), objective.pair_form())
    point = _Point(scaled, value, gradient, size, slope, norm, *known)
    if not (np.isfinite(value) and np.isfinite(norm)):
        return point
    hessian = hessian_of(scaled, dense_size)
    if isinstance(hessian, np.ndarray) and objective.rows is not None and np.all(np.isfinite(hessian)):
        # Parameters that change the value by rounding alone keep their units.
        finer = balance(hessian, _ROUNDING * abs(value))
        scaled, gradient = Flat(objective, checked, scaled.units * finer), gradient * finer
        hessian = finer[:, None] * hessian * finer
        size, slope = float(np.linalg.norm(scaled.start)) or 1.0, float(np.linalg.norm(gradient))
        point = replace(point, scaled=scaled, gradient=gradient, size=size, slope=slope)
    kernel = None if isinstance(hessian, np.ndarray) else kernel_direction(objective, params, value)
    null = None if kernel is None else kernel / scaled.units
    curvature = smallest_eigenpair(hessian, len(scaled.start), seed=seed, null=null)
    return replace(point, hessian=hessian, curvature=curvature)


def _fall(point: _Point, direction: np.ndarray, norm: float, length: float = 0.0) -> tuple[float, np.ndarray]:
    """Largest decrease seen along ±direction beyond what the gradient alone explains, and the direction so signed.

    Steps are fractions of the parameters' size, and `length` where one is known to lead down. A convex loss falls by at
    most ‖∇f‖t over a step t, so a larger fall is evidence of a way out.
    """
    best, signed = 0.0, direction
    noise = 1e-14 * max(abs(point.value), norm * point.size**2)
    for t in (*(relative * point.size for relative in _STEPS), length):
        for sign in (1.0, -1.0):
            drop = point.value - point.value_at(point.scaled.start + sign * t * direction)
            if drop > max(best, 2 * point.slope * t + noise):
                best, signed = drop, sign * direction
    return best, signed


def uncertified(objective: Objective, params: Params, why: str) -> Certificate:
    """What is said of a point of which nothing but value and gradient is computed, for the reason given.

    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationSquared
    >>> point = uncertified(PopulationSquared(Network(np.eye(2), np.ones(2))), np.ones((2, 2)), "no time was left")
    >>> point.kind, point.reason
    ('undecided', 'no time was left')
    """
    value, gradient = objective.value_and_gradient(params)
    norm = float(np.linalg.norm(flatten(gradient)))
    none = (float("nan"),) * 4
    kinks = find_kinks(objective, params)
    return Certificate("undecided", why, float(value), norm, *none, None, 0.0, (), kinks, "none")


def certify(
    objective: Objective,
    params: Params,
    *,
    tolerance: float = 1e-6,
    dense_size: int = DENSE_SIZE,
    seed: int = 0,
    descent: bool = False,
) -> Certificate:
    """Say what kind of point `params` is for `objective`.

    All comparisons are made in units of the parameters' own arrays (:class:`planted.objectives._flat.Flat`), so
    they do not depend on the units of the targets or on how the layers share them; over rows, where the Hessian is
    formed, in units that make its entries of one size (:func:`planted.objectives.balance`), so that they do not
    depend on the units of an input either. The point is critical if
    ‖∇f‖ ≤ tolerance·‖H‖‖θ‖, that is, if a critical point may be as near as tolerance·‖θ‖. It is then a saddle if the
    smallest eigenvalue of the Hessian H is below −tolerance·‖H‖ and the loss is seen to fall along its eigenvector; a
    local minimum if H is positive beyond tolerance·‖H‖ on the complement of directions that known symmetries leave
    flat. A kernel that remains is examined to fourth order and then measured. Theory comes first where it decides: zero
    loss, quadratic networks, G, F and L with the constants of their theorems, and the stationary points of a shared
    ReLU filter, which are named on data too. For minima of G, F and L :func:`teacher_distance` says how near a
    permutation of the teacher is, on rows with the sampling error of gradient and Hessian.

    Parameters
    ----------
    objective : Objective
    params : array (k, d) or dict of arrays, float64
    tolerance : float
        Relative tolerance of gradient and eigenvalues.
    dense_size : int
        The Hessian is formed up to this many parameters; above, Lanczos on Hessian-vector products.
    seed : int
        Of the Lanczos start vector.
    descent : bool
        Whether to add what gradient descent from here is proved to reach
        (:func:`planted.certificates.local_convergence`): squared losses of one hidden layer of smooth neurons only.

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationSquared
    >>> loss = PopulationSquared(Network(np.eye(2), np.ones(2)))
    >>> certify(loss, np.eye(2)).kind
    'global minimum'
    >>> certify(loss, np.array([[1.0, 0.5], [0.0, 1.0]])).kind
    'not critical'
    """
    if not 0 < tolerance < 0.1:
        raise ValueError(f"tolerance must be a number between 0 and 0.1, not {tolerance!r}")
    _refuse_low_precision(objective, params)
    if descent:
        proved = local_convergence(objective, params, seed=seed)
        kind = certify(objective, params, tolerance=tolerance, dense_size=dense_size, seed=seed)
        return replace(kind, descent=proved)
    point = _measure(objective, params, dense_size, seed)
    hessian, curvature, norm, kinks = point.hessian, point.curvature, point.norm, point.kinks
    # The theorems are about neurons.
    neurons = bool(np.size(named(params).get("weights", 1.0)))
    rows = tuple(assumptions_of(objective, params, point.network)) if neurons else ()
    if hessian is None or curvature is None:
        reason = "non-smooth point: the gradient is not finite, as where a row of weights is zero"
        none = (float("nan"),) * 4
        return Certificate("undecided", reason, point.value, norm, *none, None, 0.0, (), kinks, "none", rows)
    plain = _unscaled(point.scaled.units, hessian, curvature, seed)
    known = recognise(objective, params, point.value, norm, tolerance)
    threshold = tolerance * curvature.norm * point.size
    reported = threshold * norm / point.slope if point.slope > 0 else tolerance * plain.norm

    def verdict(
        kind: str,
        reason: str,
        direction: np.ndarray | None = None,
        decrease: float = 0.0,
        flat: tuple[str, ...] = (),
    ) -> Certificate:
        if kinks.present and "non-smooth" not in reason:
            reason = f"{reason}; {kinks}"
        if known is not None:
            reason = f"{reason}; {known.reason}"
        minimum = kind in ("global minimum", "local minimum")
        near = teacher_distance(objective, params) if minimum and point.form is not None else None
        if near is not None:
            reason = f"{reason}; {near}"
        tree = None if direction is None else point.direction(direction)
        return Certificate(
            kind, reason, point.value, norm, reported, plain.eigenvalue, plain.residual, plain.norm,
            tree, decrease, flat, kinks, curvature.method, rows, known, plain.values, teacher_distance=near,
            network=point.network,
        )  # fmt: skip

    scale = curvature.norm * point.size**2
    theory = global_verdict(objective, params, point.value, scale, tolerance)
    if theory is not None and theory.kind == "global minimum":
        return verdict("global minimum", theory.reason)
    if kinks.present and kinks.jump == 1 and isinstance(hessian, np.ndarray):
        symmetries = flat_symmetries(objective, params, scale)
        place = on_kinks(point.scaled, hessian, _tangents(point, symmetries), threshold, tolerance)
        if place is not None and place.way is None:
            return verdict("local minimum", place.reason, flat=tuple(str(symmetry) for symmetry in symmetries))
        drop = 0.0 if place is None or place.way is None else _drop(point, place.way)
        if place is not None and drop > 0:
            return verdict("not critical", place.reason, place.way, drop)
    if point.slope > threshold:
        return _not_critical(point, kinks, verdict)
    if objective.convex or not neurons:
        return verdict("global minimum", "the gradient vanishes and the loss is convex")
    if theory is not None:
        way = point.scaled.vector(theory.direction)
        drop, way = _fall(point, way / np.linalg.norm(way), curvature.norm)
        if drop > 0:
            return verdict("saddle", theory.reason, way, drop)
    cut = tolerance * curvature.norm
    if curvature.eigenvalue < -cut:
        drop, way = _fall(point, curvature.vector, curvature.norm)
        if drop > 0:
            return verdict("saddle", "the gradient vanishes and the Hessian has a negative eigenvalue", way, drop)
    if objective.rows is None and known is not None and known.way is not None:
        way = flatten(known.way) / point.scaled.units
        length = float(np.linalg.norm(way))
        drop, way = _fall(point, way / length, curvature.norm, length)
        if drop > 0:
            return verdict("saddle", "flat to third order, and the loss falls along a turn of the filter", way, drop)
    if objective.rows is None and known is not None and known.third_order:
        # At φ = π no second derivative decides, and the third order is known.
        if known.third_order > 0:
            return verdict("local minimum", "flat to second order, and the loss grows with the third")
        drop, way = _fall(point, flatten(turn(params)), curvature.norm)
        if drop > 0:
            return verdict("saddle", "flat to second order, and the loss falls with the third", way, drop)
    if kinks.present:
        return verdict("undecided", f"{kinks}, so second derivatives do not decide")
    if curvature.eigenvalue > cut + curvature.residual:
        return verdict("local minimum", "the gradient vanishes and the Hessian is positive definite")
    if objective.convex_between_kinks(named(params)):
        reason = "the gradient vanishes and the loss is convex between kinks"
        return verdict("local minimum", reason, flat=("null directions of a convex piece",))
    symmetries = flat_symmetries(objective, params, scale)
    return _flat_point(point, symmetries, hessian, curvature, cut, seed, tolerance, verdict)


def _unscaled(units: np.ndarray, hessian: Hessian, curvature: Curvature, seed: int) -> Curvature:
    """The smallest curvature in the parameters' own units, which is what a reader can compare."""
    if np.all(units == units[0]):
        square = float(units[0]) ** 2
        return replace(
            curvature,
            eigenvalue=curvature.eigenvalue / square,
            residual=curvature.residual / square,
            norm=curvature.norm / square,
            values=None if curvature.values is None else curvature.values / square,
        )
    if isinstance(hessian, np.ndarray):
        return smallest_eigenpair(hessian / np.outer(units, units), len(units))
    # Units change no sign of an eigenvalue, and take a kernel to a kernel.
    null = units * curvature.vector if curvature.eigenvalue >= -curvature.residual else None
    return smallest_eigenpair(lambda vector: hessian(vector / units) / units, len(units), seed=seed, null=null)


def _drop(point: _Point, way: np.ndarray) -> float:
    """The largest decrease seen along a unit direction (p,), zero if none."""
    steps = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    return max(0.0, *(point.value - point.value_at(point.scaled.start + step * point.size * way) for step in steps))


def _not_critical(point: _Point, kinks: Kinks, verdict: Any) -> Certificate:
    """Where the gradient is not zero the loss falls along it, unless the point is on a kink."""
    way = -point.gradient / point.slope
    drop = _drop(point, way)
    if kinks.present and kinks.jump == 1 and drop <= 0:
        return verdict("undecided", f"{kinks}, and the loss does not fall along the negative gradient")
    return verdict("not critical", "the gradient does not vanish", way, drop)


def _flat_point(
    point: _Point, symmetries: list[Symmetry], hessian: Hessian, curvature: Curvature, cut: float, seed: int,
    tolerance: float, verdict: Any,
) -> Certificate:  # fmt: skip
    """A critical point without negative curvature, some of whose directions are flat."""
    names = tuple(str(symmetry) for symmetry in symmetries)
    tangents = _tangents(point, symmetries)
    rest = curvature
    if tangents.shape[1] == len(point.scaled.start):
        return verdict("local minimum", "the loss is constant nearby, by known symmetries", flat=names)
    if tangents.shape[1]:
        rest = smallest_eigenpair(hessian, len(point.scaled.start), tangents, seed=seed)
        if rest.eigenvalue < -cut:
            drop, way = _fall(point, rest.vector, curvature.norm)
            if drop > 0:
                return verdict("saddle", "the Hessian has a negative eigenvalue", way, drop, names)
    if curvature.norm > 0 and rest.eigenvalue > cut + rest.residual:
        reason = "the gradient vanishes and the Hessian is positive except along known symmetries"
        return verdict("local minimum", reason, flat=names)
    if rest.values is None and isinstance(hessian, np.ndarray):
        lifted = tangents if tangents.shape[1] else None
        rest = smallest_eigenpair(hessian, len(point.scaled.start), lifted, seed=seed, whole=True)
    if rest.values is None or rest.vectors is None:
        reason = (
            f"the smallest eigenvalue, {rest.eigenvalue:.2g}, is zero within tolerance, and no symmetry explains it"
        )
        return verdict("undecided", reason, flat=names)
    if not point.scaled.traceable:
        reason = "flat to second order beyond known symmetries; higher orders are examined for rows in memory only"
        return verdict("undecided", reason, flat=names)
    kernel = rest.vectors[:, np.abs(rest.values) <= cut] if cut > 0 else rest.vectors
    stiff = np.abs(rest.values) > cut
    basis = rest.vectors[:, stiff] - tangents @ (tangents.T @ rest.vectors[:, stiff])
    inverse = (basis / rest.values[stiff]) @ basis.T
    norm = curvature.norm or abs(point.value) / point.size**2 or 1.0
    kind, reason, escape = examine(point.scaled, kernel, inverse, norm, point.size, tolerance)
    if escape is None:
        return verdict(kind, reason, flat=names)
    length = float(np.linalg.norm(escape))
    drop, way = _fall(point, escape / length, norm, length)
    if drop > 0:
        return verdict("saddle", reason, way, drop, names)
    return verdict("undecided", f"{reason}, but no decrease could be measured", flat=names)


def _tangents(point: _Point, symmetries: list[Symmetry]) -> np.ndarray:
    """Orthonormal basis (p, s) of the tangents of symmetries, in the units of the point."""
    scaled = [symmetry.tangents / point.scaled.units[:, None] for symmetry in symmetries]
    unit = [Symmetry(s.name, t / np.linalg.norm(t, axis=0)) for s, t in zip(symmetries, scaled, strict=True)]
    return span(unit, len(point.scaled.start))
