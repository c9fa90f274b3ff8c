"""tiktoken's rank files: read into a `Tokenizer` with the same ids, written, exported with a plugin, imported.

A rank file has one token a line: base64, a space, its rank. It holds neither pattern nor special tokens, so those of
the public encodings are listed here. Files are read from tiktoken's cache folder; nothing is downloaded.

An export is a rank file, a side file with pattern and special tokens, and a plugin: with the folder on `PYTHONPATH`,
`tiktoken.get_encoding(name)` finds it. tiktoken drops text that its pattern does not match, so a pattern with gaps is
refused. It merges any two neighbours that spell a token, so our merges must follow from the tokens alone; that is
checked for all tokens before anything is written. An import keeps ids; our own exports keep their fingerprint.
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
from typing import TYPE_CHECKING, Any

from slmtok import schema
from slmtok.background import run_in_thread
from slmtok.calls import explains_calls
from slmtok.checks import check_int, check_path
from slmtok.errors import (
    CorruptFile,
    Inexpressible,
    InvalidRanks,
    MissingInput,
    OptionError,
    Setting,
    SlmtokError,
    UnknownName,
    WrongType,
    begun_name,
    suggestion,
    unknown_name,
)
from slmtok.files import free_name, read_limited, refuse_text
from slmtok.formats.base import Encode, Origin, Target, installed, module, refuse_silent_merges
from slmtok.formats.own_layout import foreign_specials, has_own_ids, is_own, own_vocabulary
from slmtok.json_files import corrupt, parse
from slmtok.model_encodings import encoding_meant
from slmtok.specials import FIRST_LEARNED, Specials
from slmtok.strict_json import FaultError
from slmtok.token_text import unicode_to_bytes
from slmtok.tokenizer_file import name_source
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

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


_HARMONY = {
    199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel",
    200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt",
}  # fmt: skip
"""The named special tokens of o200k_harmony; tiktoken has a second name for 200018, `<|reserved_200018|>`."""


def _harmony() -> dict[str, int]:
    return {f"<|{_HARMONY.get(id, f'reserved_{id}')}|>": id for id in range(199998, 201088)}


ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("gpt2", *_R50K, "gpt2", {END_OF_TEXT: 50256}, *_GPT2_JSON),
        Encoding("r50k_base", *_R50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_base", *_P50K, "gpt2", {END_OF_TEXT: 50256}),
        Encoding("p50k_edit", *_P50K, "gpt2", {END_OF_TEXT: 50256, **_fim(50281)}),
        Encoding("cl100k_base", *_CL100K, "cl100k", {END_OF_TEXT: 100257, **_fim(100258), "<|endofprompt|>": 100276}),
        Encoding("o200k_base", *_O200K, "o200k", {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}),
        Encoding("o200k_harmony", *_O200K, "o200k", _harmony()),
    )
}


def gpt2_ranks(data: bytes) -> dict[bytes, int]:
    """The ranks in GPT-2's `encoder.json`, whose ids are ranks."""
    byte_of = unicode_to_bytes()
    table: dict[str, int] = json.loads(data)
    table.pop(END_OF_TEXT, None)
    return {bytes(byte_of[char] for char in token): id for token, id in table.items()}


MAX_RANK = MAX_IDS - 1
_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) ([0-9]{1,8})\r?")


@explains_calls
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

    named = ENCODINGS.get(name_or_path) if isinstance(name_or_path, str) else None
    if named and not isinstance(specials, (Mapping, type(None))):
        # Before the file of ranks, which may be missing. Encodings of the same ranks have ids of their own.
        same = [id for each in ENCODINGS.values() if each.sha256 == named.sha256 for id in each.specials.values()]
        raise _not_spellings(specials, named, max(same) + 1)
    tokens, encoding, digest = _tokens(name_or_path)
    spec = pattern or (encoding.pattern if encoding else None)
    if spec is None:
        if has_own_ids(tokens):
            raise _without_side(Path(name_or_path))
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
        _specials(spellings, len(tokens)),
        tokens=tokens,
        layout="foreign",
    )
    source = name or (encoding.name if encoding else Path(name_or_path).name)
    provenance = {"package": f"slmtok {VERSION}", "source": f"tiktoken:{source}", "source_sha256": digest}
    return Tokenizer(vocabulary, provenance=provenance)


def refuse_encoding(value: object) -> None:
    """Raises `WrongType` for an encoding in memory, of tiktoken or of `as_tiktoken`, in the place of its name."""
    if type(value).__name__ != "Encoding":
        return
    name = getattr(value, "name", None)
    file = free_name("enc.tiktoken")
    lines = "base64.b64encode(token).decode() + f' {rank}\\n' for token, rank in enc._mergeable_ranks.items()"
    fix = (
        f"import base64, pathlib; pathlib.Path({file!r}).write_text(''.join({lines})); "
        f"slmtok.from_tiktoken({file!r}, pattern=enc._pat_str, specials=enc._special_tokens)"
    )
    if name in ENCODINGS:
        fix = f"slmtok.from_tiktoken({name!r})"
    elif type(value).__module__.startswith("slmtok."):
        fix = "the tokenizer that as_tiktoken was called with"
    raise WrongType(f"the Encoding {name!r} is not read from memory", limit="a name, or a file of ranks", fix=fix)


def _tokens(name_or_path: str | os.PathLike[str]) -> tuple[tuple[bytes | None, ...], Encoding | None, str]:
    """(tokens by rank, their public encoding if known, sha256 of the file)."""
    from slmtok import _engine

    refuse_encoding(name_or_path)
    named = ENCODINGS.get(check_path(name_or_path))
    if named is None and not os.path.isfile(name_or_path):  # noqa: PTH113  (false for names that the system refuses)
        raise _unknown_source(str(name_or_path))
    path = find_ranks(named.name) if named else Path(name_or_path)
    data = read_limited(path, "rank table")
    digest = hashlib.sha256(data).hexdigest()
    encoding = named or next((known for known in ENCODINGS.values() if known.sha256 == digest), None)
    if named is not None and path.name == named.json_key:
        _check_digest(path, digest, named.json_sha256)
        return _by_id(gpt2_ranks(data)), named, digest
    if named is not None:
        _check_digest(path, digest, named.sha256)
    tokens = _engine.read_ranks(data, MAX_IDS)
    return tokens or _by_id(read_ranks(data, source=str(path))), encoding, digest


def _without_side(path: Path) -> SlmtokError:
    """The error for the rank file of an export alone, whose pattern and special tokens are in the side file."""
    beside, limit = path.with_suffix(".json"), "its pattern and its special tokens are in its side file"
    if beside.is_file() and _is_side(read_limited(beside, "tokenizer file")):
        fix = f"from slmtok.formats.importing import import_file; import_file({str(path)!r})[0]"
        return OptionError(f"{str(path)!r} is the rank file of an export", limit=limit, fix=fix, option="pattern")
    return MissingInput(
        f"{str(path)!r} is the rank file of an export of slmtok, and its side file {str(beside)!r} is missing",
        limit=limit,
        fix=f"copy the side file of the same export to {beside}",
        path=str(beside),
    )


def _unknown_source(name: str) -> Exception:
    refuse_text(name, "a name such as 'gpt2', or the path of a file of ranks")
    if suggestion(name, ENCODINGS) or encoding_meant(name) or not (os.sep in name or "." in name):
        return _unknown_encoding(name, "slmtok.from_tiktoken")
    return MissingInput(
        f"{name!r} is neither a file nor an encoding",
        limit=f"encodings: {', '.join(ENCODINGS)}",
        fix="check the name",
        path=name,
    )


def _unknown_encoding(name: str, function: str) -> UnknownName:
    """The error for a name that is no encoding; of a model, with the call of `function` for its encoding.

    An encoding whose rank file is missing is fetched first, so that the fix does not lead to a second error.
    """
    error = unknown_name("encoding", name, ENCODINGS)
    of_model = encoding_meant(name)
    if of_model:
        error.parts |= {"fact": f"{name!r} is a model, and its encoding is {of_model}"}
        error.fix = f"{function}({of_model!r})"
    meant = of_model or suggestion(name, ENCODINGS) or begun_name(name, ENCODINGS)
    if meant is None:
        return error
    if missing := missing_ranks(meant):
        error.where = f"its rank file is not on this machine: {missing.where}"
        error.fix = f"{missing.fix}; then {error.fix}"
    return error


def _check_digest(path: Path, digest: str, published: str | None) -> None:
    if digest != published:
        raise CorruptFile(
            f"{str(path)!r} is not the published rank file",
            where=f"its sha256 is {digest[:16]}…, the published one's {str(published)[:16]}…",
            fix="delete it and let tiktoken fetch it again",
            path=str(path),
        )


def _not_spellings(specials: object, encoding: Encoding | None, first: int) -> WrongType:
    """The error for anything but a dict; in the fix, texts have ids from `first` up, beside those of an encoding."""
    known = dict(encoding.specials) if encoding else {}
    texts = specials if isinstance(specials, (list, tuple)) else [specials]
    new = [text for text in texts if isinstance(text, str) and text not in known]
    added = {text: first + number for number, text in enumerate(new)}
    ids: object = {**known, **added} or {END_OF_TEXT: first}
    if encoding and len(known) > _MAX_SHOWN:
        ids = f"{{**slmtok.formats.tiktoken.ENCODINGS[{encoding.name!r}].specials, **{added}}}"
    fact = f"specials must be a dict from spelling to id, not {type(specials).__name__}"
    return WrongType(fact, fix=f"specials={ids}")


_MAX_SHOWN = 16
"""Special tokens of an encoding that a fix repeats."""


def _specials(spellings: Mapping[str, int], n_ids: int) -> Specials:
    if not isinstance(spellings, Mapping):
        raise _not_spellings(spellings, None, n_ids)
    ids: dict[str, int] = {}
    for text, id in spellings.items():
        if not isinstance(text, str):
            swapped = {each: id for id, each in spellings.items() if isinstance(each, str)}
            fix = f"specials={swapped or {str(text): id}}"
            raise WrongType(f"the spelling of a special token must be a str, not {text!r}", fix=fix)
        ids[text] = check_int(f"id of {text!r}", id, 0, MAX_RANK)
    return foreign_specials(ids)


def _by_id(ranks: dict[bytes, int]) -> tuple[bytes | None, ...]:
    token_of = {rank: token for token, rank in ranks.items()}
    return tuple(token_of.get(rank) for rank in range(max(token_of) + 1))


# --- cache ------------------------------------------------------------------------------------------------------------


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
        raise _unknown_encoding(name, "get_encoding")
    folder = cache_folder()
    for key in (encoding.cache_key, encoding.json_key):
        if folder is not None and key is not None and (folder / key).is_file():
            return folder / key
    where = f"no file {encoding.cache_key} in {folder}" if folder else "TIKTOKEN_CACHE_DIR is empty: no cache is used"
    raise MissingInput(
        f"the rank file of {name} is not on this machine",
        where=where,
        fix=f"{fetching(name)}, or set TIKTOKEN_CACHE_DIR",
        path=str(folder) if folder else "",
        name=name,
    )


def missing_ranks(name: str) -> MissingInput | None:
    """The error of `find_ranks` for an encoding; None where its rank file is on this machine."""
    try:
        find_ranks(name)
    except MissingInput as missing:
        return missing
    return None


def fetching(name: str) -> str:
    """The command that fetches the rank file of an encoding."""
    install = "" if installed("tiktoken") else "pip install tiktoken && "
    return f"{install}python -c \"import tiktoken; tiktoken.get_encoding('{name}')\""


# --- rank files -------------------------------------------------------------------------------------------------------


def read_ranks(data: bytes, *, source: str) -> dict[bytes, int]:
    """Token -> rank, in the order of the file. Raises `InvalidRanks` naming `source` and the line at fault."""
    ranks: dict[bytes, int] = {}
    line_of: dict[bytes | int, int] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == b"" else lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise rank_error(line, "is no token and rank", source, number)
        try:
            token, rank = a2b_base64(match[1]), int(match[2])
        except Base64Error:
            raise rank_error(line, "is not base64", source, number) from None
        if rank > MAX_RANK:
            raise rank_error(line, f"has a rank above {MAX_RANK}", source, number)
        for what, value in (("token", token), ("rank", rank)):
            if value in line_of:
                raise rank_error(line, f"repeats the {what} of line {line_of[value]}", source, number)
            line_of[value] = number
        ranks[token] = rank
    missing = [byte for byte in range(256) if bytes((byte,)) not in ranks]
    if missing:
        raise InvalidRanks(
            f"{source} has no token for the byte 0x{missing[0]:02X}" if ranks else f"{source} has no tokens",
            where=source,
            limit="all 256 bytes, or some text could not be encoded",
            fix="add the missing bytes, or use another table",
            path=source,
        )
    return ranks


def rank_error(line: bytes, reason: str, source: str, number: int) -> InvalidRanks:
    """The error for a line of a rank file."""
    return InvalidRanks(
        f"{line[:40].decode('ascii', 'backslashreplace')!r} {reason}",
        where=f"{source}, line {number}",
        limit="a line is a token in base64, one space, its rank",
        fix="slmtok.load opens JSON files" if line.startswith(b"{") else "fetch or copy the file again",
        path=source,
        line=number,
    )


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """The bytes of a rank file, in the order of ranks."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(b2a_base64(token, newline=False) + b" %d\n" % rank for token, rank in ordered)


# --- export -----------------------------------------------------------------------------------------------------------


_PLUGIN = '''"""The encoding {name} for tiktoken, exported by slmtok.

With the folder above this one on PYTHONPATH: tiktoken.get_encoding({name!r})
"""

import base64
import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent


def encoding():
    content = json.loads((FOLDER / {side!r}).read_text(encoding="utf-8"))
    data = (FOLDER / content["ranks"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != content["ranks_sha256"]:
        raise ValueError("the rank file is not the one that was exported")
    lines = (line.split() for line in data.splitlines())
    return {{
        "name": content["name"],
        "pat_str": content["pat_str"],
        "mergeable_ranks": {{base64.b64decode(token): int(rank) for token, rank in lines}},
        "special_tokens": content["special_tokens"],
        "explicit_n_vocab": content["explicit_n_vocab"],
    }}


ENCODING_CONSTRUCTORS = {{{name!r}: encoding}}
'''


def check(tokenizer: Tokenizer) -> None:
    """Raises `Inexpressible` for what a rank file and a pattern cannot express."""
    if tokenizer.scheme == "word":
        raise Inexpressible(
            "scheme word encodes an unknown word as bytes, tiktoken as the tokens within it",
            where="export to tiktoken",
            limit="schemes bpe, char, byte",
            fix="slmtok export --output-format hf, or train with scheme bpe",
        )
    refuse_silent_merges(tokenizer, "tiktoken")
    _check_gaps(tokenizer)
    if tokenizer.scheme == "bpe":
        _check_ranks(tokenizer)


def _check_gaps(tokenizer: Tokenizer) -> None:
    """Refuses a pattern that does not match all text."""
    from slmtok.formats import verification
    from slmtok.patterns import compile_pattern

    pattern = compile_pattern(tokenizer.pattern)
    if pattern.name is not None:
        return
    size = lost = 0
    first: str | None = None
    for text in (*verification.stories(50_000), *verification.code_points(verification.FULL.code_points)):
        data = text.encode()
        missed = pattern.gaps(data)[1]
        if missed and first is None:
            at = next(end for end in range(1, len(text) + 1) if pattern.gaps(text[:end].encode())[1])
            first = text[at - 1]
        size, lost = size + len(data), lost + missed
    if lost:
        raise Inexpressible(
            f"the pattern does not match {lost / size:.1%} of the sample (first: {first!r}); tiktoken would delete it",
            where="export to tiktoken",
            limit="a pattern that covers all text",
            fix="train again with a pattern that does (slm, gpt2, cl100k, o200k), or with '|(?s:.)' appended to yours",
        )


def _check_ranks(tokenizer: Tokenizer) -> None:
    """Refuses merges that do not follow from the tokens and their order; names the first."""
    if tokenizer.vocabulary.layout == "foreign":
        return
    import numpy as np

    from slmtok._engine import Encoder
    from slmtok.patterns import compile_pattern

    ids = dict(tokenizer.vocabulary.items())
    pattern = compile_pattern(tokenizer.pattern)
    token: object = None
    try:
        numbers = np.array(list(ids), dtype=np.uint32)
        ranked = run_in_thread(lambda: Encoder.from_ranks(pattern, list(ids.values()), numbers))
        differing = [id for id in ids if ranked.parts(id) != tokenizer._encoder.parts(id)]
        if not differing:
            return
        token = ids[differing[0]]
    except InvalidRanks as error:
        token = error.fields.get("token")
    raise Inexpressible(
        f"the token {token!r} is not merged from the two tokens that tiktoken would merge it from",
        where="export to tiktoken",
        limit="tiktoken merges any two neighbours that spell a token, the lowest rank first",
        fix=("slmtok export --output-format hf, or train without ", Setting("require")),
    )


def files(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The files of the export. Raises `OptionError` for the name of a public encoding, which tiktoken has already."""
    if name in ENCODINGS:
        raise OptionError(
            (Setting("name", name), " is an encoding of tiktoken"),
            limit="tiktoken loads no encoding while two have one name",
            fix=(Setting("name", f"my-{name}"),),
            option="name",
        )
    ranks = {token: id for id, token in tokenizer.vocabulary.items()}
    specials = tokenizer.specials.completed().spellings
    data = write_ranks(ranks)
    whole = len(ranks) + len(specials) == tokenizer.n_vocab
    side = {
        "name": name,
        "pat_str": tokenizer.pattern.regex,
        "special_tokens": specials,
        "explicit_n_vocab": tokenizer.n_vocab if whole else None,
        "ranks": f"{name}.tiktoken",
        "ranks_sha256": hashlib.sha256(data).hexdigest(),
        "fingerprint": tokenizer.fingerprint,
    }
    return {
        f"{name}.tiktoken": data,
        f"{name}.json": (json.dumps(side, ensure_ascii=False, indent=2) + "\n").encode(),
        f"tiktoken_ext/{_module(name)}.py": _PLUGIN.format(name=name, side=f"{name}.json").encode(),
    }


def _module(name: str) -> str:
    return re.sub(r"\W", "_", f"slmtok_{name}")


def open_export(folder: Path, name: str) -> Encode:
    """Encodes with the export in tiktoken through its plugin, special tokens treated as text."""
    import runpy

    plugin = runpy.run_path(str(folder / "tiktoken_ext" / f"{_module(name)}.py"))
    return _encode_with(**plugin["ENCODING_CONSTRUCTORS"][name]())


def _encode_with(**arguments: Any) -> Encode:
    """Encodes with a `tiktoken.Encoding` of these arguments, special tokens treated as text."""
    encoding = module("tiktoken").Encoding(**arguments)
    return lambda texts: [encoding.encode_ordinary(text) for text in texts]


# --- import -----------------------------------------------------------------------------------------------------------


def looks_like(data: bytes) -> bool:
    """Whether a file may be a rank file, or the side file of one."""
    return _LINE.fullmatch(data.partition(b"\n")[0]) is not None or _is_side(data)


def _is_side(data: bytes) -> bool:
    return data.lstrip().startswith(b"{") and b'"pat_str"' in data[:100_000]


_SIDE = schema.table(
    {
        "name": schema.text,
        "pat_str": schema.filled_text,
        "special_tokens": schema.mapping(schema.integer(0, MAX_RANK)),
        "ranks": schema.file_name,
    },
    {
        "explicit_n_vocab": schema.nullable(schema.integer(1)),
        "ranks_sha256": schema.nullable(schema.digest),
        "fingerprint": schema.digest,
    },
)


def _side(data: bytes, source: str) -> dict[str, Any] | None:
    """The content of a side file; None for a rank file. Raises `CorruptFile`."""
    if not _is_side(data):
        return None
    try:
        return parse(data, _SIDE)
    except FaultError as fault:
        raise corrupt(source, "side file of a rank file", fault, "copy it again, or export it again") from None


def read(data: bytes, source: str, *, pattern: str | None = None) -> Tokenizer:
    """The tokenizer of a rank file or a side file; of an export, a rank file has the side file beside it.

    Raises `CorruptFile`, `OptionError` for a pattern other than that of the side file, and as `from_tiktoken`.
    """
    side, source, ranks = _side_of(data, source)
    if side is None:
        return as_own(from_tiktoken(source, pattern=pattern))
    _check_pattern(pattern, side, source)
    try:
        tokenizer = from_tiktoken(ranks, pattern=side["pat_str"], specials=side["special_tokens"], name=side["name"])
    except SlmtokError as error:
        name_source(error, source)
        raise
    digest, expected = tokenizer.provenance["source_sha256"], side.get("ranks_sha256")
    if expected is not None and digest != expected:
        raise CorruptFile(
            f"{ranks.name!r} is not the rank file that {source} was written with",
            where=f"its sha256 is {str(digest)[:16]}…, expected {str(expected)[:16]}…",
            fix="copy both files again",
            path=source,
        )
    return as_own(tokenizer)


def _side_of(data: bytes, source: str) -> tuple[dict[str, Any] | None, str, Path]:
    """(the side file of `source`, its path, the rank file); of a rank file alone, (None, its path, its path)."""
    path = Path(source)
    if (side := _side(data, source)) is not None:
        return side, source, path.parent / side["ranks"]
    beside = path.with_suffix(".json")
    side = _side(read_limited(beside, "tokenizer file"), str(beside)) if beside.is_file() else None
    return side, source if side is None else str(beside), path


def notes(data: bytes, source: str, tokenizer: Tokenizer, *, pattern: str | None = None) -> tuple[str, ...]:
    """What an import took from the caller, as the file does not record it, and what it lacks."""
    if pattern is None or _side_of(data, source)[0] is not None:
        return ()
    found = [f"the pattern is the one that was given: {source} records none, and no comparison can prove it"]
    encoding = ENCODINGS.get(str(tokenizer.provenance["source"]).removeprefix("tiktoken:"))
    if encoding is not None and tokenizer.pattern.name != encoding.pattern:
        found.append(f"{source} is the rank file of {encoding.name}, whose pattern is {encoding.pattern}")
    if has_own_ids(tokenizer.vocabulary.token_table):
        beside = Path(source).with_suffix(".json")
        found.append(f"{source} is the rank file of an export of slmtok: the special tokens are in {beside}, not here")
    return tuple(found)


def _check_pattern(pattern: str | None, side: Mapping[str, Any], source: str) -> None:
    """Raises `OptionError` for a pattern that contradicts the side file, whose special tokens it would drop."""
    from slmtok.patterns import parse_pattern

    recorded = parse_pattern(side["pat_str"])
    if pattern is None or parse_pattern(pattern).regex == recorded.regex:
        return
    raise OptionError(
        (Setting("pattern", pattern), f" is not the pattern that {source} records"),
        where=source,
        limit=f"its pattern is {recorded.name or recorded.regex!r}, with {len(side['special_tokens'])} special tokens",
        fix=("leave ", Setting("pattern"), " out"),
        option="pattern",
    )


def as_own(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer in our layout, if its ids are in that order."""
    from slmtok.tokenizer import Tokenizer

    old, specials = tokenizer.vocabulary, tokenizer.specials.spellings
    if not is_own(old.tokens, specials):
        return tokenizer
    parts = map(tokenizer._encoder.parts, range(FIRST_LEARNED, old.n_vocab))
    merges = [pair for pair in parts if pair is not None]
    own = own_vocabulary("bpe", old.pattern, old.tokens, specials, merges)
    return tokenizer if own is None else Tokenizer(own, provenance=tokenizer.provenance)


def open_source(path: Path, tokenizer: Tokenizer) -> Encode:
    """Encodes with the rank file in tiktoken, special tokens treated as text."""
    data = read_limited(path, "rank table")
    side = _side(data, str(path))
    if side is not None:
        data = read_limited(path.parent / side["ranks"], "rank table")
    return _encode_with(
        name="import",
        pat_str=tokenizer.pattern.regex if side is None else side["pat_str"],
        mergeable_ranks=read_ranks(data, source=str(path)),
        special_tokens=dict(tokenizer.specials.spellings),
    )


TARGET = Target(
    "tiktoken",
    "rank file, side file and plugin, for tiktoken.get_encoding",
    library="tiktoken",
    check=check,
    files=files,
    open=open_export,
    notes=("the ids are those of encode_ordinary; encode refuses text that spells a special token",),
)
ORIGIN = Origin(
    "tiktoken",
    "a rank file, or the side file of an export",
    library="tiktoken",
    looks_like=looks_like,
    read=read,
    open=open_source,
    notes=notes,
)
