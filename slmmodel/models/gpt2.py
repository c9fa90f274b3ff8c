"""`gpt2`: LayerNorm, learned positions, GELU (Radford et al. 2019).

Purpose: comparisons with nanoGPT and llm.c. Pick it for those. Price: a somewhat higher loss than `llama` of the same
size. Promises: exports as Hugging Face's GPT-2. Torch-free but for `make`.
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
    """Shape of a `gpt2`; None stands for the usual value."""

    layers: int
    width: int
    heads: int
    mlp_width: int | None = None
    """None: 4 width"""
    gelu: str = "erf"
    """erf, or tanh as in the published GPT-2"""
    bias: bool = False
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
        even_split(self.width, self.heads)
        require(self.gelu in ("erf", "tanh"), f"gelu is {self.gelu!r}", limit="erf, tanh")
        check_common(self.dropout, self.softcap, self.attention)
        mlp_width = self.mlp_width if self.mlp_width is not None else 4 * self.width
        require(mlp_width > 0, f"mlp_width is {mlp_width}")
        return dataclasses.replace(self, mlp_width=mlp_width)

    def sizes(self, context: int) -> Sizes:
        """Elements of the body: per layer 4dd + 2dF, two norms, biases where asked for; learned positions T d."""
        d, f = self.width, self.resolved(context).mlp_width
        assert f is not None
        vectors = 2 * d + (2 * d + 3 * d + d + f + d if self.bias else 0)
        last = d + (d if self.bias else 0)
        return Sizes(self.layers * (4 * d * d + 2 * d * f), self.layers * vectors + last, context * d, self.layers * d)


def make(config: ModelConfig) -> Decoder:
    """The module, without initial weights."""
    from slmmodel.models.decoder import Decoder, Recipe

    options: Options = config.options
    assert options.mlp_width is not None
    recipe = Recipe(
        layers=options.layers,
        width=options.width,
        heads=options.heads,
        kv_heads=options.heads,
        head_dim=options.width // options.heads,
        mlp_width=options.mlp_width,
        mlp="gelu" if options.gelu == "erf" else "gelu_tanh",
        norm="layer",
        bias=options.bias,
        dropout=options.dropout,
        checkpoint=options.checkpoint,
        attention=options.attention,
    )
    return Decoder(config, recipe)


def diagram(config: ModelConfig) -> str:
    """The model as a flowchart in Mermaid."""
    from slmmodel.models.drawing import decoder

    o: Options = config.options
    return decoder(
        config,
        norm="LayerNorm",
        attention=(f"causal attention, {o.heads} heads of {o.width // o.heads}",),
        mlp=(f"GELU ({o.gelu})", f"{o.width} to {o.mlp_width} to {o.width}"),
        place=f"plus learned positions {config.context} x {o.width}",
    )
