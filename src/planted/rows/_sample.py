"""One pass over rows that looks at all of them and keeps a random few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planted.numerics.precision import float64
from planted.rows._chunks import Arrays, ChunkedRows, row_keys
from planted.rows._limits import check_columns
from planted.rows._memory import ArrayRows

_SPARE = 6.0
# Share of an input's mean square below which its variance is rounding.
_ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over the rows saw.

    Attributes
    ----------
    X, y, weight : arrays (s, …), (s,) or (s, m), and (s,) or None
        A random subsample in random order; all rows in their own order if there are no more than asked for.
    n_rows : int
    total_weight : float
    mean, smallest, largest : float, or arrays (m,)
        Of the targets y of all rows, weighted.
    variance : float
        Of the targets, weighted; summed over several outputs.
    spread : float, or array (m,)
        Standard deviation of the targets, weighted.
    first, second : arrays (d,), (d, d)
        Means of x and xxᵀ over all rows, inputs flat.
    digest : int
        Of every bit of every row and target, in their order, however they are cut: see :func:`row_digest`.
    seed, threshold : int, float
        The subsample is made of rows whose key is below the threshold; see :meth:`ChunkedRows.without`.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    n_rows: int
    total_weight: float
    mean: Any
    variance: float
    spread: Any
    smallest: Any
    largest: Any
    first: np.ndarray
    second: np.ndarray
    seed: int = 0
    threshold: float = 2.0
    digest: int = 0

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Survey:
        """The survey of rows in memory, whose subsample is complete.

        >>> Survey.of(np.ones((3, 1)), np.array([0.0, 1.0, 2.0])).complete
        True
        """
        flat = X.reshape(len(y), -1)
        mean = np.average(y, axis=0, weights=weight)
        # The mean of equal numbers is off by its rounding.
        variance = np.where(np.ptp(y, axis=0) > 0, np.average((y - mean) ** 2, axis=0, weights=weight), 0.0)
        total = float(len(y)) if weight is None else float(np.sum(weight))
        return cls(
            X=X,
            y=y,
            weight=weight,
            n_rows=len(y),
            total_weight=total,
            mean=mean,
            variance=float(np.sum(variance)),
            spread=np.sqrt(variance),
            smallest=y.min(axis=0),
            largest=y.max(axis=0),
            first=np.average(flat, axis=0, weights=weight),
            second=flat.T @ (flat if weight is None else flat * weight[:, None]) / total,
            digest=row_digest((X, y, weight), 0),
        )

    def part(self, places: Any) -> Survey:
        """The survey of the sample's rows at some places alone.

        >>> Survey.of(np.ones((3, 1)), np.array([0.0, 1.0, 2.0])).part([0, 2]).n_rows
        2
        """
        return Survey.of(self.X[places], self.y[places], None if self.weight is None else self.weight[places])

    def in_target_units(self, unit: np.ndarray) -> Survey:
        """The survey of the same rows with targets divided by units (m,); the digest stays that of the rows as given.

        >>> Survey.of(np.ones((2, 1)), np.array([[0.0, 0.0], [1.0, 6.0]])).in_target_units(np.array([1.0, 3.0])).mean
        array([0.5, 1. ])
        """
        scaled = {name: getattr(self, name) / unit for name in ("y", "mean", "spread", "smallest", "largest")}
        return replace(self, **scaled, variance=float(np.sum(scaled["spread"] ** 2)))

    @property
    def complete(self) -> bool:
        """Whether the subsample holds every row."""
        return len(self.y) == self.n_rows

    @property
    def input_spread(self) -> np.ndarray:
        """Standard deviation (d,) of each input over all rows, zero where rounding hides it.

        >>> Survey.of(np.array([[5.0, 1.0], [5.0, 3.0]]), np.zeros(2)).input_spread
        array([0., 1.])
        """
        square = np.diagonal(self.second)
        variance = square - self.first**2
        return np.sqrt(np.where(variance > _ROUNDED * square, variance, 0.0))

    @property
    def constant(self) -> bool:
        """Whether no target varies."""
        return bool(np.all(self.smallest == self.largest))


@float64
def in_memory(survey: Survey, places: Any = slice(None)) -> ArrayRows:
    """The rows of a survey's sample, or those at some places.

    >>> in_memory(Survey.of(np.ones((3, 2)), np.ones(3))).shape
    (2,)
    """
    parts = (survey.X, survey.y, survey.weight)
    return ArrayRows(*(None if part is None else np.asarray(part, dtype=np.float64)[places] for part in parts))


def _odd(start: int, count: int) -> np.ndarray:
    """Odd numbers (count,) of 64 bits that belong to the places start, start + 1, … and look random."""
    z = (np.arange(start, start + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)


def row_digest(arrays: Arrays, start: int) -> int:
    """Σ_i r_i Σ_j c_j bits(value_ij) modulo 2⁶⁴ over rows from `start` on, r_i and c_j odd numbers of their places.

    Parts of the rows add up to the digest of all, and a change of any one value, or of the order of rows, changes it.

    >>> X, y = np.arange(6.0).reshape(3, 2), np.ones(3)
    >>> whole, first, last = (row_digest((X[a:b], y[a:b], None), a) for a, b in ((0, 3), (0, 1), (1, 3)))
    >>> whole == (first + last) % 2**64, row_digest((X[::-1], y, None), 0) == whole
    (True, False)
    """
    x, y, weight = arrays
    rows, n = np.zeros(len(y), np.uint64), len(y)
    place = 0
    for part in (x, y, weight):
        if part is None:
            continue
        bits = np.ascontiguousarray(part, np.float64).reshape(n, -1).view(np.uint64)
        rows += bits @ _odd(place, bits.shape[1])
        place += bits.shape[1]
    return int(rows @ _odd(start, n))


def look(arrays: Arrays, start: int, seed: int, threshold: float) -> dict[str, Any]:
    """Sums over a chunk, and its rows whose key is below the threshold.

    >>> look((np.ones((2, 1)), np.ones(2), None), 0, 0, 1.0)["keys"].shape
    (2,)
    """
    x, y, weight = arrays
    n = len(y)
    with np.errstate(over="ignore", invalid="ignore"):
        surely = all(np.isfinite(np.sum(array, dtype=np.float64)) for array in (x, y))
    if not surely:
        whole = np.isfinite(x.reshape(n, -1)).all(axis=1) & np.isfinite(y.reshape(n, -1)).all(axis=1)
        if not whole.all():
            raise ValueError(f"row {start + int(np.argmin(whole)) + 1} has a missing, NaN or infinite value")
    keys = row_keys(seed, start, n)
    sampled = keys < threshold
    w = np.ones(n) if weight is None else np.asarray(weight, np.float64)
    flat, targets = np.asarray(x.reshape(n, -1), np.float64), np.asarray(y, np.float64)
    weighted = flat if weight is None else flat * w[:, None]
    # Sums beyond float64 are infinite: whoever asked brings targets to other units, or refuses the inputs.
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = w @ targets, w @ targets**2
        first, second = weighted.sum(axis=0), weighted.T @ flat
    return {
        "x": x[sampled],
        "y": y[sampled],
        "weight": None if weight is None else w[sampled],
        "keys": keys[sampled],
        "total": w.sum(),
        "targets": np.stack([sums, squares]),
        "ends": np.stack([targets.min(axis=0), targets.max(axis=0)]),
        "first": first,
        "second": second,
        "digest": row_digest(arrays, start),
    }


def survey(rows: ChunkedRows, sample: int, seed: int = 0) -> Survey:
    """Look at all rows once and keep a random `sample` of them.

    A row's key is a random number that belongs to its place, so the same rows are kept however they are stored.
    About `sample` + 6√`sample` rows have keys below the threshold; the smallest keys win. NaN and infinite values
    are refused.

    >>> from planted.rows import block_rows
    >>> X = np.arange(1000.0)[:, None]
    >>> looked = survey(block_rows(X, X[:, 0], chunk_rows=300), 10)
    >>> looked.X.shape, float(looked.mean), looked.complete
    ((10, 1), 499.5, False)
    """
    n = rows.n_rows
    check_columns("the table", int(np.prod(rows.row_shape)))
    threshold = 2.0 if n <= sample else min(1.0, (sample + _SPARE * sample**0.5 + 1) / n)
    parts: list[dict[str, Any]] = []
    moments: Any = 0.0
    for part in rows.engine.each(rows.chunks, look, seed, threshold):
        # Columns × columns: added up at once, not kept chunk by chunk.
        with np.errstate(over="ignore", invalid="ignore"):
            moments = moments + part.pop("second")
        parts.append(part)
    keys = np.concatenate([part["keys"] for part in parts])
    order = np.arange(n) if n <= sample else np.argsort(keys, kind="stable")[:sample]

    def sampled(name: str) -> np.ndarray:
        return np.asarray(np.concatenate([part[name] for part in parts])[order], np.float64)

    total = float(np.sum([part["total"] for part in parts]))
    ends = np.stack([part["ends"] for part in parts])
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = np.sum([part["targets"] for part in parts], axis=0)
        mean = first / total
        variance = np.maximum(second / total - mean**2, 0.0)
        variance = np.where(ends[:, 0].min(axis=0) < ends[:, 1].max(axis=0), variance, 0.0)
    return Survey(
        X=sampled("x"),
        y=sampled("y"),
        weight=sampled("weight") if rows.weighted else None,
        n_rows=n,
        total_weight=total,
        mean=mean,
        variance=float(np.sum(variance)),
        spread=np.sqrt(variance),
        smallest=ends[:, 0].min(axis=0),
        largest=ends[:, 1].max(axis=0),
        first=np.sum([part["first"] for part in parts], axis=0) / total,
        second=moments / total,
        digest=sum(part["digest"] for part in parts) % 2**64,
        seed=seed,
        threshold=2.0 if n <= sample else float(np.nextafter(keys[order[-1]], 2.0)),
    )
