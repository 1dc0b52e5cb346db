"""A study killed ten times at random moments and resumed: are its tables those of an undisturbed run?

Run as `python benchmarks/bench_resume.py [entry] [kills] [shortest seconds] [longest seconds]`.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

PLANTED = Path(sys.executable).with_name("planted")


def main(entry="soltanolkotabi2017", kills=10, shortest=12.0, longest=26.0):
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        calm, hurt = Path(folder) / "calm", Path(folder) / "hurt"

        def begin(out):
            command = [PLANTED, "reproduce", entry, "--quick", "--jobs", "2", "--quiet", "--out", out]
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        for number in range(1, int(kills) + 1):
            run = begin(hurt)
            try:
                run.wait(draw.uniform(float(shortest), float(longest)))
                print(f"done after {number - 1} kills: give shorter times")
                break
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
                print(f"kill {number}: {len(list(hurt.rglob('cells/*.parquet')))} cells are there", flush=True)
        for out in (hurt, calm):
            if begin(out).wait():
                raise SystemExit(f"the run into {out.name} failed")
        tables = [path.relative_to(calm) for path in sorted(calm.rglob("*.parquet"))]
        same = sum((hurt / path).read_bytes() == (calm / path).read_bytes() for path in tables)
        print(f"{same} of {len(tables)} tables have the same bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
