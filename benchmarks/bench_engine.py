"""What the recovery engine must show beyond single cells: scarce rows, growth, noise, widths, verdicts.

Run as `python benchmarks/bench_engine.py STUDY [count] [first seed]`, STUDY being half, growth, largest (minutes each),
noise, width, verdicts or peers, and `half [count] [first seed] d,k ratio,ratio,…` for one size and some numbers of
rows a weight, ratio·kd.
"""

import resource
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bench_recovery import Cell, unit_gradient
from planted import PlantedRegressor, activations, match
from planted.bench import PEERS, BenchCell, own
from planted.certificates import uncertainty
from planted.datasets import make_planted
from planted.methods import METHODS, Problem, choose_width
from planted.objectives import Squared

RELU = activations.get("relu")


def fit(data, k, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PlantedRegressor(k, activation="relu", fit_bias=False, fit_intercept=False, random_state=seed).fit(
            data.X, data.y
        )


def half(seeds, sizes=((20, 10), (20, 20), (50, 20)), ratios=(1.25, 1.5, 1.75, 2.0, 2.5, 2.75, 3.0)):
    """Share of ReLU teachers recovered as rows become scarce."""
    for d, k in sizes:
        for ratio in ratios:
            cell, hits, seconds = Cell(d, k, ratio), 0, []
            for seed in seeds:
                data, began = cell.data(seed), time.process_time()
                recovery = METHODS["auto"](Problem.of(data.X, data.y, k, random_state=1000 + seed))
                seconds.append(time.process_time() - began)
                error = match(recovery.network, data.teacher).weight_error
                hits += error < 1e-6
                print(
                    f"  seed {seed}: {recovery.status}, weight error {error:.0e}, CPU {seconds[-1]:.1f} s", flush=True
                )
            print(f"d={d} k={k} n={ratio:g}kd: {hits}/{len(seeds)}, median CPU {np.median(seconds):.1f} s", flush=True)


def growth(seeds):
    """Seconds of a recovery beside those of one gradient, from (25, 25) to (100, 100)."""
    for size in (25, 50, 100):
        cell, seconds, units, hits = Cell(size, size, 10), [], [], 0
        for seed in [seeds[0], *seeds]:
            data = cell.data(seed)
            units.append(unit_gradient(data))
            began = time.perf_counter()
            found = METHODS["auto"](Problem.of(data.X, data.y, size, random_state=1000 + seed))
            seconds.append(time.perf_counter() - began)
            hits += match(found.network, data.teacher).weight_error < 1e-6
        # The first seed runs twice, the first time to compile.
        total, unit = np.median(seconds[1:]), np.median(units[1:])
        print(f"d=k={size} n={10 * size * size}: {hits - 1}/{len(seeds)} or more recovered, "
              f"{total:.1f} s, one gradient {1e3 * unit:.1f} ms, ratio {total / unit:.0f}", flush=True)  # fmt: skip


def largest(seeds, sizes=((200, 200),)):
    """One recovery of the largest size: its seconds, beside a gradient's, and its memory."""
    for d, k in sizes:
        cell = Cell(d, k, 10)
        for seed in seeds:
            data = cell.data(seed)
            unit, began = unit_gradient(data), time.perf_counter()
            recovery = METHODS["auto"](Problem.of(data.X, data.y, k, random_state=1000 + seed))
            seconds = time.perf_counter() - began
            print(f"d={d} k={k} n={len(data.y)}: {recovery.status}, "
                  f"weight error {match(recovery.network, data.teacher).weight_error:.0e}, {seconds:.0f} s, "
                  f"one gradient {unit:.2f} s, ratio {seconds / unit:.0f}, "
                  f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB", flush=True)  # fmt: skip


def noise(seeds):
    """Errors beside the Cramér–Rao bound, and the coverage of 95 % intervals, at (20, 10), n = 20,000, noise 0.1."""
    squares, bounds, inside, far = [], [], [], 0
    for seed in seeds:
        data = make_planted(20_000, 20, 10, weights="gaussian", output="mixed", noise=0.1, random_state=seed)
        est = fit(data, 10, seed)
        loss = Squared(data.X, data.y)
        bound = uncertainty(loss, loss.model.params(data.teacher))
        found = est.standard_errors_.network
        order = match(found, bound.network).permutation
        ends = est.confidence_intervals(0.95)
        for name in ("weights", "output"):
            truth, value = getattr(bound.network, name), getattr(found, name)[order]
            squares.append(np.sum((value - truth) ** 2))
            bounds.append(np.sum((getattr(bound, name) * 0.1 / bound.noise) ** 2))
            lower, upper = ends[name][:, order]
            inside.append(((lower <= truth) & (truth <= upper)).ravel())
        far += match(est.network_, data.teacher).weight_error > 0.1
    ratio = np.sqrt(np.sum(squares) / np.sum(bounds))
    covered = np.mean(np.concatenate(inside))
    print(f"{len(seeds)} data sets: root-mean-square error {ratio:.4f} x Cramér–Rao, "
          f"coverage {100 * covered:.2f} %, {far} far from the teacher")  # fmt: skip


def width(seeds):
    """How often the number of neurons is found: k from 2 to 20, d = 20, n = 8,000, half of them with noise 0.05."""
    hits, misses, seconds = 0, [], []
    for seed in seeds:
        k, sigma = int(np.random.default_rng(seed).integers(2, 21)), 0.05 * (seed % 2)
        data = make_planted(8000, 20, k, weights="gaussian", output="mixed", noise=sigma, random_state=seed)
        began = time.perf_counter()
        found, _ = choose_width(Problem.of(data.X, data.y, 1, random_state=seed), 80)
        seconds.append(time.perf_counter() - began)
        hits += found == k
        misses += [] if found == k else [(seed, k, found)]
    print(f"{hits}/{len(seeds)} widths, median {np.median(seconds):.1f} s; (seed, width, found) of misses {misses}")


def _other_models(rng, X):
    """Targets that no ReLU network of the width asked for makes: deeper, wider, smooth, and a product of inputs."""
    d = X.shape[1]
    inner = np.maximum(X @ rng.standard_normal((d, 6)), 0.0)
    yield "deeper", np.maximum(inner @ rng.standard_normal((6, 4)), 0.0) @ rng.standard_normal(4)
    yield "wider", np.maximum(X @ rng.standard_normal((d, 7)), 0.0) @ rng.choice([-1.0, 1.0], 7)
    yield "smooth", np.sin(X @ rng.standard_normal(d)) + np.cos(X @ rng.standard_normal(d))
    yield "product", X[:, 0] * X[:, 1] + X[:, 2]


def verdicts(seeds):
    """Is "recovered" right when said of planted data, and never said of other data?"""
    said = right = wrong = others = 0
    kinds = {}
    for seed in seeds:
        d, k = ((5, 3), (8, 4))[seed % 2]
        for sigma in (0.0, 0.1):
            data = make_planted(20 * k * d, d, k, weights="gaussian", output="mixed", noise=sigma, random_state=seed)
            est = fit(data, k, seed)
            kinds.setdefault(f"planted, noise {sigma:g}", []).append(est.verdict_.status)
            if est.verdict_.status == "recovered":
                said += 1
                right += match(est.network_, data.teacher).weight_error < 1e-6
        rng = np.random.default_rng(10_000 + seed)
        for name, y in _other_models(rng, data.X):
            data.y[:] = y
            verdict = fit(data, k, seed).verdict_.status
            kinds.setdefault(name, []).append(verdict)
            others += 1
            wrong += verdict == "recovered"
    print(f'planted: "recovered" said {said} times, right {right}; other models: said {wrong} times of {others}')
    for name, found in kinds.items():
        print(f"{name:>20}: " + ", ".join(f"{kind} {found.count(kind)}" for kind in sorted(set(found))))


def peers(seeds):
    """Seconds to recover every ReLU teacher of (20, 20) at n = 10kd, beside a peer's seconds for one.

    A peer takes one teacher after the other, with a new start each, for forty times as long as ours took for all.
    Compilation is left out on both sides.
    """
    cell = BenchCell(20, 20, 10)
    data = {seed: cell.data(seed) for seed in seeds}

    def recovered(fit, seed, start):
        network = fit(data[seed].X, data[seed].y, cell, start, np.inf)
        return match(network, data[seed].teacher).weight_error < 1e-6

    recovered(own("auto"), seeds[0], 0)
    began = time.perf_counter()
    hits = sum(recovered(own("auto"), seed, 1000 + seed) for seed in seeds)
    ours = time.perf_counter() - began
    print(f"planted: {hits}/{len(seeds)} in {ours:.1f} s", flush=True)
    for name, peer in PEERS.items():
        if peer.obstacle(cell) is not None:
            continue
        recovered(peer.fit, seeds[0], 0)
        began, tries, hits = time.perf_counter(), 0, 0
        while time.perf_counter() - began < 40 * ours:
            hits += recovered(peer.fit, seeds[tries % len(seeds)], 5000 + tries)
            tries += 1
        seconds = time.perf_counter() - began
        once = (
            f"{seconds / hits:.1f} s a recovery, {seconds / hits / ours:.1f}"
            if hits
            else f"none, over {seconds / ours:.0f}"
        )
        print(f"{name}: {hits} of {tries} tries in {seconds:.0f} s: {once} times ours for all", flush=True)


if __name__ == "__main__":
    studies = {study.__name__: study for study in (half, growth, largest, noise, width, verdicts, peers)}
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    one = [[tuple(map(int, sys.argv[4].split(",")))]] if len(sys.argv) > 4 else []
    some = [tuple(map(float, sys.argv[5].split(",")))] if len(sys.argv) > 5 else []
    studies[sys.argv[1]](range(first, first + count), *one, *some)
