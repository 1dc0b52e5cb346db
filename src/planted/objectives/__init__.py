"""What to minimise: one file per loss."""

from planted.objectives._base import Objective, Params, RowObjective, evaluate, evaluate_with_gradient
from planted.objectives._conv import ConvSquared, PopulationConv
from planted.objectives._conv_filters import ConvFilters
from planted.objectives._conv_points import (
    ConvPoint,
    arc,
    best_output,
    nearest_stationary_point,
    stationary_points,
    threshold,
)
from planted.objectives._curvature import (
    DENSE_SIZE,
    Curvature,
    Hessian,
    hessian_of,
    smallest_curvature,
    smallest_eigenpair,
)
from planted.objectives._flat import Flat, flatten, unflatten, units_of
from planted.objectives._full_rank import (
    FullRankLandscape,
    PopulationFullRankLandscape,
    read_off,
    whitening,
)
from planted.objectives._hermite24 import Hermite24, PopulationHermite24
from planted.objectives._jacobian_gram import jacobian_gram
from planted.objectives._landscape import SMALL, AssumptionError, Constants, Landscape, PopulationLandscape
from planted.objectives._likelihood import Likelihood, check_probability, label_loss
from planted.objectives._pairs import PopulationPairs, appendix_d
from planted.objectives._quadratic import (
    ApproximateMinimumBound,
    QuadraticForm,
    QuadraticVerdict,
    approximate_minimum_bound,
    as_quadratic,
    hessian_form,
    quadratic_jacobian,
    quadratic_matrix,
    quadratic_verdict,
    residual_matrix,
)
from planted.objectives._score_landscape import ScoreLandscape
from planted.objectives._squared import PopulationSquared, Squared, split
from planted.objectives._symmetric_part import SymmetricPart, symmetric_part

__all__ = [
    "DENSE_SIZE",
    "SMALL",
    "ApproximateMinimumBound",
    "AssumptionError",
    "Constants",
    "ConvFilters",
    "ConvPoint",
    "ConvSquared",
    "Curvature",
    "Flat",
    "FullRankLandscape",
    "Hermite24",
    "Hessian",
    "Landscape",
    "Likelihood",
    "Objective",
    "Params",
    "PopulationConv",
    "PopulationFullRankLandscape",
    "PopulationHermite24",
    "PopulationLandscape",
    "PopulationPairs",
    "PopulationSquared",
    "QuadraticForm",
    "QuadraticVerdict",
    "RowObjective",
    "ScoreLandscape",
    "Squared",
    "SymmetricPart",
    "appendix_d",
    "approximate_minimum_bound",
    "arc",
    "as_quadratic",
    "best_output",
    "check_probability",
    "evaluate",
    "evaluate_with_gradient",
    "flatten",
    "hessian_form",
    "hessian_of",
    "jacobian_gram",
    "label_loss",
    "nearest_stationary_point",
    "quadratic_jacobian",
    "quadratic_matrix",
    "quadratic_verdict",
    "read_off",
    "residual_matrix",
    "smallest_curvature",
    "smallest_eigenpair",
    "split",
    "stationary_points",
    "symmetric_part",
    "threshold",
    "unflatten",
    "units_of",
    "whitening",
]
