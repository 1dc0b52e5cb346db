"""Named arrays as the bytes of a safetensors file: the same bytes for the same arrays, with a checksum over all.

The layout is that of safetensors (eight bytes with the length of a JSON header, the header, the numbers), and its own
library reads it. The library's writer puts the header in no fixed order, and its reader takes a damaged file for
another one, so both are written here: names sorted, numbers in the order of the names, and a SHA-256 in the metadata
over the header without it and the numbers. Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

CHECKSUM = "sha256"
_HEADER_BYTES = 2**23
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {np.dtype(code).str: name for name, code in _DTYPES.items()}


class TensorError(ValueError):
    """Bytes are no file of named arrays, or a damaged one; the message says what is wrong with them."""


@dataclass(frozen=True)
class Packed:
    """What a file holds: metadata without the checksum, arrays by name, and whether it has a checksum."""

    metadata: dict[str, str]
    arrays: dict[str, np.ndarray]
    checked: bool


def pack(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file with these arrays and texts.

    >>> pack({"a": np.ones(2), "b": np.zeros(1)}, {}) == pack({"b": np.zeros(1), "a": np.ones(2)}, {})
    True
    >>> unpack(pack({"a": np.ones(2)}, {"format": "x"})).metadata
    {'format': 'x'}
    """
    # `np.ascontiguousarray` would turn numbers into arrays of length one.
    plain = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    numbers = b"".join(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in plain.values())
    entries: dict[str, Any] = {}
    begin = 0
    for name, array in plain.items():
        code = _NAMES.get(array.dtype.newbyteorder("<").str)
        if code is None:
            raise TypeError(f"array {name!r} holds {array.dtype}, which a file cannot hold")
        entries[name] = {"data_offsets": [begin, begin + array.nbytes], "dtype": code, "shape": list(array.shape)}
        begin += array.nbytes
    texts = {name: str(text) for name, text in metadata.items()}
    digest = hashlib.sha256(_header(entries, texts) + numbers).hexdigest()
    header = _header(entries, texts | {CHECKSUM: digest})
    if len(header) > _HEADER_BYTES:
        raise TensorError(f"names and metadata take more than {_HEADER_BYTES // 2**20} MB: that is not written")
    return len(header).to_bytes(8, "little") + header + numbers


def _header(entries: dict[str, Any], metadata: dict[str, str]) -> bytes:
    text = json.dumps({"__metadata__": metadata, **entries}, sort_keys=True, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def unpack(content: bytes, names: Collection[str] | None = None) -> Packed:
    """What bytes made by :func:`pack`, or by safetensors, hold; see :func:`read_packed`.

    >>> unpack(pack({"a": np.ones(2)}, {})[:-1])
    Traceback (most recent call last):
    planted.numerics.tensors.TensorError: its arrays take 16 bytes, but 15 are there
    """
    import io

    return read_packed(io.BytesIO(content), len(content), names)


def read_packed(file: BinaryIO, size: int, names: Collection[str] | None = None) -> Packed:
    """Metadata and arrays of an open file of `size` bytes, whose header is checked before any array is read.

    Parameters
    ----------
    file : binary file
    size : int
        Its length in bytes.
    names : collection of str, optional
        Arrays that may be there: another one is refused unread.

    Returns
    -------
    Packed
        `checked` is false for a file that has no checksum; one that does not fit is a :class:`TensorError`.
    """
    length = int.from_bytes(file.read(8), "little")
    if size < 10 or not 2 <= length <= min(_HEADER_BYTES, size - 8):
        raise TensorError("it does not begin with a header")
    raw = file.read(length)
    header = _parsed(raw)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise TensorError("its metadata are not texts")
    spans = sorted((*_span(name, entry), name) for name, entry in header.items())
    unwanted = next((name for name in header if names is not None and name not in names), None)
    if unwanted is not None:
        raise TensorError(f"it holds an array {unwanted[:40]!r} that does not belong there")
    end = 0
    for begin, stop, name in spans:
        if begin != end:
            raise TensorError(f"array {name[:40]!r} is not where it should be")
        end = stop
    if end != size - 8 - length:
        raise TensorError(f"its arrays take {end} bytes, but {size - 8 - length} are there")
    arrays = {
        name: np.frombuffer(file.read(stop - begin), _DTYPES[header[name]["dtype"]]).reshape(header[name]["shape"])
        for begin, stop, name in spans
    }
    checked = CHECKSUM in metadata
    texts = {name: text for name, text in metadata.items() if name != CHECKSUM}
    if checked and pack(arrays, texts)[8 : 8 + length] != raw:
        raise TensorError("its checksum does not fit: it was damaged or changed")
    return Packed(texts, arrays, checked)


def _parsed(raw: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        header = json.loads(raw.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise TensorError("its header cannot be read")
    return header


def _span(name: str, entry: Any) -> tuple[int, int]:
    """First and last byte of an array, whose shape must take as many."""
    try:
        (begin, end), shape, item = entry["data_offsets"], entry["shape"], np.dtype(_DTYPES[entry["dtype"]]).itemsize
        counts = [begin, end, *shape]
        fits = all(type(count) is int and 0 <= count < 2**62 for count in counts)
        fits = fits and len(entry) == 3 and len(shape) <= 32 and math.prod(shape) * item == end - begin
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise TensorError(f"the header's words on array {name[:40]!r} do not fit together")
    return begin, end
