"""What to minimise: one file per loss."""

from planted.objectives._base import Objective, Params, RowObjective
from planted.objectives._conv import ConvSquared, PopulationConv
from planted.objectives._conv_points import ConvPoint, nearest_stationary_point, stationary_points
from planted.objectives._full_rank import (
    FullRankLandscape,
    PopulationFullRankLandscape,
    read_off,
    whitening,
)
from planted.objectives._hermite24 import Hermite24, PopulationHermite24
from planted.objectives._landscape import Landscape, PopulationLandscape
from planted.objectives._pairs import PopulationPairs, appendix_d
from planted.objectives._squared import PopulationSquared, Squared

__all__ = [
    "ConvPoint",
    "ConvSquared",
    "FullRankLandscape",
    "Hermite24",
    "Landscape",
    "Objective",
    "Params",
    "PopulationConv",
    "PopulationFullRankLandscape",
    "PopulationHermite24",
    "PopulationLandscape",
    "PopulationPairs",
    "PopulationSquared",
    "RowObjective",
    "Squared",
    "appendix_d",
    "nearest_stationary_point",
    "read_off",
    "stationary_points",
    "whitening",
]
