"""A Ray cluster of two nodes on this machine, for the tests that are marked `cluster`."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MEMORY = 80 << 20
PATIENCE = {
    # A node that answers late counts as dead after 5 checks, and its tasks as failed: on a busy machine it is alive.
    "RAY_health_check_failure_threshold": "100",
    # Workers are killed where other processes fill the memory of the machine.
    "RAY_memory_monitor_refresh_ms": "0",
}
"""Settings of Ray, whose own are for machines that run nothing else."""
HEAD_OPTIONS = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
"""Without the processes for pages, for logs of workers and for the scaling of a cluster."""
STARTS = 3
"""Attempts to start the cluster: Ray waits 30 s for a node, and no setting makes it wait longer."""


def start(head: dict[str, Any]) -> Any:
    """A cluster of two nodes."""
    from ray.cluster_utils import Cluster

    for attempt in range(1, STARTS + 1):
        nodes = Cluster()
        try:
            nodes.add_node(**head)
            nodes.add_node(num_cpus=1, object_store_memory=MEMORY)
            return nodes
        except Exception as error:
            # Ray raises the class itself.
            nodes.shutdown()
            if attempt == STARTS or "timed out during startup" not in str(error):
                raise
    return None


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """`ray`, connected to a cluster of two nodes with one worker each."""
    here = Path(__file__).resolve()
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for name, value in PATIENCE.items():
            patch.setenv(name, value)
        # Workers import the package and the tasks of these tests.
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([str(here.parents[3]), str(here.parent), os.environ.get("PYTHONPATH", "")])
        )
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        head = {"num_cpus": 1, "object_store_memory": MEMORY, **HEAD_OPTIONS}
        before = signal.getsignal(signal.SIGTERM)
        nodes = start(head)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        # Ray sets its own, which other tests of this process would find.
        signal.signal(signal.SIGTERM, before)
        try:
            yield ray
        finally:
            ray.shutdown()
            nodes.shutdown()
