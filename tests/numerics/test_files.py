"""The one writer: whole or not at all, through links, keeping modes; and what must not be written is refused first."""

import contextlib
import os
import resource
import signal
import stat

import numpy as np
import pytest

from planted.numerics.files import OutputError, append_line, check_output, exclusive, write_whole
from planted.numerics.tensors import TensorError, pack, unpack


@contextlib.contextmanager
def full_disk(size=4096):
    """Files cannot grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"real", "link"}


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path):
    path = tmp_path / ("n" * 250)
    write_whole(path, b"old")
    with full_disk(), pytest.raises(OSError, match="the disk is full; what was written before is intact"):
        write_whole(path, bytes(10_000))
    with full_disk(), pytest.raises(OSError, match="the disk is full"):
        append_line(path, 5000 * "x")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_must_not_be_written_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "data.csv").write_text("a,y\n1,2\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "alias").symlink_to(tmp_path / "data.csv")
    cases = [
        ("/dev/null", {}, "is a device"),
        (tmp_path / "folder", {}, "is a folder"),
        (tmp_path / "loop", {}, "go in circles"),
        (tmp_path / "pipe", {}, "is a pipe"),
        (tmp_path / "nowhere" / "a", {}, "no folder"),
        (tmp_path / "alias", {"inputs": [tmp_path / "data.csv"], "force": True}, "is an input of this run"),
        (tmp_path / "folder" / "a", {"inputs": [tmp_path / "folder"]}, "is an input of this run"),
        (tmp_path / "data.csv", {"kind": "model"}, "is there and is not a model: give another name, or --force"),
    ]
    for path, options, words in cases:
        with pytest.raises(OutputError, match=words):
            check_output(path, **options)
    assert check_output(tmp_path / "data.csv", kind="model", force=True) == (tmp_path / "data.csv").resolve()
    assert check_output(tmp_path / "new", kind="model") == (tmp_path / "new").resolve()
    for path in ("/dev/null", tmp_path / "pipe", tmp_path / "folder"):
        with pytest.raises((OSError, OutputError)):
            write_whole(type(tmp_path)(path), b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_lock_is_let_go_at_the_end(tmp_path):
    with exclusive(tmp_path, "busy"), pytest.raises(OutputError, match="busy"), exclusive(tmp_path, "busy"):
        pass
    with exclusive(tmp_path, "busy"):
        pass


def test_arrays_go_there_and_back_with_their_shapes():
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.array(1.5), "c": np.zeros((0, 4)), "d": np.array([True])}
    found = unpack(pack(arrays, {"text": "ä"}))
    assert found.checked
    assert found.metadata == {"text": "ä"}
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)


def test_an_array_that_does_not_belong_is_not_read():
    with pytest.raises(TensorError, match="an array 'b' that does not belong"):
        unpack(pack({"a": np.ones(1), "b": np.ones(1)}, {}), names=["a"])
