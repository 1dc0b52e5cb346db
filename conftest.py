"""Keeps a test process below the number of memory maps that the system allows it."""

from __future__ import annotations

import gc
from pathlib import Path

import jax

# Every compiled program holds about ten maps, and Linux allows a process 65,530; beyond, the compiler crashes.
_MAPS = Path("/proc/self/maps")
_ALLOWED = 30_000
_EVERY = 20
_seen = 0


def pytest_runtest_teardown() -> None:
    """Drop compiled programs now and then, when there are too many."""
    global _seen
    _seen += 1
    if _seen % _EVERY == 0 and _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _ALLOWED:
        jax.clear_caches()
        gc.collect()
