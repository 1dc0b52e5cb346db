"""Images from files: a table that names them, and their pixels."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError

IMAGE_COLUMN = "image"
"""The column of a table that names image files."""
_TABLES = {".csv": ",", ".tsv": "\t"}


def read_images(paths: Sequence[str | PathLike[str]]) -> np.ndarray:
    """Pixels of image files of one size, (n, H, W) if all are grey, otherwise (n, H, W, 3), from 0 to 1.

    Every format that Pillow reads will do; transparency is left out.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("L", (3, 2), 255).save(f"{folder}/white.png")
    ...     read_images([f"{folder}/white.png"]).shape
    (1, 2, 3)
    """
    from PIL import Image, UnidentifiedImageError

    pictures: list[Any] = []
    for path in map(Path, paths):
        try:
            with Image.open(path) as image:
                grey = image.mode in ("1", "L", "LA", "I", "I;16", "F")
                deep = image.mode in ("I", "I;16", "F")
                pixels = np.asarray(image if deep else image.convert("L" if grey else "RGB"), dtype=np.float64)
        except FileNotFoundError:
            raise DataError(f"no image file at {path}") from None
        except (UnidentifiedImageError, OSError) as error:
            raise DataError(f"{path} is no image that can be read: {error}") from None
        pictures.append(pixels / (65535.0 if deep else 255.0))
    if not pictures:
        raise DataError("no image files were named")
    if len({picture.ndim for picture in pictures}) > 1:
        pictures = [picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2) for picture in pictures]
    sizes = {picture.shape[:2] for picture in pictures}
    if len(sizes) > 1:
        shown = ", ".join(f"{height}x{width}" for height, width in sorted(sizes)[:4])
        raise DataError(f"the images differ in size: {shown} pixels")
    return np.stack(pictures)


def names_images(path: str | PathLike[str]) -> bool:
    """Whether a CSV or TSV file has a column `image`.

    >>> names_images("data.npz")
    False
    """
    file = Path(path)
    if file.suffix.lower() not in _TABLES or not file.is_file():
        return False
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = next(csv.reader(lines, delimiter=_TABLES[file.suffix.lower()]), [])
    return IMAGE_COLUMN in first


def read_image_table(path: str | PathLike[str], target: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Images (n, H, W) or (n, H, W, 3) named in the column `image`, relative to the table, and the target column.

    >>> read_image_table("nowhere.csv", "y")
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file at nowhere.csv
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"no data file at {file}")
    with file.open(newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines, delimiter=_TABLES.get(file.suffix.lower(), ",")))
    if not rows:
        raise DataError(f"{file} has no rows")
    if target is not None and target not in rows[0]:
        raise DataError(f"{file} has no column {target!r}")
    targets = None
    if target is not None:
        values = []
        for number, row in enumerate(rows, 2):
            try:
                values.append(float(row[target]))
            except (TypeError, ValueError):
                raise DataError(f"{file}, line {number}: {row[target]!r} in column {target} is no number") from None
        targets = np.array(values)
    names = [row[IMAGE_COLUMN] or "" for row in rows]
    if not all(names):
        raise DataError(f"{file}, line {names.index('') + 2}: no image is named")
    return read_images([file.parent / name for name in names]), targets
