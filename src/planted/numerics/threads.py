"""Threads of this process and of the linear algebra library."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
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


def cores() -> int:
    """Processors that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="planted")


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T]:
    """What calls return, in their order. This thread and others that are kept, one a core, take the next call in turn.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    threads = min(cores(), len(calls))
    if threads < 2:
        return [call() for call in calls]
    results: dict[int, T] = {}
    left = iter(enumerate(calls))

    def work() -> None:
        # Taking the next of an iterator is one step of the interpreter, which no other thread interrupts.
        for place, call in left:
            results[place] = call()

    others = [_pool(cores() - 1).submit(work) for _ in range(threads - 1)]
    work()
    for other in others:
        other.result()
    return [results[place] for place in range(len(calls))]
