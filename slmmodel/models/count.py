"""Counting without building: parameters, the embeddings' share, floating-point operations per token. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass

from slmmodel.models.config import ModelConfig, Sizes


@dataclass(frozen=True)
class Counts:
    """Elements and operations of one model."""

    parameters: int
    """All elements that are trained, padded rows included."""
    embedding: int
    """Those of the embedding, and of the head where it is not the embedding."""
    matrices: int
    """Those of the 2-D weights of the body."""
    flops_per_token: int
    """Forward and backward, head included, causal attention over a full context, masks not subtracted."""

    @property
    def embedding_share(self) -> float:
        """Embedding (and head) as a share of all parameters."""
        return self.embedding / self.parameters


def count(config: ModelConfig) -> Counts:
    """The counts of a configuration.

    Operations per token are 6 (matrices + V' d) + 6 L H h T: two a multiplication forward, four backward, and attention
    to half the context on average (Kaplan et al. 2020, with the causal half not computed).
    """
    sizes: Sizes = config.options.sizes(config.context)
    table = config.padded_vocab * config.options.width
    embedding = table * (1 if config.options.tied else 2)
    return Counts(
        parameters=sizes.matrices + sizes.vectors + sizes.tables + embedding,
        embedding=embedding,
        matrices=sizes.matrices,
        flops_per_token=6 * (sizes.matrices + table) + 6 * sizes.attention * config.context,
    )
