"""Makes compilation cheap in tests, and keeps a process of the suite within its core and its memory."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
import threading
from pathlib import Path
from typing import Any

# A process of the suite has one core: threads of its linear algebra would only wait for one another.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

# Tests compile many programs and run each for an instant: the compiler's optimisations cost more than they save.
# Without the newer emitters of fused loops, and in one piece, a program compiles in less than half the time.
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
        "--xla_cpu_multi_thread_eigen=false",
    ]
).strip()

# Commands that tests start load modules that an earlier one has compiled, whatever the shell says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests neither use nor change the programs that this user's commands have compiled.
os.environ["PLANTED_CACHE"] = "0"

import jax
import pytest
from jax._src import compiler
from jax._src.interpreters import mlir

# Every compiled program holds about ten maps, and Linux allows a process 65,530; beyond, the compiler crashes.
_MAPS = Path("/proc/self/maps")
_MAPS_ALLOWED = 30_000
_EVERY = 20
# Compiled programs also hold memory: they are dropped above this size, once it has grown by the margin again.
_STATM = Path("/proc/self/statm")
_BYTES_ALLOWED = 1_600 * 2**20
_MARGIN = 300 * 2**20
_tests_run = 0
_bytes_after_clearing = 0
_peaks: list[int] = []

# JAX sets up a compiler context for every program, which takes as long as a third of a small program's compilation:
# here the programs of a thread share one, and a new one comes before its constants have grown large.
_PROGRAMS_A_CONTEXT = 50
_contexts = threading.local()
_new_context = mlir.make_ir_context


def _shared_context() -> Any:
    """The compiler context of this thread."""
    count = getattr(_contexts, "count", 0)
    if count % _PROGRAMS_A_CONTEXT == 0:
        _contexts.context = _new_context()
    _contexts.count = count + 1
    return _contexts.context


mlir.make_ir_context = _shared_context

# Of a descent, which is run for thousands of steps, the optimisations do save more than they cost.
_DESCENTS = ("jit__advance",)
_compile = compiler.backend_compile_and_load


def _compile_descents_well(backend: Any, module: Any, devices: Any, options: Any, callbacks: Any) -> Any:
    """The program, optimised where it is run for long."""
    if str(module.operation.attributes["sym_name"]).strip('"').startswith(_DESCENTS):
        options.executable_build_options.debug_options.xla_backend_optimization_level = 1
    return _compile(backend, module, devices, options, callbacks)


compiler.backend_compile_and_load = _compile_descents_well


def _resident() -> int:
    """Bytes of this process that lie in memory; 0 where the system does not say."""
    return int(_STATM.read_text().split()[1]) * resource.getpagesize() if _STATM.exists() else 0


def _give_back() -> None:
    """Ask the C library to return freed memory to the system, where it can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


# How often garbage is looked for in tests.
_GARBAGE = 50_000, 20, 50

# Modules and tests stay: nobody looks for garbage among them while they are collected.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage less often: tracing makes many objects, and what is there before the first test stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    gc.enable()


def _too_many_maps() -> bool:
    return _tests_run % _EVERY == 0 and _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MAPS_ALLOWED


def pytest_runtest_teardown() -> None:
    """Drop compiled programs when they hold too much, and look for garbage as before the test's commands changed it."""
    global _tests_run, _bytes_after_clearing
    gc.set_threshold(*_GARBAGE)
    _tests_run += 1
    if _resident() > max(_BYTES_ALLOWED, _bytes_after_clearing + _MARGIN) or _too_many_maps():
        jax.clear_caches()
        gc.collect()
        _give_back()
        _bytes_after_clearing = _resident()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the most memory that a worker held to the process that reports."""
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    output = getattr(session.config, "workeroutput", None)
    if output is None:
        _peaks.append(peak)
    else:
        output["peak"] = peak


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Note the most memory that a worker held."""
    _peaks.append(getattr(node, "workeroutput", {}).get("peak", 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much memory a process took at most."""
    if _peaks:
        terminalreporter.write_line(f"at most {max(_peaks) / 2**30:.2f} GB a process")
