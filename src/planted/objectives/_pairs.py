"""The weighted pair loss P' of Ge et al. (2017), section 3.2, which has spurious minima (appendix D)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Objective, Params
from planted.objectives._landscape import teacher_tensor


class PopulationPairs(Objective):
    """P'(B) = Σ_i a*_i Σ_{j≠k} ⟨b*_i, b_j⟩²⟨b*_i, b_k⟩² on unit rows.

    Evaluated at b_j/‖b_j‖, so that its unconstrained critical points are those on the product of spheres.
    G without its two regularisers; with max a* > 2 min a* it has minima that are not the teacher
    (:func:`appendix_d`).

    Examples
    --------
    >>> P = PopulationPairs(Network(np.eye(2), np.ones(2)))
    >>> P.value(np.eye(2)), P.value(np.array([[1.0, 0.0], [1.0, 0.0]]))
    (0.0, 2.0)
    """

    _arrays = ("directions", "output")
    non_negative = True

    @float64
    def __init__(self, teacher: Network) -> None:
        self.directions = to_jax(teacher_tensor(teacher, 0)[0])
        self.output = to_jax(teacher.output)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.directions.shape[1]

    @property
    def teacher_rows(self) -> np.ndarray:
        """The teacher's directions."""
        return np.asarray(self.directions)

    def traced_value(self, params: Params) -> jax.Array:
        """P' at the normalised rows of `params`."""
        unit = params / jnp.sqrt(jnp.sum(params * params, axis=1, keepdims=True))
        p2 = (self.directions @ unit.T) ** 2
        return self.output @ (jnp.sum(p2, axis=1) ** 2 - jnp.sum(p2 * p2, axis=1))


def appendix_d(excess: float = 0.5) -> tuple[Network, np.ndarray]:
    """The teacher of appendix D (d = 4, a* = (1, 2+excess, 2+excess, 2+excess)) and its spurious minimum of P'.

    Two student rows share b*_1 and one row sits halfway between b*_3 and b*_4.

    >>> teacher, B = appendix_d()
    >>> PopulationPairs(teacher).value(B)
    2.0
    """
    if not excess > 0:
        raise ValueError(f"excess must be positive, not {excess!r}")
    teacher = Network(np.eye(4), [1.0, 2 + excess, 2 + excess, 2 + excess])
    half = np.sqrt(0.5)
    return teacher, np.array([[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, half, half]])
