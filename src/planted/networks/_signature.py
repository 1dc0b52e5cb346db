"""What a network takes and gives, beside its numbers: names, task, classes, patch, scales, encoding, versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted import __version__

TASKS = ("regression", "classification")
LINKS = ("identity", "mean", "logit")


@dataclass(frozen=True)
class Signature:
    """What belongs to a network that was fitted to a table.

    Attributes
    ----------
    inputs, targets : tuples of str
        Names of the inputs, in order, and of the outputs.
    task : "regression" or "classification"
    classes : tuple
        Labels in order: numbers, truth values or texts.
    link : "identity", "mean" or "logit"
        What the network gives: values, the probability of the second class, or log-odds.
    patch : (int, int) or None
        Height and width of the patches that images are cut into; for several filters on rows that are no images
        (1, size).
    mean, scale : tuples of float
        Mean and standard deviation of each input in the rows of the fit.
    encoding : dict
        How columns of a table became inputs, as :meth:`planted.rows.Encoding.as_dict` has it; empty if unknown.
    weights : str
        Column of the table that the rows' weights came from; empty if unknown, or if rows counted alike.
    units : tuple of float
        What each of several targets was divided by in the loss that the network makes least; empty if unknown, or for
        one target.
    versions : dict
        Of planted, Python and NumPy, when the network was fitted.

    Examples
    --------
    >>> sign = Signature(("age", "pay"), ("y",))
    >>> Signature.from_json(sign.to_json()) == sign
    True
    """

    inputs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    task: str = "regression"
    classes: tuple[Any, ...] = ()
    link: str = "identity"
    patch: tuple[int, int] | None = None
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    encoding: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    weights: str = ""
    units: tuple[float, ...] = ()

    def to_json(self) -> str:
        """The signature as text, the same for the same signature."""
        stored = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(stored, sort_keys=True, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Signature:
        """What :meth:`to_json` wrote; a ValueError if it is something else."""
        try:
            stored = json.loads(text)
            if not isinstance(stored, dict):
                raise TypeError
            patch = stored["patch"]
            made = cls(
                inputs=_texts(stored["inputs"]),
                targets=_texts(stored["targets"]),
                task=str(stored["task"]),
                classes=tuple(stored["classes"]),
                link=str(stored["link"]),
                patch=None if patch is None else (int(patch[0]), int(patch[1])),
                mean=tuple(float(value) for value in stored["mean"]),
                scale=tuple(float(value) for value in stored["scale"]),
                encoding=dict(stored["encoding"]),
                versions={str(name): str(value) for name, value in stored["versions"].items()},
                # Earlier versions did not keep these.
                weights=str(stored.get("weights", "")),
                units=tuple(float(value) for value in stored.get("units", ())),
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
            raise ValueError("what is said of its inputs and targets is damaged") from None
        plain = all(isinstance(label, (str, int, float, bool)) for label in made.classes)
        measured = all(np.isfinite(unit) and unit > 0 for unit in made.units)
        if made.task not in TASKS or made.link not in LINKS or not plain or not measured:
            raise ValueError("what is said of its inputs and targets is damaged")
        return made

    def label_array(self) -> np.ndarray:
        """The classes as an array, to be indexed by their number."""
        return np.array(list(self.classes))


def versions() -> dict[str, str]:
    """Versions that a fit was made with.

    >>> sorted(versions())
    ['numpy', 'planted', 'python']
    """
    return {"planted": __version__, "python": platform.python_version(), "numpy": np.__version__}


def stored_signature(metadata: Mapping[str, str]) -> Signature | None:
    """The signature in a model file's metadata, None if it has none.

    >>> stored_signature({}) is None
    True
    """
    return Signature.from_json(metadata["signature"]) if "signature" in metadata else None


def _texts(values: Any) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise TypeError
    return tuple(values)
