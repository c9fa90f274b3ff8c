"""Hugging Face's `tokenizer.json` and `tokenizer_config.json` for `transformers` and `tokenizers`.

Tokens are named in GPT-2's characters, one printable character a byte. Merges become pairs of names; schemes without
merges a vocabulary with `ignore_merges`. The GPT-2 pattern becomes the usual `ByteLevel` step, any other a `Split` with
its regex in the dialect of Oniguruma. `transformers` leaves special tokens in text alone because of
`split_special_tokens` in the config; `tokenizers` needs `tokenizer.encode_special_tokens = True`.

Oniguruma is Ruby's regex dialect: the dot matches a line feed under `(?m:` instead of `(?s:`; `^` and `$` match at
lines, `\\A` and `\\z` at the ends of the text; `{1,3}+` repeats the repetition instead of being possessive, so the
plain interval is written (the comparison of ids shows whether it differs).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import Inexpressible, Setting
from slmtok.formats.base import Encode, Target, module
from slmtok.token_text import unicode_to_bytes

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer
    from slmtok.vocabulary import Vocabulary


@lru_cache(maxsize=1)
def _characters() -> dict[int, str]:
    """Byte -> character, a table for `str.translate`."""
    return {byte: character for character, byte in unicode_to_bytes().items()}


def name_of(token: bytes) -> str:
    """The name of a token in GPT-2's characters: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_characters())


def bytes_of(name: str) -> bytes | None:
    """The inverse of `name_of`; None if a character stands for no byte."""
    table = unicode_to_bytes()
    try:
        return bytes([table[character] for character in name])
    except KeyError:
        return None


def names_by_id(vocabulary: Vocabulary) -> dict[int, str]:
    """Id -> name of all tokens, special ones by their spelling, in the order of ids. Reserved ids: `<|reserved_6|>`."""
    names = {id: name_of(token) for id, token in vocabulary.items()}
    for special in vocabulary.specials.completed().tokens:
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
        if part["escape"] and depth:
            out.append(text)
        elif depth and text in "[]":
            depth += 1 if text == "[" else -1
            out.append(text)
        elif text == "[":
            depth = 1
            out.append(text)
        elif depth:
            out.append(text)
        else:
            out.append(outside(part))
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
    vocabulary = tokenizer.vocabulary
    for index, merge in enumerate(vocabulary.merges):
        if len(merge) == 3:
            raise Inexpressible(
                f"merge {index} spells the special {tokenizer.specials.tokens[merge[2]].text!r} and is never given out",
                where="export to hf",
                limit="every merge makes an id of its own",
                fix=("train with ", Setting("tie_break", "rank")),
                index=index,
            )
    for special in vocabulary.specials.completed().tokens:
        spelled = name_of(token) if (token := _ordinary(tokenizer, special.text or "")) is not None else None
        if spelled is not None:
            raise Inexpressible(
                f"the special {special.text!r} is spelled like the name of an ordinary token ({token!r})",
                where="export to hf",
                limit="one id a name",
                fix=f"slmtok set-special tok.json {special.role}='<|{special.role}|>'",
                id=special.id,
            )

    if tokenizer.scheme in _WHOLE_PIECES:
        _check_pieces(tokenizer)


def _check_pieces(tokenizer: Tokenizer) -> None:
    """Raises `Inexpressible` if a special token is one piece: `ignore_merges` looks pieces up among all names."""
    from slmtok.patterns import compile_pattern

    split = compile_pattern(tokenizer.pattern).split
    for text in tokenizer.specials.completed().spellings:
        if len(split(text)) == 2:
            raise Inexpressible(
                f"the special {text!r} is one piece of text, and there a piece is looked up among specials, too",
                where="export to hf",
                limit=f"scheme {tokenizer.scheme}: specials of two pieces or more",
                fix=f"spell it otherwise, '<|{text}|>' for instance",
            )


def _ordinary(tokenizer: Tokenizer, spelling: str) -> bytes | None:
    """The ordinary token with this name, if there is one."""
    token = bytes_of(spelling)
    return token if token and tokenizer.token_id(token) is not None else None


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
    bos = specials.text("bos") if "bos" in specials else None
    eos = specials.text("eos") if add_eos else None
    frame = [text for text in (bos, eos) if text is not None]
    if not frame:
        return None

    def framed(sequence: str, type_id: int) -> list[dict[str, Any]]:
        inner: list[dict[str, Any]] = [{"Sequence": {"id": sequence, "type_id": type_id}}]
        head = [] if bos is None else [{"SpecialToken": {"id": bos, "type_id": type_id}}]
        tail = [] if eos is None else [{"SpecialToken": {"id": eos, "type_id": type_id}}]
        return head + inner + tail

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
    specials = tokenizer.specials
    roles = {f"{role}_token": specials.text(role) for role in _ROLES if role in specials}
    named = set(roles.values())
    others = [token.text for token in specials.completed().tokens if token.text not in named]
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
    return [{"id": token.id, "content": token.text, **flags} for token in tokenizer.specials.completed().tokens]


def _json(content: object) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()


def open_export(folder: Path, name: str) -> Encode:
    """Encodes with the export in `tokenizers`, special tokens treated as text."""
    tokenizers = module("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.encode_special_tokens = True

    def encode(texts: list[str]) -> list[list[int]]:
        return [found.ids for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return encode


HF = Target(
    "hf",
    "tokenizer.json and its config, for transformers and tokenizers",
    library="tokenizers",
    check=check,
    files=files,
    open=open_export,
    notes=(
        "text that spells a special token was compared as text: transformers reads split_special_tokens in the config, "
        "with tokenizers alone set tokenizer.encode_special_tokens = True",
    ),
)
