"""Models map ids to logits; they import nothing of text, data, losses, optimizers or files.

`MODELS` lists the architectures; `build` makes a model from a `ModelConfig`. To add one, write its file (a module
derived from `protocol.Model`), its configuration (derived from `ModelConfig`, in a file without torch) and its line in
`MODELS`. Its flowchart is a function of `diagram.py`, registered there. With a small shape in
`tests/slmmodel_tiny.py`, the tests over the registry check it. Only `build` imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from slmmodel.errors import Argument, InvalidConfig, first_fault, unknown_name, unknown_setting
from slmmodel.indexing import explains_indexing
from slmmodel.models.config import LEAVE_IT, Counts, DecoderConfig, InfiniConfig, ModelConfig, RecurrentConfig, count

if TYPE_CHECKING:
    import torch

    from slmmodel.models.protocol import Model

__all__ = ["MODELS", "Arch", "Counts", "ModelConfig", "arch_of", "build", "config_from_dict", "count"]


@explains_indexing
class Arch(NamedTuple):
    """An architecture: its module as `module:Class`, since it imports torch; its configuration; one line about it."""

    model: str
    config: type[ModelConfig]
    summary: str


_DECODER = ("slmmodel.models.gpt:GPT", DecoderConfig)
_RECURRENT = ("slmmodel.models.rnn:RNN", RecurrentConfig)
MODELS: dict[str, Arch] = {
    "llama": Arch(*_DECODER, "RMSNorm, RoPE, SwiGLU, grouped-query attention, QK-norm (default)"),
    "gpt2": Arch(*_DECODER, "LayerNorm, learned positions, GELU"),
    "infini": Arch("slmmodel.models.infini:Infini", InfiniConfig, "attention in segments, and a compressive memory"),
    "lstm": Arch(*_RECURRENT, "long short-term memory"),
    "gru": Arch(*_RECURRENT, "gated recurrent units"),
    "rnn": Arch(*_RECURRENT, "plain recurrence with tanh"),
}


def arch_of(name: str) -> Arch:
    """The registry's entry of an architecture. Raises `UnknownName`."""
    if name not in MODELS:
        raise unknown_name("architecture", name, MODELS, Argument("model.arch"), option="model.arch")
    return MODELS[name]


def config_from_dict(table: Mapping[str, Any]) -> ModelConfig:
    """Reads a flat table without conversions; null asks for the default.

    Raises `UnknownName` for the architecture, `InvalidConfig` for all else.
    """
    if "arch" not in table:
        raise InvalidConfig("model lacks arch", where="model", fix="name a preset, or set model.arch")
    config_class = arch_of(str(table["arch"])).config
    for name in sorted(table.keys() - config_class.model_fields.keys()):
        raise unknown_setting(f"model.{name}", [f"model.{known}" for known in config_class.model_fields], where="model")
    try:
        return config_class.model_validate({name: value for name, value in table.items() if value is not None})
    except ValidationError as error:
        name, value, limit = first_fault(error)
    fact = f"model.{name} is {value!r}"
    raise InvalidConfig(fact, where="model", limit=limit, fix=LEAVE_IT, option=f"model.{name}")


def build(config: ModelConfig, *, seed: int | None = 0, device: str | torch.device = "cpu") -> Model:
    """A model on `device`, fp32, with the initial weights of `seed`.

    Weights are drawn on the CPU, keyed by seed and parameter name (`init.py`), so they do not depend on the device.
    `seed=None` leaves them uninitialised, for weights that are loaded next.
    """
    from slmmodel.models.init import initialise

    model: Model = resolve_name(arch_of(config.arch).model)(config)
    if seed is not None:
        initialise(model, seed=seed)
    return model.to(device)
