"""How many rows a weight it takes to recover a network, for us and for a peer: one picture.

Run as `python benchmarks/bench_map.py map.jsonl [--picture map.png] [--teachers 3] [--first 900]`, or in parts with
`--ratios`: what stands in the file is not made again. ReLU teachers with Gaussian rows and outputs of mixed sign, d = 8
inputs, k neurons, n = ratio·kd rows without noise. Ours runs first. Adam restarts (optax), of the peers of `planted
bench` the best one where rows are few, are finished by our polish and get as many seconds for the same teacher, and
five at least. Such a network has kd numbers once the scale between its layers is taken off: with fewer rows than that,
one row a weight, nobody can tell which one it was.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from planted.bench import BenchCell, contest

INPUTS = 8
WIDTHS = (2, 4, 8, 12)
RATIOS = (0.75, 1.5, 2.0, 3.0, 6.0)
PEER = "optax Adam multi-start"
SECONDS = 5.0


def records(cell: BenchCell, seed: int) -> list[dict[str, Any]]:
    """What we and the peer make of one teacher."""
    ours = next(iter(contest(cell, seed, (), [])))
    patience = max(1.0, SECONDS / ours["seconds"])
    return list(contest(cell, seed, (PEER,), [ours], patience))


def shares(entries: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Share of teachers recovered by contender, (widths, ratios); NaN where none was tried."""
    hits: dict[Any, list[bool]] = defaultdict(list)
    for entry in entries:
        hits[entry["contender"], entry["cell"]["k"], entry["cell"]["ratio"]].append(bool(entry["success"]))
    return {
        name: np.array([[np.mean(hits[name, k, ratio] or [np.nan]) for ratio in RATIOS] for k in WIDTHS])
        for name in ("planted", PEER)
    }


def draw(found: dict[str, np.ndarray], path: Path) -> None:
    """The map: a panel a contender, the line that nobody can pass at one row a weight."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {"planted": "planted", PEER: "Adam restarts (optax) with our polish"}
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, constrained_layout=True)
    for axes, (name, share) in zip(panels, found.items(), strict=True):
        image = axes.imshow(share, origin="lower", aspect="auto", vmin=0, vmax=1, cmap="Blues")
        for (row, column), value in np.ndenumerate(share):
            colour = "white" if value > 0.6 else "black"
            axes.text(column, row, "" if np.isnan(value) else f"{value:.2g}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(RATIOS)), [f"{ratio:g}" for ratio in RATIOS])
        axes.set_yticks(range(len(WIDTHS)), [f"{k / INPUTS:g}" for k in WIDTHS])
        axes.axvline(float(np.interp(1.0, RATIOS, range(len(RATIOS)))), color="crimson", linewidth=2)
        axes.set(title=titles[name], xlabel="rows a weight, n/(kd); red: as many rows as numbers")
    panels[0].set_ylabel("neurons an input, k/d")
    figure.colorbar(image, ax=panels, label="share recovered")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure what is missing, print the shares, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path, help="file of records, one a line")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--teachers", type=int, default=3)
    parser.add_argument("--first", type=int, default=900, help="first seed")
    parser.add_argument("--ratios", type=float, nargs="*", default=RATIOS, help="measure only these now")
    asked = parser.parse_args()
    lines = asked.record.read_text().splitlines() if asked.record.exists() else []
    entries = [json.loads(line) for line in lines]
    made = {(entry["cell"]["k"], entry["cell"]["ratio"], entry["seed"]) for entry in entries}
    for seed in range(asked.first, asked.first + asked.teachers):
        for k, ratio in [(k, ratio) for ratio in asked.ratios for k in WIDTHS if (k, ratio, seed) not in made]:
            new = records(BenchCell(INPUTS, k, ratio), seed)
            entries += new
            with asked.record.open("a") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in new)
            told = ", ".join(f"{entry['contender']} {entry['success']} in {entry['seconds']:.1f} s" for entry in new)
            print(f"k = {k}, n = {ratio:g}kd, seed {seed}: {told}", flush=True)
    found = shares(entries)
    for name, share in found.items():
        print(f"{name}: rows a weight " + ", ".join(f"{ratio:g}" for ratio in RATIOS))
        for k, line in zip(WIDTHS, share, strict=True):
            print(f"  k/d = {k / INPUTS:g}: " + "  ".join(f"{value:.2g}" for value in line))
    if asked.picture:
        draw(found, asked.picture)


if __name__ == "__main__":
    main()
