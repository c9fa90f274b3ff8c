"""Ranks under torchrun: the process group, DDP and FSDP2 wrappers, and reductions of a few numbers.

Without torchrun the same code runs as a world of one, without a process group. DDP averages gradients over ranks, so
losses are scaled by world_size / targets of the global batch.
"""

from __future__ import annotations

import inspect
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from slmmodel import torchrun
from slmmodel.errors import Argument, CorruptFile, RankFailed

BYTES_PER_PARAMETER = 16
"""fp32 weight, gradient and two moments of AdamW."""
MAX_DDP_SHARE = 0.5
"""Share of a device's memory that replicated training state may take; `parallel: auto` shards beyond it."""
_ONE_BUCKET_MB = 1 << 20
COLLECTIVE_TIMEOUT = timedelta(minutes=10)
"""For a rank whose machine vanished; a process that ends closes its connections and is noticed at once."""
POLL_SECONDS = 0.02
QUIET_SECONDS = 5.0
"""After which waiting for other ranks is noted."""


@dataclass(frozen=True)
class World:
    """This process and how many there are."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    fsdp: bool = False
    """Whether parameters are sharded over ranks (FSDP2)."""

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and messages."""
        return self.rank == 0

    def reduce(self, operation: Literal["sum", "max", "min"], numbers: Sequence[float]) -> list[float]:
        """The sums, maxima or minima of numbers over ranks, in float64."""
        if self.size == 1:
            return list(numbers)
        values = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(values, op=getattr(dist.ReduceOp, operation.upper()))
        return [float(value) for value in values.tolist()]

    def barrier(self) -> None:
        """Waits for all ranks."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def process_group(device: torch.device, note: Callable[[str], None] = lambda text: None) -> Iterator[World]:
    """The process group that torchrun describes in the environment; a world of one without it.

    On CUDA each process uses the device of its local rank. A group that the caller has made is used and left as it is.
    `note` takes a remark about a long wait. Raises `InvalidInput` for a wrong environment, and `RankFailed` in the
    block where another rank has ended.
    """
    if not torchrun.is_rank():
        yield World(device=device)
        return
    if device.type == "cuda":
        device = torch.device("cuda", torchrun.number("LOCAL_RANK", 0))
        torch.cuda.set_device(device)
    is_own = not dist.is_initialized()
    with rank_failures():
        if is_own:
            backend = "nccl" if device.type == "cuda" else "gloo"
            store, rank, size = _heard(_joined_store, note)
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=COLLECTIVE_TIMEOUT)
        try:
            yield World(dist.get_rank(), dist.get_world_size(), device)
        finally:
            if is_own:
                dist.destroy_process_group()


@contextmanager
def waiting_ranks() -> Iterator[World]:
    """The processes that torchrun started, where they only wait for one another: their group needs no GPU.

    A group that the caller has made is used on its device.
    """
    is_on_cuda = torchrun.is_rank() and dist.is_initialized() and dist.get_backend() == "nccl"
    with process_group(torch.device("cuda" if is_on_cuda else "cpu")) as world:
        yield world


def _heard(call: Callable[[], Any], note: Callable[[str], None]) -> Any:
    """The result of a call that waits for other ranks, in a thread: torch waits without hearing signals.

    A call that a signal ends goes on in its thread until the process ends.
    """
    done: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            done.append((call(), None))
        except BaseException as error:
            done.append((None, error))

    thread, started = Thread(target=run, daemon=True), time.monotonic()
    thread.start()
    is_noted = False
    while not done:
        thread.join(POLL_SECONDS)
        if not is_noted and time.monotonic() > started + QUIET_SECONDS:
            is_noted = True
            address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            note(f"rank {os.environ['RANK']} waits for all {os.environ['WORLD_SIZE']} ranks at {address}")
    result, error = done[0]
    if error is not None:
        raise error
    return result


def is_restart() -> bool:
    """Whether torchrun has started this process in place of one that failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


class Replacement:
    """Whether `force` has yet to replace the run at a path, as torchrun's agent stores it: it survives restarts.

    Without an agent nothing is stored, and nothing is pending.
    """

    def __init__(self, path: Path) -> None:
        self._key, self._store = f"slm/replacement/{path.absolute()}", None
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            address = os.environ["MASTER_ADDR"], torchrun.number("MASTER_PORT")
            self._store = dist.TCPStore(*address, timeout=COLLECTIVE_TIMEOUT)  # type: ignore[attr-defined]

    def set(self, *, is_pending: bool) -> None:
        """Stores whether the run has yet to be replaced."""
        if self._store is not None:
            self._store.set(self._key, str(is_pending))

    @property
    def is_pending(self) -> bool:
        """Whether an earlier start has stored that it will replace the run, and not that it has."""
        return self._store is not None and self._store.check([self._key]) and self._store.get(self._key) == b"True"


@cache
def _environment_store() -> tuple[Any, int, int]:
    """The store that torchrun names, rank and world size. It is kept: without torchrun's agent, rank 0 serves it."""
    store, rank, size = next(dist.rendezvous("env://", timeout=COLLECTIVE_TIMEOUT))  # type: ignore[attr-defined]
    return store, rank, size


def _joined_store() -> tuple[Any, int, int]:
    """The store that all ranks have reached, rank and world size."""
    store, rank, size = _environment_store()
    return _fresh_store(store, rank, size), rank, size


def _fresh_store(store: Any, rank: int, size: int) -> Any:
    """A part of the store that no earlier process group has written: torch would connect to the addresses it left.

    torchrun keeps its store over restarts, and two trainings of one process share it. Rank 0 names the part; the others
    answer with a name of their own and wait until rank 0 has seen it, which the rank 0 of an earlier start never does.
    """
    own = uuid.uuid4().hex
    if rank == 0:
        store.set("slm/start", own)
        answers = [f"slm/{own}/{other}" for other in range(1, size)]
        store.wait(answers, COLLECTIVE_TIMEOUT)
        for answer in answers:
            store.set(f"slm/{own}/{store.get(answer).decode()}", "seen")
        return dist.PrefixStore(f"slm/{own}", store)  # type: ignore[attr-defined]
    deadline, start = time.monotonic() + COLLECTIVE_TIMEOUT.total_seconds(), ""
    while not start or not store.check([f"slm/{start}/{own}"]):
        if time.monotonic() > deadline:
            raise dist.DistStoreError("rank 0 does not answer")
        if start != (start := store.get("slm/start").decode()):
            store.set(f"slm/{start}/{rank}", own)
        time.sleep(POLL_SECONDS)
    return dist.PrefixStore(f"slm/{start}", store)  # type: ignore[attr-defined]


def _meeting_place() -> str:
    """Where the ranks meet, as the end of a sentence; nothing for a group that the caller made."""
    address = [os.environ.get(name) for name in ("MASTER_ADDR", "MASTER_PORT")]
    minutes = COLLECTIVE_TIMEOUT.total_seconds() / 60
    wait = f", and wait for one another for {minutes:g} minutes"
    return f", meet at {address[0]}:{address[1]} (MASTER_ADDR, MASTER_PORT){wait}" if all(address) else wait


@contextmanager
def rank_failures() -> Iterator[None]:
    """Raises what a backend says about a broken connection as `RankFailed`, with the same text on every rank."""
    try:
        yield
    except RuntimeError as error:
        network = (dist.DistBackendError, dist.DistNetworkError, dist.DistStoreError)
        if not isinstance(error, network) and "gloo" not in str(error).lower():
            raise
        raise RankFailed(
            "another process of this training ended, or is not reachable",
            where="its own message, or torchrun's below as Root Cause, has the reason",
            limit=f"all processes train together{_meeting_place()}",
            fix=(
                "run the same command again, without ",
                Argument("force"),
                ": it continues from the newest checkpoint; or torchrun --max-restarts 3",
            ),
        ) from error


def uses_fsdp(parallel: str, parameters: int, world: World) -> bool:
    """Whether to shard parameters: as `run.parallel` says; `auto` shards what replicated would fill half a GPU."""
    if world.size == 1 or parallel != "auto" or world.device.type != "cuda":
        return world.size > 1 and parallel == "fsdp"
    memory = torch.cuda.get_device_properties(world.device).total_memory
    return BYTES_PER_PARAMETER * parameters > MAX_DDP_SHARE * memory


def apply_fsdp(model: nn.Module, world: World, short_type: torch.dtype | None) -> None:
    """FSDP2: shards each block, then the rest, in place.

    With a short type, parameters are gathered in it, except those of modules with the attribute `keeps_fp32`.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh(world.device.type, (world.size,))
    policy = MixedPrecisionPolicy(param_dtype=short_type, reduce_dtype=torch.float32 if short_type else None)
    for block in getattr(model, "blocks", []):
        for module in block.modules():
            if getattr(module, "keeps_fp32", False):
                fully_shard(module, mesh=mesh, mp_policy=MixedPrecisionPolicy())
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def wrap_ddp(model: nn.Module, world: World) -> nn.Module:
    """DDP with one gradient bucket, so that its layout does not depend on sizes."""
    ids = [world.device.index] if world.device.type == "cuda" else None
    ddp = nn.parallel.DistributedDataParallel
    # Buffers are tables that every rank computes. Newer versions of torch have another name for the option.
    names = ("forward_sync_buffers", "broadcast_buffers")
    options: dict[str, Any] = {next(name for name in names if name in inspect.signature(ddp).parameters): False}
    return ddp(model, device_ids=ids, bucket_cap_mb=_ONE_BUCKET_MB, **options)


def sync_gradients(model: Any, world: World, enabled: bool) -> AbstractContextManager[Any]:
    """A context in which a backward pass reduces gradients over ranks, or accumulates them locally."""
    context: AbstractContextManager[Any] = nullcontext()
    if world.fsdp:
        model.set_requires_gradient_sync(enabled)
    elif world.size > 1 and not enabled:
        context = model.no_sync()
    return context


def gather(tensor: Tensor) -> Tensor:
    """The whole of a tensor that may be sharded. A collective call for sharded ones."""
    full: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return full


def load_tensors(
    what: str,
    own: Mapping[str, Tensor],
    stored: Mapping[str, Tensor],
    *,
    dtype: torch.dtype | None = None,
    where: str | None = None,
    fix: str,
) -> None:
    """Copies stored tensors into `own`, which may be sharded. `dtype`: of all stored ones; by default as `own`.

    Raises `CorruptFile` for a tensor that is missing, unknown, or of another shape or type.
    """
    for name in sorted(own.keys() ^ stored.keys()):
        fact = f"{what} {'lacks' if name in own else 'has an unknown entry'} {name!r}"
        raise CorruptFile(fact, where=where, fix=fix)
    for name, tensor in own.items():
        value = stored[name]
        if value.shape != tensor.shape:
            fact = f"{name!r} of {what} has shape {list(value.shape)}, not {list(tensor.shape)}"
            raise CorruptFile(fact, where=where, fix=fix)
        if value.dtype != (expected := dtype or tensor.dtype):
            # Rounded values would be loaded without a sign of it.
            types = [str(each).removeprefix("torch.") for each in (value.dtype, expected)]
            fact = f"{name!r} of {what} has the type {types[0]}, not {types[1]}"
            raise CorruptFile(fact, where=where, fix=fix)
        if hasattr(tensor, "full_tensor") and not hasattr(value, "full_tensor"):
            from torch.distributed.tensor import distribute_tensor

            value = distribute_tensor(value.to(tensor.device), tensor.device_mesh, tensor.placements)  # type: ignore[attr-defined]
        with torch.no_grad():
            tensor.copy_(value)
