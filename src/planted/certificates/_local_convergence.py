r"""Gradient descent from here: to zero loss, at which rate? After section 7.3 of Soltanolkotabi et al. (2017).

Write f(θ) = ½‖r(θ)‖² with residuals scaled by the square roots of row weights that sum to one, J for their Jacobian
(N, p), σ for its N-th singular value at θ₀ and Λ for a Lipschitz constant of J on the ball of radius R around θ₀. There
σ_min(J) ≥ σ − ΛR =: s, so that

    ‖∇f‖² = ‖Jᵀr‖² ≥ m_L f,   m_L = 2s²,        ∇²f ⪯ β,   β = (σ_max + ΛR)² + Λ‖r₀‖.

With a step α ≤ 1/β the loss falls by α/2·‖∇f‖² or more, hence f_t ≤ (1 − α m_L/2)^t f₀; and
√f_t − √f_{t+1} ≥ α√m_L/4·‖∇f_t‖, so that the whole path is no longer than 4√(f₀/m_L) = 2‖r₀‖/s. If that is at most R
the path never leaves the ball, and all of it is proved from what is known at θ₀. (Equation 7.55 bounds the path by
4√(m_U f₀)/m_L, which is longer by √(m_U/m_L).)

Where the predictions outnumber the parameters, N > p, zero loss is not to be had from any start. Then with σ the p-th
singular value, ∇²f ⪰ μ = (σ − ΛR)² − Λ‖r₀‖ where f ≤ f₀ in the ball, and a step multiplies the gradient by I − αH with
μ ⪯ H ⪯ β, so that ‖∇f_t‖ ≤ (1 − αμ)^t ‖∇f₀‖ and the path is no longer than ‖∇f₀‖/μ. If μ > 0 and that is at most R,
descent reaches a local minimum in the ball at which the Hessian is positive definite.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from planted.certificates._tangent import Tangent
from planted.objectives import Dense, Fit, Objective, Params, SquaredError, flatten, unflatten
from planted.rows import ArrayRows

_ROUNDS = 200


@dataclass(frozen=True)
class LocalConvergence:
    """What gradient descent does from a point, as far as the point itself proves it.

    Attributes
    ----------
    target : "zero loss", "local minimum" or "none"
        What descent from here is proved to reach.
    reason : str
    sigma_min, sigma_max : float
        Extreme singular values of J/√n, J the Jacobian (N, p) of the predictions: the N-th where N ≤ p, otherwise the
        p-th.
    lipschitz : float
        Λ, of J/√n on the ball; at its centre where nothing is proved.
    radius : float
        R: descent stays within it. NaN where nothing is proved.
    pl_constant : float
        m_L with ‖∇f‖² ≥ m_L f on the ball; for a local minimum μ, with ‖∇f‖² ≥ μ (f − f̂) along the path to it.
    smoothness, step_size, rate : float
        β, α = 1/β, and the factor by which the loss, for a local minimum the squared gradient, falls in a step or more.
    residual, residual_limit : float
        √(2f) at the point, and below which value of it zero loss would be proved with this J and Λ (NaN for N > p).
    method : "dense" or "lanczos"
        How the singular values were computed; Lanczos forms no Jacobian.
    """

    target: str
    reason: str
    sigma_min: float
    sigma_max: float
    lipschitz: float
    radius: float
    pl_constant: float
    smoothness: float
    step_size: float
    rate: float
    residual: float
    residual_limit: float
    method: str

    @property
    def proved(self) -> bool:
        """Whether anything is."""
        return self.target != "none"

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON; None for a number that is not finite."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    def __str__(self) -> str:
        lines = [
            f"gradient descent from here: {self.reason}",
            f"  Jacobian/√n: singular values {self.sigma_min:.3g} to {self.sigma_max:.3g} ({self.method}), Lipschitz "
            f"constant {self.lipschitz:.3g}; root mean square residual {self.residual:.3g}",
        ]
        if self.proved:
            lines.append(
                f"  m_L = {self.pl_constant:.3g}, β = {self.smoothness:.3g}, step α = {self.step_size:.3g}, within a "
                f"distance of {self.radius:.3g}"
            )
        return "\n".join(lines)


def unsuitable(objective: Objective) -> str | None:
    """Why :func:`local_convergence` says nothing about `objective`, or None."""
    if not isinstance(objective, Fit) or objective.loss != SquaredError():
        return "the certificate of descent is for squared losses over rows"
    if not isinstance(objective.model, Dense) or objective.model.symmetric or not isinstance(objective.rows, ArrayRows):
        return "the certificate of descent is for one hidden layer and rows in memory"
    if not math.isfinite(objective.activation.derivative_bound(2)):
        return f"{objective.activation.name} has no bounded second derivative, which the certificate of descent needs"
    return None


def local_convergence(objective: Objective, params: Params, *, seed: int = 0) -> LocalConvergence:
    """What gradient descent from `params` is proved to reach, and how fast.

    Parameters
    ----------
    objective : Fit
        A squared loss of one hidden layer of neurons with bounded φ'', over rows in memory; one output or several.
    params : array (k, d) or dict of arrays, float64
    seed : int
        Of the Lanczos start, where the Jacobian has more than 400,000 entries and is not formed.

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(20, 8, 8, activation="tanh", random_state=0)
    >>> loss = objectives.Squared(data.X, data.y, "tanh")
    >>> near = {"weights": data.teacher.weights + 1e-5, "output": data.teacher.output}
    >>> local_convergence(loss, near).target
    'zero loss'
    """
    why = unsuitable(objective)
    if why is not None:
        raise ValueError(why)
    assert isinstance(objective, Fit)
    tangent = Tangent(objective, objective.checked(params))
    least, largest, method = tangent.extremes(seed)
    extent, residual = tangent.extent(), float(np.linalg.norm(tangent.residual))
    wide = len(tangent.residual) <= tangent.size

    def smoothness(radius: float) -> float:
        change = tangent.lipschitz(extent, radius)
        return (largest + change * radius) ** 2 + change * residual

    def strength(radius: float) -> float:
        """s on the ball, or μ where predictions outnumber the parameters; not positive where nothing is proved."""
        change = tangent.lipschitz(extent, radius)
        inner = least - change * radius
        if wide or inner <= 0:
            return inner
        return inner**2 - change * residual

    length = 2 * residual if wide else float(np.linalg.norm(tangent.adjoint(tangent.residual)))
    radius = _smallest_ball(length, strength)
    limit = _residual_limit(least, strength) if wide else math.nan
    numbers = (least, largest, tangent.lipschitz(extent, 0.0 if radius is None else radius))
    if radius is None:
        return LocalConvergence(
            "none", _why_not(wide, least, largest, residual, limit), *numbers, *(math.nan,) * 5, residual, limit, method
        )
    strong, beta = strength(radius), smoothness(radius)
    constant = 2 * strong**2 if wide else strong
    rate = 1 - strong**2 / beta if wide else (1 - strong / beta) ** 2
    target = "zero loss" if wide else "local minimum"
    over = "the loss" if wide else "the squared gradient"
    reason = (
        f"reaches {'zero loss' if wide else 'a local minimum nearby'} with step {1 / beta:.3g}; {over} falls by a "
        f"factor of {rate:.9g} or less in every step"
    )
    return LocalConvergence(
        target, reason, *numbers, radius, constant, beta, 1 / beta, rate, residual, limit, method
    )  # fmt: skip


def _smallest_ball(length: float, strength: Any) -> float | None:
    """The least R with length/strength(R) ≤ R, by its iteration from zero, which rises; None if there is none."""
    radius = 0.0
    for _ in range(_ROUNDS):
        strong = strength(radius)
        if strong <= 0:
            return None
        longer = length / strong
        if longer <= radius * (1 + 1e-12):
            return radius
        radius = longer
    # The iteration rises to its limit; a ball one part in a million larger holds the path if the limit is near.
    radius *= 1 + 1e-6
    return radius if strength(radius) > 0 and length / strength(radius) <= radius else None


def _residual_limit(least: float, strength: Any) -> float:
    """The largest ‖r₀‖ with 2‖r₀‖ ≤ R s(R) for some R."""
    if least <= 0:
        return 0.0
    top = 1.0
    while strength(top) > 0:
        top *= 2
    return max(radius * strength(radius) / 2 for radius in top * np.geomspace(1e-12, 1.0, 400))


def _why_not(wide: bool, least: float, largest: float, residual: float, limit: float) -> str:
    if least <= 1e-12 * largest:
        what = "predictions" if wide else "parameters"
        return f"nothing is proved: the Jacobian is singular, as if there were fewer independent {what}"
    if wide:
        return (
            f"nothing is proved: the root mean square residual is {residual:.3g}, and zero loss nearby would be sure "
            f"below {limit:.3g}"
        )
    return "nothing is proved: the loss is not proved convex on a ball large enough to hold its minimum"


@dataclass(frozen=True, eq=False)
class DescentCheck:
    """Gradient descent run from a certified point.

    Attributes
    ----------
    values : array (steps + 1,)
        Losses where zero loss is proved, squared gradient norms where a local minimum is.
    bound : array (steps + 1,)
        rate^t times the first of them.
    rate : float
        Factor by which they fell in a step, over the second half of the steps above rounding; zero if there are none.
    distance : float
        Farthest from the start.
    holds : bool
        Whether every value was within its bound and every iterate within the radius.
    """

    values: np.ndarray
    bound: np.ndarray
    rate: float
    distance: float
    holds: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        ends = {"first": float(self.values[0]), "last": float(self.values[-1]), "steps": len(self.values) - 1}
        return ends | {"rate": self.rate, "distance": self.distance, "holds": self.holds}

    def __str__(self) -> str:
        verdict = "as proved" if self.holds else "NOT as proved"
        pace = f"a factor of {self.rate:.9g} in a step" if self.rate > 0 else "all of it rounding"
        return (
            f"ran {len(self.values) - 1} steps: {self.values[0]:.3g} to {self.values[-1]:.3g}, {pace}, at most "
            f"{self.distance:.3g} from the start: {verdict}"
        )


def run_descent(
    objective: Objective, params: Params, certificate: LocalConvergence, *, steps: int = 500
) -> DescentCheck:
    """Run gradient descent with the certificate's step and hold it to what is proved.

    Parameters
    ----------
    objective, params
        As given to :func:`local_convergence`.
    certificate : LocalConvergence
    steps : int

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(20, 8, 8, activation="tanh", random_state=0)
    >>> loss = objectives.Squared(data.X, data.y, "tanh")
    >>> near = {"weights": data.teacher.weights + 1e-5, "output": data.teacher.output}
    >>> run_descent(loss, near, local_convergence(loss, near), steps=50).holds
    True
    """
    if not certificate.proved:
        raise ValueError("nothing is proved of descent from this point, so that there is nothing to run")
    to_zero = certificate.target == "zero loss"
    start = objective.checked(params)
    theta, values, distance = start, [], 0.0
    for _ in range(steps + 1):
        loss, gradient = objective.value_and_gradient(theta)
        values.append(loss if to_zero else float(np.sum(flatten(gradient) ** 2)))
        distance = max(distance, float(np.linalg.norm(flatten(theta) - flatten(start))))
        theta = unflatten(flatten(theta) - certificate.step_size * flatten(gradient), theta)
    path = np.array(values)
    bound = certificate.rate ** np.arange(len(path)) * path[0]
    beta = certificate.smoothness
    # Of the iterates, and so of losses and of squared gradients.
    apart = 1e-14 * float(np.linalg.norm(flatten(start)))
    rounding = (beta if to_zero else beta**2) * apart**2
    live = int(np.sum(path > rounding))
    half = live // 2
    measured = float((path[live - 1] / path[half]) ** (1 / max(live - 1 - half, 1))) if live > 1 else 0.0
    holds = bool(np.all(path <= bound * (1 + 1e-9) + rounding)) and distance <= certificate.radius * (1 + 1e-9) + apart
    return DescentCheck(path, bound, measured, distance, holds)
