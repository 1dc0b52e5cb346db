"""What did the designed loss contribute? Directions before refinement, beside random ones with the same refinement.

Run with `python benchmarks/bench_contribution.py [--seeds 10] [--rows 20000] [--inputs gaussian logistic]`, in parts by
`--teachers` and `--methods`. A line is a method on a kind of teacher: the median over teachers of the largest angle
between a neuron and its direction before refinement, for the method and for random directions, and how many teachers
each ends within a relative 1e-6 of.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from planted import datasets, match
from planted.inputs import Logistic, input_law
from planted.methods import METHODS, Problem, random_directions, refine, start_from_directions, turned

RECOVERED = 1e-6
FIRST_SEED = 9000
KINDS = {
    "orthonormal": {"weights": "orthogonal", "output": "positive"},
    "correlated": {"weights": "correlated", "output": "positive"},
    "both signs": {"weights": "correlated", "output": "mixed"},
}
RECIPES: dict[str, list[tuple[str, str, str]]] = {
    "gaussian": [
        ("landscape", "landscape", "gaussian"),
        ("hermite", "hermite", "gaussian"),
        ("tensor", "tensor", "gaussian"),
        ("score", "score", "gaussian"),
    ],
    "logistic": [
        ("score, known density", "score", "logistic"),
        ("score, fitted mixture", "score", "mixture"),
        ("score, local likelihood", "score", "local"),
        ("landscape", "landscape", "gaussian"),
    ],
}


def one(method: str, law: Any, data: Any, seed: int) -> tuple[float, bool, float, bool]:
    """Largest angle and success of a method, and the same of random directions."""
    k = data.teacher.n_hidden
    problem = replace(Problem.of(data.X, data.y, k, random_state=seed), inputs=input_law(law, data.X))
    begin = METHODS[method].begin(problem)
    directions = random_directions(problem)
    other = refine(problem, start_from_directions(problem, directions, method).network).network
    ends = [match(network, data.teacher).weight_error < RECOVERED for network in (begin.network, other)]
    angles = [float(turned(rows, data.teacher.weights).max()) for rows in (begin.details["directions"], directions)]
    return angles[0], ends[0], angles[1], ends[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="seed of the first teacher")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5], help="inputs d; the teacher has d neurons")
    parser.add_argument("--teachers", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--methods", nargs="+", help="first words of names, such as 'score, local'; all if omitted")
    parser.add_argument("--inputs", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'inputs':<9} {'d':>2} {'teacher':<12} {'method':<24} {'angle':>6} {'random':>6}  recovered, random")
    for inputs in asked.inputs:
        for d in asked.sizes:
            for kind in asked.teachers:
                for name, method, law in RECIPES[inputs]:
                    if asked.methods and not name.startswith(tuple(asked.methods)):
                        continue
                    outcomes = []
                    for seed in range(asked.first, asked.first + asked.seeds):
                        source = Logistic(d) if inputs == "logistic" else "gaussian"
                        data = datasets.make_planted(
                            asked.rows, d, d, inputs=source, condition_number=2.0, random_state=seed, **KINDS[kind]
                        )
                        try:
                            outcomes.append(one(method, law, data, seed))
                        except ValueError as error:
                            print(f"{inputs:<9} {d:>2} {kind:<12} {name:<24} seed {seed}: {error}")
                    if outcomes:
                        mine, well, random, well_random = np.array(outcomes, float).T
                        angles = f"{np.median(mine):5.1f}° {np.median(random):5.1f}°"
                        counts = f"{well.sum():.0f} of {len(outcomes)}, {well_random.sum():.0f}"
                        print(f"{inputs:<9} {d:>2} {kind:<12} {name:<24} {angles}  {counts}", flush=True)


if __name__ == "__main__":
    main()
