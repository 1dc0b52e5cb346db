"""What to minimise: one file per loss."""

from planted.objectives._base import Objective, Params, RowObjective
from planted.objectives._conv import ConvSquared, PopulationConv
from planted.objectives._conv_points import ConvPoint, nearest_stationary_point, stationary_points
from planted.objectives._curvature import Curvature, smallest_curvature
from planted.objectives._full_rank import (
    FullRankLandscape,
    PopulationFullRankLandscape,
    read_off,
    whitening,
)
from planted.objectives._hermite24 import Hermite24, PopulationHermite24
from planted.objectives._landscape import AssumptionError, Landscape, PopulationLandscape
from planted.objectives._likelihood import Likelihood, label_loss
from planted.objectives._pairs import PopulationPairs, appendix_d
from planted.objectives._quadratic import (
    ApproximateMinimumBound,
    QuadraticForm,
    QuadraticVerdict,
    approximate_minimum_bound,
    hessian_form,
    quadratic_jacobian,
    quadratic_matrix,
    quadratic_verdict,
    residual_matrix,
)
from planted.objectives._score_landscape import ScoreLandscape
from planted.objectives._squared import PopulationSquared, Squared
from planted.objectives._symmetric_part import SymmetricPart, symmetric_part

__all__ = [
    "ApproximateMinimumBound",
    "AssumptionError",
    "ConvPoint",
    "ConvSquared",
    "Curvature",
    "FullRankLandscape",
    "Hermite24",
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
    "hessian_form",
    "label_loss",
    "nearest_stationary_point",
    "quadratic_jacobian",
    "quadratic_matrix",
    "quadratic_verdict",
    "read_off",
    "residual_matrix",
    "smallest_curvature",
    "stationary_points",
    "symmetric_part",
    "whitening",
]
