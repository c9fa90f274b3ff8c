"""`TrainStep`: one optimizer step: micro-batches accumulate the gradient of the global batch, which is then applied.

The gradient is the sum of nats over scored targets divided by the targets of the global batch, for any micro-batch and
world size. Out of memory on one process replays the same sequences with the next smaller micro-batch; on several ranks
it ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from slmmodel.accel.cpu import CpuParallel
from slmmodel.checkpoint import gather
from slmmodel.data import Batch, Cursor, Loader
from slmmodel.data.spans import Ints
from slmmodel.distributed import World, replicate, sync_gradients
from slmmodel.errors import OutOfMemory
from slmmodel.mixing import mix
from slmmodel.optim import Optimizer, clip
from slmmodel.training import microbatch
from slmmodel.training.guards import LossGuard
from slmmodel.training.loss import Loss
from slmmodel.training.recurrent_state import RecurrentState

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model

SHORT_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def resolve_precision(asked: str, device: torch.device) -> str:
    """`auto` is bf16 on CUDA devices that have it, fp16 on older ones, else fp32."""
    if asked != "auto":
        return asked
    if device.type != "cuda":
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported() else "fp16"


class StepResult(NamedTuple):
    """Totals of the global batch, the same on every rank."""

    loss: float
    """Nats per target."""
    nats: float
    norm: float
    """Of the gradient, before clipping."""
    bytes: int
    documents: int
    """Documents whose end was a target."""
    applied: bool
    """Whether weights were changed."""


class TrainStep:
    """Trains a model on the steps of a loader. `micro_batch` is lowered where memory runs out."""

    def __init__(
        self,
        model: Model,
        loader: Loader,
        optimizer: Optimizer,
        loss: Loss,
        world: World,
        *,
        precision: str,
        micro_batch: int,
        grad_clip: float | None = 1.0,
        seed: int = 0,
        cpu_accel: bool = True,
    ) -> None:
        self.model, self.loader, self.optimizer, self.loss, self.world = model, loader, optimizer, loss, world
        self.precision, self.micro_batch, self.grad_clip, self.seed = precision, micro_batch, grad_clip, seed
        self.guard = LossGuard()
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=precision == "fp16")
        stateful = loader.pack == "stateful" and hasattr(model, "init_hidden")
        self.recurrent = RecurrentState(model, loader.batch_size, world.device) if stateful else None
        self._dropout = bool(getattr(model.config, "dropout", 0.0))
        # Dropout draws from one generator in order, and a recurrent state is written by one forward pass.
        splits = world.size == 1 and world.device.type == "cpu" and self.recurrent is None and not self._dropout
        self._cpu_parallel = CpuParallel(optimizer.parameters) if cpu_accel and splits else None
        self._eos = loader.vocab.specials.get("eos")
        self._wide = torch.float32 if world.device.type == "mps" else torch.float64
        self._wrapped: Any = model
        if world.size > 1 and not world.sharded:
            self._wrapped = replicate(model, world)
            self._fix_bucket_layout()
        self._call = self._wrapped

    def run(self, sequences: Ints, n_targets: int, step: int, upcoming: Ints | None = None) -> StepResult:
        """One step on the global batch [batch_size, 3]; `upcoming` is the next one, for the prefetcher.

        Raises `OutOfMemory` where a single sequence does not fit, or on any rank of several.
        """
        while True:
            totals = None
            try:
                totals = self._accumulate(sequences, max(n_targets, 1), step, upcoming)
            except Exception as error:
                if not microbatch.is_out_of_memory(error):
                    raise
            if totals is not None:
                return self._update(totals, n_targets)
            self._shrink(len(sequences))

    def _shrink(self, batch_size: int) -> None:
        """Drops partial gradients and lowers the micro-batch; on several ranks, ends the run."""
        self.optimizer.zero_grad()
        microbatch.release_memory(self.world.device)
        smaller = microbatch.next_smaller(self.micro_batch, max(-(-batch_size // self.world.size), 1))
        if self.world.size > 1:
            raise OutOfMemory(
                f"out of memory on rank {self.world.rank} with a micro-batch of {self.micro_batch}",
                limit="several ranks cannot replay a step together",
                fix=f"run the same command with --micro-batch {smaller}; it continues from the last checkpoint",
            )
        self.micro_batch = smaller

    def _micro_batches(self, sequences: Ints) -> list[tuple[Ints, float]]:
        """This rank's micro-batches with their weights.

        All ranks get equally many, because forward and backward passes may be collective; a rank without sequences of
        its own repeats the first one of the step with weight 0.
        """
        mine = sequences[self.world.rank :: self.world.size]
        share = -(-len(sequences) // self.world.size)
        parts = [mine[first : first + self.micro_batch] for first in range(0, share, self.micro_batch)]
        return [(part, 1.0) if len(part) else (sequences[:1], 0.0) for part in parts]

    def _accumulate(self, sequences: Ints, n_targets: int, step: int, upcoming: Ints | None) -> Tensor:
        """Adds up gradients over micro-batches and ranks; gives nats, bytes and documents [3] of the global batch."""
        parts = self._micro_batches(sequences)
        if self.recurrent is not None:
            self.recurrent.begin(int(sequences[0, 2]))
        nats = torch.zeros((), dtype=self._wide, device=self.world.device)
        n_bytes = documents = 0
        for index, (part, weight) in enumerate(parts):
            batch = self.loader.batch(part)
            following = [item for item, _ in parts[index + 1 :]] or self._first_of(upcoming)
            if following:
                self.loader.prefetch(following[0])
            with sync_gradients(self._wrapped, self.world, index + 1 == len(parts)):
                # DDP and FSDP2 average over ranks, hence the factor world_size.
                found = self._backward(batch, weight * self.world.size / n_targets, step)
            if weight:
                nats += found.to(self._wide)
                n_bytes, documents = n_bytes + batch.n_bytes, documents + self._ends(batch)
        totals = torch.cat([nats[None], torch.tensor([n_bytes, documents], dtype=self._wide).to(nats.device)])
        if self.world.size > 1:
            torch.distributed.all_reduce(totals)
        return totals

    def _first_of(self, upcoming: Ints | None) -> list[Ints]:
        return [] if upcoming is None else [part for part, weight in self._micro_batches(upcoming)[:1] if weight]

    def _ends(self, batch: Batch) -> int:
        """Documents whose end is a scored target."""
        return 0 if self._eos is None else int(((batch.targets == self._eos) & batch.target_mask).sum())

    def _backward(self, batch: Batch, factor: float, step: int) -> Tensor:
        """Nats of a micro-batch, detached; adds the gradient of `factor` times them."""
        if self._dropout:
            # Keyed by step and data, so no generator state has to be saved.
            torch.manual_seed(mix(mix(mix(self.seed) ^ step) ^ int(batch.sequences[0, 2])) >> 1)
        if self._cpu_parallel is not None and self._call is self.model and self._cpu_parallel.applies(batch):
            return self._cpu_parallel.backward(batch, self.nats, factor)
        state = None if self.recurrent is None else self.recurrent.read(batch)
        nats = self.nats(batch.to(self.world.device), state)
        if self.recurrent is not None:
            self.recurrent.write(batch, state)
        self.scaler.scale(nats * factor).backward()  # type: ignore[no-untyped-call]
        return nats.detach()

    def nats(self, batch: Batch, state: Any = None) -> Tensor:
        """Nats of all scored targets of a batch on the device."""
        with self._autocast():
            return self.loss.sum(self.model, batch, self._call, state=state)

    def _autocast(self) -> AbstractContextManager[Any]:
        short, device = SHORT_TYPES.get(self.precision), self.world.device.type
        if short is None:
            return nullcontext()
        # Weights are cast once per pass anyway; a cache would join the graphs of the two CPU threads.
        return torch.autocast(device, dtype=short, cache_enabled=device != "cpu")

    def _update(self, totals: Tensor, n_targets: int) -> StepResult:
        """Clips, checks and applies the gradient."""
        if self.scaler.is_enabled():
            self.scaler.unscale_(self.optimizer)  # type: ignore[arg-type]
        norm = gather(clip(self.optimizer.parameters, self.grad_clip)).detach()
        # One synchronisation with the device per step.
        nats, n_bytes, documents, norm_value = torch.cat([totals, norm[None].to(totals)]).tolist()
        loss = nats / max(n_targets, 1)
        applied = self.guard.check(loss, norm_value)
        if applied:
            self.optimizer.step()
        self.scaler.update() if self.scaler.is_enabled() else None
        if self.recurrent is not None:
            self.recurrent.commit()
        self.optimizer.zero_grad()
        return StepResult(loss, nats, norm_value, int(n_bytes), int(documents), applied)

    def attempt(self, sequences: Ints, n_targets: int, step: int) -> None:
        """Forward and backward of these sequences in one micro-batch, without an update, on this rank alone."""
        with sync_gradients(self._wrapped, self.world, False):
            self._backward(self.loader.batch(sequences), 1 / max(n_targets, 1), step)
        self.optimizer.zero_grad()

    def validation_nats(self, batch: Batch) -> Tensor:
        """Nats of a batch in evaluation mode, without gradients."""
        training = self.model.training
        self.model.eval()
        with torch.no_grad(), self._autocast():
            found = self.loss.sum(self.model, batch.to(self.world.device))
        self.model.train(training)
        return found

    def _fix_bucket_layout(self) -> None:
        """DDP rebuilds its bucket in the order of the first backward pass; this happens here, before any step.

        The order of a sum over ranks depends on the place in the bucket, so a resumed run would otherwise differ in
        its first step.
        """
        self._call = self._wrapped
        self._backward(self.loader.batch(self.loader.step(Cursor()).sequences[:1]), 0.0, 0)
        self.optimizer.zero_grad()
        self._wrapped.reducer._rebuild_buckets()

    def compile(self) -> None:
        """Compiles the forward pass; weights and their names stay those of the model."""
        self._call = torch.compile(self._wrapped)

    def close(self) -> None:
        """Ends all threads. The step may be used again."""
        if self._cpu_parallel is not None:
            self._cpu_parallel.close()
        self.loader.close()

    def state(self) -> dict[str, Any]:
        """The JSON part of a checkpoint."""
        return {"guard": self.guard.state(), "scaler": self.scaler.state_dict(), "micro_batch": self.micro_batch}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` gave."""
        self.guard.load(state["guard"])
        if self.scaler.is_enabled():
            self.scaler.load_state_dict(dict(state["scaler"]))
        self.micro_batch = int(state["micro_batch"])
