"""Models as Hugging Face folders, and back. `hf.py` writes and reads folders; each family of names is one file.

`TARGETS` lists the Hugging Face architectures that a model of this package can become. A `Target` maps a configuration
and its tensors both ways, so an import uses the table that the export used. Numbers never change: tensors are renamed,
transposed, and cut to the ids that exist. To add a target, write its file and its line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from slmmodel.errors import UnsupportedExport

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torch import Tensor

    from slmmodel.models import ModelConfig


class Target(Protocol):
    """A Hugging Face architecture."""

    model_type: str
    """its name in a `config.json`"""

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this architecture, in one clause; None where it can."""

    def to_config(self, config: ModelConfig) -> dict[str, Any]:
        """The architecture's part of a `config.json`."""

    def to_tensors(self, config: ModelConfig, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Our tensors under its names."""

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `ModelConfig`. Raises `UnsupportedExport` for what no `ModelConfig` expresses."""

    def from_tensors(self, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Its tensors under our names; removes those it used from `tensors`."""


TARGETS: dict[str, str] = {
    "Qwen3ForCausalLM": "slmmodel.export.llama:qwen3",
    "LlamaForCausalLM": "slmmodel.export.llama:llama",
    "GPT2LMHeadModel": "slmmodel.export.gpt2:gpt2",
}
"""Each target as `module:object`."""


def target_of(name: str) -> Target:
    """The target of that name, which must be in `TARGETS`."""
    module, _, attribute = TARGETS[name].partition(":")
    target: Target = getattr(import_module(module), attribute)
    return target


def architecture(config: ModelConfig) -> str:
    """The target that a configuration can become. Raises `UnsupportedExport` with the reason for each."""
    reasons = {name: target_of(name).refusal(config) for name in TARGETS}
    for name, reason in reasons.items():
        if reason is None:
            return name
    raise UnsupportedExport(
        f"no Hugging Face architecture expresses this {config.arch}",
        limit="; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
        fix="train a llama or a gpt2 without the settings named above; slm info RUN lists the possible exports",
    )


def exports(config: ModelConfig) -> dict[str, str]:
    """What a configuration can become, known before training: `hf` to the architecture, or to the reasons against."""
    try:
        return {"hf": architecture(config)}
    except UnsupportedExport as error:
        return {"hf": f"not possible ({error.limit})"}
