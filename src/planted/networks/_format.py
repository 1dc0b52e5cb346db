"""Model files: safetensors with the activation and a checksum in their metadata; nothing in them is executed.

    format        planted-network-2, or planted-conv-network-2
    activation    name of φ, and its parameters as JSON
    planted       version that wrote the file
    about         what the network belongs to, as JSON: fingerprint of the data, settings
    signature     names of inputs and targets, task, classes, patch, scales, encoding, versions, as JSON; may be missing
    sha256        checksum over all of it and the numbers

The same network has the same bytes. Files of the first version, …-1, have no checksum; they are read
with a warning.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted import __version__, activations, names
from planted.activations import Activation
from planted.networks._signature import Signature
from planted.numerics.files import write_whole
from planted.numerics.reading import check_source, shortened
from planted.numerics.tensors import Packed, TensorError, pack, read_packed


class ModelFileError(ValueError):
    """A model file is missing, damaged, or not a model file."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(sentence))


@dataclass(frozen=True)
class Form:
    """A kind of model file: its name, and the arrays that must and may be there."""

    name: str
    needed: frozenset[str]
    allowed: frozenset[str]

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether a file with these metadata is of this kind, in either version."""
        return metadata.get("format") in (f"{self.name}-1", f"{self.name}-2")


def write_model(
    path: str | PathLike[str],
    form: Form,
    activation: Activation,
    arrays: Mapping[str, np.ndarray],
    about: Mapping[str, Any] | None = None,
    signature: Signature | None = None,
) -> Path:
    """Write arrays and an activation of the library, whole or not at all; returns the path."""
    name, parameters = activation.name, dict(activation.parameters)
    if name not in names.ACTIVATIONS or activation != activations.get(name, **parameters):
        raise ValueError(f"activation {name!r} is not one of the library's: not saved")
    path = Path(path)
    metadata = {
        "format": f"{form.name}-2",
        "activation": name,
        "parameters": json.dumps(parameters, sort_keys=True),
        "planted": __version__,
        "about": json.dumps(dict(about or {}), sort_keys=True),
    }
    if signature is not None:
        metadata["signature"] = signature.to_json()
    write_whole(path, pack({name: np.asarray(array, np.float64) for name, array in arrays.items()}, metadata))
    return path


def read_model(path: str | PathLike[str], *forms: Form) -> tuple[Form, dict[str, str], dict[str, np.ndarray]]:
    """The kind, the metadata and the arrays of a model file, which must be of one of the forms given."""
    path = Path(path)
    packed = _packed(path, frozenset().union(*(form.allowed for form in forms)))
    form = next((form for form in forms if form.holds(packed.metadata)), None)
    if form is None:
        raise ModelFileError(f"{path} is a safetensors file but not a planted model of the kind wanted")
    strange = next((name for name in packed.arrays if name not in form.allowed), None)
    missing = next((name for name in sorted(form.needed) if name not in packed.arrays), None)
    if strange is not None or missing is not None:
        what = f"no array {missing!r}" if strange is None else f"an array {strange!r} that does not belong there"
        raise ModelFileError(f"{path} is not a valid planted model: it has {what}")
    if any(array.dtype != np.float64 for array in packed.arrays.values()):
        raise ModelFileError(f"{path} is not a valid planted model: its arrays are not of float64")
    if not packed.checked:
        if packed.metadata["format"].endswith("-2"):
            raise ModelFileError(f"{path} has lost its checksum: it was damaged or changed")
        warnings.warn(f"{path} has no checksum, as files of version 0.1: save it again to have one", stacklevel=4)
    return form, packed.metadata, packed.arrays


def _packed(path: Path, allowed: Collection[str]) -> Packed:
    try:
        check_source(path, "model")
        with path.open("rb") as file:
            return read_packed(file, path.stat().st_size, allowed)
    except TensorError as error:
        raise ModelFileError(f"{path} is not a planted model, or it is damaged: {error}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from None
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is") from None
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def stored_activation(metadata: Mapping[str, str]) -> Activation:
    """The activation that :func:`write_model` noted.

    >>> stored_activation({"activation": "relu", "parameters": "{}"}).name
    'relu'
    """
    try:
        parameters = json.loads(metadata["parameters"])
    except RecursionError:
        parameters = None
    plain = isinstance(parameters, dict) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        for value in parameters.values()
    )
    if not plain:
        raise ValueError("the activation's parameters are no numbers")
    if metadata["activation"] not in names.ACTIVATIONS:
        raise ValueError(names.unknown("activation", metadata["activation"], names.ACTIVATIONS))
    return activations.get(metadata["activation"], **parameters)


def stored_about(metadata: Mapping[str, str]) -> dict[str, Any]:
    """What a model file says it belongs to.

    >>> stored_about({"about": '{"data": "00ff"}'})
    {'data': '00ff'}
    """
    about = json.loads(metadata.get("about", "{}"))
    if not isinstance(about, dict):
        raise ValueError("what the network belongs to is no mapping")
    return about | ({"version": metadata["planted"]} if "planted" in metadata else {})
