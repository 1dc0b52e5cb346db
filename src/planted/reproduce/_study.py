"""What a reproduced figure is: a table, the claims it bears out, and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planted.solvers import silent
from planted.solvers._result import Progress


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its value there and here, and whether it holds.

    `verdict` is "holds", "fails" or "explained"; `note` says why, or where the errata do.
    """

    statement: str
    paper: str
    ours: str
    verdict: str
    note: str = ""

    def __str__(self) -> str:
        note = f" — {self.note}" if self.note else ""
        return f"[{self.verdict}] {self.statement}: paper {self.paper}, here {self.ours}{note}"


def claim(statement: str, paper: str, ours: str, holds: bool, note: str = "") -> Claim:
    """A claim that either holds or fails.

    >>> print(claim("G recovers", "5 of 5", "5 of 5", True))
    [holds] G recovers: paper 5 of 5, here 5 of 5
    """
    return Claim(statement, paper, ours, "holds" if holds else "fails", note)


@dataclass(frozen=True)
class Study:
    """The outcome of one entry: a tidy table (one dict a row), claims, and how to draw it."""

    name: str
    title: str
    config: dict[str, Any]
    table: list[dict[str, Any]]
    claims: list[Claim]
    draw: Callable[[Any], None]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return all(claim.verdict != "fails" for claim in self.claims)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title} ({self.seconds:.0f} s)"]
        return "\n".join(lines + [f"  {claim}" for claim in self.claims])


@dataclass(frozen=True)
class Entry:
    """A figure or reported number that can be run again: `run(quick, seed, progress)` gives a Study."""

    name: str
    title: str
    run: Callable[[bool, int, Progress], Study] = field(repr=False)

    def __call__(self, quick: bool = False, seed: int = 0, progress: Progress = silent) -> Study:
        """Run it at full or quick size."""
        return self.run(quick, seed, progress)
