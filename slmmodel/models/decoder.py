"""A pre-norm decoder: embedding, L blocks of attention and MLP, final norm. `llama` and `gpt2` are two recipes for it.

Letters: B rows, T slots, d width, H query heads, K key/value heads, h head dimension, F MLP width. Query, key and value
are three matrices (an optimizer that looks at whole matrices needs them apart) and multiplied as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, gelu, linear, silu

from slmmodel.errors import ContextOverflow
from slmmodel.models import bare
from slmmodel.models.config import ModelConfig
from slmmodel.models.masks import CAUSAL, Mask, attend, document_mask
from slmmodel.models.norms import LayerNorm, RMSNorm, rms_norm
from slmmodel.models.protocol import Model, State
from slmmodel.models.rope import rope_tables, rotate
from slmmodel.models.state import KeyValueState
from slmmodel.models.step import step

Rope = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Recipe:
    """What kinds of decoder differ in."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp_width: int
    mlp: str
    """swiglu, relu2, gelu or gelu_tanh"""
    norm: str
    """rms or layer"""
    norm_eps: float = 1e-5
    bias: bool = False
    qk_norm: bool = False
    rope_base: float | None = None
    """None: positions are learned"""
    dropout: float = 0.0
    checkpoint: bool = False
    attention: str = "auto"

    def make_norm(self) -> nn.Module:
        """A norm over the width."""
        if self.norm == "rms":
            return RMSNorm(self.width, self.norm_eps)
        return LayerNorm(self.width, self.norm_eps, self.bias)

    def linear(self, inputs: int, outputs: int) -> nn.Linear:
        """A projection without initial weights."""
        return bare.linear(inputs, outputs, bias=self.bias)


class Attention(nn.Module):
    """Causal attention with grouped heads (Ainslie et al. 2023)."""

    def __init__(self, recipe: Recipe, layer: int) -> None:
        super().__init__()
        self.layer, self.heads, self.kv_heads = layer, recipe.heads, recipe.kv_heads
        self.head_dim, self.dropout, self.eps = recipe.head_dim, recipe.dropout, recipe.norm_eps
        self.q = recipe.linear(recipe.width, recipe.heads * recipe.head_dim)
        self.k = recipe.linear(recipe.width, recipe.kv_heads * recipe.head_dim)
        self.v = recipe.linear(recipe.width, recipe.kv_heads * recipe.head_dim)
        self.o = recipe.linear(recipe.heads * recipe.head_dim, recipe.width)
        self.q_norm = RMSNorm(recipe.head_dim, recipe.norm_eps) if recipe.qk_norm else None
        self.k_norm = RMSNorm(recipe.head_dim, recipe.norm_eps) if recipe.qk_norm else None

    def forward(self, x: Tensor, rope: Rope | None, mask: Mask, state: KeyValueState | None) -> Tensor:
        """[B,T,d] to [B,T,d]."""
        rows, slots, _ = x.shape
        queried, stored = self.heads, self.kv_heads
        every = self._project(x).view(rows, slots, queried + 2 * stored, self.head_dim)
        both, v = every.split_with_sizes([queried + stored, stored], dim=2)
        if self.q_norm is not None and self.k_norm is not None:
            gains = [self.q_norm.gain.expand(queried, -1), self.k_norm.gain.expand(stored, -1)]
            both = rms_norm(both, torch.cat(gains), self.eps)
        if rope is not None:
            both = rotate(both, *rope)
        q, k = both.split_with_sizes([queried, stored], dim=2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if state is not None:
            k, v = state.append(self.layer, k, v)
        mixed = attend(q, k, v, mask, self.dropout if self.training else 0.0)
        result: Tensor = self.o(mixed.transpose(1, 2).reshape(rows, slots, -1))
        return result

    def _project(self, x: Tensor) -> Tensor:
        parts = (self.q, self.k, self.v)
        if x.shape[1] == 1:
            # A step of decoding: joining the weights would cost more than the products.
            return torch.cat([part(x) for part in parts], dim=-1)
        bias = None if self.q.bias is None else torch.cat([part.bias for part in parts])
        return linear(x, torch.cat([part.weight for part in parts]), bias)


def _relu2(x: Tensor) -> Tensor:
    return torch.relu(x).square()


def _gelu_tanh(x: Tensor) -> Tensor:
    return gelu(x, approximate="tanh")


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu2": _relu2, "gelu": gelu, "gelu_tanh": _gelu_tanh}


class MLP(nn.Module):
    """`down(act(up x))`, or gated: `down(silu(gate x) * up x)` (Shazeer 2020)."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.gate = recipe.linear(recipe.width, recipe.mlp_width) if recipe.mlp == "swiglu" else None
        self.up = recipe.linear(recipe.width, recipe.mlp_width)
        self.down = recipe.linear(recipe.mlp_width, recipe.width)
        self.activation = _ACTIVATIONS.get(recipe.mlp, silu)

    def forward(self, x: Tensor) -> Tensor:
        """[..., d] to [..., d]."""
        if self.gate is None:
            inner = self.activation(self.up(x))
        else:
            inner = silu(self.gate(x)) * self.up(x)
        result: Tensor = self.down(inner)
        return result


class Block(nn.Module):
    """`x += attention(norm1(x))`, then `x += mlp(norm2(x))`."""

    def __init__(self, recipe: Recipe, layer: int) -> None:
        super().__init__()
        self.norm1 = recipe.make_norm()
        self.attention = Attention(recipe, layer)
        self.norm2 = recipe.make_norm()
        self.mlp = MLP(recipe)
        self.dropout = recipe.dropout

    def forward(self, x: Tensor, rope: Rope | None, mask: Mask, state: KeyValueState | None = None) -> Tensor:
        """[B,T,d] to [B,T,d]."""
        x = x + self._drop(self.attention(self.norm1(x), rope, mask, state))
        return x + self._drop(self.mlp(self.norm2(x)))

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout, self.training) if self.dropout else x


class Decoder(Model):
    """The whole: rows of ids in, logits out; with a `KeyValueState`, one step at a time."""

    def __init__(self, config: ModelConfig, recipe: Recipe) -> None:
        super().__init__(config)
        self.recipe = recipe
        self.activation = _ACTIVATIONS.get(recipe.mlp, silu)
        self.blocks = nn.ModuleList(Block(recipe, layer) for layer in range(recipe.layers))
        self.norm = recipe.make_norm()
        self.positions = None
        if recipe.rope_base is None:
            self.positions = nn.Embedding(
                config.context, recipe.width, _weight=torch.empty(config.context, recipe.width)
            )
            return
        cos, sin = rope_tables(config.context, recipe.head_dim, recipe.rope_base)
        self.register_buffer("rope_cos", cos, persistent=False)
        self.register_buffer("rope_sin", sin, persistent=False)

    def initial(self, name: str, parameter: Tensor, normal: Callable[[float], Tensor]) -> Tensor:
        """As every model; projections into the residual stream begin small, or at zero where the head is zero, too.

        Zero under a tied head would make the blocks the identity at first, and each id would predict itself.
        """
        if name.endswith(("attention.o.weight", "mlp.down.weight")):
            if not self.config.options.tied:
                return torch.zeros_like(parameter)
            return normal(0.02 / (2 * self.recipe.layers) ** 0.5)
        return super().initial(name, parameter, normal)

    def init_state(self, batch: int, device: torch.device | str, capacity: int | None = None) -> KeyValueState:
        """An empty cache of `capacity` slots (default: the context), in the dtype of the weights."""
        recipe, slots = self.recipe, self.config.context if capacity is None else capacity
        shape = (recipe.layers, 2, batch, recipe.kv_heads, slots, recipe.head_dim)
        return KeyValueState(torch.zeros(shape, dtype=self.embed.weight.dtype, device=device), self.config.context)

    def body(self, embedded: Tensor, *, positions: Tensor | None, doc_id: Tensor | None, state: State | None) -> Tensor:
        """The blocks and the final norm."""
        cache = state if isinstance(state, KeyValueState) else None
        rows, slots, _ = embedded.shape
        first = 0
        if cache is not None:
            first = cache.filled
            mask, counted = cache.begin(rows, slots, doc_id)
            positions = counted if positions is None else positions
        else:
            self._fits(slots)
            mask = (
                CAUSAL
                if doc_id is None
                else document_mask(doc_id, attention=self.recipe.attention, dtype=embedded.dtype)
            )
        x, rope = self._place(embedded, positions, first)
        if cache is not None and slots == 1:
            x = step(self, x, rope, mask, cache)
        else:
            for block in self.blocks:
                x = self._run(block, x, rope, mask, cache)
        if cache is not None:
            cache.finish(slots)
        result: Tensor = self.norm(x)
        return result

    def _place(self, x: Tensor, positions: Tensor | None, first: int) -> tuple[Tensor, Rope | None]:
        """Adds learned positions, or looks up the rotations; once for all layers."""
        span = slice(first, first + x.shape[1])
        if self.positions is not None:
            table = self.positions.weight
            x = x + (table[span] if positions is None else embedding(positions, table))
            drop = self.recipe.dropout
            return (dropout(x, drop, self.training) if drop else x), None
        cos, sin = self.rope_cos, self.rope_sin
        assert isinstance(cos, Tensor) and isinstance(sin, Tensor)
        return x, ((cos[span], sin[span]) if positions is None else (cos[positions], sin[positions]))

    def _run(self, block: nn.Module, x: Tensor, rope: Rope | None, mask: Mask, state: KeyValueState | None) -> Tensor:
        if self.recipe.checkpoint and self.training and torch.is_grad_enabled():
            from torch.utils.checkpoint import checkpoint

            again: Tensor = checkpoint(block, x, rope, mask, use_reentrant=False)
            return again
        result: Tensor = block(x, rope, mask, state)
        return result

    def _fits(self, slots: int) -> None:
        if slots > self.config.context:
            raise ContextOverflow(
                f"rows of {slots} slots were given to the model", limit=f"context {self.config.context}", fix="cut them"
            )
