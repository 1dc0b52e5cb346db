"""Are networks that were trained recovered from rows alone, and inputs of every law coped with?

Run as `python benchmarks/bench_trained.py trial | fresh | wide | laws [count] [first seed]`. A line a teacher: seconds,
CPU seconds, what was said, relative loss, weight error, strongest to weakest neuron. Then how many were recovered, how
many times "recovered" was said, and how often wrongly (a weight error above 1e-6).
"""

import sys
import time
import warnings
from dataclasses import replace

import numpy as np

from planted import PlantedRegressor, match
from planted.bench import LAWS, TRAINED, trained
from planted.certificates import uncertainty

# Sources, widths and seeds that nothing was tuned on.
FRESH = tuple(
    trained(d, k, activation, source)
    for d, k, source in (
        (4, 8, "iris"),
        (4, 16, "iris"),
        (10, 12, "friedman1"),
        (10, 24, "friedman1"),
        (4, 10, "friedman2"),
        (4, 12, "friedman3"),
        (10, 16, "sparse"),
        (3, 6, "linnerud"),
        (64, 10, "digits"),
        (100, 6, "linear"),
    )
    for activation in ("relu", "tanh", "sigmoid")
)
WIDE = tuple(
    trained(d, k, activation, source)
    for d, k, source in ((10, 24, "diabetes"), (10, 40, "diabetes"), (13, 26, "wine"), (30, 8, "cancer"))
    for activation in ("relu", "tanh", "sigmoid")
)


def fit(cell, data, seed):
    """The estimator on rows of a cell, and its seconds and CPU seconds."""
    est = PlantedRegressor(
        cell.k, activation=cell.activation, fit_bias=cell.bias, fit_intercept=bool(cell.source), random_state=seed
    )
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(data.X, data.y)
    return est, time.perf_counter() - wall, time.process_time() - cpu


def open_at(cell, data):
    """How many directions of the teacher's own parameters the rows leave open."""
    problem = cell.problem(data.X, data.y)
    errors = uncertainty(problem.objective(), problem.params(data.teacher))
    return errors.n_parameters - errors.rank


def study(cells, seeds):
    """A line a teacher, then the counts."""
    said, seconds, wrong = [], [], 0
    small = replace(cells[0], d=4, k=2, source="", inputs="gaussian")
    fit(small, small.data(0), 0)
    for cell in cells:
        for seed in seeds:
            data = cell.data(seed)
            est, wall, cpu = fit(cell, data, 0)
            result, teacher = est.result_, data.teacher
            error = match(est.network_, teacher).weight_error
            strength = np.abs(teacher.output) * np.linalg.norm(teacher.weights, axis=1)
            ratio = strength.max() / strength.min()
            said.append(result.status)
            seconds.append((wall, cpu))
            wrong += result.status == "recovered" and not error < 1e-6
            print(
                f"{cell!s:<60} seed {seed}: {wall:6.1f} s, CPU {cpu:5.1f} s, {result.status:<9}, loss "
                f"{result.relative_loss:.0e}, weight error {error:.0e}, strengths {ratio:.0f} : 1"
                + ("" if result.status == "recovered" else f"\n    {result.reason}")
                + (f"; {open_at(cell, data)} at the teacher" if result.status == "ambiguous" else ""),
                flush=True,
            )
    (wall, cpu), most = np.median(seconds, axis=0), np.max(seconds, axis=0)[1]
    counts = ", ".join(f"{status} {said.count(status)}" for status in sorted(set(said)))
    print(f"{len(said)} teachers: {counts}; median {wall:.1f} s, CPU {cpu:.1f} s (largest {most:.1f} s)")
    print(f'"recovered" said {said.count("recovered")} times, wrongly {wrong} times')


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "trial"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    laws = (*LAWS, *(replace(cell, inputs="repeated") for cell in LAWS[:2]))
    cells, first = {"trial": (TRAINED, 0), "fresh": (FRESH, 50), "wide": (WIDE, 10), "laws": (laws, 200)}[name]
    first = int(sys.argv[3]) if len(sys.argv) > 3 else first
    study(cells, range(first, first + count))
