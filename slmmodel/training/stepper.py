"""One step: the gradient of a global batch in micro-batches, added over ranks, clipped, judged, and applied.

Whatever the micro-batch and the number of ranks, the gradient is the sum of nats over scored targets divided by the
targets of the *global* batch. When memory runs out on any rank, all drop what they have and take the same rows again in
smaller parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from slmmodel.data.batch import Batch
from slmmodel.data.loader import Loader
from slmmodel.data.order import mix
from slmmodel.optim import Optimizer, clip
from slmmodel.training import microbatch
from slmmodel.training.carry import carried
from slmmodel.training.guards import Guard
from slmmodel.training.halves import Halves
from slmmodel.training.loss import Loss
from slmmodel.training.precision import Precision
from slmmodel.training.ranks import Ranks

if TYPE_CHECKING:
    from slmmodel.models.protocol import Model

Rows = NDArray[np.int64]


class Stepped(NamedTuple):
    """What a step found: of the global batch, whatever the rank."""

    loss: float
    """Nats a target."""
    nats: float
    norm: float
    """Of the gradient, before clipping."""
    bytes: int
    documents: int
    ok: bool
    """Whether weights were changed."""
    micro: int
    """Rows at once that it took in the end."""


class Stepper:
    """Trains a model on batches of a loader. `micro` is lowered where memory runs out, and stays so."""

    def __init__(
        self,
        model: Model,
        loader: Loader,
        optimizer: Optimizer,
        loss: Loss,
        precision: Precision,
        *,
        ranks: Ranks,
        micro: int,
        limit: float | None = 1.0,
        seed: int = 0,
        call: Any = None,
    ) -> None:
        self.model, self.loader, self.optimizer, self.loss, self.precision = model, loader, optimizer, loss, precision
        self.ranks, self.micro, self.limit, self.seed = ranks, micro, limit, seed
        self.guard = Guard()
        self.carry = carried(model, loader.pack, loader.rows_per_step, ranks.device)
        self._call = model if call is None else call
        self._drops = model.config.dropout > 0
        # Not with dropout, whose draws follow one another, nor with lanes, which hand on what a forward pass left.
        shared = ranks.device.type == "cpu" and self.carry is None and not self._drops
        self._halves = Halves(optimizer.parameters) if shared else None
        self._eos = loader.vocab.specials.get("eos")
        self._exact = torch.float32 if ranks.device.type == "mps" else torch.float64

    def run(self, rows: Rows, n_targets: int, step: int, upcoming: Rows | None = None) -> Stepped:
        """One step on these rows of the global batch; `upcoming` are those of the next step, for the prefetcher."""
        mine = rows[self.ranks.rank :: self.ranks.world]
        while True:
            numbers = self._gradient(mine, max(n_targets, 1), step, upcoming)
            numbers = self.ranks.sum(self.optimizer.parameters, numbers)
            if not self._failed(numbers):
                break
            self.optimizer.zero_grad()
            self.micro = microbatch.smaller(self.micro, max(self._share(rows), 1))
        return self._update(numbers, n_targets)

    def _share(self, rows: Rows) -> int:
        """Rows of the largest share, the same number on every rank."""
        return -(-len(rows) // self.ranks.world)

    def _failed(self, numbers: Tensor) -> bool:
        """Whether memory ran out anywhere. Alone, a rank knows without asking the device."""
        if self.ranks.world == 1:
            return self._short
        return bool(numbers[3] > 0)

    def _gradient(self, mine: Rows, n_targets: int, step: int, upcoming: Rows | None) -> Tensor:
        """Nats, bytes, documents and the flag of this rank; gradients lie in the parameters."""
        self._short = False
        numbers = None
        try:
            numbers = self._accumulate(self._chunks(mine), n_targets, step, upcoming)
        except Exception as error:
            if not microbatch.is_out_of_memory(error):
                raise
            self._short = True
        if numbers is None:
            self.optimizer.zero_grad()
            microbatch.free(self.ranks.device)
            numbers = torch.zeros(4, dtype=self._exact, device=self.ranks.device)
            numbers[3] = 1
        return numbers

    def _chunks(self, mine: Rows) -> list[Rows]:
        return [mine[first : first + self.micro] for first in range(0, len(mine), self.micro)]

    def _accumulate(self, chunks: Sequence[Rows], n_targets: int, step: int, upcoming: Rows | None) -> Tensor:
        nats = torch.zeros((), dtype=self._exact, device=self.ranks.device)
        if self.carry is not None:
            self.carry.begin(int(chunks[0][0, 2]))
        bytes_ = documents = 0
        for index, chunk in enumerate(chunks):
            batch = self.loader.batch(chunk)
            self._announce(chunks, index, upcoming)
            bytes_ += batch.n_bytes
            documents += self._ends(batch)
            nats += self._backward(batch, n_targets, step).to(self._exact)
        counted = torch.tensor([bytes_, documents, 0], dtype=self._exact).to(self.ranks.device)
        return torch.cat([nats[None], counted])

    def _announce(self, chunks: Sequence[Rows], index: int, upcoming: Rows | None) -> None:
        if index + 1 < len(chunks):
            self.loader.prefetch(chunks[index + 1])
        elif upcoming is not None:
            mine = upcoming[self.ranks.rank :: self.ranks.world]
            if len(mine):
                self.loader.prefetch(mine[: self.micro])

    def _ends(self, batch: Batch) -> int:
        """Documents whose end is scored."""
        if self._eos is None:
            return 0
        return int(((batch.targets == self._eos) & batch.target_mask).sum())

    def _backward(self, batch: Batch, n_targets: int, step: int) -> Tensor:
        if self._drops:
            # Keyed by what is trained on, so that no generator's state has to be kept.
            torch.manual_seed(mix(mix(mix(self.seed) ^ step) ^ int(batch.rows[0, 2])) >> 1)
        factor = self.precision.scale / n_targets
        if self._halves is not None and self._call is self.model and self._halves.fit(batch):
            return self._halves.run(batch, self._nats, factor)
        state = None if self.carry is None else self.carry.state(batch)
        nats = self._nats(to_device(batch, self.ranks.device), state)
        if self.carry is not None:
            self.carry.keep(batch, state)
        (nats * factor).backward()  # type: ignore[no-untyped-call]
        return nats.detach()

    def _nats(self, placed: Batch, state: Any = None) -> Tensor:
        with self.precision.autocast():
            return self.loss.sum(self.model, placed, self._call, state=state)

    def _update(self, numbers: Tensor, n_targets: int) -> Stepped:
        parameters = self.optimizer.parameters
        if self.precision.scale != 1.0:
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            torch._foreach_mul_(gradients, 1 / self.precision.scale)
        norm = clip(parameters, self.limit)
        # One look at the device a step.
        nats, bytes_, documents, _, found = torch.cat([numbers, norm.detach()[None].to(numbers.dtype)]).tolist()
        loss = nats / max(n_targets, 1)
        ok = self.guard.ok(loss, found)
        if ok:
            self.optimizer.step()
        if self.carry is not None:
            self.carry.finish()
        self.precision.after(ok)
        self.optimizer.zero_grad()
        return Stepped(loss, nats, found, int(bytes_), int(documents), ok, self.micro)

    def attempt(self, rows: Rows, n_targets: int, step: int) -> None:
        """Forward and backward of these rows at once, without an update; raises when memory runs out."""
        self._backward(self.loader.batch(rows), max(n_targets, 1), step)
        self.optimizer.zero_grad()

    def compile(self) -> None:
        """Compiles the forward pass; weights and names stay those of the model."""
        self._call = torch.compile(self.model)

    def close(self) -> None:
        """Ends all threads. The stepper may be used again."""
        if self._halves is not None:
            self._halves.close()
        self.loader.close()

    def nats(self, batch: Batch) -> Tensor:
        """Nats of a batch without training on it, for validation."""
        training = self.model.training
        self.model.eval()
        with torch.no_grad(), self.precision.autocast():
            found = self.loss.sum(self.model, to_device(batch, self.ranks.device))
        self.model.train(training)
        return found


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with its tensors on a device; the batch itself where they are there."""
    if device.type == "cpu":
        return batch

    def move(tensor: Tensor) -> Tensor:
        return tensor.to(device, non_blocking=True)

    return Batch(
        ids=move(batch.ids),
        targets=move(batch.targets),
        target_mask=move(batch.target_mask),
        doc_id=move(batch.doc_id),
        positions=move(batch.positions),
        n_targets=batch.n_targets,
        n_bytes=batch.n_bytes,
        rows=batch.rows,
        single_doc=batch.single_doc,
    )
