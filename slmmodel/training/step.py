"""`TrainStep`: one optimizer step: micro-batches accumulate the gradient of the global batch, which is then applied.

The gradient is that of the mean cross-entropy, in nats per scored target of the global batch, for any micro-batch and
world size. Out of memory on one process replays the same sequences with the next smaller micro-batch; on several ranks
it ends the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from slmmodel import rng
from slmmodel.accel.cpu import CpuParallel
from slmmodel.checkpoint import resume_elsewhere
from slmmodel.config import RunConfig
from slmmodel.data import Batch, Cursor, Loader
from slmmodel.data.loader import GlobalBatch
from slmmodel.data.packing import Ints
from slmmodel.distributed import World, apply_fsdp, gather, load_tensors, sync_gradients, wrap_ddp
from slmmodel.errors import Argument, OutOfMemory
from slmmodel.models import build, count
from slmmodel.models.dropout import dropout_seed
from slmmodel.models.protocol import CarriedState, Model
from slmmodel.optim import build as build_optimizer
from slmmodel.optim import clip
from slmmodel.run_entries import MODEL, OPTIMIZER, RECURRENT
from slmmodel.run_files import GuardState
from slmmodel.sizes import ceil_div
from slmmodel.training import microbatch
from slmmodel.training.loss import Loss
from slmmodel.training.truncated_bptt import TruncatedBPTT

MAX_CONSECUTIVE_SKIPS = 3
SPIKE_WINDOW = 200
SPIKE_SIGMAS = 6.0
MIN_SPIKE_LOSSES = 20
"""Losses in the window before spikes are detected."""
SHORT_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def resolve_precision(precision: str, device: torch.device) -> str:
    """`auto` is bf16 on CUDA devices that have it, fp16 on older ones, else fp32."""
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"


class StepResult(NamedTuple):
    """Totals of the global batch, the same on every rank."""

    loss: float
    """Mean cross-entropy: nats per scored target."""
    sum_nats: float
    """Summed cross-entropy of the scored targets."""
    grad_norm: float
    """Before clipping."""
    bytes: int
    documents: int
    """Documents whose end was a target."""
    applied: bool
    """Whether weights were changed."""
    spike: bool
    """Whether the loss is far above the last ones: `LossGuard.record`."""

    @property
    def bpb(self) -> float | None:
        """Bits per byte of the scored ids, whose lengths `vocab.json` has (specials: 0); None without bytes."""
        return self.sum_nats / (math.log(2) * self.bytes) if self.bytes else None


class MicroBatch(NamedTuple):
    """The sequences of one forward and backward pass on one rank: keys only; `Loader.batch` makes the tensors."""

    sequence_keys: Ints
    """[b, 3]: epoch, block (documents that are shuffled together; packed data are one) and index of each sequence."""
    is_dummy: bool
    """Whether the rank has no sequence left and repeats one, with gradient and loss 0, for the collective calls."""


class InterruptedStepError(Exception):
    """A step was given up between its micro-batches; nothing of it was applied."""


class LossGuard(GuardState):
    """Decides for each step whether it may change weights, and whether its loss is a spike.

    A step whose loss or gradient is not finite changes no weight; three in a row end the run. An overflow of fp16 in
    the gradient alone is none of the three: the loss scale is halved. The state (the fields of `GuardState`) is part of
    a checkpoint, so a resumed run decides as an uninterrupted one does.
    """

    def check(self, loss: float, grad_norm: float, fp16_scale: float = 1.0) -> bool:
        """Whether loss and gradient norm are finite; counts steps where they are not."""
        finite = math.isfinite(loss) and math.isfinite(grad_norm)
        if finite or fp16_scale <= 1.0 or not math.isfinite(loss):
            self.consecutive = 0 if finite else self.consecutive + 1
        self.skipped += not finite
        return finite

    @property
    def should_abort(self) -> bool:
        """Whether three steps in a row were skipped."""
        return self.consecutive >= MAX_CONSECUTIVE_SKIPS

    def record(self, loss: float) -> bool:
        """Adds a loss to the window; True for a spike: more than 6 standard deviations above the window's mean."""
        losses, spike = self.losses, False
        if len(losses) >= MIN_SPIKE_LOSSES:
            spike = loss > float(np.mean(losses)) + SPIKE_SIGMAS * max(float(np.std(losses)), 1e-9)
        if math.isfinite(loss):
            self.losses = [*losses, loss][-SPIKE_WINDOW:]
        return spike


class TrainStep:
    """Model and optimizer of a run, and what a step does with them. `micro_batch` is lowered where memory runs out.

    `take` (a step) calls `_accumulate` (its micro-batches), `_backward` (one of them), `_forward_nats` (autocast) and
    `Loss.sum_nats`, then `_update` (clip and apply). One CPU process calls no `Tensor.backward` where it may split a
    micro-batch: `CpuParallel` halves it over two threads with `torch.autograd.grad`.
    """

    def __init__(self, config: RunConfig, loader: Loader, world: World) -> None:
        run, device = config.run, world.device
        self.loader = loader
        """Of the present stage of the data: `Trainer` sets another where the next stage begins."""
        self.world, self.seed, self.grad_clip = world, run.seed, config.optim.grad_clip
        self.precision = resolve_precision(run.precision, device)
        dtype = torch.float64 if self.precision == "fp64" else torch.float32
        # A model that is to be sharded is initialised in main memory and moved shard by shard.
        self.model = build(config.architecture, seed=run.seed, device="cpu" if world.fsdp else device)
        self.model.to(dtype)
        if world.fsdp:
            apply_fsdp(self.model, world, SHORT_TYPES.get(self.precision))
        self.optimizer = build_optimizer(self.model, config.optim)
        self.loss, self.loss_guard = Loss(doc_mask=config.data.doc_mask), LossGuard(skipped=0, consecutive=0, losses=[])
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision == "fp16")
        self._seq_len = config.seq_len
        self.micro_batch = self._share_of(loader.batch_size)
        """Full-length sequences in a forward pass. A stage of the data (`data.stages`) may have shorter ones."""
        # `stateful` (truncated BPTT), with a model whose state can be carried: `init_hidden` of others is empty.
        stateful = loader.strategy.carries_state and bool(self.model.init_hidden(1, device))
        # The ids that open and close each document, BOS and EOS.
        delimiters = loader.document_block(0).delimiters
        opening = delimiters.opening if self.loss.doc_mask else None
        self.bptt = TruncatedBPTT(self.model, loader.batch_size, device, opening) if stateful else None
        self._dropout, self._compiled = bool(self.model.config.dropout), False
        # Dropout draws from one generator in order, a recurrent state is written by one forward pass, fp16 is scaled.
        one_thread = stateful or self._dropout or self.scaler.is_enabled()
        may_split = run.cpu_accel and world.size == 1 and device.type == "cpu" and not one_thread
        self.is_stopped: Callable[[], bool] = lambda: False
        """Asked before each micro-batch; where ranks work together, none may give a step up alone."""
        self._cpu_parallel = CpuParallel(self.optimizer.parameters) if may_split else None
        self._closing_id = delimiters.closing
        self._sum_dtype = torch.float32 if device.type == "mps" else torch.float64
        # `model` has the names of its parameters; gradients are reduced by `_ddp_or_model`; `_forward` is the latter,
        # or it compiled.
        self._ddp_or_model: Any = self.model
        if world.size > 1 and not world.fsdp:
            self._ddp_or_model = wrap_ddp(self.model, world)
        self._forward: Any = self._ddp_or_model
        if self._ddp_or_model is not self.model:
            self._fix_ddp_bucket()

    def take(self, global_batch: GlobalBatch, step: int, upcoming: GlobalBatch | None = None) -> StepResult:
        """One step on a global batch; `upcoming` is the next one, for the prefetcher.

        Raises `OutOfMemory` where a single sequence does not fit, or on any rank of several; `InterruptedStepError`.
        """
        accumulate = partial(self._accumulate, global_batch, step, upcoming)
        while (totals := microbatch.none_if_out_of_memory(accumulate, self.world.device)) is None:
            self._lower_micro_batch(len(global_batch.sequence_keys))
        return self._update(totals, global_batch.n_targets)

    @property
    def _sequences_per_full_length(self) -> int:
        """Sequences of the present stage in the space of one of `model.seq_len`: 2 at half its length."""
        return max(self._seq_len // self.loader.seq_len, 1)

    def _share_of(self, batch_size: int) -> int:
        """A rank's share of a batch, in sequences of full length, rounded up."""
        return ceil_div(batch_size, self._sequences_per_full_length * self.world.size)

    def _lower_micro_batch(self, batch_size: int) -> None:
        """Drops partial gradients and lowers the micro-batch; on several ranks, ends the run."""
        self.optimizer.zero_grad()
        smaller = microbatch.next_smaller(self.micro_batch, self._share_of(batch_size))
        if self.world.size > 1:
            raise OutOfMemory(
                f"out of memory on rank {self.world.rank} with a micro-batch of {self.micro_batch}",
                limit="several ranks cannot replay a step together",
                fix=(
                    "run it again with ",
                    Argument("run.micro_batch", smaller),
                    "; it continues from the last checkpoint",
                ),
            )
        self.micro_batch = smaller

    def _micro_batches(self, sequence_keys: Ints) -> list[MicroBatch]:
        """This rank's share of the global batch [n, 3], in micro-batches; equally many on all ranks.

        Forward and backward passes may be collective, so a rank without sequences of its own passes dummies.
        """
        own = sequence_keys[self.world.rank :: self.world.size]
        max_share = ceil_div(len(sequence_keys), self.world.size)
        size = self.micro_batch * self._sequences_per_full_length
        slices = (own[first : first + size] for first in range(0, max_share, size))
        return [MicroBatch(keys, False) if len(keys) else MicroBatch(sequence_keys[:1], True) for keys in slices]

    def _accumulate(self, global_batch: GlobalBatch, step: int, upcoming: GlobalBatch | None) -> Tensor:
        """Adds up gradients over micro-batches and ranks; gives [3]: their summed nats, bytes and documents."""
        micro_batches = self._micro_batches(global_batch.sequence_keys)
        following = micro_batches[1:] + ([] if upcoming is None else self._micro_batches(upcoming.sequence_keys)[:1])
        # DDP and FSDP2 average over ranks, hence the world size.
        loss_scale = self.world.size / max(global_batch.n_targets, 1)
        if self.bptt is not None:
            self.bptt.begin(int(global_batch.sequence_keys[0, 2]))
        sum_nats = torch.zeros((), dtype=self._sum_dtype, device=self.world.device)
        n_bytes = documents = 0
        for index, (sequence_keys, is_dummy) in enumerate(micro_batches):
            if self.is_stopped():
                self.optimizer.zero_grad()
                raise InterruptedStepError
            batch = self.loader.batch(sequence_keys)
            if index < len(following):
                self.loader.prefetch(following[index].sequence_keys)
            with sync_gradients(self._ddp_or_model, self.world, index + 1 == len(micro_batches)):
                nats = self._backward(batch, 0.0 if is_dummy else loss_scale, step)
            if not is_dummy:
                sum_nats += nats.to(self._sum_dtype)
                n_bytes += batch.n_bytes
                documents += int(((batch.targets == self._closing_id) & batch.target_mask).sum())
        counts = torch.tensor([n_bytes, documents], dtype=self._sum_dtype).to(sum_nats.device)
        totals = torch.cat([sum_nats[None], counts])
        if self.world.size > 1:
            torch.distributed.all_reduce(totals)
        return totals

    def _backward(self, batch: Batch, loss_scale: float, step: int) -> Tensor:
        """Summed nats of a micro-batch, detached; adds the gradient of `loss_scale` times them."""
        if not self._dropout:
            return self._backward_pass(batch, loss_scale)
        # Keyed by step and data, so no generator state has to be saved.
        seed = rng.key(self.seed, step, int(batch.sequence_keys[0, 2])) >> 1
        with dropout_seed(seed, own=self.world.device.type == "cpu" and not self._compiled):
            return self._backward_pass(batch, loss_scale)

    def _backward_pass(self, batch: Batch, loss_scale: float) -> Tensor:
        if self._cpu_parallel is not None and self._cpu_parallel.applies(batch):
            return self._cpu_parallel.backward(batch, self._forward_nats, loss_scale)
        state = None if self.bptt is None else self.bptt.read(batch)
        sum_nats = self._forward_nats(batch.to(self.world.device), state)
        if self.bptt is not None and state is not None:
            self.bptt.write(batch, state)
        self.scaler.scale(sum_nats * loss_scale).backward()  # type: ignore[no-untyped-call]
        return sum_nats.detach()

    def _forward_nats(self, batch: Batch, state: CarriedState | None = None) -> Tensor:
        """Summed cross-entropy of the scored targets of a batch on the device, in nats: a scalar with its graph."""
        with self._autocast():
            return self.loss.sum_nats(self.model, batch, self._forward, state=state)

    def _autocast(self) -> AbstractContextManager[Any]:
        dtype, device = SHORT_TYPES.get(self.precision), self.world.device.type
        if dtype is None:
            return nullcontext()
        # Weights are cast once per pass anyway; a cache would join the graphs of the two CPU threads.
        return torch.autocast(device, dtype=dtype, cache_enabled=device != "cpu")

    def _update(self, totals: Tensor, n_targets: int) -> StepResult:
        """Clips, checks and applies the gradient."""
        self.scaler.unscale_(self.optimizer)  # type: ignore[arg-type]
        norm = gather(clip(self.optimizer.parameters, self.grad_clip)).detach()
        # All numbers in one transfer from the device.
        sum_nats, n_bytes, documents, grad_norm = torch.cat([totals, norm[None].to(totals)]).tolist()
        loss = sum_nats / max(n_targets, 1)
        applied = self.loss_guard.check(loss, grad_norm, self.scaler.get_scale())
        if applied:
            self.optimizer.step()
        self.scaler.update()
        if self.bptt is not None and applied:
            self.bptt.commit()
        self.optimizer.zero_grad()
        spike = self.loss_guard.record(loss)
        return StepResult(loss, sum_nats, grad_norm, int(n_bytes), int(documents), applied, spike)

    def model_metrics(self, sequence_keys: Ints) -> dict[str, Any]:
        """`Model.metrics` on a sequence [1, 3], as JSON values; a collective call."""
        if type(self.model).metrics is Model.metrics:
            return {}
        batch = self.loader.batch(sequence_keys).to(self.world.device)
        self.model.eval()
        with torch.no_grad(), self._autocast():
            found = self.model.metrics(batch.ids, batch.document_ids)
        self.model.train()
        return {name: gather(value).tolist() for name, value in found.items()}

    def validation_sum_nats(self, batch: Batch) -> Tensor:
        """Summed nats of a batch in evaluation mode, without gradients."""
        self.model.eval()
        with torch.no_grad(), self._autocast():
            sum_nats = self.loss.sum_nats(self.model, batch.to(self.world.device))
        self.model.train()
        return sum_nats

    # ------------------------------------------------------------ before the first step

    def _fix_ddp_bucket(self) -> None:
        """DDP rebuilds its bucket in the order of the first backward pass; this happens here, before any step.

        The order of a sum over ranks depends on the place in the bucket, so a resumed run would otherwise differ in
        its first step.
        """
        self._backward(self.loader.batch(self.loader.global_batch(Cursor()).sequence_keys[:1]), 0.0, 0)
        self.optimizer.zero_grad()
        self._ddp_or_model.reducer._rebuild_buckets()

    def compile(self) -> None:
        """Compiles the forward pass; weights and their names stay those of the model."""
        self._close_cpu_parallel()
        self._forward, self._compiled = torch.compile(self._ddp_or_model), True

    def _train_on(self, size: int) -> None:
        """Forward and backward of the first `size` sequences at once, on this rank alone."""
        keys, n_targets, _ = self.loader.global_batch(Cursor())
        with sync_gradients(self._ddp_or_model, self.world, False):
            self._backward(self.loader.batch(keys[: size * self._sequences_per_full_length]), 1 / max(n_targets, 1), 0)
        self.optimizer.zero_grad()

    def probe_micro_batch(self) -> int:
        """The micro-batch where none is given: measured on CUDA, else estimated; the smallest over ranks."""
        world = self.world
        if world.device.type == "cuda" and not world.fsdp:
            micro_batch = microbatch.fastest(self.micro_batch, world.device, self._train_on)
        else:
            free = microbatch.free_on(world.device, world.size)
            n_passes, model = 1 if self._cpu_parallel is None else 2, self.model.config
            micro_batch = microbatch.estimated(self.micro_batch, model, free, n_passes)
            if world.device.type == "cpu":
                timed = microbatch.limited_in_time(self.micro_batch, model.seq_len * count(model).flops_per_token)
                micro_batch = min(micro_batch, timed)
        return int(world.reduce("min", [micro_batch])[0])

    def seconds_per_step(self, seconds: float) -> float:
        """Mean over at least two real steps after a warm-up step, all undone; of several ranks, the slowest."""
        tensors = {stem: {name: tensor.clone() for name, tensor in of.items()} for stem, of in self.tensors().items()}
        scalars, global_batch = self.scalars(), self.loader.global_batch(Cursor())
        self.optimizer.set_lr_factor(0.0)
        mean = microbatch.mean_seconds(lambda: self.take(global_batch, 0), self.world, calls=2, seconds=seconds)
        self.load(tensors, scalars)
        return mean

    # ------------------------------------------------------------ checkpoints and the end

    def tensors(self) -> dict[str, Mapping[str, Tensor]]:
        """The tensors of a checkpoint, by the stem of their file; they share memory with the state."""
        files: dict[str, Mapping[str, Tensor]] = {MODEL: self.model.state_dict(), OPTIMIZER: self.optimizer.state()}
        if self.bptt is not None:
            files[RECURRENT] = self.bptt.tensors()
        return files

    def scalars(self) -> dict[str, Any]:
        """The numbers of a checkpoint, for its JSON file."""
        return {
            "guard": self.loss_guard.model_dump(),
            "scaler": self.scaler.state_dict(),
            "micro_batch": self.micro_batch,
        }

    def load(
        self,
        tensors: Mapping[str, Mapping[str, Tensor]],
        scalars: Mapping[str, Any],
        folder: Path | None = None,
    ) -> None:
        """Restores what `tensors` and `scalars` gave. `folder`: the checkpoint that has them. Raises `CorruptFile`."""
        where, fix = (None, "") if folder is None else (str(folder), resume_elsewhere(folder))
        for stem, own in self.tensors().items():
            load_tensors(f"{stem}.safetensors", own, tensors[stem], where=where, fix=fix)
        self.loss_guard = LossGuard(**scalars["guard"])
        self.scaler.load_state_dict(dict(scalars["scaler"]))
        self.micro_batch = min(self.micro_batch, int(scalars["micro_batch"]))

    def close(self) -> None:
        """Ends all threads. Nothing may run afterwards."""
        self._close_cpu_parallel()
        self.loader.close()

    def _close_cpu_parallel(self) -> None:
        if self._cpu_parallel is not None:
            self._cpu_parallel.close()
            self._cpu_parallel = None
