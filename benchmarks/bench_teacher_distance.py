"""How near does `certify` prove the teacher to be to a minimum of G, F or L on rows, and is it?

Run with `python benchmarks/bench_teacher_distance.py [--losses G L F] [--sizes 2 3] [--rows 25000 100000] [--seeds 5]`.
A line is a loss, a number d of inputs and neurons, and a number of rows: medians over teachers of the true distance of
the worst row of the minimum next to the teacher, of the expected and of the proved one, for how many it was proved, and
how often the truth is beyond what was proved.
"""

from __future__ import annotations

import argparse

import numpy as np

from planted import certify, datasets
from planted.inputs import Logistic
from planted.objectives import FullRankLandscape, Landscape, ScoreLandscape, read_off
from planted.solvers import lbfgs

FIRST_SEED = 6000


def one(loss: str, d: int, n: int, seed: int) -> tuple[float, float, float]:
    """True, expected and proved distance of the worst row; NaN where it is not proved."""
    law = Logistic(d) if loss == "L" else "gaussian"
    weights, output = ("correlated", "positive") if loss == "F" else ("orthogonal", "ones")
    data = datasets.make_planted(
        n, d, d, inputs=law, weights=weights, output=output, condition_number=1.5, random_state=seed
    )
    rows = data.teacher.weights / np.linalg.norm(data.teacher.weights, axis=1, keepdims=True)
    start, objective = rows, {"G": Landscape, "F": FullRankLandscape}.get(loss, Landscape)(data.X, data.y)
    if loss == "L":
        objective = ScoreLandscape(data.X, data.y, law)
    if loss == "F":
        start = np.linalg.inv(np.sqrt(data.teacher.output)[:, None] * rows).T
    end = lbfgs(objective, start, steps=1000, tolerance=1e-9).params
    near = certify(objective, end).teacher_distance
    unit = read_off(end)[0] if loss == "F" else end / np.linalg.norm(end, axis=1, keepdims=True)
    true = float(np.sqrt(np.maximum(2 - 2 * np.abs(np.sum(unit * rows, axis=1)), 0)).max())
    if near is None:
        return true, np.nan, np.nan
    return true, near.expected, np.nan if near.row_error is None else near.row_error


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", nargs="+", choices=["G", "F", "L"], default=["G", "L", "F"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--rows", type=int, nargs="+", default=[25_000, 100_000, 400_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    asked = parser.parse_args()
    print(f"{'loss':<5} {'d':>2} {'rows':>8} {'true':>7} {'expected':>8} {'proved':>7}  how often proved, wrong")
    for loss in asked.losses:
        for d in asked.sizes:
            for n in asked.rows:
                seeds = range(asked.first, asked.first + asked.seeds)
                true, expected, proved = np.array([one(loss, d, n, seed) for seed in seeds]).T
                said = np.isfinite(proved)
                typical = f"{np.median(proved[said]):.3f}" if said.any() else "–"
                wrong = int(np.sum(true[said] > proved[said]))
                print(
                    f"{loss:<5} {d:>2} {n:>8,} {np.median(true):7.4f} {np.nanmedian(expected):8.4f} {typical:>7}  "
                    f"{said.sum()} of {len(true)}, {wrong}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
