"""tiktoken's rank files: reading them into a native `Tokenizer` with the same ids, and writing such files.

A rank file has one token a line, base64, a space, its rank; it knows neither pattern nor specials, so those of the
public encodings are listed here as facts. Files are looked for where tiktoken keeps them; nothing is ever fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.errors import CorruptFile, InvalidOption, InvalidRanks, MissingInput, WrongType, suggestion, unknown_name
from slmtok.formats.tiktoken_encodings import ENCODINGS, Encoding, gpt2_ranks, roles_of
from slmtok.specials import Specials, SpecialToken
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

__all__ = ["ENCODINGS", "Encoding", "cache_folder", "find_ranks", "from_tiktoken", "read_ranks", "write_ranks"]

MAX_BYTES = 256 << 20
MAX_RANK = MAX_IDS - 1
_SOUND = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2} [0-9]{1,8}(?:\r?\n|\Z))*")
_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) ([0-9]{1,8})")


def from_tiktoken(
    name_or_path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    specials: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """A native tokenizer with the ids of a tiktoken encoding.

    name_or_path: the name of a public encoding, looked for in tiktoken's cache folder; or a rank file.
    pattern: name or regex of the split pattern; a rank file needs it, unless it is the file of a public encoding.
    specials: spelling to id, instead of those of the encoding. name: what `provenance` calls the source.

    Raises `MissingInput` with the folder that was searched, `UnknownName`, `InvalidRanks` with the line, `CorruptFile`
    for a cached file that is not the published one, `InvalidOption` where the pattern is missing.
    """
    from slmtok._engine import UNICODE_VERSION, VERSION
    from slmtok.patterns import parse_pattern
    from slmtok.tokenizer import Tokenizer

    tokens, encoding, digest = _tokens(name_or_path)
    spec = pattern or (encoding.pattern if encoding else None)
    if spec is None:
        raise InvalidOption(
            f"{str(name_or_path)!r} is a rank file, which does not tell its split pattern",
            fix="pattern='cl100k', or whichever it was made with",
            option="pattern",
        )
    compiled = parse_pattern(spec)
    spellings = specials if specials is not None else (encoding.specials if encoding else {})
    vocabulary = Vocabulary(
        "bpe",
        PatternSpec(compiled.name, compiled.regex, UNICODE_VERSION),
        _specials(spellings),
        tokens=tokens,
        layout="foreign",
    )
    source = name or (encoding.name if encoding else Path(name_or_path).name)
    provenance = {"package": f"slmtok {VERSION}", "source": f"tiktoken:{source}", "source_sha256": digest}
    return Tokenizer(vocabulary, provenance=provenance)


def _tokens(name_or_path: str | os.PathLike[str]) -> tuple[tuple[bytes | None, ...], Encoding | None, str]:
    """(tokens by rank, the encoding that they belong to if it is a public one, sha256 of their file)."""
    from slmtok import _engine
    from slmtok.checks import check_path
    from slmtok.files import read_file

    named = ENCODINGS.get(check_path(name_or_path))
    if named is None and not Path(name_or_path).is_file():
        raise _neither(str(name_or_path))
    path = find_ranks(named.name) if named else Path(name_or_path)
    data = read_file(path, MAX_BYTES + 1)
    digest = hashlib.sha256(data).hexdigest()
    encoding = named or next((known for known in ENCODINGS.values() if known.sha256 == digest), None)
    if named is not None and path.name == named.json_key:
        _check_digest(path, digest, named.json_sha256)
        return _by_id(gpt2_ranks(data)), named, digest
    if named is not None:
        _check_digest(path, digest, named.sha256)
    tokens = _engine.read_ranks(data, MAX_IDS) if len(data) <= MAX_BYTES else None
    return tokens or _by_id(read_ranks(data, source=str(path))), encoding, digest


def _neither(name: str) -> Exception:
    if suggestion(name, ENCODINGS) or not (os.sep in name or "." in name):
        return unknown_name("encoding", name, ENCODINGS)
    return MissingInput(
        f"{name!r} is neither a file nor an encoding",
        limit=f"encodings: {', '.join(ENCODINGS)}",
        fix="check the name",
        path=name,
    )


def _check_digest(path: Path, digest: str, published: str | None) -> None:
    if digest != published:
        raise CorruptFile(
            f"{str(path)!r} is not the published rank file",
            where=f"its sha256 is {digest[:16]}…, the published one's {str(published)[:16]}…",
            fix="delete it and let tiktoken fetch it again",
            path=str(path),
        )


def _specials(spellings: Mapping[str, int]) -> Specials:
    if not isinstance(spellings, Mapping):
        raise WrongType(
            f"specials must be a dict from spelling to id, not {type(spellings).__name__}",
            fix="specials={'<|endoftext|>': 50256}",
        )
    ids: dict[str, int] = {}
    for text, id in spellings.items():
        if not isinstance(text, str):
            raise WrongType(f"a special is spelled by a str, not by {text!r}", fix="specials={'<|endoftext|>': 50256}")
        ids[text] = check_int(f"id of {text!r}", id, 0, MAX_RANK)
    roles = roles_of(ids)
    return Specials(SpecialToken(id, roles[text], text) for text, id in ids.items())


def _by_id(ranks: dict[bytes, int]) -> tuple[bytes | None, ...]:
    tokens: list[bytes | None] = [None] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    return tuple(tokens)


# --- where tiktoken keeps its files ----------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """tiktoken's cache folder by its own rules; None where its user switched the cache off."""
    import tempfile

    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        folder = os.environ.get(variable)
        if folder is not None:
            return Path(folder) if folder else None
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def find_ranks(name: str) -> Path:
    """The file of an encoding in tiktoken's cache. Raises `UnknownName`, `MissingInput` naming the folder searched."""
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise unknown_name("encoding", name, ENCODINGS)
    folder = cache_folder()
    for key in (encoding.cache_key, encoding.json_key):
        if folder is not None and key is not None and (folder / key).is_file():
            return folder / key
    where = f"no file {encoding.cache_key} in {folder}" if folder else "TIKTOKEN_CACHE_DIR is empty: no cache is used"
    raise MissingInput(
        f"the rank file of {name} is not on this machine",
        where=where,
        fix=f"python -c \"import tiktoken; tiktoken.get_encoding('{name}')\" once, or set TIKTOKEN_CACHE_DIR",
        path=str(folder) if folder else "",
        name=name,
    )


# --- the files themselves --------------------------------------------------------------------------------------------


def read_ranks(data: bytes, *, source: str) -> dict[bytes, int]:
    """Token to rank, in the order of the file. Raises `InvalidRanks` naming `source` and the line at fault."""
    if len(data) > MAX_BYTES:
        raise InvalidRanks(f"{source} has {len(data):,} bytes", limit=f"{MAX_BYTES:,} bytes", fix="name a rank file")
    if not _SOUND.fullmatch(data):
        raise _find_fault(data, source)
    fields = data.split()
    try:
        tokens = list(map(a2b_base64, fields[::2]))
    except Base64Error:
        raise _find_fault(data, source) from None
    ranks = dict(zip(tokens, map(int, fields[1::2]), strict=True))
    if not ranks or len(ranks) != len(tokens) or len(set(ranks.values())) != len(tokens):
        raise _find_fault(data, source)
    if max(ranks.values()) > MAX_RANK:
        raise _find_fault(data, source)
    for byte in range(256):
        if bytes((byte,)) not in ranks:
            raise InvalidRanks(
                f"{source} has no token for the byte 0x{byte:02X}",
                where=source,
                limit="all 256 bytes, or some text could not be encoded",
                fix="add the missing bytes, or use another table",
                path=source,
            )
    return ranks


def _find_fault(data: bytes, source: str) -> InvalidRanks:
    """The error for the first line that is wrong, read slowly."""
    tokens: dict[bytes, int] = {}
    ranks: dict[int, int] = {}
    number = 0
    for number, line in enumerate(data.splitlines(), 1):
        reason = _line_fault(line, tokens, ranks, number)
        if reason is not None:
            shown = line[:40].decode("ascii", "backslashreplace")
            return InvalidRanks(
                f"{shown!r} {reason}",
                where=f"{source}, line {number}",
                limit="a line is a token in base64, one space, its rank",
                fix="fetch or copy the file again",
                path=source,
                line=number,
            )
    return InvalidRanks(
        f"{source} has no tokens" if not number else f"{source} mixes line ends",
        where=source,
        fix="fetch or copy the file again",
        path=source,
    )


def _line_fault(line: bytes, tokens: dict[bytes, int], ranks: dict[int, int], number: int) -> str | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return "is no token and rank"
    try:
        token = a2b_base64(match[1])
    except Base64Error:
        return "is not base64"
    rank = int(match[2])
    if rank > MAX_RANK:
        return f"has a rank above {MAX_RANK}"
    if token in tokens:
        return f"repeats the token of line {tokens[token]}"
    if rank in ranks:
        return f"repeats the rank of line {ranks[rank]}"
    tokens[token] = ranks[rank] = number
    return None


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """The bytes of a rank file, in the order of ranks."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(b2a_base64(token, newline=False) + b" %d\n" % rank for token, rank in ordered)
