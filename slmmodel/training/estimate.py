"""What training a configuration takes, before anything is built: parameters by part, memory by precision, time.

Memory is that of the state (weights, gradients, two moments of AdamW) and what autograd keeps of each sequence. Numbers
of the second kind are estimates from the shapes of the operations, without the allocator's overhead; a test compares
them with what autograd keeps.

Letters: T sequence length, d d_model, H query heads, K key/value heads, h head dimension, F MLP width.
"""

from __future__ import annotations

from collections import Counter

import torch

from slmmodel.distributed import BYTES_PER_PARAMETER
from slmmodel.models import ModelConfig, build, count
from slmmodel.models.config import InfiniConfig, RecurrentConfig, TransformerConfig
from slmmodel.sizes import ceil_div
from slmmodel.training.loss import LOGITS_COPIES, logits_bytes

PRECISIONS = {"fp32": 4, "bf16": 2, "fp16": 2}
"""Bytes of an element that autograd keeps; weights, gradients and moments are fp32 in all of them."""
_PARTS = {"embed": "embedding", "beta": "gates", "gain": "norms", "bias": "biases"}


def parameters_by_part(config: ModelConfig) -> dict[str, int]:
    """Elements of embedding, attention, mlp, norms, gates, … Nothing is allocated."""
    parts: Counter[str] = Counter()
    for layer in parameters_by_layer(config).values():
        parts.update(layer)
    return dict(parts)


def parameters_by_layer(config: ModelConfig) -> dict[str, dict[str, int]]:
    """As `parameters_by_part`, of each block by its number; of what is in none under "-"."""
    with torch.device("meta"):
        model = build(config, seed=None, device="meta")
    layers: dict[str, Counter[str]] = {}
    for name, parameter in model.named_parameters():
        words = name.split(".")
        is_block = words[0] == "blocks"
        known = next((part for word in (words[0], words[-1]) if (part := _PARTS.get(word))), None)
        layer = layers.setdefault(words[1] if is_block else "-", Counter())
        layer[known or (words[2] if is_block else words[0])] += parameter.numel()
    return {name: dict(parts) for name, parts in layers.items()}


def state_bytes(config: ModelConfig) -> int:
    """Weights, gradients and moments."""
    return BYTES_PER_PARAMETER * count(config).parameters


def sequence_bytes(config: ModelConfig, precision: str, *, activation_checkpointing: bool = False) -> int:
    """What autograd keeps of one sequence of `seq_len`, and its logits (or those of one chunk) in the backward pass."""
    width, seq_len = PRECISIONS[precision], config.seq_len
    logits = LOGITS_COPIES * logits_bytes(seq_len, config.n_vocab)
    block = _block_bytes(config, width)
    if activation_checkpointing:
        # The input of each block, and the block that is being recomputed.
        return logits + seq_len * config.n_layers * width * config.d_model + block
    return logits + config.n_layers * block


def _block_bytes(config: ModelConfig, width: int) -> int:
    """What autograd keeps of one block (or layer of cells) and one sequence."""
    seq_len = config.seq_len
    if isinstance(config, RecurrentConfig):
        return 4 * seq_len * 6 * config.hidden_size
    assert isinstance(config, TransformerConfig)
    q, kv = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    mlp = (4 if config.mlp == "swiglu" else 2) * config.d_ff
    # Residual stream before and after each norm; q, k, v, normalised, rotated; the output of attention; the MLP.
    kept = 4 * config.d_model + 2 * q + 2 * kv + (q + kv if config.qk_norm else 0) + q + mlp
    return width * seq_len * kept + _memory_bytes(config)


def _memory_bytes(config: TransformerConfig) -> int:
    """The compressive memory of `infini`, in fp32: features, what was read, and the memory before each segment."""
    if not isinstance(config, InfiniConfig) or config.memory == "off":
        return 0
    q, kv = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    n_segments = ceil_div(config.seq_len, config.segment)
    kept = 4 * q + (6 if config.memory == "delta" else 3) * kv
    return 4 * (config.seq_len * kept + 2 * n_segments * kv * (config.head_dim + 1))
