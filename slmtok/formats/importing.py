"""Imports: another library's file as a tokenizer of ours, its ids compared with that library on every probe."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, MissingInput, unknown_name
from slmtok.formats import hf_import, tiktoken_import, verification
from slmtok.formats.base import Encode, installed
from slmtok.formats.verification import compare, receipt

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.formats.verification import Effort
    from slmtok.options import ReadOptions
    from slmtok.tokenizer import Tokenizer

MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class Origin:
    """One format that `slmtok import` reads: detection, reader, and the library that encodes with the file."""

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
    verify: bool = True,
    effort: Effort | None = None,
    progress: Progress | None = None,
) -> tuple[Tokenizer, dict[str, Any]]:
    """(the tokenizer in another library's file, the payload of the receipt).

    origin: a name in `ORIGINS`; "auto" detects it. pattern: the split pattern, for files without one.
    Raises `Inexpressible` for what our tokenizer cannot reproduce, `NotEqual`, `MissingExtra`, `CorruptFile`,
    `MissingInput`, `OptionError`.
    """
    from slmtok.files import read_file

    source = os.fspath(path)
    data = read_file(_resolve(source), MAX_BYTES + 1)
    chosen = _origin(origin, data, source)
    source = str(_resolve(source))
    tokenizer = chosen.read(data, source, pattern=pattern)
    compared = None
    if verify:
        encode = chosen.open(source, tokenizer)
        texts = verification.probes(tokenizer, verify_on, read, effort or verification.FULL)
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


def _resolve(source: str) -> Path:
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
"""Other files in such a folder, and the remedy; the first one found decides."""


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
        f"{source} cannot be imported: unknown format",
        where=source,
        limit="; ".join(origin.summary for origin in ORIGINS.values()),
        fix="name the file itself, such as tokenizer.json",
        path=source,
    )
