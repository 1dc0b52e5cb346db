"""Made-up tables for the claims of a study, and what each must lead to.

A module `tables_<paper>.py` beside this one has a list `CASES`; `test_claims.py` collects all of them. Over the cases
of an entry every claim must hold once and fail once, and a claim that some case explains must also fail in a case where
its explanation is measured and wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from planted.reproduce import ENTRIES
from planted.reproduce._claims import Claim

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A table, and the verdicts of the entry's claims on it, in order.

    Attributes
    ----------
    entry : str
        Such as "ge2017/fig1".
    why : str
        A few words, for the test's name.
    rows : list of dict
        The table.
    verdicts : sequence of str
        Expected, one a claim.
    config : dict
        What to change in the entry's quick configuration.
    """

    entry: str
    why: str
    rows: Rows
    verdicts: Sequence[str]
    config: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def claims(self) -> list[Claim]:
        """The entry's claims on this table."""
        entry = ENTRIES[self.entry]
        return entry.claims(entry.config(quick=True) | self.config, self.rows)


def change(rows: Rows, where: Callable[[dict[str, Any]], bool], **values: Any) -> Rows:
    """A copy of the table with other values in the rows that `where` chooses; there must be one."""
    if not any(map(where, rows)):
        raise ValueError("no row is changed")
    return [row | values if where(row) else dict(row) for row in rows]


def uncovered(cases: Sequence[Case]) -> list[str]:
    """Claims, by entry and place, for which some verdict that they can have never comes up."""
    seen: dict[tuple[str, int], list[Claim]] = {}
    for case in cases:
        for place, claim in enumerate(case.claims):
            seen.setdefault((case.entry, place), []).append(claim)
    missing = []
    for (entry, place), claims in seen.items():
        verdicts = {claim.verdict for claim in claims}
        wanted = {"holds", "fails"}
        missing += [f"{entry}, claim {place} never {verdict}" for verdict in sorted(wanted - verdicts)]
        refuted = any(claim.verdict == "fails" and "not explained by" in claim.note for claim in claims)
        if ("explained" in verdicts) != refuted:
            missing.append(f"{entry}, claim {place}: an explanation that holds and one that does not, both or neither")
    return missing
