"""What a kind of network says of itself: nobody else asks which kind it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.networks._format import Form, ModelFileError, read_model, stored_about, stored_activation, write_model
from planted.networks._signature import Signature, stored_signature

INACTIVE = 1e-12
"""A slope below which a neuron is silent."""
AT_KINK = 1e-9
"""The distance from a kink, relative to the terms of the pre-activation, at which rounding decides the side."""
KINDS: dict[str, type[Kind]] = {}
"""Kinds of networks by the name of their model files."""


class Kind(ABC):
    """A network of some kind, built from arrays by name and an activation.

    Attributes
    ----------
    form : Form
        Its model files; a class that has one is found by :func:`load_model`.
    activation : Activation
        φ.
    """

    form: ClassVar[Form]
    activation: Activation

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        KINDS[cls.form.name] = cls

    @abstractmethod
    def __init__(self, *, activation: Any, **arrays: ArrayLike) -> None: ...

    @abstractmethod
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,), or (n, m) for m outputs, at rows X."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters by name."""

    @abstractmethod
    def canonical(self) -> Self:
        """The same function without free choices."""

    @abstractmethod
    def rows(self, X: np.ndarray) -> np.ndarray:
        """Rows X, flat or not, in the shape that the network takes."""

    @abstractmethod
    def jacobian(self, X: ArrayLike, *, intercept: bool = False) -> np.ndarray:
        """∂f_o(x_r)/∂θ (n, m, p) at rows X, parameters by sorted name, intercepts among them if asked for."""

    @abstractmethod
    def preactivations(self, X: np.ndarray) -> np.ndarray:
        """What φ is applied to at rows X, (n, k)."""

    @abstractmethod
    def reach(self, X: np.ndarray) -> np.ndarray:
        """Sum (n, k) of the sizes of the terms that add up to the pre-activations at rows X."""

    @abstractmethod
    def terms(self, X: np.ndarray) -> np.ndarray:
        """Sum (n,) or (n, m) of the sizes of the terms that add up to the outputs at rows X."""

    @abstractmethod
    def rounding(self, X: np.ndarray) -> np.ndarray:
        """The same (n,) over all outputs, with what the rounding of pre-activations does to them."""

    def speaking(self, X: np.ndarray) -> np.ndarray:
        """Which rows (n,) say something about the weights: those where some neuron is not silent."""
        return np.any(np.abs(self.activation.derivative(self.preactivations(X))) > INACTIVE, axis=1)

    def save(
        self,
        path: str | PathLike[str],
        about: Mapping[str, Any] | None = None,
        signature: Signature | None = None,
    ) -> Path:
        """Write the network as safetensors with a checksum, the same bytes for the same network; returns the path.

        `about` says what the network belongs to (data, settings), JSON-able; see :func:`planted.networks.model_about`.
        `signature` says what it takes and gives; see :class:`planted.networks.Signature`.

        >>> import tempfile, os
        >>> from planted.networks import Network
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Network([[1.0]], [2.0]).save(os.path.join(folder, "model"))
        ...     Network.load(path).output
        array([2.])
        """
        return write_model(path, self.form, self.activation, self.arrays(), about, signature)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what :meth:`save` wrote; a damaged or changed file is refused. Nothing in it is executed."""
        form, metadata, arrays = _read(path)
        if form is not cls.form:
            raise ModelFileError(
                f"{path} holds a {KINDS[form.name].__name__}, not a {cls.__name__}; planted.load reads both"
            )
        return cls._restored(path, metadata, arrays)

    @classmethod
    def _restored(cls, path: Any, metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> Self:
        try:
            return cls(**arrays, activation=stored_activation(metadata))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is not a valid planted model: {error}") from None


def _read(path: str | PathLike[str]) -> tuple[Form, dict[str, str], dict[str, np.ndarray]]:
    return read_model(path, *(kind.form for kind in KINDS.values()))


def load_model(path: str | PathLike[str]) -> Any:
    """The network of whichever kind that a file holds.

    >>> import tempfile, os
    >>> from planted.networks import ConvNetwork
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_model(ConvNetwork([1.0], [2.0]).save(os.path.join(folder, "model")))
    ConvNetwork(relu filter of 1 over 1 patch)
    """
    form, metadata, arrays = _read(path)
    return KINDS[form.name]._restored(path, metadata, arrays)


def from_arrays(arrays: Mapping[str, np.ndarray], activation: Any) -> Any:
    """The network of whichever kind that has these arrays.

    >>> from_arrays({"filter": np.ones(2), "output": np.ones(3)}, "relu")
    ConvNetwork(relu filter of 2 over 3 patches)
    """
    fitting = (kind for kind in KINDS.values() if kind.form.needed <= arrays.keys() <= kind.form.allowed)
    return next(fitting)(**arrays, activation=activation)


def model_about(path: str | PathLike[str]) -> dict[str, Any]:
    """What the network in a file belongs to: what was given to `save`, and the version that wrote it.

    >>> import tempfile, os
    >>> from planted.networks import Network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Network([[1.0]], [2.0]).save(os.path.join(folder, "model"), about={"data": "a1"})
    ...     model_about(path)["data"]
    'a1'
    """
    try:
        return stored_about(_read(path)[1])
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"{path} is not a valid planted model: {error}") from None


def model_signature(path: str | PathLike[str]) -> Signature | None:
    """What the network in a file takes and gives; None for files of earlier versions and networks saved without.

    >>> import tempfile, os
    >>> from planted.networks import Network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Network([[1.0]], [2.0]).save(os.path.join(folder, "model"), signature=Signature(("age",), ("y",)))
    ...     model_signature(path).inputs
    ('age',)
    """
    try:
        return stored_signature(_read(path)[1])
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"{path} is not a valid planted model: {error}") from None


def grown(array: np.ndarray, name: str, unit: Any) -> np.ndarray:
    """An array of a network by its name for targets that were divided by `unit`, one number or (m,) of them.

    >>> grown(np.ones((2, 3)), "output", np.array([1.0, 5.0]))[:, 0]
    array([1., 5.])
    """
    if name not in ("output", "intercept", "skip"):
        return array
    return np.asarray((array.T * unit).T)
