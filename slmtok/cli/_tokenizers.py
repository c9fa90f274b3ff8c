"""Which tokenizer a command means: a file of ours, or `tiktoken:NAME`, read from tiktoken's cache folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

TIKTOKEN = "tiktoken:"


def open_tokenizer(name: str, *, verify: bool = True) -> Tokenizer:
    """The tokenizer that `name` stands for. Raises what `slmtok.load` and `slmtok.from_tiktoken` raise."""
    import slmtok

    if name.startswith(TIKTOKEN):
        return slmtok.from_tiktoken(name.removeprefix(TIKTOKEN))
    return slmtok.load(name, verify=verify)


def is_tokenizer(name: str) -> bool:
    """Whether a positional argument names a tokenizer rather than being text."""
    from pathlib import Path

    if name.startswith(TIKTOKEN):
        return True
    try:
        return name.endswith(".json") and Path(name).is_file()
    except OSError:
        return False
