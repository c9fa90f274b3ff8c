"""Imports that are proven or not made: another library's file as a tokenizer of ours, with the ids that it had.

The library that the file belongs to encodes the same probes; where one id differs there is no tokenizer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, MissingInput, unknown_name
from slmtok.formats import hf_import, probes, tiktoken_import
from slmtok.formats.base import Encode, installed
from slmtok.formats.equality import compare
from slmtok.formats.receipt import receipt

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.corpus import ReadOptions
    from slmtok.formats.probes import Effort
    from slmtok.tokenizer import Tokenizer

MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class Origin:
    """One kind of file that `slmtok import` reads: how it is known, read, and opened by its own library."""

    name: str
    summary: str
    library: str
    looks_like: Callable[[bytes], bool]
    read: Callable[..., Tokenizer]
    open: Callable[[str, Tokenizer], Encode]


ORIGINS: Mapping[str, Origin] = {
    origin.name: origin
    for origin in (
        Origin(
            "hf",
            "a tokenizer.json of GPT-2's kind",
            "tokenizers",
            hf_import.looks_like,
            hf_import.read,
            hf_import.open_source,
        ),
        Origin(
            "tiktoken",
            "a rank file, or the side file of an export",
            "tiktoken",
            tiktoken_import.looks_like,
            tiktoken_import.read,
            tiktoken_import.open_source,
        ),
    )
}


def import_file(
    path: str | os.PathLike[str],
    *,
    origin: str = "auto",
    pattern: str | None = None,
    verify_on: Sequence[str | os.PathLike[str]] = (),
    read: ReadOptions | None = None,
    unverified: bool = False,
    effort: Effort | None = None,
    progress: Progress | None = None,
) -> tuple[Tokenizer, dict[str, Any]]:
    """The tokenizer in another library's file, and the receipt that says what was compared.

    origin: a name in `ORIGINS`; "auto" goes by the content. pattern: how text is split, for files that do not say it.
    Raises `Inexpressible` for what ours could not do in the same way, `NotEqual`, `MissingExtra`, `CorruptFile`,
    `MissingInput`, `InvalidOption`.
    """
    from slmtok.files import read_file

    source = os.fspath(path)
    data = read_file(_file(source), MAX_BYTES + 1)
    chosen = _origin(origin, data, source)
    source = str(_file(source))
    tokenizer = chosen.read(data, source, pattern=pattern)
    compared = None
    if not unverified:
        encode = chosen.open(source, tokenizer)
        texts = probes.probes(tokenizer, verify_on, read, effort or probes.FULL)
        compared = compare(tokenizer, encode, texts, library=chosen.library, progress=progress)
    found = receipt(
        tokenizer,
        direction="import",
        target=chosen.name,
        library=chosen.library,
        library_version=installed(chosen.library),
        compared=compared,
        text="files" if verify_on else "generated stories",
        files={Path(source).name: data},
    )
    return tokenizer, found


def _file(source: str) -> Path:
    """The file; of a folder, the `tokenizer.json` in it."""
    inside = Path(source) / "tokenizer.json"
    if Path(source).is_dir() and not inside.is_file():
        raise _without_tokenizer(source)
    return inside if inside.is_file() else Path(source)


_ELSEWHERE = {
    "tok.json": "it is a tokenizer of slmtok already: use {}",
    "tokenizer.model": "{} is SentencePiece's: convert it with transformers (a fast tokenizer, save_pretrained) first",
    "vocab.json": "{} and merges.txt are the old pair: transformers' save_pretrained joins them",
}
"""What else such a folder may hold, and what to do then; the first that is there counts."""


def _without_tokenizer(folder: str) -> MissingInput:
    others = [name for name in _ELSEWHERE if (Path(folder) / name).is_file()]
    ranks = sorted(path.name for path in Path(folder).iterdir() if path.suffix == ".tiktoken")
    fix = "name the file itself, or a folder of Hugging Face with a tokenizer.json"
    if ranks:
        fix = f"name the rank file: {Path(folder) / ranks[0]}"
    elif others:
        fix = _ELSEWHERE[others[0]].format(Path(folder) / others[0])
    return MissingInput(
        f"the folder {folder!r} holds no tokenizer.json",
        where=folder,
        limit="; ".join(origin.summary for origin in ORIGINS.values()),
        fix=fix,
        path=folder,
    )


def _origin(name: str, data: bytes, source: str) -> Origin:
    if name != "auto":
        if name not in ORIGINS:
            raise unknown_name("import format", name, ORIGINS)
        return ORIGINS[name]
    for origin in ORIGINS.values():
        if origin.looks_like(data):
            return origin
    if data.startswith(b'{"format":"slmtok-tokenizer",'):
        raise CorruptFile(
            f"{source} is a tokenizer of slmtok already",
            where=source,
            limit="; ".join(origin.summary for origin in ORIGINS.values()),
            fix=f"use it as it is: slmtok encode text.txt -t {source}",
            path=source,
        )
    raise CorruptFile(
        f"{source} is no file that can be imported",
        where=source,
        limit="; ".join(origin.summary for origin in ORIGINS.values()),
        fix="name the file itself, such as tokenizer.json",
        path=source,
    )
