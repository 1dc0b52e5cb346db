"""Gao et al. (2018): score functions of any density, and the loss L."""

from planted.reproduce.gao2018 import _estimated, _laplace, _rates, _scores

ENTRIES = (*_scores.ENTRIES, *_laplace.ENTRIES, *_estimated.ENTRIES, *_rates.ENTRIES)
