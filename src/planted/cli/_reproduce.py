"""`planted reproduce`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.cli._common import DONE, NOT_RECOVERED, Json, Quiet, Seed, Stopped, print_json, progress_bar
from planted.cli._sources import Scheduler, SweepEngine, sweep
from planted.names import count_of


def reproduce(
    entry: Annotated[
        str | None, typer.Argument(help="A figure such as ge2017/fig3, a paper such as ge2017, or 'list'.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure of every paper.")] = False,
    quick: Annotated[bool, typer.Option("--quick/--full", help="Small sizes, or those of the papers.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables, claims and pictures; a stopped run goes on from it.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
    gallery: Annotated[bool, typer.Option("--gallery", help="Write OUT/gallery.html, all on one page.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Folder for gallery.md and its pictures, for a documentation site.")
    ] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Compute nothing: put together what earlier runs left in OUT, whole.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is in OUT already.")] = False,
    engine: SweepEngine = "local",
    scheduler: Scheduler = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Run the experiments of the papers again and say which of their claims hold.

    Exit status 1 if a claim fails. Example: planted reproduce --all --quick --jobs 2 --out results --gallery
    """
    if everything and entry not in (None, "list"):
        raise ValueError(f"either --all or {entry}, not both")
    if stored and (out is None or fresh):
        raise ValueError("--stored needs --out, the folder of earlier runs, and goes without --fresh")
    if gallery and out is None:
        raise ValueError("--gallery needs --out, the folder that the page goes to")

    from planted.reproduce import ENTRIES, find

    if entry == "list" or (entry is None and not everything):
        if as_json:
            print_json({name: item.title for name, item in ENTRIES.items()})
        else:
            for name, item in ENTRIES.items():
                apart = f" (not part of --all: {item.apart})" if item.apart else ""
                typer.echo(f"{name:<30} {item.title}{apart}")
        return DONE
    chosen = [item for item in ENTRIES.values() if not item.apart] if everything else find(str(entry))
    studies = []
    with sweep(engine, scheduler) as spread:
        options = {"quick": quick, "seed": seed, "jobs": jobs, "fresh": fresh, "stored": stored, "spread": spread}
        for study in _run(chosen, quiet, out, **options):
            studies.append(study)
            if not as_json:
                typer.echo(str(study))
            if study.folder is not None:
                from planted.plots import save_study

                save_study(study.folder / "figure.png", study)
                save_study(study.folder / "figure.svg", study)
    if as_json:
        names = ("name", "title", "config", "seed", "seconds")
        lists = ("claims", "settings")
        print_json(
            [
                {n: getattr(s, n) for n in names} | {n: [vars(row) for row in getattr(s, n)] for n in lists}
                for s in studies
            ]
        )
    elif len(studies) > 1:
        from planted.reproduce import counted

        typer.echo(f"claims of {count_of(len(studies), 'figure')}: {counted(c for s in studies for c in s.claims)}")
    done = {study.name for study in studies}
    left_out = [item.name for item in chosen if item.name not in done]
    if left_out:
        typer.echo(f"not run yet: {', '.join(left_out)}", err=True)
    if gallery or markdown is not None:
        from planted.reproduce import write_html, write_markdown

        if gallery and out is not None:
            typer.echo(f"gallery written to {write_html(studies, out / 'gallery.html', quick, left_out)}", err=True)
        if markdown is not None:
            typer.echo(f"gallery written to {write_markdown(studies, markdown, quick, left_out)}", err=True)
    return DONE if all(study.holds for study in studies) else NOT_RECOVERED


def _run(chosen: list[Any], quiet: bool, out: Path | None, **options: Any) -> Iterator[Any]:
    """The studies one by one, under a progress bar that is gone whenever one is printed."""
    from planted.reproduce import run_studies

    report: Any = None

    def progress(done: int, total: int, text: str) -> None:
        if report is not None:
            report(done, total, text)

    studies = run_studies(chosen, progress=progress, out=out, **options)
    try:
        while True:
            with progress_bar(quiet) as report:
                study = next(studies, None)
            if study is None:
                return
            yield study
    except KeyboardInterrupt:
        studies.close()
        sentence = "nothing was kept: with --out FOLDER a stopped run can go on"
        raise Stopped(sentence if out is None else f"run the same command again to go on from {out}") from None
