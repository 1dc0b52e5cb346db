"""What a data file may ask of memory, and one sentence for whatever its reader stumbles over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from planted.numerics.reading import DataError

MOST_COLUMNS = 4096
"""Inputs that a table may have: their second moments are columns × columns."""
# Of the 500 MB that a file may take beside four times its size, what is left beside the libraries' own.
_FREE_BYTES = 440 * 2**20


@contextmanager
def reading(path: str | PathLike[str], kind: str = "") -> Iterator[None]:
    """Turn whatever goes wrong inside into a DataError that names the file.

    A reader's library may raise anything on a damaged file; some raise what is no `Exception`.

    >>> with reading("a.npy", "npy"):
    ...     raise EOFError("No data left in file")
    Traceback (most recent call last):
    planted.numerics.reading.DataError: a.npy cannot be read as npy: No data left in file
    """
    try:
        yield
    except (DataError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        raise DataError(f"{path} needs more memory than there is") from None
    except BaseException as error:
        lines = str(error).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise DataError(f"{path} cannot be read{f' as {kind}' if kind else ''}: {reason}") from None


def check_size(path: str | PathLike[str], declared: int, size: int, copies: float = 2.5) -> None:
    """Raise a DataError if the numbers of a file of `size` bytes would take more than four times the file and 500 MB.

    Parameters
    ----------
    path : path
    declared : int
        Bytes of the numbers that the file stands for.
    size : int
    copies : float
        How often they are there at once: in the reader's library, as one array, and columns that are compared.

    Examples
    --------
    >>> check_size("bomb.npz", 10**12, 1000)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: bomb.npz declares 1,000,000 MB of numbers in a file of 0.001 MB...
    """
    if copies * declared > 4 * size + _FREE_BYTES:
        raise DataError(
            f"{path} declares {declared / 1e6:,.0f} MB of numbers in a file of {size / 1e6:,.3g} MB: that is not read "
            "into memory; read it in blocks, as CSV, Parquet or NPY, or write it uncompressed"
        )


def check_columns(path: object, columns: int) -> None:
    """Raise a DataError if a table has more inputs than second moments can be held of.

    >>> check_columns("wide.csv", 20_000)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: wide.csv has 20,000 input columns, at most 4,096 are taken: choose some
    """
    if columns > MOST_COLUMNS:
        raise DataError(f"{path} has {columns:,} input columns, at most {MOST_COLUMNS:,} are taken: choose some")
