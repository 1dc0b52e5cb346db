"""What the recovery of a shared filter must show: Figure 1b, frequencies of success, recovery from data.

Run as `python benchmarks/bench_conv.py`, or with pytest-benchmark.
"""

import sys
import time

import numpy as np

from planted import match
from planted.datasets import make_planted_conv
from planted.methods import FILTERS, FilterProblem
from planted.methods._filter_polish import expected_error
from planted.objectives import ConvSquared
from planted.reproduce.du2017._shared_filter import figure_1b, success_frequencies

SETTINGS = [(p, k, ratio) for p, k in ((5, 4), (20, 25), (100, 50)) for ratio in (1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, k)]


def recovery(noise, runs=20, n=20_000, k=16, p=16):
    """Errors, Cramér–Rao bounds and seconds of `runs` fits."""
    errors, bounds, seconds, statuses = [], [], [], []
    for seed in range(runs):
        data = make_planted_conv(n, k, p, noise=noise, random_state=seed)
        began = time.perf_counter()
        result = FILTERS["shared"](FilterProblem.of(data.X, data.y, 1, random_state=1000 + seed))
        seconds.append(time.perf_counter() - began)
        statuses.append(result.status)
        errors.append(match(result.network, data.teacher).weight_error)
        bounds.append(expected_error(ConvSquared(data.X, data.y), data.teacher, noise))
    return np.array(errors), np.array(bounds), np.array(seconds), statuses


def test_figure_1b(benchmark):
    benchmark.pedantic(figure_1b, rounds=1)


def test_thousand_draws(benchmark):
    benchmark.pedantic(success_frequencies, args=(20, 25, 1.0), rounds=1)


def test_recovery(benchmark):
    data = make_planted_conv(20_000, 16, 16, random_state=0)
    benchmark.pedantic(FILTERS["shared"], args=(FilterProblem.of(data.X, data.y, 1),), rounds=1)


def main(runs):
    print("Figure 1b (p = 20, k = 25)")
    print(figure_1b())
    print("\n1,000 random draws, four signs each")
    for p, k, ratio in SETTINGS:
        print(success_frequencies(p, k, ratio), flush=True)
    print(f"\nrecovery, p = 16, k = 16, n = 20,000, {runs} runs")
    errors, _, seconds, statuses = recovery(0.0, runs)
    print(
        f"no noise: weight error < 1e-8 in {np.sum(errors < 1e-8)} of {runs}, largest {errors.max():.2g}, "
        f"recovered {statuses.count('recovered')}; {np.median(seconds):.1f} s a fit (median)",
        flush=True,
    )
    errors, bounds, seconds, statuses = recovery(0.1, runs)
    ratio = np.sqrt(np.sum(errors**2) / np.sum(bounds**2))
    print(
        f"noise 0.1: root mean square weight error {np.sqrt(np.mean(errors**2)):.5f}, Cramér–Rao bound "
        f"{np.sqrt(np.mean(bounds**2)):.5f}, ratio {ratio:.3f}, mean of error/bound squared "
        f"{np.mean((errors / bounds) ** 2):.3f}; recovered {statuses.count('recovered')}; "
        f"{np.median(seconds):.1f} s a fit (median)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
