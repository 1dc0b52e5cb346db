"""Programs of earlier commands are found again, and nothing that happens to their folder is the reason of a failure."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from planted.cli import _program_cache
from planted.cli._program_cache import ProgramCache, folder, remember_programs
from planted.datasets import write_table
from planted.numerics import files

COMMAND = """
import json, sys
import jax
counts = {"hits": 0, "misses": 0}
def listen(event, **_):
    for name in counts:
        counts[name] += event == f"/jax/compilation_cache/cache_{name}"
jax.monitoring.register_event_listener(listen)
from planted.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(counts), file=sys.stderr)
"""


def run(table, cache):
    """The result of a fit but for its seconds, and how many programs were found and how many compiled and kept."""
    environment = os.environ | {"PLANTED_CACHE": str(cache)}
    known = ["--hidden", "1", "--activation", "relu", "--no-bias", "--no-intercept", "--method", "squared"]
    command = [sys.executable, "-c", COMMAND, "fit", str(table), *known, "--quiet", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    *said, counts = done.stderr.splitlines()
    assert said == []
    result = json.loads(done.stdout)
    assert result.pop("seconds") > 0
    return result, json.loads(counts)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A table, and the folder, the result and the counts of a first fit of it."""
    place = tmp_path_factory.mktemp("first")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    table = write_table(place / "data.csv", X, np.maximum(X[:, 0], 0.0) + 0.1 * rng.standard_normal(120))
    return table, place / "cache", *run(table, place / "cache")


@pytest.fixture
def copied(first, tmp_path):
    """A folder of programs to spoil."""
    return Path(shutil.copytree(first[1], tmp_path / "cache"))


def programs(cache):
    return sorted(cache.rglob("*.program"))


def test_the_second_command_takes_what_is_whole_and_says_the_same(first, copied):
    table, _, result, counts = first
    assert counts["misses"] == len(programs(copied)) > 1
    assert counts["hits"] == 0
    halved = programs(copied)[0]
    halved.write_bytes(halved.read_bytes()[:-7])
    assert run(table, copied) == (result, {"hits": counts["misses"] - 1, "misses": 1})
    assert copied.stat().st_mode & 0o777 == 0o700
    assert not list(copied.rglob("running-*"))


def test_bytes_that_the_machine_refuses_end_the_use_of_the_folder(first, copied):
    """What is whole but no program is compiled anew, once; from then on nothing is taken from there."""
    table, _, result, _ = first
    (place,) = copied.iterdir()
    for path in programs(copied):
        path.write_bytes(hashlib.sha256(b"not a program").digest() + b"not a program")
    shown, counts = run(table, copied)
    assert shown == result
    assert counts["hits"] == 0
    assert (place / "refused").exists()
    assert ProgramCache(place).get("anything") is None


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 300], ids=["empty", "shorter than a digest", "other bytes"])
def test_damaged_programs_are_not_handed_out(tmp_path, damage):
    cache = ProgramCache(tmp_path)
    cache.put("key", b"program")
    (path,) = programs(tmp_path)
    path.write_bytes(damage)
    assert cache.get("key") is None
    assert not path.exists()
    cache.put("key", b"program")
    assert cache.get("key") == b"program"


def test_every_changed_byte_is_noticed(tmp_path):
    cache = ProgramCache(tmp_path)
    cache.put("key", b"program")
    (path,) = programs(tmp_path)
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert cache.get("key") is None


def test_a_full_disk_ends_the_writing_and_leaves_what_was_there(tmp_path, monkeypatch):
    cache = ProgramCache(tmp_path)
    cache.put("before", b"program")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", full)
        cache.put("key", b"another")
    assert len(list(tmp_path.iterdir())) == 1
    assert ProgramCache(tmp_path).get("before") == b"program"
    assert ProgramCache(tmp_path).get("key") is None


def test_a_folder_that_cannot_be_made_or_is_not_private_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    import jax

    before = jax.config.jax_compilation_cache_dir
    for place in (tmp_path / "file" / "cache", shared, Path("/proc/nowhere")):
        monkeypatch.setenv("PLANTED_CACHE", str(place))
        assert remember_programs() is None
    assert jax.config.jax_compilation_cache_dir == before


def test_a_cache_of_jax_that_the_user_keeps_is_left_alone(tmp_path):
    own, ours = str(tmp_path / "own"), tmp_path / "cache"
    code = (
        "import jax\nfrom planted.cli._program_cache import remember_programs\n"
        "assert remember_programs() is None\nprint(jax.config.jax_compilation_cache_dir)"
    )
    environment = os.environ | {"PLANTED_CACHE": str(ours), "JAX_COMPILATION_CACHE_DIR": own}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == own
    assert not ours.exists()


def test_a_missing_folder_and_a_lost_one_do_not_matter(tmp_path):
    cache = ProgramCache(tmp_path / "never made")
    assert cache.get("key") is None
    cache.put("key", b"program")
    assert cache.get("key") is None


def test_all_programs_together_stay_below_the_bound_and_the_oldest_go(tmp_path):
    place, other = tmp_path / "this", tmp_path / "older version"
    place.mkdir()
    other.mkdir()
    ProgramCache(other).put("old", bytes(300))
    (old,) = programs(other)
    # Whatever else lies there is somebody's own.
    letter, theirs = other / "letter.txt", other / "their.program"
    for path in (old, letter, theirs):
        path.write_bytes(bytes(300))
        os.utime(path, (1, 1))
    cache = ProgramCache(place, largest=1000)
    for number in range(20):
        cache.put(f"key {number}", bytes(100))
        for path in programs(place):
            os.utime(path, (path.stat().st_mtime - 10, path.stat().st_mtime - 10))
        assert sum(path.stat().st_size for path in programs(tmp_path) if path != theirs) <= 1000 + 132
    assert not old.exists()
    assert letter.exists()
    assert theirs.exists()
    assert cache.get("key 0") is None
    assert cache.get("key 19") == bytes(100)
    cache.put("too large", bytes(500))
    assert cache.get("too large") is None


def test_readers_never_meet_half_a_program(tmp_path):
    content = {f"key {number}": os.urandom(20_000) for number in range(4)}
    wrong = []

    def work():
        cache = ProgramCache(tmp_path)
        for _ in range(15):
            for key, program in content.items():
                cache.handed_out.clear()
                cache.put(key, program)
                if cache.get(key) not in (program, None):
                    wrong.append(key)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert {key: ProgramCache(tmp_path).get(key) for key in content} == content


def test_after_a_process_that_died_with_programs_the_next_begins_anew(tmp_path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom planted.cli._program_cache import ProgramCache\n"
        "cache = ProgramCache(Path(sys.argv[1]))\ncache.put('key', b'program')\n"
        "assert cache.get('key') == b'program'\nos._exit(7)"
    )
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert died.returncode == 7
    assert len(programs(tmp_path)) == 1
    assert ProgramCache(tmp_path).get("key") is None
    assert list(tmp_path.iterdir()) == []


def test_a_process_with_very_many_programs_stops_writing(tmp_path, monkeypatch):
    stopped = []
    monkeypatch.setattr(_program_cache, "MOST_WRITTEN", 3)
    monkeypatch.setattr(_program_cache, "_stop_writing", lambda: stopped.append(True))
    cache = ProgramCache(tmp_path)
    for number in range(5):
        cache.put(f"key {number}", b"program")
    assert stopped == [True]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PLANTED_CACHE": "0"}, None),
        ({"PLANTED_CACHE": "/somewhere"}, Path("/somewhere")),
        ({"XDG_CACHE_HOME": "/caches"}, Path("/caches/planted")),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}, Path("/home/u/.cache/planted")),
        ({"HOME": "/home/u"}, Path("/home/u/.cache/planted")),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have their own place for caches")
def test_place(monkeypatch, variables, expected):
    for name in ("PLANTED_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert folder() == expected
