"""The first answer: a fit in a new process against the same fit again, and against scikit-learn's MLPRegressor.

    python benchmarks/bench_first.py [repeats]

Every number is a ratio of times of one run, in a process of its own: cold is the first fit of a process, warm the
second fit of the same data, other a fit with another number of rows. Our time is that to a *recovered* network,
scikit-learn's that to its default stop. The command line is timed from its start to its report. The median of the
repeats is printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = ((200, 4, 2), (5000, 10, 5), (2000, 20, 10), (25_000, 50, 50))

FIT = """
import json, time, warnings
warnings.simplefilter("ignore")
from planted import PlantedRegressor, datasets
from sklearn.neural_network import MLPRegressor
n, d, k = {size}
data = datasets.make_planted(n, d, k, weights="gaussian", output="mixed", random_state=0)
def timed(X, y, width):
    began = time.perf_counter()
    est = PlantedRegressor(width, random_state=0).fit(X, y)
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


def command_line() -> float:
    """Seconds from the start of `planted fit` to its report, for 5,000 rows in a CSV file."""
    import time

    from planted.datasets import make_planted, write_table

    data = make_planted(5000, 10, 5, weights="gaussian", output="mixed", random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "data.csv", data.X, data.y)
        code = "from planted.cli import main; main()"
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, "fit", path, "--hidden", "5"], capture_output=True, check=True)
        return time.perf_counter() - began


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(
        f"{'rows × inputs, neurons':>24} {'cold/warm':>10} {'other/warm':>10} {'cold/MLP':>9} {'warm/MLP':>9}  status"
    )
    for size in SIZES:
        runs = [run(size) for _ in range(repeats if size[0] < 10_000 else 1)]

        def ratio(one: str, two: str, runs: list[dict[str, float]] = runs) -> float:
            return statistics.median(entry[one] / entry[two] for entry in runs)

        label = f"{size[0]:,} × {size[1]}, {size[2]}"
        numbers = [ratio("cold", "warm"), ratio("other", "warm"), ratio("cold", "peer"), ratio("warm", "peer")]
        print(
            f"{label:>24} {numbers[0]:>10.2f} {numbers[1]:>10.2f} {numbers[2]:>9.2f} {numbers[3]:>9.2f}  "
            f"{runs[0]['status']} (cold {statistics.median(entry['cold'] for entry in runs):.2f} s)"
        )
    print(f"command line, 5,000 × 10, 5 neurons: {statistics.median(command_line() for _ in range(repeats)):.1f} s")


if __name__ == "__main__":
    main()
