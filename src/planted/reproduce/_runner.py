"""Runs the cells of studies, here or in processes of their own, and keeps every result as soon as it is there."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planted.numerics.progress import Progress
from planted.reproduce._printed import settings
from planted.reproduce._store import CellResult, Rows, Store, stack, tabulate
from planted.reproduce._study import Cell, Config, Entry, Study
from planted.solvers import silent

_PACKAGES = ("planted", "jax", "jaxlib", "numpy", "scipy", "polars")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on.

    >>> {"jax", "numpy", "python"} <= set(versions())
    True
    """
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES} | _commit()


def _commit() -> dict[str, str]:
    """The commit of the code, where it lies in its own repository, with a plus sign if files differ from it."""
    folder = Path(__file__).parents[1]

    def git(*words: str) -> str:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10)
        return answer.stdout.strip()

    try:
        # A repository around an installed package knows nothing of it.
        git("ls-files", "--error-unmatch", "__init__.py")
        return {"commit": git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", ".") else "")}
    except (OSError, subprocess.SubprocessError):
        return {}


@dataclass
class _Plan:
    """One study under way: its cells, and the results so far."""

    entry: Entry
    config: Config
    cells: list[Cell]
    store: Store | None
    results: list[CellResult | None]

    @property
    def missing(self) -> list[int]:
        return [index for index, result in enumerate(self.results) if result is None]

    def keep(self, index: int, rows: Rows, seconds: float) -> None:
        table = tabulate(rows)
        made = versions() | {"date": datetime.now(UTC).date().isoformat()}
        if self.store is not None:
            self.store.save(self.cells[index], table, seconds, made)
        self.results[index] = CellResult(table, seconds, made)


def run_studies(
    entries: Sequence[Entry],
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Progress = silent,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    fresh: bool = False,
    stored: bool = False,
    spread: Spread | None = None,
) -> Generator[Study, None, None]:
    """Studies in the order given, each as soon as all its cells are there.

    Cells of all entries go through the same `jobs` processes. With `out`, cells found there are not computed again
    unless `fresh`: a run that was stopped in any way goes on where it was, and with the same `jobs` on the same machine
    its tables are the same to the byte. With other `jobs` a cell has another number of threads, which add up in another
    order, and float32 descents differ by rounding. With one job everything runs in this process.
    With `stored` nothing is computed: studies that lack a cell are left out, so that parts that were run one by one can
    be put together. `spread(function, arguments)` computes cells elsewhere: it yields (place,
    function(*arguments[place])) as they are done, such as :func:`planted.rows._dask.spread` on a cluster.

    >>> from planted.reproduce import find
    >>> study = next(run_studies(find("ge2017/appendix-d"), quick=True))
    >>> study.holds
    True
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    plans = [_plan(entry, quick, seed, out, fresh) for entry in entries]
    if stored:
        plans = [plan for plan in plans if not plan.missing]
    work = [(plan, index) for plan in plans for index in plan.missing]
    total = sum(len(plan.cells) for plan in plans)
    if spread is not None:
        computed = _elsewhere(work, seed, spread)
    else:
        computed = (_in_processes if jobs > 1 and len(work) > 1 else _here)(work, seed, min(jobs, max(len(work), 1)))
    clock = _Clock(total, total - len(work), progress)
    with closing(computed):
        for plan in plans:
            clock.say(plan.entry.name)
            while plan.missing:
                owner, index, rows, seconds = next(computed)
                owner.keep(index, rows, seconds)
                clock.tick(f"{owner.entry.name} {label(owner.cells[index])}")
            yield _study(plan, seed)


def label(cell: Cell) -> str:
    """A cell in a few words.

    >>> label({"d": 5, "loss": "G"})
    'd=5 loss=G'
    """
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in cell.items()
    )


class _Clock:
    """Says how many cells are done and how long the rest will take at the pace of those computed now."""

    def __init__(self, total: int, stored: int, progress: Progress) -> None:
        self.total, self.stored, self.done, self.progress = total, stored, 0, progress
        self.began = time.perf_counter()

    def tick(self, text: str) -> None:
        self.done += 1
        self.say(text)

    def say(self, text: str) -> None:
        left = self.total - self.stored - self.done
        pace = (time.perf_counter() - self.began) / self.done if self.done else 0.0
        rest = f", about {duration(pace * left)} left" if left and self.done else ""
        self.progress(self.stored + self.done, self.total, f"{text}{rest}")


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(5), duration(200), duration(5000)
    ('5 s', '3 min', '1.4 h')
    """
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 3600
        else f"{seconds / 3600:.1f} h"
    )


def _plan(entry: Entry, quick: bool, seed: int, out: Any, fresh: bool) -> _Plan:
    config = entry.config(quick)
    cells = [dict(cell) for cell in entry.cells(config)]
    if out is None:
        return _Plan(entry, config, cells, None, [None] * len(cells))
    store = Store(out, entry.name, config, seed)
    store.check()
    return _Plan(entry, config, cells, store, [None if fresh else store.load(cell) for cell in cells])


def _study(plan: _Plan, seed: int) -> Study:
    results = [result for result in plan.results if result is not None]
    table = stack(result.table for result in results)
    rows = table.to_dicts()
    claims = plan.entry.claims(plan.config, rows)
    seconds = sum(result.seconds for result in results)
    entry, store = plan.entry, plan.store
    computed_with = _together([result.versions for result in results])
    if store is not None:
        store.finish(
            table,
            {
                "name": entry.name,
                "title": entry.title,
                "config": plan.config,
                "seed": seed,
                "claims": [asdict(claim) for claim in claims],
                "settings": [asdict(row) for row in settings(entry.printed, plan.config)],
                "seconds": round(seconds, 3),
                "cells": [{"cell": c, "seconds": r.seconds} for c, r in zip(plan.cells, results, strict=True)],
                "versions": computed_with,
            },
        )
    draw = partial(entry.draw, plan.config, rows)
    folder = None if store is None else store.folder
    printed = settings(entry.printed, plan.config)
    return Study(
        entry.name, entry.title, plan.config, rows, claims, draw, seconds, seed, folder, computed_with, printed
    )


def _together(environments: list[dict[str, str]]) -> dict[str, str]:
    """Versions under which the cells were computed, several where they were computed under several."""
    names = dict.fromkeys(name for each in environments for name in each)
    return {name: ", ".join(sorted({each[name] for each in environments if name in each})) for name in names}


Computed = Generator[tuple[_Plan, int, Rows, float], None, None]
Spread = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterator[tuple[int, Any]]]


def _elsewhere(work: list[tuple[_Plan, int]], seed: int, spread: Spread) -> Computed:
    arguments = [
        (plan.entry.run_cell, plan.config, plan.cells[index], _seed(plan, index, seed)) for plan, index in work
    ]
    for place, result in spread(_timed, arguments):
        yield *work[place], *result


def _here(work: list[tuple[_Plan, int]], seed: int, jobs: int) -> Computed:
    for plan, index in work:
        yield plan, index, *_timed(plan.entry.run_cell, plan.config, plan.cells[index], _seed(plan, index, seed))


def _seed(plan: _Plan, index: int, seed: int) -> int:
    return plan.entry.cell_seed(seed, plan.cells[index])


def _timed(run_cell: Any, config: Config, cell: Cell, seed: int) -> tuple[Rows, float]:
    began = time.perf_counter()
    rows = run_cell(config, cell, seed)
    return rows, round(time.perf_counter() - began, 3)


def _in_processes(work: list[tuple[_Plan, int]], seed: int, jobs: int) -> Computed:
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(context.Value("i", 0), jobs))
    waiting: dict[Future[tuple[Rows, float]], tuple[_Plan, int]] = {}
    queue = iter(work)
    try:
        while True:
            # A few ahead of the workers, so that an interruption has little to cancel.
            for plan, index in queue:
                arguments = plan.entry.run_cell, plan.config, plan.cells[index], _seed(plan, index, seed)
                with _interrupts_held_back():  # workers start here
                    job = pool.submit(_timed, *arguments)
                waiting[job] = plan, index
                if len(waiting) >= jobs + 2:
                    break
            if not waiting:
                return
            # Short waits: a signal that another thread was given is noticed between them only.
            for job in wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED).done:
                plan, index = waiting.pop(job)
                yield plan, index, *job.result()
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker process was killed, perhaps for want of memory; what was computed before is kept with --out: "
            "run the same command again, with fewer --jobs if memory is short"
        ) from None
    finally:
        # A worker may be in the middle of a cell, or still importing: neither is waited for.
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _interrupts_held_back() -> Generator[None, None, None]:
    """Processes started inside never see Ctrl-C, which a terminal sends to them too; this one sees it afterwards.

    Ignoring the signal would not do: importing polars undoes that.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(turn: Any, jobs: int) -> None:
    """What a worker does first: take its share of the cores, and see to it that it ends when the parent ends."""
    with turn.get_lock():
        mine = turn.value
        turn.value += 1
    threads = _take_cores(mine, jobs)
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _take_cores(mine: int, jobs: int) -> int:
    """Bind this process to its share of the cores, where the system can; how many that is.

    JAX makes as many threads as there are cores it may use when it first computes, which is after this.
    """
    if sys.platform != "linux":
        return max(1, (os.cpu_count() or 1) // jobs)
    cores = sorted(os.sched_getaffinity(0))
    share = cores[mine % len(cores) :: jobs] if jobs <= len(cores) else [cores[mine % len(cores)]]
    os.sched_setaffinity(0, share)
    return len(share)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
