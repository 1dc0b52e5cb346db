"""A journal of passes: what an interrupted computation has learnt from its rows, kept so that it can go on.

Solvers are deterministic: given the results of the same passes they take the same steps. So a computation is resumed by
running it again with a journal at hand, which answers every pass that was made before. Entries are found by what was
asked (the functions and the bytes of their arguments), so nothing depends on their order. Files hold numbers
(safetensors) and text (JSON) only: reading one runs no code. Each has a checksum, and says which computation it belongs
to: a fingerprint of the data, the settings and the version. A folder belongs to one run at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
import numpy as np

from planted import __version__
from planted.numerics.files import OutputError, exclusive, write_whole
from planted.numerics.tensors import TensorError, pack, unpack
from planted.rows._chunks import Work
from planted.rows._sample import Survey

FORMAT = 3
_RECENT = 64


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says why."""


def _name(function: Any) -> str:
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return repr(function)


def key_of(work: Work) -> str:
    """A name for a pass, from what it computes.

    >>> key_of(Work("add", (np.sum,), ((np.ones(1),),))) == key_of(Work("add", (np.sum,), ((np.zeros(1),),)))
    False
    """
    leaves, structure = jax.tree.flatten(work.arguments)
    digest = hashlib.sha256()
    words = [work.combine, *map(_name, work.functions), str(structure), repr(work.excluded)]
    for word in words:
        digest.update(word.encode() + b"\0")
    for leaf in map(np.asarray, leaves):
        digest.update(f"{leaf.dtype}{leaf.shape}".encode() + np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()[:32]


class Journal:
    """Results of passes by what was asked: the last 64 in memory, and all of them in `folder` where one is given.

    Parameters
    ----------
    folder : path, optional
    about : mapping, optional
        What the computation is: data and settings, JSON-able. A folder of another computation is refused.
    resume : bool
        Go on from what is in the folder; otherwise it must be empty or not there.

    Examples
    --------
    >>> journal = Journal()
    >>> work = Work("add", (np.sum,), ((np.ones(1),),))
    >>> journal.store(work, {"a": np.ones(2)})
    >>> journal.recall(work, lambda: None)
    {'a': array([1., 1.])}
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, about: Mapping[str, Any] | None = None, resume: bool = False
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        self.recent: dict[str, Any] = {}
        self.recalled = 0
        self.held = ExitStack()
        self.belongs = ""
        if self.folder is not None:
            about = {"format": FORMAT, "version": __version__, **json.loads(json.dumps(dict(about or {})))}
            self.belongs = _digest(about)
            try:
                self._open(self.folder, about, resume)
            except BaseException:
                self.close()
                raise

    def _open(self, folder: Path, about: dict[str, Any], resume: bool) -> None:
        manifest = folder / "about.json"
        if folder.is_dir():
            self._hold(folder)
        if not manifest.is_file():
            if resume:
                raise CheckpointError(f"there is no checkpoint in {folder} to resume")
            # A kill in the first write leaves a part of it; no run writes it any more, since the folder is held.
            if folder.exists() and any(not entry.match(".*.part") for entry in folder.iterdir()):
                raise CheckpointError(f"{folder} is not empty and no checkpoint: give another folder for checkpoints")
            if not folder.is_dir():
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise CheckpointError(f"no checkpoint can be kept in {folder}: {error.strerror}") from None
                self._hold(folder)
            write_whole(manifest, json.dumps(about | {"sha256": _digest(about)}, indent=1).encode())
            return
        if not resume:
            raise CheckpointError(f"{folder} holds the checkpoint of an earlier run: resume it, or delete the folder")
        stored = self._manifest(manifest)
        other = [name for name in sorted({*about, *stored}) if about.get(name) != stored.get(name)]
        if other:
            name = other[0]
            raise CheckpointError(
                f"the checkpoint in {folder} is of another computation: its {name} is {stored.get(name)!r}, "
                f"not {about.get(name)!r}"
            )

    @staticmethod
    def _manifest(path: Path) -> dict[str, Any]:
        """What is noted of the computation that a folder belongs to."""
        try:
            stored = json.loads(path.read_bytes())
            whole = isinstance(stored, dict)
        except (ValueError, RecursionError):
            whole = False
        # Checkpoints of earlier formats have no checksum, and are of another format in any case.
        if not whole or (stored.get("format") == FORMAT and stored.pop("sha256", None) != _digest(stored)):
            raise CheckpointError(f"{path} is damaged: delete the folder and start again")
        stored.pop("sha256", None)
        return stored

    def _hold(self, folder: Path) -> None:
        sentence = f"the checkpoint in {folder} is in use by another run: wait for it, or give another folder"
        try:
            self.held.enter_context(exclusive(folder, sentence))
        except OutputError as error:
            raise CheckpointError(str(error)) from None

    def close(self) -> None:
        """Let another run have the folder."""
        self.held.close()

    def recall(self, work: Work, structure: Callable[[], Any]) -> Any | None:
        """The result of the same pass made earlier, or None."""
        key = key_of(work)
        if key in self.recent:
            return self.recent[key]
        leaves = self._read(key)
        if leaves is None:
            return None
        self.recalled += 1
        form = structure()
        if sorted(leaves) != [f"{i:04d}" for i in range(form.num_leaves)]:
            raise CheckpointError(f"{self.folder} holds a damaged entry {key}: delete it and resume again")
        return jax.tree.unflatten(form, [leaves[name] for name in sorted(leaves)])

    def store(self, work: Work, result: Any) -> None:
        """Remember a result."""
        key = key_of(work)
        self.recent[key] = result
        if len(self.recent) > _RECENT:
            del self.recent[next(iter(self.recent))]
        self._write(key, {f"{i:04d}": np.asarray(leaf, order="C") for i, leaf in enumerate(jax.tree.leaves(result))})

    def once(self, name: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Arrays that `compute` gives, from the folder if they are there: work that is not made of passes.

        >>> Journal().once("start", lambda: {"a": np.zeros(1)})
        {'a': array([0.])}
        """
        arrays = self._read(name)
        if arrays is None:
            arrays = {key: np.asarray(value, order="C") for key, value in compute().items()}
            self._write(name, arrays)
        return arrays

    def delete(self) -> None:
        """Remove the folder with all that was kept: the computation is done."""
        if self.folder is not None and (self.folder / "about.json").is_file():
            for path in [*self.folder.glob("*.safetensors"), *self.folder.glob(".*.part"), self.folder / "about.json"]:
                path.unlink(missing_ok=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()
        self.close()

    def _read(self, name: str) -> dict[str, np.ndarray] | None:
        if self.folder is None:
            return None
        path = self.folder / f"{name}.safetensors"
        if not path.is_file():
            return None
        try:
            packed = unpack(path.read_bytes())
        except (TensorError, OSError):
            raise CheckpointError(f"{path} is damaged: delete it and resume again") from None
        if not packed.checked or packed.metadata.get("entry") != name:
            raise CheckpointError(f"{path} is damaged or was renamed: delete it and resume again")
        if packed.metadata.get("belongs") != self.belongs:
            raise CheckpointError(f"{path} belongs to another computation: delete it and resume again")
        return packed.arrays

    def _write(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        if self.folder is not None:
            content = pack(arrays, {"belongs": self.belongs, "entry": name})
            write_whole(self.folder / f"{name}.safetensors", content)


def _digest(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def delete_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Remove a checkpoint whose computation is done and whose result is safe; another run's is left alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     journal = Journal(Path(place) / "kept")
    ...     journal.close()
    ...     delete_checkpoint(Path(place) / "kept")
    ...     (Path(place) / "kept").exists()
    False
    """
    journal = Journal()
    journal.folder = Path(folder)
    if not (journal.folder / "about.json").is_file():
        return
    with contextlib.suppress(CheckpointError):
        journal._hold(journal.folder)
        journal.delete()


def fingerprint(survey: Survey) -> dict[str, Any]:
    """What tells the rows of a survey from others: their number, their inputs and a digest of every value.

    >>> fingerprint(Survey.of(np.ones((2, 3)), np.ones(2)))["number of inputs"]
    3
    """
    inputs = int(survey.first.size)
    return {"number of rows": survey.n_rows, "number of inputs": inputs, "data": f"{survey.digest:016x}"}
