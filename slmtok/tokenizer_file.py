"""The tokenizer file: one JSON document in canonical form, specified in docs/formats/tokenizer.md.

Saving what was loaded gives the same bytes; there is no date, host or path in it. Reading takes untrusted bytes: every
fault is named, nothing is repaired. The order of checks: size, kind of file, nesting depth, JSON, version, digest,
types, the vocabulary, and last that writing gives the same bytes again. The golden vectors need the engine and are
checked by the tokenizer.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slmtok.checks import U64
from slmtok.edited_files import edited_fix, editor_marks, unmarked_fix
from slmtok.errors import CorruptFile, GoldenMismatch, InvalidSpecials, SlmtokError, UnsupportedVersion, WrongFormat
from slmtok.file_kinds import TOKENIZER, kind_of, wrong_kind
from slmtok.files import MAX_FILE_BYTES, free_name
from slmtok.schemes import SCHEMES
from slmtok.specials import FIRST_BYTE, Specials, SpecialToken
from slmtok.strict_json import FaultError, parse_object
from slmtok.vocabulary import BEHAVIOUR, MAX_IDS, Layout, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok._engine import Encoder

FORMAT = "slmtok-tokenizer"
VERSION = 1
TAIL = len('"sha256":"') + 64 + len('"}\n')
"""The file's sha256 covers all bytes but these last ones, which hold it."""
PROVENANCE = (
    "package",
    "source",
    "source_sha256",
    "counts_sha256",
    "corpus_digest",
    "documents",
    "bytes",
    "sliced_from",
)
"""Keys of `provenance`, all of them always present; null where unknown."""
MAX_DEPTH = 6

_KEYS = ["format", "version", "behaviour", "scheme", "layout", "pattern", "specials"]
_KEYS_AFTER = ["options", "provenance", "golden", "fingerprint", "sha256"]
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} ([0-9]+)\r?\n")

GOLDEN_TEXTS: tuple[bytes, ...] = (
    b"",
    b"Hello, world! It's 12:05, isn't it?",
    b"Once upon a time there was a little fox who didn't like the rain.",
    b"  two  spaces\tand tabs \r\n\r\n   then lines\n\n\n  ",
    b"0123456789 3.14159 1,000,000 2026-11-21",
    b"<s>text that spells specials</s><?><><sep><mask><|endoftext|>",
    "naïve café, Ő és Ű; Übergröße; ſ I'LL we\u2019re".encode(),
    "今天天气很好。日本語のテキスト、한국어 문장입니다".encode(),
    "Привет, мир! مرحبا بالعالم नमस्ते दुनिया שלום".encode(),
    "👩\u200d👩\u200d👧 🇭🇺 ✊🏽 e\u0301 a\ufe0f".encode(),
    b"for (int i = 0; i < n; ++i) {\n\t    x[i] = y->z / 0xFF; // HTTPServer camelCase\n}\n",
    b"\x00\xff\xfe bad \xc3( \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98 bytes \x80",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=================--------________",
)
"""The texts whose ids every tokenizer file records, so that loading it detects a change of behaviour."""


@dataclass(frozen=True)
class Golden:
    """A text and the ids that it must always encode to."""

    text: bytes
    ids: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """What a tokenizer file says. `options` are those of its training, after defaults."""

    vocabulary: Vocabulary
    golden: tuple[Golden, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file."""
        head = self._head()
        return head + b'"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'

    @property
    def sha256(self) -> str:
        """The digest that the file carries of all its bytes before it."""
        return self.content[-TAIL + len('"sha256":"') : -len('"}\n')].decode()

    def _head(self) -> bytes:
        vocabulary = self.vocabulary
        pattern = vocabulary.pattern
        body = "merges" if vocabulary.scheme == "bpe" and vocabulary.layout == "own" else "tokens"
        specials = [{"id": token.id, "role": token.role, "text": token.text} for token in vocabulary.specials.tokens]
        golden = [{"bytes_b64": _to_base64(item.text), "ids": list(item.ids)} for item in self.golden]
        parts = [
            b"{" + _entry("format", FORMAT),
            _entry("version", VERSION),
            _entry("behaviour", BEHAVIOUR),
            _entry("scheme", vocabulary.scheme),
            _entry("layout", vocabulary.layout),
            _entry("pattern", {"name": pattern.name, "regex": pattern.regex, "unicode": pattern.unicode}),
            b'"specials":[\n' + b",\n".join(map(_json, specials)) + b"]",
            b'"' + body.encode() + b'":[\n' + vocabulary.body + b"]",
            _entry("options", dict(sorted(self.options.items()))),
            _entry("provenance", {key: self.provenance.get(key) for key in PROVENANCE}),
            b'"golden":[\n' + b",\n".join(map(_json, golden)) + b"]",
            _entry("fingerprint", vocabulary.fingerprint),
        ]
        return b"".join(part + b",\n" for part in parts)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _entry(key: str, value: object) -> bytes:
    return b'"' + key.encode() + b'":' + _json(value)


def _to_base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


# --- golden vectors ---------------------------------------------------------------------------------------------------


def make_golden(encoder: Encoder) -> tuple[Golden, ...]:
    """The golden vectors of an encoder."""
    return tuple(Golden(text, tuple(encoder.encode_list(text))) for text in GOLDEN_TEXTS)


def check_golden(encoder: Encoder, golden: Sequence[Golden], source: str) -> None:
    """Raises `GoldenMismatch` for the first vector that gives other ids than recorded."""
    for index, item in enumerate(golden):
        ids = tuple(encoder.encode_list(item.text))
        if ids != item.ids:
            raise GoldenMismatch(
                f"golden vector {index} ({item.text[:24]!r}…) encodes to {list(ids[:6])}…, the file says "
                f"{list(item.ids[:6])}…",
                where=source,
                fix="use the version of slmtok that made the file; verify=False loads it without this check",
                path=source,
                index=index,
            )


# --- reading ----------------------------------------------------------------------------------------------------------


def parse_tokenizer_file(data: bytes, source: str) -> TokenizerFile:
    """The content of a tokenizer file, checked completely; `source` names it in errors.

    Raises `CorruptFile`, `UnsupportedVersion`, `InvalidMerges`, `InvalidTokens`, `InvalidSpecials`.
    """
    try:
        if len(data) > MAX_FILE_BYTES["tokenizer file"]:
            limit = MAX_FILE_BYTES["tokenizer file"]
            raise FaultError(f"it has {len(data):,} bytes, more than any tokenizer file ({limit:,})")
        _refuse_editor_marks(data, source)
        _refuse_other_kinds(data, source)
        document = parse_object(data, MAX_DEPTH)
        _check_version(document, source)
        _check_digest(data, document)
        content = _read(document)
        if content.content != data:
            raise FaultError("it is not in canonical form (order of keys, separators, or escapes)")
        return content
    except FaultError as fault:
        is_ours = b'"slmtok-tokenizer"' in data[:4096]
        names = [str(Path(source).with_name(name)) for name in ("tok.json", "tokenizer.json")]
        is_file = Path(source).is_file()
        beside = next((name for name in names if is_file and name != source and Path(name).is_file()), None)
        raise CorruptFile(
            f"{source} is not a valid tokenizer file: {fault}",
            where=source,
            fix=(edited_fix(data, source) or "restore the file from where it was made, or make it again")
            if is_ours
            else "name a tokenizer file, as slmtok train writes it"
            if beside is None
            else f"name the tokenizer file beside it: {beside}",
            path=source,
        ) from None
    except SlmtokError as error:
        name_source(error, source)
        raise


def name_source(error: SlmtokError, source: str) -> None:
    """Adds the file to an error that does not name it."""
    if source not in (error.where or ""):
        error.where = f"{source}, {error.where}" if error.where else source


def _refuse_editor_marks(data: bytes, source: str) -> None:
    has_lines = b"\r\n" in data
    if not (has_lines or data.startswith(b"\xef\xbb\xbf")) or (marks := editor_marks(data)) is None:
        return
    raise CorruptFile(
        f"{source} is a tokenizer file that was changed: {marks}",
        where=source,
        limit="a line '*.json -text' in .gitattributes keeps files as they are" if has_lines else None,
        fix=unmarked_fix(source) if Path(source).is_file() else "pass the bytes as slmtok wrote them",
        path=source,
    )


def _refuse_other_kinds(data: bytes, source: str) -> None:
    """Names well-known files of other kinds."""
    if not data.strip():
        raise FaultError("it is empty")
    kind = kind_of(data)
    if kind != TOKENIZER and (error := wrong_kind(source, kind, "tokenizer file", ".json")):
        raise error
    if first := _RANK_LINE.match(data):
        # An export has a file beside the ranks that records the pattern; its ranks begin behind the special tokens.
        beside = Path(source).with_suffix(".json")
        is_export = beside.is_file() or int(first[1]) == FIRST_BYTE
        pattern = "" if is_export else " --pattern cl100k"
        command = f"slmtok import {shlex.quote(source)}{pattern} -o {free_name('tok.json')}"
        fix = f"{command}, or slmtok.from_tiktoken({source!r}, pattern=…)"
        if is_export:
            fix = command if beside.is_file() else f"copy the side file of the same export to {beside}, then {command}"
        raise WrongFormat(
            f"{source} is a .tiktoken rank file, not a tokenizer file",
            where=source,
            fix=fix,
            path=source,
        )
    if data.startswith(b"\xef\xbb\xbf"):
        raise FaultError("it begins with a byte order mark")
    if not data.lstrip().startswith(b"{"):
        raise FaultError("it is not JSON that begins with '{'")


def _check_version(document: dict[str, Any], source: str) -> None:
    form = document.get("format")
    if form is None and isinstance(document.get("model"), dict):
        raise WrongFormat(
            f"{source} is a Hugging Face tokenizer.json, not a tokenizer file of slmtok",
            where=source,
            fix=f"slmtok import {shlex.quote(source)} -o {free_name('tok.json')}",
            path=source,
        )
    if form != FORMAT:
        raise FaultError(f"its format is {form!r}, not {FORMAT!r}")
    for key, known in (("version", (VERSION,)), ("behaviour", (BEHAVIOUR,)), ("scheme", tuple(SCHEMES))):
        value = document.get(key)
        if type(value) is not type(known[0]):
            raise FaultError(f"{key} is {value!r}, not a {'name' if key == 'scheme' else 'number'}")
        if value not in known:
            older = isinstance(value, int) and value < known[0]
            raise UnsupportedVersion(
                f"{source} has {key} {value!r}",
                limit=f"this package reads {key} {', '.join(map(str, known))}",
                fix="install an older slmtok, or train again" if older else "install a newer slmtok",
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
        raise FaultError(f"{what} is not an object")
    for key in keys:
        if key not in table:
            raise FaultError(f"{what} has no {key!r}")
    for key in table:
        if key not in keys:
            raise FaultError(f"{what} has the unknown key {key!r}")
    return table


def _items(value: object, what: str, keys: list[str], each: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name for errors, object) of each element of a list of objects with these keys."""
    for index, item in enumerate(_list(value, what)):
        name = f"{each} {index}"
        yield name, _same_keys(item, keys, name)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FaultError(f"{what} is not a list")
    return value


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _pattern(value: object) -> PatternSpec:
    table = _same_keys(value, ["name", "regex", "unicode"], "pattern")
    if not all(map(_is_text, table.values())) or table["regex"] is None or table["unicode"] is None:
        raise FaultError("pattern holds something else than text")
    return PatternSpec(**table)


def _specials(value: object) -> Specials:
    tokens: list[SpecialToken] = []
    for name, table in _items(value, "specials", ["id", "role", "text"], "special"):
        id = table["id"]
        fault = ""
        if type(id) is not int or not 0 <= id < MAX_IDS:
            fault = f"has the id {id!r}, not 0 to {MAX_IDS - 1}"
        elif not _is_text(table["role"]) or not _is_text(table["text"]):
            fault = "has a role or a spelling that is no text"
        if fault:
            raise InvalidSpecials(f"{name} {fault}", fix="fetch or copy the file again")
        tokens.append(SpecialToken(**table))
    return Specials(tokens)


def _merges(value: object) -> tuple[tuple[int, ...], ...]:
    rows = _list(value, "merges")
    for index, row in enumerate(rows):
        if type(row) is not list or len(row) not in (2, 3) or not all(type(part) is int for part in row):
            raise FaultError(f"merge {index} is {_short(row)}, not two or three ids")
    return tuple(map(tuple, rows))


def _tokens(value: object) -> tuple[bytes | None, ...]:
    rows = enumerate(_list(value, "tokens"))
    return tuple(None if row is None else _base64(row, f"token {index}") for index, row in rows)


def _base64(value: object, what: str) -> bytes:
    data = None
    if isinstance(value, str):
        with suppress(ValueError):
            data = a2b_base64(value)
    if data is None:
        raise FaultError(f"{what} is {_short(value)}, not base64")
    if _to_base64(data) != value:
        raise FaultError(f"{what} is {_short(value)}, not base64 in its plain form")
    return data


def _golden(value: object) -> tuple[Golden, ...]:
    vectors: list[Golden] = []
    for name, table in _items(value, "golden", ["bytes_b64", "ids"], "golden vector"):
        ids = _list(table["ids"], f"ids of {name}")
        if not all(type(id) is int for id in ids):
            raise FaultError(f"{name} holds something else than ids")
        vectors.append(Golden(_base64(table["bytes_b64"], name), tuple(ids)))
    if not vectors:
        raise FaultError("it has no golden vectors")
    return tuple(vectors)


def _options(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FaultError("options is not an object")
    for key, option in value.items():
        scalar = option is None or isinstance(option, (bool, int, str))
        if not scalar and not (isinstance(option, list) and all(isinstance(item, str) for item in option)):
            raise FaultError(f"option {key!r} is {_short(option)}")
        if isinstance(option, int) and abs(option) > U64:
            raise FaultError(f"option {key!r} exceeds 64 bits")
    return value


def _provenance(value: object) -> dict[str, Any]:
    table = _same_keys(value, list(PROVENANCE), "provenance")
    for key, item in table.items():
        wanted = int if key in ("documents", "bytes") else str
        if item is not None and (type(item) is not wanted or (isinstance(item, int) and not 0 <= item <= U64)):
            raise FaultError(f"provenance {key!r} is {_short(item)}")
    return table


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
