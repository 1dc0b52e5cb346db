"""Fu, Chi and Liang (2018): binary labels."""

from planted.reproduce.fu2018 import _concentration, _labels, _rho

ENTRIES = (*_rho.ENTRIES, *_labels.ENTRIES, *_concentration.ENTRIES)
