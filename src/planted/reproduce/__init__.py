"""The papers' figures and numbers, run again."""

from planted.names import unknown
from planted.reproduce import _spurious, du2017, fu2018, gao2018, ge2017, soltanolkotabi2017
from planted.reproduce._claims import Claim, Explanation, claim, counted, counts
from planted.reproduce._gallery import write_html, write_markdown
from planted.reproduce._printed import Printed
from planted.reproduce._runner import run_studies
from planted.reproduce._study import Entry, Study

_STUDIES = (ge2017, gao2018, du2017, fu2018, soltanolkotabi2017, _spurious)
ENTRIES: dict[str, Entry] = {entry.name: entry for study in _STUDIES for entry in study.ENTRIES}


def find(name: str) -> list[Entry]:
    """The entry of this name, or every entry of the paper of this name but those that stand apart.

    Examples
    --------
    >>> [entry.name for entry in find("du2017")][0]
    'du2017/fig1'
    """
    entries = [e for key, e in ENTRIES.items() if key == name or (key.split("/")[0] == name and not e.apart)]
    if not entries:
        papers = dict.fromkeys(key.split("/")[0] for key in ENTRIES)
        raise ValueError(unknown("entry", name, tuple(dict.fromkeys([*papers, *ENTRIES]))))
    return entries


__all__ = [
    "ENTRIES",
    "Claim",
    "Entry",
    "Explanation",
    "Printed",
    "Study",
    "claim",
    "counted",
    "counts",
    "find",
    "run_studies",
    "write_html",
    "write_markdown",
]
