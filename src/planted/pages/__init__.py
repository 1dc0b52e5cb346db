"""Pages to look at, each one self-contained HTML file: the report of a result, and the landscape to play with."""

from planted.pages._evidence import Evidence, displayed, evidence, shown_errors, shown_network
from planted.pages._explore import TRAPS, Trap, write_explorer
from planted.pages._report import fragment, report_html, write_report
from planted.pages._subject import Subject, subject_of
from planted.pages._words import FIRST_ORDER, left_out

__all__ = [
    "FIRST_ORDER",
    "TRAPS",
    "Evidence",
    "Subject",
    "Trap",
    "displayed",
    "evidence",
    "fragment",
    "left_out",
    "report_html",
    "shown_errors",
    "shown_network",
    "subject_of",
    "write_explorer",
    "write_report",
]
