"""Hugging Face's `tokenizer.json`: written with `tokenizer_config.json`, and read.

Tokens are named in GPT-2's characters, one printable character a byte. Merges become pairs of names; schemes without
merges a vocabulary with `ignore_merges`. The GPT-2 pattern becomes the usual `ByteLevel` step, any other a `Split` with
its regex in the dialect of Oniguruma. Our default spellings of `unk` and `pad` become `<unk>` and `<pad>`.
`transformers` leaves special tokens in text alone because of `split_special_tokens` in the config; `tokenizers` needs
`tokenizer.encode_special_tokens = True`.

Read are files of GPT-2's kind: byte-level BPE after one split. Ids are kept. What our tokenizer cannot reproduce is
refused with the reason: normalisers, several splits, SentencePiece's spaces, merges that are not in the order of their
ids. Our own exports keep their fingerprint.

Oniguruma is Ruby's regex dialect: the dot matches a line feed under `(?m:` instead of `(?s:`; `^` and `$` match at
lines, `\\A` and `\\z` at the ends of the text; `{1,3}+` repeats the repetition instead of being possessive, so the
plain interval is written (the comparison of ids shows whether it differs).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import schema
from slmtok.background import run_in_thread
from slmtok.errors import CorruptFile, Inexpressible, Setting, SlmtokError
from slmtok.formats.base import Encode, Origin, Target, module, refuse_silent_merges
from slmtok.formats.foreign_files import train_own
from slmtok.formats.own_layout import foreign_specials, own_vocabulary
from slmtok.json_files import parse
from slmtok.specials import SpecialId, Specials
from slmtok.strict_json import FaultError
from slmtok.token_text import unicode_to_bytes
from slmtok.tokenizer_file import name_source
from slmtok.vocabulary import MAX_IDS, PatternSpec, Vocabulary

if TYPE_CHECKING:
    from slmtok._engine import Pattern
    from slmtok.tokenizer import Tokenizer


# --- names of tokens, dialect of regexes ------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _characters() -> dict[int, str]:
    """Byte -> character, a table for `str.translate`."""
    return {byte: character for character, byte in unicode_to_bytes().items()}


@lru_cache(maxsize=1)
def _bytes() -> dict[str, int]:
    """Character -> byte. It is looked up for each part of each merge."""
    return unicode_to_bytes()


def name_of(token: bytes) -> str:
    """The name of a token in GPT-2's characters: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_characters())


def bytes_of(name: str) -> bytes | None:
    """The inverse of `name_of`; None if a character stands for no byte."""
    table = _bytes()
    try:
        return bytes([table[character] for character in name])
    except KeyError:
        return None


_USUAL_SPELLINGS = {"unk": ("<?>", "<unk>"), "pad": ("<>", "<pad>")}
"""Role -> our default spelling, and the one that programs for Hugging Face expect."""


def exported_specials(vocabulary: Vocabulary) -> Specials:
    """The special tokens as an export names them, none without a spelling.

    In our layout `<unk>` and `<pad>` replace our default spellings, unless another token has that spelling. A reserved
    id is `<|reserved_6|>`.
    """
    specials = vocabulary.specials
    usual = {
        role: text
        for role, (default, text) in _USUAL_SPELLINGS.items()
        if vocabulary.layout == "own"
        and specials.text(role) == default
        and text not in specials.spellings
        and vocabulary.token_id(text.encode()) is None
    }
    return specials.respelled(usual).completed()


def _own_spellings(specials: Mapping[str, int]) -> dict[str, int]:
    """The inverse, for the special tokens (spelling -> id) of a table in our layout."""
    defaults = {(text, int(SpecialId[role.upper()])): own for role, (own, text) in _USUAL_SPELLINGS.items()}
    return {defaults.get((text, id), text): id for text, id in specials.items()}


def names_by_id(vocabulary: Vocabulary) -> dict[int, str]:
    """Id -> name of all tokens, in the order of ids; special tokens as in `exported_specials`."""
    names = {id: name_of(token) for id, token in vocabulary.items()}
    for special in exported_specials(vocabulary).tokens:
        names[special.id] = special.text or ""
    return dict(sorted(names.items()))


_PART = re.compile(
    r"""(?P<escape>\\.)
      | (?P<interval>\{\d+(?:,\d*)?\})\+
      | (?P<flags>\(\?[a-zA-Z-]*[sm][a-zA-Z-]*[:)])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def oniguruma(regex: str) -> str:
    """A regex in Oniguruma's dialect."""
    lines = re.search(r"\(\?[a-zA-Z]*m", regex) is not None
    return _rewrite(regex, partial(_to_ruby, lines=lines))


def from_oniguruma(regex: str) -> str:
    """The inverse, for the regex of a `tokenizer.json`."""
    return _rewrite(regex, _from_ruby)


def _rewrite(regex: str, outside: Callable[[re.Match[str]], str]) -> str:
    """The regex with `outside` applied to each part outside of character classes."""
    depth = 0
    out: list[str] = []
    for part in _PART.finditer(regex):
        text = part[0]
        if text == "[" or (depth and text == "]"):
            depth += 1 if text == "[" else -1
        elif not depth:
            text = outside(part)
        out.append(text)
    return "".join(out)


def _to_ruby(part: re.Match[str], *, lines: bool) -> str:
    """`lines`: the regex has the flag m."""
    if part["interval"]:
        return part["interval"]
    if part["flags"] and "s" in part[0]:
        return part[0].replace("m", "").replace("s", "m")
    if not lines and part[0] in ("^", "$"):
        return r"\A" if part[0] == "^" else r"\z"
    return part[0]


_FROM_RUBY = {"^": "(?m:^)", "$": "(?m:$)", r"\A": "^", r"\z": "$"}


def _from_ruby(part: re.Match[str]) -> str:
    if part["flags"]:
        return part[0].replace("m", "s")
    return _FROM_RUBY.get(part[0], part[0])


TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"
_WHOLE_PIECES = ("word", "char")
_ROLES = ("bos", "eos", "unk", "sep", "pad", "mask")


def check(tokenizer: Tokenizer) -> None:
    """Raises `Inexpressible` for what `tokenizer.json` cannot express."""
    from slmtok.patterns import compile_pattern

    refuse_silent_merges(tokenizer, "hf")
    split = compile_pattern(tokenizer.pattern).split
    for special in exported_specials(tokenizer.vocabulary).tokens:
        text = special.text or ""
        token = bytes_of(text)
        if token and tokenizer.token_id(token) is not None:
            raise Inexpressible(
                f"special token {text!r} has the name of the ordinary token {token!r}",
                where="export to hf",
                limit="one id a name",
                fix=f"tok = tok.with_special({special.role!r}, '<|{special.role}|>')",
                id=special.id,
                spelling=f"{special.role}=<|{special.role}|>",
            )
        # `ignore_merges` looks pieces up among all names.
        if tokenizer.scheme in _WHOLE_PIECES and len(split(text)) == 2:
            raise Inexpressible(
                f"special token {text!r} is one piece of text, and pieces are looked up among special tokens, too",
                where="export to hf",
                limit=f"scheme {tokenizer.scheme}: special tokens of two or more pieces",
                fix=f"another spelling, such as '<|{text}|>'",
            )


# --- writing ----------------------------------------------------------------------------------------------------------


def files(tokenizer: Tokenizer, name: str, *, add_eos: bool = False, **settings: Any) -> dict[str, bytes]:
    """The files of the export. `settings` are added to the config (`model_max_length`, `padding_side`)."""
    document = tokenizer_json(tokenizer)
    document["added_tokens"] = _added(tokenizer)
    document["model"]["vocab"] = {name: id for id, name in names_by_id(tokenizer.vocabulary).items()}
    document["post_processor"] = template(tokenizer, add_eos=add_eos)
    return {TOKENIZER: _json(document), CONFIG: _json(config(tokenizer, add_eos=add_eos, **settings))}


def tokenizer_json(tokenizer: Tokenizer, shift: int = 0) -> dict[str, Any]:
    """The document without special tokens; `shift` is subtracted from each id."""
    names = {id: name_of(token) for id, token in tokenizer.vocabulary.items()}
    whole_pieces = tokenizer.scheme in _WHOLE_PIECES
    parts = [] if tokenizer.scheme != "bpe" else map(tokenizer._encoder.parts, sorted(names))
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": whole_pieces,
        "vocab": {name: id - shift for id, name in names.items()},
        "merges": [[names[pair[0]], names[pair[1]]] for pair in parts if pair is not None],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": splitter(tokenizer.pattern.name, tokenizer.pattern.regex),
        "post_processor": None,
        "decoder": _byte_level(use_regex=True),
        "model": model,
    }


def splitter(name: str | None, regex: str) -> dict[str, Any]:
    """The `pre_tokenizer` for a pattern."""
    if name == "gpt2":
        return _byte_level(use_regex=True)
    pattern = {"Regex": oniguruma(regex)}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, _byte_level(use_regex=False)]}


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def template(tokenizer: Tokenizer, *, add_eos: bool) -> dict[str, Any] | None:
    """The `post_processor`: `<s>` before each text, with add_eos `</s>` after it; None if neither exists."""
    specials = tokenizer.specials
    bos = [specials.text("bos")] if "bos" in specials else []
    eos = [specials.text("eos")] if add_eos else []
    frame = [*bos, *eos]
    if not frame:
        return None

    def framed(sequence: str, type_id: int) -> list[dict[str, Any]]:
        parts = [*(("SpecialToken", text) for text in bos), ("Sequence", sequence)]
        parts += [("SpecialToken", text) for text in eos]
        return [{kind: {"id": id, "type_id": type_id}} for kind, id in parts]

    return {
        "type": "TemplateProcessing",
        "single": framed("A", 0),
        "pair": framed("A", 0) + framed("B", 1),
        "special_tokens": {
            text: {"id": text, "ids": [specials.spellings[text]], "tokens": [text]} for text in sorted(frame)
        },
    }


def config(tokenizer: Tokenizer, *, add_eos: bool = False, **settings: Any) -> dict[str, Any]:
    """The content of `tokenizer_config.json`."""
    specials = exported_specials(tokenizer.vocabulary)
    roles = {f"{role}_token": specials.text(role) for role in _ROLES if role in specials}
    others = [token.text for token in specials.tokens if token.text not in roles.values()]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
        "add_bos_token": "bos" in specials,
        "add_eos_token": add_eos,
        **roles,
        "extra_special_tokens": others,
        **settings,
    }


def _added(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    specials = exported_specials(tokenizer.vocabulary)
    return [{"id": token.id, "content": token.text, **flags} for token in specials.tokens]


def _json(content: object) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()


# --- reading ----------------------------------------------------------------------------------------------------------


def pattern_of(document: dict[str, Any], source: str) -> Pattern:
    """The pattern of the `pre_tokenizer`. Raises `Inexpressible` unless it is one split."""
    from slmtok._engine import Pattern

    step = document.get("pre_tokenizer")
    if _is_byte_level(step, use_regex=True):
        return Pattern("gpt2")
    match step:
        case {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": str() as regex}} as split,
                last,
            ],
        } if not split.get("invert") and _is_byte_level(last, use_regex=False):
            return _known(regex)
    if any(each.get("add_prefix_space", True) for each in _byte_level_steps(step)):
        fact = f"its pre_tokenizer is {_short(step)} and adds a space before each text"
        _refuse(True, fact, "add_prefix_space: false", source)
    raise Inexpressible(
        f"{source} cannot be imported: its pre_tokenizer is {_short(step)}",
        where=source,
        limit="ByteLevel with its own regex, or one Split by a regex and then ByteLevel, without a prefix space",
        fix=(Setting("pattern", "gpt2"), ", or another pattern with the same pieces; ids are compared"),
        path=source,
    )


def _byte_level_steps(step: Any) -> list[dict[str, Any]]:
    """The `ByteLevel` steps of a pre-tokenizer or decoder, or of a sequence of such."""
    if not isinstance(step, dict):
        return []
    inner = [*(step.get("pretokenizers") or ()), *(step.get("decoders") or ())]
    return [step] if step.get("type") == "ByteLevel" else [found for each in inner for found in _byte_level_steps(each)]


def _check_byte_level(document: Mapping[str, Any], source: str) -> None:
    """Refuses a vocabulary of characters, and one of bytes that lacks some: no split pattern helps."""
    vocab = document["model"]["vocab"]
    missing = [byte for name, byte in unicode_to_bytes().items() if name not in vocab]
    if not missing:
        return
    step = document.get("pre_tokenizer")
    has_step = any(_byte_level_steps(each) for each in (step, document.get("decoder")))
    fact = f"it is not byte-level: its pre_tokenizer is {_short(step)}, and its tokens are characters"
    if has_step:
        fact = f"no token is the byte 0x{min(missing):02X}, nor are {len(missing) - 1} others"
    limit = "all 256 bytes, as of initial_alphabet=ByteLevel.alphabet()" if has_step else "all 256 bytes as tokens"
    _refuse(True, fact, limit, source)


def _is_byte_level(step: Any, *, use_regex: bool) -> bool:
    """Whether a step is `ByteLevel` without a prefix space."""
    return (
        isinstance(step, dict)
        and step.get("type") == "ByteLevel"
        and not step.get("add_prefix_space", True)
        and step.get("use_regex", True) is use_regex
    )


def _known(regex: str) -> Pattern:
    """The pattern of a regex; a named one if the regex is that of an export."""
    from slmtok._engine import Pattern, pattern_names
    from slmtok.patterns import custom_pattern
    from slmtok.schemes import SCHEMES

    names = [*pattern_names(), *(scheme.pattern for scheme in SCHEMES.values())]
    for name in names:
        pattern = Pattern(name)
        if regex in (pattern.regex, oniguruma(pattern.regex)):
            return pattern
    return custom_pattern(from_oniguruma(regex))


def _short(step: Any) -> str:
    if isinstance(step, dict) and isinstance(step.get("pretokenizers"), list):
        return " then ".join(_short(inner) for inner in step["pretokenizers"]) or "an empty Sequence"
    if isinstance(step, dict):
        return str(step.get("type"))
    return "none"


_MAX_DEPTH = 12


def looks_like(data: bytes) -> bool:
    """Whether a file may be a `tokenizer.json`."""
    return data.lstrip().startswith(b"{") and b'"model"' in data and b'"vocab"' in data


def read(data: bytes, source: str, *, pattern: str | None = None) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`. `pattern` replaces the file's own.

    Raises `CorruptFile`, `Inexpressible`, `InvalidTokens`, `InvalidRanks`, each naming `source`.
    """
    from slmtok._engine import UNICODE_VERSION, VERSION
    from slmtok.patterns import parse_pattern
    from slmtok.tokenizer import Tokenizer

    document = _parsed(data, source)
    _check_byte_level(document, source)
    _check_templates(document.get("post_processor"), source)
    provenance = {"package": f"slmtok {VERSION}", "source": "tokenizer.json", "source_sha256": sha256(data).hexdigest()}
    try:
        compiled = parse_pattern(pattern) if pattern is not None else pattern_of(document, source)
        spec = PatternSpec(compiled.name, compiled.regex, UNICODE_VERSION)
        vocabulary = _vocabulary(document, spec, source)
        tokenizer = Tokenizer(vocabulary, provenance=provenance)
    except SlmtokError as error:
        name_source(error, source)
        raise
    if vocabulary.layout == "foreign":
        _check_merges(tokenizer, _merges(document["model"], source), source)
    return tokenizer


_ID = schema.integer(0, MAX_IDS - 1)
_INNER_STEPS = ("normalizers", "pretokenizers", "processors", "decoders")
"""Keys of the steps of a `Sequence`, in each of the four stages."""


def _inner_step(value: Any, where: str) -> None:
    """A step, the steps in it, and the templates of a post-processor. Their depth is that of the file."""
    _STEP_TABLE(value, where)
    for key in _INNER_STEPS:
        schema.nullable(schema.array(_inner_step))(value.get(key), f"{where}.{key}")
    for key in ("single", "pair"):
        schema.nullable(schema.array(_PIECE))(value.get(key), f"{where}.{key}")


_PIECE = schema.table({}, is_open=True)
_STEP_TABLE = schema.table({"type": schema.text}, is_open=True)
_STEP = schema.nullable(_inner_step)


def _merge(value: Any, where: str) -> None:
    """`"a b"` or `["a", "b"]`."""
    (schema.array(schema.text, length=2) if isinstance(value, list) else schema.text)(value, where)


_KIND = schema.table({"model": schema.table({}, {"type": schema.text}, is_open=True)}, is_open=True)
_DOCUMENT = schema.table(
    {
        "model": schema.table(
            {"vocab": schema.mapping(_ID)},
            {
                "merges": schema.nullable(schema.array(_merge)),
                "ignore_merges": schema.nullable(schema.boolean),
                "dropout": schema.nullable(schema.number),
                "continuing_subword_prefix": schema.nullable(schema.text),
                "end_of_word_suffix": schema.nullable(schema.text),
            },
            is_open=True,
        )
    },
    {
        "added_tokens": schema.nullable(schema.array(schema.table({"id": _ID, "content": schema.text}, is_open=True))),
        **dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"), _STEP),
    },
    is_open=True,
)
"""The keys of a `tokenizer.json` that are read; of the others, only JSON."""


def _parsed(data: bytes, source: str) -> dict[str, Any]:
    try:
        document = parse(data, _KIND, max_depth=_MAX_DEPTH)
        model = document["model"]
        _refuse(model.get("type", "BPE") != "BPE", f"its model is {model.get('type')!s:.40}", "the model BPE", source)
        _DOCUMENT(document, "")
    except FaultError as fault:
        raise _unreadable(source, str(fault)) from None
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        _refuse(
            bool(model.get(key)),
            f"its model has {key} {schema.shown(model.get(key))}",
            "neither prefix nor suffix",
            source,
        )
    _refuse(bool(model.get("dropout")), "its model has dropout", "no dropout", source)
    normalizer = document.get("normalizer")
    empty = normalizer is None or (normalizer["type"] == "Sequence" and not normalizer.get("normalizers"))
    _refuse(not empty, f"its normalizer {_short(normalizer)} changes text", "no normalizer", source)
    return document


def _unreadable(source: str, fault: str) -> CorruptFile:
    return CorruptFile(
        f"{source} is not a valid tokenizer.json: {fault}",
        where=source,
        fix="fetch or copy the file again",
        path=source,
    )


def _check_templates(post_processor: Any, source: str) -> None:
    """Refuses a template with a text twice: the library would repeat it as often in the comparison of ids."""
    steps = [post_processor] if isinstance(post_processor, Mapping) else []
    steps += steps[0].get("processors") or [] if steps else []
    for step in steps:
        for name in ("single", "pair"):
            pieces = step.get(name) if isinstance(step, Mapping) else None
            texts = [each["Sequence"] for each in pieces or () if isinstance(each, Mapping) and "Sequence" in each]
            ids = [text.get("id") for text in texts if isinstance(text, Mapping)]
            _refuse(len(ids) > len({*map(str, ids)}), f"its template {name!r} repeats a text", "each text once", source)


def _refuse(wrong: bool, fact: str, limit: str, source: str) -> None:
    if wrong:
        raise Inexpressible(
            f"{source} cannot be imported: {fact}",
            where=source,
            limit=f"slmtok reads byte-level BPE, as of GPT-2, with {limit}",
            fix=train_own(),
            path=source,
        )


def specials_of(document: Mapping[str, Any]) -> dict[str, int]:
    """Spelling -> id of all added tokens."""
    return {token["content"]: token["id"] for token in document.get("added_tokens") or ()}


def _tokens(document: Mapping[str, Any], specials: Mapping[str, int], source: str) -> list[bytes | None]:
    """Bytes by id, None for holes and special tokens."""
    table: dict[int, bytes] = {}
    for name, id in document["model"]["vocab"].items():
        if specials.get(name) == id:
            continue
        token = bytes_of(name)
        _refuse(not token, f"token {id} {name!r} is not spelled in GPT-2's characters", "all tokens in them", source)
        if token and id not in specials.values():
            table[id] = token
    return [table.get(id) for id in range(max(table, default=-1) + 1)]


def _merges(model: Mapping[str, Any], source: str) -> list[tuple[bytes, bytes]]:
    """The merges as pairs of tokens, from `"a b"` or `["a", "b"]`."""
    found = []
    for merge in model.get("merges") or ():
        parts = [bytes_of(part) for part in (merge.split(" ") if isinstance(merge, str) else merge)]
        if len(parts) != 2 or not all(parts):
            _refuse(True, f"the merge {schema.shown(merge)} joins no two tokens", "pairs of tokens", source)
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
    own = own_vocabulary(scheme, spec, tokens, _own_spellings(specials), pairs)
    if own is not None:
        return own
    _refuse(scheme != "bpe", "it has no merges and takes whole pieces only", "merges", source)
    return Vocabulary("bpe", spec, foreign_specials(specials), tokens=tuple(tokens), layout="foreign")


def _check_order(merges: Sequence[tuple[bytes, bytes]], id_of: Mapping[bytes, int], source: str) -> None:
    """Refuses merges that make no token, or are not in the order of their ids."""
    last = -1
    for index, (left, right) in enumerate(merges):
        made = id_of.get(left + right, -1)
        unknown = made < 0 or left not in id_of or right not in id_of
        _refuse(unknown, f"merge {index} ({left!r} {right!r}) makes no token", "merges that make tokens", source)
        fact = f"merge {index} makes id {made} after another made id {last}"
        _refuse(made < last, fact, "merges in the order of their ids", source)
        last = made


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


_UNCOMPARED = (Setting("verify", False), " to import it uncompared")


def open_tokenizer_json(path: Path) -> Encode:
    """Encodes with a file in `tokenizers`, special tokens treated as text."""
    try:
        from_file = module("tokenizers").Tokenizer.from_file
        theirs = run_in_thread(lambda: from_file(str(path)))
    except RuntimeError:  # of Python, as where the system starts no more threads
        raise
    except Exception as error:  # of no class of its own
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorruptFile(
            f"the package tokenizers cannot read {path}: {reason}",
            where=str(path),
            fix=("write the file again with the program that made it, or ", *_UNCOMPARED),
            path=str(path),
        ) from None
    theirs.encode_special_tokens = True
    theirs.no_truncation()
    theirs.no_padding()
    encode_batch = partial(theirs.encode_batch_fast, add_special_tokens=False)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        try:
            return [found.ids for found in run_in_thread(lambda: encode_batch(texts))]
        except BaseException as error:
            # A panic of its engine, as of a regex that backtracks too long, has a class that Python cannot import.
            if type(error).__name__ != "PanicException":
                raise
            raise CorruptFile(
                f"the package tokenizers fails on a text with {path}: {(str(error).splitlines() or ['panic'])[0]}",
                where=str(path),
                fix=("correct its regex, or ", *_UNCOMPARED),
                path=str(path),
            ) from None

    return encode


TARGET = Target(
    "hf",
    "tokenizer.json and its config, for transformers and tokenizers",
    library="tokenizers",
    check=check,
    files=files,
    open=lambda folder, name: open_tokenizer_json(folder / TOKENIZER),
    notes=(
        "text that spells a special token is text: transformers reads split_special_tokens in the config, "
        "with tokenizers alone set tokenizer.encode_special_tokens = True",
    ),
)
ORIGIN = Origin(
    "hf",
    "a tokenizer.json of GPT-2's kind",
    library="tokenizers",
    looks_like=looks_like,
    read=read,
    open=lambda path, tokenizer: open_tokenizer_json(path),
)
