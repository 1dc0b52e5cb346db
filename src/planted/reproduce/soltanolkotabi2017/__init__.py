"""Soltanolkotabi, Javanmard and Lee (2017): over-parameterised networks."""

from planted.reproduce.soltanolkotabi2017 import _activations, _figures

ENTRIES = (*_activations.ENTRIES, *_figures.ENTRIES)
