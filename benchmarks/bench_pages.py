"""Size and opening time of a report of 100 neurons on 100 inputs, and frames a second of the explorer.

Usage
-----
    bench_pages.py [SECONDS]

Headless Chromium, as in the tests of pages. The report is that of a network by construction with 2,000 rows: below 3
MB, open in less than a second. The explorer runs each loss, and races of two, on 6 neurons and 6 inputs for SECONDS
seconds (3): at least 30 frames a second.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from browser import browser
from planted import Network
from planted.pages import Subject, evidence, write_explorer, write_report

FRAMES = """
const [seconds, done] = arguments;
let count = 0, first = null;
function next(now) {
  if (first === null) first = now; else count += 1;
  if (now - first < 1000 * seconds) requestAnimationFrame(next); else done(1000 * count / (now - first));
}
if (!Explorer.state.running) Explorer.running(true);
requestAnimationFrame(next);
"""
RUNS = (("squared", ""), ("f'", ""), ("G", ""), ("F", ""), ("L", ""), ("squared", "G"), ("squared", "F"))


def report(folder: Path) -> Path:
    """The page of 100 neurons on 100 inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 100))
    network = Network(rng.normal(size=(100, 100)), rng.normal(size=100), bias=rng.normal(size=100)).canonical()
    y = network.predict(X) + rng.normal(size=2000)
    about = Subject(network, "estimated", "by construction", evidence=evidence(network, X, y))
    return write_report(folder / "report.html", about)


def main() -> int:
    """Print the numbers; the exit status is 1 if one of them misses its limit."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    with tempfile.TemporaryDirectory() as name, browser() as driver:
        page = report(Path(name))
        size = page.stat().st_size / 2**20
        driver.get(page.as_uri())
        opened = driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        print(f"report of 100 × 100: {size:.2f} MB, open after {opened:.2f} s")
        driver.get(write_explorer(Path(name) / "explore.html").as_uri())
        slowest = np.inf
        for loss, rival in RUNS:
            driver.execute_script(
                "Explorer.choose(arguments[0]); Explorer.readControls(); Explorer.restart()",
                {"loss": loss, "rival": rival, "neurons": 6, "inputs": 6, "students": 6, "shape": "orthonormal"},
            )
            rate = driver.execute_async_script(FRAMES, seconds)
            steps = driver.execute_script("return Math.max(...Explorer.runners.map((run) => run.steps))")
            shape = driver.execute_script("return Explorer.runners[0].x.length")
            slowest = min(slowest, rate)
            print(
                f"{loss}{' against ' * bool(rival)}{rival}: {rate:.0f} frames a second, {steps} steps, {shape} numbers"
            )
    return int(size > 3 or opened > 1 or slowest < 30)


if __name__ == "__main__":
    sys.exit(main())
