"""Read one file as a command would, and print the peak of this process beyond its start and that of its helper.

Run as `python memory_of.py FILE memory|blocks`. Prints three numbers: bytes of this process beyond those that it held
before, bytes of the helper that tries binary tables beyond its own (zero where it has ended), and rows.
"""

import sys
import tempfile
from pathlib import Path

import polars as pl

from planted.datasets import DataError, read_table
from planted.rows import _trial, file_rows


def memory(process, what):
    """VmRSS or VmHWM, the peak, of a process in bytes; unlike that of `getrusage` it is not a parent's."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return 1024 * next((int(line.split()[1]) for line in lines if line.startswith(what)), 0)


def read(path, how):
    if how == "memory":
        return len(read_table(path, "y")[1])
    return sum(len(chunk.load()[1]) for chunk in file_rows(path).chunks)


def main():
    path, how = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        pl.DataFrame({"u": [1.0, 2.0], "y": [1.0, 2.0]}).write_parquet(small)
        read(small, "memory")
    processes = "self", _trial._helper.process.pid
    before = [memory(process, "VmRSS") for process in processes]
    try:
        rows = read(path, how)
    except DataError:
        rows = 0
    after = [memory(process, "VmHWM") for process in processes]
    print(*(max(0, end - begin) for begin, end in zip(before, after, strict=True)), rows)


if __name__ == "__main__":
    main()
