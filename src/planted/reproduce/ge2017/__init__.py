"""Ge, Lee and Ma (2017): learning through the designed landscapes G and F."""

from planted.reproduce.ge2017 import _appendix_d, _conjecture, _figures, _fresh, _outputs

ENTRIES = (*_figures.ENTRIES, *_appendix_d.ENTRIES, *_outputs.ENTRIES, *_conjecture.ENTRIES, *_fresh.ENTRIES)
