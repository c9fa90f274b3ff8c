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


def open_any(name: str) -> Tokenizer:
    """As `open_tokenizer`, and a Hugging Face `tokenizer.json` too, read without comparing it with that library."""
    from pathlib import Path

    path = Path(name) / "tokenizer.json" if Path(name).is_dir() else Path(name)
    if name.startswith(TIKTOKEN) or not path.is_file():
        return open_tokenizer(name)
    from slmtok.files import read_file
    from slmtok.formats.hf_import import looks_like
    from slmtok.formats.importing import import_file
    from slmtok.tokenizer_file import MAX_FILE_BYTES

    if looks_like(read_file(path, MAX_FILE_BYTES + 1)):
        return import_file(path, origin="hf", unverified=True)[0]
    return open_tokenizer(name)


def is_tokenizer(name: str) -> bool:
    """Whether a positional argument names a tokenizer rather than being text."""
    from pathlib import Path

    if name.startswith(TIKTOKEN):
        return True
    try:
        return name.endswith(".json") and Path(name).is_file()
    except OSError:
        return False
