"""Most of the suite's time is compilation: programs compiled by one worker, subprocess or run serve all others."""

from __future__ import annotations

import os
from pathlib import Path

_CACHE = Path(__file__).parent.parent / ".pytest_cache" / "jax"

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
