"""Models for other programs, and back: one file for each family of names.

`TARGETS` lists the architectures of Hugging Face that a model of this package can become. Each maps a configuration and
its tensors both ways, so an import reads through the same table as the export wrote. Numbers are never changed, only
renamed, transposed, and cut to the ids that exist.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torch import Tensor

    from slmmodel.models import ModelConfig


class Mapper(Protocol):
    """What the file of a target offers."""

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this, in one clause; None where it can."""

    def to_config(self, config: ModelConfig) -> dict[str, Any]:
        """The architecture's part of a `config.json`."""

    def to_tensors(self, config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Our tensors under its names."""

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `ModelConfig`. Raises `UnsupportedExport` for what ours cannot express."""

    def from_tensors(self, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Its tensors under our names; takes those it used out of `tensors`."""


class Target(NamedTuple):
    """An architecture: its module, and its name in a `config.json`."""

    module: str
    model_type: str

    @property
    def mapper(self) -> Mapper:
        """The functions of its file."""
        module: Mapper = import_module(self.module)
        return module


TARGETS: dict[str, Target] = {
    "Qwen3ForCausalLM": Target("slmmodel.export.qwen3", "qwen3"),
    "LlamaForCausalLM": Target("slmmodel.export.llama", "llama"),
    "GPT2LMHeadModel": Target("slmmodel.export.gpt2", "gpt2"),
}
