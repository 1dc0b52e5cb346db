r"""Theorem 2.5 and section 7 of Soltanolkotabi et al. (2017), number by number, for a teacher and rows.

The Jacobian here is the paper's, of the predictions by the weights alone, (n, kd): J = D_v φ'(WX) ∗ X. J̃ is the same
with the mean μ(‖w‖) of φ'(w·x) taken out. Where the paper is wrong the right form is used; ``docs/errata.md`` has the
list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.certificates._assumptions import average_curvature, average_slope
from planted.networks import Network
from planted.numerics.quadrature import gaussian_expectation
from planted.numerics.validation import as_matrix


@dataclass(frozen=True)
class LocalTheorem:
    """Theorem 2.5 for a teacher and n rows; every number is to be multiplied by a constant that the paper leaves open.

    Attributes
    ----------
    sigma_min, sigma_max : float
        Of the teacher's weights (k, d).
    sample_limit : float
        σ_min⁴ d²/σ_max⁸, of equation 2.3: the theorem is about d ≤ n ≤ c₀ times this.
    weights_radius, output_radius : float
        Right sides of equations 2.4 (Frobenius norm) and 2.5 (largest entry), over C₀.
    smoothness : float
        (σ_max² + 1) k, that is β/C of equation 2.7.
    rate, printed_rate : float
        σ_min² d²/n of equation 7.44, and d/n as Theorem 2.5 prints it: the loss falls by 1 − c α times this in a step.
    """

    sigma_min: float
    sigma_max: float
    sample_limit: float
    weights_radius: float
    output_radius: float
    smoothness: float
    rate: float
    printed_rate: float


def local_theorem(teacher: Network, n: int) -> LocalTheorem:
    """Sample limit, radii, smoothness and rate of Theorem 2.5.

    With φ of Assumption 2.3(b), mean curvature zero, Remark 2.6 puts one in the place of σ_min; see the errata for why
    that cannot be.

    >>> theorem = local_theorem(Network(np.eye(4), np.ones(4), "softplus"), 8)
    >>> theorem.sample_limit, theorem.smoothness, theorem.rate, theorem.printed_rate
    (16.0, 8.0, 2.0, 0.5)
    """
    k, d = teacher.weights.shape
    values = np.linalg.svd(teacher.weights, compute_uv=False)
    smallest, largest = (float(values[d - 1]) if k >= d else 0.0), float(values[0])
    radius = smallest**3 / largest * d**2.5 / (n**1.5 * k)
    return LocalTheorem(
        sigma_min=smallest,
        sigma_max=largest,
        sample_limit=smallest**4 / largest**8 * d**2,
        weights_radius=radius,
        output_radius=radius / k**0.5,
        smoothness=(largest**2 + 1) * k,
        rate=smallest**2 * d**2 / n,
        printed_rate=d / n,
    )


def _khatri_rao_spectrum(left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Extreme singular values of the columns left_i ⊗ right_i, from rows (n, ·): the n-th and the first."""
    values = np.linalg.eigvalsh((left @ left.T) * (right @ right.T))
    return math.sqrt(max(float(values[0]), 0.0)), math.sqrt(float(values[-1]))


def khatri_rao_spectrum(X: ArrayLike) -> tuple[float, float]:
    """σ_min and σ_max of X ∗ X, whose columns are x_i ⊗ x_i: between c d and C√(nd) by Corollary 7.5.

    >>> khatri_rao_spectrum(np.eye(3))
    (1.0, 1.0)
    """
    rows = as_matrix("X", X)
    return _khatri_rao_spectrum(rows, rows)


def _means(act: Activation, lengths: np.ndarray, order: int) -> np.ndarray:
    """E φ^(order)(‖w‖g) for every length."""
    if act.kinks:
        mean = average_slope if order == 1 else average_curvature
        return np.array([mean(act, length) for length in lengths])
    return np.asarray(gaussian_expectation(lambda z: act.derivative(z[:, None] * lengths, order)))


@dataclass(frozen=True)
class JacobianSpectrum:
    """Singular values at a teacher on rows, and what Propositions 7.1, 7.2 and 7.4 say of them.

    Attributes
    ----------
    n, k, d : int
    smallest, largest : float
        σ_min and σ_max of J.
    centred_smallest, centred_largest : float
        Of J̃.
    curved_smallest, curved_largest : float
        Of D_v Γ W, Γ the mean curvatures γ(‖w‖).
    mean_slope : float
        ‖D_v μ‖.
    bend : float
        L‖v‖_∞‖W‖.
    sigma_min, sigma_max : float
        Of W.
    """

    n: int
    k: int
    d: int
    smallest: float
    largest: float
    centred_smallest: float
    centred_largest: float
    curved_smallest: float
    curved_largest: float
    mean_slope: float
    bend: float
    sigma_min: float
    sigma_max: float

    def lower_7_1(self, constant: float = 0.0) -> float:
        """Right side of equation 7.4, a bound on σ_min²(J); `constant` is its C."""
        lost = 4 * math.sqrt(3) * self.n + constant * (self.d**1.5 + math.sqrt(self.d * self.n))
        return self.centred_smallest**2 - lost * self.bend**2

    @property
    def upper_7_1(self) -> float:
        """Right side of equation 7.5, a bound on σ_max(J)."""
        return self.centred_largest + 3 * math.sqrt(self.n) * self.mean_slope

    @property
    def lower_7_2(self) -> float:
        """Right side of equation 7.7, a bound on σ_min(J̃)."""
        return self.d / 2 * self.curved_smallest

    @property
    def upper_constant_7_2(self) -> float:
        """C of equation 7.8: σ_max(J̃) over d + √(nd) σ_max(D_v Γ W)."""
        return self.centred_largest / (self.d + math.sqrt(self.n * self.d) * self.curved_largest)

    @property
    def lower_constant(self) -> float:
        """c of equation 7.12: σ_min(J)/(σ_min(W) d)."""
        return self.smallest / (self.sigma_min * self.d) if self.sigma_min else math.inf

    @property
    def upper_constant(self) -> float:
        """C of equation 7.13: σ_max(J)/(σ_max(W) √(nk))."""
        return self.largest / (self.sigma_max * math.sqrt(self.n * self.k))


def jacobian_spectrum(X: ArrayLike, teacher: Network) -> JacobianSpectrum:
    """Singular values of J and J̃ on rows X (n, d), and what the propositions of section 7.1 compare them with.

    >>> X = np.random.default_rng(0).standard_normal((12, 8))
    >>> spectrum = jacobian_spectrum(X, Network(np.eye(8), np.ones(8), "softplus"))
    >>> spectrum.largest <= spectrum.upper_7_1
    True
    """
    rows = as_matrix("X", X)
    act, weights, output = teacher.activation, teacher.weights, teacher.output
    lengths = np.linalg.norm(weights, axis=1)
    slopes, curves = (_means(act, lengths, order) for order in (1, 2))
    slope = act.derivative(rows @ weights.T)
    smallest, largest = _khatri_rao_spectrum(slope * output, rows)
    centred = _khatri_rao_spectrum((slope - slopes) * output, rows)
    curved = np.linalg.svd((output * curves)[:, None] * weights, compute_uv=False)
    own = np.linalg.svd(weights, compute_uv=False)
    (n, d), k = rows.shape, len(weights)
    return JacobianSpectrum(
        n=n,
        k=k,
        d=d,
        smallest=smallest,
        largest=largest,
        centred_smallest=centred[0],
        centred_largest=centred[1],
        curved_smallest=float(curved[d - 1]) if k >= d else 0.0,
        curved_largest=float(curved[0]),
        mean_slope=float(np.linalg.norm(output * slopes)),
        bend=act.derivative_bound(2) * float(np.max(np.abs(output))) * float(own[0]),
        sigma_min=float(own[d - 1]) if k >= d else 0.0,
        sigma_max=float(own[0]),
    )


def slowest_direction(X: ArrayLike, teacher: Network) -> dict[str, np.ndarray]:
    """The change of both layers whose residuals gradient descent from near the teacher is slowest to remove.

    Jᵀu for the eigenvector u of the least eigenvalue of JJᵀ, J the Jacobian (n, kd + k) in weights and outputs: from
    teacher + small multiple of it the residuals are multiplied by 1 − α σ_min²(J)/n in every step, to first order.

    >>> X = np.random.default_rng(0).standard_normal((10, 8))
    >>> direction = slowest_direction(X, Network(np.eye(8), np.ones(8), "softplus"))
    >>> direction["weights"].shape, direction["output"].shape
    ((8, 8), (8,))
    """
    rows = as_matrix("X", X)
    z = rows @ teacher.weights.T
    slope, feature = teacher.activation.derivative(z) * teacher.output, teacher.activation(z)
    u = np.linalg.eigh((slope @ slope.T) * (rows @ rows.T) + feature @ feature.T)[1][:, 0]
    return {"weights": (slope * u[:, None]).T @ rows, "output": feature.T @ u}


@dataclass(frozen=True)
class LocalConstants:
    """Section 7.3 with its constants measured on the rows at hand, so that nothing is left open.

    Attributes
    ----------
    radius : float
        R: of the set Ω around the teacher, ‖v − v*‖_∞ ≤ R and ‖W − W*‖_F ≤ R/‖v*‖_∞.
    lower, upper, output_upper : float
        m_L, m_U and m̃_U of equations 7.44 to 7.46.
    smoothness : float
        β of Lemma 7.14, with the cross block that its proof leaves out.
    weights_radius, output_radius : float
        Starts within these of the teacher, of equations 7.52 and 7.53 with half of R left for the start itself.
    """

    radius: float
    lower: float
    upper: float
    output_upper: float
    smoothness: float
    weights_radius: float
    output_radius: float


def local_constants(X: ArrayLike, teacher: Network) -> LocalConstants:
    """R, m_L, m_U, β and the radii of section 7.3, from the Jacobian at the teacher.

    The proof's steps with its probabilistic bounds replaced by what they bound: σ_min(J), σ_max(J), ‖X‖ and κ = ‖X ∗ X‖
    of these rows, B and L of the activation. On Ω, ‖J − J*‖ ≤ κL(‖v*‖_∞ + R)‖W − W*‖_F + ‖φ'(W*X) ∗ X‖‖v − v*‖_∞,
    which takes the place of Lemma 7.11.

    >>> X = np.random.default_rng(0).standard_normal((10, 8))
    >>> constants = local_constants(X, Network(np.eye(8), np.ones(8), "softplus"))
    >>> 0 < constants.weights_radius < constants.radius
    True
    """
    rows = as_matrix("X", X)
    act, weights, output = teacher.activation, teacher.weights, teacher.output
    n = len(rows)
    steep, bend = act.derivative_bound(1), act.derivative_bound(2)
    if not (math.isfinite(steep) and math.isfinite(bend)):
        raise ValueError(f"{act.name} has no bounded first and second derivative, which Theorem 2.5 asks for")
    spectrum = jacobian_spectrum(rows, teacher)
    kappa, norm = khatri_rao_spectrum(rows)[1], float(np.linalg.norm(rows, 2))
    largest = float(np.max(np.abs(output)))
    plain = _khatri_rao_spectrum(act.derivative(rows @ weights.T), rows)[1]
    # ‖J − J*‖ ≤ σ_min/2 while (κL(v + R)/v + ‖φ' ∗ X‖)R is at most that, and R ≤ v.
    radius = min(spectrum.smallest / 2 / (2 * kappa * bend + plain), largest)
    lower = spectrum.smallest**2 / (2 * n)
    upper = 2 * (spectrum.largest + spectrum.smallest / 2) ** 2 / n
    reach = np.linalg.norm(rows @ weights.T, axis=0) + norm * radius / largest
    values = math.sqrt(n) * abs(float(act(np.zeros(1))[0])) + steep * reach
    output_upper = 2 * float(np.max(values)) ** 2 / n
    total = float(np.linalg.norm(output))
    # ‖r‖ on Ω, by Lemma 7.13 with the B that it lacks.
    residual = total * steep * norm * radius / largest + radius * float(np.sum(values))
    smoothness = (
        upper / 2
        + float(np.sum(values**2)) / n
        + 2 * largest * bend * residual * kappa / n
        + residual * steep * norm / n
    )
    allowed = (radius / 2) ** 2 * lower**2 / (16 * max(output_upper, upper * largest**2))
    by_weights = (steep * total * norm) ** 2 / n
    by_output = float(np.sum(values)) ** 2 / n
    return LocalConstants(
        radius=radius,
        lower=lower,
        upper=upper,
        output_upper=output_upper,
        smoothness=smoothness,
        weights_radius=min(math.sqrt(allowed / 2 / by_weights), radius / (2 * largest)),
        output_radius=min(math.sqrt(allowed / 2 / by_output), radius / 2),
    )
