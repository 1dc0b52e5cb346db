"""`planted reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, NOT_RECOVERED, Json, Quiet, Seed, plain, print_json, progress_bar


def reproduce(
    entry: Annotated[
        str, typer.Argument(help="A figure such as ge2017/fig3, a paper such as ge2017, or 'list'.")
    ] = "list",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: seconds instead of minutes.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the picture (PNG) and the table (JSON) of each.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Run the experiments of the papers again and say which of their claims hold.

    Exit status 1 if a claim fails. Example: planted reproduce ge2017 --out results
    """
    import json

    from planted.reproduce import ENTRIES, find

    if entry == "list":
        if as_json:
            print_json({name: item.title for name, item in ENTRIES.items()})
        else:
            for name, item in ENTRIES.items():
                typer.echo(f"{name:20} {item.title}")
        return DONE
    studies = []
    chosen = find(entry)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for item in chosen:
        with progress_bar(quiet) as report:
            study = item(quick=quick, seed=seed, **({"progress": report} if report else {}))
        studies.append(study)
        if not as_json:
            typer.echo(str(study))
        if out is not None:
            from planted.plots import save_study

            stem = study.name.replace("/", "-")
            save_study(out / f"{stem}.png", study)
            content = {"config": study.config, "claims": [vars(c) for c in study.claims], "table": study.table}
            (out / f"{stem}.json").write_text(json.dumps(plain(content), indent=1) + "\n")
    if as_json:
        print_json(
            [
                {"name": s.name, "config": s.config, "claims": [vars(c) for c in s.claims], "seconds": s.seconds}
                for s in studies
            ]
        )
    return DONE if all(study.holds for study in studies) else NOT_RECOVERED
