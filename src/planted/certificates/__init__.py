"""Is this point a minimum, a saddle or a trap, and do the theorems apply to it?"""

from planted.certificates._assumption import Assumption
from planted.certificates._assumptions import assumptions, average_curvature, average_slope, rho
from planted.certificates._certificate import KINDS, Certificate
from planted.certificates._certify import certify, uncertified
from planted.certificates._conv import ConvStationary
from planted.certificates._ellipsoid import Ellipsoid
from planted.certificates._error_spread import error_ratios
from planted.certificates._filter_coverage import outside_theory
from planted.certificates._kink_crossings import crossing_scores, kink_jumps
from planted.certificates._kinks import Kinks, find_kinks
from planted.certificates._label_basin import LabelBasin, label_basin
from planted.certificates._least_loss import least_loss
from planted.certificates._leaving_open import leaving_neurons_open, leaving_open
from planted.certificates._local_convergence import DescentCheck, LocalConvergence, local_convergence, run_descent
from planted.certificates._local_geometry import (
    LinearRate,
    LocalGeometry,
    MeasuredHessian,
    UniformDeviation,
    linear_rate,
    local_geometry,
    measured_hessian,
    slope_moments,
    uniform_deviation,
)
from planted.certificates._matrix_uniqueness import MatrixUniqueness, matrix_uniqueness
from planted.certificates._over_parameterised import (
    JacobianSpectrum,
    LocalConstants,
    LocalTheorem,
    jacobian_spectrum,
    khatri_rao_spectrum,
    local_constants,
    local_theorem,
    slowest_direction,
)
from planted.certificates._symmetries import Symmetry, flat_symmetries
from planted.certificates._teacher_distance import (
    ErrorBounds,
    SamplingError,
    TeacherDistance,
    approximate_minimum,
    minimum_within,
    sampling_error,
    strict_saddle,
    teacher_distance,
)
from planted.certificates._uncertainty import Uncertainty, cramer_rao, uncertainty
from planted.certificates._unit_scale import UnitScaled, unit_scaled
from planted.objectives import Curvature, smallest_curvature

__all__ = [
    "KINDS",
    "Assumption",
    "Certificate",
    "ConvStationary",
    "Curvature",
    "DescentCheck",
    "Ellipsoid",
    "ErrorBounds",
    "JacobianSpectrum",
    "Kinks",
    "LabelBasin",
    "LinearRate",
    "LocalConstants",
    "LocalConvergence",
    "LocalGeometry",
    "LocalTheorem",
    "MatrixUniqueness",
    "MeasuredHessian",
    "SamplingError",
    "Symmetry",
    "TeacherDistance",
    "Uncertainty",
    "UniformDeviation",
    "UnitScaled",
    "approximate_minimum",
    "assumptions",
    "average_curvature",
    "average_slope",
    "certify",
    "cramer_rao",
    "crossing_scores",
    "error_ratios",
    "find_kinks",
    "flat_symmetries",
    "jacobian_spectrum",
    "khatri_rao_spectrum",
    "kink_jumps",
    "label_basin",
    "least_loss",
    "leaving_neurons_open",
    "leaving_open",
    "linear_rate",
    "local_constants",
    "local_convergence",
    "local_geometry",
    "local_theorem",
    "matrix_uniqueness",
    "measured_hessian",
    "minimum_within",
    "outside_theory",
    "rho",
    "run_descent",
    "sampling_error",
    "slope_moments",
    "slowest_direction",
    "smallest_curvature",
    "strict_saddle",
    "teacher_distance",
    "uncertainty",
    "uncertified",
    "uniform_deviation",
    "unit_scaled",
]
