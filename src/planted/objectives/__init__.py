"""What to minimise: one file per loss."""

from planted.objectives._base import Objective, Params, RowObjective
from planted.objectives._full_rank import (
    FullRankLandscape,
    PopulationFullRankLandscape,
    read_off,
    whitening,
)
from planted.objectives._hermite24 import Hermite24, PopulationHermite24
from planted.objectives._landscape import Landscape, PopulationLandscape
from planted.objectives._pairs import PopulationPairs, appendix_d
from planted.objectives._score_landscape import ScoreLandscape
from planted.objectives._squared import PopulationSquared, Squared

__all__ = [
    "FullRankLandscape",
    "Hermite24",
    "Landscape",
    "Objective",
    "Params",
    "PopulationFullRankLandscape",
    "PopulationHermite24",
    "PopulationLandscape",
    "PopulationPairs",
    "PopulationSquared",
    "RowObjective",
    "ScoreLandscape",
    "Squared",
    "appendix_d",
    "read_off",
    "whitening",
]
