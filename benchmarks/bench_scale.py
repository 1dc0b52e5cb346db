"""Data larger than memory and than one machine: throughput, memory, workers, faults and the cost of a pass.

    python benchmarks/bench_scale.py generate /tmp/big.npy --rows 20000000 --columns 50
    python benchmarks/bench_scale.py fit /tmp/big.npy              # peak memory, then throughput against memory
    python benchmarks/bench_scale.py workers --rows 5000000        # one worker and two, workers killed, cost of passes
    python benchmarks/bench_scale.py throughput /tmp/big.npy
    python benchmarks/bench_scale.py faults
    python benchmarks/bench_scale.py model

Every command prints one line of JSON a measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

DEFAULT_ROWS = {"generate": 20_000_000, "workers": 5_000_000, "faults": 2_000_000}


def say(**entry: Any) -> None:
    print(json.dumps(entry), flush=True)


def peak_gb() -> float:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def teacher_of(columns: int, hidden: int) -> Any:
    from planted.datasets import make_planted

    return make_planted(1, columns, hidden, activation="tanh", output="positive", random_state=1).teacher


def generate(path: Path, rows: int, columns: int, hidden: int, noise: float, block: int = 250_000) -> None:
    """Write rows x ~ N(0, I), y = teacher(x) + noise as float32, block by block (NPY: inputs, then the target)."""
    teacher = teacher_of(columns, hidden)
    weights, output = teacher.weights.astype(np.float32), teacher.output.astype(np.float32)
    began = time.perf_counter()

    def part(number: int, size: int) -> np.ndarray:
        rng = np.random.default_rng([2, number])
        table = np.empty((size, columns + 1), np.float32)
        table[:, :-1] = rng.standard_normal((size, columns), dtype=np.float32)
        clean = np.tanh(table[:, :-1] @ weights.T) @ output
        table[:, -1] = clean + noise * rng.standard_normal(size, dtype=np.float32)
        return table

    sizes = [min(block, rows - start) for start in range(0, rows, block)]
    if path.suffix == ".npy":
        with path.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns + 1)}
            np.lib.format.write_array_header_1_0(file, header)
            for number, size in enumerate(sizes):
                part(number, size).tofile(file)
    else:
        import polars as pl

        path.mkdir(parents=True, exist_ok=True)
        names = [*(f"x{i}" for i in range(columns)), "y"]
        for number, size in enumerate(sizes):
            frame = pl.DataFrame(part(number, size), schema=names, orient="row")
            frame.write_parquet(path / f"part-{number:05d}.parquet", compression="uncompressed")
    size = sum(f.stat().st_size for f in ([path] if path.is_file() else path.iterdir()))
    say(what="generate", path=str(path), rows=rows, columns=columns, gigabytes=size / 1e9,
        seconds=time.perf_counter() - began)  # fmt: skip


def loss_over(rows: Any, hidden: int, columns: int) -> tuple[Any, Any]:
    from planted import activations
    from planted.objectives import Squared

    teacher = teacher_of(columns, hidden)
    params = {"weights": teacher.weights + 0.01, "output": teacher.output + 0.01}
    return Squared.on(rows, activations.get("tanh")), params


def throughput(path: Path, hidden: int, some: int, repeats: int) -> None:
    """Rows a second per gradient: from the file, and from an array of `some` of its rows in memory, taken in turns.

    In turns, since other work on the machine comes and goes: a pass over the file, then as many rows in memory.
    """
    import jax

    from planted.numerics.precision import to_jax
    from planted.rows import ArrayRows, file_rows

    rows = file_rows(path)
    d = rows.n_features
    loss, params = loss_over(rows, hidden, d)
    loss.gradient(params)
    loss.gradient(params)
    say(what="two gradients from file", rows=rows.n_rows, peak_gb=peak_gb())
    parts, count = [], 0
    for chunk in rows.chunks:
        if count >= some:
            break
        parts.append(chunk.load()[:2])
        count += chunk.rows
    with jax.enable_x64(True):
        held = ArrayRows(to_jax(np.concatenate([x for x, _ in parts])), to_jax(np.concatenate([y for _, y in parts])))
        del parts
    in_memory, _ = loss_over(held, hidden, d)
    in_memory.gradient(params)
    turns = max(1, rows.n_rows // count)
    nanoseconds = {"file": [], "memory": []}
    for _ in range(repeats):
        for name, one, times, n in (("file", loss, 1, rows.n_rows), ("memory", in_memory, turns, turns * count)):
            began = time.perf_counter()
            for _ in range(times):
                one.gradient(params)
            nanoseconds[name].append(1e9 * (time.perf_counter() - began) / n)
    median = {name: float(np.median(found)) for name, found in nanoseconds.items()}
    say(what="gradient", rows={"file": rows.n_rows, "memory": count}, nanoseconds_a_row=median,
        ratio=median["memory"] / median["file"],
        ratio_of_least=min(nanoseconds["memory"]) / min(nanoseconds["file"]))  # fmt: skip


def fit(path: Path, hidden: int) -> None:
    """The whole fit from a file, with its peak memory."""
    from planted import PlantedRegressor, match
    from planted.rows import file_rows

    rows = file_rows(path)
    began = time.perf_counter()
    est = PlantedRegressor(hidden, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(rows)
    say(
        what="fit", rows=rows.n_rows, status=est.result_.status, verdict=est.verdict_.reason,
        weight_error=match(est.network_, teacher_of(rows.n_features, hidden)).weight_error,
        largest_standard_error=float(est.standard_errors_.weights.max()), certificate=est.certificate_.kind,
        passes=est.passes_.passes, rows_per_second=est.passes_.rows / est.passes_.seconds,
        seconds=time.perf_counter() - began, peak_gb=peak_gb(),
    )  # fmt: skip


def polish(rows: Any, hidden: int, columns: int, steps: int = 8) -> tuple[float, Any]:
    """Seconds of `steps` Newton steps over all rows, compilation left out, and the parameters they end at."""
    from planted.methods import Problem, Start, finish
    from planted.rows import survey

    loss, params = loss_over(rows, hidden, columns)
    loss.gradient(params)
    problem = Problem(rows, survey(rows, 20_000), hidden, loss.activation)
    began = time.perf_counter()
    run = finish(problem, Start(loss.network(params), "given", 1.0)).descents["all rows"]
    return (time.perf_counter() - began) / (run.n_steps + 1), run


def workers(rows: int, columns: int, hidden: int, repeats: int) -> None:
    """Seconds a pass of the polish with one and with two local workers, one thread each, taken in turns."""
    import dask.array as da

    from planted.rows import dask_engine, dask_rows

    teacher = teacher_of(columns, hidden)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    engines = {count: dask_engine(workers=count) for count in seconds}
    try:
        held = {}
        for count, engine in engines.items():
            source = da.random.default_rng(0)
            X = source.standard_normal((rows, columns), chunks=(250_000, columns), dtype=np.float32)
            y = X.map_blocks(answer, teacher.weights, teacher.output, drop_axis=1, dtype=np.float32)
            held[count] = dask_rows(X, y, client=engine.client)
            polish(held[count], hidden, columns)
        for _ in range(repeats):
            for count in engines:
                taken, run = polish(held[count], hidden, columns)
                seconds[count].append(taken)
                say(what="polish", workers=count, rows=rows, seconds_per_pass=taken, steps=run.n_steps, value=run.value)
    finally:
        for engine in engines.values():
            engine.close()
    ratios = np.divide(seconds[1], seconds[2])
    say(what="two workers against one", speedup=float(np.median(ratios)), all=ratios.round(2).tolist())


def answer(x: np.ndarray, weights: np.ndarray, output: np.ndarray) -> np.ndarray:
    """The teacher's output, with noise that depends on the row only."""
    clean = np.tanh(x @ weights.T.astype(x.dtype)) @ output.astype(x.dtype)
    return (clean + 0.1 * np.sin(1e4 * x[:, 0])).astype(np.float32)


def faults(rows: int, kills: int) -> None:
    """A worker killed at random moments of the polish; the result must be that of an undisturbed one."""
    from planted.rows import dask_engine, file_rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        generate(path, rows, 20, 5, 0.1)
        calm = polish(file_rows(path), 5, 20)[1]
        engine = dask_engine(workers=2)
        killed: list[int] = []
        gone: list[int] = []
        stop = threading.Event()

        def kill() -> None:
            rng = np.random.default_rng(3)
            while len(killed) < kills and not stop.wait(rng.uniform(0.1, 1.5)):
                # After the first passes, which compile, and never twice in the same one.
                if engine.counts.passes <= (killed[-1] if killed else 2):
                    continue
                pids = sorted(set(engine.client.run(os.getpid, on_error="ignore").values()) - set(gone))
                if pids:
                    gone.append(pids[int(rng.integers(len(pids)))])
                    os.kill(gone[-1], signal.SIGKILL)
                    killed.append(engine.counts.passes)

        killer = threading.Thread(target=kill)
        try:
            spread = file_rows(path, engine=engine, chunk_rows=50_000)
            began = time.perf_counter()
            killer.start()
            hurt = polish(spread, 5, 20)[1]
        finally:
            stop.set()
            killer.join()
            engine.close()
    gap = max(float(np.max(np.abs(hurt.params[name] - calm.params[name]))) for name in calm.params)
    say(what="workers killed", kills=len(killed), in_passes=killed, largest_difference=gap,
        seconds=time.perf_counter() - began)  # fmt: skip


def model(repeats: int) -> None:
    """Least nanoseconds a row of a gradient and of reading NPY from the page cache: for docs/scaling.md.

    Short pieces and their minimum, so that other work on the machine shows little. Set
    XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" for one thread.
    """
    import jax
    from scipy.optimize import nnls

    from planted.objectives._base import block_value_and_gradient
    from planted.rows import Work, block_rows, file_rows
    from planted.rows._chunks import Scratch, _fold

    def least(function: Any) -> float:
        function()
        seconds = []
        for _ in range(12 * repeats):
            began = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - began)
        return min(seconds)

    found = []
    for d, k in ((20, 5), (50, 5), (50, 50), (200, 5), (200, 50), (1000, 100)):
        n = 16_384 if d < 1000 else 8192
        table = np.random.default_rng(0).standard_normal((n, d + 1), dtype=np.float32)
        x, y = np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])
        loss, params = loss_over(block_rows(x, y), k, d)
        work = Work("add", (block_value_and_gradient,), ((loss.bare, params),))
        with jax.enable_x64(True):
            held = tuple(jax.numpy.asarray(part) for part in (x, y, np.ones(n, np.float32)))
            compute = least(
                lambda held=held, work=work: jax.block_until_ready(
                    _fold(work.combine, work.functions, held, work.arguments)
                )
            )
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "rows.npy", table)
            chunk, scratch = file_rows(Path(folder) / "rows.npy", chunk_rows=n).chunks[0], Scratch()
            load = least(lambda chunk=chunk, scratch=scratch: chunk.load(scratch))
        found.append((d, k, 1e9 * compute / n, 1e9 * load / n))
        say(what="row", inputs=d, neurons=k, compute_ns=found[-1][2], gflops=6 * d * k / found[-1][2],
            load_ns=found[-1][3], load_gb_per_second=4 * (d + 1) / found[-1][3])  # fmt: skip
    design = np.array([[6 * d * k, k, d] for d, k, _, _ in found], float)
    times = np.array([row[2] for row in found])
    cost = nnls(design / times[:, None], np.ones(len(times)))[0]
    say(what="model", gflops=1 / cost[0], ns_a_neuron=cost[1], ns_an_input=cost[2],
        residuals=(design @ cost / times - 1).round(2).tolist())  # fmt: skip


def tasks(blocks: int = 640) -> None:
    """Milliseconds of one Dask task: a pass over blocks so small that nothing else counts, a task each, two workers."""
    import dask.array as da

    from planted.objectives._base import block_value_and_gradient
    from planted.rows import Work, dask_engine, dask_rows
    from planted.rows._chunks import fold_arrays

    engine = dask_engine(workers=2)
    try:
        X = da.random.default_rng(0).standard_normal((8 * blocks, 50), chunks=(8, 50))
        rows = dask_rows(X, X[:, 0], client=engine.client)
        loss, params = loss_over(rows, 5, 50)
        work = Work("add", (block_value_and_gradient,), ((loss.bare, params),))
        seconds = []
        for _ in range(4):
            began = time.perf_counter()
            for _ in engine.each(rows.chunks, fold_arrays, work):
                pass
            seconds.append(time.perf_counter() - began)
    finally:
        engine.close()
    # The first pass compiles.
    say(what="task", milliseconds=[round(1e3 * taken / blocks, 2) for taken in seconds[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("generate", "throughput", "fit", "workers", "faults", "model"):
        one = commands.add_parser(name)
        if name in ("generate", "throughput", "fit"):
            one.add_argument("path", type=Path)
        one.add_argument("--rows", type=int, default=DEFAULT_ROWS.get(name, 0))
        one.add_argument("--columns", type=int, default=50)
        one.add_argument("--hidden", type=int, default=5)
        one.add_argument("--noise", type=float, default=0.1)
        one.add_argument("--repeats", type=int, default=7)
        one.add_argument("--some", type=int, default=2_000_000)
        one.add_argument("--kills", type=int, default=5)
    a = parser.parse_args()
    match a.command:
        case "generate":
            generate(a.path, a.rows, a.columns, a.hidden, a.noise)
        case "throughput":
            throughput(a.path, a.hidden, a.some, a.repeats)
        case "fit":
            fit(a.path, a.hidden)
            throughput(a.path, a.hidden, a.some, a.repeats)
        case "workers":
            workers(a.rows, a.columns, a.hidden, a.repeats)
            faults(DEFAULT_ROWS["faults"], a.kills)
            model(a.repeats)
            tasks()
        case "faults":
            faults(a.rows, a.kills)
        case "model":
            model(a.repeats)
            tasks()


if __name__ == "__main__":
    main()
