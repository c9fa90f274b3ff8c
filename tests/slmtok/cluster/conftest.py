"""A Ray cluster of two nodes on this machine, for the tests that are marked `cluster`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MEMORY = 80 << 20


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """`ray`, connected to a cluster of two nodes, four workers in all."""
    here = Path(__file__).resolve()
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Workers import the package and the tasks of these tests.
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([str(here.parents[3]), str(here.parent), os.environ.get("PYTHONPATH", "")])
        )
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": MEMORY}
        nodes = Cluster(initialize_head=True, head_node_args=head)
        nodes.add_node(num_cpus=2, object_store_memory=MEMORY)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        try:
            yield ray
        finally:
            ray.shutdown()
            nodes.shutdown()
