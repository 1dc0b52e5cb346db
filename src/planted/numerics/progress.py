"""How long work reports on itself."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called as `progress(done, total, text)` while a solver works."""


def silent(done: int, total: int, text: str) -> None:
    """Report nothing: the default progress.

    >>> silent(1, 2, "working")
    """
