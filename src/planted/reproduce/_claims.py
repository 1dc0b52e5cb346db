"""What a paper claims, judged from a study's table: it holds, it fails, or a measurement explains why it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from planted.reproduce._store import Rows

VERDICTS = ("holds", "explained", "fails")


@dataclass(frozen=True)
class Explanation:
    """Why a claim does not hold: a statement that is itself measured, from the same table, and can itself be wrong.

    Attributes
    ----------
    reason : str
        The statement that would explain it, such as "κ* = 0 for this density".
    measured : str
        What the table says about it, such as "least |κ| 0.002 ± 0.004".
    holds : bool
        Whether what was measured bears the reason out.
    """

    reason: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its value there and here, and what became of it; made by :func:`claim`.

    Attributes
    ----------
    statement, paper, ours : str
        What is claimed, what the paper has for it, what was measured here.
    verdict : str
        "holds", "explained" or "fails".
    note : str
        A remark, and the explanation with its measurement where there is one.
    """

    statement: str
    paper: str
    ours: str
    verdict: str
    note: str = ""

    def __str__(self) -> str:
        note = f" — {self.note}" if self.note else ""
        return f"[{self.verdict}] {self.statement}: paper {self.paper}, here {self.ours}{note}"


def claim(
    statement: str, paper: str, ours: str, holds: bool, note: str = "", explanation: Explanation | None = None
) -> Claim:
    """A claim that holds, or fails, or is explained by an explanation that holds.

    `holds` and `explanation.holds` are computed from the table, never written down: an explanation whose own
    measurement does not bear it out leaves the claim failed, and says so.

    >>> print(claim("G recovers", "5 of 5", "5 of 5", True))
    [holds] G recovers: paper 5 of 5, here 5 of 5
    >>> why = Explanation("κ* = 0 here", "κ* is 0.01 ± 0.02", True)
    >>> print(claim("L recovers", "yes", "no", False, explanation=why))
    [explained] L recovers: paper yes, here no — κ* = 0 here: κ* is 0.01 ± 0.02
    >>> why = Explanation("κ* = 0 here", "κ* is 0.9 ± 0.02", False)
    >>> print(claim("L recovers", "yes", "no", False, explanation=why))
    [fails] L recovers: paper yes, here no — not explained by "κ* = 0 here": κ* is 0.9 ± 0.02
    """
    if holds or explanation is None:
        return Claim(statement, paper, ours, "holds" if holds else "fails", note)
    reason = explanation.reason if explanation.holds else f'not explained by "{explanation.reason}"'
    remark = "; ".join(part for part in (note, f"{reason}: {explanation.measured}") if part)
    return Claim(statement, paper, ours, "explained" if explanation.holds else "fails", remark)


def select(rows: Rows, **values: Any) -> Rows:
    """The rows with these values, of which there must be some: no claim is judged on an empty part of a table.

    >>> select([{"loss": "G", "error": 1}, {"loss": "L", "error": 2}], loss="L")
    [{'loss': 'L', 'error': 2}]
    >>> select([{"loss": "G"}], loss="F")
    Traceback (most recent call last):
    ValueError: the table has no row with loss = 'F'
    """
    chosen = [row for row in rows if all(row.get(name) == value for name, value in values.items())]
    if not chosen:
        raise ValueError(f"the table has no row with {', '.join(f'{name} = {v!r}' for name, v in values.items())}")
    return chosen


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims hold, are explained and fail, also where that is none.

    >>> counts([claim("a", "", "", True), claim("b", "", "", False)])
    {'holds': 1, 'explained': 0, 'fails': 1}
    """
    verdicts = [each.verdict for each in claims]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def counted(claims: Iterable[Claim]) -> str:
    """The counts as a person says them.

    >>> counted([claim("a", "", "", True), claim("b", "", "", False)])
    '1 holds, 0 are explained, 1 fails'
    """
    words = {"holds": ("holds", "hold"), "explained": ("is explained", "are explained"), "fails": ("fails", "fail")}
    return ", ".join(f"{n} {words[verdict][n != 1]}" for verdict, n in counts(claims).items())
