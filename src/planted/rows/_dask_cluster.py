"""A Dask cluster on this machine: spawned workers of one thread each, closed to other processes, quiet in its logs."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from typing import Any

import dask
import distributed

# One thread a worker, so that two workers on two cores do not compete.
_WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}


class OneThread(distributed.WorkerPlugin):
    """Lets JAX make one thread in a worker: it makes as many as there are cores it may use when it starts.

    Where there is a worker for every core, each stays on its own: a pass ends with its last worker, and one that
    begins on another's core ends late. Otherwise workers may run on any core, and go where other work leaves room.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def setup(self, worker: Any) -> None:
        """Called in a worker before its first task, and in those that replace lost ones."""
        if not hasattr(os, "sched_setaffinity"):
            return
        import jax

        cores = sorted(os.sched_getaffinity(0))
        own = cores[int(worker.name) % len(cores)]
        os.sched_setaffinity(0, {own})
        jax.devices()
        if self.workers == len(cores):
            cores = [own]
        for thread in os.listdir("/proc/self/task"):
            # It may have ended since.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)


def local_cluster(workers: int | None = None) -> tuple[distributed.Client, distributed.LocalCluster]:
    """A client of a new cluster of spawned processes on this machine, one thread each, and the cluster."""
    with dask.config.set(
        {"distributed.nanny.pre-spawn-environ": _WORKER_ENVIRONMENT, "distributed.worker.profile.enabled": False}
    ):
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
            **_security(),
        )  # fmt: skip
    client = distributed.Client(cluster, direct_to_workers=True)
    client.register_plugin(OneThread(len(cluster.workers)))
    return client, cluster


def _security() -> dict[str, Any]:
    """TLS with a key of this run alone, so that no other process on the machine can have code run in the fit."""
    try:
        return {"security": distributed.Security.temporary(), "protocol": "tls://", "host": "127.0.0.1"}
    except ImportError:
        warnings.warn(
            "the local Dask cluster is open to other processes of this machine: install cryptography to close it",
            stacklevel=4,
        )
        return {"host": "127.0.0.1"}


class QuietLogs:
    """Leaves out Dask's own reports of what breaks, tracebacks before our sentence, while the connection is ours."""

    names = ("distributed", "distributed.core", "distributed.client", "asyncio", "tornado.application")

    def __init__(self) -> None:
        self.levels = {name: logging.getLogger(name).level for name in self.names}
        for name in self.names:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def close(self) -> None:
        """As it was."""
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)
