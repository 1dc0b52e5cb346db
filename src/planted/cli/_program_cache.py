"""Programs that earlier commands compiled, so that the next command starts warm.

JAX can keep compiled programs in a folder, but it writes them in place, so that another process may read half of one,
and it trusts what it reads. Here a program is written beside its place and renamed into it, carries its SHA-256, and
lies in a folder of this user, this machine's instructions and these versions of JAX. Whatever goes wrong, a program is
compiled as if there were no folder. The command line owns its process and switches this on; the library never does.

The environment variable PLANTED_CACHE is the folder, or 0 for none.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VARIABLE = "PLANTED_CACHE"
LARGEST = 100 * 2**20
"""Bytes that all programs may take together; those not used for longest go first."""
MOST_WRITTEN = 1000
"""Programs that one process keeps: where very many are loaded, JAX crashes while it turns another one into bytes."""
_REFUSED = "refused"
_RUNNING = "running-"
_NAMED = re.compile(r"-[0-9a-f]{32}\.program$")
_log = logging.getLogger("planted")


def folder() -> Path | None:
    """Where programs lie: the folder that PLANTED_CACHE names, or that of this user; None if it says 0.

    >>> os.environ[VARIABLE] = "0"
    >>> folder() is None
    True
    """
    given = os.environ.get(VARIABLE, "")
    if given == "0" or os.name != "posix":
        return None
    if given:
        return Path(given).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches/planted").expanduser()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there is to be ignored, by the convention of these variables.
    return (Path(caches) if os.path.isabs(caches) else Path("~/.cache").expanduser()) / "planted"


class ProgramCache:
    """Programs by JAX's keys in one folder. No method raises, and no method returns bytes that were not put.

    A program that this machine refuses is asked for, handed out, and put again: then the folder is marked and not used
    any more. A process that has taken programs and dies leaves its mark behind: then the next one begins anew.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     cache = ProgramCache(Path(place))
    ...     cache.put("jit_f-1234", b"program")
    ...     cache.get("jit_f-1234")
    b'program'
    """

    def __init__(self, place: Path, largest: int = LARGEST) -> None:
        self.place, self.largest = place, largest
        self.handed_out: set[str] = set()
        self.written = 0
        self._bytes: int | None = None
        self._running = place / f"{_RUNNING}{os.getpid()}"
        self._open = not (place / _REFUSED).exists()
        self._forget_after_a_crash()

    def get(self, key: str) -> bytes | None:
        """The program of this key, or None if there is none, or none that is whole."""
        path = self.place / _name(key)
        try:
            if not self._open:
                return None
            content = path.read_bytes()
            digest, program = content[:32], content[32:]
            if hashlib.sha256(program).digest() != digest:
                path.unlink(missing_ok=True)
                return None
            os.utime(path)
            if not self.handed_out:
                self._running.touch()
                atexit.register(self._end)
        except OSError:
            return None
        self.handed_out.add(key)
        return program

    def put(self, key: str, program: bytes) -> None:
        """Keep a program, and drop the oldest ones if all take too much; a disk that is full ends the writing."""
        from planted.numerics.files import write_whole

        if not self._open:
            return
        try:
            if key in self.handed_out:
                self._open = False
                (self.place / _REFUSED).touch()
                return
            if len(program) > self.largest // 4:
                return
            write_whole(self.place / _name(key), hashlib.sha256(program).digest() + program)
            self.written += 1
            if self.written == MOST_WRITTEN:
                _stop_writing()
            self._make_room(len(program))
        except (OSError, ValueError) as error:
            _log.info("compiled programs are not kept: %s", error)
            self._open = False

    def _make_room(self, added: int) -> None:
        """Remove programs down to three quarters of what is allowed, those of other versions too, and nothing else.

        The folder may be one in which a user has other things.
        """
        self._bytes = None if self._bytes is None else self._bytes + added
        if self._bytes is not None and self._bytes <= self.largest:
            return
        files = []
        for path in _programs(self.place.parent, "*/"):
            # Another process may have removed it.
            with contextlib.suppress(OSError):
                files.append((path.stat().st_mtime, path.stat().st_size, path))
        total = sum(size for _, size, _ in files)
        if total > self.largest:
            for _, size, path in sorted(files):
                if total <= 0.75 * self.largest:
                    break
                path.unlink(missing_ok=True)
                total -= size
        self._bytes = total

    def _forget_after_a_crash(self) -> None:
        """Remove every program if a process that had taken some is gone without having said so."""
        with contextlib.suppress(OSError):
            gone = [path for path in self.place.glob(f"{_RUNNING}*") if not _alive(path)]
            for path in (*_programs(self.place), *gone) if gone else ():
                path.unlink(missing_ok=True)

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self._running.unlink(missing_ok=True)


def remember_programs() -> ProgramCache | None:
    """Let JAX take programs that earlier commands compiled and keep those that it compiles, in this process.

    Returns None, and changes nothing, where the user has said so, keeps JAX's own cache, or the folder is not safe.

    >>> os.environ[VARIABLE] = "0"
    >>> remember_programs()
    """
    root = folder()
    if root is None:
        return None
    # The compiler's remarks on programs that it loads are not for the reader of a report.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import jax
        from jax._src import compilation_cache

        store: Any = compilation_cache
        if store.is_persistent_cache_enabled():
            return None
        place = root / _machine()
        _make_private(place)
        cache = ProgramCache(place)
        own = store.get_file_cache
    except (OSError, ImportError, AttributeError) as error:
        _log.info("compiled programs are not kept: %s", error)
        return None

    def file_cache(path: str) -> Any:
        return (cache, path) if path == str(place) else own(path)

    store.get_file_cache = file_cache
    jax.config.update("jax_compilation_cache_dir", str(place))
    # Caches of the compiler itself are for other processors, and would make the folder's name part of every key.
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_raise_persistent_cache_errors", False)
    return cache


def _stop_writing() -> None:
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", float("inf"))


def _name(key: str) -> str:
    """A file name for a key: its beginning to be read, its digest to be told from others."""
    return f"{key[:40].replace('/', '_')}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.program"


def _programs(place: Path, folders: str = "") -> Iterator[Path]:
    """Files that :func:`_name` named, in a folder or in those below it."""
    for path in place.glob(f"{folders}*.program"):
        if _NAMED.search(path.name) and path.is_file():
            yield path


def _alive(path: Path) -> bool:
    """Whether the process that a mark names is there."""
    try:
        os.kill(int(path.name.removeprefix(_RUNNING)), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _machine() -> str:
    """A name for what a program depends on beyond JAX's key: versions, and the instructions that this machine knows."""
    import jax
    import jaxlib

    parts = [
        jax.__version__,
        jaxlib.__version__,
        sys.version,
        platform.node(),
        platform.machine(),
        platform.processor(),
    ]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        parts += sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _make_private(place: Path) -> None:
    """Make the folder for this user alone: what lies in it is run. One that others may write to is refused."""
    for path in (place.parent, place):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = path.stat()
        if about.st_uid != os.getuid() or about.st_mode & 0o022:
            raise OSError(f"{path} is not this user's alone")
