"""A method: its recipe, and what is known of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from planted.methods._contribution import contribution
from planted.methods._finish import recover
from planted.methods._linear import linear_start
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.methods._refine import refined
from planted.networks import from_arrays
from planted.numerics.precision import float64
from planted.numerics.threads import threads_for


def _never(problem: Problem) -> str | None:
    return None


@dataclass(frozen=True)
class Method:
    """A recipe with its record. It is called on a :class:`Problem` and returns a :class:`Recovery`.

    Attributes
    ----------
    name : str
    start : callable
        From a problem to a :class:`Start`: what is particular to this method.
    linear : callable
        The same for networks without neurons.
    summary : str
        What it does, in a few words.
    suits : str
        The data it is for, in a few words.
    obstacle : callable
        From a problem to the reason why the method does not apply to it, or None.
    inputs : "any", "gaussian" or "density"
        What it assumes of the inputs: nothing, that they are Gaussian, or that their density is known or estimated.
    scales : bool
        Whether it needs no more than a sample in memory and sums over rows, so that rows may be anywhere.
    weighted, several_outputs : bool
        Whether it takes row weights, and several outputs.
    rank : int or None
        Its place in the race of "auto"; None if it does not take part.
    affordable : callable
        Like `obstacle`, for the race alone: why trying it is not worth its cost.
    finish : callable
        From a problem, its start and the time it began to the :class:`Recovery`.
    width : callable or None
        From a problem to the number of neurons where a caller leaves it open; None where rows left out decide it.
    """

    name: str
    start: Callable[[Problem], Start]
    summary: str
    suits: str
    linear: Callable[[Problem], Start] = linear_start
    obstacle: Callable[[Problem], str | None] = _never
    inputs: str = "any"
    scales: bool = False
    weighted: bool = True
    several_outputs: bool = False
    rank: int | None = None
    affordable: Callable[[Problem], str | None] = _never
    finish: Callable[[Any, Start, float], Recovery] = recover
    width: Callable[[Problem], int] | None = None

    def check_source(self, in_chunks: bool) -> None:
        """Raise a ValueError if rows are read piece by piece and the method needs them all in memory."""
        if in_chunks and not self.scales:
            scaling = ", ".join(name for name, method in records("regression").items() if method.scales)
            raise ValueError(
                f"method={self.name!r} needs all rows in memory at once; for files and clusters use {scaling}"
            )

    def refusal(self, problem: Problem) -> str | None:
        """Why the method cannot be called on a problem, from its record, or None."""
        if problem.survey.weight is not None and not self.weighted:
            return f"method={self.name!r} takes no row weights; use method='auto'"
        if problem.n_outputs > 1 and not self.several_outputs:
            return f"method={self.name!r} takes one output, not {problem.n_outputs}; use method='auto'"
        reason = self.obstacle(problem)
        return None if reason is None else f"method={self.name!r} {reason}"

    def check(self, problem: Problem) -> None:
        """Raise a ValueError that says why if the method cannot be called on a problem."""
        self.check_source(problem.in_chunks)
        reason = self.refusal(problem)
        if reason is not None:
            raise ValueError(reason)

    @float64
    def begin(self, problem: Problem) -> Start:
        """The start, refined on the sample; from the problem's memory where rows are read piece by piece."""
        self.check(problem)
        start_of = self.start if problem.n_hidden else self.linear
        if not problem.in_chunks:
            with threads_for(problem.survey.X.size):
                return refined(problem, start_of(problem))

        computed: list[Start] = []

        def compute() -> dict[str, np.ndarray]:
            start = refined(problem, start_of(problem))
            computed.append(start)
            words = {"method": start.method, "remark": start.remark}
            numbers = {name: value for name, value in start.details.items() if _numeric(value)}
            return (
                {f"network {name}": value for name, value in start.network.arrays().items()}
                | {f"detail {name}": np.asarray(value) for name, value in numbers.items()}
                | {f"word {name}": np.frombuffer(value.encode(), np.uint8) for name, value in words.items()}
                | {"loss": np.asarray(start.loss)}
            )

        stored = problem.once("start", compute)
        if computed:
            return computed[0]
        parts = {kind: _named(stored, kind) for kind in ("network", "detail", "word")}
        words = {name: value.tobytes().decode() for name, value in parts["word"].items()}
        return Start(
            from_arrays(parts["network"], problem.activation),
            words["method"],
            float(stored["loss"]),
            details={name: value.item() if value.ndim == 0 else value for name, value in parts["detail"].items()},
            remark=words["remark"],
        )

    def __call__(self, problem: Problem) -> Recovery:
        """Recover the network behind a problem; `details` says what its directions contributed, if it has any."""
        began = time.perf_counter()
        start = self.begin(problem)
        if start.method == self.name and "directions" in start.details and not problem.in_chunks:
            start = start.adding({}, contribution(problem, start))
        return self.finish(problem, start, began)


@lru_cache
def records(task: str) -> dict[str, Method]:
    """The methods of a task by name: one module of `planted.methods.<task>` each, with its record in `METHOD`.

    >>> "expand" in records("regression")
    True
    """
    folder = Path(__file__).parent / task
    names = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    return {name: import_module(f"planted.methods.{task}.{name}").METHOD for name in names}


_INPUTS = {"any": "anything", "gaussian": "Gaussian", "density": "a known or estimated density"}


def methods_table() -> str:
    """The methods for real targets as a Markdown table, from their records: the one of docs/choosing.md.

    >>> methods_table().splitlines()[2].split("|")[1].strip()
    '`auto`'
    """
    head = "| method | your data | what it does | inputs | files, Dask | weights | outputs |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for method in records("regression").values():
        yes = [("yes" if flag else "no") for flag in (method.scales, method.weighted)]
        outputs = "several" if method.several_outputs else "one"
        cells = [f"`{method.name}`", method.suits, method.summary, _INPUTS[method.inputs], *yes, outputs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _numeric(value: Any) -> bool:
    return isinstance(value, (int, float, np.generic, np.ndarray)) and np.asarray(value).dtype.kind in "fiub"


def _named(arrays: dict[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    head = f"{kind} "
    return {name.removeprefix(head): value for name, value in arrays.items() if name.startswith(head)}
