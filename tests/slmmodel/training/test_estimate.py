"""What `slm info PRESET` says of training, compared with what torch keeps and counts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

from slmmodel.errors import OptionError, UnknownName
from slmmodel.gpus import devices
from slmmodel.models import build, config_from_dict
from slmmodel.models.presets import PRESETS
from slmmodel.training import estimate

SIZES = {"n_vocab": 256, "seq_len": 256, "n_layers": 3, "d_model": 128, "n_heads": 4}
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"arch": "llama", **SIZES},
    "grouped heads": {"arch": "llama", **SIZES, "n_kv_heads": 1, "d_ff": 512, "qk_norm": False},
    "gpt2": {"arch": "gpt2", **SIZES},
    "infini": {"arch": "infini", **SIZES, "segment": 16},
    "infini, linear": {"arch": "infini", **SIZES, "segment": 64, "memory": "linear", "qk_norm": False},
    "infini, off": {"arch": "infini", **SIZES, "segment": 32, "memory": "off"},
}


def kept_by_autograd(table: dict[str, Any]) -> int:
    """Bytes of the distinct tensors that a forward pass to the hidden vectors keeps, parameters excluded."""
    model = build(config_from_dict(table)).train()
    own = {parameter.untyped_storage().data_ptr() for parameter in (*model.parameters(), *model.buffers())}
    found: dict[int, int] = {}
    alive = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        alive.append(storage)
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.zeros(1, table["seq_len"], dtype=torch.int64), logits="none")
    return sum(found.values())


@pytest.mark.parametrize("name", SHAPES)
def test_the_memory_of_a_sequence_is_what_autograd_keeps(name: str) -> None:
    config = config_from_dict(SHAPES[name])
    logits = 3 * 4 * config.seq_len * config.n_vocab
    expected = kept_by_autograd(SHAPES[name])
    assert estimate.sequence_bytes(config, "fp32") - logits == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("name", PRESETS)
def test_parts_add_up(name: str) -> None:
    config = PRESETS[name].config()
    parts = estimate.parameters_by_part(config)
    assert estimate.state_bytes(config) == 16 * sum(parts.values())
    less = estimate.sequence_bytes(config, "bf16", activation_checkpointing=True)
    assert 0 < less <= estimate.sequence_bytes(config, "bf16") <= estimate.sequence_bytes(config, "fp32")


def test_parts_of_the_published_configuration() -> None:
    assert estimate.parameters_by_part(PRESETS["infini-200m-exp53"].config()) == {
        "embedding": 49_152 * 1024,
        "head": 49_152 * 1024,
        "attention": 6 * 4 * 1024**2,
        "mlp": 6 * 3 * 1024 * 4096,
        "norms": 13 * 1024,
        "gates": 48,
    }


def test_devices_by_name() -> None:
    four = devices("H100:4")
    assert (four.number, four.flops, four.memory) == (4, 4 * 989e12, 80e9)
    assert four.seconds(4 * 989e12) == pytest.approx(2.5)
    with pytest.raises(UnknownName, match="did you mean 'h100'"):
        devices("h10")
    for wrong in ("h100:", "h100:0", "h100:x"):
        with pytest.raises(OptionError, match="number of devices"):
            devices(wrong)
