"""The door to Ray: connecting, and running tasks whose results come back in order.

A task is a generator, so its results are taken while it still works. Where a worker dies, Ray runs its task again and
drops what had been taken already: tasks must give the same results each time, which all of ours do.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from slmtok._engine import VERSION
from slmtok.errors import ClusterFailed, MissingExtra, SlmtokError

RETRIES = 5
"""How often a task is run again whose worker died."""
LOCAL = "local"
"""The address that starts a cluster on this machine alone."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at `address`; one that is connected already stays so.

    address: "auto" for the cluster that this machine belongs to, "local" for one of its own, or as Ray spells it.
    Raises `MissingExtra`, `ClusterFailed`.
    """
    # Ray sends what it calls usage statistics to its makers unless told otherwise.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtra(
            "many machines need the package ray, which is not installed", fix="pip install 'slmtok[ray]'", package="ray"
        ) from None
    if ray.is_initialized():
        yield ray
        return
    try:
        ray.init(
            address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=_dashboard(address)
        )
    except Exception as error:
        # Connection errors, wrong versions, addresses that are none: of many classes, and the sentence says which.
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClusterFailed(
            f"cannot reach a Ray cluster at {address!r}: {told}",
            where="ray=",
            fix=f"start one with ray start --head, or ray={LOCAL!r} for this machine alone",
            address=address,
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _dashboard(address: str) -> bool | None:
    """No dashboard for a cluster of our own; that of others is theirs."""
    return False if address == LOCAL else None


def workers_of(ray: Any) -> int:
    """How many tasks the cluster runs at a time, at least 1."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def in_order(ray: Any, task: Callable[..., Iterator[Any]], jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Runs `task(*job)` for each job on the cluster, and gives all that they yield in the order of the jobs.

    Twice as many jobs as the cluster has processors are under way at a time. What a task raises of ours is raised here;
    raises `ClusterFailed` where a task could not be finished.
    """
    remote = ray.remote(_versioned).options(num_cpus=1, max_retries=RETRIES, num_returns="streaming")
    waiting: Iterable[tuple[Any, ...]] = iter(jobs)
    running: deque[Any] = deque()
    most = 2 * workers_of(ray)
    try:
        for job in waiting:
            running.append(remote.remote(VERSION, task, *job))
            if len(running) >= most:
                yield from _results(ray, running[0])
                running.popleft()
        while running:
            yield from _results(ray, running[0])
            running.popleft()
    finally:
        for left in running:
            ray.cancel(left, force=False)


def _versioned(version: str, task: Callable[..., Iterator[Any]], *job: Any) -> Iterator[Any]:
    """A task, on a machine that has the same version as the one which asked: others may cut text differently."""
    if version != VERSION:
        raise ClusterFailed(
            f"a worker has slmtok {VERSION}, and this machine {version}",
            limit="one version on all machines",
            fix=f"pip install slmtok=={version} on all of them",
        )
    yield from task(*job)


def _results(ray: Any, running: Any) -> Iterator[Any]:
    try:
        for reference in running:
            yield ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SlmtokError):
            raise error.cause from None
        told = (str(error.cause).splitlines() or [""])[0]
        raise ClusterFailed(
            f"a task failed with {type(error.cause).__name__}: {told}",
            where="a worker of the cluster",
            fix="see that all machines have the same slmtok and see the same files",
        ) from error
    except ray.exceptions.RayError as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClusterFailed(
            f"the cluster could not finish a task: {told}",
            limit=f"a task is run again {RETRIES} times",
            fix="see the logs of Ray, and run the same command again",
        ) from error
