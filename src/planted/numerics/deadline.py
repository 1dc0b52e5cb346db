"""A time until which searches may go on: loops ask whether it has passed, and end with what they have."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from planted.numerics.reading import shortened

# Shares of a budget after which no search goes on, after which nothing is polished further, and after which nothing is
# measured that a verdict can do without.
_SEARCH, POLISH, MEASURE = 0.6, 0.85, 1.0


class _Budget(NamedTuple):
    """When it began, its seconds, and the share of them that may be spent where this is asked."""

    began: float
    seconds: float
    share: float


_ENDLESS = _Budget(0.0, math.inf, _SEARCH)
_BUDGET = ContextVar("planted_deadline", default=_ENDLESS)


def now() -> float:
    """Seconds by a clock that never goes back."""
    return time.perf_counter()


@contextmanager
def time_budget(seconds: Any) -> Iterator[None]:
    """Let searches inside end after six tenths of so many seconds, so that there is time to finish what they found.

    None sets no limit; what is neither None nor a positive number raises a ValueError.

    >>> with time_budget(1e-9):
    ...     passed()
    True
    >>> with time_budget(-1):
    ...     pass
    Traceback (most recent call last):
    ValueError: time_budget must be a positive number of seconds or None, not -1
    """
    number = isinstance(seconds, (int, float, np.integer, np.floating)) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds > 0):
        raise ValueError(
            f"time_budget must be a positive number of seconds or None, not {shortened(repr(seconds), 60)}"
        )
    with _within(_Budget(now(), math.inf if seconds is None else seconds, _SEARCH)):
        yield


@contextmanager
def until(share: float) -> Iterator[bool]:
    """Let loops inside go on until this share of the budget is spent; gives whether their time was over before.

    :data:`POLISH` is for the last descent, :data:`MEASURE` for what is measured of a finished network.

    >>> with time_budget(1e-9), until(MEASURE) as late:
    ...     late, passed()
    (True, True)
    """
    late = passed()
    with _within(_BUDGET.get()._replace(share=share)):
        yield late


@contextmanager
def _within(budget: _Budget) -> Iterator[None]:
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def passed(ahead: float = 0.0) -> bool:
    """Whether the time is over, or will be after `ahead` more seconds; never without a budget.

    >>> passed()
    False
    >>> with time_budget(100.0):
    ...     passed(), passed(ahead=200.0)
    (False, True)
    """
    budget = _BUDGET.get()
    return now() + ahead >= budget.began + budget.share * budget.seconds
