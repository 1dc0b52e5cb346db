"""Makes compilation cheap in tests, and keeps their process below the memory maps that the system allows it."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# Tests compile many programs and run each for an instant: the compiler's optimisations cost more than they save.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

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
