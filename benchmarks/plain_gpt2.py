"""A GPT-2 and its training loop written from the papers with PyTorch's own parts, as the peer of ours.

Pre-norm blocks, learned positions, one projection for queries, keys and values, torch's fused attention, exact GELU,
the head tied to the embedding, no biases; AdamW with decay on matrices, clipping at 1, warm-up, a batch of sequences
at random offsets of a mapped file. Nothing of `slmmodel` is used, so results can be compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Causal attention over all heads at once, [B, T, d_model] to [B, T, d_model]."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(2, (self.n_heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and MLP, each behind a norm and with a residual connection."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(d_model, bias=False), Attention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model, bias=False)
        self.up, self.down = nn.Linear(d_model, 4 * d_model, bias=False), nn.Linear(4 * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class PlainGPT2(nn.Module):
    """The model."""

    def __init__(self, *, n_layers: int, n_heads: int, d_model: int, seq_len: int, n_vocab: int) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(n_vocab, d_model), nn.Embedding(seq_len, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model, bias=False)
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        self.head.weight = self.embedding.weight

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Mean nats a target; ids and targets [B, T]."""
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())

    def paired(self, theirs: Mapping[str, Tensor]) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Each parameter with what our gpt2 has in its place: `theirs` are its weights or its gradients by name."""
        yield self.embedding.weight, theirs["embed.weight"][: len(self.embedding.weight)]
        yield self.positions.weight, theirs["positions.weight"]
        yield self.norm.weight, theirs["norm.gain"]
        for number, block in enumerate(self.blocks):
            there = f"blocks.{number}."
            yield block.norm1.weight, theirs[f"{there}norm1.gain"]
            yield block.attention.qkv.weight, torch.cat([theirs[f"{there}attention.{part}.weight"] for part in "qkv"])
            yield block.attention.out.weight, theirs[f"{there}attention.o.weight"]
            yield block.norm2.weight, theirs[f"{there}norm2.gain"]
            yield block.up.weight, theirs[f"{there}mlp.up.weight"]
            yield block.down.weight, theirs[f"{there}mlp.down.weight"]


class PlainLoop:
    """Training steps: a batch at random offsets, forward, backward, clip, AdamW."""

    def __init__(
        self,
        model: PlainGPT2,
        path: Path,
        *,
        batch_size: int,
        seq_len: int,
        lr: float,
        warmup: int,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        self.model, self.path, self.batch_size, self.seq_len = model, path, batch_size, seq_len
        self.lr, self.warmup, self.step = lr, warmup, 0
        matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
        vectors = [parameter for parameter in model.parameters() if parameter.ndim < 2]
        groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=lr, betas=betas)
        self.generator = torch.Generator().manual_seed(1337)

    def batch(self) -> tuple[Tensor, Tensor]:
        """Ids and targets, [B, T], at random offsets; the file is mapped anew, which keeps memory from growing."""
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        starts = torch.randint(len(data) - self.seq_len, (self.batch_size,), generator=self.generator).tolist()
        rows = [torch.from_numpy(data[start : start + self.seq_len + 1].astype(np.int64)) for start in starts]
        ids = torch.stack(rows)
        return ids[:, :-1], ids[:, 1:]

    def run(self) -> float:
        """One step; returns its loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * min(1.0, (self.step + 1) / self.warmup)
        loss = self.model.loss(*self.batch())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.item()
