"""tiktoken's rank files: reading them into a `Tokenizer` with the same ids, and writing them.

A rank file has one token a line: base64, a space, its rank. It holds neither pattern nor special tokens, so those of
the public encodings are listed here. Files are read from tiktoken's cache folder; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slmtok.checks import check_int
from slmtok.errors import (
    CorruptFile,
    InvalidRanks,
    MissingInput,
    OptionError,
    Setting,
    WrongType,
    suggestion,
    unknown_name,
)
from slmtok.specials import Specials, SpecialToken
from slmtok.token_text import unicode_to_bytes
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

__all__ = ["ENCODINGS", "Encoding", "cache_folder", "find_ranks", "from_tiktoken", "read_ranks", "write_ranks"]

END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Encoding:
    """One public encoding. `json_key` and `json_sha256` belong to a second format of its ranks, if there is one."""

    name: str
    cache_key: str
    sha256: str
    pattern: str
    specials: Mapping[str, int]
    json_key: str | None = None
    json_sha256: str | None = None


_R50K = (
    "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
)
_P50K = (
    "ec7223a39ce59f226a68acc30dc1af2788490e15",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CL100K = (
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_GPT2_JSON = (
    "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6",
    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
)
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


def _fim(first: int) -> dict[str, int]:
    return {text: first + index for index, text in enumerate(_FIM)}


ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("gpt2", *_R50K, "gpt2", {END_OF_TEXT: 50256}, *_GPT2_JSON),
        Encoding("r50k_base", *_R50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_base", *_P50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_edit", *_P50K, "gpt2", {END_OF_TEXT: 50256, **_fim(50281)}),
        Encoding("cl100k_base", *_CL100K, "cl100k", {END_OF_TEXT: 100257, **_fim(100258), "<|endofprompt|>": 100276}),
        Encoding("o200k_base", *_O200K, "o200k", {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}),
    )
}


_KNOWN_ROLES = {END_OF_TEXT: "eos", "<s>": "bos", "</s>": "eos"}


def roles_of(spellings: Mapping[str, int]) -> dict[str, str]:
    """Spelling -> role for foreign special tokens (spelling -> id); each role occurs once.

    A role never equals the spelling of another special token. Of two tokens with the same role, the later one's gets
    its id as a suffix.
    """
    roles: dict[str, str] = {}
    for text, id in sorted(spellings.items(), key=lambda item: (role_of(item[0]) != item[0], item[1])):
        role = role_of(text)
        taken = {*roles.values(), *(other for other in spellings if other != text)}
        if role in taken:
            role = f"{role}_{id}"
        while role in taken:
            role += "_"
        roles[text] = role
    return roles


def role_of(text: str) -> str:
    """The role of a spelling: `bos` or `eos` if known, else its letters and digits."""
    if text in _KNOWN_ROLES:
        return _KNOWN_ROLES[text]
    role = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.-")
    return role if role[:1].isalpha() else f"special_{role or 'x' + text.encode('utf-8', 'surrogatepass').hex()}"


def gpt2_ranks(data: bytes) -> dict[bytes, int]:
    """The ranks in GPT-2's `encoder.json`, whose ids are ranks."""
    byte_of = unicode_to_bytes()
    table: dict[str, int] = json.loads(data)
    table.pop(END_OF_TEXT, None)
    return {bytes(byte_of[char] for char in token): id for token, id in table.items()}


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
    """A tokenizer with the ids of a tiktoken encoding.

    name_or_path: the name of a public encoding, looked for in tiktoken's cache folder; or a rank file.
    pattern: name or regex of the split pattern; a rank file needs it, unless it is the file of a public encoding.
    specials: spelling -> id, instead of those of the encoding. name: the source in `provenance`.

    Raises `MissingInput` with the folder that was searched, `UnknownName`, `InvalidRanks` with the line, `CorruptFile`
    for a cached file that is not the published one, `OptionError` if the pattern is missing.
    """
    from slmtok._engine import UNICODE_VERSION, VERSION
    from slmtok.patterns import parse_pattern
    from slmtok.tokenizer import Tokenizer

    tokens, encoding, digest = _tokens(name_or_path)
    spec = pattern or (encoding.pattern if encoding else None)
    if spec is None:
        raise OptionError(
            f"{str(name_or_path)!r} is a rank file, which does not tell its split pattern",
            fix=(Setting("pattern", "cl100k"), ", or the pattern of its encoding"),
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
    """(tokens by rank, their public encoding if known, sha256 of the file)."""
    from slmtok import _engine
    from slmtok.checks import check_path
    from slmtok.files import read_file

    named = ENCODINGS.get(check_path(name_or_path))
    if named is None and not Path(name_or_path).is_file():
        raise _unknown_source(str(name_or_path))
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


def _unknown_source(name: str) -> Exception:
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
            raise WrongType(
                f"the spelling of a special token must be a str, not {text!r}", fix="specials={'<|endoftext|>': 50256}"
            )
        ids[text] = check_int(f"id of {text!r}", id, 0, MAX_RANK)
    roles = roles_of(ids)
    return Specials(SpecialToken(id, roles[text], text) for text, id in ids.items())


def _by_id(ranks: dict[bytes, int]) -> tuple[bytes | None, ...]:
    tokens: list[bytes | None] = [None] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    return tuple(tokens)


# --- cache ---


def cache_folder() -> Path | None:
    """tiktoken's cache folder, by its own rules; None if the cache is switched off."""
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


# --- files ---


def read_ranks(data: bytes, *, source: str) -> dict[bytes, int]:
    """Token -> rank, in the order of the file. Raises `InvalidRanks` naming `source` and the line at fault."""
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
