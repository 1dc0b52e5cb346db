"""Settings as a paper prints them, beside those that were run: a table made from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Printed:
    """One setting of a figure.

    Attributes
    ----------
    label : str
        What it is, such as "rows a batch".
    paper : object
        Its value in the paper, in the form that the configuration has it; None where the paper does not say.
    reason : str
        Why the configuration has another value, where it has.
    """

    label: str
    paper: Any
    reason: str = ""


@dataclass(frozen=True)
class Setting:
    """One row of the table "paper / here"."""

    label: str
    paper: str
    here: str
    remark: str


def settings(printed: Mapping[str, Printed], config: Mapping[str, Any]) -> list[Setting]:
    """The table "paper / here" of a configuration, one row a printed setting.

    >>> printed = {"d": Printed("inputs", 50), "mu": Printed("μ", 30, "outside Theorem 4")}
    >>> for row in settings(printed, {"d": 50, "mu": 0.1}):
    ...     print(row.label, "|", row.paper, "|", row.here, "|", row.remark)
    inputs | 50 | 50 | as printed
    μ | 30 | 0.1 | outside Theorem 4
    """
    rows = []
    for name, setting in printed.items():
        here = config[name]
        same = _shown(setting.paper) == _shown(here)
        paper = "not stated" if setting.paper is None else _shown(setting.paper)
        rows.append(Setting(setting.label, paper, _shown(here), "as printed" if same else setting.reason))
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
