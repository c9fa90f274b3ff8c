"""Hugging Face's `Qwen3ForCausalLM`: our `llama` with QK-norm on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slmmodel.export import rotary
from slmmodel.export.rotary import from_tensors, to_config, to_tensors
from slmmodel.models import ModelConfig

__all__ = ["from_config", "from_tensors", "refusal", "to_config", "to_tensors"]


def refusal(config: ModelConfig) -> str | None:
    """Why a configuration cannot become this; None where it can."""
    return rotary.refusal(config, qk_norm=True)


def from_config(table: Mapping[str, Any]) -> dict[str, Any]:
    """The flat table of a `ModelConfig`. Raises `UnsupportedExport`."""
    return rotary.from_config(table, qk_norm=True)
