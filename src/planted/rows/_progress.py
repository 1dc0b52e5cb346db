"""Progress of work whose steps are passes over many rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from planted.numerics.progress import Progress
from planted.rows._chunks import Counts

_EVERY = 0.2


@dataclass
class PassProgress:
    """Joins what solvers and the engine report: the phase, the pass, and the time left as the engine's counts tell.

    >>> heard = []
    >>> PassProgress(lambda *words: heard.append(words))(1, 2, "loss 0.5")
    >>> heard
    [(1, 2, 'loss 0.5')]
    """

    report: Progress
    last: tuple[int, int, str] = (0, 1, "looking at the rows")
    spoken: float = field(default=0.0)

    def __call__(self, done: int, total: int, text: str) -> None:
        """A solver's report."""
        self.last = (done, total, text)
        self.report(done, total, text)

    def observe(self, done: int, total: int, counts: Counts) -> None:
        """An engine's report."""
        now = time.monotonic()
        if now - self.spoken < _EVERY or not counts.chunks:
            return
        self.spoken = now
        step, steps, text = self.last
        each = counts.seconds / counts.chunks
        left, phase = each * (total - done), each * total * max(steps - step, 0)
        self.report(
            step, steps, f"{text}; pass {counts.passes}, block {done} of {total}, {_span(left)} left in it, "
            f"at most {_span(left + phase)} in this phase",
        )  # fmt: skip


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
