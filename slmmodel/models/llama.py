"""`llama`: the default decoder (Touvron et al. 2023; QK-norm: Dehghani et al. 2023, as in Qwen3).

Purpose: the best loss for its size. Pick it unless another is to be compared with. Price: more small operations a layer
than `gpt2`. Promises: exports as Hugging Face's Qwen3 (QK-norm on) or Llama (off). Torch-free but for `make`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmmodel.models.config import ModelConfig, Sizes
from slmmodel.models.options import check_common, check_shape, even_split, require

if TYPE_CHECKING:
    from slmmodel.models.decoder import Decoder


@dataclass(frozen=True)
class Options:
    """Shape of a `llama`; None stands for the usual value."""

    layers: int
    width: int
    heads: int
    kv_heads: int | None = None
    """None: as many as heads"""
    head_dim: int | None = None
    """None: width / heads"""
    mlp_width: int | None = None
    """None: 8 width / 3, rounded up to 64, or to 32 below width 256"""
    mlp: str = "swiglu"
    """swiglu, or relu2 for experiments, which exports nowhere"""
    qk_norm: bool = True
    rope_base: float | None = None
    """None: 10,000, or 100,000 from context 2048 on"""
    tied: bool = True
    dropout: float = 0.0
    softcap: float | None = None
    """c: logits become c tanh(logits / c)"""
    checkpoint: bool = False
    """compute blocks again in the backward pass instead of keeping what they made"""
    attention: str = "auto"
    """auto, sdpa or flex: how a document mask is applied"""

    def resolved(self, context: int) -> Options:
        """All defaults filled in. Raises `InvalidModelConfig`."""
        check_shape(self.layers, self.width, self.heads)
        kv_heads = self.kv_heads if self.kv_heads is not None else self.heads
        require(
            kv_heads > 0 and self.heads % kv_heads == 0, f"{self.heads} heads do not share {kv_heads} kv_heads evenly"
        )
        head_dim = self.head_dim if self.head_dim is not None else even_split(self.width, self.heads)
        require(head_dim > 0 and head_dim % 2 == 0, f"head_dim is {head_dim}", limit="even, for rotary positions")
        step = 64 if self.width >= 256 else 32
        mlp_width = self.mlp_width if self.mlp_width is not None else -(-8 * self.width // (3 * step)) * step
        require(mlp_width > 0, f"mlp_width is {mlp_width}")
        require(self.mlp in ("swiglu", "relu2"), f"mlp is {self.mlp!r}", limit="swiglu, relu2")
        check_common(self.dropout, self.softcap, self.attention)
        base = self.rope_base if self.rope_base is not None else (100_000.0 if context >= 2048 else 10_000.0)
        require(base > 0, f"rope_base is {base}")
        return dataclasses.replace(self, kv_heads=kv_heads, head_dim=head_dim, mlp_width=mlp_width, rope_base=base)

    def sizes(self, context: int) -> Sizes:
        """Elements of the body: per layer 2dHh + 2dKh + 3dF (relu2: 2dF), gains of two norms and of QK-norm."""
        full = self.resolved(context)
        assert full.kv_heads is not None and full.head_dim is not None and full.mlp_width is not None
        inner = full.heads * full.head_dim
        attention = 2 * full.width * (inner + full.kv_heads * full.head_dim)
        mlp = (3 if full.mlp == "swiglu" else 2) * full.width * full.mlp_width
        vectors = 2 * full.width + (2 * full.head_dim if full.qk_norm else 0)
        layers = full.layers
        return Sizes(layers * (attention + mlp), layers * vectors + full.width, 0, layers * inner)


def make(config: ModelConfig) -> Decoder:
    """The module, without initial weights."""
    from slmmodel.models.decoder import Decoder, Recipe

    options: Options = config.options
    assert options.kv_heads is not None and options.head_dim is not None and options.mlp_width is not None
    recipe = Recipe(
        layers=options.layers,
        width=options.width,
        heads=options.heads,
        kv_heads=options.kv_heads,
        head_dim=options.head_dim,
        mlp_width=options.mlp_width,
        mlp=options.mlp,
        norm="rms",
        qk_norm=options.qk_norm,
        rope_base=options.rope_base,
        dropout=options.dropout,
        checkpoint=options.checkpoint,
        attention=options.attention,
    )
    return Decoder(config, recipe)


def diagram(config: ModelConfig) -> str:
    """The model as a flowchart in Mermaid."""
    from slmmodel.models.drawing import decoder

    o: Options = config.options
    norms = "RMSNorm of q and k, " if o.qk_norm else ""
    return decoder(
        config,
        norm="RMSNorm",
        attention=(
            f"causal attention, {o.heads} query heads, {o.kv_heads} key/value heads of {o.head_dim}",
            f"{norms}rotary positions, base {o.rope_base:,.0f}",
        ),
        mlp=("SwiGLU" if o.mlp == "swiglu" else "squared ReLU", f"{o.width} to {o.mlp_width} to {o.width}"),
        place="residual stream",
    )
