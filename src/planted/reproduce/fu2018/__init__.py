"""Fu, Chi and Liang (2018): binary labels."""

from planted.reproduce.fu2018 import _labels

ENTRIES = (*_labels.ENTRIES,)
