"""The one writer: files are there as a whole or not at all, and what must not be written over is refused first.

A command calls :func:`check_output` before its work begins and :func:`write_whole` when it is done.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SNIFFED = 4096


class WriteError(OSError):
    """A file could not be written, with the reason in words; what was there before is as it was.

    >>> str(WriteError(Path("model"), OSError(errno.ENOSPC, "No space left on device")))
    'cannot write model: the disk is full; what was written before is intact'
    """

    def __init__(self, path: Path, cause: OSError) -> None:
        self.reason = "the disk is full" if cause.errno in _FULL else cause.strerror or type(cause).__name__
        super().__init__(f"cannot write {path}: {self.reason}; what was written before is intact")


class OutputError(ValueError):
    """A file that a command is asked to write must not be written; the message says why."""


def _is_model(head: bytes) -> bool:
    return len(head) > 8 and int.from_bytes(head[:8], "little") < 2**27 and head[8:9] == b"{"


def _is_picture(head: bytes) -> bool:
    return head.startswith((b"\x89PNG", b"%PDF", b"GIF8", b"\xff\xd8", b"%!PS")) or b"<svg" in head


KINDS: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "model": ("a model", _is_model),
    "picture": ("a picture", _is_picture),
    "predictions": ("a file of predictions", lambda head: head.startswith(b"prediction")),
    "scores": ("a file of scores", lambda head: head.startswith(b"score_")),
    "records": ("a file of this benchmark", lambda head: head.startswith(b'{"cell"')),
    "onnx": ("an ONNX model", lambda head: head.startswith(b"\x08")),
    "torch": ("a file of torch", lambda head: head.startswith(b"PK")),
    "sklearn": ("a joblib file", lambda head: head.startswith(b"\x80")),
    "page": ("a page", lambda head: head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))),
}
"""What commands write, in words, and how it is known by its first bytes."""


def check_output(
    path: str | PathLike[str],
    *,
    inputs: Iterable[str | PathLike[str] | None] = (),
    kind: str | None = None,
    force: bool = False,
) -> Path:
    """The file that `path` leads to, or an :class:`OutputError` if it cannot or must not be written.

    Refused are devices, pipes and folders, links that go in circles, folders that are missing or read-only, the run's
    own inputs and what lies inside an input folder, and a file of another kind unless forced.

    Parameters
    ----------
    path : path
        Where the output is wanted. Symbolic links are followed: what they lead to is written.
    inputs : paths
        Files and folders that the run reads; None is passed over.
    kind : str, optional
        One of :data:`KINDS`, the kind of file that may be written over.
    force : bool
        Write over a file of another kind.

    Examples
    --------
    >>> check_output("/dev/null", kind="model")
    Traceback (most recent call last):
    planted.numerics.files.OutputError: /dev/null is a device, not a file to write to
    >>> check_output("data.csv", inputs=["data.csv"], force=True)
    Traceback (most recent call last):
    planted.numerics.files.OutputError: data.csv is an input of this run: write to another file
    """
    given = Path(path)
    target = _followed(given)
    if not target.parent.is_dir():
        raise OutputError(f"no folder {target.parent} to write {target.name} to")
    for source in inputs:
        if source is not None and _inside(target, Path(source)):
            raise OutputError(f"{given} is an input of this run: write to another file")
    if target.exists():
        _check_regular(given, target)
        if kind is not None and not force:
            name, known = KINDS[kind]
            head = _head(target)
            if head and not known(head):
                raise OutputError(f"{given} is there and is not {name}: give another name, or --force to replace it")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {given}: the folder {target.parent} is read-only")
    return target


def _followed(path: Path) -> Path:
    """Where links lead to; the last part need not be there."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except OSError as error:
        circles = error.errno == errno.ELOOP
        why = "its symbolic links go in circles" if circles else error.strerror or type(error).__name__
        raise OutputError(f"cannot write {path}: {why}") from None
    except ValueError:
        raise OutputError("cannot write a file whose name holds a null character") from None


def _inside(target: Path, source: Path) -> bool:
    try:
        real = Path(os.path.realpath(source))
        same = target.exists() and real.exists() and target.samefile(real)
        return same or target == real or (real.is_dir() and target.is_relative_to(real))
    except (OSError, ValueError):
        return False


def _check_regular(given: Path, target: Path) -> None:
    mode = target.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OutputError(f"{given} is a folder, not a file to write to")
    if not stat.S_ISREG(mode):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise OutputError(f"{given} is {what}, not a file to write to")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SNIFFED)
    except OSError as error:
        raise OutputError(f"{path} is there and cannot be read: {error.strerror}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or not at all; an earlier one survives a failure.

    Links are followed, the mode of an earlier file stays, and devices, pipes and folders are refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a", b"text")
    ...     (Path(folder) / "a").read_bytes()
    b'text'
    """
    target = _followed(path)
    token = zlib.crc32(f"{target.name} {threading.get_ident()}".encode(errors="surrogateescape"))
    part = target.with_name(f".{token:08x}.{os.getpid()}.part")
    try:
        try:
            mode = None
            if target.exists():
                _check_regular(path, target)
                mode = stat.S_IMODE(target.stat().st_mode)
            with part.open("wb") as file:
                if mode is not None:
                    os.chmod(part, mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from error


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_line(Path(folder) / "a", "one")
    ...     append_line(Path(folder) / "a", "two")
    ...     (Path(folder) / "a").read_text().split()
    ['one', 'two']
    """
    target = _followed(path)
    if target.exists():
        _check_regular(path, target)
    before = target.stat().st_size if target.exists() else 0
    try:
        with target.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            os.truncate(target, before)
        raise WriteError(path, error) from error


@contextlib.contextmanager
def exclusive(path: Path, sentence: str) -> Iterator[None]:
    """Hold a file or folder that is there for this run alone; another run that asks for it gets an OutputError.

    The system lets go of the lock when the process ends, however it ends. Where it has no such locks nothing is held.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, exclusive(Path(folder), "in use"):
    ...     with exclusive(Path(folder), "in use"):
    ...         pass
    Traceback (most recent call last):
    planted.numerics.files.OutputError: in use
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(sentence) from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                raise
        yield
    finally:
        os.close(handle)
