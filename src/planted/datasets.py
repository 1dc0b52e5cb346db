"""Planted data with a known teacher, and data read from files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from planted import activations
from planted import inputs as input_laws
from planted.conv_datasets import make_planted_conv
from planted.names import unknown
from planted.networks import Network
from planted.precision import float64
from planted.seeding import key_from
from planted.teachers import OUTPUTS, WEIGHTS, teacher_output, teacher_weights
from planted.validation import as_matrix, as_rows, count, non_negative

INPUTS = ("gaussian", "mixture", "laplace")
TASKS = ("regression", "classification")

__all__ = [
    "INPUTS",
    "OUTPUTS",
    "TASKS",
    "WEIGHTS",
    "DataError",
    "make_planted",
    "make_planted_conv",
    "read_arrays",
    "read_table",
    "write_table",
]


class DataError(ValueError):
    """A data file, or something in it, cannot be used; the message says what and where."""


def _input_law(name: str, d: int) -> input_laws.Density:
    match name:
        case "mixture":
            return input_laws.GaussianMixture.symmetric(d)
        case "laplace":
            return input_laws.Laplace(d)
    return input_laws.Gaussian(np.zeros(d))


@float64
def make_planted(
    n_samples: int,
    n_features: int,
    n_hidden: int,
    *,
    activation: Any = "relu",
    weights: Any = "orthogonal",
    output: Any = "ones",
    bias: Any = False,
    inputs: Any = "gaussian",
    noise: float = 0.0,
    task: str = "regression",
    condition_number: float = 3.0,
    random_state: Any = None,
) -> Bunch:
    """Data from a planted network: y = Σ_i output_i φ(weights_i·x + bias_i) + noise·ξ.

    Parameters
    ----------
    n_samples, n_features, n_hidden : int
        n, d and k.
    activation : str, Activation or callable
        φ.
    weights : "orthogonal", "gaussian", "correlated" or array (k, d)
        Rows have unit norm. "gaussian" rows are uniform on the sphere; "correlated" rows have the
        condition number `condition_number`.
    output : "ones", "positive", "mixed" or array (k,)
        "positive" is uniform on [1, 2], "mixed" has random signs besides.
    bias : bool or array (k,)
        True draws biases from N(0, 1/4).
    inputs : "gaussian", "mixture", "laplace" or an object with `sample(n_samples, random_state)`
        Law of x. "mixture" is ½N(m, I) + ½N(−m, I) with m = (1, …, 1); "laplace" has independent entries
        with density ½exp(−|x|).
    noise : float
        Standard deviation of Gaussian noise (regression only).
    task : "regression" or "classification"
        For classification y is 0 or 1 with P(y = 1 | x) = (1/k) Σ_i φ(weights_i·x + bias_i).
    random_state : None, int, RandomState or Generator

    Returns
    -------
    Bunch with X (n, d), y (n,) and teacher (:class:`planted.Network`).

    Examples
    --------
    >>> data = make_planted(100, 5, 3, output="mixed", random_state=0)
    >>> data.X.shape, data.y.shape, data.teacher
    ((100, 5), (100,), Network(3 relu neurons, 5 inputs))
    """
    n, d, k = (
        count(name, value)
        for name, value in (("n_samples", n_samples), ("n_features", n_features), ("n_hidden", n_hidden))
    )
    if task not in TASKS:
        raise ValueError(unknown("task", task, TASKS))
    non_negative("noise", noise)
    if not (np.isfinite(condition_number) and condition_number >= 1):
        raise ValueError(f"condition_number must be at least 1, not {condition_number!r}")
    act = activations.get(activation)
    key = key_from(random_state)
    teacher_key, input_key, noise_key = jax.random.split(key, 3)
    rng = np.random.default_rng(np.asarray(jax.random.bits(teacher_key, (4,), np.uint32)))
    rows = teacher_weights(weights, k, d, condition_number, rng)
    out = teacher_output(output, k, rng)
    biases = (rng.normal(0.0, 0.5, k) if bias else None) if isinstance(bias, bool) else np.asarray(bias, float)
    if task == "classification":
        low, high = act.range
        if low < 0 or high > 1:
            raise ValueError(f"classification needs an activation into [0, 1], such as sigmoid, not {act.name}")
        out = np.full(k, 1.0 / k)
    teacher = Network(rows, out, act, biases)
    if isinstance(inputs, str):
        if inputs not in INPUTS:
            raise ValueError(unknown("inputs", inputs, INPUTS))
        inputs = _input_law(inputs, d)
    seed = int(jax.random.bits(input_key, (), jnp.uint32))
    X = np.asarray(inputs.sample(n, random_state=seed))
    if X.shape != (n, d):
        raise ValueError(f"inputs gave rows of {X.shape[1:]}, expected {d} columns")
    y = teacher.predict(X)
    if task == "classification":
        y = (np.asarray(jax.random.uniform(noise_key, (n,), jnp.float64)) < y).astype(np.int64)
    elif noise:
        y = y + noise * np.asarray(jax.random.normal(noise_key, (n,), jnp.float64))
    return Bunch(X=X, y=y, teacher=teacher)


def _column_to_float(frame: Any, name: str, path: Path) -> np.ndarray:
    import polars as pl

    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        text = column.cast(pl.String, strict=False)
        numbers = text.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & text.is_not_null()).arg_max()
        if bad is not None and numbers[bad] is None and text[bad] is not None:
            raise DataError(f"{path}: column {name!r} holds text, {text[bad]!r} in row {bad + 1}")
        column = numbers
    if column.null_count():
        row = int(column.is_null().arg_max()) + 1
        raise DataError(f"{path}: column {name!r} has a missing value in row {row}")
    values = column.cast(pl.Float64).to_numpy()
    if not np.all(np.isfinite(values)):
        row = int(np.argmax(~np.isfinite(values))) + 1
        raise DataError(f"{path}: column {name!r} has a NaN or infinite value in row {row}")
    return values


def _read_frame(path: Path) -> Any:
    import polars as pl

    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        if path.suffix in {".csv", ".tsv", ".txt"}:
            separator = "\t" if path.suffix == ".tsv" else ","
            return pl.read_csv(path, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {reason}") from None
    raise DataError(f"{path}: unknown kind of file {path.suffix!r}; use .csv, .tsv, .parquet or .npz")


def _npz_arrays(path: Path, target: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """X and the target as they are in the file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception:
        raise DataError(f"{path} cannot be read as npz, or it is damaged") from None
    if "X" not in arrays:
        raise DataError(f"{path} holds no array named X; it has {', '.join(arrays) or 'nothing'}")
    if target is not None and target not in arrays:
        raise DataError(f"{path}: {unknown('array', target, tuple(arrays))}")
    wanted = ["X"] if target is None else ["X", target]
    if not all(np.issubdtype(arrays[name].dtype, np.number) for name in wanted):
        raise DataError(f"{path}: X and the target must be numbers")
    return arrays["X"], None if target is None else arrays[target]


def _read_npz(path: Path, target: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    X, y = _npz_arrays(path, target)
    try:
        return (as_matrix("X", X), None) if y is None else as_rows(X, y)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None


def read_table(
    path: str | PathLike[str], target: str | None = None, features: list[str] | None = None
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Read numbers from a CSV, TSV, Parquet or NPZ file.

    Parameters
    ----------
    path : path
        In an NPZ file the inputs are the array X.
    target : str, optional
        Column (array in an NPZ file) to predict.
    features : list of str, optional
        Input columns; all but the target if omitted.

    Returns
    -------
    X (n, d), y (n,) or None, and the names of the input columns.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.csv")
    ...     _ = open(path, "w").write("u,v,y\\n1,2,3\\n4,5,6\\n")
    ...     read_table(path, target="y")
    (array([[1., 2.],
            [4., 5.]]), array([3., 6.]), ['u', 'v'])
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"no data file at {path}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    if path.suffix == ".npz":
        X, y = _read_npz(path, target)
        return X, y, [f"x{i}" for i in range(X.shape[1])]
    frame = _read_frame(path)
    columns = frame.columns
    for name in [*(features or []), *([target] if target is not None else [])]:
        if name not in columns:
            raise DataError(f"{path}: {unknown('column', name, tuple(columns))}")
    chosen = features if features is not None else [name for name in columns if name != target]
    if target in chosen:
        raise DataError(f"{path}: column {target!r} is both an input and the target")
    if frame.height == 0:
        raise DataError(f"{path} has a header but no rows")
    if not chosen:
        raise DataError(f"{path} has no input columns besides the target")
    X = np.column_stack([_column_to_float(frame, name, path) for name in chosen])
    return X, None if target is None else _column_to_float(frame, target, path), list(chosen)


def read_arrays(path: str | PathLike[str], target: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Patches (n, k, p), images (n, H, W) or (n, H, W, channels) from an NPZ file, or flat rows from any table.

    Returns X and y, or None where no target is named.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "images.npz")
    ...     np.savez(path, X=np.ones((2, 4, 4)), y=np.ones(2))
    ...     read_arrays(path, "y")[0].shape
    (2, 4, 4)
    """
    path = Path(path)
    if path.suffix != ".npz":
        return read_table(path, target)[:2]
    if not path.is_file():
        raise DataError(f"no data file at {path}")
    X, y = _npz_arrays(path, target)
    try:
        if X.ndim not in (2, 3, 4):
            raise ValueError(f"X has {X.ndim} dimensions, not two to four")
        X, y = as_matrix("X", X, X.ndim), None if y is None else as_matrix("the target", y, 1)
        if y is not None and len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows but the target has {len(y)} entries")
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return X, y


def write_table(path: str | PathLike[str], X: ArrayLike, y: ArrayLike | None = None) -> Path:
    """Write inputs as columns x0, x1, … and the target as column y, to CSV or Parquet by the file's ending.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(os.path.join(folder, "data.csv"), [[1.0, 2.0]], [3.0])
    ...     path.read_text().splitlines()
    ['x0,x1,y', '1.0,2.0,3.0']
    """
    import polars as pl

    path = Path(path)
    rows = np.asarray(X, dtype=np.float64)
    columns = {f"x{i}": rows[:, i] for i in range(rows.shape[1])}
    if y is not None:
        columns["y"] = np.asarray(y, dtype=np.float64)
    frame = pl.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        raise DataError(f"{path}: write .csv or .parquet")
    return path
