r"""How far a point is from the teacher, by the theorems on G, F and L, from its gradient and its smallest eigenvalue.

All three are G_{α,β,μ} in coordinates where the teacher's rows o_i are orthonormal, see
:class:`planted.objectives.PairForm`. Theorem 5.1 of Ge et al. (2017), with the constants of docs/errata.md: for
μβ_max ≤ c α_min and λ ≥ 4 max(μβ_max, α_max)

1. the local minima are the matrices P D O, P a permutation, D_ii² = 1/(1 − μβ_i/λ) up to signs;
2. at every saddle λ_min(∇²G) ≤ −τ₀ = −c min{μβ_min/(κ_α d), μβ_min²/β_max, λ};
3. where ‖∇G‖ ≤ ε ≤ c min{α_min, √(τ₀³/β_min)} and λ_min(∇²G) ≥ −τ₀ the point is P D O + E O with |E|_∞ of order ε.

The third needs gradients that no sample gives. A positive Hessian says more. G is a quartic, so that at a point with
gradient g and Hessian A whose smallest eigenvalue is m > 0, for every H with s² = ⟨H, A H⟩

    G(𝓑 + H) − G(𝓑) ≥ −ε s + s²/2 − M s³ − μβ_max s⁴/m²,      ε² = ⟨g, A⁻¹ g⟩,

    M = 4 (α_max σ_max(𝓑) + μβ_max max_j ‖b_j‖)/m^{3/2} + 4λ max_j ‖b_j‖ ρ/m,

where ρ s bounds what H changes the length of a row by, ρ² the largest ⟨u_j, A⁻¹ u_j⟩ over the rows' own directions u_j.
With few parameters the third derivative itself is formed: then M is the norm of a sixth of it, unfolded in coordinates
where A is the identity, a fourth to a half of that bound. Where the right side turns positive G is higher than at the
point all around it, so inside there is a local minimum, and by the first statement that is the teacher: it is at most
s/√m away. The point is one that a few Newton steps lead to, and how far they lead is added. On rows ε grows by the
sampling error of g in the same norm, its 99.9 % quantile, s²/2 shrinks by three standard errors of A, and M grows by
three of the third derivative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from planted.numerics.precision import float64, to_numpy
from planted.objectives import SMALL, Objective, PairForm, Params, named

_PARTS = 20
_STANDARD_ERRORS = 3.0
_QUANTILE = 0.999
_NEWTON_STEPS, _SETTLED = 4, 1e-9
# Any step does for a quartic; this one is of the size of its rows.
_STEP = 0.25
# The distance of unit rows at a right angle, beyond which a sign would be changed.
_OPPOSITE = 2**0.5
_LARGEST = 400
# Parameters up to which the third derivative is formed: of a population, and on parts of rows.
_THIRD, _THIRD_ON_ROWS = 64, 16


@dataclass(frozen=True, eq=False)
class SamplingError:
    """How far the derivatives of an empirical loss may be from those of its expectation.

    Attributes
    ----------
    covariance : array (p, p)
        Of the gradient, parameters flattened.
    hessian : float
        Standard error of the Hessian, in the Frobenius norm.
    third : float or None
        The same of the third derivative, where it was measured.
    """

    covariance: np.ndarray
    hessian: float
    third: float | None = None

    @property
    def gradient(self) -> float:
        """Standard error of the gradient, in the Euclidean norm."""
        return float(np.trace(self.covariance)) ** 0.5


@dataclass(frozen=True)
class TeacherDistance:
    """What the theorems say about a point of G, F or L.

    Attributes
    ----------
    expected : float
        How far a row as it is read off is from ± a row of the teacher, both of unit length, to first order: by the
        Newton step from here and its standard error, if the nearest minimum is in the same basin.
    row_error : float or None
        The same, proved: no row is further off than this. None where the basin cannot be shown, for want of rows.
    gradient : float
        ε, bound on the gradient of the expected loss in the norm of the inverse Hessian.
    curvature : float
        Smallest eigenvalue of the Hessian, less three standard errors.
    tau : float
        τ₀ of Theorem 5.1(2).
    theorem : str
    """

    expected: float
    row_error: float | None
    gradient: float
    curvature: float
    tau: float
    theorem: str

    def __str__(self) -> str:
        if self.row_error is None:
            return (
                f"about {self.expected:.2g} from a permutation of the teacher, row by row, if one is in the same "
                f"basin, which is not shown ({self.theorem})"
            )
        return f"within {self.row_error:.2g} of a permutation of the teacher, row by row ({self.theorem})"


def strict_saddle(form: PairForm) -> float:
    """τ₀ of Theorem 5.1(2): at every saddle the Hessian has an eigenvalue of at most −τ₀.

    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> 0 < strict_saddle(PopulationLandscape(Network(np.eye(2), np.ones(2))).pair_form()) < 1e-4
    True
    """
    least, most = form.ratio * form.least_alpha, form.ratio * form.largest_alpha
    kappa, d = form.largest_alpha / form.least_alpha, len(form.frame)
    return SMALL * min(form.mu * least / (kappa * d), form.mu * least**2 / most, form.lam)


@dataclass(frozen=True)
class ErrorBounds:
    """Theorem 5.1(3): 𝓑 = P D O + E O.

    Attributes
    ----------
    entry : float
        Bound on |E|_∞, sharper than the 3ε/(μβ_min) of the proof.
    scale : tuple of float
        Bounds on D_ii².
    """

    entry: float
    scale: tuple[float, float]


def approximate_minimum(form: PairForm, gradient: float, min_eigenvalue: float) -> ErrorBounds | None:
    """Theorem 5.1(3) with corrected constants; None where its conditions do not hold.

    Proposition 5.6 gives |E|_∞ ≤ δ = √(τ₀/(μβ_min)). The slope in an off-diagonal entry x_k is x_k times at least
    4α_k D² − 4(α + μβ) (d − 1) δ² − 2ε, so that |x_k| ≤ ε over that; put in again for δ this settles near ε/(4α_min).

    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> form = PopulationLandscape(Network(np.eye(2), np.ones(2))).pair_form()
    >>> approximate_minimum(form, 1e-12, 0.1).entry < 1e-11, approximate_minimum(form, 0.1, 0.1) is None
    (True, True)
    """
    tau, d = strict_saddle(form), len(form.frame)
    least_beta, most_beta = form.ratio * form.least_alpha, form.ratio * form.largest_alpha
    small = SMALL * min(form.least_alpha, (tau**3 / least_beta) ** 0.5) if tau > 0 else 0.0
    if not form.applies or gradient > small or min_eigenvalue < -tau:
        return None
    delta = (tau / (form.mu * least_beta)) ** 0.5
    least, most, others = 0.25, 2.0, d - 1
    for _ in range(20):
        spread = others * delta**2
        shrink = (form.largest_alpha / form.lam + 1) * spread + gradient / (2 * form.lam)
        low = (1 - shrink) / (1 - form.mu * least_beta / form.lam)
        least = max(least, low)
        most = min(most, (1 + gradient / (2 * form.lam)) / (1 - form.mu * most_beta / form.lam))
        slope = 4 * form.least_alpha * least - 4 * (form.largest_alpha + form.mu * most_beta) * spread - 2 * gradient
        if slope > 0:
            delta = min(delta, gradient / slope)
    return ErrorBounds(delta, (least, most))


def minimum_within(slope: float, second: float, third: float, fourth: float) -> float | None:
    """The least s > 0 from which second·s² − third·s³ − fourth·s⁴ exceeds slope·s; None if it never does.

    >>> minimum_within(0.0, 0.5, 10.0, 1.0)
    0.0
    >>> round(minimum_within(0.001, 0.5, 1.0, 0.0), 6), minimum_within(1.0, 0.5, 10.0, 1.0) is None
    (0.002008, True)
    """
    if second <= 0 or not np.isfinite(slope):
        return None
    if slope == 0:
        return 0.0
    roots = np.roots([-fourth, -third, second, -slope])
    real = [float(root.real) for root in roots if abs(root.imag) < 1e-12 * (1 + abs(root)) and root.real > 0]
    return min(real) if real else None


@float64
def sampling_error(objective: Objective, params: Params, parts: int = _PARTS) -> SamplingError | None:
    """Standard errors of gradient and Hessian, from the same loss on disjoint parts of its rows.

    With g_p the gradient on part p of P their mean has covariance Σ_p (g_p − ḡ)(g_p − ḡ)ᵀ/(P(P − 1)). The parts share
    one variance reduction, whose own error is of second order: with it, d = 2, the true standard error was 1.2 times
    this one at 20,000 rows and 1.6 times at 2,000. None where the loss has no rows at hand, or estimated scores.

    >>> from planted.datasets import make_planted
    >>> from planted.objectives import Landscape
    >>> data = make_planted(4000, 2, 2, random_state=0)
    >>> 0 < sampling_error(Landscape(data.X, data.y), np.eye(2), parts=4).gradient < 0.5
    True
    """
    pieces = objective.on_parts(parts)
    if pieces is None:
        return None
    gradients = np.array([np.ravel(to_numpy(piece.gradient(params))) for piece in pieces])
    hessians = np.array([piece.hessian(params) for piece in pieces])
    share = parts * (parts - 1)

    def spread(tensors: np.ndarray) -> float:
        return float(np.sum((tensors - tensors.mean(axis=0)) ** 2) / share) ** 0.5

    off = gradients - gradients.mean(axis=0)
    third = None
    if gradients.shape[1] <= _THIRD_ON_ROWS:
        third = spread(np.array([third_derivative(piece, params) for piece in pieces]))
    return SamplingError(off.T @ off / share, spread(hessians), third)


def third_derivative(objective: Objective, params: Params) -> np.ndarray:
    """∇³ (p, p, p) of a quartic at params (k, d), flattened: differences of Hessians, which are exact for it.

    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> G = PopulationLandscape(Network([[1.0]], [1.0]), mu=0.0, lam=1.0)
    >>> float(third_derivative(G, np.array([[2.0]]))[0, 0, 0].round(9))         # of (b² − 1)²: 24b
    48.0
    """
    weights = np.asarray(named(params)["weights"], dtype=np.float64)
    slices = []
    for unit in np.eye(weights.size).reshape(-1, *weights.shape):
        slices.append((objective.hessian(weights + _STEP * unit) - objective.hessian(weights - _STEP * unit)) / 2)
    return np.stack(slices, axis=2) / _STEP


def teacher_distance(
    objective: Objective, params: Params, sampling: SamplingError | None = None
) -> TeacherDistance | None:
    """How near a permutation of the teacher must be to a point of G, F or L, or None where the theorems do not say.

    Parameters
    ----------
    objective : Objective
        G, F or L, of a population or of rows, with as many neurons as inputs. Of rows, the outputs are those that
        the loss estimated, and the teacher is taken to be as the theorem assumes.
    params : array (d, d)
    sampling : SamplingError, optional
        How far the loss is from its expectation: measured by :func:`sampling_error` on rows, and for an expected L with
        κ*_i from draws; zero for other populations.

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> G = PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> near = teacher_distance(G, np.array([[1.0, 0.001], [-0.001, 1.0]]))
    >>> 0.001 < near.row_error < 0.01
    True
    """
    form = objective.pair_form()
    if form is None or not form.applies:
        return None
    weights = np.asarray(named(params)["weights"], dtype=np.float64)
    if weights.shape != form.frame.shape or weights.size > _LARGEST:
        return None
    size = weights.size
    if sampling is None:
        sampling = sampling_error(objective, params)
    if sampling is None:
        if objective.rows is not None or objective.teacher_rows is None:
            return None
        sampling = SamplingError(np.zeros((size, size)), 0.0, 0.0 if size <= _THIRD else None)
    start = weights @ np.linalg.inv(form.frame).T
    local = _settle(objective, form, start)
    if local is None:
        return None
    point, gradient, hessian = local
    least = float(np.linalg.eigvalsh(hessian)[0])
    change = np.kron(np.eye(len(weights)), form.frame)
    covariance = change.T @ sampling.covariance @ change
    curvature = least - _STANDARD_ERRORS * float(np.linalg.norm(form.frame, 2)) ** 2 * sampling.hessian
    inverse, beta = np.linalg.inv(hessian), form.mu * form.ratio * form.largest_alpha
    slope = float(gradient @ inverse @ gradient) ** 0.5 + _norm_quantile(inverse, covariance)
    longest = float(np.linalg.norm(point, axis=1).max())
    rho = max(float(_row(point, j) @ inverse @ _row(point, j)) for j in range(len(point))) ** 0.5
    third = 4 * (form.largest_alpha * float(np.linalg.norm(point, 2)) + beta * longest) / least**1.5
    third += 4 * form.lam * longest * rho / least
    if sampling.third is not None:
        error = _STANDARD_ERRORS * float(np.linalg.norm(form.frame, 2)) ** 3 * sampling.third / 6 / least**1.5
        third = min(third, _cubic_norm(objective, form, point, hessian) + error)
    length = minimum_within(slope, curvature / (2 * least), third, beta / least**2)
    shift = float(np.linalg.norm(start - point))
    expected = _as_read(float(shift**2 + np.trace(inverse @ covariance @ inverse)) ** 0.5, form)
    return TeacherDistance(
        expected=_OPPOSITE if expected is None else expected,
        row_error=None if length is None else _as_read(shift + length / least**0.5, form),
        gradient=slope,
        curvature=curvature,
        tau=strict_saddle(form),
        theorem=form.theorem,
    )


def _settle(
    objective: Objective, form: PairForm, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """A few Newton steps from `start` in the form's coordinates: the point, gradient (p,) and Hessian (p, p) there.

    None if the Hessian is not positive on the way.
    """
    W, point = form.frame, start
    change = np.kron(np.eye(len(point)), W)
    for steps_left in reversed(range(_NEWTON_STEPS + 1)):
        gradient = change.T @ np.ravel(to_numpy(objective.gradient(point @ W.T)))
        hessian = change.T @ objective.hessian(point @ W.T) @ change
        hessian = (hessian + hessian.T) / 2
        if np.linalg.eigvalsh(hessian)[0] <= 0:
            return None
        step = np.linalg.solve(hessian, gradient).reshape(point.shape)
        if steps_left == 0 or np.linalg.norm(step) < _SETTLED:
            break
        point = point - step
    return point, gradient, hessian


def _cubic_norm(objective: Objective, form: PairForm, point: np.ndarray, hessian: np.ndarray) -> float:
    """Bound on |∇³G(H, H, H)|/6 over s³: the spectral norm of its unfolding where the Hessian is the identity."""
    change = np.kron(np.eye(len(point)), form.frame)
    values, vectors = np.linalg.eigh(hessian)
    root = change @ (vectors / np.sqrt(values))
    tensor = np.einsum(
        "abc,ai,bj,ck->ijk", third_derivative(objective, point @ form.frame.T), root, root, root, optimize=True
    )
    return float(np.linalg.norm(tensor.reshape(len(values), -1), 2)) / 6


def _row(point: np.ndarray, j: int) -> np.ndarray:
    """The direction of row j of a matrix, as a flat unit vector."""
    direction = np.zeros_like(point)
    direction[j] = point[j] / np.linalg.norm(point[j])
    return direction.ravel()


def _norm_quantile(inverse: np.ndarray, covariance: np.ndarray) -> float:
    """Quantile of √⟨g, A⁻¹g⟩ for g ~ N(0, C): a multiple of χ² with the first two moments of its square."""
    product = inverse @ covariance
    mean, spread = float(np.trace(product)), float(np.trace(product @ product))
    if mean <= 0:
        return 0.0
    freedom = mean**2 / spread
    return float(mean * chi2.ppf(_QUANTILE, freedom) / freedom) ** 0.5


def _as_read(radius: float, form: PairForm) -> float | None:
    """Distance of unit rows as they are read off, for a distance of 𝓑 to P D O; None beyond a right angle."""
    relative = radius
    if form.name == "F" or not np.allclose(form.frame, np.eye(len(form.frame))):
        # Read off are the rows of B^{−T} = 𝓑^{−T} W^{−1}; those of the teacher are those of (P D O)^{−T} W^{−1}. As
        # D ≥ 1, the inverses differ by at most r/(1 − r).
        if radius >= 1:
            return None
        spectrum = np.linalg.svd(np.linalg.inv(form.frame))[1]
        longest = 1 / np.sqrt(1 - form.mu * form.ratio * form.largest_alpha / form.lam)
        relative = radius / (1 - radius) * float(spectrum[0] / spectrum[-1] * longest)
    return float(np.sqrt(2 - 2 * np.sqrt(1 - relative**2))) if relative < 1 else None
