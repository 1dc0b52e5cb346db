"""Take golden outputs of seeded fits through the public interface of `planted`, and compare two takes of them.

Usage
-----
    golden.py take OUT.npz [--only SUBSTRING]
    golden.py compare A.npz B.npz [--meant FILE]
    golden.py list

A case is one seeded computation. Its record holds arrays (parameters of the network, loss, standard errors, values of
objectives) and words (status, verdict, kind of certificate, method), or the text of the error it raised. Only public
names are used, so that the script runs before and after modules move and statuses are renamed.

A difference of two arrays is the norm of the difference over the larger norm of the two, or over a floor where that is
larger: a billionth of mean y² for losses and a thousandth of the network for standard errors, since both are rounding
errors where the network explains every row. `compare` wants differences up to 1e-9, the same kinds of certificates and
the same errors; what one take lacks because it did not exist then is named, not held against the other. Where arrays
differ by more it adds the weight error of `planted.match`, which ignores order, sign and scale. Statuses and verdicts
may be renamed: they are printed as old → new, and an old word that becomes two new ones is pointed out. The exit status
is 1 if a case differs, or is missing in a second take made without `--only`, and does not stand in the file of
`--meant` (a name a line).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-9
LOSS_FLOOR, ERROR_FLOOR = 1e-9, 1e-3
_Z = 1.959963984540054  # of intervals at level 0.95
_ABOUT = "about"
_RENAMED = ("status", "verdict")


@dataclass
class Record:
    """What a case gave.

    Attributes
    ----------
    arrays : dict
        By name.
    floors : dict
        Size below which an array counts as rounding, for the arrays that have one.
    words : dict
        Status and the like, or "error".
    seconds : float
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


CASES: dict[str, Callable[[], Record]] = {}


# ------------------------------------------------------------------------------------------------------ what is kept


def size_of(array: Any) -> float:
    """Norm of the finite entries."""
    values = np.asarray(array, dtype=np.float64)
    return float(np.linalg.norm(values[np.isfinite(values)]))


def fitted(estimator: Any, y: Any) -> Record:
    """Everything that is kept of a fitted estimator of any kind, y being its targets."""
    network, result = estimator.network_, estimator.result_
    record = Record()
    for name in ("weights", "filter", "output", "bias", "intercept"):
        value = getattr(network, name, None)
        if value is not None:
            record.arrays[name] = np.asarray(value, dtype=np.float64)
    record.arrays["loss"] = np.asarray(result.loss, dtype=np.float64)
    record.floors["loss"] = LOSS_FLOOR * float(np.mean(np.asarray(y, dtype=np.float64) ** 2))
    if hasattr(estimator, "filter_"):
        record.arrays["filter_"] = np.asarray(estimator.filter_)
    for width, loss in sorted(getattr(estimator, "width_losses_", {}).items()):
        record.arrays[f"loss of width {width}"] = np.asarray(loss, dtype=np.float64)
        record.floors[f"loss of width {width}"] = LOSS_FLOOR
    for name, error in standard_errors(estimator).items():
        record.arrays[f"error of {name}"] = error
        # Norms of canonical parameters are of the order of one.
        record.floors[f"error of {name}"] = ERROR_FLOOR
    record.words["status"] = str(result.status)
    record.words["activation"] = str(network.activation.name)
    for name, owner, attribute in (("verdict", "verdict_", "kind"), ("certificate", "certificate_", "kind")):
        value = getattr(getattr(estimator, owner, None), attribute, None)
        if value is not None:
            record.words[name] = str(value)
    if hasattr(estimator, "method_"):
        record.words["method"] = str(estimator.method_)
    return record


def standard_errors(estimator: Any) -> dict[str, np.ndarray]:
    """Standard errors by parameter, read off the intervals; nothing for an estimator or a fit without them."""
    if not hasattr(estimator, "confidence_intervals"):
        return {}
    try:
        ends = estimator.confidence_intervals(0.95)
    except (AttributeError, ValueError):
        return {}
    return {name: (np.asarray(both)[1] - np.asarray(both)[0]) / (2 * _Z) for name, both in ends.items()}


# ------------------------------------------------------------------------------------------------------- where from


@contextmanager
def source(kind: str, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Iterator[tuple[Any, ...]]:
    """The first arguments of `fit` for the same rows from another place: arrays, chunks, files or a cluster."""
    from planted import datasets, rows

    if kind == "arrays":
        yield X, y
    elif kind == "chunks":
        yield (rows.block_rows(X, y, weight, chunk_rows=700),)
    elif kind == "dask":
        import dask.array

        engine = rows.dask_engine(workers=2)
        try:
            yield (
                rows.dask_rows(
                    dask.array.from_array(X, (700, -1)), dask.array.from_array(y, 700), client=engine.client
                ),
            )
        finally:
            engine.close()
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if kind == "parquet":
                half = len(y) // 2
                datasets.write_table(folder / "a.parquet", X[:half], y[:half])
                datasets.write_table(folder / "b.parquet", X[half:], y[half:])
                yield (str(folder),)
            elif kind == "csv":
                yield (rows.file_rows(datasets.write_table(folder / "rows.csv", X, y), chunk_rows=700),)
            else:
                np.save(folder / "rows.npy", np.column_stack([X, y]).astype(kind.removeprefix("npy ")))
                yield (rows.file_rows(folder / "rows.npy", chunk_rows=700),)


def case(name: str, estimator: Callable[[], Any], data: Callable[[], Any], **options: Any) -> None:
    """Enter a fit into the table of cases.

    Parameters
    ----------
    name : str
        "what/where from/details": the second part is where the rows come from, see :func:`source`.
    estimator, data : callable
        Make an estimator, and a Bunch with X and y.
    options : dict
        Of `fit`. `weights=True` draws row weights, some of them zero; `prepare` changes X.
    """
    place = name.split("/")[1]

    def run() -> Record:
        rows, given = data(), dict(options)
        X, weight = given.pop("prepare", np.asarray)(rows.X), None
        if given.pop("weights", False):
            weight = np.random.default_rng(7).integers(0, 4, len(X)).astype(np.float64)
            if place == "arrays":
                given["sample_weight"] = weight
        with source(place, X, rows.y, weight) as subject:
            return fitted(estimator().fit(*subject, **given), rows.y)

    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = run


# -------------------------------------------------------------------------------------------------------- the cases


def planted_data(n: int, d: int, k: int, seed: int = 0, shift: float = 0.0, **options: Any) -> Callable[[], Any]:
    """Makes planted data; `shift` is added to every target."""

    def make() -> Any:
        from planted import datasets

        data = datasets.make_planted(n, d, k, random_state=seed, **options)
        data.y = data.y + shift if shift else data.y
        return data

    return make


def conv_data(n: int, patches: int, size: int, seed: int = 0, **options: Any) -> Callable[[], Any]:
    """Makes planted data of a shared filter."""

    def make() -> Any:
        from planted import datasets

        return datasets.make_planted_conv(n, patches, size, random_state=seed, **options)

    return make


def two_filters() -> Any:
    """The sum of two planted filters over the same patches."""
    from planted import datasets

    first = datasets.make_planted_conv(3000, 3, 4, random_state=0)
    second = datasets.make_planted_conv(10, 3, 4, random_state=1).teacher
    first.y = first.y + second.predict(first.X)
    return first


def regressor(*args: Any, **options: Any) -> Callable[[], Any]:
    """Makes a PlantedRegressor with a seed."""

    def make() -> Any:
        from planted import PlantedRegressor

        return PlantedRegressor(*args, **({"random_state": 0} | options))

    return make


def classifier(*args: Any, **options: Any) -> Callable[[], Any]:
    """Makes a PlantedClassifier with a seed."""

    def make() -> Any:
        from planted import PlantedClassifier

        return PlantedClassifier(*args, **({"activation": "sigmoid", "random_state": 0} | options))

    return make


def conv(**options: Any) -> Callable[[], Any]:
    """Makes a PlantedConvRegressor with a seed."""

    def make() -> Any:
        from planted import PlantedConvRegressor

        return PlantedConvRegressor(**({"random_state": 0} | options))

    return make


def logistic_data() -> Any:
    """Planted data with logistic inputs."""
    from planted import datasets, inputs

    return datasets.make_planted(10_000, 4, 3, inputs=inputs.Logistic(4), random_state=1)


def regression_cases() -> None:
    """Every method from arrays, with what changes its course; then the same from elsewhere."""
    mixed = planted_data(2000, 5, 3, output="mixed")
    noisy = planted_data(4000, 4, 3, 1, output="mixed", noise=0.2)
    tanh = planted_data(3000, 4, 2, 2, activation="tanh", weights="gaussian", output="positive", bias=True, noise=0.05)
    positive = planted_data(8000, 5, 4, 3, weights="correlated", output="positive")
    positive_noisy = planted_data(8000, 4, 3, 4, weights="correlated", output="positive", noise=0.1)
    softplus = planted_data(4000, 4, 2, 5, activation="softplus", output="positive", shift=1.5)
    sigmoid = planted_data(5000, 4, 2, 6, activation="sigmoid", weights=3 * np.eye(2, 4), output="positive", noise=0.01)
    quadratic = planted_data(2000, 5, 2, 7, activation="quadratic", output="positive")

    case("auto/arrays/relu", regressor(3), mixed)
    case("auto/arrays/relu noise", regressor(3), noisy)
    case("auto/arrays/tanh bias intercept noise", regressor(2, "tanh", fit_bias=True, fit_intercept=True), tanh)
    case("auto/arrays/softplus intercept", regressor(2, "softplus", fit_intercept=True), softplus)
    case("auto/arrays/sigmoid noise", regressor(2, "sigmoid"), sigmoid)
    case("auto/arrays/relu noise weights", regressor(3), noisy, weights=True)
    case("auto/arrays/width", regressor("auto"), planted_data(1500, 4, 2, 8))
    case("auto/arrays/width noise bias", regressor("auto", "tanh", fit_bias=True), tanh)
    case("auto/arrays/wrong activation", regressor(2, "abs"), planted_data(1500, 3, 2, 9, activation="tanh"))
    case("expand/arrays/relu", regressor(3, method="expand"), mixed)
    case("expand/arrays/relu noise weights", regressor(3, method="expand"), noisy, weights=True)
    case("expand/arrays/tanh bias", regressor(2, "tanh", "expand", fit_bias=True), tanh)
    case("expand/arrays/relu wide intercept", regressor(4, method="expand", fit_intercept=True), mixed)
    case("landscape/arrays/relu", regressor(4, method="landscape"), positive)
    case("landscape/arrays/relu noise", regressor(3, method="landscape"), positive_noisy)
    case("landscape/arrays/relu mixed", regressor(3, method="landscape"), mixed)
    case("landscape/arrays/relu weights", regressor(3, method="landscape"), positive_noisy, weights=True)
    case("landscape/arrays/softplus intercept", regressor(2, "softplus", "landscape", fit_intercept=True), softplus)
    case("hermite/arrays/relu", regressor(4, method="hermite"), positive)
    case("score/arrays/relu", regressor(3, method="score", inputs="gaussian"), positive_noisy)
    case("score/arrays/relu logistic", regressor(3, method="score", inputs="logistic"), logistic_data)
    case("tensor/arrays/relu noise", regressor(3, method="tensor"), positive_noisy)
    case("tensor/arrays/sigmoid noise", regressor(2, "sigmoid", "tensor"), sigmoid)
    case("quadratic/arrays/exact", regressor(2, "quadratic", "quadratic"), quadratic)
    case("quadratic/arrays/wide", regressor(6, "quadratic", "quadratic"), quadratic)
    case("squared/arrays/relu", regressor(3, method="squared"), mixed)
    case(
        "squared/arrays/tanh bias intercept noise",
        regressor(2, "tanh", "squared", "auto", True, fit_intercept=True),
        tanh,
    )
    case("squared/arrays/relu noise weights", regressor(3, method="squared"), noisy, weights=True)

    some = {"sample_rows": 1500}
    case("auto/chunks/relu noise", regressor(3), noisy, **some)
    case("auto/chunks/tanh bias intercept noise", regressor(2, "tanh", fit_bias=True, fit_intercept=True), tanh)
    case("auto/chunks/width", regressor("auto"), planted_data(1500, 4, 2, 8))
    case("auto/chunks/relu noise weights", regressor(3), noisy, weights=True, **some)
    case("expand/chunks/relu", regressor(3, method="expand"), mixed)
    case("landscape/chunks/relu noise", regressor(3, method="landscape"), positive_noisy, **some)
    case("landscape/chunks/relu mixed", regressor(3, method="landscape"), mixed, sample_rows=1000)
    case("squared/chunks/relu noise", regressor(3, method="squared"), noisy, **some)
    case("tensor/chunks/relu noise", regressor(3, method="tensor"), positive_noisy)
    case("hermite/chunks/relu", regressor(4, method="hermite"), positive)
    case("auto/parquet/relu noise", regressor(3), noisy, **some)
    case("squared/csv/relu noise", regressor(3, method="squared"), noisy, **some)
    case("expand/npy float64/relu", regressor(3, method="expand"), mixed)
    case("landscape/npy float64/relu noise", regressor(3, method="landscape"), positive_noisy)
    case("auto/npy float32/tanh bias noise", regressor(2, "tanh", fit_bias=True), tanh, **some)
    case("auto/dask/relu noise", regressor(3), noisy, **some)


def label_cases() -> None:
    """The classifier."""
    weights = [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    options: dict[str, Any] = {"activation": "sigmoid", "weights": weights, "task": "classification"}
    labels = planted_data(8000, 3, 2, **options)
    biased = planted_data(8000, 3, 2, bias=np.array([0.5, -0.5]), **options)
    case("labels/arrays/sigmoid", classifier(2), labels)
    case("labels/arrays/sigmoid bias", classifier(2, fit_bias=True), biased)
    two = planted_data(4000, 2, 2, **(options | {"weights": 4 * np.eye(2)}))
    case("labels/arrays/width", classifier("auto"), two)
    case("labels/chunks/sigmoid", classifier(2), labels)
    case("labels/chunks/sigmoid bias", classifier(2, fit_bias=True), biased, sample_rows=2000)


def conv_cases() -> None:
    """The shared filter."""

    def as_images(patches: np.ndarray) -> np.ndarray:
        # Four patches of 2 × 3 as two rows of two in images (4, 6).
        return patches.reshape(-1, 2, 2, 2, 3).transpose(0, 1, 3, 2, 4).reshape(-1, 4, 6)

    def flat(patches: np.ndarray) -> np.ndarray:
        return patches.reshape(len(patches), -1)

    case("filter/arrays/relu", conv(), conv_data(2000, 4, 6))
    case("filter/arrays/relu noise", conv(), conv_data(4000, 4, 3, 1, noise=0.1))
    case("filter/arrays/tanh", conv(activation="tanh"), conv_data(2000, 3, 4, 2, activation="tanh"))
    case("filter/arrays/images", conv(patch_shape=(2, 3)), conv_data(2000, 4, 6, 3), prepare=as_images)
    case("filter/arrays/two filters", conv(n_filters=2), two_filters)
    case("filter/chunks/relu noise", conv(n_patches=4), conv_data(4000, 4, 3, 1, noise=0.1), prepare=flat)
    case("filter/npy float64/relu", conv(n_patches=4), conv_data(2000, 4, 6), prepare=flat)


def objective_case(name: str, make: Callable[[], tuple[Any, Any]]) -> None:
    """Enter value, gradient and a Hessian-vector product of an objective at a point; `make` gives both."""

    def run() -> Record:
        from jax import tree

        objective, params = make()
        gradient = objective.gradient(params)
        parts = {"gradient": gradient, "product": objective.hvp(params, gradient)}
        flat = {part: np.concatenate([np.ravel(leaf) for leaf in tree.leaves(value)]) for part, value in parts.items()}
        return Record({"value": np.asarray(objective.value(params))} | flat)

    CASES[name] = run


def objective_cases() -> None:
    """Losses at one point."""
    rng = np.random.default_rng(0)
    weights, output, bias = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=3)
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    both = {"weights": weights, "output": output}
    regression = planted_data(1500, 4, 3, output="positive", noise=0.1)
    labels = planted_data(1500, 4, 3, 1, activation="sigmoid", task="classification")
    patches = conv_data(1500, 3, 4, 2)

    def enter(place: str, kind: str, data: Callable[[], Any], params: Any, *args: Any, **options: Any) -> None:
        def make() -> tuple[Any, Any]:
            from planted import objectives

            given, loss = data(), getattr(objectives, kind)
            first = (given.teacher,) if place == "teacher" else (given.X, given.y)
            return loss(*first, *args, **options), params

        detail = "".join(f" {value}" for value in (*args, *options))
        objective_case(f"objective/{place}/{kind}{detail}", make)

    enter("arrays", "Squared", regression, both, "tanh")
    enter("arrays", "Squared", regression, both | {"bias": bias}, "softplus", bias=True)
    enter("arrays", "Landscape", regression, unit)
    enter("arrays", "FullRankLandscape", regression, weights, n_hidden=3)
    enter("arrays", "Hermite24", regression, unit)
    enter("arrays", "Likelihood", labels, weights)
    enter("arrays", "ConvSquared", patches, {"filter": weights[0], "output": output})
    enter("teacher", "PopulationSquared", regression, both)
    enter("teacher", "PopulationLandscape", regression, unit)


def certificate_case() -> Record:
    """Kinds of certificates at teachers and beside one."""
    import planted
    from planted import datasets, objectives

    data = datasets.make_planted(2000, 3, 2, output="positive", random_state=0)
    teacher = data.teacher
    loss = objectives.Squared(data.X, data.y)
    points = {
        "teacher": {"weights": teacher.weights, "output": teacher.output},
        "point": {"weights": teacher.weights + 0.3, "output": teacher.output},
    }
    record = Record()
    for name, params in points.items():
        record.words[f"certificate at the {name}"] = str(planted.certify(loss, params).kind)
    landscape = objectives.PopulationLandscape(teacher)
    record.words["certificate of G at the teacher"] = str(planted.certify(landscape, teacher.weights).kind)
    conv = datasets.make_planted_conv(1000, 3, 4, random_state=0)
    at_filter = {"filter": conv.teacher.filter, "output": conv.teacher.output}
    record.words["certificate at the filter"] = str(
        planted.certify(objectives.ConvSquared(conv.X, conv.y), at_filter).kind
    )
    return record


def enter_cases() -> None:
    """Fill the table."""
    regression_cases()
    label_cases()
    conv_cases()
    objective_cases()
    CASES["certificates"] = certificate_case


# ------------------------------------------------------------------------------------------------------ take, compare


def taken(run: Callable[[], Record]) -> Record:
    """A case's record, or one of its error."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = run()
    except Exception as error:  # the error is the outcome
        record = Record(words={"error": f"{type(error).__name__}: {error}"})
    record.seconds = time.perf_counter() - began
    return record


def write(path: Path, records: dict[str, Record], only: str) -> None:
    """Write records, where they come from, and what their names had to contain."""
    import jax

    import planted

    about = {
        "planted": str(Path(planted.__file__).parent),
        "versions": {"jax": jax.__version__, "numpy": np.__version__, "python": sys.version.split()[0]},
        "only": only,
        "cores": len(os.sched_getaffinity(0)),
        "cases": {
            name: {"words": one.words, "floors": one.floors, "seconds": round(one.seconds, 2)}
            for name, one in records.items()
        },
    }
    arrays = {f"{name}|{key}": value for name, one in records.items() for key, value in one.arrays.items()}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_ABOUT: np.array(json.dumps(about))}, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> tuple[dict[str, Any], dict[str, Record]]:
    """What :func:`write` wrote: where the records come from, and the records."""
    with np.load(path, allow_pickle=False) as archive:
        about = json.loads(str(archive[_ABOUT]))
        records = {
            name: Record(floors=one["floors"], words=one["words"], seconds=one["seconds"])
            for name, one in about.pop("cases").items()
        }
        for key in archive.files:
            if key != _ABOUT:
                name, part = key.rsplit("|", 1)
                records[name].arrays[part] = archive[key]
    return about, records


def take(path: Path, only: str) -> int:
    """Run the cases whose names contain `only` and write their records."""
    began = time.perf_counter()
    records = {}
    for name, run in CASES.items():
        if only in name:
            records[name] = one = taken(run)
            words = {key: value for key, value in one.words.items() if key != "activation"}
            print(f"{one.seconds:6.1f} s  {name}: {', '.join(words.values())[:150]}", flush=True)
    if not records:
        print(f"no case has {only!r} in its name", file=sys.stderr)
        return 2
    write(path, records, only)
    print(f"{len(records)} cases in {time.perf_counter() - began:.0f} s, written to {path}")
    return 0


def difference(first: np.ndarray, second: np.ndarray, floor: float = 0.0) -> float:
    """Relative difference of two arrays; infinite where their shapes or what is not finite in them differ.

    >>> difference(np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    0.09203579866168446
    """
    if first.shape != second.shape:
        return float("inf")
    finite = np.isfinite(first)
    if np.any(finite != np.isfinite(second)) or not np.array_equal(first[~finite], second[~finite], equal_nan=True):
        return float("inf")
    scale = max(size_of(first), size_of(second), floor)
    return float(np.linalg.norm(first[finite] - second[finite])) / scale if scale > 0 else 0.0


def network_of(record: Record) -> Any:
    """The network that a record holds, or None."""
    import planted

    arrays, activation = record.arrays, record.words.get("activation", "relu")
    if "weights" in arrays:
        return planted.Network(arrays["weights"], arrays["output"], activation, arrays.get("bias"))
    return planted.ConvNetwork(arrays["filter"], arrays["output"], activation) if "filter" in arrays else None


def weight_error(first: Record, second: Record) -> str:
    """What `planted.match` says of the second network beside the first."""
    import planted

    networks = network_of(second), network_of(first)
    if None in networks:
        return ""
    try:
        found = planted.match(*networks)
    except (TypeError, ValueError) as error:
        return f"cannot be matched: {error}"
    return f"matched: weight error {found.weight_error:.1e}, output error {found.output_error:.1e}"


def compare_case(first: Record, second: Record) -> tuple[float, list[str], list[str]]:
    """Largest difference of two records, remarks about it, and remarks about what is only in one of them."""
    if "error" in first.words or "error" in second.words:
        texts = [one.words.get("error", f"no error, {one.words.get('status', 'done')}") for one in (first, second)]
        return (0.0, [], []) if texts[0] == texts[1] else (float("inf"), [f"{texts[0]} → {texts[1]}"], [])
    remarks, news = [], []
    largest = 0.0
    for name in first.arrays:
        if name not in second.arrays:
            largest = float("inf")
            remarks.append(f"{name} is gone")
            continue
        floor = max(first.floors.get(name, 0.0), second.floors.get(name, 0.0))
        gap = difference(first.arrays[name], second.arrays[name], floor)
        largest = max(largest, gap)
        if gap > TOLERANCE:
            remarks.append(f"{name} {gap:.1e}")
    news += [f"{name} is new" for name in second.arrays if name not in first.arrays]
    if remarks:
        remarks.append(weight_error(first, second))
    for name, word in first.words.items():
        other = second.words.get(name)
        if name not in _RENAMED and other != word:
            largest = float("inf")
            remarks.append(f"{name}: {word} → {other}")
    news += [f"{name} is new: {word}" for name, word in second.words.items() if name not in first.words]
    return largest, [remark for remark in remarks if remark], news


def renamings(first: dict[str, Record], second: dict[str, Record]) -> list[str]:
    """How statuses and verdicts were renamed, and where one word became several."""
    lines = []
    for word in _RENAMED:
        became: dict[str, dict[str, list[str]]] = {}
        for name in first.keys() & second.keys():
            old, new = first[name].words.get(word), second[name].words.get(word)
            if old is not None:
                kind = f"{old} ({name.split('/')[0]})" if name.startswith(("filter", "labels")) else old
                became.setdefault(kind, {}).setdefault(new or "nothing", []).append(name)
        for old, news in sorted(became.items()):
            text = ", ".join(f"{new} ({len(names)})" for new, names in sorted(news.items()))
            lines.append(f"  {word}: {old} → {text}" + ("   SEVERAL" if len(news) > 1 else ""))
            if len(news) > 1:
                lines += [f"      {new}: {', '.join(sorted(names))}" for new, names in sorted(news.items())]
    return lines


def compare(paths: tuple[Path, Path], meant: set[str]) -> int:
    """Print how two takes differ; 1 if a case differs that is not meant to."""
    (about, first), (other, second) = read(paths[0]), read(paths[1])
    for key in ("planted", "versions", "cores"):
        if about[key] != other[key]:
            print(f"{key}: {about[key]} → {other[key]}")
    wrong = []
    for name, record in first.items():
        if name not in second:
            continue
        largest, remarks, news = compare_case(record, second[name])
        status = " → ".join(dict.fromkeys(one.words.get("status", "") for one in (record, second[name])))
        differs = largest > TOLERANCE
        mark = "ok    " if not differs else "meant " if name in meant else "DIFFER"
        if differs and name not in meant:
            wrong.append(name)
        seconds = f"{record.seconds:.1f} → {second[name].seconds:.1f} s"
        print(f"{mark} {largest:8.1e}  {name}  [{status}]  {seconds}")
        for remark in (*remarks, *news):
            print(f"                 {remark}")
    missing = [name for name in first if name not in second]
    if not other.get("only"):
        wrong += [name for name in missing if name not in meant]
    extra = [name for name in second if name not in first]
    for text, names in (("not in the second take", missing), ("not in the first take", extra)):
        if names:
            print(f"{text}: {', '.join(names)}")
    print("\n".join(renamings(first, second)))
    for name in sorted(meant - first.keys()):
        print(f"no case is called {name!r}, which is meant to differ")
    common = len(first) - len(missing)
    print(f"{common} cases compared: {len(wrong)} differ by more than {TOLERANCE:g}, or are missing, unmeant")
    return int(bool(wrong))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Golden outputs of seeded fits.")
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("take", help="run the cases and write what they give")
    taking.add_argument("out", type=Path)
    taking.add_argument("--only", default="", help="only cases with this in their names")
    comparing = commands.add_parser("compare", help="compare two takes")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    comparing.add_argument("--meant", type=Path, help="file of names of cases that are meant to differ, one a line")
    commands.add_parser("list", help="names of all cases")
    options = parser.parse_args()
    enter_cases()
    if options.command == "list":
        print("\n".join(CASES))
        return 0
    if options.command == "take":
        return take(options.out, options.only)
    lines = options.meant.read_text().splitlines() if options.meant else []
    meant = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    return compare((options.first, options.second), meant)


if __name__ == "__main__":
    sys.exit(main())
