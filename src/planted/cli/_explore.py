"""`planted explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planted.cli._common import DONE, Force, Json, Quiet, Seed, check_file, print_json


def explore(
    out: Annotated[Path, typer.Option(help="Write the page to this file (HTML).")] = Path("explore.html"),
    force: Force = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Write a page on which to play with losses: why descent gets stuck, and where it does not.

    The page needs no network and no server: open it in a browser.
    """
    check_file(out, "page", force=force)

    from planted.pages import write_explorer

    path = write_explorer(out)
    if as_json:
        print_json({"page": str(path)})
    elif not quiet:
        typer.echo(f"page written to {path}: open it in a browser")
    return DONE
