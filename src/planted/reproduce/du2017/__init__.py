"""Du et al. (2017): a filter shared by patches."""

from planted.reproduce.du2017 import _shared_filter, _theorem_step

ENTRIES = (*_shared_filter.ENTRIES, *_theorem_step.ENTRIES)
