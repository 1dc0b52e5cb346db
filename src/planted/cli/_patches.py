"""Rows made of patches, for models with a shared filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

Patch = Annotated[
    str | None, typer.Option(help="For a shared filter: X holds images, cut into patches of this HEIGHTxWIDTH.")
]


def patch_shape(text: str | None) -> tuple[int, int] | None:
    """(height, width) from "4x4", None from None.

    >>> patch_shape("4x3")
    (4, 3)
    >>> patch_shape("4")
    Traceback (most recent call last):
    ValueError: --patch must be HEIGHTxWIDTH such as 4x4, not '4'
    """
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d*)[xX×]([1-9]\d*)", text)
    if found is None:
        raise ValueError(f"--patch must be HEIGHTxWIDTH such as 4x4, not {text!r}")
    return int(found[1]), int(found[2])


def read_patches(data: Path, target: str | None, patch: str | None, patches: int | None) -> tuple[Any, Any]:
    """Patches (n, k, p) and targets from a file.

    >>> read_patches(Path("nowhere.npz"), "y", None, None)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file at nowhere.npz
    """
    from planted.datasets import read_arrays, to_patches

    shape = patch_shape(patch)
    X, y = read_arrays(data, target)
    if shape is None and X.ndim == 4:
        raise ValueError(f"{data}: X holds images of {X.shape[1]}x{X.shape[2]} pixels: give --patch HEIGHTxWIDTH")
    if shape is None and X.ndim == 2 and patches is None:
        raise ValueError(f"{data}: X has flat rows: give --patches, how many patches make up a row")
    return to_patches(X, patches, shape), y
