"""The command line: one file per command, no mathematics."""

from planted.cli._main import main

__all__ = ["main"]
