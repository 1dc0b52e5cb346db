"""One pass over rows that looks at all of them and keeps a random few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.rows._chunks import Arrays, ChunkedRows, row_keys

_SPARE = 6.0


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass has seen.

    Attributes
    ----------
    X, y, weight : arrays (m, …), (m,) and (m,) or None
        A random subsample in random order; all rows in their own order if there are no more than asked for.
    n_rows : int
    total_weight, mean, variance, smallest, largest : float
        Of the targets y of all rows, weighted.
    first, second : arrays (d,), (d, d)
        Means of x and xxᵀ over all rows, inputs flat.
    seed, threshold : int, float
        The subsample is made of rows whose key is below the threshold; see :meth:`ChunkedRows.without`.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    n_rows: int
    total_weight: float
    mean: float
    variance: float
    smallest: float
    largest: float
    first: np.ndarray
    second: np.ndarray
    seed: int
    threshold: float

    @property
    def complete(self) -> bool:
        """Whether the subsample holds every row."""
        return len(self.y) == self.n_rows


def look(arrays: Arrays, start: int, seed: int, threshold: float) -> dict[str, Any]:
    """Sums over a chunk, and its rows whose key is below the threshold.

    >>> look((np.ones((2, 1)), np.ones(2), None), 0, 0, 1.0)["keys"].shape
    (2,)
    """
    x, y, weight = arrays
    bad = next((name for name, a in (("x", x), ("y", y)) if not np.isfinite(np.sum(a, dtype=np.float64))), None)
    if bad is not None:
        whole = np.isfinite(x.reshape(len(y), -1)).all(axis=1) & np.isfinite(y)
        raise ValueError(f"row {start + int(np.argmin(whole)) + 1} has a missing, NaN or infinite value")
    keys = row_keys(seed, start, len(y))
    kept = keys < threshold
    w = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    flat, targets = np.asarray(x.reshape(len(y), -1), np.float64), np.asarray(y, np.float64)
    weighted = flat if weight is None else flat * w[:, None]
    return {
        "x": x[kept],
        "y": y[kept],
        "weight": None if weight is None else w[kept],
        "keys": keys[kept],
        "sums": np.array([w.sum(), w @ targets, w @ targets**2]),
        "ends": np.array([targets.min(), targets.max()]),
        "first": weighted.sum(axis=0),
        "second": weighted.T @ flat,
    }


def survey(rows: ChunkedRows, sample: int, seed: int = 0) -> Survey:
    """Look at all rows once and keep a random `sample` of them.

    A row's key is a random number that belongs to its place, so the same rows are kept however they are stored.
    About `sample` + 6√`sample` rows have keys below the threshold; the smallest keys win. NaN and infinite values
    are refused.

    >>> from planted.rows import block_rows
    >>> X = np.arange(1000.0)[:, None]
    >>> seen = survey(block_rows(X, X[:, 0], chunk_rows=300), 10)
    >>> seen.X.shape, seen.mean, seen.complete
    ((10, 1), 499.5, False)
    """
    n = rows.n_rows
    threshold = 2.0 if n <= sample else min(1.0, (sample + _SPARE * sample**0.5 + 1) / n)
    parts = list(rows.engine.each(rows.chunks, look, seed, threshold))
    keys = np.concatenate([part["keys"] for part in parts])
    order = np.arange(n) if n <= sample else np.argsort(keys, kind="stable")[:sample]

    def kept(name: str) -> np.ndarray:
        return np.asarray(np.concatenate([part[name] for part in parts])[order], np.float64)

    total, first, second = np.sum([part["sums"] for part in parts], axis=0)
    ends = np.stack([part["ends"] for part in parts])
    mean = first / total
    return Survey(
        X=kept("x"),
        y=kept("y"),
        weight=kept("weight") if rows.weighted else None,
        n_rows=n,
        total_weight=float(total),
        mean=float(mean),
        variance=float(max(second / total - mean**2, 0.0)),
        smallest=float(ends[:, 0].min()),
        largest=float(ends[:, 1].max()),
        first=np.sum([part["first"] for part in parts], axis=0) / total,
        second=np.sum([part["second"] for part in parts], axis=0) / total,
        seed=seed,
        threshold=2.0 if n <= sample else float(np.nextafter(keys[order[-1]], 2.0)),
    )
