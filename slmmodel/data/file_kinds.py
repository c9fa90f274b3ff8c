"""What a file is that holds neither ids nor text, by how it begins and by what lies beside it.

The package slmtok has the same for its commands; the library knows files of slmtok by their names in this table alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from slmmodel.sums import SUMS

_HEAD_BYTES = 4096
TOKENIZER = "a tokenizer of slmtok"
CONFIGURATION = "a configuration"
_TENSORS = "a file of tensors (safetensors)"
_NAMES = {
    "tokenizer": TOKENIZER,
    "vocab": "a vocab.json of slmtok",
    "certificate": "a certificate of slm eval",
    "ablation": "the result of an ablation",
    **{kind: f"a result of slm {kind}" for kind in ("passkey", "probe", "prompts")},
}
"""By the kind that the file names."""
_KIND = re.compile(
    rb'\s*\{(?:\s*"kind"\s*:\s*"([a-z-]{1,32})"\s*,\s*"version"|[^\0]*?"format"\s*:\s*"slmtok-([a-z-]{1,32})")'
)
_LOSSES = b'\\"format\\": \\"slm-losses\\"'
_OTHERS = {
    CONFIGURATION: re.compile(rb"(?:.*\n)?(?:model|data|optim|run)[.:]", re.DOTALL),
    "a page (HTML)": re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE),
    _TENSORS: re.compile(rb'.{8}\{"', re.DOTALL),
}
_SUFFIXES: dict[str, str | tuple[str, ...]] = {CONFIGURATION: (".yaml", ".yml"), _TENSORS: ".safetensors"}
"""Of kinds whose beginning may be that of a text."""


def read_head(file: Path) -> bytes:
    """The first bytes of a file; nothing of one that cannot be read, whose error comes where it is opened."""
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return b""


def kind_of(file: Path) -> str | None:
    """What a file is called that is neither ids nor text; None for others, and for what cannot be read."""
    head = read_head(file)
    if not head:
        return None
    if found := _KIND.match(head):
        kind = (found[1] or found[2]).decode()
        return _NAMES.get(kind, f"a file of slmtok ({kind})")
    if _LOSSES in head:
        return "a file of losses of slm eval"
    if file.name != "config.yaml" and all((file.parent / name).is_file() for name in ("config.yaml", SUMS)):
        return f"a file of the run {str(file.parent)!r}"
    matching = (name for name, begin in _OTHERS.items() if begin.match(head))
    return next((name for name in matching if file.name.endswith(_SUFFIXES.get(name, ""))), None)
