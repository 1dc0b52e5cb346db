"""A script that reads binary tables to see whether they can be read. It runs in a process of its own: see `_trial`.

Each line of standard input is a request in JSON: the path of a file, what it is read as, the columns and rows at a
time, and the bytes that may be taken for it. The answer is a line too: what went wrong, empty if nothing did.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def _limit(free: int) -> None:
    """Let the process take `free` bytes beside those that it has."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # systems without such limits
        import resource

        with open("/proc/self/statm") as file:
            held = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (held + free, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _read(path: str, kind: str, columns: list[str], step: int) -> None:
    """Read a file as its reader would, some rows at a time, and let go of them; without columns what it declares."""
    import polars as pl

    if kind == "ipc":
        pl.read_ipc(io.BytesIO(Path(path).read_bytes()))
        return
    if kind == "ipc_stream":
        pl.read_ipc_stream(io.BytesIO(Path(path).read_bytes()))
        return
    if kind == "zstd":
        text = Path(path).read_bytes()
        pl.read_csv(text, has_header=False, separator="\x1f", quote_char=None, schema={"line": pl.String})
        return
    lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    lazy.collect_schema()
    n = int(lazy.select(pl.len()).collect().item())
    for offset in range(0, n if columns else 0, step):
        lazy.slice(offset, step).select(columns).collect()


def main() -> None:
    """Answer requests until there are no more; after a panic the library may wait for itself, so that it ends."""
    import polars as pl

    # Threads take their memory at the first reading, which is not the file's.
    warm = io.BytesIO()
    pl.DataFrame({"u": [1.0]}).write_parquet(warm)
    pl.scan_parquet(io.BytesIO(warm.getvalue())).collect()
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        answer, panic = "", False
        try:
            _limit(request.pop("free"))
            _read(**request)
        except BaseException as error:
            answer = (str(error).strip().splitlines() or [type(error).__name__])[0][:2000]
            panic = isinstance(error, pl.exceptions.PanicException)
        print(json.dumps(answer), flush=True)
        if panic:
            return


if __name__ == "__main__":
    main()
