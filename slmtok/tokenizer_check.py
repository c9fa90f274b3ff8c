"""Reading a tokenizer file from bytes that may be hostile: every fault is named, nothing is repaired.

The order: size, what kind of file it is, depth of nesting, JSON itself, version, digest, types, then the vocabulary,
which judges itself, and last that writing gives the same bytes again. The golden vectors need the engine and are
checked by the tokenizer.
"""

from __future__ import annotations

import hashlib
import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from typing import Any, cast

from slmtok.errors import CorruptFile, InvalidSpecials, SlmtokError, UnsupportedVersion
from slmtok.schemes import SCHEMES
from slmtok.specials import Specials, SpecialToken
from slmtok.strict_json import FaultError, parse_object
from slmtok.tokenizer_file import FORMAT, PROVENANCE, TAIL, VERSION, Golden, TokenizerFile
from slmtok.vocabulary import BEHAVIOUR, MAX_IDS, Layout, PatternSpec, Vocabulary

MAX_BYTES = 256 << 20
MAX_DEPTH = 6
MAX_INT = (1 << 64) - 1

_KEYS = ["format", "version", "behaviour", "scheme", "layout", "pattern", "specials"]
_KEYS_AFTER = ["options", "provenance", "golden", "fingerprint", "sha256"]
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def parse(data: bytes, source: str) -> TokenizerFile:
    """The content of a tokenizer file, checked completely; `source` names it in errors.

    Raises `CorruptFile`, `UnsupportedVersion`, `InvalidMerges`, `InvalidTokens`, `InvalidSpecials`.
    """
    try:
        if len(data) > MAX_BYTES:
            raise FaultError(f"it has {len(data):,} bytes, more than any tokenizer file ({MAX_BYTES:,})")
        _refuse_other_kinds(data, source)
        document = parse_object(data, MAX_DEPTH)
        _check_version(document, source)
        _check_digest(data, document)
        content = _read(document)
        if content.content != data:
            raise FaultError("it is not in canonical form (order of keys, separators, or escapes)")
        return content
    except FaultError as fault:
        raise CorruptFile(
            f"{source} is not a sound tokenizer file: {fault}",
            where=source,
            fix="restore the file from where it was made, or make it again",
            path=source,
        ) from None
    except SlmtokError as error:
        name_source(error, source)
        raise


def name_source(error: SlmtokError, source: str) -> None:
    """Makes sure that an error says which file it is about."""
    if source not in (error.where or ""):
        error.where = f"{source}, {error.where}" if error.where else source


def _refuse_other_kinds(data: bytes, source: str) -> None:
    """Names the well-known files that people hand in by mistake."""
    if not data.strip():
        raise FaultError("it is empty")
    if _RANK_LINE.match(data):
        raise CorruptFile(
            f"{source} is a .tiktoken rank file, not a tokenizer file",
            where=source,
            fix=f"slmtok import {source} --pattern cl100k -o tok.json, or slmtok.from_tiktoken({source!r}, pattern=…)",
            path=source,
        )
    if data.startswith(b"\xef\xbb\xbf"):
        raise FaultError("it begins with a byte order mark")
    if not data.lstrip().startswith(b"{"):
        raise FaultError("it is not JSON that begins with '{'")


def _check_version(document: dict[str, Any], source: str) -> None:
    form = document.get("format")
    if form is None and isinstance(document.get("model"), dict):
        raise CorruptFile(
            f"{source} is a Hugging Face tokenizer.json, not a tokenizer file of slmtok",
            where=source,
            fix=f"slmtok import {source} -o tok.json",
            path=source,
        )
    if form != FORMAT:
        raise FaultError(f"its format is {form!r}, not {FORMAT!r}")
    for key, known in (("version", VERSION), ("behaviour", BEHAVIOUR)):
        value = document.get(key)
        if type(value) is not int:
            raise FaultError(f"{key} is {value!r}, not a number")
        if value != known:
            raise UnsupportedVersion(
                f"{source} has {key} {value}",
                limit=f"this package reads {key} {known}",
                fix="install a newer slmtok" if value > known else "install an older slmtok, or train again",
                path=source,
            )
    scheme = document.get("scheme")
    if not isinstance(scheme, str):
        raise FaultError(f"scheme is {scheme!r}, not a name")
    if scheme not in SCHEMES:
        raise UnsupportedVersion(
            f"{source} has the scheme {scheme!r}",
            limit=f"this package reads {', '.join(SCHEMES)}",
            fix="install a newer slmtok",
            path=source,
        )


def _check_digest(data: bytes, document: dict[str, Any]) -> None:
    stored = document.get("sha256")
    if not isinstance(stored, str) or not re.fullmatch("[0-9a-f]{64}", stored):
        raise FaultError("sha256 is missing or not 64 hexadecimal digits")
    if data[-TAIL:] != f'"sha256":"{stored}"}}\n'.encode():
        raise FaultError("it does not end with its sha256 and a newline; it was re-formatted or extended")
    actual = hashlib.sha256(data[:-TAIL]).hexdigest()
    if actual != stored:
        raise FaultError(
            f"sha256 of its content is {actual[:16]}…, it says {stored[:16]}…; it was changed after it was made"
        )


# --- from JSON values to ours, types checked -------------------------------------------------------------------------


def _read(document: dict[str, Any]) -> TokenizerFile:
    layout = document.get("layout")
    if layout not in ("own", "foreign"):
        raise FaultError(f"layout is {layout!r}, neither 'own' nor 'foreign'")
    body = "merges" if document["scheme"] == "bpe" and layout == "own" else "tokens"
    _same_keys(document, [*_KEYS, body, *_KEYS_AFTER], "the file")
    vocabulary = Vocabulary(
        document["scheme"],
        _pattern(document["pattern"]),
        _specials(document["specials"]),
        merges=_merges(document["merges"]) if body == "merges" else (),
        tokens=_tokens(document["tokens"]) if body == "tokens" else (),
        layout=cast("Layout", layout),
    )
    if SCHEMES[vocabulary.scheme].fixed_size and vocabulary.tokens:
        raise FaultError(f"scheme {vocabulary.scheme} learns no tokens, {len(vocabulary.tokens)} are listed")
    if layout == "foreign" and vocabulary.scheme != "bpe":
        raise FaultError(f"layout foreign means scheme bpe, it says {vocabulary.scheme}")
    if document["fingerprint"] != vocabulary.fingerprint:
        raise FaultError(f"its fingerprint is {document['fingerprint']!r}, its content has {vocabulary.fingerprint!r}")
    return TokenizerFile(
        vocabulary,
        _golden(document["golden"]),
        options=_options(document["options"]),
        provenance=_provenance(document["provenance"]),
    )


def _same_keys(table: object, keys: list[str], what: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise FaultError(f"{what} is no object")
    for key in keys:
        if key not in table:
            raise FaultError(f"{what} has no {key!r}")
    for key in table:
        if key not in keys:
            raise FaultError(f"{what} has the unknown key {key!r}")
    return table


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FaultError(f"{what} is no list")
    return value


def _pattern(value: object) -> PatternSpec:
    table = _same_keys(value, ["name", "regex", "unicode"], "pattern")
    name, regex, unicode = table["name"], table["regex"], table["unicode"]
    if not (name is None or isinstance(name, str)) or not isinstance(regex, str) or not isinstance(unicode, str):
        raise FaultError("pattern holds something else than text")
    return PatternSpec(name, regex, unicode)


def _specials(value: object) -> Specials:
    tokens: list[SpecialToken] = []
    for index, item in enumerate(_list(value, "specials")):
        table = _same_keys(item, ["id", "role", "text"], f"special {index}")
        id, role, text = table["id"], table["role"], table["text"]
        if type(id) is not int or not 0 <= id < MAX_IDS:
            raise InvalidSpecials(
                f"special {index} has the id {id!r}", limit=f"0 to {MAX_IDS - 1}", fix="fetch or copy the file again"
            )
        if not (role is None or isinstance(role, str)) or not (text is None or isinstance(text, str)):
            raise InvalidSpecials(
                f"special {index} has a role or a spelling that is no text", fix="fetch or copy the file again"
            )
        tokens.append(SpecialToken(id, role, text))
    return Specials(tokens)


def _merges(value: object) -> tuple[tuple[int, ...], ...]:
    rows = _list(value, "merges")
    for index, row in enumerate(rows):
        if type(row) is not list or len(row) not in (2, 3) or not all(type(part) is int for part in row):
            raise FaultError(f"merge {index} is {_short(row)}, not two or three ids")
    return tuple(map(tuple, rows))


def _tokens(value: object) -> tuple[bytes | None, ...]:
    rows = _list(value, "tokens")
    tokens: list[bytes | None] = []
    for index, row in enumerate(rows):
        if row is None:
            tokens.append(None)
            continue
        tokens.append(_base64(row, f"token {index}"))
    return tuple(tokens)


def _base64(value: object, what: str) -> bytes:
    if not isinstance(value, str):
        raise FaultError(f"{what} is {_short(value)}, not base64")
    try:
        data = a2b_base64(value)
    except (Base64Error, ValueError):
        raise FaultError(f"{what} is {_short(value)}, not base64") from None
    if b2a_base64(data, newline=False) != value.encode():
        raise FaultError(f"{what} is {_short(value)}, not base64 in its plain form")
    return data


def _golden(value: object) -> tuple[Golden, ...]:
    vectors: list[Golden] = []
    for index, item in enumerate(_list(value, "golden")):
        table = _same_keys(item, ["bytes_b64", "ids"], f"golden vector {index}")
        ids = _list(table["ids"], f"ids of golden vector {index}")
        if not all(type(id) is int for id in ids):
            raise FaultError(f"golden vector {index} holds something else than ids")
        vectors.append(Golden(_base64(table["bytes_b64"], f"golden vector {index}"), tuple(ids)))
    if not vectors:
        raise FaultError("it has no golden vectors")
    return tuple(vectors)


def _options(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FaultError("options is no object")
    for key, option in value.items():
        plain = option is None or isinstance(option, (bool, int, str))
        if not plain and not (isinstance(option, list) and all(isinstance(item, str) for item in option)):
            raise FaultError(f"option {key!r} is {_short(option)}")
        if isinstance(option, int) and abs(option) > MAX_INT:
            raise FaultError(f"option {key!r} exceeds 64 bits")
    return value


def _provenance(value: object) -> dict[str, Any]:
    table = _same_keys(value, list(PROVENANCE), "provenance")
    for key, item in table.items():
        wanted = int if key in ("documents", "bytes") else str
        if item is not None and (type(item) is not wanted or (isinstance(item, int) and not 0 <= item <= MAX_INT)):
            raise FaultError(f"provenance {key!r} is {_short(item)}")
    return table


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
