"""One row of the table of assumptions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Status = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True)
class Assumption:
    """One row of the table.

    Attributes
    ----------
    name : str
        The assumption.
    status : "holds", "fails" or "unknown"
    number : float
        What was measured; NaN where nothing could be.
    theorem : str
        Which theorem needs it.
    note : str
        What the number is.
    """

    name: str
    status: Status
    number: float
    theorem: str
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The same as a dictionary, with None for a number that is not finite."""
        row = asdict(self)
        return {**row, "number": self.number if np.isfinite(self.number) else None}

    def __str__(self) -> str:
        return f"{self.status:8} {self.name} ({self.note} = {self.number:.3g}; {self.theorem})"


def assumption_row(name: str, holds: bool | None, number: float, theorem: str, note: str) -> Assumption:
    """A row of the table; `holds` is None where that is not known.

    >>> print(assumption_row("k ≤ d", True, 0.5, "a theorem", "k/d"))
    holds    k ≤ d (k/d = 0.5; a theorem)
    """
    status: Status = "unknown" if holds is None else "holds" if holds else "fails"
    return Assumption(name, status, float(number), theorem, note)
