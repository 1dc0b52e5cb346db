"""Drawn and trained teachers, this package and other tools on the same rows: who recovers them?"""

from planted.bench._cells import CELLS, FULL, LAWS, QUICK, TRAINED, BenchCell, trained
from planted.bench._contest import bench, contest, draw, read_records, summary
from planted.bench._peers import PEERS, OutOfTime, Peer, own

__all__ = [
    "CELLS",
    "FULL",
    "LAWS",
    "PEERS",
    "QUICK",
    "TRAINED",
    "BenchCell",
    "OutOfTime",
    "Peer",
    "bench",
    "contest",
    "draw",
    "own",
    "read_records",
    "summary",
    "trained",
]
