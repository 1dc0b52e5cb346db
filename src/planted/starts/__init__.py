"""Where to begin."""

from planted.starts._conv import SIGNS, output_radius, sign_restarts, uniform_start

__all__ = ["SIGNS", "output_radius", "sign_restarts", "uniform_start"]
