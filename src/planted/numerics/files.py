"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WriteError(OSError):
    """A file could not be written, with the reason in words; what was there before is as it was.

    >>> str(WriteError(Path("model"), OSError(errno.ENOSPC, "No space left on device")))
    'cannot write model: the disk is full; what was written before is intact'
    """

    def __init__(self, path: Path, cause: OSError) -> None:
        self.reason = "the disk is full" if cause.errno in _FULL else cause.strerror or type(cause).__name__
        super().__init__(f"cannot write {path}: {self.reason}; what was written before is intact")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or not at all; an earlier one survives a failure.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a", b"text")
    ...     (Path(folder) / "a").read_bytes()
    b'text'
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from error
