"""Imports: another library's file as a tokenizer of ours, its ids compared with that library on every probe."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.calls import explains_calls
from slmtok.errors import CorruptFile, MissingInput, NotEqual, Setting, WrongFormat
from slmtok.file_kinds import TOKENIZER, kind_of, wrong_kind
from slmtok.files import read_limited, refuse_text
from slmtok.foreign_options import unknown_format
from slmtok.formats import hf, tiktoken, verification
from slmtok.formats.base import Origin
from slmtok.formats.foreign_files import foreign_file, hint_in
from slmtok.formats.verification import compare, receipt

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.formats.verification import Effort
    from slmtok.options import ReadOptions
    from slmtok.tokenizer import Tokenizer


ORIGINS: Mapping[str, Origin] = {origin.name: origin for origin in (hf.ORIGIN, tiktoken.ORIGIN)}
"""The formats that `slmtok import` reads. To add one: a file with an `Origin`, and its name here."""
_LIMIT = "; ".join(origin.summary for origin in ORIGINS.values())


@explains_calls
def import_file(
    path: str | os.PathLike[str],
    *,
    origin: str = "auto",
    pattern: str | None = None,
    verify_on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
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
    refuse_text(os.fspath(path))
    file = _resolve(os.fspath(path))
    data = read_limited(file, "tokenizer file")
    chosen = _origin(origin, data, os.fspath(path))
    tokenizer = chosen.read(data, str(file), pattern=pattern)
    compared = None
    if verify:
        encode = chosen.open(file, tokenizer)
        texts = verification.probes(tokenizer, verify_on, read, effort or verification.FULL)
        try:
            compared = compare(tokenizer, encode, texts, library=chosen.library, progress=progress)
        except NotEqual as error:
            if pattern is not None:
                error.fix = ("leave ", Setting("pattern"), " out where the file records one, or name another")
            raise
    notes = () if chosen.notes is None else chosen.notes(data, str(file), tokenizer, pattern=pattern)
    files = {file.name: data}
    return tokenizer, receipt(tokenizer, "import", chosen, compared, files, generated=not verify_on, notes=notes)


def _resolve(source: str) -> Path:
    """The file; of a folder, the `tokenizer.json` in it."""
    inside = Path(source) / "tokenizer.json"
    if Path(source).is_dir() and not inside.is_file():
        raise _no_tokenizer_json(source)
    return inside if inside.is_file() else Path(source)


def _no_tokenizer_json(folder: str) -> MissingInput:
    """The error for a folder without tokenizer.json; its fix goes by the other files in it."""
    own = Path(folder) / "tok.json"
    fix = f"it is a tokenizer of slmtok already: use {own}" if own.is_file() else hint_in(Path(folder))
    return MissingInput(
        f"the folder {folder!r} holds no tokenizer.json",
        where=folder,
        limit=_LIMIT,
        fix=fix or "name the file itself, or a folder of Hugging Face with a tokenizer.json",
        path=folder,
    )


def _origin(name: str, data: bytes, source: str) -> Origin:
    if name not in ("auto", *ORIGINS):
        raise unknown_format("import format", name, ORIGINS)
    found = next((origin for origin in ORIGINS.values() if origin.looks_like(data)), None)
    kind = kind_of(data)
    if name == "auto" and found is not None:
        return found
    if name != "auto":
        if found is not None and found is not ORIGINS[name]:
            raise WrongFormat(
                f"{source} is of the format {found.name}, not {name}",
                where=source,
                limit=f"{name}: {ORIGINS[name].summary}",
                fix=(Setting("origin", found.name),),
                path=source,
                origin=found.name,
            )
        if kind != TOKENIZER:
            # Its own error names the line at fault.
            return ORIGINS[name]
    own = "use the tokenizer of slmtok beside it, which needs no import"
    if kind != TOKENIZER and (other := wrong_kind(source, kind, "tokenizer", ".json", own)):
        raise other
    fact, fix = f"{source} cannot be imported: unknown format", "name the file itself, such as tokenizer.json"
    if foreign := foreign_file(source, data):
        fact, fix = f"{source} cannot be imported: it is {foreign.name}", foreign.fix
        raise WrongFormat(fact, where=source, limit=_LIMIT, fix=fix, path=source)
    if data.startswith(b'{"format":"slmtok-tokenizer",'):
        fact = f"{source} is a tokenizer of slmtok already"
        fix = f"slmtok.load({source!r}), which is the tokenizer as it is"
    raise CorruptFile(fact, where=source, limit=_LIMIT, fix=fix, path=source)
