"""Models as Hugging Face folders, and back: `hf.py` writes and reads folders, each architecture is one table.

`TARGETS` lists the Hugging Face architectures that a model of this package can become. A `Target` is read in both
directions, so an import uses the tables of the export. Numbers never change: tensors are renamed, transposed, and cut
to the ids that exist. To add a target, write its file and its line in `TARGETS`. Torch-free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from slmmodel.errors import UnsupportedFormat
from slmmodel.models import ModelConfig
from slmmodel.models.config import DecoderConfig


class Renamed(NamedTuple):
    """A tensor of the architecture and ours that it consists of, concatenated by rows."""

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False
    """stored [in, out] instead of [out, in]"""


class Target:
    """A Hugging Face architecture. Subclasses add `tensors`, and the keys that need more than a new name."""

    model_type: ClassVar[str]
    """its name in a `config.json`"""
    arch: ClassVar[str]
    """the architecture of ours that an import becomes"""
    keys: ClassVar[Mapping[str, str]]
    """options of `DecoderConfig` to keys of `config.json`"""
    constants: ClassVar[Mapping[str, object]]
    """keys that are written with these values, and refused with others"""
    unused: ClassVar[Mapping[str, object]]
    """keys that are not written, and refused with other values than these"""

    def required(self, config: DecoderConfig) -> dict[str, object]:
        """Options of `DecoderConfig` and the values that they must have."""
        return {"window": None, "softcap": None}

    def refusal(self, config: ModelConfig) -> str | None:
        """Why a configuration cannot become this architecture, in one clause; None where it can."""
        if not isinstance(config, DecoderConfig):
            return f"it is a {config.arch}"
        for name, value in self.required(config).items():
            if getattr(config, name) != value:
                return f"its {name} is {getattr(config, name)}"
        return None

    def to_config(self, config: DecoderConfig) -> dict[str, Any]:
        """The architecture's part of a `config.json`."""
        return {**{theirs: getattr(config, ours) for ours, theirs in self.keys.items()}, **self.constants}

    def from_config(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The flat table of a `ModelConfig`. Raises `UnsupportedFormat` for what no `ModelConfig` expresses."""
        for key, value in {**self.constants, **self.unused}.items():
            if table.get(key) not in (None, value):
                raise unsupported(key, table)
        known = {ours: table[theirs] for ours, theirs in self.keys.items() if table.get(theirs) is not None}
        return {"arch": self.arch, "n_vocab": table["vocab_size"], **known}

    def tensors(self, config: DecoderConfig) -> Iterator[Renamed]:
        """Every tensor. A bias that the model lacks is written as zeros, which compute the same."""
        raise NotImplementedError


def unsupported(key: str, table: Mapping[str, Any]) -> UnsupportedFormat:
    """The error for a key of a `config.json` with a value that no `ModelConfig` expresses."""
    fact = f"{key} {table.get(key)!r} is not supported"
    return UnsupportedFormat(fact, where="config.json", fix="only models without it can be read")


TARGETS: dict[str, str] = {
    "Qwen3ForCausalLM": "slmmodel.export.llama:Qwen3",
    "LlamaForCausalLM": "slmmodel.export.llama:Llama",
    "GPT2LMHeadModel": "slmmodel.export.gpt2:GPT2",
}
"""Each target as `module:class`."""


def target_of(name: str) -> Target:
    """The target of that name, which must be in `TARGETS`."""
    module, _, attribute = TARGETS[name].partition(":")
    target: Target = getattr(import_module(module), attribute)()
    return target


def architecture(config: ModelConfig) -> str:
    """The target that a configuration can become. Raises `UnsupportedFormat` with the reason for each."""
    reasons = {name: target_of(name).refusal(config) for name in TARGETS}
    for name, reason in reasons.items():
        if reason is None:
            return name
    raise UnsupportedFormat(
        f"no Hugging Face architecture expresses this {config.arch}",
        limit="; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
        fix="train a llama or a gpt2 without the settings named above; slm info RUN lists the possible exports",
    )


def exports(config: ModelConfig) -> dict[str, str]:
    """What a configuration can become, known before training: `hf` to the architecture, or to the reasons against."""
    try:
        return {"hf": architecture(config)}
    except UnsupportedFormat as error:
        return {"hf": f"not possible ({error.limit})"}
