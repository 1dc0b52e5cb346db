"""Where to begin."""

from planted.starts._conv import SIGNS, output_radius, sign_restarts, uniform_start
from planted.starts._expand import expanded_start
from planted.starts._random import random_rows

__all__ = ["SIGNS", "expanded_start", "output_radius", "random_rows", "sign_restarts", "uniform_start"]
