"""Threads of the linear algebra library."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

# Numbers in X up to which products are too small to be shared between threads.
_SMALL_INPUTS = 500_000


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Small products on one thread, on which a threaded BLAS would spend its time waiting.

    >>> with one_thread():
    ...     pass
    """
    return _libraries().limit(limits=1, user_api="blas")


def threads_for(entries: int) -> AbstractContextManager[Any]:
    """Linear algebra on inputs of so many entries: on one thread where they are few.

    >>> with threads_for(10):
    ...     pass
    """
    return one_thread() if entries <= _SMALL_INPUTS else nullcontext()
