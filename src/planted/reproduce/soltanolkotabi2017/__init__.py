"""Soltanolkotabi, Javanmard and Lee (2017): over-parameterised networks."""

from planted.reproduce.soltanolkotabi2017 import (
    _activations,
    _figures,
    _landscape,
    _local_convergence,
    _random_labels,
)

ENTRIES = (
    *_activations.ENTRIES,
    *_figures.ENTRIES,
    *_random_labels.ENTRIES,
    *_landscape.ENTRIES,
    *_local_convergence.ENTRIES,
)
