"""Damaged and hostile files: one sentence for each, no silent wrong load, no memory for what is only declared."""

import gzip
import io
import os
import resource
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest

from planted import Network
from planted.datasets import DataError, read_table
from planted.networks import ModelFileError
from planted.numerics.reading import SENTENCE
from planted.rows import _trial, file_rows
from planted.rows._trial import check_pages

X = np.random.default_rng(0).standard_normal((40, 3))
TABLE = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
BLOCKS = ("csv", "tsv", "parquet", "npy")
NAMES = ["x0", "x1", "x2", "y"]


def contents():
    """One small file of every kind that is read, by its ending."""
    frame = pl.DataFrame(TABLE, schema=NAMES, orient="row")
    found = {"csv": [frame.write_csv().encode()], "tsv": [frame.write_csv(separator="\t").encode()]}
    found["parquet"] = []
    for compression in ("uncompressed", "zstd", "snappy"):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression=compression)
        found["parquet"].append(buffer.getvalue())
    for name, save in (("arrow", frame.write_ipc), ("feather", frame.write_ipc_stream)):
        buffer = io.BytesIO()
        save(buffer)
        found[name] = [buffer.getvalue()]
    found["csv.gz"] = [gzip.compress(found["csv"][0], mtime=0)]
    for name, save in (("npy", lambda b: np.save(b, TABLE)), ("npz", lambda b: np.savez(b, X=X, y=TABLE[:, 3]))):
        buffer = io.BytesIO()
        save(buffer)
        found[name] = [buffer.getvalue()]
    return found


def damaged(content, rng):
    """The content with some bytes changed, cut, doubled or put in."""
    data = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 8]))):
        place = int(rng.integers(len(data))) if data else 0
        how = rng.integers(6)
        if how <= 2 and data:
            data[place] = int(rng.integers(256))
        elif how == 3:
            del data[place:]
        elif how == 4:
            data[place:place] = data[: int(rng.integers(1, 40))]
        else:
            data[place:place] = rng.choice([b"\x00", b"\n", b'"', b",", b"\xff\xff\xff\xff", b"1e999", b"nan"])
    return bytes(data)


def in_blocks(path):
    """Inputs and targets of a file that is read in blocks."""
    parts = [chunk.load() for chunk in file_rows(path, chunk_rows=16).chunks]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def readers(path, kind):
    if kind != "npy":
        yield lambda: read_table(path, "y")[:2]
    if kind in BLOCKS:
        yield lambda: in_blocks(path)


def outcome(read):
    """The sentence with which a file is refused, empty if it is read, and what was read; else raised is a failure."""
    try:
        return "", read()
    except DataError as error:
        return str(error), ()


def refusal(read):
    return outcome(read)[0]


def peak():
    """The most memory that this process, and the largest of its children that ended, have held, in bytes."""
    return [1024 * resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def attack_tables(folder, seeds):
    outcomes = {"read": 0, "refused": 0}
    before, largest = peak()[0], 0
    files = [(kind, content) for kind, variants in contents().items() for content in variants]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kind, content = files[seed % len(files)]
        path = folder / f"attack.{kind}"
        path.write_bytes(damaged(content, rng))
        largest = max(largest, path.stat().st_size)
        results = []
        for read in readers(path, kind):
            sentence, arrays = outcome(read)
            assert len(sentence) <= SENTENCE
            assert "\n" not in sentence
            outcomes["refused" if sentence else "read"] += 1
            results.append(arrays)
        if kind in ("csv", "tsv", "parquet"):
            in_memory, blocks = results
            assert len(in_memory) == len(blocks), (seed, kind)
            assert all(map(np.array_equal, in_memory, blocks)), (seed, kind)
    assert peak()[0] - before < 4 * largest + 500 * 2**20
    return outcomes


def attack_models(folder, seeds):
    path = folder / "model"
    network = Network(X[:3], X[0], "tanh", bias=X[1], intercept=0.5)
    network.save(path)
    content = path.read_bytes()
    for seed in seeds:
        attacked = damaged(content, np.random.default_rng(seed))
        if attacked == content:
            continue
        path.write_bytes(attacked)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ModelFileError) as caught:
                Network.load(path)
        assert len(str(caught.value)) <= SENTENCE


def test_whole_files_of_every_kind_are_read(tmp_path):
    for kind, variants in contents().items():
        for content in variants:
            path = tmp_path / f"whole.{kind}"
            path.write_bytes(content)
            for read in readers(path, kind):
                assert refusal(read) == ""


def test_damaged_tables_are_one_sentence(tmp_path):
    outcomes = attack_tables(tmp_path, range(250))
    assert outcomes["refused"] > 75
    assert outcomes["read"] > 12


def test_a_helper_that_was_on_its_way_out_is_replaced(tmp_path):
    """A file is not called damaged because the helper ends after the one before it."""
    path = tmp_path / "whole.parquet"
    path.write_bytes(contents()["parquet"][0])
    check_pages(path, "parquet", ("y",))
    before = _trial._helper
    before.process.kill()  # not waited for, so that it may look alive
    check_pages(path, "parquet", ("y",))
    assert _trial._helper is not before


def test_no_damaged_model_is_loaded(tmp_path):
    attack_models(tmp_path, range(1000))


@pytest.mark.slow
def test_many_damaged_files(tmp_path):
    attack_tables(tmp_path, range(10_000, 60_000))
    attack_models(tmp_path, range(10_000, 60_000))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (TABLE + 1j, "real numbers"),
        (TABLE.astype("timedelta64[s]"), "real numbers"),
        (np.array([[{}]], dtype=object), "real numbers"),
        (TABLE[0], "rows, columns"),
        (np.zeros((0, 4)), "no rows"),
    ],
    ids=["complex", "timedelta", "objects", "one row", "none"],
)
def test_arrays_of_other_things_are_refused(array, words, tmp_path):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataError, match=words):
        file_rows(tmp_path / "a.npy")


def test_an_array_stored_column_by_column_has_the_same_rows(tmp_path):
    for order in "CF":
        np.save(tmp_path / f"{order}.npy", np.array(TABLE, order=order))
    by_row, by_column = (file_rows(tmp_path / f"{order}.npy", chunk_rows=7) for order in "CF")
    assert len(by_row.chunks) > 1
    for one, other in zip(by_row.chunks, by_column.chunks, strict=True):
        for mine, theirs in zip(one.load()[:2], other.load()[:2], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_complex_numbers_and_spans_of_time_in_archives_are_refused(tmp_path):
    for array, words in ((X + 1j, "complex numbers"), (X.astype("timedelta64[s]"), "spans of time")):
        np.savez(tmp_path / "a.npz", X=array, y=TABLE[:, 3])
        with pytest.raises(DataError, match=words):
            read_table(tmp_path / "a.npz", "y")


def test_lists_and_spans_of_time_in_parquet_are_refused_by_both_readers(tmp_path):
    path = tmp_path / "a.parquet"
    for column in (pl.Series([[1.0], [2.0]]), pl.Series([1, 2]).cast(pl.Duration("us")), pl.Series(["1", "2"])):
        pl.DataFrame({"u": column, "y": [1.0, 2.0]}).write_parquet(path)
        for read in readers(path, "parquet"):
            with pytest.raises(DataError, match=r"column 'u' holds .*, not numbers"):
                read()


def declared(shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return header.getvalue()


def test_what_is_only_declared_takes_no_memory(tmp_path):
    (tmp_path / "a.npy").write_bytes(declared((10**12, 4)))
    with pytest.raises(DataError, match="is cut short"):
        file_rows(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", declared((10**12, 4)))
    with pytest.raises(DataError, match="declares 32,000,000 MB of numbers"):
        read_table(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in (("X.npy", X), ("unused.npy", np.zeros(2**20))):
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(name, content.getvalue())
        archive.writestr("broken.npy", b"no array")
    assert np.array_equal(read_table(tmp_path / "b.npz")[0], X)
    pl.DataFrame(
        {"u": pl.repeat(0.0, 50_000_000, eager=True), "y": pl.repeat(1.0, 50_000_000, eager=True)}
    ).write_parquet(tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(DataError, match="declares 800 MB of numbers in a file of"):
        read_table(tmp_path / "a.parquet", "y")


def test_too_many_columns_are_refused_before_their_moments_are_made(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"x{i}" for i in range(20_000)]
    path.write_text(",".join([*names, "y"]) + "\n" + ",".join(["1"] * 20_001) + "\n")
    for read in readers(path, "csv"):
        with pytest.raises(DataError, match="20,000 input columns, at most 4,096"):
            read()


def test_messages_stay_short(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("u" * 10**6 + ",y\n1,2\n")
    with pytest.raises(DataError) as caught:
        read_table(path, "z")
    assert len(str(caught.value)) <= SENTENCE
    path.write_text("u,y\n" + "t" * 10**6 + ",2\n")
    with pytest.raises(DataError) as caught:
        read_table(path, "y")
    assert len(str(caught.value)) <= SENTENCE


def test_pipes_devices_and_circles_are_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path, words in ((tmp_path / "pipe.csv", "no regular file"), (tmp_path / "loop.csv", "circles")):
        for read in (lambda path=path: read_table(path), lambda path=path: file_rows(path)):
            with pytest.raises(DataError, match=words):
                read()
    (tmp_path / "twice.csv").write_text("u,y,y\n1,2,3\n")
    with pytest.raises(DataError, match="two columns 'y'"):
        read_table(tmp_path / "twice.csv", "y")
