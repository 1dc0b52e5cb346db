"""What a reproduced figure is: independent cells of work, the table they give, the claims it bears out, a picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planted.numerics.progress import Progress
from planted.reproduce._claims import Claim, counted
from planted.reproduce._printed import Printed, Setting
from planted.reproduce._store import Rows, digest, jsonable
from planted.solvers import silent

Config = dict[str, Any]
Cell = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """The outcome of one entry: a tidy table (one dict a row), claims, and how to draw it.

    `seconds` is the time its cells took to compute, whenever that was, and `versions` are those they were computed
    with, the commit and the date among them; `folder` is where they are kept, if anywhere. `settings` is the table
    "paper / here" of its configuration.
    """

    name: str
    title: str
    config: Config
    table: Rows
    claims: list[Claim]
    draw: Callable[[Any], None]
    seconds: float
    seed: int = 0
    folder: Path | None = None
    versions: dict[str, str] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)

    @property
    def made(self) -> str:
        """When its cells were computed, and by which code.

        >>> Study("a/b", "title", {}, [], [], print, 0.0, versions={"planted": "0.2", "date": "2026-01-31"}).made
        'computed on 2026-01-31 by planted 0.2'
        """
        commit = self.versions.get("commit")
        code = f"planted {self.versions.get('planted', 'of unknown version')}" + (
            f", commit {commit}" if commit else ""
        )
        return f"computed on {self.versions.get('date', 'an unknown date')} by {code}"

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return all(claim.verdict != "fails" for claim in self.claims)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title} ({self.seconds:.0f} s); {counted(self.claims)}"]
        lines += [f"  {claim}" for claim in self.claims]
        lines += [f"  {row.label}: paper {row.paper}, here {row.here}; {row.remark}" for row in self.settings]
        return "\n".join(lines)


@dataclass(frozen=True)
class Entry:
    """A figure or reported number that can be run again, in cells that do not need each other.

    Attributes
    ----------
    name, title : str
        Such as "ge2017/fig3".
    quick, full : mapping
        JSON-able configurations; functions below get one of them as JSON gives it back (lists for tuples).
    cells : callable (config) -> list of small JSON-able dicts
        Pieces of work of 1 to 60 seconds, in plotting order.
    run_cell : callable (config, cell, seed) -> rows
        A function of its arguments only, at the top of its module so that other processes can call it. Rows are
        dicts of scalars, without timings: those are recorded apart. It sees to its own precision.
    claims : callable (config, rows) -> list of Claim
        On the rows of all cells, in cell order: a function of its arguments only, so that made-up tables can be
        fed to it. Each claim is made by :func:`planted.reproduce.claim`.
    draw : callable (config, rows, matplotlib Figure) -> None
    seed_by : tuple of str, optional
        The names in a cell from whose values, and the study's seed, the cell's seed derives; all of them if omitted,
        so that every cell draws its own random numbers. Cells that agree on these names share theirs; with ()
        every cell gets the study's seed itself.
    printed : mapping, optional
        By name in the configuration, what the paper prints for it: the table "paper / here".
    apart : str, optional
        Why `--all` and a paper's name leave it out, such as "about an hour of one core"; its own name runs it.
    """

    name: str
    title: str
    quick: Mapping[str, Any] = field(repr=False)
    full: Mapping[str, Any] = field(repr=False)
    cells: Callable[[Config], list[Cell]] = field(repr=False)
    run_cell: Callable[[Config, Cell, int], Rows] = field(repr=False)
    claims: Callable[[Config, Rows], list[Claim]] = field(repr=False)
    draw: Callable[[Config, Rows, Any], None] = field(repr=False)
    seed_by: tuple[str, ...] | None = field(default=None, repr=False)
    printed: Mapping[str, Printed] = field(default_factory=dict, repr=False)
    apart: str = ""

    def config(self, quick: bool) -> Config:
        """The configuration of this size, as JSON gives it back."""
        return jsonable(dict(self.quick if quick else self.full))

    def cell_seed(self, seed: int, cell: Cell) -> int:
        """The seed of a cell: a function of the study's seed and what `seed_by` names, never of the order."""
        if self.seed_by == ():
            return seed
        shared = cell if self.seed_by is None else {name: cell[name] for name in self.seed_by}
        return int(digest(seed, shared)[:8], 16)

    def __call__(
        self,
        quick: bool = False,
        seed: int = 0,
        progress: Progress = silent,
        out: str | os.PathLike[str] | None = None,
        jobs: int = 1,
    ) -> Study:
        """Run it at full or quick size; with `out`, cells that are there already are read, not computed."""
        from planted.reproduce._runner import run_studies

        return next(run_studies([self], quick=quick, seed=seed, progress=progress, out=out, jobs=jobs))
