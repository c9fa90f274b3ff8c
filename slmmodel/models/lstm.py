"""`lstm`: long short-term memory (Hochreiter and Schmidhuber 1997).

Purpose: a baseline without attention. Pick it for the strongest recurrent baseline. Price: four matrices a cell; no
parallelism over time. Promises: a state of fixed size, whatever the length. Torch-free but for `make`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from slmmodel.models.config import ModelConfig
from slmmodel.models.recurrent_options import RecurrentOptions

if TYPE_CHECKING:
    from slmmodel.models.recurrent import Recurrent


@dataclass(frozen=True)
class Options(RecurrentOptions):
    """Shape of a `lstm`."""

    gates: ClassVar[int] = 4


def make(config: ModelConfig) -> Recurrent:
    """The module, without initial weights."""
    from torch import nn

    from slmmodel.models.recurrent import Recurrent

    return Recurrent(config, nn.LSTM)


def diagram(config: ModelConfig) -> str:
    """The model as a flowchart in Mermaid."""
    from slmmodel.models.drawing import recurrent

    return recurrent(config, cell="LSTM", carried="h and c")
