"""The models: ids in, logits out. They know nothing of text, data, losses, optimizers or files.

`MODELS` says which kinds there are; `build` makes one from a `ModelConfig`. To add a kind, write its file and its line
in `MODELS`; the tests over the registry then hold it to the protocol (`protocol.py`). Torch is imported by `build`
alone.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.errors import UnknownName
from slmmodel.models.config import ModelConfig
from slmmodel.models.count import Counts, count

if TYPE_CHECKING:
    import torch

    from slmmodel.models.protocol import Model

__all__ = ["MODELS", "Counts", "Kind", "ModelConfig", "build", "count", "diagram", "kind_of"]


class Kind(NamedTuple):
    """Where a kind of model is defined, what it is in one line, and whether its state is recurrent.

    Its module holds `Options`, a frozen dataclass, `make(config)`, the module without initial weights, and
    `diagram(config)`, a flowchart of it.
    """

    module: str
    summary: str
    recurrent: bool = False

    def options(self) -> type[Any]:
        """The class of this kind's options; torch is not imported."""
        options: type[Any] = import_module(self.module).Options
        return options


MODELS: dict[str, Kind] = {
    "llama": Kind("slmmodel.models.llama", "RMSNorm, RoPE, SwiGLU, grouped-query attention, QK-norm (default)"),
    "gpt2": Kind("slmmodel.models.gpt2", "LayerNorm, learned positions, GELU"),
    "lstm": Kind("slmmodel.models.lstm", "long short-term memory", recurrent=True),
    "gru": Kind("slmmodel.models.gru", "gated recurrent units", recurrent=True),
    "rnn": Kind("slmmodel.models.rnn", "plain recurrence with tanh", recurrent=True),
}


def diagram(config: ModelConfig) -> str:
    """The model as a flowchart in Mermaid, with its dimensions and what it carries from position to position."""
    text: str = import_module(kind_of(config.kind).module).diagram(config)
    return text


def kind_of(name: str) -> Kind:
    """The registry's line of a kind. Raises `UnknownName`."""
    if name not in MODELS:
        near = difflib.get_close_matches(name, MODELS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnknownName(
            f"unknown kind of model {name!r}{hint}",
            limit=f"kinds: {', '.join(MODELS)}",
            fix=f"model.kind={near[0] if near else 'llama'}",
            name=name,
        )
    return MODELS[name]


def build(config: ModelConfig, *, seed: int | None = 0, device: str | torch.device = "cpu") -> Model:
    """A model with the initial weights of `seed`, on `device`, in fp32.

    Weights are drawn on the CPU by parameter name (`init.py`), so they do not depend on the device. `seed=None` leaves
    them undefined, for weights that are loaded next.
    """
    from slmmodel.models.init import initialise

    model: Model = import_module(kind_of(config.kind).module).make(config)
    if seed is not None:
        initialise(model, seed=seed)
    return model.to(device)
