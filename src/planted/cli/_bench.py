"""`planted bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import (
    DONE,
    NOT_RECOVERED,
    Force,
    Json,
    Quiet,
    Seed,
    check_file,
    known,
    print_json,
    progress_bar,
)
from planted.cli._sources import Scheduler, SweepEngine, sweep
from planted.names import BENCHES


def bench(
    teachers: Annotated[int, typer.Option(min=1, help="Random teachers a cell.")] = 5,
    cells: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(BENCHES)}: teachers that are drawn, that scikit-learn trained on data, or drawn "
            "ones with inputs as tables have them (0/1, counts, heavy tails, …)."
        ),
    ] = "drawn",
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="The first three cells, or three small ones where teachers are drawn; two teachers."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="JSON-lines file of results; an interrupted run goes on from it.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write heat maps to this file (PNG, SVG or PDF).")] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="How many times this library's wall-clock each other tool gets.")
    ] = 1.0,
    alone: Annotated[bool, typer.Option("--alone", help="Only this library, no other tools.")] = False,
    engine: SweepEngine = "local",
    scheduler: Scheduler = None,
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Recover random teachers, beside scikit-learn, Adam restarts, TensorLy and pyscnn that get the same time.

    TensorLy and pyscnn take part where they are installed. The other tools restart until their time is over; a run that
    is stopped then does not count, and one that cannot be stopped gets as many iterations as should fit.

    Example: planted bench --quick --out bench.jsonl
    """
    known("cells", cells, BENCHES)
    # Results are added to a file: one of another kind is never replaced.
    check_file(out, "records")
    check_file(plot, "picture", [out], force)

    from planted.bench import CELLS, PEERS, QUICK, BenchCell, draw, summary
    from planted.bench import bench as run

    posed = CELLS[cells]
    if quick:
        posed = QUICK if cells == "drawn" else posed[:3]
    count = min(teachers, 2) if quick else teachers
    peers = () if alone else tuple(PEERS)
    records = []
    with sweep(engine, scheduler) as spread, progress_bar(quiet) as report:
        for entry in run(posed, range(seed, seed + count), out, peers, spread, patience):
            records.append(entry)
            if report is not None:
                total = count * sum(1 + sum(PEERS[name].obstacle(cell) is None for name in peers) for cell in posed)
                report(len(records), total, f"{BenchCell(**entry['cell'])}, {entry['contender']}")
    rows = summary(records)
    if plot is not None:
        from matplotlib.figure import Figure

        from planted.plots import save_figure

        figure = Figure()
        draw(rows, figure)
        save_figure(figure, plot)
    if as_json:
        print_json({"summary": rows, "records": records})
    else:
        heads = f"{'success':>8} {'weight error':>13} {'seconds':>8} {'MB':>6} {'runs':>5}  seeds"
        width = max(len(row["cell"]) for row in rows)
        typer.echo(f"{'cell':<{width}} {'contender':<24} {heads}")
        for row in rows:
            seeds = f"{row['seeds'][0]}–{row['seeds'][-1]}"
            error = "none in time" if row["weight_error"] is None else f"{row['weight_error']:.1e}"
            typer.echo(
                f"{row['cell']:<{width}} {row['contender']:<24} {row['success']:>8} {error:>13} "
                f"{seconds_in_words(row['seconds']):>8} {row['peak_megabytes']:>6.0f} {row['runs']:>5.0f}  {seeds}"
            )
    own = [entry["success"] for entry in records if entry["contender"] == "planted"]
    return DONE if all(own) else NOT_RECOVERED


def seconds_in_words(seconds: float) -> str:
    """Seconds with a tenth, or with two digits where there are fewer than one.

    >>> seconds_in_words(12.34), seconds_in_words(0.0312)
    ('12.3', '0.031')
    """
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}"
