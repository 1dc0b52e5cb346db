"""Clusters that are closed to others, lose their workers, or fall silent."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time

import numpy as np
import pytest

from planted.rows import RowsLostError, block_rows, dask_engine, survey
from planted.rows import _dask as dask_module

distributed = pytest.importorskip("distributed")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dask_module, "PATIENCE", 1.2)


def surveyed(engine):
    rows = block_rows(np.arange(40.0).reshape(20, 2), np.arange(20.0), chunk_rows=5)
    return survey(type(rows)(rows.chunks, rows.row_shape, engine, rows.names), 10)


def greeting(address, context):
    """The first bytes that a scheduler sends to whoever may speak to it."""
    host, port = address.removeprefix("tls://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain, context.wrap_socket(plain) as line:
        return line.recv(8)


def test_a_cluster_of_ours_is_closed_to_other_processes():
    pytest.importorskip("cryptography")
    engine = dask_engine(workers=1)
    try:
        assert engine.address.startswith("tls://127.0.0.1")
        assert all(address.startswith("tls://127.0.0.1") for address in engine.client.scheduler_info()["workers"])
        assert surveyed(engine).n_rows == 20
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        other = distributed.Security.temporary().get_connection_args("client")["ssl_context"]
        for context, words in ((stranger, "certificate required"), (other, "unknown ca|decrypt error|certificate")):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with pytest.raises(ssl.SSLError, match=words):
                greeting(engine.address, context)
        own = engine.client.security.get_connection_args("client")["ssl_context"]
        assert greeting(engine.address, own)
    finally:
        engine.close()


def test_a_cluster_without_workers_is_said(impatient):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(RowsLostError, match=r"has had no workers for 1 s: start some, with `dask worker "),
    ):
        surveyed(dask_module.DaskEngine(client))


@pytest.mark.slow
def test_a_scheduler_that_falls_silent_is_said(impatient, monkeypatch, tmp_path):
    monkeypatch.setattr(dask_module, "ANSWER", 0.2)
    place = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(place)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 600
        while not place.is_file() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        client = distributed.Client(scheduler_file=str(place))
        os.kill(scheduler.pid, signal.SIGSTOP)
        with pytest.raises(RowsLostError, match="has not answered for 1 s: see whether its machine is there"):
            surveyed(dask_module.DaskEngine(client))
    finally:
        scheduler.kill()
        scheduler.wait()
        client.close()
