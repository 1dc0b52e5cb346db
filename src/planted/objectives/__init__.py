"""What to minimise: one file per loss."""

from planted.objectives._balance import balance
from planted.objectives._base import (
    Objective,
    Params,
    RowObjective,
    block_value_and_gradient,
    evaluate,
    evaluate_with_gradient,
)
from planted.objectives._conv import ConvFilters, ConvSquared, PopulationConv
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
from planted.objectives._dense_models import Dense, MeanOfProbabilities, SymmetricDense, symmetric_part
from planted.objectives._filter_chart import ConvChart
from planted.objectives._filter_models import Filters, SharedFilter
from planted.objectives._fit import (
    Fit,
    curvature_matrix,
    curvature_product,
    energy,
    noise_scores,
    residual_products,
    row_jacobian,
    score_matrix,
)
from planted.objectives._flat import Flat, unflatten, units_of
from planted.objectives._full_rank import (
    FullRankLandscape,
    read_off,
    whitening,
)
from planted.objectives._hermite24 import Hermite24, PopulationHermite24
from planted.objectives._host import is_small, kink_distances
from planted.objectives._host_filters import FilterCoordinates
from planted.objectives._jacobian_gram import jacobian_gram
from planted.objectives._landscape import AssumptionError, Landscape, PopulationLandscape, orthonormal
from planted.objectives._likelihood import (
    Likelihood,
    LogisticLikelihood,
    SoftmaxLikelihood,
    check_probability,
    label_loss,
)
from planted.objectives._losses import BernoulliLogit, BernoulliMean, Loss, Softmax, SquaredError
from planted.objectives._models import Model, flatten, named, part_beside, split
from planted.objectives._pair_form import SMALL, Constants, PairForm
from planted.objectives._pairs import PopulationPairs, appendix_d
from planted.objectives._penalised import Penalised
from planted.objectives._population_full_rank import PopulationFullRankLandscape
from planted.objectives._population_score import PopulationScoreLandscape, score_weights
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
from planted.objectives._score_landscape import ScoreLandscape, score_span
from planted.objectives._squared import PopulationSquared, Squared
from planted.objectives._symmetric_part import SymmetricPart
from planted.objectives._tensor_sum import PopulationTensorSum, TensorSum
from planted.objectives._two_samples import TwoSampleFullRankLandscape

__all__ = [
    "DENSE_SIZE",
    "SMALL",
    "ApproximateMinimumBound",
    "AssumptionError",
    "BernoulliLogit",
    "BernoulliMean",
    "Constants",
    "ConvChart",
    "ConvFilters",
    "ConvPoint",
    "ConvSquared",
    "Curvature",
    "Dense",
    "FilterCoordinates",
    "Filters",
    "Fit",
    "Flat",
    "FullRankLandscape",
    "Hermite24",
    "Hessian",
    "Landscape",
    "Likelihood",
    "LogisticLikelihood",
    "Loss",
    "MeanOfProbabilities",
    "Model",
    "Objective",
    "PairForm",
    "Params",
    "Penalised",
    "PopulationConv",
    "PopulationFullRankLandscape",
    "PopulationHermite24",
    "PopulationLandscape",
    "PopulationPairs",
    "PopulationScoreLandscape",
    "PopulationSquared",
    "PopulationTensorSum",
    "QuadraticForm",
    "QuadraticVerdict",
    "RowObjective",
    "ScoreLandscape",
    "SharedFilter",
    "Softmax",
    "SoftmaxLikelihood",
    "Squared",
    "SquaredError",
    "SymmetricDense",
    "SymmetricPart",
    "TensorSum",
    "TwoSampleFullRankLandscape",
    "appendix_d",
    "approximate_minimum_bound",
    "arc",
    "balance",
    "best_output",
    "block_value_and_gradient",
    "check_probability",
    "curvature_matrix",
    "curvature_product",
    "energy",
    "evaluate",
    "evaluate_with_gradient",
    "flatten",
    "hessian_form",
    "hessian_of",
    "is_small",
    "jacobian_gram",
    "kink_distances",
    "label_loss",
    "named",
    "nearest_stationary_point",
    "noise_scores",
    "orthonormal",
    "part_beside",
    "quadratic_jacobian",
    "quadratic_matrix",
    "quadratic_verdict",
    "read_off",
    "residual_matrix",
    "residual_products",
    "row_jacobian",
    "score_matrix",
    "score_span",
    "score_weights",
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
