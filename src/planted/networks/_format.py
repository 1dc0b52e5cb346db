"""Model files: safetensors with the activation in their metadata; nothing in them is executed."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

import numpy as np

from planted import activations, names
from planted.activations import Activation
from planted.numerics.files import write_whole


class ModelFileError(ValueError):
    """A model file is missing, damaged, or not a model file."""


def write_model(path: str | PathLike[str], form: str, activation: Activation, arrays: dict[str, np.ndarray]) -> Path:
    """Write arrays and an activation of the library as safetensors, whole or not at all; returns the path."""
    from safetensors.numpy import save

    name, parameters = activation.name, dict(activation.parameters)
    if name not in names.ACTIVATIONS or activation != activations.get(name, **parameters):
        raise ValueError(f"activation {name!r} is not one of the library's: not saved")
    path = Path(path)
    metadata = {"format": form, "activation": name, "parameters": json.dumps(parameters)}
    data = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata)
    write_whole(path, data)
    return path


def read_model(path: str | PathLike[str]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Metadata and arrays of a safetensors file; nothing in it is executed."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"no model file at {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError):
        raise ModelFileError(f"{path} is not a planted model, or it is damaged") from None


def stored_activation(metadata: dict[str, str]) -> Activation:
    """The activation that :func:`write_model` noted.

    >>> stored_activation({"activation": "relu", "parameters": "{}"}).name
    'relu'
    """
    return activations.get(metadata["activation"], **json.loads(metadata["parameters"]))
