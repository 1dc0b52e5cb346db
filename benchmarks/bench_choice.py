"""What it costs to know nothing: default fits beside fits of the same rows with everything known.

Usage
-----
    bench_choice.py [SEEDS [FIRST]]

Rows are 5,000 × 10 of 5 ReLU neurons. One line a seed: status and seconds of the processor with everything known, the
same with activation, width, biases, intercept and linear part left open, and their ratio, at most 10 in the median.
Compilations are paid by a fit before.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from planted import PlantedRegressor, datasets


def timed(data: Any, **known: Any) -> tuple[str, float]:
    """Status and seconds of the processor of one fit."""
    began = time.process_time()
    status = PlantedRegressor(random_state=0, **known).fit(data.X, data.y).result_.status
    return status, time.process_time() - began


def main() -> int:
    """Print the table; the exit status is 1 if the median ratio is above 10."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    known = {"n_hidden": 5, "activation": "relu", "fit_bias": False, "fit_intercept": False}
    ratios = []
    for seed in range(first - 1, first + seeds):
        data = datasets.make_planted(5000, 10, 5, weights="gaussian", output="mixed", random_state=seed)
        (said, least), (open_said, most) = timed(data, **known), timed(data)
        if seed >= first:
            ratios.append(most / least)
            print(f"seed {seed}: known {said} {least:.2f} s, unknown {open_said} {most:.2f} s, ratio {ratios[-1]:.1f}")
    middle = statistics.median(ratios)
    print(f"median ratio {middle:.1f} (at most 10)")
    return int(middle > 10)


if __name__ == "__main__":
    sys.exit(main())
