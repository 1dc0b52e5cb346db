"""The first answer: a fit in a new process against the same fit again, and against scikit-learn's MLPRegressor.

    python benchmarks/bench_first.py [repeats]     # about three minutes
    python benchmarks/bench_first.py large         # 100 neurons on 50,000 × 100, one process: minutes more

Every number is a ratio of times of one run, in a process of its own: cold is the first fit of a process, warm the
second fit of the same data, other a fit with another number of rows. Our time is that to a *recovered* network,
scikit-learn's that to its default stop. Commands are timed from their start to their report: without kept programs,
with an empty folder for them, and with the folder that this has filled. The median of the repeats is printed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = ((200, 4, 2), (5000, 10, 5), (2000, 20, 10), (25_000, 50, 50))
LARGE = (50_000, 100, 100)

FIT = """
import json, time, warnings
warnings.simplefilter("ignore")
from planted import PlantedRegressor, datasets
from sklearn.neural_network import MLPRegressor
n, d, k = {size}
data = datasets.make_planted(n, d, k, weights="gaussian", output="mixed", random_state=0)
def timed(X, y, width):
    began = time.perf_counter()
    est = PlantedRegressor(width, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(X, y)
    return time.perf_counter() - began, est.result_.status
cold, status = timed(data.X, data.y, k)
warm, _ = timed(data.X, data.y, k)
few = slice(0, int(0.9 * n))
other, _ = timed(data.X[few], data.y[few], k)
began = time.perf_counter()
MLPRegressor(hidden_layer_sizes=(k,), random_state=0).fit(data.X, data.y)
peer = time.perf_counter() - began
print(json.dumps(dict(cold=cold, warm=warm, other=other, peer=peer, status=status)))
"""


def run(size: tuple[int, int, int]) -> dict[str, float]:
    """The times of one new process."""
    code = FIT.format(size=size)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def tables(folder: Path) -> dict[str, list[str]]:
    """Arguments of `planted fit` for tables of four kinds, written into a folder."""
    import numpy as np

    from planted.datasets import make_planted, make_planted_conv, write_table

    regression = {"weights": "gaussian", "output": "mixed", "random_state": 0}
    clean, noisy = make_planted(5000, 10, 5, **regression), make_planted(5000, 10, 5, noise=0.1, **regression)
    corners = [[4, 0, 0, 0], [1, 3.8, 0, 0]]
    labels = make_planted(20_000, 4, 2, activation="sigmoid", weights=corners, task="classification", random_state=1)
    patches = make_planted_conv(5000, 8, 8, random_state=0)
    np.savez(folder / "patches.npz", X=patches.X, y=patches.y)
    return {
        "5,000 × 10, 5 neurons": [write_table(folder / "clean.csv", clean.X, clean.y), "--hidden", "5"],
        "the same with noise": [write_table(folder / "noisy.csv", noisy.X, noisy.y), "--hidden", "5"],
        "labels, 20,000 × 4, 2 neurons": [
            write_table(folder / "labels.csv", labels.X, labels.y), "--hidden", "2", "--task", "classification",
        ],
        "a filter, 5,000 × 8 patches of 8": [str(folder / "patches.npz"), "--conv"],
    }  # fmt: skip


def command(arguments: list[str], programs: str) -> float:
    """Seconds from the start of `planted fit` to its report; `programs` is the folder of kept programs, or 0."""
    code = "from planted.cli import main; main()"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, "fit", *map(str, arguments)], capture_output=True, check=True,
                   env=os.environ | {"PLANTED_CACHE": programs})  # fmt: skip
    return time.perf_counter() - began


def command_line(repeats: int) -> None:
    """Print the seconds of commands without kept programs, with none yet, and with those of the command before."""
    print(f"{'planted fit':>34} {'no folder':>10} {'empty':>8} {'filled':>8}  filled/no folder")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in tables(Path(folder)).items():
            seconds = []
            for turn in range(repeats):
                programs = str(Path(folder) / f"programs {name} {turn}")
                seconds.append([command(arguments, each) for each in ("0", programs, programs)])
            without, empty, filled = (statistics.median(each) for each in zip(*seconds, strict=True))
            ratio = statistics.median(row[2] / row[0] for row in seconds)
            print(f"{name:>34} {without:>8.1f} s {empty:>6.1f} s {filled:>6.1f} s  {ratio:.2f}", flush=True)


def first_fits(sizes: tuple[tuple[int, int, int], ...], repeats: int) -> None:
    """Print the ratios of first, second and other fits, and of scikit-learn's, for every size."""
    print(
        f"{'rows × inputs, neurons':>24} {'cold/warm':>10} {'other/warm':>10} {'cold/MLP':>9} {'warm/MLP':>9}  status"
    )
    for size in sizes:
        runs = [run(size) for _ in range(repeats if size[0] < 10_000 else 1)]

        def ratio(one: str, two: str, runs: list[dict[str, float]] = runs) -> float:
            return statistics.median(entry[one] / entry[two] for entry in runs)

        label = f"{size[0]:,} × {size[1]}, {size[2]}"
        numbers = [ratio("cold", "warm"), ratio("other", "warm"), ratio("cold", "peer"), ratio("warm", "peer")]
        print(
            f"{label:>24} {numbers[0]:>10.2f} {numbers[1]:>10.2f} {numbers[2]:>9.2f} {numbers[3]:>9.2f}  "
            f"{runs[0]['status']} (cold {statistics.median(entry['cold'] for entry in runs):.2f} s)",
            flush=True,
        )


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else "3"
    if given == "large":
        first_fits((LARGE,), 1)
        return
    first_fits(SIZES, int(given))
    command_line(int(given))


if __name__ == "__main__":
    main()
