"""The basin around neurons fitted to labels: the constants of Fu et al. (2018) beside what is measured there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.certificates._local_geometry import (
    LinearRate,
    LocalGeometry,
    MeasuredHessian,
    SlopeMoments,
    linear_rate,
    local_geometry,
    measured_hessian,
    slope_moments,
)
from planted.numerics.precision import float64
from planted.numerics.validation import as_matrix
from planted.objectives import label_loss
from planted.solvers import lbfgs

_STEPS = 400


@dataclass(frozen=True, eq=False)
class LabelBasin:
    """Theorems 1 and 2 at the minimiser of the quadratic loss, with all their constants one, and the measured side.

    Attributes
    ----------
    minimiser : array (k, d)
    n_rows : int
    geometry : LocalGeometry
        κ, λ, ρ(σ_K), L and the bounds, as functions of the theorems' constants.
    moments : SlopeMoments
        α_q and β_q at σ_K.
    hessian : MeasuredHessian
        Extreme eigenvalues over points of the ball whose radius Theorem 1 gives.
    rate : LinearRate
        Of gradient descent with step 1/λ_max.
    """

    minimiser: np.ndarray
    n_rows: int
    geometry: LocalGeometry
    moments: SlopeMoments
    hessian: MeasuredHessian
    rate: LinearRate

    def numbers(self) -> dict[str, float]:
        """Everything by name, for a table or JSON."""
        geometry, hessian = self.geometry, self.hessian
        (a0, a1, a2), (b0, b2) = self.moments
        return {
            "sigma_min": geometry.sigma_min,
            "kappa": geometry.kappa,
            "lambda": geometry.lam,
            "rho": geometry.rho,
            "alpha_0": a0,
            "alpha_1": a1,
            "alpha_2": a2,
            "beta_0": b0,
            "beta_2": b2,
            "smoothness": geometry.smoothness,
            "rows": float(self.n_rows),
            "rows_needed": geometry.rows_needed(),
            "radius": geometry.radius(),
            "hessian_lower": geometry.hessian_lower(),
            "hessian_lowest": hessian.lowest,
            "hessian_highest": hessian.highest,
            "hessian_upper": geometry.hessian_upper(),
            "step_size": self.rate.step_size,
            "rate_measured": self.rate.measured,
            "rate_predicted": self.rate.predicted,
        }

    def __str__(self) -> str:
        value = self.numbers()
        return "\n".join(
            [
                "local geometry: "
                + ", ".join(
                    f"{name} {value[key]:.3g}"
                    for name, key in (
                        ("κ", "kappa"), ("λ", "lambda"), ("σ_K", "sigma_min"), ("ρ(σ_K)", "rho"), ("L", "smoothness")
                    )
                ),
                f"  Theorem 1 with constants one: {self._rows()} (here {self.n_rows}), radius {value['radius']:.2g}, "
                f"Hessian within [{value['hessian_lower']:.2g}, {value['hessian_upper']:.2g}]",
                f"  measured at {self.hessian.points} points of that ball: Hessian within "
                f"[{value['hessian_lowest']:.2g}, {value['hessian_highest']:.2g}]",
                f"  {self._descent()}",
            ]
        )  # fmt: skip

    def _rows(self) -> str:
        needed = self.geometry.rows_needed()
        return f"{needed:.2g} rows" if np.isfinite(needed) else "no number of rows is enough"

    def _descent(self) -> str:
        rate = self.rate
        if not np.isfinite(rate.step_size):
            return "gradient descent contracts nothing: the loss is flat at its minimiser"
        predicted = f"1 − ηH_min = {rate.predicted:.4f} at η = {rate.step_size:.3g}"
        if not np.isfinite(rate.measured):
            return f"how gradient descent contracts is lost in rounding, {predicted}"
        return f"gradient descent contracts by {rate.measured:.4f} a step, {predicted}"


@float64
def label_basin(
    X: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    activation: Any = "sigmoid",
    points: int = 10,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> LabelBasin:
    """Measure the basin that `weights` (k, d) lie in, on labels y of rows X with weights `sample_weight` (n,).

    The quadratic loss is descended from `weights` to its minimiser; the ball lies around that, because the teacher is
    not known. Gradient descent starts on the ball's surface.

    >>> from planted import datasets
    >>> data = datasets.make_planted(5000, 3, 1, activation="sigmoid", weights=[[2.0, 0.0, 0.0]],
    ...                              task="classification", random_state=0)
    >>> found = label_basin(data.X, data.y, data.teacher.weights, points=3)
    >>> found.hessian.lowest > 0, abs(found.rate.measured - found.rate.predicted) < 0.02
    (True, True)
    >>> found.numbers()["kappa"]
    1.0
    """
    W = as_matrix("weights", weights)
    loss = label_loss(X, y, len(W), activation, sample_weight=sample_weight)
    end = np.asarray(lbfgs(loss, W, steps=500, tolerance=1e-9).params)
    # One Newton step, for as many digits as the rate of descent needs.
    end = end - np.linalg.lstsq(loss.hessian(end), loss.gradient(end).ravel(), rcond=None)[0].reshape(end.shape)
    geometry = local_geometry(end, activation)
    hessian = measured_hessian(loss, end, geometry.radius(), points, random_state)
    shift = np.random.default_rng(0).standard_normal(W.shape)
    start = end + geometry.radius() * shift / np.linalg.norm(shift)
    rate = linear_rate(loss, start, end, steps=_STEPS)
    return LabelBasin(
        end, int(loss.rows.total_weight), geometry, slope_moments(activation, geometry.sigma_min), hessian, rate
    )
