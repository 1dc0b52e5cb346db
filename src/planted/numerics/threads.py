"""Threads of the linear algebra library."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Small products on one thread, on which a threaded BLAS would spend its time waiting.

    >>> with one_thread():
    ...     pass
    """
    return _libraries().limit(limits=1, user_api="blas")
