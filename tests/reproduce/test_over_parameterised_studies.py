"""Claims of the over-parameterised studies on made-up tables: they hold where they should, and can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planted.reproduce import ENTRIES
from planted.reproduce._spurious import STUDENTS, distinct_values


def verdicts(name: str, rows: list[dict], quick: bool = False) -> list[str]:
    entry = ENTRIES[name]
    return [claim.verdict for claim in entry.claims(entry.config(quick), rows)]


def spurious_rows() -> list[dict]:
    """One start of every student: the squared loss is trapped, the others are not."""
    end = {"k": 6, "start": 0, "gradient_norm": 1e-11, "least_eigenvalue": 0.01, "saddles_left": 0}
    kinds = ["local minimum" if student == "squared" else "global minimum" for student in STUDENTS]
    return [
        {"student": student, "kind": kind, "value": float(kind == "local minimum")} | end
        for student, kind in zip(STUDENTS, kinds, strict=True)
    ]


@pytest.mark.parametrize(
    ("row", "change", "failing"),
    [
        (None, {}, []),
        (0, {"kind": "global minimum", "value": 0.0}, [0, 2]),
        (1, {"kind": "local minimum"}, [1]),
        (5, {"kind": "local minimum"}, [2]),
        (2, {"gradient_norm": 1e-8}, [3]),
        (3, {"kind": "unsettled"}, [4]),
    ],
)
def test_claims_on_spurious_minima_can_fail(row: int | None, change: dict, failing: list[int]) -> None:
    rows = spurious_rows()
    if row is not None:
        rows[row] |= change
    found = verdicts("spurious", rows)
    assert [index for index, verdict in enumerate(found) if verdict == "fails"] == failing


def test_values_are_distinct_beyond_rounding() -> None:
    assert distinct_values([{"value": v} for v in (0.3, 0.1, 0.1 + 1e-9, 0.2)]) == [0.1, 0.2, 0.3]


def sweep_rows(panel: str, reading: str, values: list[int], crossing: float, d: int) -> list[dict]:
    """Ten problems a value: all starts succeed above `crossing`, none below."""
    return [
        {"panel": panel, "reading": reading, "value": v, "k": v, "d": d, "problem": i, "reached": 10 * (v > crossing)}
        for v in values
        for i in range(10)
    ]


@pytest.mark.parametrize(("crossing", "expected"), [(11.4, ["holds"]), (8.4, ["fails"])])
def test_claims_on_crossings_can_fail(crossing: float, expected: list[str]) -> None:
    entry = ENTRIES["soltanolkotabi2017/fig2"]
    config = entry.config(False)
    config["panels"] = {"2a": config["panels"]["2a"]}
    rows = sweep_rows("2a", "signs", config["panels"]["2a"], crossing, 10)
    assert [claim.verdict for claim in entry.claims(config, rows)] == expected


@pytest.mark.parametrize(
    ("signs", "ones", "expected"),
    [
        (5.4, 5.4, ["holds", "holds", "holds"]),
        (8.4, 5.4, ["explained", "fails", "holds"]),
        (8.4, 8.4, ["fails", "fails", "fails"]),
    ],
)
def test_the_text_s_crossing_is_explained_only_by_a_reading_that_agrees(
    signs: float, ones: float, expected: list[str]
) -> None:
    entry = ENTRIES["soltanolkotabi2017/fig3"]
    config = entry.config(False)
    values = config["panels"]["3a"]
    config["panels"] = {"3a": values}
    rows = sweep_rows("3a", "signs", values, signs, 20) + sweep_rows("3a", "ones", values, ones, 20)
    assert [claim.verdict for claim in entry.claims(config, rows)] == expected


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
    ENTRIES["spurious"].draw({}, spurious_rows(), figure)
    assert np.isclose(figure.axes[0].lines[0].get_ydata(), 0.0).all()
