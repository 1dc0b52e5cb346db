"""Binary tables are read in another process first: a damaged page may end the process that reads it, or stop it.

The library that reads Parquet and Arrow trusts what pages declare. A few changed bytes make it write a traceback of
its own, ask for 2⁶¹ bytes, or wait for a thread that is gone; none of it can be caught where it happens. So each file
is read once by a helper that may die, and then by this process. The helper stays for the next file.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from planted.numerics.reading import DataError

_SCRIPT = Path(__file__).with_name("_trial_reader.py")
_PATIENCE = 60.0
_BYTES_PER_SECOND = 2e6
_FREE_BYTES = 500 * 2**20
_LOCK = threading.Lock()


class _Helper:
    """A process that reads files on trial, one at a time."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            # -P: modules beside the script must not hide those of the standard library.
            [sys.executable, "-P", str(_SCRIPT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    @property
    def usable(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def ask(self, request: str, seconds: float) -> str | None:
        """The answer, None if the process ended; TimeoutError if neither came in time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        answer: list[str] = []
        source = self.process.stdout
        waiting = threading.Thread(target=lambda: answer.append(source.readline()), daemon=True)
        waiting.start()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        waiting.join(seconds)
        if waiting.is_alive():
            self.close()
            raise TimeoutError
        if not answer[0]:
            self.close()
            return None
        return json.loads(answer[0])

    def close(self) -> None:
        """End the process, if it is ours."""
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


_helper: _Helper | None = None


def _running() -> _Helper:
    global _helper
    if _helper is None or not _helper.usable:
        if _helper is None:
            atexit.register(lambda: _helper.close() if _helper is not None else None)
        _helper = _Helper()
    return _helper


def start_trials() -> None:
    """Start the helper, so that it is there when the first file is tried."""
    with _LOCK:
        _running()


def check_pages(
    path: Path, kind: str, columns: tuple[str, ...] = (), *, step: int = 2**18, content: bytes | None = None
) -> None:
    """Raise a DataError unless a helper could read the columns of a file, `step` rows at a time.

    Parameters
    ----------
    path : path
        What the file is called.
    kind : "parquet", "ipc", "ipc_stream" or "zstd"
    columns : tuple of str
        Columns of a Parquet file; without any only what the file declares is read.
    step : int
    content : bytes, optional
        Of the file, where it is in memory.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame({"u": [1.0, 2.0]}).write_parquet(Path(folder) / "a.parquet")
    ...     check_pages(Path(folder) / "a.parquet", "parquet", ("u",))
    """
    with _as_file(path, content) as place, _LOCK:
        size = place.stat().st_size
        seconds = _PATIENCE + size / _BYTES_PER_SECOND
        request = {"path": str(place.absolute()), "kind": kind, "columns": list(columns), "step": step}
        words = json.dumps(request | {"free": 4 * size + _FREE_BYTES})
        try:
            # A helper that ends may have been on its way out because of the file before: a new one is asked again.
            answer = _running().ask(words, seconds)
            answer = _running().ask(words, seconds) if answer is None else answer
        except TimeoutError:
            raise DataError(f"{path} is damaged: reading it had not ended after {seconds:.0f} s") from None
    if answer is None:
        raise DataError(f"{path} is damaged, or needs more memory than four times its size and 500 MB")
    if answer:
        raise DataError(f"{path} cannot be read as {kind.partition('_')[0]}: {answer}")


@contextlib.contextmanager
def _as_file(path: Path, content: bytes | None) -> Iterator[Path]:
    """The path of a file that holds `content`, that of the file itself if there is none."""
    if content is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        place = Path(folder) / "content"
        place.write_bytes(content)
        yield place
