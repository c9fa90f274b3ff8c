"""`ModelConfig`: all that decides the shape of a model, as plain data. Torch-free.

On disk it is one flat table: `kind`, the three sizes, and the options of that kind of model. Which options there are is
said in the model's own file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from slmmodel.models.options import read_options, require

MOST_CONTEXT = 1 << 20
"""Slots of a row: beyond it tables and masks alone would fill a machine."""


class Sizes(NamedTuple):
    """What counting needs to know of a body, embeddings and head left out."""

    matrices: int
    """Elements of 2-D hidden weights: what is multiplied once per token."""
    vectors: int
    """Elements of gains and biases."""
    tables: int
    """Elements of learned positions."""
    attention: int
    """Layers x query heads x head dimension; 0 without attention."""


class Options(Protocol):
    """What the options of every kind of model have in common."""

    @property
    def width(self) -> int:
        """Width d of embeddings and of `Output.hidden`."""
        ...

    @property
    def tied(self) -> bool:
        """True where the head is the embedding."""
        ...

    def resolved(self, context: int) -> Options:
        """The same options with every default filled in. Raises `InvalidModelConfig` where sizes do not fit."""
        ...

    def sizes(self, context: int) -> Sizes:
        """Elements of the body."""
        ...


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a model. `options` is the frozen dataclass of its kind, with all defaults resolved."""

    kind: str
    n_vocab: int
    """Ids are 0..n_vocab-1; logits have this many columns."""
    padded_vocab: int
    """Rows of the embedding and of the head."""
    context: int
    """Slots of a row, and the end of learned positions."""
    options: Any

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ModelConfig:
        """Reads the flat table. Raises `UnknownName`, `InvalidModelConfig`."""
        from slmmodel.models import kind_of

        rest = dict(table)
        head: dict[str, Any] = {name: rest.pop(name) for name in _HEAD if name in rest}
        if "padded_vocab" not in head and type(head.get("n_vocab")) is int:
            head["padded_vocab"] = -(-head["n_vocab"] // 64) * 64
        base = read_options(_Head, head, where="model")
        require(0 < base.n_vocab <= base.padded_vocab, f"n_vocab is {base.n_vocab}, padded_vocab {base.padded_vocab}")
        require(0 < base.context <= MOST_CONTEXT, f"context is {base.context:,}", limit=f"1 to {MOST_CONTEXT:,}")
        options = read_options(kind_of(base.kind).options(), rest, where="model").resolved(base.context)
        return cls(**dataclasses.asdict(base), options=options)

    def to_dict(self) -> dict[str, Any]:
        """The flat table, with all defaults; `from_dict` of it is equal to this."""
        head = {"kind": self.kind, "n_vocab": self.n_vocab, "padded_vocab": self.padded_vocab, "context": self.context}
        return {**head, **dataclasses.asdict(self.options)}

    def replace(self, **changes: Any) -> ModelConfig:
        """The same configuration with some keys of the flat table changed."""
        return type(self).from_dict({**self.to_dict(), **changes})


_HEAD = ("kind", "n_vocab", "padded_vocab", "context")


@dataclass(frozen=True)
class _Head:
    kind: str
    n_vocab: int
    padded_vocab: int
    context: int
