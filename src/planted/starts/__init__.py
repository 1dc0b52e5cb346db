"""Where to begin."""

from planted.starts._conv import SIGNS, output_radius, sign_restarts, uniform_start
from planted.starts._expand import expanded_start
from planted.starts._joint_diagonal import decompose
from planted.starts._moment_rank import MomentRank, moment_rank, rank_is_testable
from planted.starts._near import near
from planted.starts._random import random_rows
from planted.starts._tensor import TensorStart, start_from_moments, tensor_start
from planted.starts._tensor_moments import choose_orders, neuron_moment

__all__ = [
    "SIGNS",
    "MomentRank",
    "TensorStart",
    "choose_orders",
    "decompose",
    "expanded_start",
    "moment_rank",
    "near",
    "neuron_moment",
    "output_radius",
    "random_rows",
    "rank_is_testable",
    "sign_restarts",
    "start_from_moments",
    "tensor_start",
    "uniform_start",
]
