"""The settings of a façade: the little that is not the argument of a call. Frozen; part of its identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.compat.hf.plan import UNLIMITED, side

if TYPE_CHECKING:
    from slmtok.specials import Specials


@dataclass(frozen=True)
class Settings:
    """What `as_hf` was told. `pad` is the role or the spelling of the special that fills rows."""

    add_eos: bool = False
    pad: str = "pad"
    model_max_length: int = UNLIMITED
    padding_side: str = "right"
    truncation_side: str = "right"

    def checked(self, specials: Specials) -> Settings:
        """These settings. Raises `InvalidOption`, and `UnknownSpecial` for specials that the tokenizer lacks."""
        side(self.padding_side, "padding_side")
        side(self.truncation_side, "truncation_side")
        check_int("model_max_length", self.model_max_length, 1, max=10**100)
        if self.pad != "pad":
            specials.find(self.pad)
        if self.add_eos:
            specials.find("eos")
        return self
