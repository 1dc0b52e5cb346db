"""The boundary at which whatever goes wrong with a file a caller gives becomes one sentence."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

SENTENCE = 480
"""Characters that a message may have."""


class DataError(ValueError):
    """A data file, or something in it, cannot be used; the message says what and where.

    Parameters
    ----------
    sentence : str
    remedy : str
        What to do about it in Python.
    command : str
        What to do about it on the command line; the attribute of this name is the whole sentence there, and `sentence`
        the one without a remedy.

    Examples
    --------
    >>> error = DataError("a.csv: column 'u' holds text", "give categorical=True", "add --categorical")
    >>> str(error), error.command
    ("a.csv: column 'u' holds text; give categorical=True", "a.csv: column 'u' holds text; add --categorical")
    """

    def __init__(self, sentence: str, remedy: str = "", command: str = "") -> None:
        super().__init__(_with(sentence, remedy))
        self.sentence = sentence
        self.command = _with(sentence, command or remedy)


def _with(sentence: str, remedy: str) -> str:
    return f"{shortened(sentence, SENTENCE - len(remedy) - 2)}; {remedy}" if remedy else shortened(sentence)


def shortened(text: str, length: int = SENTENCE) -> str:
    """`text` in one line of at most `length` characters, the middle left out.

    >>> shortened("a" * 30 + "b" * 30, 21)
    'aaaaaaaaa … bbbbbbbbb'
    """
    # A message may be as long as the file: what is far beyond the limit is not looked at.
    if len(text) > 8 * length:
        text = text[: 4 * length] + text[-4 * length :]
    line = " ".join(text.split())
    half = (length - 3) // 2
    return line if len(line) <= length else f"{line[:half]} … {line[-half:]}"


def check_source(path: str | PathLike[str], what: str = "data", folder: bool = False) -> Path:
    """`path` if it is a regular file with something in it, or a folder where one may be given; else a DataError.

    >>> check_source("/dev/zero")
    Traceback (most recent call last):
    planted.numerics.reading.DataError: /dev/zero is no regular file
    """
    path = Path(path)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"no {what} file{' or folder' if folder else ''} at {path}") from None
    except OSError as error:
        why = "its symbolic links go in circles" if error.errno == errno.ELOOP else error.strerror
        raise DataError(f"{path} cannot be read: {why}") from None
    except ValueError:
        raise DataError(f"no {what} file has a null character in its name") from None
    if stat.S_ISDIR(status.st_mode):
        if not folder:
            raise DataError(f"{path} is a folder, not a {what} file")
    elif not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path} is no regular file")
    elif status.st_size == 0:
        raise DataError(f"{path} is empty")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} cannot be read: Permission denied")
    return path


@contextmanager
def brief_errors() -> Iterator[None]:
    """Cut the message of a ValueError or TypeError that leaves to one short line: it may quote all that a caller gave.

    >>> with brief_errors():
    ...     raise ValueError("unknown " + 1000 * "x")
    Traceback (most recent call last):
    ValueError: unknown xxx...
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        if len(str(error)) > SENTENCE:
            error.args = (shortened(str(error)),)
        raise
