"""Ray: connecting, and an ordered map over tasks.

A task is a generator, so its results are consumed while it runs. If a worker dies, Ray runs its task again and drops
the results that were consumed: tasks must be deterministic.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from slmtok._engine import VERSION
from slmtok.errors import ClusterFailed, Setting, SlmtokError, missing_extra

MAX_RETRIES = 5
"""How often a task runs again after its worker died."""
LOCAL = "local"
"""The address of a cluster on this machine alone, which is started."""
_ANSWER_SECONDS = 5
"""How long a cluster has to accept a connection."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at `address`; an existing connection is kept.

    address: "auto" for the cluster of this machine, "local" to start one, or any address of Ray.
    Raises `MissingExtra`, `ClusterFailed`.
    """
    # Ray sends usage statistics unless this is set.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("--ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    dashboard = False if address == LOCAL else None
    try:
        _check_answers(address)
        with _kept_sigterm():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=dashboard)
    except Exception as error:
        # Connection errors, version conflicts, invalid addresses: of many classes; the first line names the cause.
        raise ClusterFailed(
            f"cannot reach a Ray cluster at {address!r}: {_first_line(error)}",
            where=(Setting("ray"),),
            fix=("start one with ray start --head, or ", Setting("ray", LOCAL), " for this machine alone"),
            address=address,
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _kept_sigterm() -> Iterator[None]:
    """Leaves the handler of SIGTERM as it is: Ray sets one that ends the process with status 15."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        # None is a handler that Python did not set; Ray sets its own in the main thread alone.
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _check_answers(address: str) -> None:
    """Raises `OSError` where nothing listens at `host:port`: Ray itself would try for 100 seconds."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()


def workers_of(ray: Any) -> int:
    """Number of tasks that the cluster runs at a time, at least 1."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def ordered_map(ray: Any, task: Callable[..., Iterator[Any]], jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Runs `task(*job)` for each job on the cluster; yields all their results in the order of the jobs.

    At most two jobs per processor are in flight. Raises the `SlmtokError` of a task, and `ClusterFailed` where a task
    could not be finished.
    """
    remote = ray.remote(_with_version).options(num_cpus=1, max_retries=MAX_RETRIES, num_returns="streaming")
    pending = iter(jobs)
    running: deque[Any] = deque()
    limit = 2 * workers_of(ray)
    try:
        while True:
            running.extend(remote.remote(VERSION, task, *job) for job in islice(pending, limit - len(running)))
            if not running:
                return
            yield from _results(ray, running[0])
            running.popleft()
    finally:
        for left in running:
            ray.cancel(left, force=False)


def _first_line(error: Any) -> str:
    """The first line of an error's text, or its class where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _with_version(version: str, task: Callable[..., Iterator[Any]], *job: Any) -> Iterator[Any]:
    """A task, if the worker has the version of the caller: other versions may split text differently."""
    if version != VERSION:
        raise ClusterFailed(
            f"a worker has slmtok {VERSION}, and this machine {version}",
            limit="the same version on all machines",
            fix=f"install slmtok {version} on all of them, from one wheel or checkout",
        )
    yield from task(*job)


def _results(ray: Any, running: Any) -> Iterator[Any]:
    try:
        for reference in running:
            yield ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SlmtokError):
            raise error.cause from None
        raise ClusterFailed(
            f"a task failed with {type(error.cause).__name__}: {_first_line(error.cause)}",
            where="a worker of the cluster",
            fix="check that all machines have the same version of slmtok and the same files",
        ) from error
    except ray.exceptions.RayError as error:
        raise ClusterFailed(
            f"the cluster could not finish a task: {_first_line(error)}",
            limit=f"{MAX_RETRIES} retries per task",
            fix="check the logs of Ray, and run the same command again",
        ) from error
