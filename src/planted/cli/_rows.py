"""Rows for a model that is there already: its columns matched by name, or patches cut as they were fitted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planted.cli._common import names_in, read_rows, source_of
from planted.cli._patches import check_patch, read_patches


@dataclass(frozen=True)
class Given:
    """Rows of a table as a model takes them: inputs, targets or None, names of the inputs, and how they were read."""

    X: Any
    y: Any
    names: list[str]
    words: str


@dataclass(frozen=True)
class Request:
    """What a caller says of a table for a model: file, target, columns by place, patch, and whether it has a header."""

    data: Path
    target: str | None = None
    features: str | None = None
    patch: str | None = None
    header: bool | None = None

    def rows(self, model: Any) -> Given:
        """The rows.

        Columns are matched by the names that the model keeps, in any order; with `features` given, or for a model of
        an earlier version that keeps none, they are taken as they stand.

        Parameters
        ----------
        model : planted.estimators.SavedModel
        """
        from planted.networks import ConvNetwork

        network, signature = model.network, model.signature
        if isinstance(network, ConvNetwork) or (signature is not None and signature.patch is not None):
            return self._patches(network, signature)
        check_patch(self.patch, network)
        if self.features is None and model.encoding is not None:
            targets = [] if self.target is None else names_in(self.target)
            table = model.table(source_of(self.data), targets, self.header)
            return Given(table.X, table.y, table.names, table.words)
        X, y, names = read_rows(self.data, self.target, self.features)
        if X.shape[1] != network.n_features:
            raise ValueError(
                f"{self.data} has {X.shape[1]} input columns but the network takes {network.n_features}; "
                "name them with --features, or the column to leave out with --target"
            )
        return Given(X, y, names, "")

    def _patches(self, network: Any, signature: Any) -> Given:
        n_patches = getattr(network, "n_patches", None)
        patch = self.patch
        if signature is not None and signature.patch is not None:
            height, width = signature.patch
            images = hasattr(network, "filter") or height > 1
            if n_patches is None:
                n_patches = network.n_features // (height * width)
            if patch is None and images:
                patch = f"{height}x{width}"
        X, y = read_patches(self.data, self.target, patch, n_patches)
        return Given(X, y, [], "")
