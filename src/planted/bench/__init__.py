"""Drawn teachers, this package and other tools on the same rows: who recovers them?"""

from planted.bench._cells import FULL, QUICK, BenchCell
from planted.bench._contest import bench, contest, draw, read_records, summary
from planted.bench._peers import PEERS, OutOfTime, Peer, own

__all__ = [
    "FULL",
    "PEERS",
    "QUICK",
    "BenchCell",
    "OutOfTime",
    "Peer",
    "bench",
    "contest",
    "draw",
    "own",
    "read_records",
    "summary",
]
