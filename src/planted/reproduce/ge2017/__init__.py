"""Ge, Lee and Ma (2017): learning through the designed landscapes G and F."""

from planted.reproduce.ge2017 import _figures, _outputs

ENTRIES = (*_figures.ENTRIES, *_outputs.ENTRIES)
