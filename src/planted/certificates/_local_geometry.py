r"""The landscape near the teacher: the constants of Fu et al. (2018), Theorems 1 and 2, beside what is measured.

σ_i are the singular values of W*, κ = σ₁/σ_K, λ = Π_i σ_i/σ_K, L = max(sup|φ'|, sup|φ''|, sup|φ'''|) and ρ that of
Definition 1. The theorems leave absolute constants open; here they are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.certificates._assumptions import rho
from planted.numerics.precision import float64, to_jax, to_numpy
from planted.numerics.quadrature import gaussian_expectation
from planted.numerics.seeding import key_from
from planted.numerics.validation import as_matrix
from planted.objectives import Objective, Params


class SlopeMoments(NamedTuple):
    """α₀, α₁, α₂ and β₀, β₂ of Definition 1."""

    alpha: tuple[float, float, float]
    beta: tuple[float, float]


def slope_moments(activation: Any, sigma: float) -> SlopeMoments:
    """α_q(σ) = E[φ'(σz) z^q] and β_q(σ) = E[φ'(σz)² z^q], z ~ N(0, 1).

    >>> slope_moments("quadratic", 1.0).alpha[1]    # φ' = 2z
    2.0
    """
    act: Activation = activations.get(activation)
    kinks = tuple(kink / sigma for kink in act.kinks)
    powers = np.arange(3)

    def integrand(z: np.ndarray) -> np.ndarray:
        slope = act.derivative(sigma * z)[:, None]
        return np.concatenate([slope * z[:, None] ** powers, slope**2 * z[:, None] ** powers], axis=1)

    values = [float(v) for v in np.round(gaussian_expectation(integrand, kinks=kinks), 14)]
    return SlopeMoments((values[0], values[1], values[2]), (values[3], values[5]))


@dataclass(frozen=True)
class LocalGeometry:
    """Theorems 1 and 2 as functions of their constants.

    Attributes
    ----------
    n_features, n_hidden : int
    sigma_min : float
        σ_K, the least singular value of W*.
    kappa, lam, rho, smoothness : float
        κ, λ, ρ(σ_K) and L.

    Examples
    --------
    >>> geometry = local_geometry(np.eye(2, 5), "sigmoid")
    >>> geometry.kappa, geometry.lam, geometry.hessian_lower() < geometry.hessian_upper()
    (1.0, 1.0, True)
    """

    n_features: int
    n_hidden: int
    sigma_min: float
    kappa: float
    lam: float
    rho: float
    smoothness: float

    @property
    def _spread(self) -> float:
        return self.kappa**2 * self.lam

    def rows_needed(self, constant: float = 1.0) -> float:
        """n ≥ C d K³ log²d ((L + 1) L κ² λ/ρ(σ_K))²; infinite where ρ(σ_K) is too small for a number of rows."""
        L, logarithm = self.smoothness, np.log(max(self.n_features, 2))
        size = self.n_features * self.n_hidden**3 * logarithm**2
        with np.errstate(over="ignore", divide="ignore"):
            return float(constant * size * np.square(np.divide((L + 1) * L * self._spread, self.rho)))

    def radius(self, constant: float = 1.0) -> float:
        """r = ρ(σ_K)/(c κ² λ √K L²), the ball in which the Hessian is bounded."""
        return float(self.rho / (constant * self._spread * self.n_hidden**0.5 * self.smoothness**2))

    def hessian_lower(self, constant: float = 1.0) -> float:
        """H_min = C ρ(σ_K)/(K² κ² λ)."""
        return float(constant * self.rho / (self.n_hidden**2 * self._spread))

    def hessian_upper(self, constant: float = 1.0) -> float:
        """H_max = C L²/K."""
        return float(constant * self.smoothness**2 / self.n_hidden)

    def step_size(self) -> float:
        """η = H_min/H_max², the step of Theorem 2's proof; 2/(H_min + H_max) already contracts."""
        return self.hessian_lower() / self.hessian_upper() ** 2

    def estimation_error(self, n: float, constant: float = 1.0) -> float:
        """Bound on ‖Ŵ_n − W*‖_F, eq. 8: C L K² κ² λ/ρ(σ_K) √(d log n/n); infinite where ρ(σ_K) is zero."""
        with np.errstate(over="ignore", divide="ignore"):
            scale = np.divide(self.smoothness * self.n_hidden**2 * self._spread, self.rho)
            return float(constant * scale * np.sqrt(self.n_features * np.log(n) / n))


def local_geometry(weights: ArrayLike, activation: Any = "sigmoid") -> LocalGeometry:
    """The constants of Theorem 1 at W* = `weights` (k, d), one row a neuron.

    >>> round(local_geometry([[1.0, 0.0], [0.0, 3.0]], "sigmoid").kappa, 9)
    3.0
    """
    W, act = as_matrix("weights", weights), activations.get(activation)
    k, d = W.shape
    singular = np.linalg.svd(W, compute_uv=False)
    if k > d or singular[-1] <= 1e-12 * singular[0]:
        raise ValueError("the weights must have full rank k ≤ d: otherwise ρ(σ_K) = ρ(0) says nothing")
    L = max(act.derivative_bound(order) for order in (1, 2, 3))
    least = float(singular[-1])
    return LocalGeometry(
        d, k, least, float(singular[0] / least), float(np.prod(singular / least)), rho(act, least), float(L)
    )


@dataclass(frozen=True)
class MeasuredHessian:
    """Extreme eigenvalues of the Hessian at the centre and over points of the ball."""

    radius: float
    points: int
    centre: tuple[float, float]
    lowest: float
    highest: float


def _in_ball(key: jax.Array, shape: tuple[int, ...], radius: float) -> np.ndarray:
    """A point uniform in the ball, by its direction and the power law of its norm."""
    direction_key, length_key = jax.random.split(key)
    direction = np.asarray(jax.random.normal(direction_key, shape, jnp.float64))
    size = direction.size
    length = radius * float(jax.random.uniform(length_key)) ** (1 / size)
    return direction * length / np.linalg.norm(direction)


@float64
def measured_hessian(
    objective: Objective, weights: ArrayLike, radius: float, points: int = 10, random_state: Any = 0
) -> MeasuredHessian:
    """Smallest and largest Hessian eigenvalue over `points` points uniform in the ball of this radius around `weights`.

    >>> from planted import Network, objectives
    >>> loss = objectives.PopulationSquared(Network(np.eye(2), np.ones(2) / 2, "sigmoid"), output=np.ones(2) / 2)
    >>> found = measured_hessian(loss, np.eye(2), 0.1, points=2)
    >>> 0 < found.lowest <= found.centre[0] * 1.1
    True
    """
    W = as_matrix("weights", weights)
    ends = []
    keys = jax.random.split(key_from(random_state), points)
    for shift in [np.zeros_like(W), *(_in_ball(key, W.shape, radius) for key in keys)]:
        values = np.linalg.eigvalsh(objective.hessian(W + shift))
        ends.append((float(values[0]), float(values[-1])))
    return MeasuredHessian(float(radius), points, ends[0], min(low for low, _ in ends), max(high for _, high in ends))


class UniformDeviation(NamedTuple):
    """Suprema over a ball of ‖∇f_n − ∇f‖ and ‖∇²f_n − ∇²f‖ (spectral norm): Lemmas 4 and 3 of Fu et al. (2018)."""

    of_gradient: float
    of_hessian: float


def uniform_deviation(
    sample: Objective, population: Objective, weights: ArrayLike, radius: float, points: int = 5, random_state: Any = 0
) -> UniformDeviation:
    """How far a loss over rows is from its mean, over the centre and `points` points of the sphere of this radius.

    Lemmas 3 and 4 bound both by constants times √(d log n/n) in the ball of Theorem 1.

    >>> from planted import Network, datasets, objectives
    >>> data = datasets.make_planted(2000, 3, 2, activation="sigmoid", task="classification", random_state=0)
    >>> half, W = np.full(2, 0.5), data.teacher.weights
    >>> mean = objectives.PopulationSquared(Network(W, half, "sigmoid"), output=half)
    >>> small = uniform_deviation(objectives.label_loss(data.X, data.y, 2), mean, W, 0.01)
    >>> 0 < small.of_hessian < 0.05, 0 < small.of_gradient < 0.05
    (True, True)
    """
    centre = as_matrix("weights", weights)
    shifts = np.random.default_rng(random_state).standard_normal((points, *centre.shape))
    places = [centre, *(centre + radius * shift / np.linalg.norm(shift) for shift in shifts)]
    return UniformDeviation(
        max(float(np.linalg.norm(sample.gradient(W) - population.gradient(W))) for W in places),
        max(float(np.linalg.norm(sample.hessian(W) - population.hessian(W), 2)) for W in places),
    )


@dataclass(frozen=True)
class LinearRate:
    """Contraction of ‖W_t − Ŵ‖ in one step of gradient descent: measured, and 1 − η λ_min(∇²f(Ŵ)) (eq. 9)."""

    measured: float
    predicted: float
    step_size: float
    distances: np.ndarray


@jax.jit
def _gradient_steps(objective: Objective, start: Params, end: Params, rate: jax.Array, times: jax.Array) -> jax.Array:
    def step(params: Params, _: Any) -> tuple[Params, jax.Array]:
        gap = ravel_pytree(jax.tree.map(jnp.subtract, params, end))[0]
        gradient = objective.traced_value_and_gradient(params)[1]
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), jnp.linalg.norm(gap)

    return jax.lax.scan(step, start, times)[1]


@float64
def linear_rate(
    objective: Objective, start: ArrayLike, minimiser: ArrayLike, step_size: float | None = None, steps: int = 500
) -> LinearRate:
    """Run gradient descent on a fixed sample from `start` and fit the rate at which it nears `minimiser`.

    The step size is 1/λ_max at the minimiser unless given. The rate is that of the second half of the steps that are
    still above rounding and above the error ‖∇f‖/λ_min of `minimiser` itself. It is NaN where fewer than two are, and
    so is the step size where the loss does not curve at the minimiser.

    >>> from planted import Network, objectives
    >>> loss = objectives.PopulationSquared(Network(np.eye(2), np.ones(2) / 2, "sigmoid"), output=np.ones(2) / 2)
    >>> rate = linear_rate(loss, np.eye(2) + 0.05, np.eye(2))
    >>> abs(rate.measured - rate.predicted) < 0.01
    True
    """
    end = as_matrix("minimiser", minimiser)
    values = np.linalg.eigvalsh(objective.hessian(end))
    if step_size is None and not values[-1] > 0:
        return LinearRate(np.nan, np.nan, np.nan, np.zeros(0))
    eta = 1 / float(values[-1]) if step_size is None else float(step_size)
    distances = to_numpy(
        _gradient_steps(objective, to_jax(as_matrix("start", start)), to_jax(end), jnp.asarray(eta), jnp.zeros(steps))
    )
    own_error = float(np.linalg.norm(objective.gradient(end)) / max(float(values[0]), 1e-300))
    live = int(np.sum(distances > max(1e-9 * float(distances[0]), 100 * own_error)))
    if live < 2:
        return LinearRate(np.nan, float(1 - eta * values[0]), eta, distances)
    half = live // 2
    measured = float((distances[live - 1] / distances[half]) ** (1 / max(live - 1 - half, 1)))
    return LinearRate(measured, float(1 - eta * values[0]), eta, distances)
