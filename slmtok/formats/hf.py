"""Hugging Face's `tokenizer.json` and `tokenizer_config.json`, written: what `transformers` and `tokenizers` load.

Merges become pairs of names, in GPT-2's characters; schemes without merges a vocabulary whose whole pieces count. The
GPT-2 pattern is written as the `ByteLevel` step that everybody recognises, any other as a `Split` with its regex.
Specials stand at their ids. That library finds them in text unless told not to: `split_special_tokens` in the config
tells `transformers` so; for `tokenizers` alone it is `tokenizer.encode_special_tokens = True`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok.errors import Inexpressible
from slmtok.formats.base import Encode, Target, module
from slmtok.formats.hf_names import name_of, names_by_id
from slmtok.formats.oniguruma import oniguruma

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"
_WHOLE_PIECES = ("word", "char")
_ROLES = ("bos", "eos", "unk", "sep", "pad", "mask")


def check(tokenizer: Tokenizer) -> None:
    """Raises `Inexpressible` for what no `tokenizer.json` can say."""
    vocabulary = tokenizer.vocabulary
    for index, merge in enumerate(vocabulary.merges):
        if len(merge) == 3:
            raise Inexpressible(
                f"merge {index} spells the special {tokenizer.specials.tokens[merge[2]].text!r} and is never given out",
                where="export to hf",
                limit="there every merge makes an id of its own",
                fix="train with ties='rank'",
                index=index,
            )
    for special in vocabulary.specials.completed().tokens:
        spelled = name_of(token) if (token := _ordinary(tokenizer, special.text or "")) is not None else None
        if spelled is not None:
            raise Inexpressible(
                f"the special {special.text!r} is spelled like the name of an ordinary token ({token!r})",
                where="export to hf",
                limit="there a name stands for one id",
                fix=f"slmtok set-special tok.json {special.role}='<|{special.role}|>'",
                id=special.id,
            )

    if tokenizer.scheme in _WHOLE_PIECES:
        _check_pieces(tokenizer)


def _check_pieces(tokenizer: Tokenizer) -> None:
    """Where whole pieces are looked up among all names, a piece must not be the spelling of a special."""
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
    """The ordinary token whose name is this spelling, if there is one."""
    from slmtok.formats.hf_names import bytes_of

    token = bytes_of(spelling)
    return token if token and tokenizer.token_id(token) is not None else None


def files(tokenizer: Tokenizer, name: str, *, add_eos: bool = False, **settings: Any) -> dict[str, bytes]:
    """The files of the export. `settings` go into the config as they are (`model_max_length`, `padding_side`)."""
    document = tokenizer_json(tokenizer)
    document["added_tokens"] = _added(tokenizer)
    document["model"]["vocab"] = {name: id for id, name in names_by_id(tokenizer.vocabulary).items()}
    document["post_processor"] = template(tokenizer, add_eos=add_eos)
    return {TOKENIZER: _json(document), CONFIG: _json(config(tokenizer, add_eos=add_eos, **settings))}


def tokenizer_json(tokenizer: Tokenizer, shift: int = 0) -> dict[str, Any]:
    """The document without specials; `shift` is taken off each id."""
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
    """The `post_processor`: `<s>` before each text, `</s>` behind it if asked; None where neither is."""
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
    """The export as `tokenizers` reads it: texts to ids, specials in text taken as text."""
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
        "text that spells a special was compared as text: transformers reads split_special_tokens from the config, "
        "with tokenizers alone set tokenizer.encode_special_tokens = True",
    ),
)
