"""Files for other libraries: one entry a format."""

from __future__ import annotations

import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from planted.names import unknown
from planted.networks._convert import onnx_bytes
from planted.networks._dense import Network
from planted.numerics.files import write_whole


def _torch_bytes(network: Network, dtype: str) -> bytes:
    module = network.to_torch(dtype)
    import torch

    file = io.BytesIO()
    torch.save(module, file)
    return file.getvalue()


def _joblib_bytes(network: Network, dtype: str) -> bytes:
    import joblib

    file = io.BytesIO()
    joblib.dump(network.to_sklearn(), file)
    return file.getvalue()


_CONTENT: dict[str, Callable[[Network, str], bytes]] = {
    "onnx": onnx_bytes,
    "torch": _torch_bytes,
    "sklearn": _joblib_bytes,
}


def export_network(network: Network, path: str | PathLike[str], to: str = "onnx", dtype: str = "float32") -> Path:
    """Write a network for another library, whole or not at all; returns the path.

    Parameters
    ----------
    to : "onnx", "torch" or "sklearn"
        An ONNX file, a module written by torch.save, or an MLPRegressor (without neurons a LinearRegression) written
        by joblib.
    dtype : "float32" or "float64"
        Of the numbers in ONNX and torch files; scikit-learn's are float64.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = export_network(Network([[1.0]], [2.0]), os.path.join(folder, "a.joblib"), "sklearn")
    ...     written.name
    'a.joblib'
    """
    if to not in _CONTENT:
        raise ValueError(unknown("format", to, _CONTENT))
    target = Path(path)
    write_whole(target, _CONTENT[to](network, dtype))
    return target
