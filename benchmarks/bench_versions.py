"""The drawn cells of `planted bench` by this version and by an earlier one, in turns: recovered, and processor seconds.

    git worktree add --detach ../before b20ce75
    python benchmarks/bench_versions.py ../before/src [first seed] [teachers] [cell …]     # about half an hour for all

Cells are numbers, as the table has them. Every cell is a process of each version, one after the other. The first
teacher is fitted once before anything is timed, so that compilation is left out. The seconds are the processor's, of
all threads; the ratio is that of the sums over all teachers, beside that of the medians.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"

RUN = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
try:
    from planted.bench import CELLS, own
    cells = CELLS["drawn"]
except ImportError:
    from planted.reproduce._bench_cells import FULL as cells
    from planted.reproduce._bench_peers import own
from planted import match
index, first, count = map(int, sys.argv[1:])
cell, fit, errors, seconds = cells[index], own("auto"), [], []
for turn, seed in enumerate([first, *range(first, first + count)]):
    data, began = cell.data(seed), time.process_time()
    network = fit(data.X, data.y, cell, seed, np.inf)
    if turn:
        seconds.append(time.process_time() - began)
        errors.append(float(match(network, data.teacher).weight_error))
print(json.dumps(dict(cell=str(cell), noise=cell.noise, errors=errors, seconds=seconds)))
"""


def run(source: Path, index: int, first: int, count: int) -> dict:
    """One cell by the version whose source lies in `source`."""
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, (index, first, count))], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(source)}, check=False)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"cell {index} of {source} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def recovered(result: dict) -> int:
    """Teachers whose weights are right: to a millionth, with noise to a tenth, where `planted bench` is stricter."""
    return sum(error < (1e-6 if not result["noise"] else 0.1) for error in result["errors"])


def main() -> None:
    """Print a line a cell."""
    import numpy as np

    before = Path(sys.argv[1]).resolve()
    first, count = (int(sys.argv[place]) if len(sys.argv) > place else usual for place, usual in ((2, 60), (3, 20)))
    cells = [int(word) for word in sys.argv[4:]] or range(20)
    print(f"{'':>2} {'cell':>58} {'before':>7} {'now':>5} {'before':>9} {'now':>9} {'sums':>6} {'medians':>7}")
    for index in cells:
        old, new = run(before, index, first, count), run(HERE, index, first, count)
        medians = [float(np.median(result["seconds"])) for result in (old, new)]
        print(
            f"{index:>2} {new['cell']:>58} {recovered(old):>7} {recovered(new):>5} "
            f"{medians[0]:>7.2f} s {medians[1]:>7.2f} s "
            f"{sum(new['seconds']) / sum(old['seconds']):>6.2f} {medians[1] / medians[0]:>7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
