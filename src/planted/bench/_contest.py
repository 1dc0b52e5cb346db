"""Recovery side by side: the library's own method and what else one would use, at equal wall-clock."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from planted.bench._cells import BenchCell
from planted.bench._peers import PEERS, Fit, OutOfTime, own
from planted.methods import refine
from planted.networks import match
from planted.numerics.files import append_line, exclusive, write_whole
from planted.numerics.reading import DataError, check_source

SUCCESS = 1e-6
_RECORD, _NEEDED = '{"cell"', {"cell", "seed", "contender", "seconds"}


def bench(
    cells: tuple[BenchCell, ...],
    seeds: range,
    record: Path | None = None,
    peers: tuple[str, ...] = tuple(PEERS),
    spread: Any = None,
    patience: float = 1.0,
) -> Iterator[dict[str, Any]]:
    """Records of every cell, seed and contender as they are made; those in the file `record` are not made again.

    Ours runs first. A peer restarts until `patience` times our wall-clock is used up, and keeps its lowest loss; a run
    that is stopped then does not count, and one that cannot be stopped gets the iterations that should fit and counts
    though it ends late. Peers' records made for another `patience`, or for none, are made again. The first seed of a
    cell pays for our compilation, and gives peers that much more time. `spread` computes teachers elsewhere, as in
    :func:`planted.reproduce.run_studies`.

    >>> found = list(bench((BenchCell(3, 2, 40),), range(1), peers=()))
    >>> found[0]["contender"], found[0]["success"]
    ('planted', True)
    """
    if not np.isfinite(patience) or patience <= 0:
        raise ValueError(f"patience must be a positive number, not {patience!r}")
    patience = float(patience)
    if record is None:
        yield from _entries(cells, seeds, None, peers, spread, patience)
        return
    record.touch()
    with exclusive(record, f"{record} is in use by another run: wait for it, or give another file"):
        yield from _entries(cells, seeds, record, peers, spread, patience)


def _entries(
    cells: tuple[BenchCell, ...],
    seeds: range,
    record: Path | None,
    peers: tuple[str, ...],
    spread: Any,
    patience: float,
) -> Iterator[dict[str, Any]]:
    saved = [] if record is None or not record.stat().st_size else read_records(record)
    known = {_key(entry): entry for entry in saved}
    work = [
        (cell, seed, peers, [entry for entry in saved if _teacher(entry) == (asdict(cell), seed)], patience)
        for cell in cells
        for seed in seeds
    ]
    done = enumerate(contest(*args) for args in work) if spread is None else spread(_contest, work)
    for _, entries in done:
        for entry in entries:
            if record is not None and _key(entry) not in known:
                append_line(record, json.dumps(entry))
            yield entry


def contest(
    cell: BenchCell, seed: int, peers: tuple[str, ...], known: list[dict[str, Any]], patience: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Records of every contender on one teacher, but for those `known`.

    >>> [entry["contender"] for entry in contest(BenchCell(3, 2, 40), 0, (), [])]
    ['planted']
    """
    have = {_key(entry): entry for entry in known}
    data: Any = None
    allowed = 0.0
    for name in ("planted", *peers):
        if name != "planted" and PEERS[name].obstacle(cell) is not None:
            continue
        label: dict[str, Any] = {"cell": asdict(cell), "seed": seed, "contender": name}
        if name != "planted":
            label["patience"] = patience
        entry = have.get(_key(label))
        if entry is None:
            data = cell.data(seed) if data is None else data
            fit = own("auto") if name == "planted" else PEERS[name].fit
            entry = label | _contend(fit, data, cell, seed, None if name == "planted" else allowed)
        if name == "planted":
            allowed = patience * float(entry["seconds"])
        yield entry


def _contest(*args: Any) -> list[dict[str, Any]]:
    return list(contest(*args))


def _key(entry: dict[str, Any]) -> str:
    return json.dumps([_cell(entry), entry["seed"], entry["contender"], entry.get("patience")], sort_keys=True)


def _teacher(entry: dict[str, Any]) -> tuple[dict[str, Any], int]:
    return _cell(entry), entry["seed"]


def _cell(entry: dict[str, Any]) -> dict[str, Any]:
    """The cell of a record; what it does not name is as usual."""
    usual = {field.name: field.default for field in fields(BenchCell) if field.default is not MISSING}
    return usual | entry["cell"]


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file; a last line cut short by an interruption is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bench.jsonl"
    ...     _ = path.write_text('{"cell": {}, "seed": 1, "contender": "planted", "seconds": 1.0}\\n{"cell": {"d')
    ...     [record["seed"] for record in read_records(path)]
    [1]
    """
    check_source(path, "record")
    lines = path.read_bytes().decode(errors="replace").splitlines()
    records = []
    for number, line in enumerate(lines):
        try:
            entry = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            entry = None
            if number == len(lines) - 1 and _RECORD.startswith(line[: len(_RECORD)]):
                # Cut short by an interruption.
                write_whole(path, "".join(f"{whole}\n" for whole in lines[:number]).encode())
                continue
        if not (isinstance(entry, dict) and isinstance(entry.get("cell"), dict) and entry.keys() >= _NEEDED):
            raise DataError(f"{path}: line {number + 1} is no record of this benchmark")
        records.append(entry)
    return records


def _contend(fit: Fit, data: Any, cell: BenchCell, seed: int, allowed: float | None) -> dict[str, Any]:
    """Fit until the seconds allowed are used up, or once if there is no limit; the best fit's loss and weight error.

    Both are None where no run ended in time.
    """
    memory, began, runs = _PeakMemory(), time.perf_counter(), 0
    until = np.inf if allowed is None else began + allowed
    best_loss, best = np.inf, None
    while best is None if allowed is None else time.perf_counter() < until:
        try:
            network = fit(data.X, data.y, cell, 1000 + 100 * seed + runs, until)
        except OutOfTime:
            break
        loss = float(np.mean((network.predict(data.X) - data.y) ** 2))
        runs += 1
        if best is None or loss < best_loss:
            best_loss, best = loss, network
    seconds, megabytes = time.perf_counter() - began, memory.megabytes()
    error = None if best is None else match(best, data.teacher).weight_error
    return {
        "seconds": seconds,
        "peak_megabytes": megabytes,
        "runs": runs,
        "relative_loss": None if best is None else best_loss / float(np.var(data.y)),
        "weight_error": error,
        "success": error is not None and bool(error < _allowed_error(data, cell)),
    }


def _allowed_error(data: Any, cell: BenchCell) -> float:
    if not cell.noise:
        return SUCCESS
    # With noise the network to find is the minimum next to the teacher.
    nearest = refine(cell.problem(data.X, data.y), data.teacher).network
    return 1.05 * float(match(nearest, data.teacher).weight_error)


class _PeakMemory:
    """The largest resident memory of this process since it was made, in megabytes; NaN where the system hides it."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self.known = False
        else:
            self.known = True

    def megabytes(self) -> float:
        """The peak so far."""
        if not self.known:
            return float("nan")
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a cell and contender: successes, seeds, median weight error and seconds, largest memory.

    The weight error is None where half the teachers or more have none.

    >>> entry = {"cell": asdict(BenchCell(3, 2, 40)), "seed": 0, "contender": "planted", "seconds": 1.0, "runs": 1,
    ...          "weight_error": 0.0, "success": True}
    >>> summary([entry])[0]["success"]
    '1/1'
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in records:
        groups.setdefault((str(BenchCell(**entry["cell"])), entry["contender"]), []).append(entry)
    return [
        {
            "cell": cell,
            "contender": name,
            "success": f"{sum(entry['success'] for entry in group)}/{len(group)}",
            "weight_error": _median_or_none([entry["weight_error"] for entry in group]),
            "seconds": float(np.median([entry["seconds"] for entry in group])),
            "peak_megabytes": float(np.max([entry.get("peak_megabytes", np.nan) for entry in group])),
            "runs": float(np.median([entry["runs"] for entry in group])),
            "seeds": sorted(entry["seed"] for entry in group),
        }
        for (cell, name), group in groups.items()
    ]


def _median_or_none(values: list[float | None]) -> float | None:
    median = float(np.median([np.inf if value is None else value for value in values]))
    return median if np.isfinite(median) else None


def draw(rows: list[dict[str, Any]], figure: Any) -> None:
    """Heat maps of success and of median seconds over cells and contenders, from :func:`summary`'s rows.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> draw([{"cell": "relu", "contender": "planted", "success": "1/2", "seconds": 1.0}], figure)
    >>> len(figure.axes)
    2
    """
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    names = list(dict.fromkeys(row["contender"] for row in rows))
    share = np.full((len(cells), len(names)), np.nan)
    seconds = np.full_like(share, np.nan)
    for row in rows:
        at = cells.index(row["cell"]), names.index(row["contender"])
        hits, trials = (int(part) for part in row["success"].split("/"))
        share[at], seconds[at] = hits / trials, row["seconds"]
    figure.set_size_inches(3 + 2.4 * len(names), 1.5 + 0.32 * len(cells))
    left, right = figure.subplots(1, 2, sharey=True)
    for axis, values, colours, title in (
        (left, share, "viridis", "share of teachers recovered"),
        (right, np.log10(np.maximum(seconds, 1e-3)), "magma_r", "median seconds"),
    ):
        axis.imshow(values, cmap=colours, aspect="auto", **({"vmin": 0, "vmax": 1} if axis is left else {}))
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axis.set_title(title)
        middle = 0.5 if axis is left else np.nanmean(values)
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            text = f"{share[i, j]:.0%}" if axis is left else f"{seconds[i, j]:.2g}"
            dark = (values[i, j] < middle) == (axis is left)
            axis.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    left.set_yticks(range(len(cells)), cells)
    figure.tight_layout()
