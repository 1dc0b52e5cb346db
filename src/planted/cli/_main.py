"""The `planted` command: its subcommands, and what happens when one cannot do its work."""

from __future__ import annotations

import atexit
import gc
import sys
from functools import cache
from typing import Annotated, Any

import typer

from planted import __version__
from planted.cli._bench import bench
from planted.cli._certify import certify
from planted.cli._common import DATA_ERROR, INTERRUPTED, Stopped
from planted.cli._demo import demo
from planted.cli._explore import explore
from planted.cli._export import export
from planted.cli._fit import fit
from planted.cli._plot import plot
from planted.cli._predict import predict
from planted.cli._read import read
from planted.cli._reproduce import reproduce
from planted.cli._score import score

app = typer.Typer(
    name="planted",
    help="Which one-hidden-layer neural network produced this data? Recover its weights, with a verdict.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Exit status: 0 done, 1 ran but could not recover or certify, 2 the request or the data is wrong.",
)
for command in (demo, fit, read, predict, certify, score, export, plot, explore, reproduce, bench):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say on standard error what is being done.")] = False,
) -> None:
    """Options before a command."""
    if verbose:
        import logging

        log = logging.getLogger("planted")
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


@cache
def _command() -> Any:
    """The parser of all commands, which takes a tenth of a second to set up."""
    return typer.main.get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status; errors are one sentence on standard error.

    Without arguments, the help is printed.
    """
    # Libraries make half a million objects that last. To look through them for garbage while they load, and once more
    # when the process ends, would be a quarter of a short command's time.
    gc.set_threshold(10_000, 10, 10)
    atexit.register(gc.freeze)
    try:
        given = sys.argv[1:] if arguments is None else arguments
        status = _command()(args=given or ["--help"], standalone_mode=False)
        if status == INTERRUPTED:
            _say("interrupted: nothing was written", status)
    except KeyboardInterrupt:
        status = _say("interrupted: nothing was written", INTERRUPTED)
    except Stopped as stopped:
        status = _say(f"interrupted: {stopped}", INTERRUPTED)
    except ImportError as error:
        status = _say(_extra(error), DATA_ERROR)
    except (ValueError, TypeError, OSError, MemoryError, OverflowError) as error:
        # Some errors have advice of their own for the command line.
        status = _say(getattr(error, "command", str(error)) or type(error).__name__, DATA_ERROR)
    except Exception as error:
        # The argument parser's own errors carry their sentence; anything else is a defect and shows itself.
        if not hasattr(error, "format_message"):
            raise
        status = _say(error.format_message(), DATA_ERROR)
    sys.exit(status or 0)


def _extra(error: ImportError) -> str:
    """What to install where a package is missing."""
    package = (error.name or "").split(".")[0]
    extras = {"dask": "dask", "distributed": "dask", "onnx": "onnx", "onnxruntime": "onnx", "torch": "torch"}
    extras |= {"tensorly": "bench", "fastexcel": "excel"}
    if package not in extras:
        return str(error)
    return f"this needs the package {package}, which is not installed: install planted[{extras[package]}]"


def _say(sentence: str, status: int) -> int:
    from planted.numerics.reading import shortened

    print(f"planted: {shortened(sentence)}", file=sys.stderr)
    return status
