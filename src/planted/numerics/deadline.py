"""A time until which searches may go on: loops ask whether it has passed, and end with what they have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Shares of a budget after which no search goes on, and after which nothing is polished further.
_SEARCH, _POLISH = 0.6, 0.85
_ENDS: ContextVar[tuple[float, float] | None] = ContextVar("planted_deadline", default=None)


@contextmanager
def time_budget(seconds: float | None) -> Iterator[None]:
    """Let searches inside end after six tenths of so many seconds, so that there is time to finish what they found.

    None sets no limit.

    >>> with time_budget(0.0):
    ...     passed()
    True
    """
    now = time.perf_counter()
    token = _ENDS.set(None if seconds is None else (now + _SEARCH * seconds, now + _POLISH * seconds))
    try:
        yield
    finally:
        _ENDS.reset(token)


@contextmanager
def finishing() -> Iterator[bool]:
    """Let the last descent inside go on for longer than searches may; gives whether these ran out of time.

    >>> with time_budget(0.0), finishing() as late:
    ...     late
    True
    """
    ends, late = _ENDS.get(), passed()
    token = _ENDS.set(None if ends is None else (ends[1], ends[1]))
    try:
        yield late
    finally:
        _ENDS.reset(token)


def passed() -> bool:
    """Whether the time is over; never without a budget.

    >>> passed()
    False
    """
    ends = _ENDS.get()
    return ends is not None and time.perf_counter() >= ends[0]
