"""Rows made of patches, for models with a shared filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from planted.names import count_of

Patch = Annotated[
    str | None,
    typer.Option(
        help="For a shared filter: X holds images, or a table names image files in a column 'image'; they are cut into "
        "patches of this HEIGHTxWIDTH. 4x4/2x2 puts a patch every two pixels, so that patches overlap."
    ),
]


def patch_shape(text: str | None) -> tuple[int, ...] | None:
    """(height, width) from "4x4", (height, width, down, right) from "4x4/2x2", None from None.

    >>> patch_shape("4x3"), patch_shape("4x3/2x1")
    ((4, 3), (4, 3, 2, 1))
    >>> patch_shape("4")
    Traceback (most recent call last):
    ValueError: --patch must be HEIGHTxWIDTH such as 4x4, or 4x4/2x2 for patches that overlap, not '4'
    """
    if text is None:
        return None
    sides = re.fullmatch(r"([1-9]\d*)[xX×]([1-9]\d*)(?:/([1-9]\d*)[xX×]([1-9]\d*))?", text)
    if sides is None:
        raise ValueError(f"--patch must be HEIGHTxWIDTH such as 4x4, or 4x4/2x2 for patches that overlap, not {text!r}")
    return tuple(int(side) for side in sides.groups() if side is not None)


def check_patch(patch: str | None, network: Any) -> None:
    """Raise a ValueError where patches are asked for and the model has no shared filter.

    >>> check_patch(None, None)
    """
    from planted.networks import ConvNetwork

    if patch is not None and not isinstance(network, ConvNetwork):
        raise ValueError("--patch is for a model with a shared filter, which this one is not: leave it out")


def read_patches(data: Path, target: str | None, patch: str | None, patches: int | None) -> tuple[Any, Any]:
    """Patches (n, k, p) and targets from a file.

    >>> read_patches(Path("nowhere.npz"), "y", None, None)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file at nowhere.npz
    """
    from planted.datasets import names_images, read_arrays, read_image_table, to_patches

    shape = patch_shape(patch)
    X, y = read_image_table(data, target) if names_images(data) else read_arrays(data, target)
    if shape is None and (X.ndim == 4 or names_images(data)):
        raise ValueError(f"{data}: X holds images of {X.shape[1]}x{X.shape[2]} pixels: give --patch HEIGHTxWIDTH")
    if shape is None and X.ndim == 2 and patches is None:
        raise ValueError(f"{data}: X has flat rows: give --patches, how many patches make up a row")
    if shape is not None and X.ndim == 2:
        raise ValueError(
            f"{data}: X has flat rows, not images: give --patches, how many patches make up a row, not --patch"
        )
    return to_patches(X, patches, shape), y


def patches_in_words(data: Path, patches: Any, target: str) -> str:
    """What was understood of a file of arrays, or of names of images, in one line.

    >>> import numpy as np
    >>> patches_in_words(Path("a.npz"), np.ones((30, 4, 6)), "y")
    'a.npz: NPZ; 30 rows × 4 patches of 6 numbers; target y'
    """
    from planted.datasets import names_images

    n, k, size = patches.shape
    kind = "images by name" if names_images(data) else "NPZ"
    shape = f"{count_of(n, 'row')} × {count_of(k, 'patch', 'patches')} of {count_of(size, 'number')}"
    return f"{data}: {kind}; {shape}; target {target}"
