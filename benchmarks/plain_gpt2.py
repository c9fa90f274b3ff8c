"""A GPT-2 and its training loop as one would write them from the papers with PyTorch's own parts: what ours is timed
against.

Pre-norm blocks, learned positions, one projection for queries, keys and values, torch's fused attention, exact GELU,
the head tied to the embedding, no biases; AdamW with decay on matrices, clipping at 1, warm-up, a batch of rows at
random offsets of a mapped file. Nothing of `slmmodel` takes part, so that it is a witness.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Causal attention over all heads at once."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        rows, slots, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (part.view(rows, slots, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).contiguous().view(rows, slots, width))


class Block(nn.Module):
    """Attention and MLP, each behind a norm and beside a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width, bias=False), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Plain(nn.Module):
    """The whole."""

    def __init__(self, *, layers: int, heads: int, width: int, context: int, ids: int) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(ids, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, ids, bias=False)
        self.head.weight = self.embedding.weight
        self.width, self.ids = width, ids

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Mean nats a target."""
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.view(-1, self.ids), targets.reshape(-1))

    def take(self, theirs: dict[str, nn.Parameter]) -> None:
        """Takes over the weights of another implementation, by their names there."""
        with torch.no_grad():
            for mine, other in self._same(theirs).values():
                mine.copy_(other)

    def pairs(self, theirs: dict[str, nn.Parameter]) -> dict[str, tuple[nn.Parameter, Tensor | None]]:
        """Each parameter with the gradient that it has there, in its own shape."""
        gradients = {name: parameter.grad for name, parameter in theirs.items() if parameter.grad is not None}
        return {name: (mine, other) for name, (mine, other) in self._same(gradients).items()}

    def _same(self, theirs: dict[str, Tensor]) -> dict[str, tuple[nn.Parameter, Tensor]]:
        found = {
            "embedding": (self.embedding.weight, theirs["embed.weight"][: self.ids]),
            "positions": (self.positions.weight, theirs["positions.weight"]),
            "norm": (self.norm.weight, theirs["norm.gain"]),
        }
        for number, block in enumerate(self.blocks):
            there = f"blocks.{number}."
            qkv = torch.cat([theirs[f"{there}attention.{part}.weight"] for part in "qkv"])
            found |= {
                f"{number} norm1": (block.norm1.weight, theirs[f"{there}norm1.gain"]),
                f"{number} qkv": (block.attention.qkv.weight, qkv),
                f"{number} out": (block.attention.out.weight, theirs[f"{there}attention.o.weight"]),
                f"{number} norm2": (block.norm2.weight, theirs[f"{there}norm2.gain"]),
                f"{number} up": (block.up.weight, theirs[f"{there}mlp.up.weight"]),
                f"{number} down": (block.down.weight, theirs[f"{there}mlp.down.weight"]),
            }
        return found


class PlainLoop:
    """The recipe: a batch at random offsets, forward, backward, clip, AdamW."""

    def __init__(
        self,
        model: Plain,
        path: Path,
        *,
        rows: int,
        context: int,
        rate: float,
        warmup: int,
        betas: tuple[float, float],
        decay: float,
    ) -> None:
        self.model, self.path, self.rows, self.context = model, path, rows, context
        self.rate, self.warmup, self.step = rate, warmup, 0
        matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
        vectors = [parameter for parameter in model.parameters() if parameter.ndim < 2]
        groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=rate, betas=betas)
        self.generator = torch.Generator().manual_seed(1337)

    def batch(self) -> tuple[Tensor, Tensor]:
        """Rows at random offsets; the file is mapped anew, which keeps memory from growing."""
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        starts = torch.randint(len(data) - self.context, (self.rows,), generator=self.generator).tolist()
        ids = [torch.from_numpy(data[at : at + self.context].astype(np.int64)) for at in starts]
        targets = [torch.from_numpy(data[at + 1 : at + 1 + self.context].astype(np.int64)) for at in starts]
        return torch.stack(ids), torch.stack(targets)

    def run(self) -> float:
        """One step; gives its loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1.0, (self.step + 1) / self.warmup)
        loss = self.model.loss(*self.batch())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.item()
