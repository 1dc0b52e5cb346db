"""Models in files: a network with its signature, ready to predict from tables by the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import is_classifier

from planted.datasets import Table, read_inputs
from planted.networks import ConvNetwork, Network, Signature, load_model, model_signature, versions
from planted.numerics.reading import shortened
from planted.rows import Encoding, is_frame


def signature_of(estimator: Any, **known: Any) -> Signature:
    """The signature of a fitted estimator; `known` are fields that a caller knows better.

    >>> from planted import PlantedRegressor, datasets
    >>> data = datasets.make_planted(200, 2, 1, random_state=0)
    >>> est = PlantedRegressor(1, random_state=0).fit(data.X, data.y, names=["age", "pay"])
    >>> signature_of(est, targets=("y",)).inputs
    ('age', 'pay')
    """
    network, shown = estimator.network_, estimator.evidence_
    n_inputs = int(np.prod(estimator.n_features_in_))
    names = tuple(getattr(estimator, "input_names_", ()))
    if len(names) != n_inputs:
        names = tuple(f"x{i}" for i in range(n_inputs))
    labels = is_classifier(estimator)
    encoding = known.pop("encoding", None) or getattr(estimator, "encoding_", None) or Encoding(names)
    shape = getattr(estimator, "patch_shape", None)
    patches = getattr(estimator, "n_patches_", None)
    patch = None if shape is None else (int(shape[0]), int(shape[1]))
    if patches is not None and patch is None and isinstance(network, Network):
        # Several filters make a dense network, which does not know its patches.
        patch = (1, n_inputs // patches)
    made = Signature(
        inputs=names,
        targets=tuple(getattr(estimator, "target_names_", ())) or _default_targets(network),
        task="classification" if labels else "regression",
        classes=tuple(estimator.classes_.tolist()) if labels else (),
        link=estimator.link_ if labels else "identity",
        patch=patch,
        mean=tuple(shown.mean.tolist()),
        scale=tuple(shown.scale.tolist()),
        encoding=encoding.as_dict(),
        versions=versions(),
        units=() if estimator.result_.units is None else tuple(estimator.result_.units.tolist()),
    )
    return replace(made, **{name: value for name, value in known.items() if value})


def _few(names: tuple[str, ...]) -> str:
    """Up to four names, and how many more there are.

    >>> _few(("a", "b")), _few(tuple("abcdef"))
    ('a, b', 'a, b, c, d and 2 more')
    """
    shown = ", ".join(shortened(name, 24) for name in names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def _default_targets(network: Any) -> tuple[str, ...]:
    m = getattr(network, "n_outputs", 1)
    return ("y",) if m == 1 else tuple(f"y{i}" for i in range(m))


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A network from a file, with what it takes and gives.

    Attributes
    ----------
    network : Network or ConvNetwork
    signature : Signature or None
        None for a network that was saved without one, as by earlier versions: its inputs are known by their places.

    Examples
    --------
    >>> import tempfile
    >>> from planted import PlantedRegressor, datasets, load
    >>> data = datasets.make_planted(200, 2, 1, random_state=0)
    >>> est = PlantedRegressor(1, random_state=0).fit(data.X, data.y, names=["age", "pay"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = load(est.save(f"{folder}/model"))
    >>> import polars as pl
    >>> rows = pl.DataFrame({"pay": data.X[:3, 1], "other": [7, 8, 9], "age": data.X[:3, 0]})
    >>> bool(np.allclose(model.predict(rows), est.predict(data.X[:3])))
    True
    """

    network: Network | ConvNetwork
    signature: Signature | None

    def __repr__(self) -> str:
        of = "" if self.signature is None else f" of {_few(self.signature.targets)} from {_few(self.signature.inputs)}"
        return f"{type(self).__name__}({self.network!r}{of})"

    @property
    def labels(self) -> bool:
        """Whether the model gives classes."""
        return self.signature is not None and self.signature.task == "classification"

    @property
    def encoding(self) -> Encoding | None:
        """How columns of a table become inputs."""
        if self.signature is None or not self.signature.encoding:
            return None
        return Encoding.from_dict(self.signature.encoding)

    @property
    def output_names(self) -> list[str]:
        """What each output of the network is: a target, or of labels a probability or log-odds; none if unknown.

        >>> sign = Signature(("u",), ("kind",), "classification", ("no", "yes"), "logit")
        >>> SavedModel(Network([[1.0]], [2.0]), sign).output_names
        ['log-odds of yes']
        """
        sign = self.signature
        if sign is None:
            return []
        if not self.labels:
            return list(sign.targets)
        what = "probability" if sign.link == "mean" else "log-odds"
        return [f"{what} of {name}" for name in sign.classes[-getattr(self.network, "n_outputs", 1) :]]

    def table(self, source: Any, target: Any = (), header: bool | None = None) -> Table:
        """The rows of a table (a path, a binary file, or a DataFrame), its columns matched by name."""
        encoding = self.encoding
        if encoding is None:
            raise ValueError("this model does not say which columns it takes: give an array")
        return read_inputs(source, encoding, target, header)

    def _inputs(self, X: Any) -> np.ndarray:
        if is_frame(X) or isinstance(X, (str, PathLike)):
            return self.table(X).X
        return np.asarray(X, dtype=np.float64)

    def values(self, X: Any) -> np.ndarray:
        """What the network gives (n,) or (n, m); NaN for rows with a missing input where such rows were dropped."""
        inputs = self._inputs(X)
        flat = inputs.reshape(len(inputs), -1) if isinstance(self.network, Network) else inputs
        whole = np.isfinite(flat.reshape(len(flat), -1)).all(axis=1)
        if whole.all():
            return self.network.predict(flat)
        made = self.network.predict(flat[whole]) if whole.any() else np.zeros((0, *np.shape(self.network.output)[:-1]))
        result = np.full((len(flat), *made.shape[1:]), np.nan)
        result[whole] = made
        return result

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, m) of the classes."""
        if self.signature is None or not self.labels:
            raise ValueError("this model gives values, not classes")
        return probabilities(self.values(X), self.signature.link)

    def predict(self, X: ArrayLike | Any) -> np.ndarray:
        """Values (n,) or (n, m), or for labels the most probable class of each row."""
        if self.signature is None or not self.labels:
            return self.values(X)
        return self.signature.label_array()[np.argmax(self.predict_proba(X), axis=1)]


def probabilities(values: np.ndarray, link: str) -> np.ndarray:
    """Probabilities (n, m) of classes from what a network gives.

    Parameters
    ----------
    values : array (n,) or (n, m)
    link : "mean" or "logit"
        Whether values are the probability of the second class, or log-odds (of the second class, or of each).

    Examples
    --------
    >>> probabilities(np.array([0.25]), "mean")
    array([[0.75, 0.25]])
    """
    if link == "mean":
        return np.column_stack([1 - values, values])
    if values.ndim == 1:
        return np.column_stack([expit(-values), expit(values)])
    return softmax(values, axis=1)


def load(path: str | PathLike[str]) -> SavedModel:
    """The model in a file that `save` of an estimator, `planted fit --out`, or a network's `save` wrote.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(Network([[1.0]], [2.0]).save(f"{folder}/model")).predict([[3.0]])
    array([6.])
    """
    return SavedModel(load_model(path), model_signature(path))
