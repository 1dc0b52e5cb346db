"""Memory: no file takes more than four times its size and 500 MB, in this process or in its helper."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

MEGABYTE = 2**20
SCRIPT = Path(__file__).with_name("memory_of.py")


def constant(rows):
    return pl.DataFrame({"u": pl.repeat(0.5, rows, eager=True), "y": pl.repeat(1.0, rows, eager=True)})


def text(lines):
    return b"u,y\n" + b"0.5,1.0\n" * lines


def table(rows, columns):
    values = np.random.default_rng(0).standard_normal((rows, columns))
    return values, pl.DataFrame(values, schema=[*(f"x{i}" for i in range(columns - 1)), "y"], orient="row")


# A few kilobytes that stand for as much as is taken, or for a hundred times as much, and honest files of all kinds.
FILES = {
    "taken.parquet": lambda path: constant(11_000_000).write_parquet(path, compression="zstd"),
    "taken.arrow": lambda path: constant(11_000_000).write_ipc(path, compression="zstd"),
    "taken.npz": lambda path: np.savez_compressed(path, X=np.zeros((60_000, 784), np.uint8), y=np.zeros(60_000)),
    "bomb.npz": lambda path: np.savez_compressed(path, X=np.zeros((80_000_000, 1), np.int8), y=np.zeros(80_000_000)),
    "taken.csv.gz": lambda path: path.write_bytes(gzip.compress(text(11_000_000))),
    "taken.csv.zst": lambda path: path.write_bytes(pa.compress(text(11_000_000), codec="zstd", asbytes=True)),
    "bomb.arrow": lambda path: constant(100_000_000).write_ipc(path, compression="zstd"),
    "bomb.feather": lambda path: constant(25_000_000).write_ipc_stream(path, compression="zstd"),
    "bomb.csv.gz": lambda path: path.write_bytes(b"".join([gzip.compress(text(20_000_000))] * 6)),
    "bomb.csv.zst": lambda path: path.write_bytes(pa.compress(text(20_000_000), codec="zstd", asbytes=True) * 6),
    "bomb.csv.zip": lambda path: zipped(path, text(60_000_000)),
    "dense.csv": lambda path: path.write_bytes(b"u,v,w,y\n" + b"1,2,3,4\n" * 6_000_000),
    "honest.csv": lambda path: table(200_000, 10)[1].write_csv(path),
    "honest.parquet": lambda path: table(800_000, 10)[1].write_parquet(path),
    "honest.arrow": lambda path: table(800_000, 10)[1].write_ipc(path),
    "honest.npy": lambda path: np.save(path, table(800_000, 10)[0]),
}
BLOCKS = (".csv", ".parquet", ".npy")


def zipped(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", content)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_file_takes_more_than_four_times_its_size(name, tmp_path):
    path = tmp_path / name
    FILES[name](path)
    for how in ("memory", *(["blocks"] if name.endswith(BLOCKS) else [])):
        done = subprocess.run([sys.executable, SCRIPT, path, how], capture_output=True, text=True, check=True)
        ours, helper, rows = map(int, done.stdout.split())
        print(f"{name} {how}: {path.stat().st_size / MEGABYTE:.1f} MB, this process {ours / MEGABYTE:.0f} MB, "
              f"helper {helper / MEGABYTE:.0f} MB, {rows} rows")  # fmt: skip
        assert max(ours, helper) < 4 * path.stat().st_size + 500 * MEGABYTE
        assert bool(rows) != name.startswith("bomb")
