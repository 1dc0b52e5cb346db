"""Figures become files, whole or not at all."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path

from matplotlib.figure import Figure

from planted.numerics.files import write_whole

ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".eps")
"""Pictures that can be written."""


def save_figure(figure: Figure, path: str | PathLike[str], dpi: int = 150) -> None:
    """Write a figure in the format that the file's ending names, PNG where it has none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), Path(folder) / "a.png")
    ...     (Path(folder) / "a.png").read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower() or "png", dpi=dpi)
    write_whole(path, content.getvalue())
