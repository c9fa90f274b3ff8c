"""`slmtok.load`: the tokenizer that a path or a name stands for, in Python and as `-t` of every command."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.calls import explains_calls
from slmtok.checks import check_bool, check_path
from slmtok.errors import CorruptFile, MissingInput, begun_name, suggestion

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

TIKTOKEN = "tiktoken:"
TOKENIZER_FILES = ("tok.json", "tokenizer.json")
"""What holds the tokenizer of a folder."""
_HUB_NAME = re.compile(r"[\w-]+/[\w.-]+(?<!\.json)", re.ASCII)
"""The name of a model of the Hugging Face Hub."""


@explains_calls
def load(path: str | os.PathLike[str], verify: bool = True) -> Tokenizer:
    """Opens a tokenizer: `slmtok.load("tok.json")`.

    path: a file of slmtok; a `tokenizer.json` of Hugging Face, which is not compared with that library; a folder with
    either, such as packed data or a run; `tiktoken:NAME`; where no file has the name, a public encoding ("gpt2") or a
    model of OpenAI ("gpt-4"). `verify=False` skips the golden vectors of a file of slmtok.

    Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`, `InvalidMerges`, `InvalidTokens`,
    `InvalidSpecials`, `GoldenMismatch`, each naming the file and the fault, and what `slmtok.from_tiktoken` raises.
    """
    from slmtok.tokenizer import read_tokenizer

    check_bool("verify", verify)
    name = check_path(path, "tok.json")
    file = Path(name)
    if file.is_dir():
        held = [file / each for each in TOKENIZER_FILES if (file / each).is_file()]
        if not held:
            raise MissingInput(
                f"the folder {name!r} holds no tokenizer",
                limit=f"one of {', '.join(TOKENIZER_FILES)}",
                fix="name the file",
                path=name,
            )
        file = held[0]
    elif (encoding := public_encoding(name)) and not file.exists():
        from slmtok.formats.tiktoken import from_tiktoken

        return from_tiktoken(encoding)
    try:
        return read_tokenizer(file, verify=verify)
    except MissingInput as error:
        error.fix = _name_meant(name) or error.fix
        raise
    except CorruptFile:
        from slmtok.files import read_limited
        from slmtok.formats.hf import looks_like
        from slmtok.formats.importing import import_file

        if not looks_like(read_limited(file, "tokenizer file")):
            raise
        return import_file(file, origin="hf", verify=False)[0]


def _name_meant(name: str) -> str | None:
    """The remedy for a name that no file has: a public encoding, a file of a similar name, a file of the Hub."""
    from slmtok.formats.tiktoken import ENCODINGS

    if meant := suggestion(name, ENCODINGS) or begun_name(name, ENCODINGS):
        return f"the public encoding {meant}, or the path of a tokenizer file"
    if _HUB_NAME.fullmatch(name) and not Path(name).parent.is_dir():
        return f"fetch the file first: hf download {name} tokenizer.json --local-dir . ; then name tokenizer.json"
    return None


def public_encoding(name: str) -> str | None:
    """The public encoding that `tiktoken:NAME`, a bare name or the name of a model stands for."""
    from slmtok.compat.tiktoken.model import UnknownModel, encoding_name_for_model
    from slmtok.formats.tiktoken import ENCODINGS

    if name.startswith(TIKTOKEN) or name in ENCODINGS:
        return name.removeprefix(TIKTOKEN)
    try:
        return encoding_name_for_model(name)
    except UnknownModel:
        return None
