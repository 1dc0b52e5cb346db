"""Rows for a model that is there already: its columns matched by name, or patches cut as they were fitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from planted.cli._common import names_in, source_of
from planted.cli._patches import check_patch, read_patches
from planted.cli._sources import Columns
from planted.names import count_of


@dataclass(frozen=True)
class Given:
    """Rows of a table as a model takes them.

    Attributes
    ----------
    X, y : arrays (n, d) and (n,) or (n, m), or None where no target is named
        NaN where an input or a target is missing; labels may be text, which is empty there.
    names : list of str
        Of the inputs.
    words : str
        How the table was read.
    lacking : tuple of str
        Input columns with missing values.
    weight : array (n,) or None
        Of each row, where rows are weighted.
    """

    X: Any
    y: Any
    names: list[str]
    words: str
    lacking: tuple[str, ...] = ()
    weight: Any = None

    def complete(self, classes: Any = None) -> Given:
        """The rows that have every input and target, and of labels a class; how many have not goes to standard error.

        >>> import numpy as np
        >>> Given(np.array([[1.0], [np.nan]]), np.array([1.0, 2.0]), ["u"], "", ("u",)).complete().X
        array([[1.]])
        """
        import numpy as np

        from planted.estimators import label_codes

        n = len(self.X)
        whole = given_rows(self.X)
        if classes is not None:
            whole &= label_codes(self.y, classes) >= 0
        elif self.y is not None:
            whole &= np.isfinite(np.asarray(self.y, float).reshape(n, -1)).all(axis=1)
        if whole.all():
            return self
        if not whole.any():
            raise ValueError("every row lacks an input or the target")
        typer.echo(f"planted: {missing_rows(whole, self.lacking, 'or the target')}: they are left out", err=True)
        y, weight = (None if part is None else part[whole] for part in (self.y, self.weight))
        return replace(self, X=self.X[whole], y=y, weight=weight)


def given_rows(X: Any) -> Any:
    """Which rows (n,) of inputs (n, …) have them all.

    >>> import numpy as np
    >>> given_rows(np.array([[1.0, np.nan], [1.0, 2.0]]))
    array([False,  True])
    """
    import numpy as np

    return np.isfinite(X.reshape(len(X), -1)).all(axis=1)


def missing_rows(whole: Any, lacking: tuple[str, ...], otherwise: str = "") -> str:
    """How many rows are not whole, and which columns lack values, in words.

    >>> import numpy as np
    >>> missing_rows(np.array([True, False, False]), ("age", "pay"))
    '2 of 3 rows lack an input (age, pay)'
    """
    shown = f"{', '.join(lacking[:4])}{', …' * (len(lacking) > 4)}"
    what = " ".join(["an input", *[f"({shown})"] * bool(lacking), *[otherwise] * bool(otherwise)])
    return f"{int((~whole).sum()):,} of {len(whole):,} rows lack {what}"


@contextmanager
def taken_as_they_are() -> Iterator[None]:
    """Advice on cells that are no numbers, for a command that has no option which makes numbers of them.

    >>> from planted.rows import MissingError
    >>> with taken_as_they_are():
    ...     raise MissingError("a.csv", "u", 3)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: a.csv: column 'u' has a missing value in row 3; columns that are not matched by
    name hold a number in every row: change the table
    """
    from planted.numerics.reading import DataError

    try:
        yield
    except DataError as error:
        if not any(flag in error.command for flag in ("--categorical", "--missing", "--exclude", "--task")):
            raise
        advice = "columns that are not matched by name hold a number in every row: change the table"
        raise DataError(error.sentence, advice) from None


@dataclass(frozen=True)
class Request:
    """What a caller says of a table for a model.

    Attributes
    ----------
    data : path
    target, features, patch, header, weights
        The options; None where one is not given.
    weighted : bool
        Whether the column of weights that the model knows of the fit stands for one that is not given.
    """

    data: Path
    target: str | None = None
    features: str | None = None
    patch: str | None = None
    header: bool | None = None
    weights: str | None = None
    weighted: bool = True

    def rows(self, model: Any) -> Given:
        """The rows, with weights.

        Columns are matched by the names that the model keeps, in any order; with `features` given, for images and
        arrays, or for a model of an earlier version that keeps none, they are taken as they stand.

        Parameters
        ----------
        model : planted.estimators.SavedModel
        """
        from planted.networks import ConvNetwork

        network, signature = model.network, model.signature
        if isinstance(network, ConvNetwork) or (signature is not None and signature.patch is not None):
            return self._patches(model)
        check_patch(self.patch, network)
        if self.features is None and model.encoding is not None:
            targets = [] if self.target is None else names_in(self.target)
            table = model.table(source_of(self.data), targets, self.header)
            # These are all rows of the file.
            weight = self.weight(model, slice(None))
            return Given(table.X, table.y, table.names, table.words, table.lacking, weight)
        table = self.by_place()
        if table.X.shape[1] != network.n_features:
            given = count_of(table.X.shape[1], "input column")
            raise ValueError(
                f"{self.data} has {given} but the network takes {network.n_features}; "
                "name them with --features, or the column to leave out with --target"
            )
        return Given(table.X, table.y, table.names, "", weight=self.weight(model, table.rows))

    def by_place(self, labels: bool = False) -> Any:
        """The table with its columns as they stand, but for the target and the weights."""
        from planted.datasets import open_table

        targets, columns = (None if text is None else names_in(text) for text in (self.target, self.features))
        left = Columns(weights=self.weights).options(self.data.suffix.lower() == ".npz")["exclude"]
        with taken_as_they_are():
            return open_table(
                source_of(self.data), targets, columns, exclude=left, labels=labels, header=self.header
            )  # fmt: skip

    def weight(self, model: Any, rows: Any) -> Any:
        """Weights of some rows of the file, by the column named or else by that of the fit; None where there are none.

        That the column of the fit is taken, or cannot be, goes to standard error.
        """
        from planted.numerics.reading import DataError

        if self.weights is not None:
            return Columns(header=self.header, weights=self.weights).sample_weight(self.data, rows)["sample_weight"]
        name = "" if model.signature is None or not self.weighted else model.signature.weights
        if not name:
            return None
        there = str(self.data) != "-"
        if there:
            try:
                weight = replace(self, weights=name).weight(model, rows)
            except DataError as error:
                if not any(words in error.sentence for words in ("unknown column", "unknown array")):
                    raise
                there = False
        if not there:
            lacking = "which this table lacks" if str(self.data) != "-" else "which standard input does not give"
            typer.echo(f"planted: the fit had row weights, column {name!r}, {lacking}: rows count alike", err=True)
            return None
        typer.echo(f"planted: rows are weighted by column {name!r}, as in the fit", err=True)
        return weight

    def _patches(self, model: Any) -> Given:
        network, signature = model.network, model.signature
        n_patches = getattr(network, "n_patches", None)
        patch = self.patch
        if signature is not None and signature.patch is not None:
            height, width = signature.patch
            images = hasattr(network, "filter") or height > 1
            if n_patches is None:
                n_patches = network.n_features // (height * width)
            if patch is None and images:
                patch = f"{height}x{width}"
        from planted.datasets import names_images, to_patches

        arrays = self.data.suffix.lower() in (".npz", ".npy") or names_images(self.data)
        if not arrays and self.features is None and patch is None and model.encoding is not None:
            # Flat rows: which entry of a patch a column is depends on its name, not on its place.
            targets = [] if self.target is None else names_in(self.target)
            table = model.table(source_of(self.data), targets, self.header)
            X, weight = to_patches(table.X, n_patches), self.weight(model, slice(None))
            return Given(X, table.y, table.names, table.words, table.lacking, weight)
        with taken_as_they_are():
            X, y = read_patches(self.data, self.target, patch, n_patches)
        return Given(X, y, [], "", weight=self.weight(model, slice(None)))
