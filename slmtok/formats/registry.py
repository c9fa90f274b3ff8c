"""The formats that `slmtok export` writes. To add one, write its file with a `Target`, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from slmtok.formats.base import Target
from slmtok.formats.hf import HF
from slmtok.formats.tiktoken_export import TIKTOKEN

TARGETS: Mapping[str, Target] = {target.name: target for target in (HF, TIKTOKEN)}
