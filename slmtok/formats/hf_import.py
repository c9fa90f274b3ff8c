"""Reads a Hugging Face `tokenizer.json` of GPT-2's kind: byte-level BPE after one split. Ids are kept.

What our tokenizer cannot reproduce is refused with the reason: normalisers, several splits, SentencePiece's spaces,
merges that are not in the order of their ids. Our own exports keep their fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slmtok.errors import CorruptFile, Inexpressible, InvalidRanks, InvalidTokens, Setting, SlmtokError
from slmtok.formats.base import Encode, module
from slmtok.formats.hf import bytes_of, from_oniguruma, oniguruma
from slmtok.formats.own_layout import own_vocabulary
from slmtok.formats.tiktoken import roles_of
from slmtok.specials import Specials, SpecialToken
from slmtok.strict_json import FaultError, parse_object
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok._engine import Pattern
    from slmtok.tokenizer import Tokenizer


def pattern_of(document: dict[str, Any], source: str) -> Pattern:
    """The pattern of the `pre_tokenizer`. Raises `Inexpressible` unless it is one split."""
    from slmtok._engine import Pattern

    step = document.get("pre_tokenizer")
    if _plain_byte_level(step, use_regex=True):
        return Pattern("gpt2")
    steps = step.get("pretokenizers") if isinstance(step, dict) and step.get("type") == "Sequence" else None
    if isinstance(steps, list) and len(steps) == 2 and _plain_byte_level(steps[1], use_regex=False):
        regex = _split(steps[0])
        if regex is not None:
            return _known(regex)
    raise Inexpressible(
        f"{source} cannot be imported: its pre_tokenizer is {_short(step)}",
        where=source,
        limit="ByteLevel with its own regex, or one Split by a regex and then ByteLevel, without a prefix space",
        fix=(Setting("pattern", "gpt2"), ", or another pattern with the same pieces; ids are compared"),
        path=source,
    )


def _plain_byte_level(step: Any, *, use_regex: bool) -> bool:
    return (
        isinstance(step, dict)
        and step.get("type") == "ByteLevel"
        and not step.get("add_prefix_space", True)
        and step.get("use_regex", True) is use_regex
    )


def _split(step: Any) -> str | None:
    """The regex of a `Split` with behavior Isolated."""
    if not isinstance(step, dict) or step.get("type") != "Split" or step.get("invert"):
        return None
    if step.get("behavior") != "Isolated":
        return None
    pattern = step.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    return regex if isinstance(regex, str) else None


def _known(regex: str) -> Pattern:
    """The pattern of a regex; a named one if the regex is that of an export."""
    from slmtok._engine import Pattern, pattern_names
    from slmtok.schemes import SCHEMES

    names = [*pattern_names(), *(scheme.pattern for scheme in SCHEMES.values())]
    for name in names:
        pattern = Pattern(name)
        if regex in (pattern.regex, oniguruma(pattern.regex)):
            return pattern
    return Pattern(from_oniguruma(regex))


def _short(step: Any) -> str:
    if isinstance(step, dict) and isinstance(step.get("pretokenizers"), list):
        return " then ".join(_short(inner) for inner in step["pretokenizers"]) or "an empty Sequence"
    if isinstance(step, dict):
        return str(step.get("type"))
    return "none"


MAX_BYTES = 256 << 20
_MAX_DEPTH = 12


def looks_like(data: bytes) -> bool:
    """Whether a file may be a `tokenizer.json`."""
    head = data.lstrip()[:1]
    return head == b"{" and b'"model"' in data and b'"vocab"' in data


def read(data: bytes, source: str, *, pattern: str | None = None) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`. `pattern` replaces the file's own.

    Raises `CorruptFile`, `Inexpressible`, `InvalidTokens`, `InvalidRanks`.
    """
    from hashlib import sha256

    from slmtok._engine import UNICODE_VERSION, VERSION
    from slmtok.patterns import parse_pattern
    from slmtok.tokenizer import Tokenizer

    document = _parsed(data, source)
    try:
        compiled = parse_pattern(pattern) if pattern is not None else pattern_of(document, source)
        spec = PatternSpec(compiled.name, compiled.regex, UNICODE_VERSION)
        vocabulary = _vocabulary(document, spec, source)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        if isinstance(error, SlmtokError):
            raise
        raise _unreadable(source, f"a value of an unexpected type: {error}") from None
    provenance = {"package": f"slmtok {VERSION}", "source": "tokenizer.json", "source_sha256": sha256(data).hexdigest()}
    try:
        tokenizer = Tokenizer(vocabulary, provenance=provenance)
    except InvalidRanks as error:
        error.where = source
        raise
    if vocabulary.layout == "foreign":
        _check_merges(tokenizer, _merges(document["model"], source), source)
    return tokenizer


def _parsed(data: bytes, source: str) -> dict[str, Any]:
    try:
        document = parse_object(data, _MAX_DEPTH)
        model = document.get("model")
        if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict):
            raise FaultError("it has no model with a vocab that is an object")
    except FaultError as fault:
        raise _unreadable(source, str(fault)) from None
    _refuse(model.get("type", "BPE") != "BPE", f"its model is {model.get('type')}", "BPE", source)
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        _refuse(bool(model.get(key)), f"its model has {key} {model.get(key)!r}", "none", source)
    _refuse(bool(model.get("dropout")), "its model has dropout", "no dropout", source)
    normalizer = document.get("normalizer")
    empty = normalizer is None or (normalizer.get("type") == "Sequence" and not normalizer.get("normalizers"))
    _refuse(not empty, f"its normalizer {_type(normalizer)} changes text", "no normalizer", source)
    return document


def _unreadable(source: str, fault: str) -> CorruptFile:
    return CorruptFile(
        f"{source} is not a valid tokenizer.json: {fault}",
        where=source,
        fix="fetch or copy the file again",
        path=source,
    )


def _type(part: Any) -> str:
    return str(part.get("type")) if isinstance(part, dict) else "null"


def _refuse(wrong: bool, fact: str, limit: str, source: str) -> None:
    if wrong:
        raise Inexpressible(
            f"{source} cannot be imported: {fact}",
            where=source,
            limit=f"byte-level BPE of GPT-2's kind; here: {limit}",
            fix="train a tokenizer of your own on the same text: slmtok train corpus/ --vocab 32768 -o tok.json",
            path=source,
        )


def specials_of(document: Mapping[str, Any]) -> dict[str, int]:
    """Spelling -> id of all added tokens."""
    return {str(token["content"]): int(token["id"]) for token in document.get("added_tokens") or ()}


def _tokens(document: Mapping[str, Any], specials: Mapping[str, int], source: str) -> list[bytes | None]:
    """Bytes by id, None for holes and special tokens."""
    table: dict[int, bytes] = {}
    for name, id in document["model"]["vocab"].items():
        if type(id) is not int or not 0 <= id < MAX_IDS:
            raise InvalidTokens(
                f"token {name!r} has the id {id!r}",
                where=source,
                limit=f"0 to {MAX_IDS - 1}",
                fix="fetch or copy the file again",
            )
        if specials.get(name) == id:
            continue
        token = bytes_of(name)
        _refuse(not token, f"token {id} {name!r} is not spelled in GPT-2's characters", "all tokens are", source)
        if token and id not in specials.values():
            table[id] = token
    tokens: list[bytes | None] = [None] * (max(table, default=-1) + 1)
    for id, token in table.items():
        tokens[id] = token
    return tokens


def _merges(model: Mapping[str, Any], source: str) -> list[tuple[bytes, bytes]]:
    """The merges as pairs of tokens, from `"a b"` or `["a", "b"]`."""
    found = []
    for merge in model.get("merges") or ():
        pair = merge.split(" ") if isinstance(merge, str) else merge
        parts = [bytes_of(part) for part in pair] if len(pair) == 2 else [None]
        _refuse(None in parts, f"the merge {merge!r} joins no two tokens", "pairs", source)
        found.append((parts[0] or b"", parts[1] or b""))
    return found


def _vocabulary(document: Mapping[str, Any], spec: PatternSpec, source: str) -> Vocabulary:
    specials = specials_of(document)
    tokens = _tokens(document, specials, source)
    merges = _merges(document["model"], source)
    whole_pieces = bool(document["model"].get("ignore_merges"))
    scheme = "bpe" if merges or not whole_pieces else "char" if spec.name == "char" else "word"
    id_of = {token: id for id, token in enumerate(tokens) if token is not None}
    if scheme == "bpe":
        _check_order(merges, id_of, source)
    pairs = [(id_of[left], id_of[right]) for left, right in merges]
    own = own_vocabulary(scheme, spec, tokens, specials, pairs)
    if own is not None:
        return own
    _refuse(scheme != "bpe", "it has no merges and takes whole pieces only", "merges", source)
    roles = roles_of(specials)
    slots = Specials(SpecialToken(id, roles[text], text) for text, id in specials.items())
    return Vocabulary("bpe", spec, slots, tokens=tuple(tokens), layout="foreign")


def _check_order(merges: Sequence[tuple[bytes, bytes]], id_of: Mapping[bytes, int], source: str) -> None:
    """Refuses merges that make no token, or are not in the order of their ids."""
    last = -1
    for index, (left, right) in enumerate(merges):
        made = id_of.get(left + right)
        known = left in id_of and right in id_of and made is not None
        _refuse(not known, f"merge {index} ({left!r} {right!r}) makes no token", "tokens", source)
        _refuse(
            made is not None and made < last,
            f"merge {index} makes id {made} after another made id {last}",
            "merges in the order of their ids",
            source,
        )
        last = made if made is not None else last


def _check_merges(tokenizer: Tokenizer, merges: Sequence[tuple[bytes, bytes]], source: str) -> None:
    """Refuses merges that do not follow from the tokens: layout `foreign` stores only tokens."""
    listed: dict[bytes, set[tuple[bytes, bytes]]] = {}
    for left, right in merges:
        listed.setdefault(left + right, set()).add((left, right))
    for id, token in tokenizer.vocabulary.items():
        parts = tokenizer._encoder.parts(id)
        if parts is None:
            continue
        pair = (tokenizer.token_bytes(parts[0]), tokenizer.token_bytes(parts[1]))
        _refuse(
            pair not in listed.get(token, ()),
            f"no merge joins {pair[0]!r} and {pair[1]!r} to token {id} {token!r}",
            "merges that follow from the tokens in the order of their ids",
            source,
        )


def open_source(path: str, tokenizer: Tokenizer) -> Encode:
    """Encodes with the file in `tokenizers`, special tokens treated as text."""
    library = module("tokenizers")
    theirs = library.Tokenizer.from_file(path)
    theirs.encode_special_tokens = True
    theirs.no_truncation()
    theirs.no_padding()

    def encode(texts: list[str]) -> list[list[int]]:
        return [found.ids for found in theirs.encode_batch_fast(texts, add_special_tokens=False)]

    return encode
