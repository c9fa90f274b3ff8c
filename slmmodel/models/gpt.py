"""A pre-norm transformer decoder, from configuration to logits. `llama` and `gpt2` are two sets of defaults for it.

Read it from top to bottom: norm and rotary positions, attention, MLP, block, model. `DecoderConfig` (`config.py`, which
imports no torch) lists the options; masks are in `attention.py`, the key/value cache in `kv_cache.py`.

Letters: B batch size, T sequence length, S columns attended to, d d_model, H query heads, K key/value heads, h head
dimension, F MLP width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from slmmodel.errors import InvalidInput
from slmmodel.models.attention import Mask, attend, make_mask
from slmmodel.models.config import DecoderConfig, ModelConfig, TransformerConfig
from slmmodel.models.dropout import dropout, repeatable
from slmmodel.models.kv_cache import KVCache
from slmmodel.models.protocol import AnyState, Linear, Model

NORM_EPS = 1e-5
"""Of all norms."""

RESIDUAL_PROJECTIONS = ("attention.o.weight", "mlp.down.weight")

Rope = tuple[Tensor, Tensor]
"""Cosines and signed sines of the positions of a batch, [T, 1, h] or [B, T, 1, h]."""


class RMSNorm(nn.Module):
    """`x / sqrt(mean(x^2) + eps) * gain` (Zhang and Sennrich 2019), computed in the dtype of `gain`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.empty(size))

    def forward(self, x: Tensor) -> Tensor:
        """[..., size] to the same shape and dtype."""
        gain = self.gain
        return F.rms_norm(x.type_as(gain), gain.shape, gain, NORM_EPS).type_as(x)


class LayerNorm(nn.Module):
    """`(x - mean) / sqrt(var + eps) * gain + bias`; the bias is optional."""

    def __init__(self, size: int, bias: bool) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.empty(size))
        self.bias = nn.Parameter(torch.empty(size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """[..., size] to the same shape and dtype."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, NORM_EPS)


def make_norm(config: TransformerConfig) -> nn.Module:
    """The norm over d_model that the configuration names."""
    return RMSNorm(config.d_model) if config.norm == "rms_norm" else LayerNorm(config.d_model, config.bias)


def rotations(position_ids: Tensor, head_dim: int, base: float) -> Rope:
    """Cosines and signed sines of positions [...], fp32 [..., 1, h] (Su et al. 2021).

    Pairs are half-split: (x_j, x_(j+h/2)) is rotated by position * base^(-2j/h). The first half of the sines is
    negated, so a rotation is `x * cos + swap_halves(x) * sin`. Computed in fp64 on the CPU, so equal on every device.
    """
    frequency = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64, device="cpu") / head_dim)
    angle = position_ids.cpu().double()[..., None, None] * frequency
    cos, sin = angle.cos(), angle.sin()
    tables = torch.cat([cos, cos], -1).float(), torch.cat([-sin, sin], -1).float()
    return tables[0].to(position_ids.device), tables[1].to(position_ids.device)


def check_positions(position_ids: Tensor, seq_len: int) -> None:
    """Raises `InvalidInput` for positions that the tables lack; a negative one would be counted from their end."""
    low, high = (int(end) for end in position_ids.aminmax())
    if low < 0 or high >= seq_len:
        fact = f"the model has no position {low if low < 0 else high}"
        raise InvalidInput(fact, limit=f"positions 0 to {seq_len - 1}", fix="leave position_ids out: they count from 0")


def rope_tables(seq_len: int, head_dim: int, base: float) -> Rope:
    """The rotations of positions 0 to seq_len - 1, fp32 [seq_len, 1, h]."""
    return rotations(torch.arange(seq_len, device="cpu"), head_dim, base)


def apply_rope(x: Tensor, rope: Rope) -> Tensor:
    """Rotates [B, T, heads, h]."""
    cos, sin = rope
    return torch.addcmul(x * cos, torch.roll(x, x.shape[-1] // 2, -1), sin)


class Attention(nn.Module):
    """Causal attention with grouped key/value heads (Ainslie et al. 2023) and optional QK-norm (Dehghani et al. 2023).

    Query, key and value projections are separate parameters: Muon orthogonalises each of them as a whole.
    """

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.head_dim, self.dropout = layer, config.head_dim, config.dropout
        d, h = config.d_model, config.head_dim
        self.q = Linear(d, config.n_heads * h, bias=config.bias)
        self.k = Linear(d, config.n_kv_heads * h, bias=config.bias)
        self.v = Linear(d, config.n_kv_heads * h, bias=config.bias)
        self.o = Linear(config.n_heads * h, d, bias=config.bias)
        self.qk_norm = config.qk_norm
        if config.qk_norm:
            self.q_norm, self.k_norm = RMSNorm(h), RMSNorm(h)

    def forward(self, x: Tensor, rope: Rope | None, mask: Mask, cache: KVCache | None) -> Tensor:
        """[B, T, d] to [B, T, d]."""
        q, k, v = self.project(x)
        if rope is not None:
            q, k = apply_rope(q, rope), apply_rope(k, rope)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # [B, heads, T, h]
        if cache is not None:
            k, v = cache.append(self.layer, k, v)
        y = attend(q, k, v, mask, self.dropout if self.training else 0.0)
        projected: Tensor = self.o(y.transpose(1, 2).flatten(2))
        return projected

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [B, T, H, h], keys and values [B, T, K, h] of [B, T, d], without positions."""
        heads = (*x.shape[:2], -1, self.head_dim)
        q, k, v = self.q(x).view(heads), self.k(x).view(heads), self.v(x).view(heads)
        return (self.q_norm(q), self.k_norm(k), v) if self.qk_norm else (q, k, v)


def _relu2(x: Tensor) -> Tensor:
    return F.relu(x).square()


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


# A model holds its function, and a lambda cannot be pickled.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "swiglu": F.silu,
    "relu2": _relu2,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh,
}


class MLP(nn.Module):
    """`down(act(up x))`; SwiGLU is gated: `down(silu(gate x) * up x)` (Shazeer 2020)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.gated = config.mlp == "swiglu"
        if self.gated:
            self.gate = Linear(config.d_model, config.d_ff, bias=config.bias)
        self.up = Linear(config.d_model, config.d_ff, bias=config.bias)
        self.down = Linear(config.d_ff, config.d_model, bias=config.bias)
        self.activation = ACTIVATIONS[config.mlp]

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, d] to [B, T, d]."""
        inner = self.activation(self.gate(x)) * self.up(x) if self.gated else self.activation(self.up(x))
        projected: Tensor = self.down(inner)
        return projected


class Block(nn.Module):
    """`x += attention(norm1(x), ...)`, then `x += mlp(norm2(x))`."""

    def __init__(self, config: TransformerConfig, attention: nn.Module) -> None:
        super().__init__()
        self.norm1 = make_norm(config)
        self.attention = attention
        self.norm2 = make_norm(config)
        self.mlp = MLP(config)
        self.dropout = config.dropout

    def forward(self, x: Tensor, *context: Any) -> Tensor:
        """[B, T, d] to [B, T, d]; `context` are the other arguments of the attention."""
        x = x + self.drop(self.attention(self.norm1(x), *context))
        return x + self.drop(self.mlp(self.norm2(x)))

    def drop(self, x: Tensor) -> Tensor:
        """Dropout, in training alone."""
        return dropout(x, self.dropout) if self.training and self.dropout else x


class Transformer(Model):
    """Blocks and final norm, for any kind of attention."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig, attention: type[Attention]) -> None:
        super().__init__(config)
        self.blocks = nn.ModuleList(Block(config, attention(config, layer)) for layer in range(config.n_layers))
        self.norm = make_norm(config)

    def run_blocks(self, x: Tensor, *context: Any) -> Tensor:
        """[B, T, d] through all blocks; with activation checkpointing, each is recomputed in the backward pass."""
        recompute = self.config.activation_checkpointing and self.training and torch.is_grad_enabled()
        for block in self.blocks:
            x = checkpoint(repeatable(block), x, *context, use_reentrant=False) if recompute else block(x, *context)
        return x

    def initial_value(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """As in `Model`; projections into the residual stream start at 0 with a head of its own, else small.

        With tied embeddings, 0 would make the blocks the identity and every id predict itself; N(0, (0.02/sqrt(2L))^2)
        avoids that.
        """
        if name.endswith(RESIDUAL_PROJECTIONS):
            if not self.config.tie_embeddings:
                return torch.zeros_like(parameter)
            return normal(0.02 / (2 * self.config.n_layers) ** 0.5)
        return super().initial_value(name, parameter, normal)


class GPT(Transformer):
    """The whole decoder: ids in, logits out; with a `KVCache`, a few ids at a time."""

    config: DecoderConfig

    def __init__(self, config: ModelConfig) -> None:
        assert isinstance(config, DecoderConfig)
        super().__init__(config, Attention)
        self.positions: nn.Embedding | None = None
        if config.positions == "learned":
            shape = (config.seq_len, config.d_model)
            self.positions = nn.Embedding(*shape, _weight=torch.empty(shape))
        else:
            cos, sin = rope_tables(config.seq_len, config.head_dim, config.rope_base)
            self.rope_cos = nn.Buffer(cos, persistent=False)
            self.rope_sin = nn.Buffer(sin, persistent=False)

    def embed_and_run(
        self, ids: Tensor, position_ids: Tensor | None, document_ids: Tensor | None, state: AnyState | None
    ) -> Tensor:
        """Embedding and blocks, with positions, mask and key/value cache."""
        assert state is None or isinstance(state, KVCache)
        seq_len = ids.shape[1]
        start = longest = 0 if state is None else state.n_columns
        if state is not None and longest + seq_len > self.config.seq_len:
            # A row holds at most `n_columns` ids; its exact length has to be read from the device.
            longest = int(state.length.max())
        if longest + seq_len > self.config.seq_len:
            raise InvalidInput(
                f"a row of {longest + seq_len} ids is longer than the model's sequence",
                limit=f"seq_len {self.config.seq_len}",
                fix="pass shorter rows, or start a new state from the last ids",
            )
        if position_ids is not None and position_ids.device.type == "cpu" and not torch.compiler.is_compiling():
            check_positions(position_ids, self.config.seq_len)
        if state is not None:
            document_ids, next_position_ids = state.reserve(seq_len, document_ids)
            position_ids = next_position_ids if position_ids is None else position_ids
        x: Tensor = self.embed(ids)
        # One mask for all layers, or None (`make_mask`). FlexAttention has no dropout.
        backend = "sdpa" if self.training and self.config.dropout else self.config.attention
        mask = make_mask(document_ids, self.config.window, ids, start, dtype=x.dtype, backend=backend)
        # Without padding, positions are column indices: a slice of the tables, not a gather.
        indices = slice(start, start + seq_len) if position_ids is None else position_ids
        rope = None
        if self.positions is not None:
            x = x + self.positions.weight[indices]
            x = dropout(x, self.config.dropout) if self.training and self.config.dropout else x
        else:
            rope = (self.rope_cos[indices], self.rope_sin[indices])
        x = self.run_blocks(x, rope, mask, state)
        if state is not None:
            state.advance(seq_len)
        return x

    def init_state(self, batch_size: int, device: torch.device | str, capacity: int | None = None) -> KVCache:
        """An empty cache of `capacity` columns (default: seq_len), in the dtype of the weights."""
        config, columns = self.config, self.config.seq_len if capacity is None else capacity
        shape = (config.n_layers, 2, batch_size, config.n_kv_heads, columns, config.head_dim)
        return KVCache(torch.zeros(shape, dtype=self.embed.weight.dtype, device=device))
