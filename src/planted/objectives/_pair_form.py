r"""What G, F and L have in common: in coordinates where the teacher is orthonormal all are G_{α,β,μ}.

    G_{α,β,μ}(𝓑) = Σ_i α_i Σ_{j≠k} ⟨o_i,b_j⟩²⟨o_i,b_k⟩² − μ Σ_ij β_i ⟨o_i,b_j⟩⁴ + λ Σ_j (‖b_j‖² − 1)²

(Ge et al. 2017, eq. 5.2). G and F have β = α/12, L has β = α. Parameters B and 𝓑 are related by B = 𝓑 Wᵀ with W = I
for orthonormal teachers and WᵀTW = I where T defines the norm.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

# The c of Theorem 5.1, for which the paper says that 0.01 suffices.
SMALL = 0.01
THEOREMS = {
    "G": "Theorem 2.3 of Ge et al. 2017",
    "F": "Theorem A.4 of Ge et al. 2017",
    "L": "Theorem 2 of Gao et al. 2018",
}


@dataclass(frozen=True)
class Constants:
    """μ, λ (and δ), with the estimates of the output weights that they follow from.

    `largest_mu` and `smallest_lam` are what the theorem allows for those estimates, as they are; `largest_mu` is zero
    where an output is not positive.
    """

    mu: float
    lam: float
    largest_output: float
    smallest_output: float
    delta: float = 0.0
    largest_mu: float = float("nan")
    smallest_lam: float = float("nan")

    def as_dict(self) -> dict[str, float]:
        """The same as a dictionary, for reports."""
        return asdict(self)


@dataclass(frozen=True)
class PairForm:
    """The constants of G_{α,β,μ} that Theorem 5.1 of Ge et al. (2017) needs, and the change of coordinates.

    Attributes
    ----------
    name : str
        Of the loss: "G", "F" or "L".
    least_alpha, largest_alpha : float
        α_min and α_max.
    ratio : float
        β/α.
    mu, lam : float
    frame : array (d, d)
        W.
    """

    name: str
    least_alpha: float
    largest_alpha: float
    ratio: float
    mu: float
    lam: float
    frame: np.ndarray

    @property
    def applies(self) -> bool:
        """Whether α > 0, μβ_max ≤ c α_min and λ ≥ 4 max(μβ_max, α_max)."""
        beta, slack = self.mu * self.ratio * self.largest_alpha, 1 + 1e-9
        large = self.lam * slack >= 4 * max(beta, self.largest_alpha)
        return self.least_alpha > 0 and beta <= SMALL * self.least_alpha * slack and large

    @property
    def theorem(self) -> str:
        """Which theorem says that all local minima of the loss are the teacher."""
        return THEOREMS[self.name]

    @classmethod
    def of(cls, name: str, constants: Constants, ratio: float, frame: np.ndarray) -> PairForm | None:
        """From the constants of a loss, whose least λ is 4 max(μβ_max, α_max); None if an output is not positive."""
        if not constants.smallest_output > 0:
            return None
        largest = constants.smallest_lam / (4 * max(1.0, constants.mu * ratio))
        least = largest * constants.smallest_output / constants.largest_output
        return cls(name, least, largest, ratio, constants.mu, constants.lam, frame)
