"""`slmtok.load`: the tokenizer that a path or a name stands for, in Python and as `-t` of every command."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.calls import explains_calls, opens_one_file
from slmtok.checks import check_bool, check_path
from slmtok.errors import (
    CorruptFile,
    Inexpressible,
    MissingInput,
    Setting,
    UnknownName,
    Unreadable,
    WrongFormat,
    WrongType,
    begun_name,
    suggestion,
)
from slmtok.file_kinds import TOKENIZER, UNKNOWN, kind_of
from slmtok.files import MAX_FILE_BYTES, free_name, read_file, refuse_text, similar_file
from slmtok.path_arguments import hub_fetch

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

TIKTOKEN = "tiktoken:"
TOKENIZER_FILES = ("tok.json", "tokenizer.json")
"""What holds the tokenizer of a folder."""
_HUB_NAME = re.compile(
    r"[\w-]+/[\w.-]+(?<!\.json)(?<!\.tiktoken)(?<!\.model)(?<!\.txt)(?<!\.vocab)(?<!\.bin)|[a-z]\w*(-\w+)+", re.ASCII
)
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
    from slmtok.tokenizer import Tokenizer, read_tokenizer

    if isinstance(path, (str, os.PathLike)) and isinstance(verify, (str, os.PathLike)) and Path(verify).suffix:
        raise opens_one_file([path, verify])
    check_bool("verify", verify)
    if isinstance(path, Tokenizer):
        raise WrongType("a file is opened, and this is a Tokenizer already", fix="leave out slmtok.load")
    if not isinstance(path, (str, os.PathLike)):
        from slmtok.formats.tiktoken import refuse_encoding

        refuse_encoding(path)
    name = check_path(path)
    refuse_text(name, "slmtok.Tokenizer.from_bytes(text.encode())" if name.lstrip().startswith("{") else None)
    file = Path(name)
    if os.path.isdir(name):  # noqa: PTH112  (a name of any length is fine)
        file = _tokenizer_in(file)
    elif not os.path.exists(name) and (encoding := public_encoding(name)):  # noqa: PTH110
        from slmtok.formats.tiktoken import from_tiktoken
        from slmtok.model_encodings import encoding_meant

        try:
            return from_tiktoken(encoding)
        except UnknownName as error:
            if meant := encoding_meant(encoding):
                error.fix = f"the name tiktoken:{meant}"
            raise
    try:
        return read_tokenizer(file, verify=verify)
    except MissingInput as error:
        raise missing_tokenizer(error, name) from None
    except CorruptFile:
        from slmtok.files import read_limited
        from slmtok.formats.foreign_files import foreign_file
        from slmtok.formats.hf import looks_like

        data = read_limited(file, "tokenizer file")
        if not looks_like(data):
            if data.strip() and kind_of(data) == UNKNOWN and (foreign := foreign_file(str(file), data)):
                raise WrongFormat(
                    f"{file} is {foreign.name}, not a tokenizer file of slmtok",
                    where=str(file),
                    fix=foreign.fix,
                    path=str(file),
                ) from None
            raise
    return _import(file)


def _import(file: Path) -> Tokenizer:
    """The tokenizer in a `tokenizer.json`. Raises `Inexpressible`; a pattern is an option of the command alone."""
    from slmtok.formats.importing import import_file

    try:
        return import_file(file, origin="hf", verify=False)[0]
    except Inexpressible as error:
        fix = error.parts["fix"]
        if isinstance(fix, tuple) and any(isinstance(part, Setting) and part.name == "pattern" for part in fix):
            output = free_name("tok.json")
            error.fix = f"slmtok import {shlex.quote(str(file))} --pattern gpt2 -o {output}, which compares the ids"
        raise


def _tokenizer_in(folder: Path) -> Path:
    """The tokenizer file in a folder. Raises `MissingInput`."""
    held = [folder / each for each in TOKENIZER_FILES if (folder / each).is_file()]
    if not held:
        from slmtok.formats.foreign_files import hint_in

        raise MissingInput(
            f"the folder {str(folder)!r} holds no tokenizer",
            limit=f"one of {', '.join(TOKENIZER_FILES)}",
            fix=hint_in(folder) or "name the file",
            path=str(folder),
        )
    return held[0]


def missing_tokenizer(error: MissingInput, name: str) -> MissingInput:
    """The error for the name of a tokenizer that no file has; its fix names an encoding, or a file of the Hub."""
    from slmtok.formats.tiktoken import ENCODINGS, missing_ranks

    hub = name.removeprefix("hf:")
    bare = hub.removeprefix(TIKTOKEN)
    if "." not in name and "/" not in name:
        error.limit = f"a tokenizer file, a folder with one, a model such as gpt-4, or one of {', '.join(ENCODINGS)}"
    near = similar_file(name, _may_hold_tokenizer)
    if os.path.isfile(f"{name}.json"):  # noqa: PTH113  (a name of any length is fine)
        error.fix = f"{name}.json"
    elif not bare:
        error.fix = f"{TIKTOKEN}cl100k_base, for instance"
    elif meant := similar_encoding(bare):
        what = "public encoding" if meant in ENCODINGS else "name"
        error.fix = f"the {what} {meant}, or the path of a tokenizer file"
        missing = missing_ranks(encoding) if (encoding := public_encoding(meant)) in ENCODINGS else None
        error.fix += f"; {missing.fact}: fetch it with {missing.fix}" if missing else ""
    elif near is None and _HUB_NAME.fullmatch(hub) and ("/" not in hub or not Path(hub).parent.is_dir()):
        fetch = "{} ; then name {}, if it is byte-level BPE".format(*hub_fetch(hub))
        if "/" in name and not name.startswith("hf:"):
            error.fix = f"{error.fix}; for a model of the Hugging Face Hub fetch the file first: {fetch}"
        else:
            error.fix = f"fetch the file first: {fetch}" + f"; or {error.fix}" * (not name.startswith("hf:"))
    elif similar_file(name):
        # What has a similar name is something else.
        error.fix = near or f"check the name, or make a tokenizer: slmtok train CORPUS -o {shlex.quote(name)}"
    return error


def _may_hold_tokenizer(path: Path) -> bool:
    """Whether a path is a tokenizer file, or a folder with one."""
    from slmtok.formats.hf import looks_like

    if path.is_dir():
        return any((path / name).is_file() for name in TOKENIZER_FILES)
    try:
        head = read_file(str(path), MAX_FILE_BYTES["tokenizer.json"])
    except (MissingInput, Unreadable):
        return False
    return kind_of(head) == TOKENIZER or looks_like(head)


def similar_encoding(name: str) -> str | None:
    """The public encoding, or the model of OpenAI, whose name is almost this one."""
    from slmtok.compat.tiktoken.model import MODEL_TO_ENCODING
    from slmtok.formats.tiktoken import ENCODINGS

    return suggestion(name, ENCODINGS) or begun_name(name, ENCODINGS) or suggestion(name, MODEL_TO_ENCODING)


def public_encoding(name: str) -> str | None:
    """The public encoding that `tiktoken:NAME`, a bare name or the name of a model stands for."""
    from slmtok.compat.tiktoken.model import UnknownModel, encoding_name_for_model
    from slmtok.formats.tiktoken import ENCODINGS

    bare = name.removeprefix(TIKTOKEN)
    if bare in ENCODINGS:
        return bare
    try:
        return encoding_name_for_model(bare)
    except UnknownModel:
        return bare if bare != name else None
