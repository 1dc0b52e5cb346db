"""Cells and pictures of the study of spurious minima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tables_spurious import CASES

from planted.reproduce import ENTRIES
from planted.reproduce._spurious import distinct_values


def test_values_are_distinct_beyond_rounding() -> None:
    assert distinct_values([{"value": v} for v in (0.3, 0.1, 0.1 + 1e-9, 0.2)]) == [0.1, 0.2, 0.3]


def test_cells_cover_every_start_once() -> None:
    entry = ENTRIES["spurious"]
    for quick in (True, False):
        config = entry.config(quick)
        cells = entry.cells(config)
        starts = [(c["k"], c["student"], i) for c in cells for i in range(c["first"], c["last"])]
        assert len(starts) == len(set(starts)) == sum(map(sum, config["starts"].values()))
    assert sum(counts[0] for counts in config["starts"].values()) >= 1000
    assert {int(k) for k in config["starts"]} >= {6, 10, 20, 50, 100}
    assert entry.cell_seed(0, cells[0]) == replace(entry).cell_seed(0, cells[1])


def test_figures_are_drawn_from_their_rows() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    ENTRIES["spurious"].draw({}, CASES[0].rows, figure)
    assert np.isclose(figure.axes[0].lines[0].get_ydata(), 0.0).all()
