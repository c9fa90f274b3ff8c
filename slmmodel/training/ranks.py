"""Ranks: data-parallel training under torchrun; without it the same code runs as a world of one, without a process
group.

Each rank sums the gradient of its share of the global batch; the shares are added once a step, after the last
micro-batch, as one flat tensor. With it travel the numbers that all ranks must agree on, among them whether memory ran
out anywhere: then every rank tries the step again. Hooks that reduce while the backward pass runs could not do that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Ranks:
    """Which process of how many this is."""

    rank: int = 0
    world: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    def sum(self, parameters: Sequence[nn.Parameter], numbers: Tensor) -> Tensor:
        """Adds up gradients over ranks, in place, and `numbers` [k] with them; a missing gradient counts as zeros."""
        if self.world == 1:
            return numbers
        import torch.distributed as dist

        trained = [parameter for parameter in parameters if parameter.requires_grad]
        for parameter in trained:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in trained if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        dist.all_reduce(numbers)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        shaped = [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]
        torch._foreach_copy_(gradients, shaped)
        return numbers

    def total(self, numbers: Sequence[float]) -> list[float]:
        """Adds up numbers over ranks."""
        return self._reduced(numbers, "sum")

    def largest(self, numbers: Sequence[float]) -> list[float]:
        """The largest of each number over ranks: for flags that one rank raises for all."""
        return self._reduced(numbers, "max")

    def least(self, numbers: Sequence[float]) -> list[float]:
        """The smallest of each number over ranks."""
        return [-number for number in self._reduced([-number for number in numbers], "max")]

    def _reduced(self, numbers: Sequence[float], how: str) -> list[float]:
        if self.world == 1:
            return list(numbers)
        import torch.distributed as dist

        told = torch.tensor(list(numbers), dtype=torch.float64, device=self.device)
        dist.all_reduce(told, op=dist.ReduceOp.SUM if how == "sum" else dist.ReduceOp.MAX)
        return [float(number) for number in told.tolist()]

    def wait(self) -> None:
        """Until all ranks are here."""
        if self.world > 1:
            import torch.distributed as dist

            dist.barrier()


def join(device: torch.device) -> Ranks:
    """Joins the process group that torchrun describes in the environment; a world of one where it does not.

    On CUDA each process takes the device of its local number.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or "RANK" not in os.environ:
        return Ranks(device=device)
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Ranks(rank, world, device)


def leave(ranks: Ranks) -> None:
    """Leaves the process group."""
    if ranks.world > 1:
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()
