"""One id a row through a decoder with a cache: what `Decoder.body` does, without what a single slot does not need.

No modules are called, nothing is joined or transposed; for small models that is most of the time of a step. It holds
references to parameters, so weights that change are seen. `tests/slmmodel/models/test_state.py` compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear

from slmmodel.models.masks import Mask, attend
from slmmodel.models.norms import rms_norm
from slmmodel.models.state import KeyValueState

if TYPE_CHECKING:
    from slmmodel.models.decoder import Decoder

Rope = tuple[Tensor, Tensor]
Affine = tuple[Tensor, Tensor | None]
"""A weight and a bias; of a norm, its gain and its bias."""


class Layer(NamedTuple):
    """The parameters of one block."""

    norm1: Affine
    q: Affine
    k: Affine
    v: Affine
    o: Affine
    q_gain: Tensor | None
    k_gain: Tensor | None
    norm2: Affine
    gate: Affine | None
    up: Affine
    down: Affine


def layers_of(decoder: Decoder) -> list[Layer]:
    """References to all parameters of the blocks."""
    found = []
    for name in range(decoder.recipe.layers):
        block = decoder.blocks[name]
        tensors = dict(block.named_parameters())

        def pair(of: str, weight: str = "weight", tensors: dict[str, nn.Parameter] = tensors) -> Affine:
            return tensors[f"{of}.{weight}"], tensors.get(f"{of}.bias")

        found.append(
            Layer(
                norm1=pair("norm1", "gain"),
                q=pair("attention.q"),
                k=pair("attention.k"),
                v=pair("attention.v"),
                o=pair("attention.o"),
                q_gain=tensors.get("attention.q_norm.gain"),
                k_gain=tensors.get("attention.k_norm.gain"),
                norm2=pair("norm2", "gain"),
                gate=pair("mlp.gate") if "mlp.gate.weight" in tensors else None,
                up=pair("mlp.up"),
                down=pair("mlp.down"),
            )
        )
    return found


def step(decoder: Decoder, x: Tensor, rope: Rope | None, mask: Mask, state: KeyValueState) -> Tensor:
    """[B,1,d] through all blocks; keys and values are appended to `state`."""
    recipe, rows = decoder.recipe, x.shape[0]
    if state.layers is None:
        state.layers = layers_of(decoder)
    activation = decoder.activation
    head_dim, eps, normal = recipe.head_dim, recipe.norm_eps, recipe.norm == "rms"
    wide, narrow = (rows, recipe.heads, 1, head_dim), (rows, recipe.kv_heads, 1, head_dim)
    for number, layer in enumerate(state.layers):
        h = _norm(x, layer.norm1, eps, normal)
        q = linear(h, *layer.q).view(wide)
        k = linear(h, *layer.k).view(narrow)
        v = linear(h, *layer.v).view(narrow)
        if layer.q_gain is not None and layer.k_gain is not None:
            q, k = rms_norm(q, layer.q_gain, eps), rms_norm(k, layer.k_gain, eps)
        if rope is not None:
            q, k = _rotate(q, rope), _rotate(k, rope)
        k, v = state.append(number, k, v)
        x = x + linear(attend(q, k, v, mask).view(rows, 1, -1), *layer.o)
        h = _norm(x, layer.norm2, eps, normal)
        inner = activation(linear(h, *(layer.gate or layer.up)))
        if layer.gate is not None:
            inner = inner * linear(h, *layer.up)
        x = x + linear(inner, *layer.down)
    return x


def _norm(x: Tensor, weights: Affine, eps: float, normal: bool) -> Tensor:
    gain, bias = weights
    return rms_norm(x, gain, eps) if normal else layer_norm(x, gain.shape, gain, bias, eps)


def _rotate(x: Tensor, rope: Rope) -> Tensor:
    """[B,N,1,h]; the tables are [1,1,h] or [B,1,1,h]."""
    return torch.addcmul(x * rope[0], torch.roll(x, x.shape[-1] // 2, -1), rope[1])
